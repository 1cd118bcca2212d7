//! Events to journal lines.

use std::fmt::Write as _;

use crate::dialect::{EncodeOptions, Encoder, Id, Records};
use crate::journal::{Batch, Entry, Event, Kind};
use crate::json::{Doc, push_escaped, quote};
use crate::record::Role;
use crate::residue::{Frame, Numbers, ShapeWriter, render};

/// Writes entries. Those that come from a journal keep their numbers; others are numbered on from
/// there, or from 1.
pub(super) struct Writer {
    seq: u64,
    context: Option<String>,
    shapes: ShapeWriter,
}

impl Writer {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        Self {
            seq: 0,
            context: options.thread_id.as_deref().map(quote),
            shapes: ShapeWriter::default(),
        }
    }

    fn entry(
        &mut self,
        event: &Event<'_>,
        entry: Option<&Entry<'_>>,
        source: Option<(&Frame<'_>, usize)>,
    ) -> String {
        self.number(entry);
        let stated = entry.and_then(|entry| entry.context.as_ref());
        if let Some(id) = event.get("contextId").or(stated) {
            self.context.get_or_insert_with(|| id.to_string());
        }
        let mut out = String::with_capacity(256);
        match entry {
            Some(entry) => {
                let _ = write!(out, "{{\"seq\":{}", entry.seq);
                if let Some(at) = &entry.at {
                    let _ = write!(out, ",\"at\":{at}");
                }
                out.push_str(",\"event\":");
            }
            None => {
                let _ = write!(out, "{{\"seq\":{},\"event\":", self.seq);
            }
        }
        match &self.context {
            Some(context) => event.write_with(&[("contextId", context)], &mut out),
            None => event.write(&mut out),
        }
        if let Some((frame, events)) = source {
            let _ = write!(out, ",\"source\":{{\"dialect\":\"{}\"", frame.dialect.name());
            if events != 1 {
                let _ = write!(out, ",\"events\":{events}");
            }
            if frame.role != Role::Item {
                let _ = write!(out, ",\"role\":\"{}\"", frame.role.name());
            }
            if let Some(glue) = &frame.glue {
                out.push_str(",\"glue\":\"");
                push_escaped(glue, &mut out);
                out.push('"');
            }
            out.push_str(",\"frame\":");
            self.shapes.instance(&frame.root, &mut out);
            if self.shapes.has_new() {
                out.push_str(",\"shapes\":[");
                self.shapes.new_shapes(Numbers::Written, &mut out);
                out.push(']');
            }
            out.push('}');
        }
        out.push('}');
        out
    }

    fn number(&mut self, entry: Option<&Entry<'_>>) {
        self.seq = match entry {
            Some(entry) => entry.seq.parse().unwrap_or(self.seq),
            None => self.seq.saturating_add(1),
        };
    }
}

impl Encoder for Writer {
    fn batch(&mut self, batch: &Batch<'_>, out: &mut Records) {
        let source = batch.frame.as_ref().filter(|frame| frame.dialect != Id::Journal);
        let source = source.map(|frame| (frame, batch.events.len()));
        let opaque = [Event::new(Kind::Opaque)];
        let events = match (batch.events.as_slice(), source) {
            ([], Some(_)) => &opaque[..],
            (events, _) => events,
        };
        for (i, event) in events.iter().enumerate() {
            let entry = batch.entries.get(i);
            let line = self.entry(event, entry, source.filter(|_| i == 0));
            out.item_after(entry.and_then(|entry| entry.glue.as_deref()), line);
        }
    }

    fn observe(&mut self, batch: &Batch<'_>) {
        for entry in &batch.entries {
            self.number(Some(entry));
        }
        if let Some(id) = batch.events.iter().find_map(|event| event.get("contextId")) {
            self.context.get_or_insert_with(|| id.to_string());
        }
        let mut line = String::new();
        if let Some(frame) = &batch.frame
            && render(frame, &batch.events, &mut line).is_ok()
            && let Ok(doc) = Doc::parse(&line)
            && let Some(source) = doc.root().get("source")
        {
            self.shapes.elsewhere(source.get("frame"), source.get("shapes"));
        }
    }
}
