//! What a task is to do: what its caller or its user asked.

use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Node};
use selvedge_store::{ReadError, Store, ThreadRef};

/// Entries before a task's first one that are looked at: a message and its tasks come together.
const BEFORE: u64 = 256;
/// Entries from a task's first one on: a call by another agent and the task come together.
const AFTER: u64 = 64;
/// Bytes read at once.
const PAGE: usize = 1 << 20;

/// What a task is to do.
#[derive(Default)]
pub(super) struct Asked {
    /// The message that it answers.
    pub(super) message: Option<String>,
    /// What was asked, as text.
    pub(super) prompt: Option<String>,
}

/// Looks up what a task is to do. Blocks for the disk.
pub(super) fn asked(
    store: &Store,
    thread: &ThreadRef,
    task: &str,
    began: u64,
) -> Result<Asked, ReadError> {
    let mut look = Look { task, asked: Asked::default(), said: Vec::new(), is_done: false };
    let (mut seen, end) = (began.saturating_sub(BEFORE), began.saturating_add(AFTER));
    while seen < end && !look.is_done {
        let page = store.read(thread, seen, usize::MAX, PAGE)?;
        let Some(last) = page.entries.last() else { break };
        seen = last.seq;
        for entry in page.entries.iter().take_while(|entry| entry.seq <= end) {
            if let Ok(doc) = Doc::parse_bytes(&entry.event)
                && let Some(event) = Event::parse(doc.root())
            {
                look.take(&event, doc.root());
            }
        }
    }
    Ok(look.asked)
}

struct Look<'a> {
    task: &'a str,
    asked: Asked,
    /// What users said: the messages' ids and texts.
    said: Vec<(Option<String>, String)>,
    is_done: bool,
}

impl Look<'_> {
    fn take(&mut self, event: &Event<'_>, node: Node<'_, '_>) {
        let is = |field: &str| event.str(field).is_some_and(|id| id == self.task);
        match event.kind() {
            _ if self.is_done => {}
            Kind::Message if event.get("role").is_some_and(|role| role.is("user")) => {
                let id = event.str("messageId").map(|id| id.into_owned());
                self.said.push((id, node.get("content").map(text).unwrap_or_default()));
            }
            Kind::SubtaskCreated if is("subtaskId") => {
                self.asked.prompt = event.str("prompt").map(|prompt| prompt.into_owned());
            }
            Kind::TaskCreated if is("taskId") => {
                self.is_done = true;
                self.asked.message = event.str("messageId").map(|id| id.into_owned());
                if self.asked.prompt.is_none() {
                    let own =
                        self.said.iter().rev().find(|(id, _)| {
                            self.asked.message.is_some() && *id == self.asked.message
                        });
                    self.asked.prompt = own.or(self.said.last()).map(|(_, text)| text.clone());
                }
            }
            _ => {}
        }
    }
}

/// A message's content as text: all of it, or its parts that are text.
fn text(content: Node<'_, '_>) -> String {
    if let Some(text) = content.str() {
        return text.into_owned();
    }
    let parts = content.children().filter_map(|part| part.get("text").and_then(Node::str));
    parts.collect::<Vec<_>>().join("\n")
}
