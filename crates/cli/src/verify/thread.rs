//! One thread, read in every way there is.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use selvedge_client::{Client, Follow, Until};
use selvedge_protocol::canonical::ThreadDigest;
use selvedge_protocol::dialect::{DecodeOptions, Decoding, journal};
use selvedge_protocol::json::{Doc, Node};

use crate::error::Error;

/// The most of what is wrong with a thread that is told.
const FINDINGS: usize = 20;
/// How long a stream may say nothing while there is more to say.
const SILENCE: Duration = Duration::from_secs(20);
/// As much as the key may see.
const ALL: (&str, &str) = ("visibility", "internal");

/// What was seen of a thread, and what is wrong with it.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) events: usize,
    /// Entries that the key may not see.
    pub(super) hidden: u64,
    pub(super) digest: String,
    pub(super) findings: Vec<String>,
}

impl Verdict {
    fn found(&mut self, what: String) {
        if self.findings.len() < FINDINGS {
            self.findings.push(what);
        }
    }
}

/// An entry, by digests of what it says.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    seq: u64,
    /// The first entry that it stands for.
    from: u64,
    /// Of its text.
    text: u64,
    /// Of its text but for the thread's name: a branch's past may be told under either.
    rest: u64,
}

/// Reads a thread up to its head as it is now, and compares.
pub(super) async fn verify(client: &Client, thread: &str) -> Result<Verdict, Error> {
    let mut verdict = Verdict::default();
    let shown = client.show(thread).await?;
    let head = shown["head"].as_u64().unwrap_or(0);
    let cursor = shown["cursor"].as_str().unwrap_or_default();
    let epoch = cursor.split('.').next().unwrap_or_default().to_owned();
    if cursor != format!("{epoch}.{head}") {
        verdict.found(format!("the cursor is {cursor} and the head {head}"));
    }
    if head == 0 {
        verdict.found("the journal is empty, and every journal begins with something".to_owned());
    }
    let pages = pages(client, thread, &epoch, head, &mut verdict).await?;
    verdict.events = pages.len();
    holes(client, &pages, head, &mut verdict).await?;
    stream(client, thread, &epoch, head, &pages, &mut verdict).await?;
    export(client, thread, head, &pages, &mut verdict).await?;
    Ok(verdict)
}

/// Reads all pages.
async fn pages(
    client: &Client,
    thread: &str,
    epoch: &str,
    head: u64,
    verdict: &mut Verdict,
) -> Result<Vec<Seen>, Error> {
    let mut all: Vec<Seen> = Vec::new();
    let mut after = 0;
    while after < head {
        let query = [
            (ALL.0, ALL.1.to_owned()),
            ("limit", "10000".to_owned()),
            ("after", format!("{epoch}.{after}")),
        ];
        let page = client.page(thread, &query).await?;
        let Ok(doc) = Doc::parse(&page) else {
            verdict.found(format!("the page after {after} is not JSON"));
            return Ok(all);
        };
        for entry in doc.root().get("entries").into_iter().flat_map(Node::children) {
            let seq = entry.get("seq").and_then(Node::i64).unwrap_or(0) as u64;
            let Some(event) = entry.get("event") else { continue };
            if event.get("kind").and_then(Node::str).is_none() {
                verdict.found(format!("event {seq} has no kind"));
            }
            if all.last().is_some_and(|last| seq <= last.seq) {
                verdict.found(format!("{seq} comes after {}", all.last().map_or(0, |l| l.seq)));
            }
            if seq <= head {
                let from = entry.get("from").and_then(Node::i64);
                let from = from.map_or(seq, |from| from as u64);
                all.push(Seen { seq, from, text: digest([event.raw()]), rest: rest(event) });
            }
        }
        let cursor = doc.root().get("cursor").and_then(Node::str).unwrap_or_default();
        let seen = cursor.split('.').nth(1).and_then(|seq| seq.parse().ok()).unwrap_or(0);
        if seen <= after {
            verdict.found(format!("the page after {after} ends at {cursor}, the head is {head}"));
            return Ok(all);
        }
        after = seen;
    }
    Ok(all)
}

/// Looks for numbers that are not there. Only operators see every event.
async fn holes(
    client: &Client,
    pages: &[Seen],
    head: u64,
    verdict: &mut Verdict,
) -> Result<(), Error> {
    let there: u64 = pages.iter().map(|seen| seen.seq + 1 - seen.from).sum();
    let missing = head.saturating_sub(there);
    if missing == 0 {
        return Ok(());
    }
    if client.is_operator().await? {
        let mut wanted = 1;
        let next = pages.iter().find(|seen| {
            let right = seen.from == wanted;
            wanted = if right { seen.seq + 1 } else { wanted };
            !right
        });
        let next = next.map_or_else(|| "the end".to_owned(), |seen| seen.seq.to_string());
        verdict.found(format!("{missing} of {head} entries are missing; {next} is at {wanted}"));
    } else {
        verdict.hidden = missing;
    }
    Ok(())
}

/// Follows the thread to its end.
async fn stream(
    client: &Client,
    thread: &str,
    epoch: &str,
    head: u64,
    pages: &[Seen],
    verdict: &mut Verdict,
) -> Result<(), Error> {
    let query = vec![(ALL.0.to_owned(), ALL.1.to_owned())];
    let follow = Follow { after: None, query, until: Until::CaughtUp };
    let mut tail = client.follow(thread, follow);
    let mut same = Same::new("the stream", pages);
    loop {
        let Ok(next) = tokio::time::timeout(SILENCE, tail.next()).await else {
            verdict.found("the stream says nothing and is not at the end".to_owned());
            return Ok(());
        };
        let Some(frame) = next? else { break };
        if frame.event == "folded" && frame.id.is_none() {
            continue;
        }
        let id = frame.id.as_deref().unwrap_or_default();
        let seq = id.strip_prefix(epoch).and_then(|rest| rest.strip_prefix('.'));
        let Some(seq) = seq.and_then(|seq| seq.parse::<u64>().ok()) else {
            verdict.found(format!("the stream has a frame `{}` with id `{id}`", frame.event));
            continue;
        };
        if seq > head {
            break;
        }
        let doc = Doc::parse(&frame.data);
        let kind = doc.as_ref().ok().and_then(|doc| doc.root().get("kind")).and_then(Node::str);
        let named = match kind.as_deref() {
            // Or a browser would take it for an error of the connection.
            Some("error") => frame.event == "thread-error",
            kind => kind == Some(frame.event.as_str()),
        };
        if !named {
            verdict.found(format!("the stream calls {seq} `{}`", frame.event));
        }
        let text = digest([frame.data.as_str()]);
        same.next(|page| page.seq == seq && page.text == text, verdict);
    }
    same.end(verdict);
    Ok(())
}

/// Exports the thread as a journal, and takes its digest.
async fn export(
    client: &Client,
    thread: &str,
    head: u64,
    pages: &[Seen],
    verdict: &mut Verdict,
) -> Result<(), Error> {
    let query = [
        (ALL.0, ALL.1.to_owned()),
        ("dialect", journal::DIALECT.id.name().to_owned()),
        ("at", head.to_string()),
    ];
    let mut answer = client.export(thread, &query).await?;
    let mut digest = ThreadDigest::new();
    let mut decoding = Decoding::new(&journal::DIALECT, &DecodeOptions::default());
    let mut same = Same::new("the export", pages);
    let mut line = Vec::new();
    while let Some(piece) = answer.next().await? {
        // Its lines are looked at as they are, and once more as what they mean.
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if line.ends_with(b"\n") {
                exported(&line, &mut same, verdict);
                line.clear();
            }
        }
        if let Err(error) = decoding.push(&piece, |batch| digest.batch(&batch)) {
            verdict.found(format!("the export cannot be read: {error}"));
            return Ok(());
        }
    }
    if !line.is_empty() {
        exported(&line, &mut same, verdict);
    }
    if let Err(error) = decoding.finish(|batch| digest.batch(&batch)) {
        verdict.found(format!("the export cannot be read: {error}"));
    }
    same.end(verdict);
    verdict.digest = digest.finish();
    Ok(())
}

fn exported(line: &[u8], same: &mut Same<'_>, verdict: &mut Verdict) {
    let doc = Doc::parse_bytes(line);
    let event = doc.as_ref().ok().and_then(|doc| doc.root().get("event"));
    match event {
        // What is hidden is not counted in an export, so its numbers may be others.
        Some(event) => same.next(|page| page.rest == rest(event), verdict),
        None => verdict.found("the export has a line without an event".to_owned()),
    }
}

/// Compares what comes with the pages, one after the other.
struct Same<'a> {
    what: &'static str,
    pages: std::slice::Iter<'a, Seen>,
}

impl<'a> Same<'a> {
    fn new(what: &'static str, pages: &'a [Seen]) -> Self {
        Self { what, pages: pages.iter() }
    }

    /// Something comes, which should be what is next.
    fn next(&mut self, is: impl FnOnce(&Seen) -> bool, verdict: &mut Verdict) {
        let what = self.what;
        match self.pages.next() {
            None => verdict.found(format!("{what} has more than the pages")),
            Some(page) if !is(page) => {
                verdict
                    .found(format!("{what} has something else where the pages have {}", page.seq));
            }
            Some(_) => {}
        }
    }

    fn end(mut self, verdict: &mut Verdict) {
        if let Some(page) = self.pages.next() {
            verdict.found(format!("{} ends before {}", self.what, page.seq));
        }
    }
}

/// An event but for the thread's name.
fn rest(event: Node<'_, '_>) -> u64 {
    let rest = event.members().filter(|(key, _)| !key.is("contextId"));
    digest(rest.flat_map(|(key, value)| [key.raw(), value.raw()]))
}

/// Enough to tell texts apart.
fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for text in texts {
        text.hash(&mut hasher);
    }
    hasher.finish()
}
