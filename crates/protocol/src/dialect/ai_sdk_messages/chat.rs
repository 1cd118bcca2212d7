//! The fold from events to UIMessages, as the AI SDK's own reducer folds its stream.
//!
//! Invariant: an event costs time in proportion to itself, not to the message it adds to.

use std::collections::HashMap;

use super::message::Message;
use super::part::{Growth, Part, Text};
use crate::dialect::ai_sdk::joint::Joint;
use crate::dialect::ai_sdk::{Version, content, meta};
use crate::journal::{Event, Kind};
use crate::json::{Raw, text};

/// The messages so far.
#[derive(Debug)]
pub(super) struct Chat {
    pub(super) version: Version,
    pub(super) messages: Vec<Message>,
    /// Messages before this one are written already.
    written: usize,
    runs: HashMap<String, Run>,
    /// Runs that are told together, and their messages by the first of them.
    joint: Joint,
    shared: HashMap<String, usize>,
    /// The run that events without one belong to.
    current: Option<String>,
    /// Where the last delta went: run, part or call id, message, part.
    pub(super) last: Option<(String, String, usize, usize)>,
    /// Which message has the latest call of each tool call id, and who asked for approval.
    pub(super) calls: HashMap<String, usize>,
    pub(super) approvals: HashMap<String, (usize, String)>,
}

#[derive(Debug, Default)]
struct Run {
    /// Its message, if it has said something.
    message: Option<usize>,
    id: Option<Raw<'static>>,
    metadata: Option<Raw<'static>>,
    /// Messages it has had before.
    before: u32,
    /// Whether it is one turn of an agent, whatever others say meanwhile.
    turn: bool,
}

impl Chat {
    pub(super) fn new(version: Version) -> Self {
        Self {
            version,
            messages: Vec::new(),
            written: 0,
            runs: HashMap::new(),
            joint: Joint::default(),
            shared: HashMap::new(),
            current: None,
            last: None,
            calls: HashMap::new(),
            approvals: HashMap::new(),
        }
    }

    /// Takes note that all messages so far are written.
    pub(super) fn seal(&mut self) {
        self.written = self.messages.len();
        for run in self.runs.values_mut() {
            run.before += u32::from(run.message.take().is_some());
            run.id = run.id.take().filter(|_| run.before == 0);
        }
        self.shared.clear();
        self.last = None;
    }

    /// Messages not written yet, with those of runs that said nothing but named their message.
    pub(super) fn rest(&mut self) -> &[Message] {
        let mut silent: Vec<String> = self
            .runs
            .iter()
            .filter(|(_, run)| run.message.is_none() && run.before == 0 && run.id.is_some())
            .map(|(task, _)| task.clone())
            .collect();
        silent.sort();
        for task in silent {
            self.message_of(&task);
        }
        self.messages.get(self.written..).unwrap_or(&[])
    }

    /// The first message that is not written yet.
    pub(super) fn open_from(&self) -> usize {
        self.written
    }

    /// Takes an event in.
    pub(super) fn apply(&mut self, event: &Event<'_>) {
        let own = self.joint.told(event);
        let event = own.as_ref().unwrap_or(event);
        match event.kind() {
            Kind::ContentDelta => return self.delta(event),
            Kind::ToolCallDelta => return self.call_delta(event),
            _ => self.last = None,
        }
        match event.kind() {
            Kind::TaskCreated => self.start(event),
            Kind::TaskComplete => self.complete(event),
            Kind::StepStarted => {
                let together = self.joint.lead(&self.task(event)).is_some();
                let message = self.message(event);
                // A client looks for what is to be answered in the last step.
                if together && message.is_waiting() {
                    return;
                }
                message.push(Part::StepStart);
                message.step = message.parts.len();
            }
            Kind::PartStarted => self.part_started(event),
            Kind::PartFinished => self.part_finished(event),
            Kind::ContentComplete => self.whole_text(event),
            Kind::ThoughtStream => self.thought(event),
            Kind::ToolCallStarted | Kind::ToolCall | Kind::ToolStart => self.call(event),
            Kind::ToolComplete => self.output(event),
            Kind::InputRequired | Kind::ToolInputRequired => self.asked(event),
            Kind::InputReceived => self.answered(event),
            Kind::Source => self.source(event),
            Kind::System => self.system(event),
            Kind::Message => self.said(event),
            // The step may hold what others say.
            Kind::AttemptSuperseded if self.joint.lead(&self.task(event)).is_some() => {}
            Kind::AttemptSuperseded => self.message(event).reset_step(),
            Kind::FileWrite => self.file(event),
            Kind::AuthRequired
            | Kind::AuthCompleted
            | Kind::DataWrite
            | Kind::DatasetWrite
            | Kind::SubtaskCreated => self.as_data(event),
            _ => {}
        }
    }

    fn task(&self, event: &Event<'_>) -> String {
        match event.get("taskId") {
            Some(task) => task.to_string(),
            None => self.current.clone().unwrap_or_else(|| "\"run-1\"".to_owned()),
        }
    }

    fn start(&mut self, event: &Event<'_>) {
        let task = self.task(event);
        self.current = Some(task.clone());
        let id = meta::own_message(event);
        let known = id.and_then(|id| {
            let from = self.messages.get(self.written..)?;
            let at = from.iter().rposition(|m| m.id == *id && m.role == "\"assistant\"")?;
            Some(self.written + at)
        });
        let run = self.runs.entry(task).or_default();
        if run.message.is_some() {
            return;
        }
        run.message = known;
        run.turn = meta::is_dispatched(event);
        run.id = id.map(Raw::to_owned);
        let metadata = event.get("metadata").filter(|m| m.is_object());
        match known.and_then(|at| self.messages.get_mut(at)) {
            Some(message) => metadata.into_iter().for_each(|m| message.merge_metadata(m)),
            None => run.metadata = metadata.map(Raw::to_owned),
        }
    }

    fn complete(&mut self, event: &Event<'_>) {
        if let Some(said) = event.body("content").filter(|c| !c.is_empty()) {
            // Said only at the end, or said again.
            let said = said.to_owned();
            let task = self.task(event);
            let spoke = self.joint.spoke(&task);
            let message = self.message(event);
            let spoke = spoke.unwrap_or_else(|| {
                message.parts.iter().any(|p| matches!(p, Part::Text(t) if !t.thought))
            });
            if !spoke {
                message.push(text_part(&said, Growth::Done));
            }
        }
        if let Some(metadata) = event.get("metadata").filter(|m| m.is_object()) {
            self.message(event).merge_metadata(metadata);
        }
    }

    /// The message of an event's run.
    pub(super) fn message(&mut self, event: &Event<'_>) -> &mut Message {
        let at = self.at(event);
        &mut self.messages[at]
    }

    /// The number of the message of an event's run; always one there is.
    pub(super) fn at(&mut self, event: &Event<'_>) -> usize {
        let task = self.task(event);
        self.message_of(&task)
    }

    fn message_of(&mut self, task: &str) -> usize {
        if self.current.as_deref() != Some(task) {
            self.current = Some(task.to_owned());
        }
        let run = self.runs.entry(task.to_owned()).or_default();
        if let Some(at) = run.message {
            return at;
        }
        let lead = self.joint.lead(task).filter(|_| run.before == 0);
        if let Some(at) = lead.and_then(|lead| self.shared.get(lead)) {
            run.message = Some(*at);
            return *at;
        }
        let id = match (&run.id, run.before) {
            (Some(id), 0) => id.clone(),
            (None, 0) => Raw::owned(lead.unwrap_or(task)),
            (id, n) => Raw::owned(meta::next_message(id.as_ref().map_or(task, Raw::as_str), n)),
        };
        if let Some(lead) = lead {
            self.shared.insert(lead.to_owned(), self.messages.len());
        }
        let mut message = Message::assistant(id);
        message.metadata = run.metadata.take();
        run.message = Some(self.messages.len());
        self.messages.push(message);
        self.messages.len() - 1
    }

    fn delta(&mut self, event: &Event<'_>) {
        let delta = event.body("delta").unwrap_or("");
        let task = event.get("taskId").map_or("", Raw::as_str);
        let part = event.get("partId").map_or("", Raw::as_str);
        if event.get("metadata").is_none()
            && let Some((last_task, last_part, message, at)) = &self.last
            && last_task == task
            && last_part == part
            && let Some(text) = self.messages.get_mut(*message).and_then(|m| m.text(*at))
        {
            text.body.push_str(delta);
            return;
        }
        let message_at = self.at(event);
        let message = &mut self.messages[message_at];
        let known = match part {
            "" => message.loose(false),
            _ => message.texts.get(part).copied(),
        };
        let at = known.unwrap_or_else(|| {
            if part.is_empty() {
                return message.push(text_part("", Growth::Loose));
            }
            let at = message.push(text_part("", Growth::Open));
            message.texts.insert(part.to_owned(), at);
            at
        });
        if let Some(text) = message.text(at) {
            text.body.push_str(delta);
            if let Some(provider) = meta::provider(event) {
                text.provider = Some(provider);
            }
        }
        self.last = Some((task.to_owned(), part.to_owned(), message_at, at));
    }

    fn part_started(&mut self, event: &Event<'_>) {
        let thought = event.get("partType").is_some_and(|t| t.is("reasoning"));
        let id = event.get("partId").map(Raw::to_owned).unwrap_or_default();
        let part = Part::Text(Box::new(Text {
            thought,
            id: Some(id.clone()),
            body: String::new(),
            growth: Growth::Open,
            provider: meta::provider(event),
            citations: None,
        }));
        let message = self.message(event);
        let at = message.push(part);
        let open = if thought { &mut message.thoughts } else { &mut message.texts };
        open.insert(id.to_string(), at);
    }

    fn part_finished(&mut self, event: &Event<'_>) {
        let thought = event.get("partType").is_some_and(|t| t.is("reasoning"));
        let Some(id) = event.get("partId") else { return };
        let (provider, citations) = (meta::provider(event), meta::find(event, "citations"));
        let message = self.message(event);
        let open = if thought { &mut message.thoughts } else { &mut message.texts };
        if let Some(at) = open.remove(id.as_str())
            && let Some(text) = message.text(at)
        {
            text.growth = Growth::Done;
            text.provider = provider.or(text.provider.take());
            text.citations = citations.or(text.citations.take());
        }
    }

    fn whole_text(&mut self, event: &Event<'_>) {
        let said = event.body("content").unwrap_or("").to_owned();
        let (provider, citations) = (meta::provider(event), meta::find(event, "citations"));
        let message = self.message(event);
        let open = match event.get("partId") {
            Some(id) => message.texts.remove(id.as_str()),
            None => message.loose(false),
        };
        let at = match open {
            // The deltas said it; say what they left out.
            Some(at) if message.text(at).is_some_and(|t| !t.body.is_empty()) => {
                if let Some(part) = message.text(at) {
                    let rest = said.strip_prefix(part.body.as_str()).map(str::to_owned);
                    part.body.push_str(rest.as_deref().unwrap_or(""));
                    part.growth = Growth::Done;
                }
                at
            }
            Some(at) => {
                if let Some(part) = message.text(at) {
                    part.body = said;
                    part.growth = Growth::Done;
                }
                at
            }
            None => message.push(text_part(&said, Growth::Done)),
        };
        if let Some(part) = message.text(at) {
            part.provider = provider.or(part.provider.take());
            part.citations = citations.or(part.citations.take());
        }
    }

    fn thought(&mut self, event: &Event<'_>) {
        let said = event.body("content").unwrap_or("");
        let id = event.get("thoughtId").map(Raw::to_owned);
        let provider = meta::provider(event);
        let message = self.message(event);
        let open = id.as_ref().and_then(|id| message.thoughts.get(id.as_str()).copied());
        let open = open.or_else(|| {
            let at = message.loose(true)?;
            (id.is_some() && message.text(at)?.id == id).then_some(at)
        });
        let at = open.unwrap_or_else(|| {
            message.push(Part::Text(Box::new(Text {
                thought: true,
                id,
                body: String::new(),
                growth: Growth::Loose,
                provider: None,
                citations: None,
            })))
        });
        if let Some(text) = message.text(at) {
            text.body.push_str(said);
            text.provider = provider.or(text.provider.take());
        }
    }

    /// A whole message of someone.
    fn said(&mut self, event: &Event<'_>) {
        let role = event.get("role").and_then(Raw::body).unwrap_or("user");
        let steering = event.get("taskId").is_some()
            && meta::find(event, "part").is_some_and(|p| p.is("steering-message"));
        if steering {
            let id = event.get("messageId").map_or(Raw::Ref("\"\""), Raw::to_owned);
            let parts = content::write(event.get("content"), event.get("attachments"));
            let newest = self.version >= Version::V7;
            let message = self.message(event);
            if newest {
                let json =
                    format!("{{\"type\":\"steering-message\",\"id\":{id},\"parts\":{parts}}}");
                message.push(Part::Fixed(json));
            } else {
                message.set_data("steering-message", Some(id), Raw::owned(parts));
            }
            return;
        }
        match role {
            "agent" => self.agent_said(event),
            "user" | "system" => {
                let number = self.messages.len() + 1;
                let mut message = Message {
                    id: event
                        .get("messageId")
                        .map_or_else(|| Raw::owned(format!("\"message-{number}\"")), Raw::to_owned),
                    role: if role == "user" { "\"user\"" } else { "\"system\"" },
                    fixed: Some(content::write(event.get("content"), event.get("attachments"))),
                    ..Message::default()
                };
                sign(event, &mut message);
                self.messages.push(message);
                // What agents say from here on comes after it.
                for run in self.runs.values_mut().filter(|run| !run.turn) {
                    run.before += u32::from(run.message.take().is_some());
                }
            }
            _ => self.as_data(event),
        }
    }

    /// A turn goes on with an answer that was a message of its own: what follows comes after it.
    pub(super) fn goes_on(&mut self, event: &Event<'_>) {
        let task = self.task(event);
        if let Some(run) = self.runs.get_mut(&task).filter(|_| meta::is_message(event)) {
            run.before += u32::from(run.message.take().is_some());
        }
    }

    /// A whole message of an agent: a message of its own, unless it is part of a run's.
    fn agent_said(&mut self, event: &Event<'_>) {
        let task = self.task(event);
        let in_run = event.get("taskId").is_some() && self.runs.contains_key(&task);
        let at = if in_run {
            self.at(event)
        } else {
            let number = self.messages.len() + 1;
            let id = event
                .get("messageId")
                .map_or_else(|| Raw::owned(format!("\"message-{number}\"")), Raw::to_owned);
            self.messages.push(Message::assistant(id));
            self.messages.len() - 1
        };
        let parts = content::write(event.get("content"), event.get("attachments"));
        let message = &mut self.messages[at];
        if let Ok(doc) = crate::json::Doc::parse(&parts) {
            for part in doc.root().children() {
                match part.get("text") {
                    Some(said) => message.push(text_part(said.body(), Growth::Done)),
                    None => message.push(Part::Fixed(part.raw().to_owned())),
                };
            }
        }
        sign(event, message);
    }
}

/// Says in a message's metadata who wrote it.
fn sign(event: &Event<'_>, message: &mut Message) {
    if let Some(metadata) = event.get("metadata").filter(|m| m.is_object()) {
        message.merge_metadata(metadata);
    }
    if let Some(author) = event.get("author").filter(|a| !a.is_null()) {
        message.merge_metadata(&Raw::owned(format!("{{\"author\":{author}}}")));
    }
}

fn text_part(body: &str, growth: Growth) -> Part {
    let body = text::minimal(body).into_owned();
    Part::Text(Box::new(Text {
        thought: false,
        id: None,
        body,
        growth,
        provider: None,
        citations: None,
    }))
}
