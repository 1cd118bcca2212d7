//! Events from what chunks of a stream and parts of a message have in common.

use super::content;
use super::meta::{Gather, Seal};
use crate::journal::Event;
use crate::json::{Node, Raw};
use crate::residue::Marks;

/// Binds a value, if it is there.
pub(in crate::dialect) fn bind(
    node: Option<Node<'_, '_>>,
    ev: usize,
    field: &'static str,
    marks: &mut Marks,
) {
    if let Some(node) = node {
        marks.bind(node, ev, field);
    }
}

/// Adds what stands beside a text or a thought: provider metadata, citations, a signature.
pub(in crate::dialect) fn side<'a>(
    event: Event<'a>,
    from: Node<'_, 'a>,
    ev: usize,
    thought: bool,
    marks: &mut Marks,
) -> Event<'a> {
    let provider = from.some("providerMetadata");
    let citations = from.some("citations");
    if provider.is_none() && citations.is_none() {
        return event;
    }
    let mut event = event;
    let mut metadata = Gather::new(ev);
    if let Some(provider) = provider {
        let seal = if thought { Seal::find(provider) } else { None };
        match &seal {
            Some(seal) if seal.whole => seal.bind(provider, ev, marks),
            _ => metadata = metadata.put("providerMetadata", provider, marks),
        }
        if let Some(seal) = seal {
            event = event.with("signature", seal.signature).with("providerName", seal.provider);
        }
    }
    if let Some(citations) = citations {
        metadata = metadata.put("citations", citations, marks);
    }
    event.with_some("metadata", metadata.finish())
}

/// A source or a file, from a chunk or a part.
pub(in crate::dialect) fn source<'a>(
    event: Event<'a>,
    kind: &str,
    from: Node<'_, 'a>,
    ev: usize,
    marks: &mut Marks,
) -> Event<'a> {
    let ty = match kind {
        "source-url" => "\"url\"",
        "source-document" => "\"document\"",
        "file" => "\"file\"",
        _ => "\"reasoning-file\"",
    };
    let mut event = event.with("sourceType", Raw::Ref(ty));
    for field in ["sourceId", "url", "title", "mediaType", "filename"] {
        if let Some(node) = from.some(field) {
            marks.bind(node, ev, field);
            event = event.with(field, node);
        }
    }
    let side = ["providerMetadata", "providerReference"];
    event.with_some("metadata", Gather::new(ev).take(from, &side, marks).finish())
}

/// An application's own data, from a chunk or a part.
pub(in crate::dialect) fn data<'a>(
    event: Event<'a>,
    name: &str,
    from: Node<'_, 'a>,
    ev: usize,
    marks: &mut Marks,
) -> Event<'a> {
    bind(from.get("data"), ev, "data", marks);
    bind(from.some("id"), ev, "systemId", marks);
    let metadata = match event.get("metadata") {
        Some(_) => None,
        None => Gather::new(ev).take(from, &["transient"], marks).finish(),
    };
    event
        .with("name", Raw::owned(format!("\"{name}\"")))
        .with("data", from.get("data").map_or(Raw::Ref("null"), Raw::from))
        .with_some("systemId", from.some("id"))
        .with_some("metadata", metadata)
}

/// Message metadata or a provider's own part.
pub(in crate::dialect) fn system<'a>(
    event: Event<'a>,
    kind: &str,
    from: Node<'_, 'a>,
    ev: usize,
    marks: &mut Marks,
) -> Option<Event<'a>> {
    if kind == "message-metadata" {
        let value = from.get("messageMetadata")?;
        marks.bind(value, ev, "data");
        return Some(
            event
                .with("name", Raw::Ref("\"message_metadata\""))
                .with("data", value)
                .with("metadata", Raw::Ref("{\"part\":\"message-metadata\"}")),
        );
    }
    let mut data = String::new();
    for name in ["kind", "providerMetadata"] {
        if let Some(node) = from.get(name) {
            marks.bind_at(node, ev, "data", &format!("/{name}"));
            data.push(if data.is_empty() { '{' } else { ',' });
            data.push_str(&format!("\"{name}\":{}", node.raw()));
        }
    }
    data.push_str(if data.is_empty() { "{}" } else { "}" });
    Some(
        event
            .with("name", Raw::Ref("\"custom\""))
            .with("data", Raw::owned(data))
            .with("metadata", Raw::Ref("{\"part\":\"custom\"}")),
    )
}

/// A user's message inside a run.
pub(in crate::dialect) fn steering<'a>(
    event: Event<'a>,
    from: Node<'_, 'a>,
    ev: usize,
    marks: &mut Marks,
) -> Option<Event<'a>> {
    let parts = from.get("parts").filter(|p| p.is_array())?;
    bind(from.some("id"), ev, "messageId", marks);
    let content = content::read(parts, ev, marks);
    Some(
        event
            .with_some("messageId", from.some("id"))
            .with("role", Raw::Ref("\"user\""))
            .with("content", content)
            .with("metadata", Raw::Ref("{\"part\":\"steering-message\"}")),
    )
}

/// The answer to an approval: whether, and why.
pub(in crate::dialect) fn answer(from: Node<'_, '_>, ev: usize, marks: &mut Marks) -> Raw<'static> {
    let mut value = String::new();
    for name in ["approved", "reason"] {
        if let Some(node) = from.some(name) {
            marks.bind_at(node, ev, "value", &format!("/{name}"));
            value.push(if value.is_empty() { '{' } else { ',' });
            value.push_str(&format!("\"{name}\":{}", node.raw()));
        }
    }
    value.push_str(if value.is_empty() { "{}" } else { "}" });
    Raw::owned(value)
}
