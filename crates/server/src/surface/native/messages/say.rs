//! Saying something to agents: one append, with the tasks that come of it.

use selvedge_agents::config::file::WhileWaiting;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Raw, from_utf8, quote};
use selvedge_store::{Append, AppendError, Appended, Create, Key};

use super::tasks_for;
use super::waiting::{Part, Speaker, answer_to, canceled, guard, parts};
use crate::auth::Principal;
use crate::clock::now;
use crate::event::Stamp;
use crate::surface::native::acts::inputs::received;
use crate::{App, Error, ErrorCode};

/// How often a message is tried while tasks come and go under it.
const TRIES: usize = 16;

/// Something that is said to agents.
pub(crate) struct Saying<'a> {
    /// The thread's id.
    pub(crate) thread: &'a str,
    /// Whether the thread is made if it is not there.
    pub(crate) create: Create,
    /// Events that come before it.
    pub(crate) before: Vec<String>,
    /// The message's id, and the event that says it.
    pub(crate) message: String,
    pub(crate) event: String,
    /// What it says, if it is but text.
    pub(crate) text: Option<String>,
    /// For whom it is.
    pub(crate) to: Vec<String>,
    pub(crate) key: Option<Key>,
}

/// What a message is aimed at, beside its receivers.
pub(crate) struct Aimed {
    pub(crate) ids: TaskIds,
    /// The task of the user's whose question it answers; else it is whichever waits, or none.
    pub(crate) task: Option<String>,
}

/// How new tasks are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskIds {
    /// After their message, which has an id of its own.
    OfMessage,
    /// By ids of their own: messages here may have the same id.
    Minted,
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) message: String,
    /// Tasks that were made, and for whom.
    pub(crate) tasks: Vec<(String, String)>,
    /// Questions that were answered, and the tasks that had asked.
    pub(crate) answered: Vec<(String, String)>,
    /// Tasks that were canceled.
    pub(crate) canceled: Vec<String>,
    /// Tasks of the user's that go on with an answer.
    pub(crate) resumed: Vec<String>,
}

/// Says something.
pub(crate) async fn say(
    app: &App,
    principal: &Principal,
    saying: Saying<'_>,
) -> Result<(Appended, Said), Error> {
    say_aimed(app, principal, saying, Aimed { ids: TaskIds::OfMessage, task: None }).await
}

/// Says something to one task, or with other names for what comes of it.
pub(crate) async fn say_aimed(
    app: &App,
    principal: &Principal,
    saying: Saying<'_>,
    aimed: Aimed,
) -> Result<(Appended, Said), Error> {
    for _ in 0..TRIES {
        let (append, said) = prepared(app, principal, &saying, &aimed).await?;
        match app.append(append).await {
            // A question was answered, or a task ended, meanwhile.
            Err(AppendError::Instead(_)) => {}
            Err(AppendError::NotFound) => return Err(Error::no_thread(saying.thread)),
            Ok(appended) if appended.duplicate => {
                let said = before(app, &appended).await?;
                return Ok((appended, said));
            }
            result => return Ok((result?, said)),
        }
    }
    Err(Error::new(ErrorCode::Busy, "tasks come and go too fast; try again"))
}

/// The append, and what comes of it.
async fn prepared(
    app: &App,
    principal: &Principal,
    saying: &Saying<'_>,
    aimed: &Aimed,
) -> Result<(Append, Said), Error> {
    let key = principal.thread(saying.thread);
    let parts = parts_of(app, principal, saying, aimed).await?;
    let stamp = Stamp::new(saying.thread, now());
    let mut said = Said { message: saying.message.clone(), ..Said::default() };
    let (mut first, mut last, mut new) = (Vec::new(), Vec::new(), Vec::new());
    let by = principal.subject.as_deref().unwrap_or("user");
    for (agent, part) in saying.to.iter().zip(&parts) {
        match part {
            Part::New => new.push(agent.clone()),
            Part::Answer(own) => {
                let subject = principal.subject.as_ref().map(ToString::to_string);
                let value = Raw::owned(own.value.clone());
                let mut event = received(principal, (&own.item, &own.asked), subject, value);
                let metadata = format!("{{\"messageId\":{}}}", quote(&saying.message));
                event.set("metadata", Raw::owned(metadata));
                last.push(event);
                let task = own.item.task.clone().unwrap_or_default();
                said.answered.push((own.item.id.clone(), task));
                said.resumed.push(own.root.clone());
            }
            Part::Cancel { task, ends, .. } => {
                first.extend(canceled(task, by, ends));
                said.canceled.push(task.clone());
                new.push(agent.clone());
            }
        }
    }
    let made = tasks_for(&saying.message, &new, aimed.ids, principal.subject.as_deref());
    let mut own: Vec<&str> = saying.before.iter().map(String::as_str).collect();
    own.push(&saying.event);
    let after: Vec<&str> = made.iter().map(|task| task.event.as_str()).collect();
    said.tasks = made.iter().map(|task| task.id.clone()).zip(new).collect();
    let mut drafts = stamp.own(&first)?;
    drafts.extend(stamp.events(format!("[{}]", own.join(",")).as_bytes())?);
    drafts.extend(stamp.own(&last)?);
    drafts.extend(stamp.events(format!("[{}]", after.join(",")).as_bytes())?);
    let mut append = Append::new(key, drafts).creating(saying.create.clone());
    append.key = saying.key.clone();
    append.guard = guard(&parts);
    Ok((append, said))
}

async fn parts_of(
    app: &App,
    principal: &Principal,
    saying: &Saying<'_>,
    aimed: &Aimed,
) -> Result<Vec<Part>, Error> {
    let desk = app.desk().cloned();
    let mode = |agent: &String| {
        let mode = desk.as_ref().map(|desk| desk.while_waiting(agent)).unwrap_or_default();
        (agent.clone(), mode)
    };
    let to: Vec<_> = saying.to.iter().map(mode).collect();
    // Then it does not matter who waits for what.
    let queues = to.iter().all(|(_, mode)| *mode == WhileWaiting::Queue);
    if queues && aimed.task.is_none() {
        return Ok(to.iter().map(|_| Part::New).collect());
    }
    let (text, sees) = (saying.text.clone(), principal.sees);
    let speaker = Speaker { text, sees, is_agent: principal.is_agent() };
    let wanted = principal.thread(saying.thread);
    let there = app.find_thread(&wanted).await?;
    let Some(there) = there else { return Ok(to.iter().map(|_| Part::New).collect()) };
    app.store().fresh(&there).await?;
    if let Some(task) = aimed.task.clone() {
        return app
            .blocking(move |store| Ok(vec![answer_to(store, &there, &task, &speaker)?]))
            .await;
    }
    app.blocking(move |store| Ok(parts(store, &there, &to, &speaker)?)).await
}

/// What came of a message that was said before under the same key.
async fn before(app: &App, appended: &Appended) -> Result<Said, Error> {
    let (thread, first, last) = (appended.thread.clone(), appended.first, appended.last);
    let count = usize::try_from(last.saturating_sub(first)).unwrap_or(0) + 1;
    let read = move |store: &selvedge_store::Store| {
        Ok(store.read(&thread, first.saturating_sub(1), count, usize::MAX)?)
    };
    let page = app.blocking(read).await?;
    let mut said = Said::default();
    for entry in page.entries.iter().filter(|entry| entry.seq <= last) {
        let Ok(doc) = Doc::parse(from_utf8(&entry.event).unwrap_or("")) else { continue };
        let Some(event) = Event::parse(doc.root()) else { continue };
        let text = |name: &str| event.str(name).map(|text| text.into_owned()).unwrap_or_default();
        match event.kind() {
            Kind::Message => said.message = text("messageId"),
            Kind::TaskCreated => said.tasks.push((text("taskId"), text("agentId"))),
            Kind::InputReceived => said.answered.push((text("inputId"), text("taskId"))),
            Kind::CancelRequested => said.canceled.push(text("taskId")),
            _ => {}
        }
    }
    said.resumed = said.answered.iter().map(|(_, task)| task.clone()).collect();
    Ok(said)
}
