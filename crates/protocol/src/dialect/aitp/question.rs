//! Questions of other protocols as capability messages.
//!
//! The choice made here: a confirmation or a selection becomes `request_decision` (AITP-02), a
//! question with a schema becomes `request_data` (AITP-03), and everything else, which AITP would
//! ask in plain words, becomes plain words. Payments and wallets are never made up. An answer
//! takes the form of its question; an answer that does not fit it is given in words.

use std::collections::HashMap;

use super::capability::{Capability, DECISION_TYPES};
use super::decode::object;
use super::exchange::Declared;
use crate::journal::Event;
use crate::json::{Node, NodeKind, Raw, quote};

/// Questions asked so far, by id.
#[derive(Debug, Default)]
pub(super) struct Questions {
    asked: HashMap<String, Form>,
    /// What the other party has declared, if anyone declares anything.
    declared: Option<Declared>,
}

/// How a question was asked.
#[derive(Debug)]
enum Form {
    /// As a decision between these ids.
    Decision(Vec<String>),
    /// As a form.
    Data,
    Words,
}

impl Questions {
    /// For a party that has declared these: it gets everything else in words.
    pub(super) fn among(declared: Declared) -> Self {
        Self { declared: Some(declared), ..Self::default() }
    }

    fn may(&self, capability: Capability) -> bool {
        self.declared.as_ref().is_none_or(|declared| declared.includes(capability))
    }

    /// A question as a JSON string of content.
    pub(super) fn ask(&mut self, event: &Event<'_>) -> String {
        let prompt = event.get("prompt").filter(|p| p.body().is_some());
        let prompt = prompt.map_or("\"\"", Raw::as_str);
        let Some(id) = event.get("inputId").filter(|id| id.body().is_some()) else {
            return prompt.to_owned();
        };
        let kind = event.get("inputType").and_then(Raw::body).unwrap_or("");
        let form = fields(event).filter(|_| self.may(Capability::DataRequest));
        let choice = options(event, kind).filter(|_| self.may(Capability::Decisions));
        let (form, said) = if let Some(form) = form {
            let body =
                object(&[("id", id.as_str()), ("description", prompt), ("form", form.as_str())]);
            (Form::Data, message(Capability::DataRequest, "request_data", &body))
        } else if let Some((ids, options)) = choice {
            let body = object(&[
                ("id", id.as_str()),
                ("description", prompt),
                ("type", &quote(decision_type(event, kind))),
                ("options", &options),
            ]);
            (Form::Decision(ids), message(Capability::Decisions, "request_decision", &body))
        } else {
            (Form::Words, prompt.to_owned())
        };
        self.asked.insert(id.to_string(), form);
        said
    }

    /// An answer as a JSON string of content; `None` if it says nothing.
    pub(super) fn answer(&self, event: &Event<'_>) -> Option<String> {
        let id = event.get("inputId")?;
        let value = event.get("value").filter(|v| !v.is_null())?;
        let doc = value.doc()?;
        let root = doc.root();
        let said = match self.asked.get(id.as_str()) {
            Some(Form::Decision(ids)) => chosen(root, ids).map(|options| {
                let members = [("request_decision_id", id.as_str()), ("options", &options)];
                message(Capability::Decisions, "decision", &object(&members))
            }),
            Some(Form::Data) => filled(root).map(|fields| {
                let members = [("request_data_id", id.as_str()), ("fields", &fields)];
                message(Capability::DataRequest, "data", &object(&members))
            }),
            Some(Form::Words) | None => None,
        };
        Some(said.unwrap_or_else(|| words(root)))
    }
}

/// A capability message as a JSON string.
fn message(capability: Capability, key: &str, body: &str) -> String {
    quote(&object(&[("$schema", &quote(capability.url())), (key, body)]))
}

/// A value as a JSON string.
fn words(value: Node<'_, '_>) -> String {
    if value.is_string() { value.raw().to_owned() } else { quote(value.raw()) }
}

fn decision_type(event: &Event<'_>, kind: &str) -> &'static str {
    let render = event.at("metadata", "/render");
    let known = DECISION_TYPES.iter().find(|t| render.as_ref().is_some_and(|r| r.is(t)));
    let multiple = event.at("metadata", "/multiple").and_then(|m| m.bool()) == Some(true);
    match known {
        Some(known) => known,
        None if kind == "confirmation" => "confirmation",
        None if multiple => "checkbox",
        None => "radio",
    }
}

/// The options offered: their ids and the list. A bare confirmation offers yes and no.
fn options(event: &Event<'_>, kind: &str) -> Option<(Vec<String>, String)> {
    let doc = event.get("options").and_then(Raw::doc);
    let (mut ids, mut list) = (Vec::new(), String::from("["));
    for (i, option) in doc.iter().flat_map(|doc| doc.root().children()).enumerate() {
        let (id, item) = one_option(option, i);
        if ids.contains(&id) {
            continue;
        }
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(&item);
        ids.push(id);
    }
    list.push(']');
    if !ids.is_empty() {
        return Some((ids, list));
    }
    let both = "[{\"id\":\"yes\",\"name\":\"Yes\"},{\"id\":\"no\",\"name\":\"No\"}]";
    (kind == "confirmation" || kind == "tool-execution")
        .then(|| (vec!["\"yes\"".to_owned(), "\"no\"".to_owned()], both.to_owned()))
}

/// One option: its id as JSON text, and the option.
fn one_option(option: Node<'_, '_>, index: usize) -> (String, String) {
    let text = |name: &str| option.some(name).filter(|v| v.is_string()).map(|v| v.raw().to_owned());
    if !option.is_object() {
        let id = words(option);
        let item = object(&[("id", &id), ("name", &id)]);
        return (id, item);
    }
    let id = text("id").or_else(|| text("value")).or_else(|| text("label"));
    let id = id.unwrap_or_else(|| quote(&(index + 1).to_string()));
    let name = text("name").or_else(|| text("label")).or_else(|| text("title"));
    let name =
        name.unwrap_or_else(|| if text("id").is_some() { id.clone() } else { words(option) });
    let mut members = vec![("id", id.as_str()), ("name", name.as_str())];
    let description = text("description");
    members.extend(description.as_deref().map(|d| ("description", d)));
    let rest: Vec<_> = ["short_variant_name", "image_url", "url"]
        .into_iter()
        .filter_map(|name| Some((name, text(name)?)))
        .collect();
    members.extend(rest.iter().map(|(name, value)| (*name, value.as_str())));
    let item = object(&members);
    (id, item)
}

/// The options that an answer chooses, if it chooses among those offered.
fn chosen(value: Node<'_, '_>, ids: &[String]) -> Option<String> {
    let one = |node: Node<'_, '_>| {
        let id = match node.kind() {
            NodeKind::Object => node.get("id")?.raw().to_owned(),
            NodeKind::Bool if node.raw() == "true" => "\"yes\"".to_owned(),
            NodeKind::Bool => "\"no\"".to_owned(),
            _ => words(node),
        };
        let id = ids.iter().find(|known| **known == id)?;
        let quantity = node.some("quantity").filter(|q| q.kind() == NodeKind::Number);
        let mut members = vec![("id", id.as_str())];
        members.extend(quantity.map(|q| ("quantity", q.raw())));
        Some(object(&members))
    };
    let list: Option<Vec<String>> = match value.is_array() {
        true => value.children().map(one).collect(),
        false => one(value).map(|option| vec![option]),
    };
    let list = list.filter(|list| !list.is_empty())?;
    Some(format!("[{}]", list.join(",")))
}

/// A schema as a form.
fn fields(event: &Event<'_>) -> Option<String> {
    let doc = event.get("schema").and_then(Raw::doc)?;
    let schema = doc.root();
    if let Some(url) = schema.get("$ref").filter(|u| u.is_string()) {
        return Some(object(&[("json_url", url.raw())]));
    }
    let properties = schema.get("properties")?;
    let required: Vec<&str> =
        schema.get("required").into_iter().flat_map(Node::children).map(Node::raw).collect();
    let mut list = Vec::new();
    for (key, field) in properties.members() {
        let mut members = vec![("id", key.raw().to_owned())];
        for (name, from) in [("label", "title"), ("description", "description")] {
            if let Some(value) = field.some(from).filter(|v| v.is_string()) {
                members.push((name, value.raw().to_owned()));
            }
        }
        if let Some(value) = field.some("default") {
            members.push(("default_value", words(value)));
        }
        let choices = field.get("enum").or_else(|| field.get("examples"));
        let choices: Vec<String> =
            choices.into_iter().flat_map(Node::children).map(words).collect();
        let is = |name: &str, text: &str| field.get(name).is_some_and(|v| v.is(text));
        let kind = match choices.is_empty() {
            false if field.get("enum").is_some() => "select",
            false => "combobox",
            true if is("type", "number") || is("type", "integer") => "number",
            true if is("format", "email") => "email",
            true => "text",
        };
        members.push(("type", quote(kind)));
        if !choices.is_empty() {
            members.push(("options", format!("[{}]", choices.join(","))));
        }
        if required.contains(&key.raw()) {
            members.push(("required", "true".to_owned()));
        }
        let members: Vec<_> = members.iter().map(|(n, v)| (*n, v.as_str())).collect();
        list.push(object(&members));
    }
    (!list.is_empty()).then(|| object(&[("fields", &format!("[{}]", list.join(",")))]))
}

/// What was filled in, by field.
fn filled(value: Node<'_, '_>) -> Option<String> {
    let list: Vec<String> = value
        .members()
        .map(|(key, value)| {
            let text = words(value);
            let mut members = vec![("id", key.raw())];
            if !value.is_null() {
                members.push(("value", &text));
            }
            object(&members)
        })
        .collect();
    (!list.is_empty()).then(|| format!("[{}]", list.join(",")))
}
