//! A batch with its values dyed, and what is to be known of each value of its source.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::Found;
use super::dye::{Dye, Dyed, DyedLeaf, Dyes, How, Spelled, WORD, is_id, is_id_key, of_id};
use crate::dialect::Dialect;
use crate::journal::kind::{COMMON, Type, spec};
use crate::journal::{Batch, Event, Kind};
use crate::json::{Raw, text};
use crate::residue::{Codec, Frame, Instance, Leaf, Shape, Slot};
use crate::time;

/// A value of the source.
#[derive(Debug)]
pub(super) struct Entry {
    /// Where it stands.
    pub(super) pointer: String,
    /// How much of the pointer leads to the value that an event holds; it is a leaf of that.
    pub(super) root: usize,
    pub(super) fate: Fate,
    pub(super) reason: String,
}

/// How to know whether a value is kept.
#[derive(Debug)]
pub(super) enum Fate {
    Lost,
    Kept,
    /// It is if one of the dyes comes out.
    Traced(Vec<Dye>),
    /// It is unless the events name this id and it does not come out.
    Id(Dye),
}

impl Fate {
    /// Kept in one way or in another.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Kept, _) | (_, Self::Kept) => Self::Kept,
            (Self::Lost, other) | (other, Self::Lost) => other,
            (Self::Traced(mut a), Self::Traced(b)) => {
                a.extend(b);
                Self::Traced(a)
            }
            (Self::Traced(mut dyes), Self::Id(dye)) | (Self::Id(dye), Self::Traced(mut dyes)) => {
                dyes.push(dye);
                Self::Traced(dyes)
            }
            (Self::Id(a), Self::Id(b)) => Self::Traced(vec![a, b]),
        }
    }
}

impl Entry {
    pub(super) fn root(&self) -> &str {
        self.pointer.get(..self.root).unwrap_or(&self.pointer)
    }

    pub(super) fn is_lost(&self, found: &Found) -> bool {
        match &self.fate {
            Fate::Lost => true,
            Fate::Kept => false,
            Fate::Traced(dyes) => !dyes.iter().any(|dye| found.contains(*dye)),
            Fate::Id(dye) => !found.contains(*dye),
        }
    }

    /// Whether nothing that comes later changes the judgement.
    pub(super) fn is_decided(&self, found: &Found) -> bool {
        match self.fate {
            Fate::Lost | Fate::Kept => true,
            Fate::Traced(_) | Fate::Id(_) => !self.is_lost(found),
        }
    }
}

/// A batch with its values dyed.
pub(super) struct Trial {
    pub(super) batch: Batch<'static>,
    /// What is to be known of the record's values.
    pub(super) entries: Vec<Entry>,
    /// Dyes of ids that were made from other ids, with those of the others.
    pub(super) derived: Vec<(Dye, Dye)>,
    /// Dyes of numbers that may be summed, by what they count.
    pub(super) counts: Vec<(String, Dye)>,
}

/// What is judged of a batch.
#[derive(Debug)]
pub(super) enum Source {
    /// Its record, which stands at a pointer.
    Record(String),
    /// Its events, of which there is no record; they are counted from here.
    Events(u64),
}

/// Dyes a batch.
pub(super) fn dye(
    batch: &Batch<'_>,
    source: &Source,
    target: &Dialect,
    dyes: &mut Dyes,
    texts: &mut Texts,
) -> Trial {
    dyes.record();
    let texts = batch.events.iter().map(|event| texts.next(event)).collect();
    let (times, numbers) = (Vec::new(), Vec::new());
    let (events, done) = (&batch.events, Vec::new());
    for name in batch.events.iter().filter_map(|event| event.body("toolName")) {
        dyes.name(name);
    }
    let mut sample = Sample { events, done, target, dyes, texts, times, numbers };
    match (&batch.frame, source) {
        (_, Source::Events(_)) => sample.all(),
        (Some(frame), Source::Record(_)) => sample.bound(&frame.root, 0),
        (None, Source::Record(_)) => {}
    }
    sample.rest();
    let mut entries = Vec::new();
    match (&batch.frame, source) {
        (Some(frame), Source::Record(pointer)) => {
            let all = 0..batch.events.len();
            sample.entries(&frame.root, all, pointer, frame.dialect.name(), &mut entries);
        }
        (_, Source::Events(first)) => sample.values(*first, &mut entries),
        (None, Source::Record(_)) => {}
    }
    let (derived, counts) = (sample.derived(), sample.counts());
    let frame = batch.frame.as_ref().map(blank);
    let batch = Batch { events: sample.dyed(), frame, ..Batch::default() };
    Trial { batch, entries, derived, counts }
}

/// Texts that are being said in pieces.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// By task and part.
    open: HashSet<(String, String)>,
    /// How often a task has begun anew.
    attempts: HashMap<String, u64>,
}

/// So many texts may be open at a time.
const OPEN: usize = 1 << 16;

/// What text of its task an event belongs to.
#[derive(Debug, Clone, Copy)]
struct Spoken {
    attempt: u64,
    first: bool,
}

impl Texts {
    /// Takes in an event.
    fn next(&mut self, event: &Event<'_>) -> Spoken {
        let text = |name: &str| event.get(name).map_or("", Raw::as_str).to_owned();
        let key = (text("taskId"), text("partId"));
        let attempt = self.attempts.get(&key.0).copied().unwrap_or(0);
        let mut first = true;
        if self.open.len() > OPEN {
            self.open.clear();
        }
        match event.kind() {
            Kind::ContentDelta => first = self.open.insert(key),
            Kind::ContentComplete | Kind::PartFinished => {
                self.open.remove(&key);
            }
            Kind::TaskComplete | Kind::StepFinished => {
                self.open.retain(|(task, _)| *task != key.0);
            }
            // What was said so far is void.
            Kind::AttemptSuperseded => {
                self.open.retain(|(task, _)| *task != key.0);
                self.attempts.insert(key.0, attempt + 1);
            }
            Kind::StepStarted | Kind::TaskStatus | Kind::LlmUsage => {}
            // A text without a name ends where something else begins.
            _ => {
                self.open.remove(&(key.0, String::new()));
            }
        }
        Spoken { attempt, first }
    }
}

/// The frame of a record that says whose it is and nothing else.
fn blank(frame: &Frame<'_>) -> Frame<'static> {
    let shape = Arc::new(Shape::default());
    let root = Instance { shape, base: 0, leaves: Vec::new(), lists: Vec::new() };
    Frame { dialect: frame.dialect, glue: None, role: frame.role, root }
}

/// A batch being dyed.
struct Sample<'b, 'a> {
    events: &'b [Event<'a>],
    /// Fields that are dyed, by event and name.
    done: Vec<(usize, &'b str, Dyed)>,
    target: &'b Dialect,
    dyes: &'b mut Dyes,
    /// Of each event, what text of its task it belongs to.
    texts: Vec<Spoken>,
    /// The times that the record tells in other words.
    times: Vec<Vec<i64>>,
    /// The numbers that it tells in other words.
    numbers: Vec<String>,
}

impl<'b, 'a> Sample<'b, 'a> {
    /// Dyes the fields that the record's slots show.
    fn bound(&mut self, of: &Instance<'_>, base: usize) {
        let base = base + usize::from(of.base);
        for (i, slot) in of.shape.slots.iter().enumerate() {
            match slot {
                Slot::Bound { event, field, .. } => self.dye(base + usize::from(*event), field),
                Slot::Leaf { leaf: Leaf::Implied, default, .. } => {
                    let literal = of.leaf(i).unwrap_or(default);
                    self.numbers.extend(literal.parse::<f64>().is_ok().then(|| literal.to_owned()));
                    let times = times(literal);
                    self.times.extend((!times.is_empty()).then_some(times));
                }
                _ => {}
            }
        }
        for item in of.lists.iter().flatten() {
            self.bound(item, base);
        }
    }

    /// Dyes every field.
    fn all(&mut self) {
        let events = self.events;
        for (at, event) in events.iter().enumerate() {
            for (name, _) in event.fields() {
                self.dye(at, name);
            }
        }
    }

    /// Dyes a field by itself.
    fn dye(&mut self, at: usize, field: &str) {
        let events = self.events;
        let Some(event) = events.get(at) else { return };
        let Some((name, raw)) = event.fields().find(|(name, _)| *name == field) else { return };
        if self.done.iter().any(|(a, n, _)| *a == at && *n == name) {
            return;
        }
        let (Some(how), Some(doc)) = (how(event, name), raw.doc()) else { return };
        let how = self.text(at, how);
        let dyed = self.dyes.value(doc.root(), how);
        self.dyes.remember(&dyed);
        self.done.push((at, name, dyed));
    }

    /// How a piece of a text is dyed where it stands.
    fn text(&self, at: usize, how: How) -> How {
        match (how, self.texts.get(at)) {
            (How::Text(dye), Some(Spoken { attempt, first: true })) => How::Text(dye ^ attempt),
            (How::Text(dye), Some(Spoken { attempt, .. })) => How::More(dye ^ attempt),
            (how, _) => how,
        }
    }

    /// Dyes the other fields, which repeat values of the record or were made from them.
    fn rest(&mut self) {
        let events = self.events;
        for (at, event) in events.iter().enumerate() {
            for (name, raw) in event.fields() {
                if self.done.iter().any(|(a, n, _)| *a == at && *n == name) {
                    continue;
                }
                let (Some(how), Some(doc)) = (how(event, name), raw.doc()) else { continue };
                let time = raw.body().and_then(time::to_millis);
                let by_name = match how {
                    How::Id => raw.body().is_some() || name == "path",
                    How::As(_) | How::Text(_) => true,
                    _ => false,
                };
                let how = self.text(at, how);
                let mut dyed =
                    self.dyes.value(doc.root(), if by_name { how } else { How::Repeated });
                // A record may tell its time in other words, or two times that are the same.
                let twice = || self.times.iter().filter(|t| time.is_some_and(|at| t.contains(&at)));
                let number = raw.body().is_some_and(|b| self.numbers.iter().any(|n| n == b));
                let made = (time.is_some() || number) && dyed.leaves.is_empty();
                if made || time.is_some() && twice().count() > 1 {
                    dyed = self.dyes.value(doc.root(), how);
                    self.dyes.remember(&dyed);
                }
                self.done.push((at, name, dyed));
            }
        }
    }

    /// Ids such as `message:1`, which tell another id.
    fn derived(&self) -> Vec<(Dye, Dye)> {
        let leaves = self.done.iter().flat_map(|(_, _, dyed)| &dyed.leaves);
        leaves
            .filter(|leaf| is_id(leaf.dye))
            .filter_map(|leaf| {
                let body = leaf.raw.strip_prefix('"')?.strip_suffix('"')?;
                let (of, _) = body.rsplit_once(':').filter(|(of, _)| !of.is_empty())?;
                Some((leaf.dye, of_id(&[&text::decode(of)])))
            })
            .collect()
    }

    /// Tokens that were counted.
    fn counts(&self) -> Vec<(String, Dye)> {
        let mut out = Vec::new();
        for (at, name, dyed) in &self.done {
            let Some(event) = self.events.get(*at) else { continue };
            if event.kind() == Kind::LlmUsage || *name == "usage" {
                let task = event.get("taskId").map_or("", Raw::as_str);
                let count = |leaf: &DyedLeaf| (format!("{task}{name}{}", leaf.pointer), leaf.dye);
                out.extend(dyed.leaves.iter().map(count));
            }
        }
        out
    }

    fn field(&self, at: usize, field: &str) -> Option<&Dyed> {
        self.done.iter().find(|(a, n, _)| *a == at && *n == field).map(|(_, _, dyed)| dyed)
    }

    fn dyed(self) -> Vec<Event<'static>> {
        let mut events: Vec<_> = self.events.iter().map(Event::to_owned).collect();
        for (at, name, dyed) in self.done {
            if let Some(event) = events.get_mut(at) {
                event.set(name.to_owned(), Raw::owned(dyed.text));
            }
        }
        events
    }

    /// What is to be known of the record's values, in their order.
    fn entries(
        &self,
        of: &Instance<'_>,
        within: Range<usize>,
        pointer: &str,
        source: &str,
        out: &mut Vec<Entry>,
    ) {
        let base = within.start;
        let mut lists = of.lists.iter();
        for (i, slot) in of.shape.slots.iter().enumerate() {
            match slot {
                Slot::Leaf { leaf: Leaf::Implied, default, pointer: own } => {
                    let literal = of.leaf(i).unwrap_or(default);
                    if let Some((fate, reason)) = self.implied(own, literal, &within, source) {
                        let pointer = format!("{pointer}{own}");
                        out.push(Entry { root: pointer.len(), pointer, fate, reason });
                    }
                }
                Slot::Leaf { default, pointer: own, .. } => {
                    let literal = of.leaf(i).unwrap_or(default);
                    if !says_nothing(literal) {
                        let pointer = format!("{pointer}{own}");
                        out.push(Entry {
                            root: pointer.len(),
                            fate: self
                                .id(own, literal)
                                .or_else(|| self.time(last_key(own), literal, &within))
                                .unwrap_or(Fate::Lost),
                            pointer,
                            reason: format!("only {source} has a place for it"),
                        });
                    }
                }
                Slot::Bound { event, field, path, codec, pointer: own } => {
                    let at = base + usize::from(*event);
                    let whole = *codec == Codec::Quoted
                        || of.leaf(i).is_some_and(|text| !text.starts_with(['{', '[']));
                    let pointer = format!("{pointer}{own}");
                    self.value(at, field, path, whole, &pointer, out);
                }
                Slot::List { pointer: own, .. } => {
                    let items = lists.next().map_or(&[][..], Vec::as_slice);
                    for (j, item) in items.iter().enumerate() {
                        // An item's events are those up to the next item's.
                        let start = base + usize::from(item.base);
                        let next = items.get(j + 1).map(|next| base + usize::from(next.base));
                        let end = next.filter(|end| *end > start).unwrap_or(within.end);
                        let pointer = format!("{pointer}{own}/{j}");
                        self.entries(item, start..end, &pointer, source, out);
                    }
                }
            }
        }
    }

    /// What is to be known of everything that the events hold.
    fn values(&self, first: u64, out: &mut Vec<Entry>) {
        for (at, event) in self.events.iter().enumerate() {
            for (name, _) in event.fields() {
                self.value(at, name, "", false, &format!("/{}/{name}", first + at as u64), out);
            }
        }
    }

    /// What is to be known of a value that an event holds.
    fn value(
        &self,
        at: usize,
        field: &str,
        path: &str,
        whole: bool,
        pointer: &str,
        out: &mut Vec<Entry>,
    ) {
        let Some(event) = self.events.get(at) else { return };
        let Some(raw) = event.get(field) else { return };
        if path.is_empty() && says_nothing(raw) {
            return;
        }
        let reason = self.reason(event, field);
        let entry = |pointer: String, root: usize, fate: Fate| Entry {
            pointer,
            root,
            fate,
            reason: reason.clone(),
        };
        let dyed = self.field(at, field);
        let below = |leaf: &str| {
            let rest = leaf.strip_prefix(path)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_owned())
        };
        let leaves = dyed.iter().flat_map(|dyed| &dyed.leaves);
        let leaves: Vec<_> =
            leaves.filter_map(|leaf| Some((below(&leaf.pointer)?, leaf))).collect();
        if leaves.is_empty() {
            let fate = self.word(at, event, &format!("{field}{path}"));
            out.push(entry(pointer.to_owned(), pointer.len(), fate));
        } else if whole {
            let dyes = leaves.iter().flat_map(|(_, leaf)| self.traces(leaf)).collect();
            out.push(entry(pointer.to_owned(), pointer.len(), Fate::Traced(dyes)));
        } else {
            for same in leaves.chunk_by(|(a, _), (b, _)| a == b) {
                let Some((rest, _)) = same.first() else { continue };
                let fate = match same.iter().find(|(_, leaf)| leaf.dye == WORD) {
                    Some((_, leaf)) => self.word(at, event, &format!("{field}{}", leaf.pointer)),
                    None => {
                        Fate::Traced(same.iter().flat_map(|(_, leaf)| self.traces(leaf)).collect())
                    }
                };
                out.push(entry(format!("{pointer}{rest}"), pointer.len(), fate));
            }
        }
    }

    /// What is to be known of a value that the events say in other words: of a time, the fields
    /// that are the same time; of a word, the field of that meaning; of an id, the id.
    fn implied(
        &self,
        pointer: &str,
        literal: &str,
        within: &Range<usize>,
        source: &str,
    ) -> Option<(Fate, String)> {
        let target = self.target.id.name();
        if let Some(fate) = self.id(pointer, literal) {
            return Some((fate, format!("{target} has no place for this id")));
        }
        let key = last_key(pointer);
        if let Some(fate) = self.time(key, literal, within) {
            return Some((fate, format!("{target} has no place for this time")));
        }
        if is_time_key(key) && !times(literal).is_empty() {
            return Some((Fate::Lost, format!("only {source} has a place for it")));
        }
        let events = || self.events.iter().enumerate().filter(|(at, _)| within.contains(at));
        for words in words(key) {
            let mut found: Option<(Fate, String)> = None;
            for (at, event) in events() {
                for word in *words {
                    let told = match *word {
                        "kind" => event.kind() == Kind::TaskComplete,
                        word => event.get(word).is_some() && is_word(event, word),
                    };
                    if told {
                        let fate = self.word(at, event, word);
                        found = Some(match found {
                            Some((before, reason)) => (before.or(fate), reason),
                            None => (fate, self.reason(event, word)),
                        });
                    }
                }
            }
            if found.is_some() {
                return found;
            }
        }
        // A number may have become a text.
        for (at, event) in events() {
            for (name, raw) in event.fields() {
                if raw.body().is_some_and(|body| body == literal)
                    && let Some(dyed) = self.field(at, name).filter(|d| !d.leaves.is_empty())
                {
                    let dyes = dyed.leaves.iter().map(|leaf| leaf.dye).collect();
                    return Some((Fate::Traced(dyes), self.reason(event, name)));
                }
            }
        }
        None
    }

    /// A time is kept if a field that is the same time comes out.
    fn time(&self, key: &str, literal: &str, within: &Range<usize>) -> Option<Fate> {
        let times = times(literal);
        let mut same = Vec::new();
        for (at, event) in self.events.iter().enumerate().filter(|(at, _)| within.contains(at)) {
            for (name, raw) in event.fields() {
                let time = raw.body().and_then(time::to_millis);
                let exact = !literal.starts_with('"') || raw.as_str() == literal;
                if exact && time.is_some_and(|time| times.contains(&time)) {
                    let leaves = self.field(at, name).into_iter().flat_map(|dyed| &dyed.leaves);
                    same.push(leaves.map(|leaf| leaf.dye).collect::<Vec<_>>());
                }
            }
        }
        // Of two times that are the same, the later is the one of what happened last.
        let twice = self.times.iter().filter(|other| **other == times).count() > 1;
        if twice && let Some(end) = same.pop() {
            let begins = matches!(key, "created_at" | "started_at");
            if !begins && key.ends_with("_at") || same.is_empty() {
                same = vec![end];
            }
        }
        (!same.is_empty()).then(|| Fate::Traced(same.concat()))
    }

    /// An id is kept if it comes out anywhere.
    fn id(&self, pointer: &str, literal: &str) -> Option<Fate> {
        let body = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))?;
        let id = !body.is_empty() && is_id_key(last_key(pointer));
        id.then(|| Fate::Id(of_id(&[&text::decode(body)])))
    }

    fn reason(&self, event: &Event<'_>, field: &str) -> String {
        if field == "kind" {
            return format!("{} does not tell that a task is complete", self.target.id.name());
        }
        format!("{} has no place for {field} of this {} event", self.target.id.name(), event.name())
    }

    /// The dyes by which a value may come out: its own, and those of an id's other places.
    fn traces(&self, leaf: &DyedLeaf) -> Vec<Dye> {
        let body = leaf.raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let id = body.is_some_and(|body| leaf.dye == of_id(&[&text::decode(body)]));
        let others = self.dyes.same(&leaf.raw).filter(|_| id);
        std::iter::once(leaf.dye).chain(others).collect()
    }

    /// The fate of a value that cannot be dyed: it is told if the target has a way to tell it and
    /// if what the event is about comes out.
    fn word(&self, at: usize, event: &Event<'_>, field: &str) -> Fate {
        let name = if field.starts_with("value/") { "value" } else { field };
        if !(self.target.carries)(event, name) {
            return Fate::Lost;
        }
        let main: &[&str] = match event.kind() {
            Kind::Message => &["content", "attachments"],
            Kind::ContentComplete | Kind::ThoughtStream => &["content"],
            Kind::ToolComplete if field != "preliminary" => &["result", "error"],
            _ => &[],
        };
        let own = |(a, name, _): &&(usize, &str, Dyed)| *a == at && main.contains(name);
        let dyes: Vec<Dye> = self
            .done
            .iter()
            .filter(own)
            .flat_map(|(_, _, dyed)| dyed.leaves.iter().map(|leaf| leaf.dye))
            .collect();
        if dyes.is_empty() { Fate::Kept } else { Fate::Traced(dyes) }
    }
}

/// How a field is dyed; `None` if it holds one of a few words or numbers that encoders go by.
fn how(event: &Event<'_>, field: &str) -> Option<How> {
    let kind = event.kind();
    let fields = spec(kind).map_or(&[][..], |spec| spec.fields);
    let ty = fields.iter().chain(COMMON).find(|f| f.name == field).map(|f| f.ty);
    let text = |name: &str| event.get(name).map_or("", Raw::as_str);
    Some(match field {
        _ if matches!(ty, Some(Type::Bool | Type::OneOf(_))) => return None,
        "index" | "role" => return None,
        "value" if matches!(text("value"), "true" | "false") => return None,
        "data" if kind == Kind::FileWrite => How::Bytes(match text("encoding") {
            "\"base64\"" => Spelled::Base64,
            _ => Spelled::Text,
        }),
        // A task's text comes in pieces, whole, and again at its end.
        "delta" if kind == Kind::ContentDelta => How::Text(of_id(&["text", text("taskId")])),
        "content" if matches!(kind, Kind::ContentComplete | Kind::TaskComplete) => {
            How::Text(of_id(&["text", text("taskId")]))
        }
        "content" if kind == Kind::ThoughtStream => {
            How::As(of_id(&["thought", text("taskId"), text("thoughtId")]))
        }
        "delta" | "arguments" => How::As(of_id(&["arguments", text("toolCallId")])),
        "content" | "attachments" => How::Parts,
        "metadata" => How::Metadata,
        _ if holds_ids(field) => How::Id,
        _ => How::Each,
    })
}

/// Whether a field holds one of a few words that tell what an event is about.
fn is_word(event: &Event<'_>, field: &str) -> bool {
    event.kind() != Kind::ParticipantJoined && how(event, field).is_none()
}

/// Whether a field holds ids, which are the same wherever they stand.
fn holds_ids(field: &str) -> bool {
    is_id_key(field)
        || matches!(field, "path" | "to" | "providedBy")
        || matches!(field, "invitedBy" | "requestedBy" | "options" | "value" | "schema")
}

/// The times that a number or text may mean, in milliseconds.
fn times(literal: &str) -> Vec<i64> {
    if let Some(body) = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return time::to_millis(body).into_iter().collect();
    }
    let whole = literal.split('.').next().unwrap_or("").parse::<i64>().ok();
    let seconds = whole.and_then(|n| n.checked_mul(1000));
    let millis = literal.parse::<f64>().ok().map(|n| (n * 1000.0).round() as i64);
    whole.into_iter().chain(seconds).chain(millis).filter(|n| *n > 0).collect()
}

/// A pointer's last token that is a name.
fn last_key(pointer: &str) -> &str {
    let mut tokens = pointer.rsplit('/');
    tokens.find(|token| !token.bytes().all(|b| b.is_ascii_digit())).unwrap_or("")
}

/// Whether a member of that name tells a time.
fn is_time_key(key: &str) -> bool {
    key.ends_with("_at") || key.ends_with("At") || key.to_ascii_lowercase().ends_with("timestamp")
}

/// The event fields that a member of a record may say in other words: those of the first list
/// that an event has. `kind` stands for the end of a task, which is an event of its own.
fn words(key: &str) -> &'static [&'static [&'static str]] {
    match key {
        "role" => &[&["role"]],
        "status" | "state" => &[&["status"], &["kind"], &["success", "outcome"]],
        "outcome" => &[&["outcome", "success"], &["status"]],
        "completion_status" => &[&["status"], &["kind"]],
        "finishReason" | "finish_reason" | "incomplete_details" => &[&["finishReason"]],
        "append" => &[&["index"]],
        "lastChunk" => &[&["complete"]],
        _ => &[],
    }
}

/// Values whose absence tells the same.
fn says_nothing(literal: &str) -> bool {
    matches!(literal, "null" | "\"\"" | "[]" | "{}")
}
