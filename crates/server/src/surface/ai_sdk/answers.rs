//! Answers in a client's copy of an agent's message: what a user agreed to, and what tools gave
//! that run at the client.

use selvedge_agents::fits;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Node, from_utf8, quote};
use selvedge_store::{InboxItem, InboxKind, ThreadRef};

use super::follow::Followed;
use super::request::{Asked, wrong};
use crate::auth::Principal;
use crate::surface::asked::{Asked as Waiting, asked as waiting_in, began, root_of, word};
use crate::surface::native::acts::inputs::{Reply, give};
use crate::{App, Error, ErrorCode};

/// Bytes of the journal that are looked through at once for an answer.
const PAGE: usize = 1 << 20;

/// An answer to a question that waits.
struct Answer {
    item: InboxItem,
    /// As a body of the native API.
    body: String,
    pointer: String,
}

/// Gives the answers of the last message; the turn goes on after what was asked.
pub(super) async fn given(
    app: &App,
    principal: &Principal,
    asked: &Asked<'_>,
) -> Result<Followed, Error> {
    let thread = app.fresh(&principal.thread(&asked.id)).await?;
    let last = asked.last()?;
    let waiting = waiting_in(app, &thread, principal.sees).await?;
    let inputs: Vec<_> =
        waiting.into_iter().filter(|one| one.item.kind == InboxKind::Input).collect();
    let (mut answers, mut before) = (Vec::new(), Vec::new());
    for (pointer, part) in last.parts() {
        let Some(call) = part.get("toolCallId").and_then(Node::str) else { continue };
        let Some(said) = Said::read(part, &pointer)? else { continue };
        match said.question(&inputs, &last.id, &call) {
            Some(one) => {
                let (item, body) = (one.item.clone(), said.body(one)?);
                answers.push(Answer { item, body, pointer });
            }
            None => before.extend(said.ids(&last.id, &call)),
        }
    }
    // All of them were asked when the client had them.
    let after = answers.iter().map(|answer| answer.item.seq).max();
    let asked_by = answers.first().map(|answer| answer.item.clone());
    for Answer { item, body, pointer } in answers {
        let doc = Doc::parse(&body).map_err(|error| wrong(&error.to_string(), &pointer))?;
        let answer = Reply { thread: &asked.id, id: &item.id, root: doc.root(), key: None };
        match give(app, principal, answer).await {
            Ok(_) => {}
            // Someone was faster; the turn goes on with their answer.
            Err(error) if error.code == ErrorCode::AlreadyAnswered => {}
            Err(error) => return Err(error.at(pointer)),
        }
    }
    let asked_by = match asked_by {
        Some(item) => Some(item),
        // All of it was sent before, and what came of it was lost.
        None => latest(app, &thread, before).await?,
    };
    let Some(item) = asked_by else {
        let message = "nothing in the last message answers what the agent waits for";
        return Err(Error::new(ErrorCode::Conflict, message).at(last.pointer.clone()));
    };
    let after = after.unwrap_or(item.seq);
    let root = root_of(app, &thread, item.task.unwrap_or_default()).await?;
    let began = began(app, &thread, &root).await?.unwrap_or(after);
    let turn = Followed::whole(app, thread, root, began).await?;
    let after = match turn.tasks.len() {
        ..=1 => after,
        // Others have gone on meanwhile, and the client has that.
        _ => before_answer(app, &turn.thread, &item.id, item.seq).await?.unwrap_or(after),
    };
    Ok(Followed { after, ..turn })
}

/// What a part says to what was asked for its call.
enum Said {
    /// A user agrees, or does not.
    Approval { id: String, approved: bool, reason: Option<String> },
    /// What a tool gave at the client, as JSON, and where it stands.
    Output(String, String),
}

impl Said {
    fn read(part: Node<'_, '_>, pointer: &str) -> Result<Option<Self>, Error> {
        if let Some(approval) = part.some("approval").filter(|own| own.some("approved").is_some()) {
            let at = |name: &str| format!("{pointer}/approval/{name}");
            let approved = approval.get("approved").and_then(Node::bool);
            let approved =
                approved.ok_or_else(|| wrong("must be true or false", &at("approved")))?;
            let id = approval.get("id").and_then(Node::str);
            let id = id.ok_or_else(|| wrong("must be a string", &at("id")))?.into_owned();
            let reason = approval.get("reason").and_then(Node::str).map(|text| text.into_owned());
            return Ok(Some(Self::Approval { id, approved, reason }));
        }
        let state = part.get("state").and_then(Node::str);
        Ok(match state.as_deref() {
            Some("output-available") => {
                let output = part.get("output").map_or("null", Node::raw).to_owned();
                Some(Self::Output(output, format!("{pointer}/output")))
            }
            Some("output-error") => {
                let text = part.get("errorText").and_then(Node::str).unwrap_or_default();
                let output = format!("{{\"error\":{}}}", quote(&text));
                Some(Self::Output(output, format!("{pointer}/errorText")))
            }
            _ => None,
        })
    }

    /// The question that it answers, if that waits. Tools' ids need not be unique in a thread.
    fn question<'w>(
        &self,
        waiting: &'w [Waiting],
        message: &str,
        call: &str,
    ) -> Option<&'w Waiting> {
        // Where several agents answer, calls of the others are named with their tasks.
        let of_call = |one: &&Waiting| {
            let task = one.item.task.as_deref().unwrap_or_default();
            let within = call.strip_prefix(task).and_then(|rest| rest.strip_prefix('/'));
            let own = one.event.str("toolCallId");
            own.is_some_and(|own| own == call || within == Some(&*own))
        };
        match self {
            Self::Approval { id, .. } => waiting.iter().find(|one| one.item.id == *id),
            Self::Output(..) => {
                let own = |one: &&Waiting| {
                    one.item.task.as_deref().is_some_and(|task| message.starts_with(task))
                };
                let mut all = waiting.iter().filter(of_call);
                all.clone().find(own).or_else(|| all.next())
            }
        }
    }

    /// What the question may have been called, if it waits no more: after its call, which has its
    /// task before it where that is another one's than the message's.
    fn ids(&self, message: &str, call: &str) -> Vec<String> {
        match self {
            Self::Approval { id, .. } => vec![id.clone()],
            Self::Output(..) => vec![format!("{message}/{call}"), call.to_owned()],
        }
    }

    /// As a body of the native API. Clients of the oldest version know no approvals: they agree
    /// with the output `true`, `{"approved":true}` or a word.
    fn body(&self, asked: &Waiting) -> Result<String, Error> {
        let (output, at) = match self {
            Self::Approval { approved, reason, .. } => {
                let reason = reason.as_deref().map(quote);
                let reason = reason.map_or(String::new(), |text| format!(",\"reason\":{text}"));
                return Ok(format!("{{\"value\":{approved}{reason}}}"));
            }
            Self::Output(output, at) => (output, at),
        };
        let doc = Doc::parse(output).map_err(|error| wrong(&error.to_string(), at))?;
        let root = doc.root();
        if asked.confirms() {
            let said = root.bool().or_else(|| root.get("approved")?.bool());
            let said = said.or_else(|| word(&root.str()?));
            let message = "to agree, give the output `true`; to refuse, `false`";
            let said = said.ok_or_else(|| wrong(message, at))?;
            return Ok(format!("{{\"value\":{said}}}"));
        }
        fits::question(&asked.event, root)
            .map_err(|misfit| wrong(&misfit.message, &format!("{at}{}", misfit.pointer)))?;
        Ok(format!("{{\"value\":{output}}}"))
    }
}

/// The entry before the answer to a question.
async fn before_answer(
    app: &App,
    thread: &ThreadRef,
    question: &str,
    mut after: u64,
) -> Result<Option<u64>, Error> {
    let (thread, question) = (thread.clone(), question.to_owned());
    let find = move |store: &selvedge_store::Store| loop {
        let entries = store.read(&thread, after, usize::MAX, PAGE)?.entries;
        let Some(last) = entries.last() else { return Ok(None) };
        after = last.seq;
        for entry in &entries {
            let Ok(doc) = Doc::parse(from_utf8(&entry.event).unwrap_or("")) else { continue };
            let Some(event) = Event::parse(doc.root()) else { continue };
            let answers = event.kind() == Kind::InputReceived
                && event.str("inputId").is_some_and(|own| own == question);
            if answers {
                return Ok(Some(entry.seq.saturating_sub(1)));
            }
        }
    };
    app.blocking(find).await
}

/// The latest of some questions, answered or not.
async fn latest(
    app: &App,
    thread: &ThreadRef,
    ids: Vec<String>,
) -> Result<Option<InboxItem>, Error> {
    let thread = thread.clone();
    let find = move |store: &selvedge_store::Store| {
        let all = ids.iter().map(|id| store.question(&thread, InboxKind::Input, id));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        Ok(all.into_iter().flatten().max_by_key(|item| item.seq))
    };
    app.blocking(find).await
}
