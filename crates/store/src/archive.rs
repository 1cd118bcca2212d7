//! A copy of a journal with its hash chain, line by line, checked without the store it came from.

use selvedge_protocol::json::{Doc, Node};
use selvedge_protocol::time;

use crate::chain::{self, Digest};

/// The most of what is wrong that is told.
const FINDINGS: usize = 100;

/// What was looked at, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArchiveCheck {
    /// Entries.
    pub entries: u64,
    /// Those that are in the chain.
    pub chained: u64,
    /// Those where something else stands than was chained: folded, or without their content.
    pub replaced: u64,
    /// The last link: two copies that end alike are alike.
    pub link: Option<Digest>,
    /// What is wrong, in words; the first hundred.
    pub findings: Vec<String>,
    seq: u64,
}

impl ArchiveCheck {
    /// Looks at the next line.
    pub fn line(&mut self, line: &str) {
        self.entries += 1;
        let Ok(doc) = Doc::parse(line) else {
            return self.found(format!("line {} is not JSON", self.entries));
        };
        let root = doc.root();
        let number =
            |name: &str| root.get(name).and_then(Node::i64).and_then(|n| u64::try_from(n).ok());
        let (Some(seq), Some(event)) = (number("seq"), root.get("event")) else {
            return self.found(format!("line {} is no entry", self.entries));
        };
        let from = number("from").unwrap_or(seq);
        if from != self.seq + 1 || seq < from {
            self.found(format!("entry {from} follows {}", self.seq));
        }
        self.seq = seq;
        let digest = |node: Node<'_, '_>| node.str().and_then(|hex| Digest::from_hex(&hex));
        let before = root.get("before").and_then(digest).or(self.link);
        self.link = root.get("link").and_then(digest);
        let Some(link) = self.link else { return };
        self.chained += seq + 1 - from;
        let were: Option<Vec<Digest>> =
            root.get("were").map(|were| were.children().filter_map(digest).collect());
        let bodies = match were {
            Some(were) => {
                self.replaced += 1;
                if let Some(wrong) = wrongly_replaced(event, &were, seq + 1 - from) {
                    self.found(format!("entry {seq} {wrong}"));
                }
                were
            }
            None => {
                let at = root.get("at").and_then(Node::str).and_then(|at| time::to_millis(&at));
                let source = root.get("source").map(|source| source.raw().as_bytes());
                vec![chain::body(at.unwrap_or(0), event.raw().as_bytes(), source)]
            }
        };
        match before {
            None => self.found(format!("entry {seq} has a link and nothing that it follows")),
            Some(before) if chain::last(before, &bodies) != link => {
                self.found(format!("entry {seq} is not what the hash chain says it was"));
            }
            Some(_) => {}
        }
    }

    fn found(&mut self, what: String) {
        if self.findings.len() < FINDINGS {
            self.findings.push(what);
        }
    }
}

/// What is wrong with something that stands for what was chained.
fn wrongly_replaced(event: Node<'_, '_>, were: &[Digest], entries: u64) -> Option<&'static str> {
    if were.len() as u64 != entries {
        return Some("stands for another number of entries than were chained");
    }
    let told = event.get("redacted").and_then(|told| told.get("hash")).and_then(Node::str);
    match (were, told) {
        ([only], Some(told)) if only.hex() != *told => {
            Some("says another hash of what was there than was chained")
        }
        _ => None,
    }
}
