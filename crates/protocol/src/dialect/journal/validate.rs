//! What a journal must hold.

use crate::diagnostic::Report;
use crate::journal::kind::{self, COMMON, Kind};
use crate::json::Node;
use crate::validate::{self, Validator, span};

/// Checks entries: a dense sequence, and each kind's fields.
#[derive(Debug, Default)]
pub(super) struct Checks {
    seq: i64,
}

impl Validator for Checks {
    fn value(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        let Some(event) = value.get("event") else {
            report.error("missing-field", pointer, span(value), "`event` is missing");
            return;
        };
        self.seq += 1;
        match value.get("seq") {
            Some(seq) if seq.i64() == Some(self.seq) => {}
            Some(seq) => {
                let message = format!("expected sequence {}, found {}", self.seq, seq.raw());
                report.error("journal-sequence", &format!("{pointer}/seq"), span(seq), message);
                self.seq = seq.i64().unwrap_or(self.seq);
            }
            None => report.error("missing-field", pointer, span(value), "`seq` is missing"),
        }
        let pointer = format!("{pointer}/event");
        let Some(kind) = event.get("kind").and_then(|k| k.str()) else {
            report.error("missing-field", &pointer, span(event), "`kind` is missing");
            return;
        };
        validate::fields(&pointer, event, COMMON, report);
        if let Some(spec) = kind::spec(Kind::named(&kind)) {
            // Times are the document's to demand, not the journal's: `at` orders nothing.
            for field in spec.fields.iter().filter(|f| f.name != "timestamp") {
                validate::fields(&pointer, event, std::slice::from_ref(field), report);
            }
        }
    }
}
