//! What models were used for, what that cost, how long it took and what failed.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::header;
use selvedge_protocol::time;
use selvedge_store::{Failures, Spent, Timed, UsageBy, UsageOrder, UsageQuery};
use serde_json::{Value, json};

use super::lists::page;
use crate::auth::Principal;
use crate::clock::now;
use crate::query::Query;
use crate::state::tokens;
use crate::{App, Error, ErrorCode};

const DAY: i64 = 86_400_000;
/// Days before today that are counted, unless asked otherwise.
const DAYS: i64 = 30;

/// `GET /api/usage`
pub(super) async fn usage(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let (limit, after) = page(&query)?;
    let today = now().div_euclid(DAY);
    let thread = match query.get("thread") {
        Some(id) => Some(app.thread(&principal.thread(id)).await?),
        None => None,
    };
    // A thread is told of from its beginning.
    let earliest = if thread.is_some() { 0 } else { today - DAYS };
    let from = day(&query, "from")?.unwrap_or(earliest);
    let to = day(&query, "to")?.unwrap_or(today);
    let by = match query.get("by") {
        None => vec![UsageBy::Agent, UsageBy::Model],
        Some(names) => names.split(',').map(named).collect::<Result<_, _>>()?,
    };
    let order = match query.get("order") {
        None | Some("name") => UsageOrder::Named,
        Some("cost") => UsageOrder::Dearest,
        Some(_) => {
            let message = "`order` must be name or cost";
            return Err(Error::new(ErrorCode::BadParameter, message));
        }
    };
    let asked = UsageQuery { thread, days: from..to.saturating_add(1), by, order, after, limit };
    let tenant = principal.tenant.clone();
    let total = UsageQuery { by: Vec::new(), after: None, limit: 1, ..asked.clone() };
    let found = app.blocking(move |store| {
        let total = store.spent(&tenant, &total)?.items;
        let failed = match asked.after {
            None => store.failures(&tenant, &asked)?,
            // The first page told.
            Some(_) => Vec::new(),
        };
        Ok((store.spent(&tenant, &asked)?, total, failed))
    });
    let (listed, total, failed) = found.await?;
    let (total, time) = total.first().map(|all| (all.tokens, all.time)).unwrap_or_default();
    let body = json!({
        "from": date(from),
        "to": date(to),
        "usage": listed.items.iter().map(shown).collect::<Vec<_>>(),
        "total": tokens(&total),
        "latency": latency(&time),
        "errors": failed.iter().map(error).collect::<Vec<_>>(),
        "next": listed.next.map(|next| next.to_string()),
    });
    Ok(([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response())
}

fn named(name: &str) -> Result<UsageBy, Error> {
    UsageBy::named(name.trim()).ok_or_else(|| {
        let message = "`by` must be some of day, thread, agent and model, with commas between";
        Error::new(ErrorCode::BadParameter, message)
    })
}

/// A day of the query, as days since 1970.
fn day(query: &Query<'_>, name: &str) -> Result<Option<i64>, Error> {
    let Some(text) = query.get(name) else { return Ok(None) };
    let shape = text.len() == 10;
    let at = time::to_millis(&format!("{text}T00:00:00Z")).filter(|_| shape);
    at.map(|at| Some(at.div_euclid(DAY))).ok_or_else(|| {
        let message = format!("`{name}` must be a day such as 2026-01-31");
        Error::new(ErrorCode::BadParameter, message)
    })
}

fn date(day: i64) -> Option<String> {
    let text = time::from_millis(day.checked_mul(DAY)?)?;
    text.get(..10).map(str::to_owned)
}

fn shown(of: &Spent) -> Value {
    let mut out = tokens(&of.tokens);
    out["latency"] = latency(&of.time);
    let names = [
        ("day", of.day.and_then(date)),
        ("thread", of.thread.clone()),
        ("agent", of.agent.clone()),
        ("model", of.model.clone()),
    ];
    for (name, value) in names {
        if let Some(value) = value {
            out[name] = json!(value);
        }
    }
    out
}

/// Of the calls of which it is known; all of them together, and the slowest.
fn latency(of: &Timed) -> Value {
    json!({ "calls": of.calls, "millis": of.millis, "slowest": of.slowest })
}

fn error(of: &Failures) -> Value {
    json!({
        "what": of.what,
        "code": of.code,
        "agent": of.agent,
        "times": of.times,
        "last": date(of.last),
    })
}
