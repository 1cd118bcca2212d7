//! Tasks piece by piece: sent and followed, or followed later.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use selvedge_protocol::journal::Cursor;
use selvedge_protocol::json::Node;
use serde_json::json;

use super::answer::{Answer, Binding};
use super::caller::{Caller, Version};
use super::fault::{Fault, What};
use super::message::Sent;
use super::relay::Relay;
use super::request::needed;
use super::send::deliver;
use super::snapshot::{self, Artifacts, Found, Shown, find};
use crate::turn::{Turn, Until, Writing};
use crate::view::{Place, Start};

/// `SendStreamingMessage`, `message/stream`
pub(super) async fn send(
    caller: &Caller,
    params: Node<'_, '_>,
    binding: &Binding,
) -> Result<Answer, Fault> {
    let sent = Sent::read(params, caller.version)?;
    let said = deliver(caller, &sent, params).await?;
    if said.is_new {
        let turn = said.turn(Until::Rest);
        let start = turn.start();
        return followed(caller, turn, &said.found, start, binding).await.map(Answer::Stream);
    }
    let turn = whole(&said.found, Until::RestNow);
    let first = snapshot(caller, &said.found, said.before, binding).await?;
    let start = after(&said.found, said.before);
    let rest = followed(caller, turn, &said.found, start, binding).await?;
    Ok(Answer::Stream(behind(first, rest)))
}

/// `SubscribeToTask`, `tasks/resubscribe`
pub(super) async fn subscribe(
    caller: &Caller,
    params: Node<'_, '_>,
    binding: &Binding,
) -> Result<Answer, Fault> {
    let id = needed(params, "id", "")?;
    let found = find(caller, &id).await?;
    let turn = whole(&found, Until::Over);
    // Who says where it stood gets what came after, also of a task that is over.
    if let Some(Start::After(place)) = caller.place
        && place.cursor.epoch == found.thread.epoch
    {
        let start = Start::After(place);
        return followed(caller, turn, &found, start, binding).await.map(Answer::Stream);
    }
    if found.task.state.is_terminal() {
        let message = format!("task `{id}` is over; there is nothing to follow");
        return Err(Fault::new(What::Unsupported, message));
    }
    let of = found.thread.clone();
    let head = caller.app.blocking(move |store| Ok(store.head(&of)?)).await?;
    let first = snapshot(caller, &found, head, binding).await?;
    let rest = followed(caller, turn, &found, after(&found, head), binding).await?;
    Ok(Answer::Stream(behind(first, rest)))
}

/// The task from its beginning.
pub(super) fn whole(found: &Found, until: Until) -> Turn {
    Turn {
        id: found.context.clone(),
        thread: found.thread.clone(),
        after: found.after,
        tasks: vec![found.task.id.clone()],
        until,
    }
}

/// After an entry of a task's thread.
pub(super) fn after(found: &Found, seq: u64) -> Start {
    let cursor = Cursor { epoch: found.thread.epoch, seq };
    Start::After(Place { cursor, records: 0 })
}

async fn followed(
    caller: &Caller,
    turn: Turn,
    found: &Found,
    start: Start,
    binding: &Binding,
) -> Result<Response, Fault> {
    let kind = caller.kind(&found.context, &found.task.id, turn.after);
    let mut relay = Relay::new(caller.version, caller.extension, &found.task.id);
    let binding = binding.clone();
    let writing = Writing {
        frame: Box::new(move |frame, out| {
            if let Some(told) = relay.pass(frame.data, frame.id) {
                event(&binding, frame.id, &told, out);
            }
        }),
        end: Box::new(|_| {}),
    };
    Ok(turn.written(&caller.app, kind, start, writing).await?)
}

/// An event with where whoever has it stands. A2A knows no such ids, and its clients ignore them.
fn event(binding: &Binding, place: &str, data: &str, out: &mut String) {
    if !place.is_empty() {
        out.push_str("id: ");
        out.push_str(place);
        out.push('\n');
    }
    out.push_str("data: ");
    binding.event(data, out);
    out.push_str("\n\n");
}

/// The task at an entry, as the first event of a stream.
async fn snapshot(
    caller: &Caller,
    found: &Found,
    seq: u64,
    binding: &Binding,
) -> Result<Bytes, Fault> {
    let shown = Shown { history: None, artifacts: Artifacts::Shown };
    let task = snapshot::at(caller, found, Some(seq), shown).await?;
    let task = match caller.version {
        Version::V1 => json!({ "task": task }),
        Version::V03 => task,
    };
    let mut out = String::new();
    let place = Cursor { epoch: found.thread.epoch, seq }.to_string();
    event(binding, &place, &task.to_string(), &mut out);
    Ok(Bytes::from(out))
}

/// Something, and then the rest of an answer.
fn behind(first: Bytes, rest: Response) -> Response {
    let (parts, body) = rest.into_parts();
    let first = stream::once(async move { Ok::<_, axum::Error>(first) });
    Response::from_parts(parts, Body::from_stream(first.chain(body.into_data_stream())))
}
