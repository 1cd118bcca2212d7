//! Which events a reader gets.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use selvedge_protocol::journal::{Kind, Visibility};
use selvedge_protocol::json::{Doc, Node, from_utf8};
use selvedge_store::Entry;

use crate::redact::SharedCut;

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
}

impl Sieve {
    pub(crate) fn new(filter: Filter) -> Self {
        let without = filter.without.iter().cloned().collect();
        Self { filter, tasks: HashSet::new(), without }
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
        passes.then_some(kind)
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
