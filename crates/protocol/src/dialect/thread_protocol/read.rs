//! ThreadProtocol documents to batches: plain ones, and ones that carry other dialects' records.

use std::collections::{HashMap, HashSet, VecDeque};

use super::carry;
use super::decode::Thread;
use crate::dialect::{self, DecodeOptions, Decoder, Documents, Id, Start};
use crate::journal::{Batch, Event};
use crate::json::{Doc, Node, Raw, Style, compact, print, push_escaped, same_value, text};
use crate::record::{Framing, Record, Role, split};
use crate::residue::{Codec, Instance, Marks, ShapeReader, Shapes, Slot};

/// Reads a document.
pub(super) struct Reader {
    options: DecodeOptions,
}

impl Reader {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self { options: options.clone() }
    }
}

impl Decoder for Reader {
    fn record(&mut self, record: Record<'_>, sink: &mut dyn FnMut(Batch<'_>)) {
        if super::carries_records(record.body)
            && let Ok(doc) = Doc::parse(record.body)
            && let Some(carried) = Carried::new(&doc, &self.options)
        {
            carried.read(sink);
            return;
        }
        Documents::new(Thread::new(&self.options)).record(record, sink);
    }
}

/// A group of records and the actions they made.
struct Group<'d, 'a> {
    dialect: Id,
    data: Node<'d, 'a>,
    /// Position among the document's actions.
    at: usize,
    /// The number of its first action, and of the first action it may refer to.
    from: usize,
    whole: bool,
}

struct Carried<'d, 'a> {
    options: DecodeOptions,
    actions: Vec<Node<'d, 'a>>,
    groups: Vec<Group<'d, 'a>>,
    /// Actions by number, as the writer numbered them; `None` for one that is gone.
    numbered: Vec<Option<usize>>,
    owned: HashSet<usize>,
    shapes: ShapeReader,
    /// How often each text is still to be cut, and where the next cut begins.
    cuts: HashMap<(usize, String), Cutting>,
}

#[derive(Default)]
struct Cutting {
    left: usize,
    body: Option<String>,
    state: text::CutState,
}

impl<'d, 'a> Carried<'d, 'a> {
    fn new(doc: &'d Doc<'a>, options: &DecodeOptions) -> Option<Self> {
        let root = doc.root();
        let list = root.get("actions")?;
        let actions: Vec<_> = list.children().collect();
        let mut shapes = ShapeReader::default();
        let carried = root.get("metadata").and_then(|m| m.get(carry::METADATA));
        if let Some(carried) = carried {
            shapes.define(carried.get("shapes")?)?;
            shapes.define_values(carried.get("values")?)?;
        }
        let mut out = Self {
            options: DecodeOptions {
                thread_id: root.get("thread_id").and_then(|id| id.str()).map(Into::into),
                agent: only_agent(root),
                start: options.start,
                frames: options.frames,
            },
            actions,
            groups: Vec::new(),
            numbered: Vec::new(),
            owned: HashSet::new(),
            shapes,
            cuts: HashMap::new(),
        };
        out.find_groups();
        let empty = carried.is_some() && out.actions.is_empty();
        (empty || !out.groups.is_empty()).then_some(out)
    }

    /// Finds each group's actions again: the next ones of the kinds it names.
    fn find_groups(&mut self) {
        let dialects: Vec<Option<Id>> =
            self.actions.iter().map(|a| carry::dialect_of(&a.get("action_type")?.str()?)).collect();
        for (at, dialect) in dialects.iter().enumerate() {
            let Some(dialect) = dialect else { continue };
            let Some(data) = self.actions.get(at).and_then(|a| a.get("data")) else { continue };
            let letters = data.get("actions").and_then(|l| l.str()).unwrap_or_default();
            let back = data.get("back").and_then(Node::i64).unwrap_or(0);
            let from = self.numbered.len().saturating_sub(usize::try_from(back).unwrap_or(0));
            let mut next = at + 1;
            let mut whole = true;
            for letter in letters.chars() {
                let found = (next..self.actions.len())
                    .take_while(|i| dialects.get(*i).is_some_and(Option::is_none))
                    .find(|i| carry::node_letter(self.actions[*i]) == letter);
                match found {
                    Some(i) => {
                        next = i + 1;
                        self.numbered.push(Some(i));
                    }
                    None => {
                        whole = false;
                        self.numbered.push(None);
                    }
                }
            }
            self.groups.push(Group { dialect: *dialect, data, at, from, whole });
        }
        let mut first = 0;
        for group in &self.groups {
            let letters = group.data.get("actions").and_then(|l| l.str()).unwrap_or_default();
            let count = letters.chars().count();
            if group.whole {
                self.owned.extend(self.numbered.iter().skip(first).take(count).flatten());
            }
            first += count;
        }
    }

    fn read(mut self, sink: &mut dyn FnMut(Batch<'_>)) {
        let groups = std::mem::take(&mut self.groups);
        for group in &groups {
            if let Some(shapes) = group.data.get("shapes") {
                self.shapes.define(shapes);
            }
        }
        self.count_cuts(&groups);
        let native_first =
            groups.first().is_none_or(|g| (0..g.at).any(|i| !self.owned.contains(&i)));
        let mut thread = Thread::new(&self.options);
        if native_first && self.options.start == Start::NewThread {
            self.options.start = Start::Continue;
        }
        let mut decoders =
            Decoders { options: self.options.clone(), open: HashMap::new(), later: Vec::new() };
        let mut next = groups.iter().peekable();
        for at in 0..self.actions.len() {
            if let Some(group) = next.next_if(|g| g.at == at) {
                if group.whole {
                    self.group(group, &mut decoders, sink);
                }
                continue;
            }
            if self.owned.contains(&at) {
                continue;
            }
            let mut events = Vec::new();
            thread.action(self.actions[at], &mut Marks::new(), &mut events);
            events.iter_mut().for_each(Event::single_line);
            decoders.pass(Batch::native(events), sink);
        }
        let mut events = Vec::new();
        thread.end_step(&mut events);
        if !events.is_empty() {
            decoders.pass(Batch::native(events), sink);
        }
        decoders.finish(sink);
    }

    fn entries(group: &Group<'d, 'a>) -> impl Iterator<Item = (Node<'d, 'a>, Node<'d, 'a>)> {
        let records = group.data.get("records");
        records.into_iter().flat_map(Node::children).map(|entry| match entry.get("record") {
            Some(instance) => (entry, instance),
            None => (entry, entry),
        })
    }

    fn count_cuts(&mut self, groups: &[Group<'d, 'a>]) {
        for group in groups.iter().filter(|g| g.whole) {
            for (entry, instance) in Self::entries(group) {
                let Some(cuts) = entry.get("cut") else { continue };
                let Some(instance) = self.shapes.instance(instance) else { continue };
                let times = cuts.children().count();
                self.add_cuts(&instance, group.from, times);
            }
        }
    }

    fn add_cuts(&mut self, of: &Instance<'_>, base: usize, times: usize) {
        let base = base + usize::from(of.base);
        for slot in &of.shape.slots {
            if let Slot::Bound { event, field, path, codec, .. } = slot
                && codec.is_cut()
            {
                let key = (base + usize::from(*event), format!("{field}{path}"));
                self.cuts.entry(key).or_default().left += times;
            }
        }
        for item in of.lists.iter().flatten() {
            self.add_cuts(item, base, times);
        }
    }

    fn group(
        &mut self,
        group: &Group<'d, 'a>,
        decoders: &mut Decoders,
        sink: &mut dyn FnMut(Batch<'_>),
    ) {
        for (entry, instance) in Self::entries(group) {
            let Some(instance) = self.shapes.instance(instance) else { continue };
            let glue = entry.get("glue").and_then(|g| g.str());
            let role = entry.get("role").and_then(|r| Role::named(&r.str()?)).unwrap_or(Role::Item);
            let units = |node: Node<'_, '_>| usize::try_from(node.i64()?).ok();
            let cuts: Vec<VecDeque<usize>> = match entry.get("cut") {
                Some(all) => all
                    .children()
                    .map(|cuts| match units(cuts) {
                        Some(one) => VecDeque::from([one]),
                        None => cuts.children().filter_map(units).collect(),
                    })
                    .collect(),
                None => vec![VecDeque::new()],
            };
            for mut cuts in cuts {
                let mut body = String::new();
                if self.render(&instance, group.from, &mut cuts, &mut body).is_none() {
                    continue;
                }
                decoders.record(group.dialect, glue.as_deref(), &body, role, sink);
            }
        }
    }

    /// Appends the text of an instance, its holes filled from the actions.
    fn render(
        &mut self,
        of: &Instance<'_>,
        base: usize,
        cuts: &mut VecDeque<usize>,
        out: &mut String,
    ) -> Option<()> {
        let base = base + usize::from(of.base);
        let shape = of.shape.clone();
        let mut lists = of.lists.iter();
        for (i, slot) in shape.slots.iter().enumerate() {
            out.push_str(shape.chunks.get(i)?);
            match slot {
                Slot::Leaf { default, .. } => out.push_str(of.leaf(i).unwrap_or(default)),
                Slot::Bound { event, field, path, codec, .. } => {
                    let number = base + usize::from(*event);
                    let action = *self.actions.get((*self.numbered.get(number)?)?)?;
                    let value = action.get(field)?;
                    let value = value.pointer(path)?;
                    if codec.is_cut() {
                        let key = (number, format!("{field}{path}"));
                        let kept = of.leaf(i);
                        let units = cuts.pop_front().unwrap_or(0);
                        self.cut(key, value, *codec, units, kept, out);
                    } else {
                        fill(value, *codec, of.leaf(i), out);
                    }
                }
                Slot::List { open, between, close, .. } => {
                    out.push_str(open);
                    for (i, item) in lists.next()?.iter().enumerate() {
                        if i > 0 {
                            out.push_str(between);
                        }
                        self.render(item, base, cuts, out)?;
                    }
                    out.push_str(close);
                }
            }
        }
        out.push_str(shape.chunks.last()?);
        Some(())
    }

    /// Appends the next piece of a text. The last one takes all that is left, so that a text
    /// that was edited is still whole.
    fn cut(
        &mut self,
        key: (usize, String),
        value: Node<'_, '_>,
        codec: Codec,
        units: usize,
        kept: Option<&str>,
        out: &mut String,
    ) {
        let cutting = self.cuts.entry(key).or_default();
        let body = cutting.body.get_or_insert_with(|| match codec {
            Codec::CutPrint(style) => {
                let mut printed = String::new();
                print(value, style, &mut printed);
                let mut body = String::new();
                push_escaped(&printed, &mut body);
                body
            }
            _ => text::minimal(value.body()).into_owned(),
        });
        cutting.left = cutting.left.saturating_sub(1);
        let mut piece = String::new();
        let mut cutter = text::Cutter::resume(body, cutting.state);
        if cutting.left == 0 {
            cutter.rest(&mut piece);
        } else {
            cutter.take(units, &mut piece);
        }
        cutting.state = cutter.state();
        if codec == Codec::CutAscii {
            piece = text::ascii(&piece);
        }
        match kept {
            Some(literal) if text::minimal(inner(literal)) == text::minimal(&piece) => {
                out.push_str(literal);
            }
            _ => {
                out.push('"');
                out.push_str(&piece);
                out.push('"');
            }
        }
    }
}

fn inner(literal: &str) -> &str {
    literal.strip_prefix('"').and_then(|l| l.strip_suffix('"')).unwrap_or(literal)
}

/// Appends a value as its codec spells it, or as it was spelled while it means the same.
fn fill(value: Node<'_, '_>, codec: Codec, kept: Option<&str>, out: &mut String) {
    if let Some(literal) = kept {
        let meant = match codec {
            Codec::Quote(_) | Codec::Quoted => text::decode(inner(literal)).into_owned(),
            _ => literal.to_owned(),
        };
        if Doc::parse(&meant).is_ok_and(|doc| same_value(doc.root(), value)) {
            out.push_str(literal);
            return;
        }
    }
    match codec {
        Codec::Ascii => {
            out.push('"');
            out.push_str(&text::ascii(value.body()));
            out.push('"');
        }
        Codec::Print(style) => print(value, style, out),
        Codec::Quote(style) => quoted(value, style, out),
        Codec::Quoted => quoted(value, Style::Compact, out),
        _ => out.push_str(&compact(value)),
    }
}

fn quoted(value: Node<'_, '_>, style: Style, out: &mut String) {
    let mut printed = String::new();
    print(value, style, &mut printed);
    out.push('"');
    push_escaped(&printed, out);
    out.push('"');
}

/// The decoders of the dialects whose records a document carries.
struct Decoders {
    options: DecodeOptions,
    open: HashMap<Id, Open>,
    /// What comes after the first piece of a document: it can be read only when all of it is
    /// there, and everything stays in order.
    later: Vec<Later>,
}

enum Later {
    /// What the next piece of this document says.
    Piece(Id),
    Batch(Batch<'static>),
}

struct Open {
    decoder: Box<dyn Decoder>,
    framing: Framing,
    items: usize,
    /// A document's pieces, until it is whole.
    document: String,
}

impl Decoders {
    /// Passes a batch on, now or when what comes before it can be.
    fn pass(&mut self, batch: Batch<'_>, sink: &mut dyn FnMut(Batch<'_>)) {
        if self.later.is_empty() {
            sink(batch);
        } else {
            self.later.push(Later::Batch(batch.to_owned()));
        }
    }

    fn record(
        &mut self,
        id: Id,
        glue: Option<&str>,
        body: &str,
        role: Role,
        sink: &mut dyn FnMut(Batch<'_>),
    ) {
        let mut later = std::mem::take(&mut self.later);
        if later.is_empty() {
            self.read(id, glue, body, role, sink);
        } else {
            self.read(id, glue, body, role, &mut |b| later.push(Later::Batch(b.to_owned())));
        }
        later.append(&mut self.later);
        self.later = later;
    }

    fn read(
        &mut self,
        id: Id,
        glue: Option<&str>,
        body: &str,
        role: Role,
        sink: &mut dyn FnMut(Batch<'_>),
    ) {
        if id == Id::Journal {
            self.options.start = Start::Continue;
            if role != Role::Item {
                // A line that was kept as it is, or the journal's end.
                let role = if role == Role::Head { Role::Item } else { role };
                let (glue, usual_glue) = match glue {
                    Some("") => ("", "\n"),
                    Some(glue) => (glue, ""),
                    None => ("", ""),
                };
                let record = Record { glue, usual_glue, body, role, index: 0 };
                let mut literal = Some(Shapes::new().literal(id, record).to_owned());
                // By itself it may look as any other does; that it was kept is why it is here.
                let mut kept = |batch: Batch<'_>| {
                    let frame = batch.frame.or(literal.take());
                    sink(Batch { frame, ..batch });
                };
                let mut line = dialect::journal::Reader::new(&self.options);
                line.record(record, &mut kept);
                line.finish(&mut kept);
            } else if let Ok(doc) = Doc::parse(body)
                && let Some(batch) = carry::read_native(doc.root())
            {
                sink(batch);
            }
            return;
        }
        let Some(dialect) = dialect::get(id) else { return };
        let options = &self.options;
        let open = self.open.entry(id).or_insert_with(|| Open {
            decoder: (dialect.decoder)(options),
            framing: dialect.framing,
            items: 0,
            document: String::new(),
        });
        self.options.start = Start::Continue;
        let usual_glue = match role {
            Role::Item => open.framing.glue(open.items),
            Role::Tail => open.framing.end(open.items),
            Role::Head => "",
        };
        if open.framing == Framing::Document {
            open.document.push_str(glue.unwrap_or(if role == Role::Item {
                usual_glue
            } else {
                ""
            }));
            open.document.push_str(body);
            self.later.push(Later::Piece(id));
        } else {
            let glue = glue.unwrap_or(usual_glue);
            let record = Record { glue, usual_glue, body, role, index: open.items };
            open.decoder.record(record, sink);
        }
        open.items += usize::from(role == Role::Item);
    }

    fn finish(mut self, sink: &mut dyn FnMut(Batch<'_>)) {
        // A document has as many batches as it had pieces, unless it was edited out of shape.
        let mut said: HashMap<Id, VecDeque<Batch<'static>>> = HashMap::new();
        let mut missing: HashMap<Id, usize> = HashMap::new();
        for later in &self.later {
            if let Later::Piece(id) = later {
                *missing.entry(*id).or_default() += 1;
            }
        }
        for id in missing.keys() {
            let Some(open) = self.open.get_mut(id) else { continue };
            let (said, text) = (said.entry(*id).or_default(), std::mem::take(&mut open.document));
            let keep = &mut |batch: Batch<'_>| said.push_back(batch.to_owned());
            split(Framing::Document, &text, |record| open.decoder.record(record, keep));
            open.decoder.finish(keep);
        }
        for later in self.later {
            match later {
                Later::Batch(batch) => sink(batch),
                Later::Piece(id) => {
                    let left = missing.entry(id).or_default();
                    *left = left.saturating_sub(1);
                    let count = if *left == 0 { usize::MAX } else { 1 };
                    let said = said.entry(id).or_default();
                    said.drain(..said.len().min(count)).for_each(&mut *sink);
                }
            }
        }
        for (id, open) in &mut self.open {
            if !missing.contains_key(id) {
                open.decoder.finish(sink);
            }
        }
    }
}

/// The thread's agent, where there is just one and it has a name of its own.
fn only_agent(root: Node<'_, '_>) -> Option<String> {
    let mut agents = root.get("agents")?.members();
    let (key, _) = agents.next()?;
    if agents.next().is_some() || key.is("agent") {
        return None;
    }
    Raw::from(key).str().map(Into::into)
}
