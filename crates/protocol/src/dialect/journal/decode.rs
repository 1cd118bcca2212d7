//! Journal lines to events.
//!
//! Invariant: no line is dropped. One that cannot be read, or that would be written differently
//! and has no source to keep it by, is kept as it is.

use crate::dialect::{self, DecodeOptions, Decoder, Id};
use crate::journal::{Batch, Entry, Event, Kind, Unread, Why};
use crate::json::{Doc, LINE_DEPTH, Node, Raw};
use crate::record::{Record, Role};
use crate::residue::{Frame, ShapeReader, Shapes};

/// Reads entries, putting batches together again.
pub struct Reader {
    shapes: ShapeReader,
    /// Shapes of lines that are kept as they are.
    literals: Shapes,
    open: Option<Open>,
    context: Option<String>,
    /// Line feeds passed.
    lines: usize,
}

/// A batch whose later events have not arrived.
struct Open {
    batch: Batch<'static>,
    missing: usize,
    /// Its first line as it is, in case they never do: what stands before it, what
    /// usually does, and the line.
    line: (String, &'static str, String),
}

/// A line that could be read.
struct Line<'a> {
    event: Event<'a>,
    entry: Entry<'a>,
    /// The frame and the number of events it is for, or that it is there but cannot be read.
    source: Option<Result<(Frame<'a>, usize), ()>>,
}

impl Reader {
    /// At the beginning of a journal.
    pub fn new(_options: &DecodeOptions) -> Self {
        Self {
            shapes: ShapeReader::default(),
            literals: Shapes::new(),
            open: None,
            context: None,
            lines: 0,
        }
    }

    /// Takes in an event that came from no wire, without the line that it would be; `false` if it
    /// has to be read as one, because there is more to it than the event.
    pub fn native(
        &mut self,
        entry: Entry<'_>,
        event: &str,
        sink: &mut dyn FnMut(Batch<'_>),
    ) -> bool {
        let Ok(doc) = Doc::parse(event) else { return false };
        let before = self.context.is_some();
        let own = self.event(doc.root()).filter(|own| {
            let stamp = self.context.as_deref().map(|context| ("contextId", context));
            let plain = self.open.is_none() && own.kind() != Kind::Opaque;
            plain && own.is_written(stamp.as_slice(), event)
        });
        match own {
            Some(own) => sink(Batch { entries: vec![entry], ..Batch::native(vec![own]) }),
            None => {
                self.context = self.context.take().filter(|_| before);
                return false;
            }
        }
        true
    }

    /// The event, with the context taken off again where the writer will stamp it.
    fn event<'a>(&mut self, node: Node<'_, 'a>) -> Option<Event<'a>> {
        let kind = node.get("kind")?.str()?;
        let mut event = Event::named(kind);
        for (key, value) in node.members() {
            if key.is("kind") {
                continue;
            }
            if key.is("contextId") {
                let known = self.context.as_deref() == Some(value.raw());
                if known && event.kind() != Kind::ThreadCreated {
                    continue;
                }
                self.context.get_or_insert_with(|| value.raw().to_owned());
            }
            event.set(key.str()?, Raw::Ref(value.raw()));
        }
        Some(event)
    }

    /// Whether writing an entry gives its line.
    fn is_usual(&self, record: Record<'_>, root: Node<'_, '_>, line: &Line<'_>) -> bool {
        let Some(node) = root.get("event") else { return false };
        let rest = record.body.strip_prefix("{\"seq\":");
        let rest = rest.and_then(|rest| rest.strip_prefix(line.entry.seq.as_str()));
        let rest = match &line.entry.at {
            Some(at) => rest
                .and_then(|rest| rest.strip_prefix(",\"at\":"))
                .and_then(|rest| rest.strip_prefix(at.as_str())),
            None => rest,
        };
        let rest = rest
            .and_then(|rest| rest.strip_prefix(",\"event\":"))
            .and_then(|rest| rest.strip_prefix(node.raw()));
        let stamp = self.context.as_deref().map(|context| ("contextId", context));
        rest == Some("}")
            && line.entry.glue.is_none()
            // Carriers write events on one line, by what any reader takes for a line.
            && memchr::memchr(b'\r', record.body.as_bytes()).is_none()
            && line.event.is_written(stamp.as_slice(), node.raw())
    }

    fn line<'a>(&mut self, record: Record<'a>, root: Node<'_, 'a>) -> Option<Line<'a>> {
        let event = self.event(root.get("event")?)?;
        let seq = root.get("seq").map_or(Raw::Ref("0"), Raw::from);
        let at = root.get("at").map(Raw::from);
        let context = event.get("contextId").filter(|_| event.kind() == Kind::Opaque).cloned();
        let entry = Entry { seq, at, context, glue: record.stored_glue() };
        let source = root.get("source").map(|source| {
            let frame = self.frame(source).ok_or(())?;
            let events = source.get("events").and_then(|n| usize::try_from(n.i64()?).ok());
            Ok((frame, events.unwrap_or(1)))
        });
        Some(Line { event, entry, source })
    }

    fn frame<'a>(&mut self, source: Node<'_, 'a>) -> Option<Frame<'a>> {
        if let Some(shapes) = source.get("shapes") {
            self.shapes.define(shapes)?;
        }
        Some(Frame {
            dialect: dialect::named(&source.get("dialect")?.str()?)?.id,
            glue: match source.get("glue") {
                Some(glue) => Some(Raw::owned(glue.str()?.as_ref())),
                None => None,
            },
            role: match source.get("role") {
                Some(role) => Role::named(&role.str()?)?,
                None => Role::Item,
            },
            root: self.shapes.instance(source.get("frame")?)?,
        })
    }

    fn literal<'a>(&mut self, record: Record<'a>) -> Frame<'a> {
        self.literals.literal(Id::Journal, record)
    }

    /// Passes on a batch whose other events will not arrive: its events still count.
    fn give_up(&mut self, sink: &mut dyn FnMut(Batch<'_>)) {
        let Some(open) = self.open.take() else { return };
        let (glue, usual_glue, body) = &open.line;
        let record = Record { glue, usual_glue, ..Record::alone(body) };
        let mut line = Some(self.literal(record));
        for (event, entry) in open.batch.events.into_iter().zip(open.batch.entries) {
            let frame = line.take();
            sink(Batch { frame, entries: vec![entry], ..Batch::native(vec![event]) });
        }
    }
}

impl Decoder for Reader {
    fn record(&mut self, record: Record<'_>, sink: &mut dyn FnMut(Batch<'_>)) {
        self.lines += record.glue.matches('\n').count();
        if record.role == Role::Tail {
            self.give_up(sink);
            sink(Batch::new(Vec::new(), self.literal(record)));
            return;
        }
        let doc = Doc::parse_within(record.body, LINE_DEPTH);
        let line = match &doc {
            Ok(doc) => {
                self.line(record, doc.root()).map(|line| (line, doc.root())).ok_or(Why::Foreign)
            }
            Err(e) => Err(Why::Syntax(e.kind)),
        };
        let (line, root) = match line {
            Ok(line) => line,
            Err(why) => {
                self.give_up(sink);
                let unread = Some(Unread { number: self.lines + 1, why });
                sink(Batch { unread, ..Batch::new(Vec::new(), self.literal(record)) });
                return;
            }
        };
        if line.source.is_some() {
            self.give_up(sink);
        }
        let alone = line.source.is_none() && self.open.is_none();
        let usual = alone && self.is_usual(record, root, &line);
        let Line { event, entry, source } = line;
        if let Some(mut open) = self.open.take() {
            open.batch.events.push(event.to_owned());
            open.batch.entries.push(entry.to_owned());
            open.missing -= 1;
            if open.missing > 0 {
                self.open = Some(open);
            } else {
                sink(open.batch);
            }
            return;
        }
        let entries = vec![entry];
        match source {
            None if usual => sink(Batch { entries, ..Batch::native(vec![event]) }),
            // Its shapes are in a part of the journal that is not here, or it has more to it than
            // the entry.
            None | Some(Err(())) => {
                let frame = self.literal(record);
                sink(Batch { entries, ..Batch::new(vec![event], frame) });
            }
            Some(Ok((frame, 0))) => sink(Batch { entries, ..Batch::new(Vec::new(), frame) }),
            Some(Ok((frame, 1))) => sink(Batch { entries, ..Batch::new(vec![event], frame) }),
            Some(Ok((frame, events))) => {
                let batch = Batch { entries, ..Batch::new(vec![event], frame) }.to_owned();
                let line = (record.glue.to_owned(), record.usual_glue, record.body.to_owned());
                self.open = Some(Open { batch, missing: events - 1, line });
            }
        }
    }

    fn finish(&mut self, sink: &mut dyn FnMut(Batch<'_>)) {
        self.give_up(sink);
    }
}
