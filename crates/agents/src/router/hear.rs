//! What an agent hears of an envelope that it is to take: the text of its model's family.

use std::collections::HashMap;

use selvedge_protocol::dialect::envelope::adapters::{Adapter, from_envelope};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Node, Raw, quote};

use super::REFLECT;

/// The envelopes of a thread: one of them may be what a task is about.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    envelopes: HashMap<String, Event<'static>>,
}

impl Hearing {
    /// Takes an event in; what the agent of a task hears, where the event gives it an envelope.
    pub(crate) fn hear(
        &mut self,
        task: &str,
        event: &Event<'_>,
        adapter: Adapter,
    ) -> Option<Event<'static>> {
        let id = event.str("messageId")?;
        match event.kind() {
            Kind::Message if event.get("intent").is_some() => {
                self.envelopes.insert(id.into_owned(), event.to_owned());
                None
            }
            Kind::RouteDecided if event.get("taskId").is_some_and(|own| own.is(task)) => {
                let said = heard(self.envelopes.get(&*id)?, event, adapter);
                let heard = Event::new(Kind::Message)
                    .with("role", Raw::Ref("\"user\""))
                    .with_str("content", &said)
                    .with_str("taskId", task);
                Some(heard)
            }
            _ => None,
        }
    }
}

/// The text that an agent hears, from the envelope and the decision that gave it to the agent.
fn heard(message: &Event<'_>, decided: &Event<'_>, adapter: Adapter) -> String {
    let text = request(message, decided);
    match Doc::parse(&text) {
        Ok(doc) => from_envelope(adapter, doc.root()).text(),
        Err(_) => String::new(),
    }
}

/// The envelope that the agent is to take: as it came, with the intent that was decided; of a next
/// action, what is proposed, and what its author said.
fn request(message: &Event<'_>, decided: &Event<'_>) -> String {
    let own = |event: &Event<'_>, name: &str| event.get(name).map(ToString::to_string);
    let intent = own(decided, "intent").unwrap_or_else(|| quote(REFLECT));
    let task = own(decided, "task").or_else(|| own(message, "task"));
    let (said, mut data) = content(message);
    let action = decided.get("action").and_then(Raw::i64);
    let mut context = message.at("inputs", "/context").map(|context| context.to_string());
    if let Some(action) = action {
        context = own(message, "task");
        data = message
            .at("outputs", &format!("/next_actions/{action}/args"))
            .map(|args| args.to_string());
    } else if decided.get("rule").is_some_and(|rule| rule.is(REFLECT))
        && let Some(doubt) = doubt(message)
    {
        context = Some(quote(&doubt));
    }
    let class = if data.is_some() && said.is_none() { "json" } else { "text" };
    let mut out = format!(
        "{{\"intent\":{intent},\"task\":{},\"inputs\":{{\"context\":{}}},\
         \"content\":{{\"type\":\"{class}\"",
        task.unwrap_or_else(|| "\"\"".to_owned()),
        context.unwrap_or_else(|| "null".to_owned())
    );
    for (name, value) in [("text", said), ("data", data)] {
        if let Some(value) = value {
            out.push_str(&format!(",\"{name}\":{value}"));
        }
    }
    out.push_str("}}");
    out
}

/// A message's text and data, as JSON.
fn content(message: &Event<'_>) -> (Option<String>, Option<String>) {
    let Some(content) = message.get("content") else { return (None, None) };
    if content.body().is_some() {
        return (Some(content.to_string()), None);
    }
    let doc = content.doc();
    let part = |class: &str, name: &str| {
        let parts = doc.iter().flat_map(|doc| doc.root().children());
        let mut parts = parts.filter(|part| part.get("type").is_some_and(|t| t.is(class)));
        parts.find_map(|part| part.get(name)).map(|value| value.raw().to_owned())
    };
    (part("text", "text"), part("data", "data"))
}

/// Why the author of a message is not sure of it.
fn doubt(message: &Event<'_>) -> Option<String> {
    let score = message.at("confidence", "/score")?;
    let mut out = format!("The author's confidence is {score}.");
    if let Some(why) = message.at("confidence", "/rationale") {
        out.push_str(&format!(" {}", why.str().unwrap_or_default()));
    }
    let risks = message.at("confidence", "/risks");
    let risks = risks.as_ref().and_then(Raw::doc);
    let risks = risks.iter().flat_map(|doc| doc.root().children()).filter_map(Node::str);
    let risks: Vec<String> = risks.map(|risk| risk.into_owned()).collect();
    if !risks.is_empty() {
        out.push_str(&format!(" Risks: {}.", risks.join(", ")));
    }
    Some(out)
}
