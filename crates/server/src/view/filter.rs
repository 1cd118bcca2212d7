//! Which events a reader gets.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use selvedge_protocol::journal::{Kind, Visibility};
use selvedge_protocol::json::{Doc, Node, from_utf8};
use selvedge_store::Entry;

use crate::redact::SharedCut;

/// The kind that comes most often.
const PIECE: &str = "content-delta";

/// What a reader asked for, and may see.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Filter {
    /// These kinds; `content-*` stands for all that begin so. Empty: all.
    pub(crate) kinds: Vec<String>,
    /// Events of these tasks. Empty: all.
    pub(crate) tasks: Vec<String>,
    pub(crate) descendants: Descendants,
    /// Whether what users said comes with the tasks, which does not name them.
    pub(crate) prompts: Prompts,
    /// No events of these tasks, nor of what came of them.
    pub(crate) without: Vec<String>,
    /// Events of these participants. Empty: all.
    pub(crate) participants: Vec<String>,
    pub(crate) thoughts: Thoughts,
    /// Thoughts of these types. Empty: all.
    pub(crate) thought_types: Vec<String>,
    /// Thoughts at least so confident, in thousandths; those that do not say pass.
    pub(crate) min_confidence: Option<u32>,
    pub(crate) sees: Visibility,
    /// The entry before the first that there is for the reader; the last of an append.
    pub(crate) after: u64,
    /// The thread's id, for dialects whose readers of a part of it would not learn it.
    pub(crate) context: Option<String>,
    /// What is left of the events for who is not of the house.
    pub(crate) cut: Option<SharedCut>,
}

/// Whether a task's subtasks count as the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Descendants {
    Included,
    Left,
}

/// Whether what users said comes with tasks that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Prompts {
    Included,
    Left,
}

/// The wordiest thoughts a reader gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Thoughts {
    Off,
    Brief,
    Normal,
    Detailed,
}

impl Thoughts {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "off" => Self::Off,
            "brief" => Self::Brief,
            "normal" => Self::Normal,
            "detailed" => Self::Detailed,
            _ => return None,
        })
    }
}

impl Filter {
    /// Everything that may be seen.
    pub(crate) fn all(sees: Visibility) -> Self {
        Self {
            kinds: Vec::new(),
            tasks: Vec::new(),
            descendants: Descendants::Included,
            prompts: Prompts::Left,
            without: Vec::new(),
            participants: Vec::new(),
            thoughts: Thoughts::Detailed,
            thought_types: Vec::new(),
            min_confidence: None,
            sees,
            after: 0,
            context: None,
            cut: None,
        }
    }

    /// The last entry that there is for the reader.
    pub(crate) fn upto(&self) -> u64 {
        self.cut.as_ref().map_or(u64::MAX, |cut| cut.upto)
    }

    /// Whether what passes depends on earlier events.
    pub(crate) fn needs_the_past(&self) -> bool {
        !self.without.is_empty()
            || !self.tasks.is_empty() && self.descendants == Descendants::Included
    }
}

/// A filter at work on one thread.
#[derive(Debug)]
pub(crate) struct Sieve {
    filter: Filter,
    /// Subtasks of the tasks asked for.
    tasks: HashSet<String>,
    /// Tasks that are left out, with their subtasks.
    without: HashSet<String>,
    /// With what the last event began, if it was a piece of text, and whether it passed: those that
    /// follow and begin so pass as well, or do not.
    piece: Option<(String, bool)>,
}

impl Sieve {
    pub(crate) fn new(filter: Filter) -> Self {
        let without = filter.without.iter().cloned().collect();
        Self { filter, tasks: HashSet::new(), without, piece: None }
    }

    /// The entry as its reader sees it, if it passes.
    pub(crate) fn see<'e>(&mut self, entry: &'e Entry) -> Option<Cow<'e, Entry>> {
        self.pass(from_utf8(&entry.event).unwrap_or("{}"))?;
        self.cut(entry)
    }

    /// An entry that passes as its reader sees it, if they see anything of it.
    pub(crate) fn cut<'e>(&self, entry: &'e Entry) -> Option<Cow<'e, Entry>> {
        match &self.filter.cut {
            None => Some(Cow::Borrowed(entry)),
            Some(cut) => cut.entry(entry).map(Cow::Owned),
        }
    }

    /// The last entry that there is for its reader.
    pub(crate) fn upto(&self) -> u64 {
        self.filter.upto()
    }

    /// What stands for an entry that does not pass, where something must.
    pub(crate) fn stand_in<'e>(&self, entry: &'e Entry) -> Cow<'e, Entry> {
        match &self.filter.cut {
            None => Cow::Borrowed(entry),
            Some(cut) => Cow::Owned(cut.nothing(entry)),
        }
    }

    /// The event's kind, if the event passes.
    pub(crate) fn pass<'a>(&mut self, event: &'a str) -> Option<Cow<'a, str>> {
        // Most readers of some kinds want few events, and need not look into the others.
        let leading = Kind::leading_name(event.as_bytes());
        if leading.is_some_and(|kind| !self.filter.needs_the_past() && !self.wants(kind)) {
            return None;
        }
        if let Some(kind) = leading.filter(|kind| self.lets_through(kind) && is_plain(event, kind))
        {
            return Some(Cow::Borrowed(kind));
        }
        if let Some(passes) = self.repeats(event) {
            return leading.filter(|_| passes).map(Cow::Borrowed);
        }
        self.piece = None;
        let doc = Doc::parse(event).ok()?;
        let root = doc.root();
        let kind = root.get("kind")?.str()?;
        // Also of events that are not wanted: whose task it is follows from them.
        let of_task = self.task_passes(root) & !self.left_out(root);
        let filter = &self.filter;
        let passes = of_task
            && Visibility::of(root, &kind) <= filter.sees
            && self.wants(&kind)
            && thoughts_pass(filter, root, &kind)
            && participants_pass(filter, root);
        if leading == Some(PIECE) && kind == PIECE && filter.participants.is_empty() {
            self.piece = head(event, root).map(|head| (head.to_owned(), passes));
        }
        passes.then_some(kind)
    }

    /// Whether an event passes, if it is a piece of text like the one before in all that matters.
    fn repeats(&self, event: &str) -> Option<bool> {
        static SAYS: LazyLock<[Finder<'static>; 4]> =
            LazyLock::new(|| ["\"kind\"", "askId\"", "\"visibility\"", "\\u"].map(Finder::new));
        let (head, passes) = self.piece.as_ref()?;
        let rest = event.strip_prefix(head.as_str()).filter(|rest| rest.starts_with([',', '}']))?;
        let says_more = SAYS.iter().any(|word| word.find(rest.as_bytes()).is_some());
        (!says_more).then_some(*passes)
    }

    /// Whether events of a kind pass that participants may see, whatever else they hold.
    fn lets_through(&self, kind: &str) -> bool {
        let filter = &self.filter;
        filter.tasks.is_empty()
            && filter.without.is_empty()
            && filter.participants.is_empty()
            && filter.sees >= Visibility::Participants
            && !kind.starts_with("internal:")
            && kind != "thought-stream"
            && self.wants(kind)
    }

    fn wants(&self, kind: &str) -> bool {
        let kinds = &self.filter.kinds;
        kinds.is_empty() || kinds.iter().any(|wanted| matches(wanted, kind))
    }

    fn left_out(&mut self, event: Node<'_, '_>) -> bool {
        if self.without.is_empty() {
            return false;
        }
        let text = |name| event.get(name).and_then(Node::str);
        let Some(task) = text("taskId") else { return false };
        if text("parentTaskId").is_some_and(|parent| self.without.contains(&*parent)) {
            self.without.insert(task.clone().into_owned());
        }
        self.without.contains(&*task)
    }

    fn task_passes(&mut self, event: Node<'_, '_>) -> bool {
        if self.filter.tasks.is_empty() {
            return true;
        }
        let asked = |sieve: &Self, id: &str| {
            sieve.filter.tasks.iter().any(|task| task == id) || sieve.tasks.contains(id)
        };
        let text = |name| event.get(name).and_then(Node::str);
        let task = text("taskId");
        if self.filter.descendants == Descendants::Included {
            // A task says whose it is when it begins, and its parent says what it began.
            for (parent, child) in
                [(text("parentTaskId"), task.clone()), (task.clone(), text("subtaskId"))]
            {
                if let (Some(parent), Some(child)) = (parent, child)
                    && asked(self, &parent)
                {
                    self.tasks.insert(child.into_owned());
                }
            }
        }
        match task {
            Some(task) => asked(self, &task),
            None => self.filter.prompts == Prompts::Included && is_prompt(event),
        }
    }
}

/// An event up to the last of the fields that say whose it is and who may see it.
fn head<'e>(event: &'e str, root: Node<'_, '_>) -> Option<&'e str> {
    let telling = ["kind", "taskId", "parentTaskId", "subtaskId", "visibility"];
    let end = telling.iter().filter_map(|name| root.get(name)).map(|value| value.end()).max()?;
    event.get(..end)
}

/// Whether an event that begins with its kind is surely of that kind and for participants: it says
/// neither again, nor who may see it, in whatever spelling.
fn is_plain(event: &str, kind: &str) -> bool {
    static SAYS: LazyLock<[Finder<'static>; 3]> =
        LazyLock::new(|| ["\"kind\"", "\"visibility\"", "\\u"].map(Finder::new));
    let rest = event.as_bytes().get("{\"kind\":\"".len() + kind.len()..).unwrap_or_default();
    SAYS.iter().all(|word| word.find(rest).is_none())
}

/// Whether a user said it.
fn is_prompt(event: Node<'_, '_>) -> bool {
    let is = |name, value| event.get(name).is_some_and(|own| own.is(value));
    is("kind", "message") && is("role", "user")
}

fn matches(pattern: &str, kind: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => kind.starts_with(prefix),
        None => pattern == kind,
    }
}

fn thoughts_pass(filter: &Filter, event: Node<'_, '_>, kind: &str) -> bool {
    if !matches!(kind, "thought-stream" | "internal:thought-process") {
        return true;
    }
    let text = |name| event.get(name).and_then(Node::str);
    let verbosity = text("verbosity").and_then(|name| Thoughts::named(&name));
    let types = &filter.thought_types;
    filter.thoughts != Thoughts::Off
        && verbosity.unwrap_or(Thoughts::Normal) <= filter.thoughts
        && (types.is_empty()
            || text("thoughtType").is_some_and(|own| types.iter().any(|t| *t == own)))
        && match (filter.min_confidence, event.get("confidence").and_then(Node::f64)) {
            (Some(least), Some(own)) => own * 1000.0 >= f64::from(least),
            _ => true,
        }
}

fn participants_pass(filter: &Filter, event: Node<'_, '_>) -> bool {
    filter.participants.is_empty()
        || ["agentId", "participantId", "author", "userId"].iter().any(|name| {
            let own = event.get(name).and_then(Node::str);
            own.is_some_and(|own| filter.participants.iter().any(|p| *p == own))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &[&str] = &[
        r#"{"kind":"task-created","taskId":"t"}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"a"}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"b"}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"c","visibility":"internal"}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"d"}"#,
        r#"{"kind":"content-delta","taskId":"t2","delta":"e"}"#,
        r#"{"kind":"content-delta","taskId":"t2","delta":"f","parentTaskId":"t"}"#,
        r#"{"kind":"content-delta","taskId":"t2","delta":"g"}"#,
        r#"{"kind":"content-delta","taskId":"t2","delta":"h"}"#,
        r#"{"kind":"content-delta","taskId":"t3","delta":"i"}"#,
        r#"{"kind":"content-delta","taskId":"t3","delta":"j"}"#,
        r#"{"kind":"subtask-created","taskId":"t","subtaskId":"t3"}"#,
        r#"{"kind":"content-delta","taskId":"t3","delta":"k"}"#,
        r#"{"kind":"content-delta","taskId":"t3","delta":"l","\u0074askId":"t4"}"#,
        r#"{"kind":"content-delta","taskId":"t3","kind":"internal:checkpoint"}"#,
        r#"{"kind":"content-delta","taskId":"t3"}"#,
    ];

    #[test]
    fn pieces_that_begin_as_the_one_before_are_judged_as_if_they_were_read() {
        for sees in [Visibility::Participants, Visibility::Operator] {
            let filter = || Filter { tasks: vec!["t".to_owned()], ..Filter::all(sees) };
            let (mut quick, mut slow) = (Sieve::new(filter()), Sieve::new(filter()));
            for event in EVENTS {
                slow.piece = None;
                assert_eq!(quick.pass(event), slow.pass(event), "{event}");
            }
        }
    }

    #[test]
    fn pieces_are_read_once_for_all_that_begin_so() {
        let mut sieve =
            Sieve::new(Filter { tasks: vec!["t".to_owned()], ..Filter::all(Visibility::Internal) });
        assert_eq!(sieve.repeats(EVENTS[2]), None);
        assert!(sieve.pass(EVENTS[1]).is_some());
        assert_eq!(sieve.repeats(EVENTS[2]), Some(true));
        assert_eq!(sieve.repeats(EVENTS[3]), None);
        assert_eq!(sieve.repeats(EVENTS[5]), None);
    }
}
