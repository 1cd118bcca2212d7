//! From a source in any dialect to events for the journal, with what the events cannot hold.

use std::borrow::Cow;

use bytes::Bytes;
use selvedge_protocol::dialect::{
    self, DecodeOptions, Dialect, EncodeOptions, Encoding, Frames, Start,
};
use selvedge_protocol::journal::{Batch, Kind};
use selvedge_protocol::json::{Doc, Node, from_utf8};
use selvedge_store::Draft;

use crate::{Error, ErrorCode};

/// Events and bytes of one append.
const EVENTS: usize = 2000;
const BYTES: usize = 4 << 20;

/// What a source became: appends that stand each by itself.
#[derive(Default)]
pub(crate) struct Ingested {
    /// The thread's id, where the source or the caller says it.
    pub(crate) thread: Option<String>,
    pub(crate) appends: Vec<Vec<Draft>>,
    /// How many events there are that mean something.
    pub(crate) events: usize,
    /// What could not be taken in, and would be lost.
    pub(crate) lost: Option<String>,
}

/// Reads a source.
pub(crate) fn ingest(from: &Dialect, source: &str, thread: Option<&str>) -> Ingested {
    let options =
        DecodeOptions { thread_id: thread.map(str::to_owned), ..DecodeOptions::default() };
    let mut done = Ingested::default();
    let mut lines = Lines::new(thread);
    dialect::decode(from, &options, source, |batch| {
        if lines.drafts.len() >= EVENTS || lines.bytes >= BYTES {
            done.appends.push(lines.finish());
        }
        done.events += batch.events.len();
        if done.thread.is_none() {
            let created = batch.events.iter().find(|e| e.kind() == Kind::ThreadCreated);
            done.thread = created.and_then(|e| e.str("contextId")).map(|id| id.into_owned());
        }
        if !lines.batch(&batch) && done.lost.is_none() {
            done.lost = Some(batch.unread.map_or_else(String::new, |unread| unread.to_string()));
        }
    });
    let last = lines.finish();
    if !last.is_empty() {
        done.appends.push(last);
    }
    done
}

/// An array of events in which a `{"dialect":…,"source":…}` stands for the events that the source
/// means (`agent`: who spoke, where it does not say); anything else as it is.
pub(crate) fn expanded(body: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    // Most bodies name no dialect, and are not to be parsed twice.
    let text = from_utf8(body).unwrap_or("");
    if !text.contains("\"dialect\"") {
        return Ok(Cow::Borrowed(body));
    }
    let Ok(doc) = Doc::parse(text) else { return Ok(Cow::Borrowed(body)) };
    let is_source =
        |item: Node<'_, '_>| item.get("kind").is_none() && item.get("dialect").is_some();
    if !doc.root().is_array() || !doc.root().children().any(is_source) {
        return Ok(Cow::Borrowed(body));
    }
    let mut events = Vec::new();
    for (i, item) in doc.root().children().enumerate() {
        if !is_source(item) {
            events.push(item.raw().to_owned());
            continue;
        }
        let wrong = |message: &str, name: &str| {
            Error::new(ErrorCode::BadParameter, message).at(format!("/{i}/{name}"))
        };
        let name = item.get("dialect").and_then(Node::str);
        let from = name.and_then(|name| dialect::named(&name));
        let from = from.ok_or_else(|| wrong("there is no such dialect", "dialect"))?;
        let source = item.some("source").ok_or_else(|| wrong("`source` is missing", "source"))?;
        let text = source.str().unwrap_or_else(|| Cow::Borrowed(source.raw()));
        let options = DecodeOptions {
            agent: item.some("agent").and_then(Node::str).map(|agent| agent.into_owned()),
            start: Start::Continue,
            frames: Frames::Skip,
            ..DecodeOptions::default()
        };
        let before = events.len();
        dialect::decode(from, &options, &text, |batch| {
            for event in batch.events.iter().filter(|event| event.kind() != Kind::ThreadCreated) {
                let mut text = String::new();
                event.write(&mut text);
                events.push(text);
            }
        });
        if events.len() == before {
            return Err(wrong("nothing in it could be read", "source"));
        }
    }
    Ok(Cow::Owned(format!("[{}]", events.join(",")).into_bytes()))
}

/// Journal lines in the making.
pub(crate) struct Lines {
    options: EncodeOptions,
    encoding: Encoding,
    out: Vec<u8>,
    drafts: Vec<Draft>,
    bytes: usize,
}

impl Lines {
    pub(crate) fn new(thread: Option<&str>) -> Self {
        let options =
            EncodeOptions { thread_id: thread.map(str::to_owned), ..EncodeOptions::default() };
        let encoding = Encoding::new(&dialect::journal::DIALECT, &options);
        Self { options, encoding, out: Vec::new(), drafts: Vec::new(), bytes: 0 }
    }

    /// Takes in a batch; `false` if something of it has no place in a journal.
    pub(crate) fn batch(&mut self, batch: &Batch<'_>) -> bool {
        let mut all = true;
        self.out.clear();
        self.encoding.batch(batch, &mut self.out);
        let text = std::str::from_utf8(&self.out).unwrap_or("");
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let Ok(doc) = Doc::parse(line) else {
                all = false;
                continue;
            };
            let part = |name| {
                let node: Option<Node<'_, '_>> = doc.root().get(name);
                node.map(|node| Bytes::copy_from_slice(node.raw().as_bytes()))
            };
            match part("event") {
                Some(event) => {
                    let draft = Draft { event, source: part("source") };
                    self.bytes += draft.size();
                    self.drafts.push(draft);
                }
                None => all = false,
            }
        }
        all
    }

    /// The append so far; what follows is another.
    pub(crate) fn finish(&mut self) -> Vec<Draft> {
        self.encoding = Encoding::new(&dialect::journal::DIALECT, &self.options);
        self.bytes = 0;
        std::mem::take(&mut self.drafts)
    }
}
