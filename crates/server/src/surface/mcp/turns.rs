//! What comes of something that was said, told in one answer.

use std::time::Duration;

use selvedge_protocol::journal::{Cursor, Visibility};
use selvedge_store::Appended;
use serde_json::{Value, json};

use super::tools::wrong;
use crate::auth::Principal;
use crate::state;
use crate::turn::{Turn, Until};
use crate::view::{Filter, Sieve};
use crate::{App, Error, ErrorCode};

/// How long before a request would be given up its answer begins.
const MARGIN: Duration = Duration::from_secs(5);

/// How long to wait for a turn.
pub(super) struct Waits(Duration);

impl Waits {
    /// As long as asked for, and as the server lets.
    pub(super) fn of(app: &App, arguments: &Value) -> Result<Self, Error> {
        let most = app.options().request_timeout.saturating_sub(MARGIN);
        match arguments.get("wait") {
            None | Some(Value::Null) => Ok(Self(most)),
            Some(wait) => {
                let seconds = wait.as_u64().ok_or_else(|| wrong("wait"))?;
                Ok(Self(Duration::from_secs(seconds).min(most)))
            }
        }
    }
}

/// What tasks said until they were over, waited for someone, or took too long to wait for.
pub(super) async fn came_of(
    app: &App,
    principal: &Principal,
    (id, appended, tasks): (String, Appended, Vec<String>),
    Waits(wait): Waits,
) -> Result<Value, Error> {
    let (thread, after) = (appended.thread, appended.first.saturating_sub(1));
    let turn = Turn {
        id: id.clone(),
        thread: thread.clone(),
        after,
        tasks: tasks.clone(),
        until: Until::Rest,
    };
    let rested = tokio::time::timeout(wait, turn.rested(app.clone())).await.ok();
    let mut filter = Filter::all(principal.sees.min(Visibility::Participants));
    filter.tasks = tasks;
    let own = id.clone();
    let told = app.blocking(move |store| {
        let head = rested.map_or_else(|| store.head(&thread), Ok)?;
        let mut turn = selvedge_protocol::journal::fold::State::new();
        state::fold_on(store, &thread, after..head, &mut Sieve::new(filter), &mut turn)?;
        let cursor = Cursor { epoch: thread.epoch, seq: head };
        Ok(state::json(&own, cursor, head, &turn, state::Origin::Told))
    });
    let told: Value = serde_json::from_str(&told.await?)
        .map_err(|error| Error::new(ErrorCode::Internal, error.to_string()))?;
    Ok(json!({
        "thread": id,
        "rests": rested.is_some(),
        "messages": told["messages"],
        "tasks": told["tasks"],
        "inputs": told["inputs"],
        "cursor": told["cursor"],
    }))
}
