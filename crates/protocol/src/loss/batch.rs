//! A batch with its values dyed, and what is to be known of each value of its source.

use std::collections::HashSet;
use std::sync::Arc;

use super::dye::{Dye, Dyed, Dyes, How, is_id_key, of_id};
use crate::dialect::Dialect;
use crate::journal::kind::{COMMON, Type, spec};
use crate::journal::{Batch, Event, Kind};
use crate::json::{Doc, Raw, text};
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

impl Entry {
    pub(super) fn root(&self) -> &str {
        self.pointer.get(..self.root).unwrap_or(&self.pointer)
    }

    pub(super) fn is_lost(&self, found: &HashSet<Dye>) -> bool {
        match &self.fate {
            Fate::Lost => true,
            Fate::Kept => false,
            Fate::Traced(dyes) => !dyes.iter().any(|dye| found.contains(dye)),
            Fate::Id(dye) => !found.contains(dye),
        }
    }

    /// Whether nothing that comes later changes the judgement.
    pub(super) fn is_decided(&self, found: &HashSet<Dye>) -> bool {
        match self.fate {
            Fate::Lost | Fate::Kept => true,
            Fate::Traced(_) | Fate::Id(_) => !self.is_lost(found),
        }
    }
}

/// Dyes a batch whose record stands at a pointer.
pub(super) fn dye(
    batch: &Batch<'_>,
    pointer: &str,
    target: &Dialect,
    dyes: &mut Dyes,
) -> (Batch<'static>, Vec<Entry>) {
    let mut sample = Sample { events: &batch.events, done: Vec::new(), target, dyes };
    if let Some(frame) = &batch.frame {
        sample.bound(&frame.root, 0);
    }
    sample.rest();
    let mut entries = Vec::new();
    if let Some(frame) = &batch.frame {
        sample.entries(&frame.root, 0, pointer, frame.dialect.name(), &mut entries);
    }
    let events = sample.dyed();
    (Batch { events, frame: batch.frame.as_ref().map(blank) }, entries)
}

/// The frame of a record that says whose it is and nothing else.
fn blank(frame: &Frame<'_>) -> Frame<'static> {
    let shape = Arc::new(Shape { chunks: Vec::new(), slots: Vec::new() });
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
}

impl<'b, 'a> Sample<'b, 'a> {
    /// Dyes the fields that the record's slots show.
    fn bound(&mut self, of: &Instance<'_>, base: usize) {
        let base = base + usize::from(of.base);
        for slot in &of.shape.slots {
            if let Slot::Bound { event, field, .. } = slot {
                self.dye(base + usize::from(*event), field);
            }
        }
        for item in of.lists.iter().flatten() {
            self.bound(item, base);
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
        let dyed = self.dyes.value(doc.root(), how);
        self.done.push((at, name, dyed));
    }

    /// Dyes the other fields: those that repeat a value of the record like that value.
    fn rest(&mut self) {
        let events = self.events;
        for (at, event) in events.iter().enumerate() {
            for (name, raw) in event.fields() {
                if self.done.iter().any(|(a, n, _)| *a == at && *n == name) {
                    continue;
                }
                match how(event, name) {
                    Some(How::Id | How::As(_)) => self.dye(at, name),
                    Some(_) => {
                        let same = |(at, n, _): &&(usize, &str, Dyed)| {
                            let value = events.get(*at).and_then(|e| e.get(n));
                            value.is_some_and(|v| v.as_str() == raw.as_str())
                        };
                        let like = self.done.iter().filter(same).find(|(_, n, _)| *n == name);
                        let like = like.or_else(|| self.done.iter().find(same));
                        if let Some((_, _, dyed)) = like {
                            let dyed = dyed.clone();
                            self.done.push((at, name, dyed));
                        }
                    }
                    None => {}
                }
            }
        }
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
        base: usize,
        pointer: &str,
        source: &str,
        out: &mut Vec<Entry>,
    ) {
        let base = base + usize::from(of.base);
        let mut lists = of.lists.iter();
        for (i, slot) in of.shape.slots.iter().enumerate() {
            match slot {
                Slot::Leaf { leaf: Leaf::Implied, default, pointer: own } => {
                    let literal = of.leaf(i).unwrap_or(default);
                    if let Some((fate, reason)) = self.implied(own, literal) {
                        let pointer = format!("{pointer}{own}");
                        out.push(Entry { root: pointer.len(), pointer, fate, reason });
                    }
                }
                Slot::Leaf { default, pointer: own, .. } => {
                    if !says_nothing(of.leaf(i).unwrap_or(default)) {
                        let pointer = format!("{pointer}{own}");
                        out.push(Entry {
                            root: pointer.len(),
                            pointer,
                            fate: Fate::Lost,
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
                    for (j, item) in lists.next().into_iter().flatten().enumerate() {
                        self.entries(item, base, &format!("{pointer}{own}/{j}"), source, out);
                    }
                }
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
            leaves.filter_map(|(leaf, dye)| Some((below(leaf)?, *dye))).collect();
        if leaves.is_empty() {
            let fate = self.word(at, event, field);
            out.push(entry(pointer.to_owned(), pointer.len(), fate));
        } else if whole {
            let dyes = leaves.into_iter().map(|(_, dye)| dye).collect();
            out.push(entry(pointer.to_owned(), pointer.len(), Fate::Traced(dyes)));
        } else {
            for same in leaves.chunk_by(|(a, _), (b, _)| a == b) {
                let Some((rest, _)) = same.first() else { continue };
                let dyes = same.iter().map(|(_, dye)| *dye).collect();
                out.push(entry(format!("{pointer}{rest}"), pointer.len(), Fate::Traced(dyes)));
            }
        }
    }

    /// What is to be known of a value that the events say in other words: of a time, the field
    /// that is the same time; of a word, the field of that meaning; of an id, the id.
    fn implied(&self, pointer: &str, literal: &str) -> Option<(Fate, String)> {
        let key = pointer.rsplit('/').next().unwrap_or("");
        let text = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        if let Some(body) = text.filter(|body| !body.is_empty() && is_id_key(key)) {
            let reason = format!("{} has no place for this id", self.target.id.name());
            return Some((Fate::Id(of_id(&[&text::decode(body)])), reason));
        }
        let times = times(literal);
        let words = words(key);
        for (at, event) in self.events.iter().enumerate() {
            for (name, raw) in event.fields() {
                if !times.is_empty()
                    && raw.body().and_then(time::to_millis).is_some_and(|at| times.contains(&at))
                    && let Some(dyed) = self.field(at, name)
                {
                    let dyes = dyed.leaves.iter().map(|(_, dye)| *dye).collect();
                    return Some((Fate::Traced(dyes), self.reason(event, name)));
                }
                if words.contains(&name) && how(event, name).is_none() {
                    return Some((self.word(at, event, name), self.reason(event, name)));
                }
            }
        }
        None
    }

    fn reason(&self, event: &Event<'_>, field: &str) -> String {
        format!("{} has no place for {field} of this {}", self.target.id.name(), event.name())
    }

    /// The fate of a value that cannot be dyed: it is told if the target has a way to tell it and
    /// if something else of the event comes out.
    fn word(&self, at: usize, event: &Event<'_>, field: &str) -> Fate {
        if !(self.target.carries)(event, field) {
            return Fate::Lost;
        }
        let own = |(a, name, _): &&(usize, &str, Dyed)| {
            *a == at
                && !COMMON.iter().any(|f| f.name == *name)
                && how(event, name) != Some(How::Id)
        };
        let dyes: Vec<Dye> = self
            .done
            .iter()
            .filter(own)
            .flat_map(|(_, _, dyed)| dyed.leaves.iter().map(|(_, dye)| *dye))
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
        // Bytes may be written in base64.
        "data" if kind == Kind::FileWrite => return None,
        "delta" if kind == Kind::ContentDelta => How::As(of_id(&["text", text("taskId"), text("partId")])),
        "content" if kind == Kind::ContentComplete => {
            How::As(of_id(&["text", text("taskId"), text("partId")]))
        }
        "content" if kind == Kind::ThoughtStream => {
            How::As(of_id(&["thought", text("taskId"), text("thoughtId")]))
        }
        "delta" | "arguments" => How::As(of_id(&["arguments", text("toolCallId")])),
        "content" | "attachments" => How::Parts,
        "metadata" => How::Metadata,
        _ if is_id(field) => How::Id,
        _ => How::Each,
    })
}

/// Whether a field holds ids, which are the same wherever they stand.
fn is_id(field: &str) -> bool {
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

/// The event fields that a member of a record may say in other words.
fn words(key: &str) -> &'static [&'static str] {
    match key {
        "role" => &["role"],
        "status" | "state" | "outcome" => &["status", "success", "outcome"],
        "finishReason" | "finish_reason" | "reason" => &["finishReason"],
        _ => &[],
    }
}

/// Values whose absence tells the same.
fn says_nothing(literal: &str) -> bool {
    matches!(literal, "null" | "\"\"" | "[]" | "{}") || Doc::parse(literal).is_err()
}
