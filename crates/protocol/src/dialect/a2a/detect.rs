//! Telling A2A from other protocols by how a source begins.

use crate::json::{Doc, Node};
use crate::sse;

/// How sure we are that a source is A2A, by its beginning.
pub(super) fn detect(head: &str) -> u8 {
    let head = head.trim_start();
    if head.starts_with('{') {
        return match Doc::parse_prefix(head) {
            Ok((doc, _)) => score(doc.root()),
            Err(_) => guess(head),
        };
    }
    let head = head.strip_prefix('[').map_or(head, str::trim_start);
    if head.starts_with('{') {
        return Doc::parse_prefix(head).map_or_else(|_| guess(head), |(doc, _)| score(doc.root()));
    }
    // Comments may come first.
    for event in head.split("\n\n").flat_map(|e| e.split("\r\n\r\n")).take(4) {
        let text = match sse::data(event) {
            sse::Data::None => continue,
            sse::Data::Line { text, .. } => text.to_owned(),
            sse::Data::Joined(text) => text,
        };
        return Doc::parse(&text).map_or_else(|_| guess(&text), |doc| score(doc.root()));
    }
    0
}

fn score(root: Node<'_, '_>) -> u8 {
    if root.get("jsonrpc").is_some() {
        if let Some(result) = root.get("result") {
            return score(result).max(30);
        }
        if root.get("error").is_some() {
            return 60;
        }
        return match root.get("method").map(|m| m.body()) {
            Some(
                "SendMessage"
                | "SendStreamingMessage"
                | "GetTask"
                | "ListTasks"
                | "CancelTask"
                | "SubscribeToTask"
                | "GetExtendedAgentCard"
                | "message/send"
                | "message/stream"
                | "tasks/get"
                | "tasks/cancel"
                | "tasks/resubscribe",
            ) => 95,
            _ => 0,
        };
    }
    if ["task", "statusUpdate", "artifactUpdate", "message"].iter().any(|key| {
        root.get(key).is_some_and(|n| is_task(n) || is_message(n) || n.get("taskId").is_some())
    }) {
        return 95;
    }
    let kind = root.get("kind").map(|k| k.body());
    if matches!(kind, Some("status-update" | "artifact-update")) || is_task(root) {
        return 95;
    }
    if is_message(root) && root.get("protocol").is_none() {
        return 90;
    }
    if let Some(tasks) = root.get("tasks").filter(|t| t.is_array()) {
        return match tasks.children().next() {
            Some(task) if is_task(task) => 95,
            None if root.get("nextPageToken").is_some() => 70,
            _ => 0,
        };
    }
    if let Some(error) = root.get("error")
        && error.get("code").is_some()
        && error.get("status").is_some()
        && error.get("message").is_some()
    {
        return 60;
    }
    let card = root.get("skills").is_some() && root.get("capabilities").is_some();
    if card && (root.get("supportedInterfaces").is_some() || root.get("protocolVersion").is_some())
    {
        return 90;
    }
    0
}

fn is_task(node: Node<'_, '_>) -> bool {
    node.get("id").is_some()
        && node.pointer("/status/state").is_some_and(|s| s.is_string())
        && (node.get("kind").is_some_and(|k| k.is("task"))
            || node.pointer("/status/state").is_some_and(|s| s.body().starts_with("TASK_STATE_")))
}

fn is_message(node: Node<'_, '_>) -> bool {
    let role = node.get("role").map(|r| r.body());
    node.get("messageId").is_some_and(Node::is_string)
        && (node.get("parts").is_some() || node.get("content").is_some())
        && matches!(role, Some("ROLE_USER" | "ROLE_AGENT" | "user" | "agent"))
        && (node.get("kind").is_none_or(|k| k.is("message")))
}

/// Judges a first value that is cut off, by words that no other protocol has.
fn guess(head: &str) -> u8 {
    let has = |word: &str| {
        head.match_indices(word).any(|(at, _)| !head.get(..at).is_some_and(|b| b.ends_with('\\')))
    };
    let words = ["\"TASK_STATE_", "\"ROLE_AGENT\"", "\"ROLE_USER\"", "\"status-update\""];
    if words.iter().any(|w| has(w)) || has("\"kind\":\"task\"") && has("\"contextId\"") {
        80
    } else {
        0
    }
}
