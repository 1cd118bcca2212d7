//! Event `metadata` from and to the AI SDK's side fields.

use crate::journal::{Event, Kind};
use crate::json::{Node, Raw, push_escaped};
use crate::residue::Marks;

/// Collects members of a wire object for one event's `metadata` and binds them there.
pub(in crate::dialect) struct Gather {
    out: String,
    event: usize,
}

impl Gather {
    /// For the record's event of that number.
    pub(in crate::dialect) fn new(event: usize) -> Self {
        Self { out: String::new(), event }
    }

    /// Takes the members of these names, as they are.
    pub(in crate::dialect) fn take(
        mut self,
        from: Node<'_, '_>,
        names: &[&str],
        marks: &mut Marks,
    ) -> Self {
        for name in names {
            if let Some(node) = from.get(name) {
                self = self.put(name, node, marks);
            }
        }
        self
    }

    /// Takes a value under a name.
    pub(in crate::dialect) fn put(
        mut self,
        name: &str,
        node: Node<'_, '_>,
        marks: &mut Marks,
    ) -> Self {
        marks.bind_at(node, self.event, "metadata", &format!("/{name}"));
        self.set(name, node.raw());
        self
    }

    /// Adds a value of our own.
    pub(in crate::dialect) fn set(&mut self, name: &str, value: &str) {
        self.out.push(if self.out.is_empty() { '{' } else { ',' });
        self.out.push('"');
        push_escaped(name, &mut self.out);
        self.out.push_str("\":");
        self.out.push_str(value);
    }

    /// The object; `None` if nothing was there.
    pub(in crate::dialect) fn finish(mut self) -> Option<Raw<'static>> {
        if self.out.is_empty() {
            return None;
        }
        self.out.push('}');
        Some(Raw::owned(self.out))
    }
}

/// A thought's seal in its provider metadata: the signature and whose it is.
///
/// Metadata that is nothing but `{provider:{signature}}` is wholly said by the event's own
/// fields and bound there; of anything richer the seal is a copy, and `whole` is false.
pub(in crate::dialect) struct Seal<'d, 'a> {
    pub(in crate::dialect) signature: Node<'d, 'a>,
    pub(in crate::dialect) provider: Raw<'a>,
    pub(in crate::dialect) whole: bool,
    inner: Node<'d, 'a>,
}

impl<'d, 'a> Seal<'d, 'a> {
    /// Looks for a seal.
    pub(in crate::dialect) fn find(metadata: Node<'d, 'a>) -> Option<Self> {
        let (provider, inner, signature) = metadata.members().find_map(|(provider, inner)| {
            let signature = inner.get("signature").filter(|s| s.is_string())?;
            Some((provider, inner, signature))
        })?;
        let whole = metadata.members().count() == 1 && inner.members().count() == 1;
        let named = inner.some("provider_name").filter(|n| n.is_string());
        Some(Self {
            signature,
            provider: named.map_or_else(|| Raw::from(provider), Raw::from),
            whole,
            inner,
        })
    }

    /// Binds a seal that is whole.
    pub(in crate::dialect) fn bind(&self, metadata: Node<'_, '_>, event: usize, marks: &mut Marks) {
        marks.open(metadata);
        marks.open(self.inner);
        marks.bind(self.signature, event, "signature");
    }
}

/// A value in an event's `metadata`.
pub(in crate::dialect) fn find(event: &Event<'_>, name: &str) -> Option<Raw<'static>> {
    let raw = event.get("metadata")?;
    let doc = raw.doc()?;
    doc.root().get(name).map(|n| Raw::owned(n.raw()))
}

/// Whether an event says more than these fields, and than these members of its `metadata`.
pub(in crate::dialect) fn says_more(event: &Event<'_>, fields: &[&str], members: &[&str]) -> bool {
    let more = event.fields().any(|(name, value)| {
        !matches!(name, "contextId" | "taskId" | "metadata")
            && !fields.contains(&name)
            && !value.is_null()
    });
    let doc = event.get("metadata").and_then(Raw::doc);
    more || doc
        .is_some_and(|doc| doc.root().members().any(|(name, _)| !members.contains(&name.body())))
}

/// What an approval says of an `input-required`, and of its `metadata`.
pub(in crate::dialect) const ASKED: (&[&str], &[&str]) = (
    &["inputId", "inputType", "prompt", "toolCallId", "agentId"],
    &["approvalDescriptor", "inputSchemaInput", "isAutomatic", "signature"],
);

/// What an approval says of an `input-received`, and of its `metadata`.
pub(in crate::dialect) const ANSWERED: (&[&str], &[&str]) =
    (&["inputId", "providedBy", "value", "agentId"], &["providerExecuted", "providerMetadata"]);

/// What a file says of a `file-write`.
pub(in crate::dialect) const FILE: &[&str] =
    &["data", "mimeType", "name", "index", "complete", "encoding", "agentId"];

/// Whether an event's `metadata` says a flag is on.
pub(in crate::dialect) fn flag(event: &Event<'_>, name: &str) -> bool {
    event.get("metadata").is_some() && find(event, name).and_then(|v| v.bool()) == Some(true)
}

/// The message that a run's `task-created` says is its own. Of a run that someone here was asked
/// for it names the message that is answered.
pub(in crate::dialect) fn own_message<'e, 'a>(created: &'e Event<'a>) -> Option<&'e Raw<'a>> {
    let id = created.get("messageId").filter(|id| id.body().is_some_and(|b| !b.is_empty()));
    id.filter(|_| !is_dispatched(created))
}

/// Whether a `task-created` is of a run that someone here is to do.
pub(in crate::dialect) fn is_dispatched(created: &Event<'_>) -> bool {
    created.get("dispatched").and_then(Raw::bool) == Some(true)
}

/// Whether an answer was given as a message of its own.
pub(in crate::dialect) fn is_message(event: &Event<'_>) -> bool {
    event.kind() == Kind::InputReceived && find(event, "messageId").is_some()
}

/// The id, as JSON, of the message with which a run goes on after `before` others.
pub(in crate::dialect) fn next_message(first: &str, before: u32) -> String {
    let base = first.strip_prefix('"').unwrap_or(first);
    format!("\"{}-{}\"", base.strip_suffix('"').unwrap_or(base), before + 1)
}

/// The provider metadata of a text, thought, tool or source event: as it came, or made from a
/// thought's signature.
pub(in crate::dialect) fn provider(event: &Event<'_>) -> Option<Raw<'static>> {
    if let Some(given) = find(event, "providerMetadata") {
        return Some(given);
    }
    seal(event.get("signature"), event.get("providerName"))
}

/// Provider metadata that says who thought, and holds the seal on it.
pub(in crate::dialect) fn seal(
    signature: Option<&Raw<'_>>,
    provider: Option<&Raw<'_>>,
) -> Option<Raw<'static>> {
    let signature = signature.filter(|s| s.body().is_some());
    let provider = provider.and_then(Raw::body);
    let name = provider.unwrap_or("unknown");
    match (signature, provider) {
        (None, None) => None,
        (None, Some(_)) => Some(Raw::owned(format!("{{\"{name}\":{{}}}}"))),
        (Some(signature), _) => {
            Some(Raw::owned(format!("{{\"{name}\":{{\"signature\":{signature}}}}}")))
        }
    }
}
