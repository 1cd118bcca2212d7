//! Batches to a ThreadProtocol document.

use std::fmt::Write as _;

use super::VERSION;
use super::carry::{self, Group, Pending, Resolver, Written};
use crate::dialect::{EncodeOptions, Encoder, Id, Records};
use crate::journal::transcript::{Action, Transcript};
use crate::journal::{Batch, Entry, Event, Kind};
use crate::json::{Doc, Raw, quote};
use crate::record::{Framing, Record, Role};
use crate::residue::{Frame, Marks, Numbers, ShapeWriter, Shapes};

/// Time of what has none.
const EPOCH: &str = "\"1970-01-01T00:00:00Z\"";

/// Collects a thread and writes it at the end.
pub(super) struct Writer {
    thread_id: Option<String>,
    transcript: Transcript,
    groups: Vec<Group>,
    head: Option<Event<'static>>,
    participants: Vec<Event<'static>>,
    /// Items of a document of our own that are replayed before ours.
    replayed: usize,
    replayed_actions: usize,
    shapes: Shapes,
    /// The number that a journal made from the document gives the last event so far; none where
    /// that depends on what its records say there.
    counted: Option<u64>,
}

impl Writer {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        Self {
            thread_id: options.thread_id.clone(),
            transcript: Transcript::new(),
            groups: Vec::new(),
            head: None,
            participants: Vec::new(),
            replayed: 0,
            replayed_actions: 0,
            shapes: Shapes::new(),
            counted: Some(0),
        }
    }

    fn note(&mut self, event: &Event<'_>) {
        match event.kind() {
            Kind::ThreadCreated if self.head.is_none() => self.head = Some(event.to_owned()),
            Kind::ThreadCreated | Kind::ThreadUpdated => {
                let head = self.head.get_or_insert_with(|| Event::new(Kind::ThreadCreated));
                for field in ["title", "updatedAt"] {
                    if let Some(value) = event.get(field) {
                        head.set(field, value.to_owned());
                    }
                }
            }
            Kind::ParticipantJoined => self.participants.push(event.to_owned()),
            _ => {}
        }
    }

    /// Takes a record in; it joins the group before it or begins one.
    fn record(&mut self, frame: &Frame<'_>, events: &[Event<'_>]) {
        let before = self.transcript.actions().len();
        let mut placed = Vec::with_capacity(events.len());
        for event in events {
            let mut own = Vec::new();
            self.note(event);
            self.transcript.apply(event, &mut own);
            placed.push(own);
        }
        let made = self.transcript.actions().len() - before;
        let stream = crate::dialect::get(frame.dialect)
            .is_some_and(|d| d.framing == Framing::Sse || d.id == Id::Journal);
        let begins = |group: &Group| {
            let run = stream && events.iter().any(|e| e.kind() == Kind::TaskCreated);
            group.dialect != frame.dialect
                || made > 0 && (!stream || run || group.made > 10_000)
                || group.records.len() > 1_000_000
        };
        if self.groups.last().is_none_or(begins) {
            self.groups.push(Group {
                dialect: frame.dialect,
                records: Vec::new(),
                first: before,
                made: 0,
            });
        }
        if let Some(group) = self.groups.last_mut() {
            group.made += made;
            group.records.push(Pending {
                frame: frame.to_owned(),
                events: events.iter().map(Event::to_owned).collect(),
                placed,
            });
        }
    }

    /// An event without a wire form: its journal form is its record, with what its entry says
    /// besides where counting on from the event before would not give that.
    fn native(&mut self, event: &Event<'_>, entry: Option<&Entry<'_>>) {
        let told = entry.filter(|entry| !self.is_next(entry));
        self.counted = match entry {
            Some(entry) => entry.seq.parse().ok(),
            None => self.counted.map(|number| number.saturating_add(1)),
        };
        let mut event = event.clone();
        event.single_line();
        let mut body = String::new();
        match told {
            Some(entry) => carry::write_entry(entry, &event, &mut body),
            None => event.write(&mut body),
        }
        let Ok(doc) = Doc::parse(&body) else { return };
        let mut marks = Marks::new();
        let own = told.and_then(|_| doc.root().get("event"));
        if let Some(own) = own {
            marks.open(own);
        }
        let own = own.unwrap_or(doc.root());
        for (key, value) in own.members() {
            let Some(name) = key.str() else { continue };
            if let Some(field) = static_name(event.kind(), &name) {
                marks.bind(value, 0, field);
            }
        }
        let events = [Event::parse(own).unwrap_or_else(|| Event::new(Kind::Opaque))];
        let record = Record::alone(&body);
        let frame = self.shapes.frame(Id::Journal, record, 0, &[], &doc, &mut marks, &events);
        let frame = frame.to_owned();
        self.record(&frame, &[event]);
    }

    /// Whether an entry says no more than that it comes next.
    fn is_next(&self, entry: &Entry<'_>) -> bool {
        let next = self.counted.and_then(|number| number.checked_add(1));
        next.is_some_and(|next| *entry.seq == *next.to_string()) && entry.at.is_none()
    }

    fn times(&self) -> Vec<String> {
        let mut last = self
            .head
            .as_ref()
            .and_then(|h| h.get("createdAt").or_else(|| h.get("timestamp")))
            .map_or_else(|| EPOCH.to_owned(), ToString::to_string);
        let mut out = Vec::with_capacity(self.transcript.actions().len());
        for action in self.transcript.actions() {
            if let Some(time) = action.timestamp.as_ref().filter(|t| is_time(t)) {
                last = time.to_string();
            }
            out.push(last.clone());
        }
        out
    }

    fn head_text(&self, times: &[String], carried: Option<String>) -> String {
        let first = times.first().map_or(EPOCH, String::as_str);
        let last = times.last().map_or(EPOCH, String::as_str);
        let get = |field: &str| self.head.as_ref().and_then(|h| h.get(field));
        let time = |field: &str, other: &str| match get(field).filter(|t| is_time(t)) {
            Some(time) => time.to_string(),
            None => other.to_owned(),
        };
        let created = time("createdAt", &time("timestamp", first));
        let mut out = format!("{{\"version\":\"{VERSION}\",\"thread_id\":");
        match (get("contextId").filter(|id| id.body().is_some()), &self.thread_id) {
            (Some(id), _) => out.push_str(id),
            (None, Some(id)) => out.push_str(&quote(id)),
            (None, None) => out.push_str(&quote(&crate::ident::from_text(""))),
        }
        if let Some(parent) = get("parentThreadId").filter(|p| p.body().is_some()) {
            let _ = write!(out, ",\"parent_thread_id\":{parent}");
        }
        let _ = write!(out, ",\"created_at\":{created},\"updated_at\":{}", time("updatedAt", last));
        let _ = write!(out, ",\"title\":{}", self.title());
        let own = get("metadata").filter(|m| m.is_object() && m.len() > 2);
        if carried.is_some() || own.is_some() {
            out.push_str(",\"metadata\":{");
            if let Some(own) = own {
                out.push_str(own.strip_prefix('{').and_then(|o| o.strip_suffix('}')).unwrap_or(""));
            }
            if let Some(carried) = carried {
                let comma = if own.is_some() { "," } else { "" };
                let _ = write!(out, "{comma}\"{}\":{carried}", carry::METADATA);
            }
            out.push('}');
        }
        out.push_str(",\"agents\":{");
        self.agents(&created, &mut out);
        out.push_str("},\"actions\":[");
        out
    }

    fn title(&self) -> String {
        if let Some(title) = self.head.as_ref().and_then(|h| h.get("title"))
            && title.body().is_some()
        {
            return title.to_string();
        }
        let text = self
            .transcript
            .actions()
            .iter()
            .find(|a| a.kind == crate::journal::transcript::ActionKind::UserMessage)
            .map(Action::text)
            .unwrap_or_default();
        let line = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("Untitled").trim();
        let mut title: String = line.chars().take(60).collect();
        if title.len() < line.len() {
            title.push('…');
        }
        quote(&title)
    }

    fn agents(&self, created: &str, out: &mut String) {
        let mut ids: Vec<Raw<'static>> = Vec::new();
        let joined = self
            .participants
            .iter()
            .filter(|p| p.get("role").is_none_or(|r| r.is("agent")))
            .filter_map(|p| p.get("participantId").map(Raw::to_owned));
        let acting = self.transcript.actions().iter().filter(|a| a.kind.is_agents()).map(|a| {
            a.agent.clone().filter(|agent| agent.body().is_some()).unwrap_or(Raw::Ref("\"agent\""))
        });
        for id in joined.chain(acting) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        for (i, id) in ids.iter().enumerate() {
            let known = self.participants.iter().rev().find(|p| p.get("participantId") == Some(id));
            let get = |field: &str| known.and_then(|p| p.get(field)).filter(|v| v.body().is_some());
            let _ = write!(
                out,
                "{}{id}:{{\"agent_id\":{id},\"agent_identifier\":{},\"agent_name\":{},\"created_at\":{}",
                if i > 0 { "," } else { "" },
                get("identifier").unwrap_or(id),
                get("name").unwrap_or(id),
                get("createdAt")
                    .or_else(|| get("timestamp"))
                    .filter(|t| is_time(t))
                    .map_or(created, Raw::as_str),
            );
            if let Some(config) = get("configRef") {
                let _ = write!(out, ",\"config_ref\":{config}");
            }
            out.push('}');
        }
    }
}

impl Encoder for Writer {
    fn batch(&mut self, batch: &Batch<'_>, _out: &mut Records) {
        match &batch.frame {
            // A journal's own records are events; a line that was kept as it is, is set apart.
            Some(frame) if frame.dialect == Id::Journal && frame.role == Role::Item => {
                self.counted = None;
                self.record(&Frame { role: Role::Head, ..frame.to_owned() }, &batch.events);
            }
            Some(frame) if frame.dialect != Id::ThreadProtocol => {
                self.counted = None;
                self.record(frame, &batch.events);
            }
            _ => {
                for (i, event) in batch.events.iter().enumerate() {
                    self.native(event, batch.entries.get(i));
                }
            }
        }
    }

    fn observe(&mut self, batch: &Batch<'_>) {
        self.counted = None;
        let mut placed = Vec::new();
        for event in &batch.events {
            self.note(event);
            self.transcript.apply(event, &mut placed);
        }
        self.replayed_actions = self.transcript.actions().len();
        if batch.frame.as_ref().is_some_and(|f| f.role == Role::Item) {
            self.replayed += 1;
        }
    }

    fn finish(&mut self, out: &mut Records) {
        let times = self.times();
        let actions = self.transcript.actions();
        // Numbers: every group's action comes before the actions its records made.
        let mut sequence = self.replayed;
        let mut numbers = vec![0; actions.len()];
        let mut group_numbers = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            sequence += 1;
            group_numbers.push(sequence);
            for number in numbers.iter_mut().skip(group.first).take(group.made) {
                sequence += 1;
                *number = sequence;
            }
        }
        let written: Vec<Written> = actions
            .iter()
            .zip(&numbers)
            .zip(&times)
            .map(|((action, number), time)| carry::write(action, *number, time))
            .collect();
        let records = self.groups.iter().flat_map(|group| &group.records);
        let mut resolver = Resolver::new(actions, &written, records);
        let resolved: Vec<Vec<_>> = self
            .groups
            .iter()
            .map(|group| {
                let from = group.from();
                group.records.iter().map(|record| resolver.record(record, from)).collect()
            })
            .collect();

        let mut shapes = ShapeWriter::default();
        let values = carry::repeated(resolved.iter().flatten().map(|r| &r.instance));
        shapes.intern_values(values.iter().cloned());
        let mut items = Vec::new();
        for ((group, records), number) in self.groups.iter().zip(&resolved).zip(group_numbers) {
            let time = times.get(group.first).or(times.last()).map_or(EPOCH, String::as_str);
            let mut item = format!(
                "{{\"action_type\":\"{}\",\"timestamp\":{time},\"sequence\":{number},\"data\":{{",
                carry::action_type(group.dialect)
            );
            let letters = actions.iter().skip(group.first).take(group.made);
            let letters: String = letters.map(carry::kind_letter).collect();
            let _ = write!(item, "\"actions\":\"{letters}\"");
            let back = group.first - group.from();
            if back > 0 {
                let _ = write!(item, ",\"back\":{back}");
            }
            item.push_str(",\"records\":[");
            carry::write_records(records, &mut shapes, &mut item);
            item.push(']');
            if self.replayed > 0 && shapes.has_new() {
                item.push_str(",\"shapes\":[");
                shapes.new_shapes(Numbers::Implied, &mut item);
                item.push(']');
            }
            item.push_str("}}");
            items.push(item);
            items.extend(written.iter().skip(group.first).take(group.made).map(|w| w.text.clone()));
        }
        // An empty thread says so, or it would be read as one that was created.
        let empty = self.head.is_none() && self.replayed == 0;
        let carried = (empty || !self.groups.is_empty()).then(|| {
            let mut out = String::from("{\"shapes\":[");
            shapes.new_shapes(Numbers::Implied, &mut out);
            out.push_str("],\"values\":[");
            for (i, value) in values.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                crate::residue::write_value(value, &mut out);
            }
            out.push_str("]}");
            out
        });
        out.head(self.head_text(&times, carried));
        for item in items {
            out.item(item);
        }
        out.tail("]}");
    }
}

/// Whether a value is a time as the document wants it.
fn is_time(value: &Raw<'_>) -> bool {
    value.body().is_some_and(|t| {
        t.len() >= 19
            && t.is_ascii()
            && t.as_bytes().get(4) == Some(&b'-')
            && t.as_bytes().get(10).is_some_and(|b| matches!(b, b'T' | b't' | b' '))
            && t.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// The name of a field in the vocabulary, which lives as long as the program.
fn static_name(kind: Kind, name: &str) -> Option<&'static str> {
    let own = crate::journal::kind::spec(kind).map_or(&[][..], |s| s.fields);
    own.iter()
        .chain(crate::journal::kind::COMMON)
        .map(|field| field.name)
        .find(|known| *known == name)
}
