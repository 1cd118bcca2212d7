//! What is told of one task: its own records, and what its subtasks ask of the user.
//!
//! A2A tells one task at a time. A question of a subtask would reach nobody, so the task that was
//! asked for asks it; which task it was is in the extension's events.

use std::borrow::Cow;

use selvedge_protocol::json::{Doc, Node, quote};

use super::caller::{Extension, Version};

/// Goes through the records of a task and what came of it.
pub(super) struct Relay {
    version: Version,
    extension: Extension,
    task: String,
    /// The subtask whose question the task asks.
    asking: Option<String>,
}

/// The extension's member in the metadata of every event: where it stands.
pub(super) const SEQUENCE: &str = "https://selvedge.dev/a2a/sequence/v1";

impl Relay {
    pub(super) fn new(version: Version, extension: Extension, task: &str) -> Self {
        Self { version, extension, task: task.to_owned(), asking: None }
    }

    /// The record as it is told, if it is. `place` is where whoever has it stands.
    pub(super) fn pass<'r>(&mut self, record: &'r str, place: &str) -> Option<Cow<'r, str>> {
        let doc = Doc::parse(record).ok()?;
        let (kind, body) = body(doc.root(), self.version)?;
        let id = body.get(if kind == "task" { "id" } else { "taskId" }).and_then(Node::str)?;
        let mut told = if id == *self.task {
            self.asking = None;
            Cow::Borrowed(record)
        } else {
            Cow::Owned(self.of_subtask(&id, kind, body, record)?)
        };
        if self.extension == Extension::Active {
            told = Cow::Owned(marked(&told, self.version, place)?);
        }
        Some(told)
    }

    /// A subtask's record as one of the task.
    fn of_subtask(
        &mut self,
        id: &str,
        kind: &str,
        body: Node<'_, '_>,
        record: &str,
    ) -> Option<String> {
        if kind != "statusUpdate" {
            return None;
        }
        let state = body.pointer("/status/state").and_then(Node::str)?;
        let asks = matches!(
            &*state,
            "TASK_STATE_INPUT_REQUIRED"
                | "TASK_STATE_AUTH_REQUIRED"
                | "input-required"
                | "auth-required"
        );
        let goes_on = self.asking.as_deref() == Some(id);
        let with_events = self.extension == Extension::Active && body.get("metadata").is_some();
        if asks {
            self.asking = Some(id.to_owned());
        } else if goes_on && !with_events {
            self.asking = None;
        } else if !with_events {
            return None;
        }
        let own = body.get("taskId")?;
        let mut out = String::with_capacity(record.len());
        out.push_str(record.get(..own.start())?);
        out.push_str(&quote(&self.task));
        let mut rest = record.get(own.end()..)?.to_owned();
        if !asks {
            // The end of a subtask is not the task's.
            let working =
                if self.version == Version::V1 { "TASK_STATE_WORKING" } else { "working" };
            rest = rest.replacen(&format!("\"{state}\""), &format!("\"{working}\""), 1);
            rest = rest.replacen("\"final\":true", "\"final\":false", 1);
            let head = out.replacen("\"final\":true", "\"final\":false", 1);
            out = head.replacen(&format!("\"{state}\""), &format!("\"{working}\""), 1);
        }
        // Its message names the subtask too.
        out.push_str(&rest.replace(
            &format!("\"taskId\":{}", own.raw()),
            &format!("\"taskId\":{}", quote(&self.task)),
        ));
        Some(out)
    }
}

/// Which record it is, and what it says.
pub(super) fn body<'d, 'a>(
    root: Node<'d, 'a>,
    version: Version,
) -> Option<(&'static str, Node<'d, 'a>)> {
    const KINDS: [(&str, &str); 3] = [
        ("task", "task"),
        ("statusUpdate", "status-update"),
        ("artifactUpdate", "artifact-update"),
    ];
    match version {
        Version::V1 => KINDS.iter().find_map(|(name, _)| Some((*name, root.get(name)?))),
        Version::V03 => {
            let kind = root.get("kind")?;
            let (name, _) = KINDS.iter().find(|(_, old)| kind.is(old))?;
            Some((*name, root))
        }
    }
}

/// A record that says where it stands.
fn marked(record: &str, version: Version, place: &str) -> Option<String> {
    let doc = Doc::parse(record).ok()?;
    let (_, body) = body(doc.root(), version)?;
    let mark = format!("{}:{{\"cursor\":{}}}", quote(SEQUENCE), quote(place));
    let (at, text) = match body.get("metadata").filter(|metadata| metadata.is_object()) {
        Some(metadata) => {
            let comma = if metadata.members().next().is_some() { "," } else { "" };
            (metadata.start() + 1, format!("{mark}{comma}"))
        }
        None => (body.start() + 1, format!("\"metadata\":{{{mark}}},")),
    };
    Some(format!("{}{text}{}", record.get(..at)?, record.get(at..)?))
}
