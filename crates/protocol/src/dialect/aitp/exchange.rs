//! Capability messages between parties: who may be sent which, and what one asks or answers.
//!
//! Invariant: what asks for money or a signature requires the user.

use super::ask::{Asked, By};
use super::capability::{self, Capability, Use};
use super::question;
use crate::diagnostic::{Report, Severity};
use crate::journal::{Event, Kind};
use crate::json::{Doc, INNER_DEPTH, Node, Raw};

/// The capabilities that parties have declared, by the addresses of their schemas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    urls: Vec<String>,
}

impl Declared {
    /// Nothing is declared yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a list of capabilities as `participant-joined` has it: addresses, or objects with
    /// `schema`.
    pub fn add(&mut self, list: Option<&Raw<'_>>) {
        let doc = list.and_then(Raw::doc);
        let items = doc.iter().flat_map(|doc| doc.root().children());
        self.urls.extend(items.filter_map(address));
    }

    /// Whether messages of this schema may be sent: the capability is declared, in any spelling of
    /// the same version.
    pub fn has(&self, schema: &str) -> bool {
        let known = Capability::of(schema).map(|(capability, _)| capability);
        self.urls.iter().any(|url| {
            url == schema || known.is_some() && Capability::of(url).map(|(own, _)| own) == known
        })
    }

    pub(super) fn includes(&self, capability: Capability) -> bool {
        self.has(capability.url())
    }
}

fn address(item: Node<'_, '_>) -> Option<String> {
    let url = item.get("schema").or_else(|| item.get("$schema")).unwrap_or(item);
    url.str().map(|url| url.into_owned())
}

/// A capability message.
#[derive(Debug)]
pub struct Said {
    /// The address of its schema.
    pub schema: String,
    /// Whether it is about money or signatures: only the person may answer, never an agent for
    /// them.
    pub needs_user: bool,
    /// What is wrong with it, if anything is.
    pub wrong: Option<String>,
    /// What it is for.
    pub act: Act,
}

/// What a capability message is for.
#[derive(Debug)]
pub enum Act {
    /// It asks: the event that does.
    Asks(Event<'static>),
    /// It answers: which question, if it says so, and with which value.
    Answers(Option<String>, Raw<'static>),
    /// It tells something.
    Tells,
}

/// Reads a text that is a capability message.
pub fn read(text: &str) -> Option<Said> {
    if !capability::is_message(text) {
        return None;
    }
    let doc = Doc::parse_within(text.trim(), INNER_DEPTH).ok()?;
    let root = doc.root();
    let schema = capability::schema(root)?.into_owned();
    let mut report = Report::new();
    capability::check(root, &mut report);
    let wrong = report.diagnostics().iter().find(|found| found.severity == Severity::Error);
    let wrong = wrong.map(|found| format!("{} {}", found.pointer, found.message).trim().to_owned());
    let Some((capability, message, body)) = capability::read(root) else {
        return Some(Said { schema, needs_user: false, wrong, act: Act::Tells });
    };
    let by = By { user: matches!(message.used, Use::Answer(_)), actor: None, when: None };
    let mut events = Vec::new();
    Asked::default().read(root, &by, &mut events);
    let act = match (message.used, events.pop()) {
        (Use::Ask(_), Some(event)) => Act::Asks(event.to_owned()),
        (Use::Answer(answer), event) => {
            let id = body.pointer(answer.id).and_then(Node::str).map(|id| id.into_owned());
            let value = event.as_ref().and_then(|event| event.get("value"));
            let value = value.map_or_else(|| Raw::owned(body.raw()), Raw::to_owned);
            Act::Answers(id, value)
        }
        _ => Act::Tells,
    };
    Some(Said { schema, needs_user: capability.needs_user(), wrong, act })
}

/// Questions of other protocols as capability messages that a party has declared, or in words.
pub struct Questions(question::Questions);

impl Questions {
    /// For a party that has declared these.
    pub fn among(declared: Declared) -> Self {
        Self(question::Questions::among(declared))
    }

    /// The text that a question or its answer is to the other party, if it is anything.
    pub fn text(&mut self, event: &Event<'_>) -> Option<String> {
        let said = match event.kind() {
            Kind::InputRequired | Kind::ToolInputRequired => self.0.ask(event),
            Kind::InputReceived => self.0.answer(event)?,
            _ => return None,
        };
        Raw::owned(said).str().map(|text| text.into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYMENTS: &str = "https://aitp.dev/capabilities/aitp-01-payments/v1.0.0/schema.json";
    const DECISIONS: &str = "https://aitp.dev/capabilities/aitp-02-decisions/v1.0.0/schema.json";

    #[test]
    fn a_capability_is_declared_in_any_spelling() {
        let mut declared = Declared::new();
        declared.add(Some(&Raw::owned(format!("[\"{PAYMENTS}\",{{\"schema\":\"urn:x\"}}]"))));
        let old = PAYMENTS.replace("v1.0.0", "v0.1.0");
        for schema in [PAYMENTS, &old, "urn:x"] {
            assert!(declared.has(schema), "{schema}");
        }
        assert!(!declared.has(DECISIONS));
        assert!(!declared.has("https://aitp.dev/capabilities/aitp-09-fiat/v1.0.0/schema.json"));
    }

    #[test]
    fn money_requires_the_user() {
        let text = format!(
            "{{\"$schema\":\"{PAYMENTS}\",\"top_up_request\":{{\"channel_id\":\"c\",\
             \"currency\":\"USD\",\"merchant_id\":\"m\",\"timestamp\":\"2026-01-01T00:00:00Z\",\
             \"merchant_signature\":\"s\"}}}}"
        );
        let said = read(&text).unwrap();
        assert!(said.needs_user && said.wrong.is_none(), "{said:?}");
        let Act::Asks(event) = said.act else { panic!("it asks") };
        assert_eq!(event.get("requireUser").and_then(Raw::bool), Some(true));
        assert!(read("{\"$schema\":\"https://example.com/x\"}").is_none());
        assert!(read("plain words").is_none());
    }

    #[test]
    fn an_answer_names_its_question() {
        let text = format!(
            "{{\"$schema\":\"{DECISIONS}\",\"decision\":{{\"request_decision_id\":\"q\",\
             \"options\":[{{\"id\":\"yes\"}}]}}}}"
        );
        let Act::Answers(id, value) = read(&text).unwrap().act else { panic!("it answers") };
        assert_eq!((id.as_deref(), value.as_str()), (Some("q"), "[{\"id\":\"yes\"}]"));
        let bare = text.replace("\"request_decision_id\":\"q\",", "");
        let Act::Answers(id, value) = read(&bare).unwrap().act else { panic!("it answers") };
        assert_eq!(id, None);
        assert!(value.as_str().contains("yes"));
    }
}
