//! How many tokens a text has, as far as one can know without a model's own tokens.

use std::collections::HashMap;

use selvedge_protocol::journal::fold::Tokens;
use selvedge_protocol::journal::{Event, Kind};

/// Tokens of a byte, where nothing else is known.
const USUAL: f64 = 0.25;
/// What is believed of a model that tells.
const BELIEVED: std::ops::RangeInclusive<f64> = 0.05..=1.0;
/// Bytes without a space that are no words any more, such as a picture, and what they count for.
const BLOB: usize = 4096;

/// What models told of requests whose size is known. Later requests are measured by it.
#[derive(Debug, Default)]
pub(super) struct Measure {
    /// The model and the bytes of the call that is under way, by task.
    asked: HashMap<String, (String, f64)>,
    /// Tokens of a byte, by model.
    scale: HashMap<String, f64>,
}

impl Measure {
    /// Takes an event in.
    pub(super) fn apply(&mut self, event: &Event<'_>) {
        let Some(task) = event.str("taskId") else { return };
        match event.kind() {
            Kind::InternalLlmCall => {
                self.asked.remove(&*task);
                let bytes = event.at("metadata", "/bytes").and_then(|bytes| bytes.f64());
                if let (Some(model), Some(bytes)) = (event.str("model"), bytes) {
                    self.asked.insert(task.into_owned(), (model.into_owned(), bytes));
                }
            }
            Kind::StepFinished => {
                let input = Tokens::told(event).map_or(0, |tokens| tokens.input);
                let Some((model, bytes)) = self.asked.remove(&*task) else { return };
                let scale = input as f64 / bytes;
                if BELIEVED.contains(&scale) {
                    self.scale.insert(model, scale);
                }
            }
            _ => {}
        }
    }

    /// How many tokens so many bytes are for a model, more or less.
    pub(super) fn tokens(&self, model: &str, bytes: usize) -> u64 {
        let scale = self.scale.get(model).copied().unwrap_or(USUAL);
        (bytes as f64 * scale).ceil() as u64
    }
}

/// Bytes of a text that count: a picture costs few tokens, however long its text is.
pub(super) fn weight(text: &str) -> usize {
    let word = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
    };
    let runs = text.as_bytes().chunk_by(|a, b| word(a) == word(b));
    runs.map(|run| if run.first().is_some_and(word) { run.len().min(BLOB) } else { run.len() })
        .sum()
}

#[cfg(test)]
mod tests {
    use selvedge_protocol::json::Doc;

    use super::*;

    fn apply(measure: &mut Measure, text: &str) {
        let doc = Doc::parse(text).unwrap();
        measure.apply(&Event::parse(doc.root()).unwrap());
    }

    #[test]
    fn what_a_model_told_of_a_request_measures_the_next() {
        let mut measure = Measure::default();
        assert_eq!(measure.tokens("m", 1000), 250);
        let call = r#"{"kind":"internal:llm-call","taskId":"t","model":"m","metadata":{"bytes":1000,"tokens":250}}"#;
        let end = r#"{"kind":"step-finished","taskId":"t","usage":{"input_tokens":500}}"#;
        apply(&mut measure, call);
        apply(&mut measure, end);
        assert_eq!((measure.tokens("m", 1000), measure.tokens("other", 1000)), (500, 250));
        // Not believed: fewer tokens than there can be.
        apply(&mut measure, call);
        apply(&mut measure, r#"{"kind":"step-finished","taskId":"t","usage":{"input_tokens":1}}"#);
        assert_eq!(measure.tokens("m", 1000), 500);
    }

    #[test]
    fn a_picture_counts_for_little() {
        assert_eq!(weight("two words"), 9);
        let picture = "iVBORw0KGgo".repeat(100_000);
        assert_eq!(weight(&format!("see {picture} there")), 4 + BLOB + 6);
    }
}
