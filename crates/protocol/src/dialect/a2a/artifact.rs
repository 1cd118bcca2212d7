//! Artifacts to events: plain text is what the agent says, the rest are files and data.

use std::collections::HashMap;

use super::decode::{Out, Reader, Scope};
use super::model::filled;
use super::part::{Class, Piece, pieces};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw, quote};

/// How an artifact arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// In a task that is told whole.
    Snapshot,
    /// As a new artifact, or one that takes the place of its namesake.
    New,
    /// As more of an artifact.
    Append,
}

/// What became of an artifact so far.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// What its first part made of it.
    role: Option<Role>,
    /// Parts so far.
    parts: usize,
    /// Chunks of its file so far.
    chunks: usize,
    /// Whether it is a text that may go on.
    open: bool,
}

/// What a part is in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Text that the agent says.
    Speech,
    /// Text of a file.
    Document,
    Bytes,
    Link,
    Data,
}

/// A part's place: the artifact itself, or one of its own beside it.
struct Placed<'d, 'a> {
    piece: Piece<'d, 'a>,
    role: Role,
    id: Raw<'a>,
    main: bool,
}

impl Reader {
    /// Reads an artifact.
    pub(super) fn artifact<'a>(
        &mut self,
        artifact: Node<'_, 'a>,
        scope: Scope<'a>,
        arrival: Arrival,
        last: Option<Node<'_, 'a>>,
        out: &mut Out<'_, 'a>,
    ) {
        let Some(id) = artifact.get("artifactId").filter(|n| n.is_string()) else { return };
        let Some(parts) = artifact.get("parts").filter(|n| n.is_array()) else { return };
        let mut known = self.known(scope, id.raw());
        if arrival == Arrival::Snapshot && known.role.is_some() {
            return;
        }
        self.join(out);
        let first = out.events.len();
        if arrival == Arrival::New && known.open {
            out.events.push(self.part_event(Kind::PartFinished, scope, id.into()));
        }
        if arrival != Arrival::Append {
            known = Known::default();
        }
        let complete = arrival == Arrival::Snapshot || last.and_then(|l| l.bool()).unwrap_or(false);
        let placed = place(id, pieces(parts, self.shapes(), out.marks), arrival, &mut known);
        let count = placed.len();
        let end = placed.iter().rposition(|p| p.main).unwrap_or(0);
        let mut bound_last = false;
        for (i, part) in placed.iter().enumerate() {
            let done = complete && (!part.main || i == end);
            match part.role {
                Role::Speech if part.main => {
                    let whole = !known.open && complete && count == 1;
                    self.speech(part, scope, whole, &mut known, out);
                }
                Role::Speech => self.speech(part, scope, true, &mut Known::default(), out),
                Role::Data => self.data(part, scope, out),
                Role::Document | Role::Bytes | Role::Link => {
                    let index = if part.main { known.chunks } else { 0 };
                    known.chunks += usize::from(part.main);
                    let ev = out.events.len();
                    self.file(part, scope, index, done, artifact, out);
                    if let Some(last) = last.filter(|_| count == 1) {
                        out.marks.bind(last, ev, "complete");
                        bound_last = true;
                    }
                }
            }
        }
        self.about(artifact, first, out);
        if complete && known.open {
            out.events.push(self.part_event(Kind::PartFinished, scope, id.into()));
            known.open = false;
        }
        if let Some(last) = last.filter(|_| !bound_last) {
            out.marks.implied(last);
        }
        let named = |e: &Event<'_>, field| e.get(field).is_some_and(|v| v.as_str() == id.raw());
        for (at, event) in out.events.iter().enumerate().skip(first) {
            if let Some(field) = ["partId", "artifactId"].into_iter().find(|f| named(event, f)) {
                out.marks.bind(id, at, field);
                break;
            }
        }
        *self.artifacts(scope).entry(id.raw().to_owned()).or_default() = known;
    }

    /// Ends texts of a task that were never said to be complete.
    pub(super) fn close_texts<'a>(&mut self, scope: Scope<'a>, out: &mut Out<'_, 'a>) {
        let mut open: Vec<String> = self
            .artifacts(scope)
            .iter_mut()
            .filter(|(_, known)| known.open)
            .map(|(id, known)| {
                known.open = false;
                id.clone()
            })
            .collect();
        open.sort();
        for id in open {
            out.events.push(self.part_event(Kind::PartFinished, scope, Raw::owned(id)));
        }
    }

    fn known(&mut self, scope: Scope<'_>, id: &str) -> Known {
        self.artifacts(scope).remove(id).unwrap_or_default()
    }

    fn part_event<'a>(&self, kind: Kind, scope: Scope<'a>, id: Raw<'a>) -> Event<'a> {
        self.agent_event(kind, scope).with("partId", id).with("partType", Raw::Ref("\"text\""))
    }

    fn speech<'a>(
        &self,
        part: &Placed<'_, 'a>,
        scope: Scope<'a>,
        whole: bool,
        known: &mut Known,
        out: &mut Out<'_, 'a>,
    ) {
        if !whole && !known.open {
            out.events.push(self.part_event(Kind::PartStarted, scope, part.id.clone()));
            known.open = true;
        }
        let ev = out.events.len();
        let (kind, field) =
            if whole { (Kind::ContentComplete, "content") } else { (Kind::ContentDelta, "delta") };
        part.piece.bind(ev, field, "", out.marks);
        let event = self.agent_event(kind, scope).with(field, part.piece.raw());
        out.events.push(event.with("partId", part.id.clone()));
    }

    fn data<'a>(&self, part: &Placed<'_, 'a>, scope: Scope<'a>, out: &mut Out<'_, 'a>) {
        let ev = out.events.len();
        let value = part.piece.value;
        let data = if value.is_object() {
            part.piece.bind(ev, "data", "", out.marks);
            Raw::from(value)
        } else {
            part.piece.bind(ev, "data", "/value", out.marks);
            Raw::owned(format!("{{\"value\":{}}}", value.raw()))
        };
        let event = self.agent_event(Kind::DataWrite, scope);
        out.events.push(event.with("artifactId", part.id.clone()).with("data", data));
    }

    fn file<'a>(
        &self,
        part: &Placed<'_, 'a>,
        scope: Scope<'a>,
        index: usize,
        complete: bool,
        artifact: Node<'_, 'a>,
        out: &mut Out<'_, 'a>,
    ) {
        let ev = out.events.len();
        let piece = &part.piece;
        let mut event = self
            .agent_event(Kind::FileWrite, scope)
            .with("artifactId", part.id.clone())
            .with("data", if part.role == Role::Link { Raw::Ref("\"\"") } else { piece.raw() })
            .with("index", Raw::owned(index.to_string()))
            .with("complete", Raw::Ref(if complete { "true" } else { "false" }));
        event = match part.role {
            Role::Link => event.with("uri", piece.raw()),
            Role::Bytes => event.with("encoding", Raw::Ref("\"base64\"")),
            _ => event.with("encoding", Raw::Ref("\"utf-8\"")),
        };
        piece.bind(ev, if part.role == Role::Link { "uri" } else { "data" }, "", out.marks);
        if let Some(media) = piece.media {
            out.marks.bind(media, ev, "mimeType");
            event = event.with("mimeType", media);
        }
        if let Some(name) = piece.name {
            match filled(artifact, "name") {
                Some(own) if own.raw() == name.raw() => out.marks.implied(name),
                Some(_) => {
                    out.marks.bind_at(name, ev, "metadata", "/filename");
                    let metadata = format!("{{\"filename\":{}}}", name.raw());
                    event = event.with("metadata", Raw::owned(metadata));
                }
                None => {
                    out.marks.bind(name, ev, "name");
                    event = event.with("name", name);
                }
            }
        }
        out.events.push(event);
    }

    /// Puts what an artifact says of itself in the first event of its own.
    fn about<'a>(&self, artifact: Node<'_, 'a>, first: usize, out: &mut Out<'_, 'a>) {
        let artifacts = |e: &Event<'_>| matches!(e.kind(), Kind::FileWrite | Kind::DataWrite);
        let texts = |e: &Event<'_>| matches!(e.kind(), Kind::PartStarted | Kind::ContentComplete);
        let Some(at) = (first..out.events.len())
            .find(|i| out.events.get(*i).is_some_and(|e| artifacts(e) || texts(e)))
        else {
            // More of a text: its name was told before.
            for name in ["name", "description"].iter().filter_map(|n| artifact.get(n)) {
                out.marks.implied(name);
            }
            return;
        };
        let Some(event) = out.events.get_mut(at) else { return };
        let mut rest = Vec::new();
        for key in ["name", "description", "metadata", "extensions"] {
            let Some(value) = artifact.some(key) else { continue };
            let right = match key {
                "metadata" => value.is_object(),
                "extensions" => value.is_array(),
                _ => value.is_string(),
            };
            if !right {
                continue;
            }
            if value.is("") || value.is_array() && value.children().next().is_none() {
                out.marks.implied(value);
            } else if artifacts(event) && value.is_string() {
                out.marks.bind(value, at, key);
                event.set(key, value);
            } else {
                rest.push((key, value));
            }
        }
        if rest.is_empty() {
            return;
        }
        let mut metadata = String::from("{");
        if let Some(name) = event.at("metadata", "/filename") {
            metadata.push_str("\"filename\":");
            metadata.push_str(&name);
            metadata.push(',');
        }
        metadata.push_str("\"artifact\":{");
        for (i, (key, value)) in rest.into_iter().enumerate() {
            if i > 0 {
                metadata.push(',');
            }
            metadata.push_str(&quote(key));
            metadata.push(':');
            metadata.push_str(value.raw());
            out.marks.bind_at(value, at, "metadata", &format!("/artifact/{key}"));
        }
        metadata.push_str("}}");
        event.set("metadata", Raw::owned(metadata));
    }
}

/// Artifacts of a task, by the JSON text of their ids.
pub(super) type Artifacts = HashMap<String, Known>;

/// Says for each part whether it goes on with the artifact or stands beside it.
fn place<'d, 'a>(
    id: Node<'_, 'a>,
    pieces: Vec<Piece<'d, 'a>>,
    arrival: Arrival,
    known: &mut Known,
) -> Vec<Placed<'d, 'a>> {
    let mut placed = Vec::with_capacity(pieces.len());
    for (i, piece) in pieces.into_iter().enumerate() {
        let role = match (piece.class, known.role) {
            (Class::Text, Some(role @ (Role::Speech | Role::Document))) => role,
            (Class::Text, _) if piece.is_plain() => Role::Speech,
            (Class::Text, _) => Role::Document,
            (Class::Raw, _) => Role::Bytes,
            (Class::Url, _) => Role::Link,
            (Class::Data, _) => Role::Data,
        };
        let main = match known.role {
            None => true,
            Some(Role::Speech) => role == Role::Speech,
            Some(Role::Document) => role == Role::Document,
            Some(Role::Bytes) => role == Role::Bytes && i == 0 && arrival == Arrival::Append,
            Some(Role::Link | Role::Data) => false,
        };
        let own = if main {
            Raw::from(id)
        } else {
            Raw::owned(format!("\"{}/{}\"", id.body(), known.parts))
        };
        known.role.get_or_insert(role);
        known.parts += 1;
        placed.push(Placed { piece, role, id: own, main });
    }
    placed
}
