//! Events to journal lines.

use std::fmt::Write as _;

use crate::dialect::{EncodeOptions, Encoder, Records};
use crate::journal::{Batch, Event, Kind};
use crate::json::{push_escaped, quote};
use crate::record::Role;
use crate::residue::{Frame, ShapeWriter};

/// Writes entries, numbering them from 1.
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

    fn entry(&mut self, event: &Event<'_>, source: Option<(&Frame<'_>, usize)>) -> String {
        self.seq += 1;
        if let Some(id) = event.get("contextId") {
            self.context.get_or_insert_with(|| id.to_string());
        }
        let mut out = String::with_capacity(256);
        let _ = write!(out, "{{\"seq\":{},\"event\":", self.seq);
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
                self.shapes.new_shapes(&mut out);
                out.push(']');
            }
            out.push('}');
        }
        out.push('}');
        out
    }
}

impl Encoder for Writer {
    fn batch(&mut self, batch: &Batch<'_>, out: &mut Records) {
        let source = batch.frame.as_ref().map(|frame| (frame, batch.events.len()));
        if batch.events.is_empty() && source.is_some() {
            out.item(self.entry(&Event::new(Kind::Opaque), source));
            return;
        }
        for (i, event) in batch.events.iter().enumerate() {
            let source = source.filter(|_| i == 0);
            out.item(self.entry(event, source));
        }
    }
}
