//! A message that is to be answered anew, as it was or edited.
//!
//! Nothing is taken back from a journal. The chat goes on as a branch that leaves it before the
//! message and takes its id; the line that was left stays, under an id of its own.

use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, from_utf8};
use selvedge_store::ThreadRef;
use uuid::Uuid;

use super::chat::{said, tell, turn_of};
use super::follow::Followed;
use super::request::Asked;
use crate::auth::Principal;
use crate::surface::asked::unfinished;
use crate::surface::native::acts::cancel::stop_task;
use crate::surface::native::branch::{Branch, branch_off, take_place};
use crate::surface::native::messages::receivers;
use crate::{App, Error, ErrorCode};

/// Entries of an append before a message's task that are looked through for the message.
const BEFORE: u64 = 256;

/// What the message is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// What the journal says it was.
    AsItWas,
    /// What the client says it is now.
    Edited,
}

/// Answers the last message anew. If the journal does not have it, it is new.
pub(super) async fn rewind(
    app: &App,
    principal: &Principal,
    asked: &Asked<'_>,
    again: Again,
) -> Result<Followed, Error> {
    let last = asked.last()?;
    let wanted = principal.thread(&asked.id);
    let thread = app.find_thread(&wanted).await?;
    let Some(thread) = thread else { return said(app, principal, asked).await };
    let named = asked.agent.clone().map(|agent| vec![agent]);
    let to = receivers(app, Some(thread.clone()), named).await?;
    let Some(turn) = turn_of(app, &thread, &last.id, &to).await? else {
        return said(app, principal, asked).await;
    };
    let found = message_before(app, &thread, turn.began, &last.id).await?;
    let (seq, was) = found.ok_or_else(|| {
        let message = "the message is not one of a user's that can be answered anew";
        Error::new(ErrorCode::Conflict, message).at(last.pointer.clone())
    })?;
    let now = match again {
        Again::AsItWas => was,
        Again::Edited => last.events()?.0,
    };
    for task in unfinished(app, &thread).await? {
        match stop_task(app, principal, (&asked.id, &task.id), None).await {
            Ok(_) => {}
            Err(error) if error.code == ErrorCode::AlreadyOver => {}
            Err(error) => return Err(error),
        }
    }
    let own = Uuid::now_v7().to_string();
    let branch = Branch { id: &own, parent: &asked.id, from: thread, at: seq.saturating_sub(1) };
    branch_off(app, principal, branch, None, None).await?;
    take_place(app, principal, &own, &asked.id, &Uuid::now_v7().to_string()).await?;
    tell(app, principal, asked, Vec::new(), (&last.id, &now), to).await
}

/// A message in the append of the task that answers it, with its entry.
async fn message_before(
    app: &App,
    thread: &ThreadRef,
    began: u64,
    id: &str,
) -> Result<Option<(u64, Event<'static>)>, Error> {
    let (thread, id) = (thread.clone(), id.to_owned());
    let after = began.saturating_sub(BEFORE);
    let count = usize::try_from(began - after).unwrap_or(0);
    let page =
        app.blocking(move |store| Ok(store.read(&thread, after, count, usize::MAX)?)).await?;
    let mut found = None;
    for entry in page.entries.iter().filter(|entry| entry.seq < began) {
        let Ok(doc) = Doc::parse(from_utf8(&entry.event).unwrap_or("")) else { continue };
        let Some(event) = Event::parse(doc.root()) else { continue };
        if event.kind() == Kind::Message && event.str("messageId").is_some_and(|own| own == id) {
            let fields = ["messageId", "role", "content", "attachments", "author", "metadata"];
            let own = Event::new(Kind::Message);
            let said = fields.iter().fold(own, |said, name| {
                said.with_some(name, event.get(name).map(|value| value.to_owned()))
            });
            found = Some((entry.seq, said));
        }
    }
    Ok(found)
}
