//! Messages, runs and steps as they stand: what the stream of a run says, gathered.
//!
//! Every task has an encoder of its own, as its stream has. What happens in other runs at the same
//! time changes nothing, and ids are the same here and there.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use selvedge_protocol::dialect::aitp::exchange::Questions;
use selvedge_protocol::dialect::{self, EncodeOptions, Encoding, Id};
use selvedge_protocol::journal::{Batch, Event, Kind};
use selvedge_protocol::json::{Doc, Node, NodeKind, Raw, from_utf8};
use selvedge_protocol::record::{Framing, split};
use selvedge_protocol::time;
use selvedge_store::{Entry, ReadError, Store, Task, ThreadRef};
use serde_json::{Map, Value, json};

use crate::retell::Retelling;
use crate::view::{Descendants, Filter, Sieve};

/// Bytes read from the journal at once.
const PAGE: usize = 1 << 20;
/// The name of the application event that changes the metadata of a message or a run.
pub(super) const METADATA: &str = "openai.metadata";

/// The run that the encoder makes up for what is said outside of any.
const NO_RUN: &str = "run-1";

/// What a run stays at.
pub(super) const OVER: [&str; 5] = ["completed", "failed", "cancelled", "expired", "incomplete"];

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Sort {
    Message,
    Run,
    Step,
}

impl Sort {
    /// Its name in `object`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Message => "thread.message",
            Self::Run => "thread.run",
            Self::Step => "thread.run.step",
        }
    }
}

/// Objects in the order they began.
pub(super) struct Gathered {
    thread: String,
    sieve: Sieve,
    retelling: Retelling,
    encodings: HashMap<Option<String>, Encoding>,
    /// Runs that are over: what someone says after that is not theirs.
    over: HashSet<String>,
    /// Questions as messages, in threads of AITP.
    questions: Option<Questions>,
    objects: Vec<(Sort, Value)>,
    places: HashMap<(Sort, String), usize>,
}

impl Gathered {
    fn new(thread: &str, filter: Filter) -> Self {
        Self {
            thread: thread.to_owned(),
            sieve: Sieve::new(filter),
            retelling: Retelling::new(),
            encodings: HashMap::new(),
            over: HashSet::new(),
            questions: None,
            objects: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// What some entries of a thread say. Blocks for the disk.
    pub(super) fn between(
        store: &Store,
        (id, thread): (&str, &ThreadRef),
        entries: Range<u64>,
        filter: Filter,
    ) -> Result<Self, ReadError> {
        Self::telling(store, (id, thread), entries, filter, None)
    }

    /// The same, with questions as messages if they are to be. Blocks for the disk.
    pub(super) fn telling(
        store: &Store,
        (id, thread): (&str, &ThreadRef),
        entries: Range<u64>,
        filter: Filter,
        questions: Option<Questions>,
    ) -> Result<Self, ReadError> {
        let mut own = Self::new(id, filter);
        own.questions = questions;
        let Range { start: mut seen, end: upto } = entries;
        while seen < upto {
            let page = store.read(thread, seen, usize::MAX, PAGE)?;
            let before = seen;
            for entry in page.entries.iter().take_while(|entry| entry.seq <= upto) {
                seen = entry.seq;
                own.entry(entry);
            }
            if seen == before {
                break;
            }
        }
        Ok(own)
    }

    /// What a run says, in time of the run and not of its thread. Blocks for the disk.
    pub(super) fn run(
        store: &Store,
        (id, thread): (&str, &ThreadRef),
        task: &Task,
        filter: Filter,
    ) -> Result<Self, ReadError> {
        let after = before(store, thread, task)?;
        let upto = match task.ended {
            Some((seq, _)) => seq,
            None => store.head(thread)?,
        };
        Self::between(store, (id, thread), after..upto, of_run(filter, &task.id))
    }

    fn entry(&mut self, entry: &Entry) {
        let Self { sieve, retelling, thread, encodings, questions, over, .. } = self;
        let seen = sieve.see(entry);
        let passes = seen.is_some();
        let told = seen.unwrap_or_else(|| sieve.stand_in(entry));
        let mut out = Vec::new();
        let mut loose = false;
        let (mut changes, mut asked) = (Vec::new(), Vec::new());
        retelling.entry(&told, passes, &mut |batch: &Batch<'_>| {
            let task = batch.events.iter().find_map(|event| event.str("taskId"));
            let task = task.map(|task| task.into_owned());
            loose = task.is_none();
            changes.extend(batch.events.iter().filter_map(changed));
            if let Some(questions) = questions {
                let events = batch.events.iter();
                asked.extend(events.filter_map(|event| question(event, thread, questions)));
            }
            let late = task.as_ref().is_some_and(|task| over.contains(task));
            if late && batch.frame.is_none() {
                return;
            }
            let encoding = encodings.entry(task);
            encoding.or_insert_with(|| encoding_of(thread)).batch(batch, &mut out);
        });
        let mut records = Vec::new();
        split(Framing::Sse, from_utf8(&out).unwrap_or(""), |record| {
            let data: String = match record.body.trim_start().starts_with(['{', '[']) {
                true => record.body.to_owned(),
                false => record.body.lines().filter_map(|l| l.strip_prefix("data: ")).collect(),
            };
            records.extend(parsed(&data));
        });
        for record in records {
            self.take(record, loose);
        }
        for message in asked {
            self.take(message, false);
        }
        for (sort, id, metadata) in changes {
            if let Some(object) = self.object(sort, &id) {
                object["metadata"] = metadata;
            }
        }
    }

    /// Takes in an object, a list of them, or a piece of one. What is said outside of any task has
    /// no run.
    fn take(&mut self, mut value: Value, loose: bool) {
        let id = value["id"].as_str().unwrap_or_default().to_owned();
        let sort = match value["object"].as_str() {
            Some("list") => {
                for item in value["data"].as_array_mut().map(std::mem::take).unwrap_or_default() {
                    self.take(item, loose);
                }
                return;
            }
            Some("thread.message") => Sort::Message,
            Some("thread.run") if !loose => Sort::Run,
            Some("thread.run.step") if !loose => Sort::Step,
            Some("thread.message.delta") => {
                if let Some(object) = self.object(Sort::Message, &id) {
                    add(&mut object["content"], &value["delta"]["content"]);
                }
                return;
            }
            Some("thread.run.step.delta") => {
                if let Some(object) = self.object(Sort::Step, &id) {
                    add(&mut object["step_details"], &value["delta"]["step_details"]);
                }
                return;
            }
            _ => return,
        };
        if loose && value["run_id"] == NO_RUN {
            value["run_id"] = Value::Null;
        }
        let status = value["status"].as_str().unwrap_or_default();
        if sort == Sort::Run && OVER.contains(&status) {
            self.over.insert(id.clone());
        }
        match self.object(sort, &id) {
            Some(object) => *object = value,
            None => {
                self.places.insert((sort, id), self.objects.len());
                self.objects.push((sort, value));
            }
        }
    }

    fn object(&mut self, sort: Sort, id: &str) -> Option<&mut Value> {
        let at = *self.places.get(&(sort, id.to_owned()))?;
        self.objects.get_mut(at).map(|(_, value)| value)
    }

    /// All objects of a sort, the first one first.
    pub(super) fn all(self, wanted: Sort) -> Vec<Value> {
        self.objects.into_iter().filter(|(sort, _)| *sort == wanted).map(|(_, v)| v).collect()
    }

    /// One object.
    pub(super) fn one(mut self, sort: Sort, id: &str) -> Option<Value> {
        self.object(sort, id).map(Value::take)
    }
}

/// A text of JSON. What is no whole character, as where a piece was cut inside one, is told as such.
pub(super) fn parsed(text: &str) -> Option<Value> {
    let strict = serde_json::from_str(text).ok();
    strict.or_else(|| Doc::parse(text).ok().map(|doc| lenient(doc.root())))
}

fn lenient(node: Node<'_, '_>) -> Value {
    let text = |node: Node<'_, '_>| node.str().unwrap_or_default().into_owned();
    match node.kind() {
        NodeKind::Plain | NodeKind::Escaped => text(node).into(),
        NodeKind::Array => node.children().map(lenient).collect(),
        NodeKind::Object => {
            Value::Object(node.members().map(|(key, value)| (text(key), lenient(value))).collect())
        }
        NodeKind::Null | NodeKind::Bool | NodeKind::Number => {
            serde_json::from_str(node.raw()).unwrap_or_default()
        }
    }
}

/// A question or an answer as a message, unless a message says it already.
fn question(event: &Event<'_>, thread: &str, questions: &mut Questions) -> Option<Value> {
    if event.at("metadata", "/messageId").is_some() {
        return None;
    }
    let text = questions.text(event)?;
    let answers = event.kind() == Kind::InputReceived;
    let by_user = answers && event.get("providedBy").is_none_or(|by| by.is("user"));
    let id = event.str("inputId")?;
    let id = if answers { format!("{id}/answer") } else { id.into_owned() };
    let at = event.str("timestamp").and_then(|at| time::to_millis(&at)).unwrap_or(0);
    let at = at.div_euclid(1000);
    let who = event.str(if by_user { "userId" } else { "agentId" });
    let mut metadata = Map::new();
    if let Some(who) = &who {
        metadata.insert("actor".to_owned(), who.as_ref().into());
    }
    let agent = who.filter(|_| !by_user);
    Some(json!({
        "id": id, "object": Sort::Message.name(), "created_at": at, "completed_at": at,
        "incomplete_at": null, "incomplete_details": null, "status": "completed",
        "role": if by_user { "user" } else { "assistant" }, "assistant_id": agent,
        "content": [{ "type": "text", "text": { "value": text, "annotations": [] } }],
        "run_id": event.str("taskId"), "thread_id": thread, "attachments": [],
        "metadata": metadata,
    }))
}

/// A filter that lets a run pass and nothing else: what it calls are runs of their own.
pub(super) fn of_run(mut filter: Filter, run: &str) -> Filter {
    filter.tasks = vec![run.to_owned()];
    filter.descendants = Descendants::Left;
    filter
}

/// The entry before the append that began a task. Blocks for the disk.
pub(super) fn before(store: &Store, thread: &ThreadRef, task: &Task) -> Result<u64, ReadError> {
    let (began, _) = task.began;
    let page = store.read(thread, began.saturating_sub(1), 1, usize::MAX)?;
    Ok(page.entries.first().map_or(began, |entry| entry.append).saturating_sub(1))
}

/// The event that changes an object's metadata.
pub(super) fn change(sort: Sort, id: &str, metadata: &Value) -> Event<'static> {
    let data = json!({ "object": sort.name(), "id": id, "metadata": metadata });
    Event::new(Kind::System).with_str("name", METADATA).with("data", Raw::owned(data.to_string()))
}

/// The object that an event changes, and to what.
fn changed(event: &Event<'_>) -> Option<(Sort, String, Value)> {
    if event.kind() != Kind::System || !event.get("name")?.is(METADATA) {
        return None;
    }
    let data: Value = serde_json::from_str(event.get("data")?.as_str()).ok()?;
    let object = data["object"].as_str()?;
    let sort = [Sort::Message, Sort::Run].into_iter().find(|sort| sort.name() == object)?;
    let metadata = data.get("metadata").filter(|metadata| metadata.is_object())?;
    Some((sort, data["id"].as_str()?.to_owned(), metadata.clone()))
}

fn encoding_of(thread: &str) -> Encoding {
    let options = EncodeOptions { thread_id: Some(thread.to_owned()), ..EncodeOptions::default() };
    let dialect = dialect::get(Id::OpenaiThreads).unwrap_or(&dialect::openai_threads::DIALECT);
    Encoding::new(dialect, &options)
}

/// Adds a piece to what is there, as OpenAI's clients do: texts grow, lists go by `index`.
fn add(to: &mut Value, piece: &Value) {
    match (to, piece) {
        (Value::Object(to), Value::Object(piece)) => {
            for (name, value) in piece.iter().filter(|(name, _)| *name != "index") {
                match to.get_mut(name) {
                    Some(own) if name != "type" && name != "id" => add(own, value),
                    _ => {
                        to.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Array(to), Value::Array(piece)) => {
            for item in piece {
                let at = item["index"].as_u64().and_then(|at| usize::try_from(at).ok());
                let at = at.unwrap_or(to.len()).min(to.len());
                if at == to.len() {
                    to.push(Value::Object(Map::new()));
                }
                if let Some(own) = to.get_mut(at) {
                    add(own, item);
                }
            }
        }
        (Value::String(to), Value::String(piece)) => to.push_str(piece),
        (to, piece) if !piece.is_null() => *to = piece.clone(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_costs_no_message() {
        let told = parsed(r#"{"a":["x\ud83d",1,null]}"#).unwrap();
        assert_eq!(told, json!({"a": ["x\u{fffd}", 1, null]}));
        assert_eq!(parsed("{"), None);
    }

    #[test]
    fn pieces_add_up() {
        let mut content = json!([]);
        add(
            &mut content,
            &json!([{"index":0,"type":"text","text":{"annotations":[],"value":"a"}}]),
        );
        add(&mut content, &json!([{"index":0,"type":"text","text":{"value":"b"}}]));
        add(&mut content, &json!([{"index":1,"type":"text","text":{"value":"c"}}]));
        let wanted = json!([
            {"type":"text","text":{"annotations":[],"value":"ab"}},
            {"type":"text","text":{"value":"c"}},
        ]);
        assert_eq!(content, wanted);
    }
}
