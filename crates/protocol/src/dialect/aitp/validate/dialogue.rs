//! Answers must fit their questions: the rules between the capability messages of a thread.

use std::collections::HashMap;

use crate::diagnostic::Report;
use crate::dialect::aitp::capability::{self, Answer, Use};
use crate::json::{Node, Raw};
use crate::time;
use crate::validate::{brief, span};

/// Questions asked so far.
#[derive(Debug, Default)]
pub(super) struct Dialogue {
    /// Whether the thread goes on from another one, where a question may have been asked.
    pub(super) forked: bool,
    asked: HashMap<(&'static str, String), Question>,
    /// The latest question of each kind.
    last: HashMap<&'static str, String>,
}

/// A question, as its JSON text.
#[derive(Debug)]
struct Question {
    body: Raw<'static>,
    actor: Option<String>,
}

impl Dialogue {
    /// Checks a capability message against those before it.
    pub(super) fn read(&mut self, root: Node<'_, '_>, actor: Option<&str>, report: &mut Report) {
        let Some((_, message, body)) = capability::read(root) else { return };
        let pointer = format!("/{}", message.key);
        match message.used {
            Use::Ask(ask) => {
                let Some(id) = body.pointer(ask.id).and_then(|id| id.str()) else { return };
                self.last.insert(message.key, id.to_string());
                let question =
                    Question { body: Raw::owned(body.raw()), actor: actor.map(str::to_owned) };
                self.asked.insert((message.key, id.into_owned()), question);
            }
            Use::Answer(answer) => self.answer(message.key, answer, body, actor, &pointer, report),
            Use::Notice => {
                if let Some(id) = body.get("quote_id") {
                    let text = id.str().unwrap_or_default();
                    let known = ["quote", "wrapped_quote"]
                        .into_iter()
                        .any(|key| self.asked.contains_key(&(key, text.to_string())));
                    if !known {
                        let pointer = format!("{pointer}/quote_id");
                        self.unasked(&pointer, id, &text, report);
                    }
                }
            }
        }
    }

    fn answer(
        &self,
        key: &str,
        answer: Answer,
        body: Node<'_, '_>,
        actor: Option<&str>,
        pointer: &str,
        report: &mut Report,
    ) {
        let given = body.pointer(answer.id).filter(|id| id.is_string());
        let id = match given {
            Some(id) => id.str().map(|id| id.into_owned()),
            None => answer.to.iter().find_map(|key| self.last.get(key)).cloned(),
        };
        let question = id
            .as_ref()
            .and_then(|id| answer.to.iter().find_map(|key| self.asked.get(&(*key, id.clone()))));
        let Some(question) = question else {
            if let Some(id) = given {
                let pointer = format!("{pointer}{}", answer.id);
                self.unasked(&pointer, id, &id.str().unwrap_or_default(), report);
            } else {
                let message = "nothing was asked that this could answer";
                self.report(pointer, body, message.to_owned(), report);
            }
            return;
        };
        if question.actor.is_some() && question.actor.as_deref() == actor {
            let message = "the one who asked answers";
            report.warning("aitp-own-answer", pointer, span(body), message);
        }
        let Some(doc) = question.body.doc() else { return };
        match key {
            "decision" => decided(doc.root(), body, pointer, report),
            "data" => filled(doc.root(), body, pointer, report),
            "payment" => paid(doc.root(), body, pointer, report),
            _ => {}
        }
    }

    fn unasked(&self, pointer: &str, node: Node<'_, '_>, id: &str, report: &mut Report) {
        let message = format!("`{}` was not asked in this thread", brief(id));
        self.report(pointer, node, message, report);
    }

    fn report(&self, pointer: &str, node: Node<'_, '_>, message: String, report: &mut Report) {
        if self.forked {
            report.warning("aitp-unasked", pointer, span(node), message);
        } else {
            report.error("aitp-unasked", pointer, span(node), message);
        }
    }
}

fn decided(question: Node<'_, '_>, body: Node<'_, '_>, pointer: &str, report: &mut Report) {
    let kind = question.get("type").and_then(|t| t.str()).unwrap_or("radio".into());
    let pointer = format!("{pointer}/options");
    let Some(options) = body.get("options") else { return };
    if matches!(&*kind, "radio" | "confirmation") && options.children().count() > 1 {
        let message = format!("a decision of type `{kind}` has one option");
        report.error("aitp-one-option", &pointer, span(options), message);
    }
    let offered: Vec<_> = question
        .get("options")
        .into_iter()
        .flat_map(Node::children)
        .flat_map(|o| {
            std::iter::once(o).chain(o.get("variants").into_iter().flat_map(Node::children))
        })
        .filter_map(|o| o.get("id")?.str())
        .collect();
    for (i, option) in options.children().enumerate() {
        let Some(id) = option.get("id").filter(|id| id.is_string()) else { continue };
        let text = id.str().unwrap_or_default();
        if !offered.contains(&text) {
            let message = format!("option `{}` was not offered", brief(&text));
            report.error("aitp-option", &format!("{pointer}/{i}/id"), span(id), message);
        }
    }
}

fn filled(question: Node<'_, '_>, body: Node<'_, '_>, pointer: &str, report: &mut Report) {
    // A form given by its URL cannot be looked at.
    let Some(fields) = question.get("form").and_then(|form| form.get("fields")) else { return };
    let given = body.get("fields").into_iter().flat_map(Node::children);
    for (i, field) in given.clone().enumerate() {
        let Some(id) = field.get("id").filter(|id| id.is_string()) else { continue };
        let text = id.str().unwrap_or_default();
        let Some(asked) = fields.children().find(|f| f.get("id").is_some_and(|id| id.is(&text)))
        else {
            let message = format!("field `{}` was not asked for", brief(&text));
            report.error("aitp-field", &format!("{pointer}/fields/{i}/id"), span(id), message);
            continue;
        };
        let select = asked.get("type").is_some_and(|t| t.is("select"));
        if let (true, Some(value), Some(options)) =
            (select, field.get("value"), asked.get("options"))
            && let Some(chosen) = value.str()
            && !options.children().any(|option| option.is(&chosen))
        {
            let message = format!("`{}` was not offered", brief(&chosen));
            let pointer = format!("{pointer}/fields/{i}/value");
            report.error("aitp-option", &pointer, span(value), message);
        }
    }
    for field in fields.children() {
        let required = field.get("required").and_then(|r| r.bool()) == Some(true);
        let Some(id) = field.get("id").and_then(|id| id.str()).filter(|_| required) else {
            continue;
        };
        if !given.clone().any(|f| f.get("id").is_some_and(|i| i.is(&id))) {
            let message = format!("required field `{}` is not filled in", brief(&id));
            report.error("aitp-required-field", &format!("{pointer}/fields"), span(body), message);
        }
    }
}

fn paid(question: Node<'_, '_>, body: Node<'_, '_>, pointer: &str, report: &mut Report) {
    let quote = question.get("original_quote").unwrap_or(question);
    let when = |node: Node<'_, '_>, name: &str| {
        node.get(name).and_then(|t| t.str()).and_then(|t| time::to_millis(&t))
    };
    if let (Some(limit), Some(at)) = (when(quote, "expiration"), when(body, "timestamp"))
        && at > limit
    {
        let pointer = format!("{pointer}/timestamp");
        report.error("aitp-expired", &pointer, span(body), "the quote had expired");
    }
    let Some(method) = body.get("payment_method") else { return };
    let same = |option: Node<'_, '_>, name: &str| match (option.get(name), method.get(name)) {
        (Some(asked), Some(paid)) => {
            let number = |node: Node<'_, '_>| node.str()?.parse::<f64>().ok();
            asked.str() == paid.str() || number(asked).is_some_and(|n| Some(n) == number(paid))
        }
        _ => true,
    };
    let options = quote.get("payment_options");
    let mut options = options.into_iter().flat_map(Node::children).peekable();
    if options.peek().is_some() && !options.any(|o| same(o, "currency") && same(o, "amount")) {
        let message = "the quote has no option of this amount and currency";
        report.error("aitp-amount", &format!("{pointer}/payment_method"), span(method), message);
    }
}
