//! A UIMessage being put together.

use std::collections::HashMap;

use super::part::{Growth, Part, Text, Tool};
use crate::dialect::ai_sdk::Version;
use crate::dialect::ai_sdk::json::{Object, merge};
use crate::json::Raw;

/// A message and what is still open in it.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) id: Raw<'static>,
    pub(super) role: &'static str,
    pub(super) metadata: Option<Raw<'static>>,
    pub(super) parts: Vec<Part>,
    /// Whole parts of a message that is not an agent's, as a JSON array.
    pub(super) fixed: Option<String>,
    /// Index of the first part of the current step.
    pub(super) step: usize,
    /// Open texts and thoughts by id.
    pub(super) texts: HashMap<String, usize>,
    pub(super) thoughts: HashMap<String, usize>,
    /// The latest part of each tool call id.
    pub(super) tools: HashMap<String, usize>,
    pub(super) data: HashMap<String, usize>,
}

impl Message {
    /// An agent's message without parts.
    pub(super) fn assistant(id: Raw<'static>) -> Self {
        Self { id, role: "\"assistant\"", ..Self::default() }
    }

    pub(super) fn push(&mut self, part: Part) -> usize {
        self.parts.push(part);
        self.parts.len() - 1
    }

    pub(super) fn text(&mut self, at: usize) -> Option<&mut Text> {
        match self.parts.get_mut(at) {
            Some(Part::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn tool(&mut self, at: usize) -> Option<&mut Tool> {
        match self.parts.get_mut(at) {
            Some(Part::Tool(tool)) => Some(tool),
            _ => None,
        }
    }

    /// Whether a call of it has not returned.
    pub(super) fn is_waiting(&self) -> bool {
        let waits = |at: &usize| match self.parts.get(*at) {
            Some(Part::Tool(tool)) => !tool.state.is_over() || tool.preliminary.is_some(),
            _ => false,
        };
        self.tools.values().any(waits)
    }

    /// The last part, if it is a text (or thought) that grows while it is the last.
    pub(super) fn loose(&mut self, thought: bool) -> Option<usize> {
        let at = self.parts.len().checked_sub(1)?;
        let text = self.text(at)?;
        (text.thought == thought && text.growth == Growth::Loose).then_some(at)
    }

    /// Sets an application's data part; one of the same type and id is replaced.
    pub(super) fn set_data(&mut self, name: &str, id: Option<Raw<'static>>, data: Raw<'static>) {
        let ty = format!("\"data-{name}\"");
        if let Some(id) = &id {
            let next = self.parts.len();
            let at = *self.data.entry(format!("{ty}{id}")).or_insert(next);
            if let Some(Part::Data { data: there, .. }) = self.parts.get_mut(at) {
                *there = data;
                return;
            }
        }
        self.push(Part::Data { ty, id, data });
    }

    /// Adds data to a message whose parts are whole.
    pub(super) fn add_fixed(&mut self, name: &str, id: Option<&Raw<'_>>, data: &str) {
        let Some(parts) = &mut self.fixed else { return };
        if parts.pop().is_some() && !parts.ends_with('[') {
            parts.push(',');
        }
        let ty = format!("data-{name}");
        Object::new(parts)
            .body("type", &ty)
            .some("id", id.map(Raw::as_str))
            .raw("data", data)
            .end();
        parts.push(']');
    }

    /// Drops the parts of the current step.
    pub(super) fn reset_step(&mut self) {
        self.parts.truncate(self.step);
        let left = self.parts.len();
        self.texts.clear();
        self.thoughts.clear();
        self.tools.retain(|_, at| *at < left);
        self.data.retain(|_, at| *at < left);
    }

    /// Merges metadata into the message's, object by object.
    pub(super) fn merge_metadata(&mut self, more: &Raw<'_>) {
        if more.is_null() {
            return;
        }
        let merged = match &self.metadata {
            Some(base) => merge(base, more),
            None => more.to_string(),
        };
        self.metadata = Some(Raw::owned(merged));
    }

    /// Appends the message as JSON.
    pub(super) fn write(&self, version: Version, out: &mut String) {
        let mut object = Object::new(out);
        object
            .raw("id", &self.id)
            .some("metadata", self.metadata.as_deref())
            .raw("role", self.role);
        let mut parts = String::from("[");
        for (i, part) in self.parts.iter().enumerate() {
            if i > 0 {
                parts.push(',');
            }
            part.write(version, &mut parts);
        }
        parts.push(']');
        // A user's message without parts would be refused.
        let fixed = self.fixed.as_deref().map(|fixed| match fixed {
            "[]" => "[{\"type\":\"text\",\"text\":\"\"}]",
            fixed => fixed,
        });
        object.raw("parts", fixed.unwrap_or(&parts));
        object.end();
    }
}
