//! What a dialect has no place for, of a thread.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::header;
use selvedge_protocol::loss::{Loss, Losses};
use serde_json::{Value, json};

use super::stream::filter;
use super::transfer::{PAGE, target};
use crate::auth::Principal;
use crate::extract::Id;
use crate::query::Query;
use crate::retell::Retelling;
use crate::view::Sieve;
use crate::{App, Error, ErrorCode};

/// Losses that are named one by one, unless asked otherwise, and at most.
const LIMIT: usize = 10_000;
const LIMIT_MAX: usize = 100_000;

/// `GET /api/threads/{id}/loss?dialect=`: what an export with the same query leaves behind.
pub(crate) async fn loss(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let filter = filter(&query, &principal)?;
    let limit = query.limit(LIMIT, LIMIT_MAX)?;
    let thread = app.thread(&principal.thread(&id)).await?;
    let agent = query.get("agent").map(str::to_owned);
    let (to, options) = target(&query, id, agent)?;
    let at: Option<u64> = query.parsed("at", "a sequence number")?;
    let body = app
        .blocking(move |store| {
            let head = store.head(&thread)?.min(filter.upto());
            let upto = at.map_or(head, |at| at.min(head));
            let mut sieve = Sieve::new(filter);
            let mut retelling = Retelling::new();
            let mut losses = Losses::new(to, &options);
            let mut report = Report { limit, ..Report::default() };
            let mut seen = 0;
            while seen < upto {
                let page = store.read(&thread, seen, usize::MAX, PAGE)?;
                if page.entries.is_empty() {
                    return Err(Error::new(ErrorCode::NotFound, "the thread is gone"));
                }
                for entry in page.entries.iter().take_while(|entry| entry.seq <= upto) {
                    seen = entry.seq;
                    let shown = sieve.see(entry);
                    let passes = shown.is_some();
                    let told = shown.unwrap_or_else(|| sieve.stand_in(entry));
                    retelling.batch(&told, passes, &mut |first, batch| {
                        losses.entries(first, batch, &mut |loss| report.add(&loss));
                    });
                }
                if page.entries.last().is_none_or(|last| last.seq > upto) {
                    break;
                }
            }
            losses.finish(&mut |loss| report.add(&loss));
            let Report { found, count, .. } = report;
            Ok(json!({ "dialect": to.id.name(), "at": upto, "count": count, "losses": found }))
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response())
}

/// What is named, and how much there is.
#[derive(Default)]
struct Report {
    limit: usize,
    found: Vec<Value>,
    count: usize,
}

impl Report {
    fn add(&mut self, loss: &Loss) {
        self.count += 1;
        if self.found.len() == self.limit {
            return;
        }
        let place = loss.pointer.strip_prefix('/').unwrap_or("");
        let (seq, rest) = place.split_at(place.find('/').unwrap_or(place.len()));
        let seq: Option<u64> = seq.parse().ok();
        self.found.push(json!({ "seq": seq, "pointer": rest, "reason": loss.reason }));
    }
}
