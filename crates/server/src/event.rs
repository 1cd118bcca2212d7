//! Events on their way in: checked, stamped, put on one line.

use selvedge_protocol::diagnostic::Report;
use selvedge_protocol::journal::kind::{self, COMMON};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Node, Style, SyntaxError, from_utf8, print, quote};
use selvedge_protocol::{time, validate};
use selvedge_store::Draft;

use crate::{Error, ErrorCode};

/// What an event without them gets.
pub(crate) struct Stamp {
    context: String,
    /// Fields with their values, as JSON.
    fields: Vec<(&'static str, String)>,
}

impl Stamp {
    /// For events of this thread, at this time.
    pub(crate) fn new(thread: &str, now: i64) -> Self {
        let timestamp = time::from_millis(now).unwrap_or_default();
        let context = quote(thread);
        let fields = vec![("contextId", context.clone()), ("timestamp", quote(&timestamp))];
        Self { context, fields }
    }

    /// For events of one task of one agent.
    pub(crate) fn of(mut self, task: &str, agent: &str) -> Self {
        self.fields.extend([("taskId", quote(task)), ("agentId", quote(agent))]);
        self
    }

    /// The events of a body: one, an array of them, or one a line.
    pub(crate) fn events(&self, body: &[u8]) -> Result<Vec<Draft>, Error> {
        let text = from_utf8(body).map_err(|error| {
            let message = format!("invalid UTF-8 at byte {}", error.valid_up_to());
            Error::new(ErrorCode::BadJson, message)
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim_start().starts_with('[') {
            let doc = Doc::parse(text).map_err(|error| bad_json(error, 0))?;
            let nodes = doc.root().children().enumerate();
            return nodes.map(|(i, node)| self.event(node, &format!("/{i}"))).collect();
        }
        let mut drafts = Vec::new();
        let mut at = 0;
        loop {
            let rest = text.get(at..).unwrap_or("");
            let blank = rest.len() - rest.trim_start().len();
            at += blank;
            let rest = text.get(at..).unwrap_or("");
            if rest.is_empty() && at > blank {
                return Ok(drafts);
            }
            let (doc, used) = Doc::parse_prefix(rest).map_err(|error| bad_json(error, at))?;
            let more = !rest.get(used..).unwrap_or("").trim().is_empty();
            let alone = drafts.is_empty() && !more;
            let pointer = if alone { String::new() } else { format!("/{}", drafts.len()) };
            drafts.push(self.event(doc.root(), &pointer)?);
            at += used;
        }
    }

    /// Events of the server's own.
    pub(crate) fn own(&self, events: &[Event<'_>]) -> Result<Vec<Draft>, Error> {
        let one = |event: &Event<'_>| {
            let mut text = String::new();
            event.write(&mut text);
            let doc = Doc::parse(&text).map_err(|error| bad_json(error, 0))?;
            self.event(doc.root(), "")
        };
        events.iter().map(one).collect()
    }

    /// One event, checked and stamped.
    pub(crate) fn event(&self, event: Node<'_, '_>, pointer: &str) -> Result<Draft, Error> {
        check(event, pointer)?;
        if let Some(context) = event.get("contextId")
            && context.str() != Doc::parse(&self.context).ok().and_then(|own| own.root().str())
        {
            let message = "`contextId` is another thread's";
            return Err(bad_event(message, &format!("{pointer}/contextId")));
        }
        let mut out = String::with_capacity(event.raw().len() + 96);
        // Between tokens only: inside strings these are escaped.
        if memchr::memchr3(b'\n', b'\r', b'\t', event.raw().as_bytes()).is_some() {
            print(event, Style::Compact, &mut out);
        } else {
            out.push_str(event.raw());
        }
        out.pop();
        for (name, value) in &self.fields {
            if event.get(name).is_none() {
                out.push_str(",\"");
                out.push_str(name);
                out.push_str("\":");
                out.push_str(value);
            }
        }
        out.push('}');
        Ok(Draft::new(out))
    }
}

/// Checks an event's kind and the fields of its kind.
fn check(event: Node<'_, '_>, pointer: &str) -> Result<(), Error> {
    if !event.is_object() {
        return Err(bad_event("an event is a JSON object", pointer));
    }
    let kind = event.get("kind").and_then(Node::str);
    let Some(kind) = kind.filter(|kind| !kind.is_empty() && kind.len() <= 256) else {
        return Err(bad_event("`kind` must be a string", &format!("{pointer}/kind")));
    };
    if kind.contains(|c: char| c.is_control()) {
        return Err(bad_event("`kind` has a control character", &format!("{pointer}/kind")));
    }
    let mut report = Report::new();
    let own = kind::spec(Kind::named(&kind)).map_or(&[][..], |spec| spec.fields);
    for field in COMMON.iter().chain(own) {
        // These are stamped where they are missing.
        let stamped = matches!(field.name, "timestamp" | "contextId");
        if !stamped || event.get(field.name).is_some() {
            validate::fields(pointer, event, std::slice::from_ref(field), &mut report);
        }
    }
    let wrong = report.diagnostics().iter().find(|_| !report.is_valid());
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(bad_event(&wrong.message, &wrong.pointer)),
    }
}

fn bad_event(message: &str, pointer: &str) -> Error {
    Error::new(ErrorCode::BadEvent, message).at(pointer)
}

fn bad_json(error: SyntaxError, offset: usize) -> Error {
    let at = error.at + offset;
    Error::new(ErrorCode::BadJson, format!("not JSON: {} at byte {at}", error.kind))
        .with(format!("{{\"byte\":{at}}}"))
}
