//! What Looopy's events look like on the wire: names, forms, and how to tell them.

use crate::journal::kind::{self, COMMON};
use crate::journal::{Event, Kind};
use crate::json::{Doc, Node};
use crate::record::{Framing, split};
use crate::sse;

/// The prefix of kinds that only operators see.
pub(super) const INTERNAL: &str = "internal:";

/// The member that holds tool arguments that are no object.
pub(super) const RAW_ARGUMENTS: &str = "_raw";

/// The kind of that name. `event:` lines of the document's form lack the `internal:` prefix.
pub(super) fn kind_named(name: &str) -> Kind {
    match Kind::named(name) {
        Kind::Other => Kind::named(&format!("{INTERNAL}{name}")),
        kind => kind,
    }
}

/// Whether the document or Looopy's code has the kind.
pub(super) fn is_looopys(kind: Kind) -> bool {
    (kind as usize) < Kind::ThreadCreated as usize
}

/// A field's name for good, if the kind knows it.
pub(super) fn known_field(kind: Kind, name: &str) -> Option<&'static str> {
    let own = kind::spec(kind).map_or(&[][..], |spec| spec.fields);
    own.iter().chain(COMMON).map(|f| f.name).find(|known| *known == name)
}

/// The context that an SSE id of the code's form names: `<contextId>-<n>`.
pub(super) fn context_of(id: &str) -> Option<&str> {
    let (context, n) = id.rsplit_once('-')?;
    let counted = !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    (counted && !context.is_empty()).then_some(context)
}

/// The arguments inside `{"_raw": …}`.
pub(super) fn raw_arguments<'d, 'a>(arguments: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
    let mut members = arguments.members();
    let (key, value) = members.next()?;
    (key.is(RAW_ARGUMENTS) && members.next().is_none()).then_some(value)
}

/// How sure we are that a source is Looopy's.
pub(super) fn detect(head: &str) -> u8 {
    let mut score = None;
    let mut seen = 0;
    split(Framing::Sse, head, |record| {
        if score.is_some() || seen > 8 {
            return;
        }
        seen += 1;
        let bare = record.body.trim_start().starts_with('{');
        let (event, data) = match (bare, sse::data(record.body)) {
            (true, _) => (None, record.body),
            (false, sse::Data::Line { text, .. }) => (sse::field(record.body, "event"), text),
            _ => return,
        };
        score = Some(match Doc::parse(data) {
            Ok(doc) => judge(doc.root(), event.as_deref()),
            Err(_) => judge_start(data),
        });
    });
    score.unwrap_or(0)
}

fn judge(root: Node<'_, '_>, event: Option<&str>) -> u8 {
    let text = |key: &str| root.get(key).is_some_and(Node::is_string);
    let named = root.get("kind").and_then(|k| k.str());
    let (name, stamped) = match (&named, event) {
        (Some(name), _) => (name.as_ref(), text("contextId") || text("taskId")),
        (None, Some(event)) => (event, text("taskId")),
        (None, None) => return 0,
    };
    let kind = kind_named(name);
    // A2A 0.3 has messages of this kind too.
    let message = kind != Kind::Message
        || root.get("message").is_some()
        || text("role") && root.get("content").is_some();
    if !stamped || !message || matches!(kind, Kind::Other | Kind::Opaque) {
        return 0;
    }
    if named.is_some() { 95 } else { 90 }
}

/// Judges a first event that is longer than what there is to see of it.
fn judge_start(text: &str) -> u8 {
    let start: String = text.chars().take(200).filter(|c| !c.is_whitespace()).collect();
    let Some(rest) = start.strip_prefix("{\"kind\":\"") else { return 0 };
    let known = rest.split('"').next().is_some_and(|name| is_looopys(kind_named(name)));
    if known && rest.contains("\"contextId\":\"") { 80 } else { 0 }
}

/// Whether a word of an event can be told from what is written.
pub(super) fn carries(event: &Event<'_>, field: &str) -> bool {
    let kind = event.kind();
    let name = field.split('/').next().unwrap_or(field);
    match kind {
        Kind::Opaque | Kind::Other => false,
        _ => field == "kind" || known_field(kind, name).is_some(),
    }
}
