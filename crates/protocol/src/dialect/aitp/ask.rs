//! What capability messages ask and answer, as `input-required` and `input-received`.

use std::collections::HashMap;

use super::capability::{self, Capability, Use};
use super::decode::object;
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw, quote};

/// Who wrote a capability message, and when.
pub(super) struct By<'a> {
    pub(super) user: bool,
    pub(super) actor: Option<Raw<'a>>,
    pub(super) when: Option<Raw<'a>>,
}

/// Questions asked so far, for answers that do not say which they answer.
#[derive(Debug, Default)]
pub(super) struct Asked {
    last: HashMap<&'static str, Raw<'static>>,
}

impl Asked {
    /// Appends what a capability message asks or answers.
    pub(super) fn read<'a>(
        &mut self,
        root: Node<'_, '_>,
        by: &By<'a>,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some((capability, message, body)) = capability::read(root) else { return };
        match message.used {
            Use::Ask(ask) => {
                let Some(id) = body.pointer(ask.id).filter(|id| id.is_string()) else { return };
                let id: Raw<'static> = Raw::owned(id.raw());
                self.last.insert(message.key, id.clone());
                events.push(question(capability, message.key, id, body, by));
            }
            Use::Answer(answer) => {
                let given = body.pointer(answer.id).filter(|id| id.is_string());
                let given = given.map(|id| Raw::owned(id.raw()));
                let known = || answer.to.iter().find_map(|key| self.last.get(key)).cloned();
                let Some(id) = given.or_else(known) else { return };
                let who = if by.user { "\"user\"" } else { "\"agent\"" };
                let agent = if by.user { None } else { by.actor.clone() };
                let user = if by.user { by.actor.clone() } else { None };
                events.push(
                    Event::new(Kind::InputReceived)
                        .with("inputId", id)
                        .with("providedBy", Raw::Ref(who))
                        .with_some("userId", user)
                        .with_some("agentId", agent)
                        .with("value", value(message.key, body))
                        .with_some("timestamp", by.when.clone()),
                );
            }
            Use::Notice => {}
        }
    }
}

fn question<'a>(
    capability: Capability,
    key: &'static str,
    id: Raw<'static>,
    body: Node<'_, '_>,
    by: &By<'a>,
) -> Event<'a> {
    let quoted = body.get("original_quote").unwrap_or(body);
    let prompt = ["description", "title", "reason"]
        .into_iter()
        .find_map(|name| quoted.some(name).filter(|p| p.is_string()))
        .map_or_else(|| Raw::string(&key.replace('_', " ")), |p| Raw::owned(p.raw()));
    let kind = body.get("type").map_or("radio", |t| t.body());
    let input = match (key, kind) {
        ("request_decision", "confirmation") => "\"confirmation\"",
        ("request_decision", _) => "\"selection\"",
        ("request_data", _) => "\"data\"",
        _ => "\"confirmation\"",
    };
    let options = match key {
        "request_decision" => body.some("options"),
        "quote" | "wrapped_quote" => {
            quoted.some("payment_options").or_else(|| quoted.some("payment_plans"))
        }
        _ => None,
    };
    let options = options.filter(|o| o.is_array()).map(|o| Raw::owned(o.raw()));
    let metadata = (key == "request_decision").then(|| {
        let multiple = if matches!(kind, "checkbox" | "products") { "true" } else { "false" };
        Raw::owned(object(&[("multiple", multiple), ("render", &quote(kind))]))
    });
    let require_user = capability.needs_user().then_some(Raw::Ref("true"));
    Event::new(Kind::InputRequired)
        .with("inputId", id)
        .with_some("requireUser", require_user)
        .with("inputType", Raw::Ref(input))
        .with("prompt", prompt)
        .with_some("schema", body.get("form").map(form_schema))
        .with_some("options", options)
        .with_some("agentId", by.actor.clone().filter(|_| !by.user))
        .with_some("metadata", metadata)
        .with_some("timestamp", by.when.clone())
}

/// A form as JSON Schema.
fn form_schema<'a>(form: Node<'_, '_>) -> Raw<'a> {
    if let Some(url) = form.some("json_url").filter(|_| form.get("fields").is_none()) {
        return Raw::owned(object(&[("$ref", url.raw())]));
    }
    let mut properties = String::from("{");
    let mut required = String::from("[");
    for field in form.get("fields").into_iter().flat_map(Node::children) {
        let Some(id) = field.get("id").filter(|id| id.is_string()) else { continue };
        let kind = field.get("type").map_or("text", |t| t.body());
        let mut members =
            vec![("type", if kind == "number" { "\"number\"" } else { "\"string\"" })];
        if kind == "email" {
            members.push(("format", "\"email\""));
        }
        for (name, key) in [("title", "label"), ("description", "description")] {
            members.extend(field.some(key).map(|value| (name, value.raw())));
        }
        members.extend(field.some("default_value").map(|value| ("default", value.raw())));
        // A combobox takes other values too.
        let name = if kind == "combobox" { "examples" } else { "enum" };
        members.extend(field.some("options").map(|value| (name, value.raw())));
        if properties.len() > 1 {
            properties.push(',');
        }
        properties.push_str(id.raw());
        properties.push(':');
        properties.push_str(&object(&members));
        if field.get("required").and_then(|r| r.bool()) == Some(true) {
            if required.len() > 1 {
                required.push(',');
            }
            required.push_str(id.raw());
        }
    }
    properties.push('}');
    required.push(']');
    Raw::owned(object(&[
        ("type", "\"object\""),
        ("properties", &properties),
        ("required", &required),
    ]))
}

/// What an answer says: the chosen options, the fields by id, or all of it.
fn value<'a>(key: &str, body: Node<'_, '_>) -> Raw<'a> {
    match (key, body.get("options"), body.get("fields")) {
        ("decision", Some(options), _) => Raw::owned(options.raw()),
        ("data", _, Some(fields)) => {
            let mut out = String::from("{");
            for field in fields.children() {
                let Some(id) = field.get("id").filter(|id| id.is_string()) else { continue };
                if out.len() > 1 {
                    out.push(',');
                }
                out.push_str(id.raw());
                out.push(':');
                out.push_str(field.get("value").map_or("null", |v| v.raw()));
            }
            out.push('}');
            Raw::owned(out)
        }
        _ => Raw::owned(body.raw()),
    }
}
