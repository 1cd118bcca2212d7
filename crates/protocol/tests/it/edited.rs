//! A text edited in a core action of the document that carries a recording shows in the recording
//! that is written back, and nothing else changes.

use std::collections::HashSet;

use selvedge_protocol::dialect::{self, DecodeOptions, Dialect, decode};
use selvedge_protocol::journal::transcript::{ActionKind, Transcript};
use selvedge_protocol::json::{Doc, Node, Style, print, quote};
use selvedge_protocol::record::split;
use selvedge_protocol::sse;

use crate::identity::convert;
use crate::recordings;

/// What a conversation says, text by text.
fn said(own: &Dialect, source: &str) -> Vec<(ActionKind, String)> {
    let mut transcript = Transcript::new();
    decode(own, &DecodeOptions::default(), source, |batch| {
        for event in &batch.events {
            transcript.apply(event, &mut Vec::new());
        }
    });
    transcript.actions().iter().map(|action| (action.kind, action.text())).collect()
}

/// A text in a document that carries a recording.
struct Text {
    /// Which of the conversation's actions has it.
    action: usize,
    /// Bytes of the document.
    span: std::ops::Range<usize>,
    /// How much of the action's text comes before it.
    offset: usize,
    text: String,
}

/// The texts in a document that an edit may change.
fn texts(document: &str) -> Vec<Text> {
    let doc = Doc::parse(document).unwrap();
    let kind =
        |action: &Node<'_, '_>| action.get("action_type").unwrap().str().unwrap().into_owned();
    let actions = doc.root().get("actions").unwrap().children();
    let actions = actions.filter(|action| !kind(action).ends_with(".record"));
    let mut texts = Vec::new();
    for (action, node) in actions.enumerate() {
        if !matches!(kind(&node).as_str(), "user_message" | "assistant_message" | "thinking") {
            continue;
        }
        let content = node.get("content").unwrap();
        let parts: Vec<_> = match content.is_string() {
            true => vec![content],
            false => content.children().filter_map(|part| part.get("text")).collect(),
        };
        let mut offset = 0;
        for part in parts {
            let text = part.str().unwrap().into_owned();
            let (span, length) = (part.start()..part.end(), text.len());
            if !text.trim().is_empty() {
                texts.push(Text { action, span, offset, text });
            }
            offset += length;
        }
    }
    texts
}

/// The document with a text replaced, printed by another tool.
fn edit(document: &str, text: &Text, new: &str) -> String {
    let mut edited = document.to_owned();
    edited.replace_range(text.span.clone(), &quote(new));
    let doc = Doc::parse(&edited).unwrap();
    let mut out = String::new();
    print(doc.root(), Style::SpacedAscii, &mut out);
    out
}

fn records(own: &Dialect, source: &str) -> Vec<String> {
    let mut out = Vec::new();
    split(own.framing, source, |record| match sse::unseparated(record.body) {
        Some(lines) => out.extend(lines.map(str::to_owned)),
        None => out.push(record.body.to_owned()),
    });
    out
}

/// The strings that differ between two values that are otherwise alike.
fn strings<'a>(a: Node<'_, 'a>, b: Node<'_, 'a>, out: &mut Vec<String>) -> Option<()> {
    if a.is_object() && b.is_object() {
        let (a, b): (Vec<_>, Vec<_>) = (a.members().collect(), b.members().collect());
        let same = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.0.raw() == b.0.raw());
        return same
            .then_some(())
            .and_then(|()| a.into_iter().zip(b).try_for_each(|(a, b)| strings(a.1, b.1, out)));
    }
    if a.is_array() && b.is_array() {
        let (a, b): (Vec<_>, Vec<_>) = (a.children().collect(), b.children().collect());
        return (a.len() == b.len())
            .then_some(())
            .and_then(|()| a.into_iter().zip(b).try_for_each(|(a, b)| strings(a, b, out)));
    }
    if a.raw() != b.raw() {
        out.push(a.str()?.into_owned());
        b.str()?;
    }
    Some(())
}

fn json(record: &str) -> String {
    match sse::data(record) {
        _ if record.trim_start().starts_with(['{', '[']) => record.to_owned(),
        sse::Data::Line { text, .. } => text.to_owned(),
        sse::Data::Joined(text) => text,
        sse::Data::None => record.to_owned(),
    }
}

/// What is wrong with a record that changed: only strings that have the text, or a piece of it,
/// may.
fn wrong_change(before: &str, after: &str, text: &str) -> Option<String> {
    let (before, after) = (json(before), json(after));
    let (Ok(a), Ok(b)) = (Doc::parse(&before), Doc::parse(&after)) else {
        return Some(format!("{before} became {after}"));
    };
    let mut changed = Vec::new();
    if strings(a.root(), b.root(), &mut changed).is_none() {
        return Some(format!("{before} became {after}"));
    }
    // Half a character is none that could be found in the text.
    let half = |old: &&String| !old.contains('\u{fffd}');
    let other = |old: &&String| !text.contains(old.as_str()) && !old.contains(text);
    let other = changed.iter().filter(half).find(other);
    other.map(|old| format!("{old} changed, which is not of the text"))
}

fn fault(
    own: &'static Dialect,
    source: &str,
    document: &str,
    text: &Text,
    new: &str,
) -> Option<String> {
    let carrier = dialect::named("thread-protocol").unwrap();
    let back = convert(carrier, own, &edit(document, text, new));
    let mut want = said(own, source);
    want[text.action].1.replace_range(text.offset..text.offset + text.text.len(), new);
    let after = said(own, &back);
    if after != want {
        let is = after.iter().zip(&want).find(|(a, b)| a != b);
        return Some(format!("says {is:?} ({} of {})", after.len(), want.len()));
    }
    let (before, after) = (records(own, source), records(own, &back));
    if before.len() != after.len() {
        return Some(format!("{} records became {}", before.len(), after.len()));
    }
    let changed: Vec<_> = before.iter().zip(&after).filter(|(a, b)| a != b).collect();
    if changed.is_empty() {
        return Some("nothing changed".to_owned());
    }
    changed.into_iter().find_map(|(a, b)| wrong_change(a, b, &text.text))
}

#[test]
fn an_edited_text_shows_in_every_dialect_and_everything_else_stays() {
    let carrier = dialect::named("thread-protocol").unwrap();
    let mut tried = HashSet::new();
    let mut wrong = Vec::new();
    for recording in recordings::cached() {
        let own = dialect::named(recording.dialect).unwrap();
        if own.id == carrier.id {
            continue;
        }
        let document = convert(own, carrier, &recording.text);
        for text in texts(&document).into_iter().take(4) {
            let longer = format!("{} and \"more\"\n of it, longer than before", text.text);
            for new in ["EDITED é 😀", &longer, "ÿ"] {
                tried.insert(own.id);
                if let Some(fault) = fault(own, &recording.text, &document, &text, new) {
                    let name = &recording.name;
                    wrong.push(format!(
                        "{} {name}: action {}: {fault}",
                        own.id.name(),
                        text.action
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(tried.len(), dialect::ALL.len() - 2, "{tried:?}");
}
