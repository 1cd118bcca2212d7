//! Texts, files and data as artifacts.

use super::pen::{Pen, Run};
use super::say::{members, object};
use super::write::{Object, Part, array, clean, clean_body, parts, split_half, string};
use crate::dialect::Records;
use crate::journal::{Event, Kind};
use crate::json::{Raw, quote};

/// A text being written.
#[derive(Default)]
pub(super) struct Text {
    artifact: String,
    about: Object,
    metadata: Option<String>,
    begun: bool,
    done: bool,
    /// A surrogate half that waits for its partner.
    half: String,
}

/// An artifact event to write.
struct Chunk {
    artifact: Object,
    append: bool,
    last: bool,
    metadata: Option<String>,
}

impl Pen {
    /// A text begins.
    pub(super) fn text_started(&mut self, task: &str, event: Option<&Event<'_>>, id: &str) {
        let Some(run) = self.runs.get_mut(task) else { return };
        let artifact = run.artifact_id(&quote(id));
        let started = event.filter(|e| e.kind() == Kind::PartStarted);
        let text = Text {
            artifact,
            about: started.map(about).unwrap_or_default(),
            metadata: started.and_then(rest),
            ..Text::default()
        };
        run.texts.insert(id.to_owned(), text);
    }

    /// A piece of a text, or the rest of it.
    pub(super) fn text(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        id: &str,
        body: &str,
        last: bool,
        out: &mut Records,
    ) {
        self.working(task, event, out);
        let Some(run) = self.runs.get_mut(task) else { return };
        if !run.texts.contains_key(id) {
            self.text_started(task, event, id);
        }
        let Some(run) = self.runs.get_mut(task) else { return };
        let Some(mut text) = run.texts.remove(id) else { return };
        if !text.begun {
            run.last.clear();
        }
        run.last.push_str(body);
        run.all.push_str(body);
        let whole = std::mem::take(&mut text.half) + body;
        let (ready, half) = if last { (whole.as_str(), "") } else { split_half(&whole) };
        text.half = half.to_owned();
        if !ready.is_empty() || half.is_empty() {
            let own = event.filter(|e| e.kind() != Kind::PartStarted).and_then(rest);
            let metadata = text.metadata.take().or(own);
            self.chunk_of_text(task, event, &mut text, ready, last, metadata, out);
        }
        if let Some(run) = self.runs.get_mut(task) {
            run.texts.insert(id.to_owned(), text);
        }
    }

    /// A text ends.
    pub(super) fn text_finished(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        id: &str,
        out: &mut Records,
    ) {
        let Some(run) = self.runs.get_mut(task) else { return };
        let Some(mut text) = run.texts.remove(id) else { return };
        if !text.done {
            self.working(task, event, out);
            let half = clean_body(&std::mem::take(&mut text.half));
            let metadata = text.metadata.take();
            self.chunk_of_text(task, event, &mut text, &half, true, metadata, out);
        }
    }

    fn chunk_of_text(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        text: &mut Text,
        body: &str,
        last: bool,
        metadata: Option<String>,
        out: &mut Records,
    ) {
        let parts = [Part::text(body).write(self.version)];
        let about = std::mem::take(&mut text.about);
        let artifact =
            about.first("artifactId", text.artifact.as_str()).with("parts", array(&parts));
        let append = std::mem::replace(&mut text.begun, true);
        text.done = last;
        self.artifact(task, event, Chunk { artifact, append, last, metadata }, out);
    }

    fn artifact(&mut self, task: &str, event: Option<&Event<'_>>, chunk: Chunk, out: &mut Records) {
        let Some(run) = self.runs.get(task) else { return };
        let body = Object::default()
            .with("taskId", run.id.as_str())
            .with("contextId", self.context(run, event))
            .with("artifact", chunk.artifact.ordered().text(self.version))
            .some("append", chunk.append.then_some("true"))
            .some("lastChunk", chunk.last.then_some("true"))
            .some("metadata", chunk.metadata)
            .kind(self.version, "artifact-update")
            .text(self.version);
        out.item(self.envelope.wrap(self.version, "artifactUpdate", body));
    }

    /// A whole message of the agent: a result, all parts of it.
    pub(super) fn spoken(&mut self, task: &str, event: &Event<'_>, out: &mut Records) {
        self.working(task, Some(event), out);
        let parts: Vec<_> = parts(event.get("content"), event.get("attachments"))
            .iter()
            .map(|p| p.write(self.version))
            .collect();
        let id = match event.get("messageId").and_then(string) {
            Some(id) => id,
            None => self.mint("message"),
        };
        let Some(run) = self.runs.get_mut(task) else { return };
        if let Some(body) = event.body("content") {
            run.last = body.to_owned();
            run.all.push_str(body);
        }
        let artifact = Object::default()
            .with("artifactId", run.artifact_id(&id))
            .with("parts", array(&parts))
            .some("metadata", object(event));
        let chunk = Chunk { artifact, append: false, last: true, metadata: None };
        self.artifact(task, Some(event), chunk, out);
    }

    fn parts(
        &mut self,
        task: &str,
        event: &Event<'_>,
        id: Option<&Raw<'_>>,
        parts: &[Part],
        out: &mut Records,
    ) {
        self.working(task, Some(event), out);
        let id = match id.and_then(string) {
            Some(id) => id,
            None => self.mint("artifact"),
        };
        let name = event.get("name").or_else(|| event.get("title")).and_then(string);
        let parts: Vec<_> = parts.iter().map(|p| p.write(self.version)).collect();
        let artifact = about(event)
            .first("artifactId", id.as_str())
            .some("name", name)
            .some("description", event.get("description").and_then(string))
            .with("parts", array(&parts));
        // Only what has begun can go on: peers refuse anything else. A first chunk that comes late
        // goes on, one that comes again begins anew.
        let first = event.get("index").and_then(Raw::i64).is_none_or(|i| i == 0);
        let Some(run) = self.runs.get_mut(task) else { return };
        let append = match run.files.get_mut(&id) {
            Some(begun) => !std::mem::replace(begun, *begun || first) || !first,
            None => {
                run.files.insert(id.clone(), first);
                false
            }
        };
        let last = event.get("complete").is_none_or(|c| c.bool() == Some(true));
        let chunk = Chunk { artifact, append, last, metadata: rest(event) };
        self.artifact(task, Some(event), chunk, out);
    }

    /// A chunk of a file.
    pub(super) fn file(&mut self, task: &str, event: &Event<'_>, out: &mut Records) {
        let filename = event.at("metadata", "/filename");
        let name = filename.as_ref().or_else(|| event.get("name"));
        let media = event.get("mimeType");
        let data = event.body("data").unwrap_or("");
        let uri = event.body("uri").filter(|u| !u.is_empty());
        let mut parts = Vec::new();
        if uri.is_none() || !data.is_empty() {
            let bytes = event.get("encoding").is_some_and(|e| e.is("base64"));
            let part = if bytes { Part::bytes(data) } else { Part::text(data) };
            parts.push(part.file(media, name));
        }
        if let Some(uri) = uri {
            parts.push(Part::url(uri).file(media, name));
        }
        self.parts(task, event, event.get("artifactId"), &parts, out);
    }

    /// A data artifact.
    pub(super) fn data(&mut self, task: &str, event: &Event<'_>, out: &mut Records) {
        let data = event.get("data").map_or("{}", |d| d.as_str());
        self.parts(task, event, event.get("artifactId"), &[Part::data(data)], out);
    }

    /// Rows of a dataset.
    pub(super) fn dataset(&mut self, task: &str, event: &Event<'_>, out: &mut Records) {
        let data = members(event, &["rows", "schema"]);
        self.parts(task, event, event.get("artifactId"), &[Part::data(&data)], out);
    }

    /// A source: a link, or what is known of one without.
    pub(super) fn source(&mut self, task: &str, event: &Event<'_>, out: &mut Records) {
        let part = match event.body("url") {
            Some(url) => Part::url(url).file(event.get("mediaType"), event.get("filename")),
            None => Part::data(&members(event, &["title", "mediaType", "filename"])),
        };
        self.parts(task, event, event.get("sourceId"), &[part], out);
    }
}

impl Run {
    /// An artifact id that no other artifact of this task has.
    fn artifact_id(&mut self, id: &str) -> String {
        let body = clean_body(id.trim_matches('"'));
        let body = if body.is_empty() { "text".to_owned() } else { body };
        let used = self.used.entry(body.clone()).or_default();
        *used += 1;
        if *used == 1 { format!("\"{body}\"") } else { format!("\"{body}-{used}\"") }
    }
}

/// What an event's metadata says of its artifact.
fn about(event: &Event<'_>) -> Object {
    let mut out = Object::default();
    for (key, pointer) in [
        ("name", "/artifact/name"),
        ("description", "/artifact/description"),
        ("metadata", "/artifact/metadata"),
        ("extensions", "/artifact/extensions"),
    ] {
        let own = matches!(key, "name" | "description") && event.get(key).is_some();
        let Some(value) = event.at("metadata", pointer).filter(|_| !own) else { continue };
        let right = match key {
            "metadata" => value.is_object(),
            "extensions" => value.doc().is_some_and(|list| {
                value.is_array() && list.root().children().all(|uri| uri.is_string())
            }),
            _ => value.body().is_some(),
        };
        if right {
            out = out.with(key, clean(&value));
        }
    }
    out
}

/// An event's metadata, less what it says of its artifact.
fn rest(event: &Event<'_>) -> Option<String> {
    let metadata = event.get("metadata").filter(|m| m.is_object())?;
    let doc = metadata.doc()?;
    let mut out = String::new();
    for (key, value) in doc.root().members() {
        if key.is("artifact") || key.is("filename") {
            continue;
        }
        out.push(if out.is_empty() { '{' } else { ',' });
        out.push_str(key.raw());
        out.push(':');
        out.push_str(value.raw());
    }
    (!out.is_empty()).then(|| clean(&(out + "}")))
}
