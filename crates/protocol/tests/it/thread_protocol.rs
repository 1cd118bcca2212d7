//! `thread-protocol`: what only this dialect promises.

use selvedge_protocol::diagnostic::{Report, Severity};
use selvedge_protocol::dialect;
use selvedge_protocol::json::Doc;
use selvedge_protocol::validate::validate;

use crate::identity::convert;
use crate::recordings::{self, fixture};

fn report(text: &str) -> Report {
    let mut report = Report::new();
    validate(dialect::named("thread-protocol").unwrap(), text.as_bytes(), &mut report);
    report
}

/// The rule a fixture breaks, as our code for it.
fn code_of(rule: &str, severity: &str) -> &'static str {
    match (rule, severity) {
        ("sequence", _) => "tp-sequence",
        ("tool_call_id", _) => "tp-tool-call-id",
        ("agent_id", _) => "tp-agent-id",
        ("action_type", _) => "tp-action-type",
        ("timestamp", "warning") => "tp-time-order",
        ("timestamp", _) => "tp-timestamp",
        ("version", _) => "tp-version",
        ("required", _) => "missing-field",
        ("enum", _) => "unknown-value",
        ("unknown_field", _) => "unknown-field",
        ("type", _) => "wrong-type",
        (rule, _) => panic!("no code for rule {rule}"),
    }
}

#[test]
fn each_rule_is_found_where_it_is_broken_and_nowhere_else() {
    let index = fixture("thread-protocol/index.json");
    let index = Doc::parse(&index).unwrap();
    let mut tried = 0;
    for entry in index.root().children() {
        let get = |key: &str| entry.get(key).and_then(|v| v.str());
        let file = get("file").unwrap();
        let text = fixture(&format!("thread-protocol/{file}"));
        let report = report(&text);
        assert_eq!(
            report.is_valid(),
            entry.get("valid").unwrap().bool().unwrap(),
            "{file}: {:?}",
            report.diagnostics()
        );
        if let Some(rule) = get("rule") {
            let found: Vec<_> = report
                .diagnostics()
                .iter()
                .map(|d| (d.code, d.pointer.as_str(), d.severity.to_string()))
                .collect();
            let severity = get("severity").unwrap().to_string();
            let want = (code_of(&rule, &severity), &*get("pointer").unwrap(), severity);
            assert!(found.contains(&want), "{file}: wanted {want:?}, found {found:?}");
        } else {
            let errors = report.diagnostics().iter().filter(|d| d.severity == Severity::Error);
            assert_eq!(errors.count(), 0, "{file}");
        }
        tried += 1;
    }
    assert!(tried > 25);
}

#[test]
fn the_documents_example_is_valid() {
    let text = fixture("documents/thread-protocol/01-example-thread.json");
    assert_eq!(report(&text).diagnostics(), []);
}

#[test]
fn what_carries_a_recording_is_valid() {
    let own = dialect::named("thread-protocol").unwrap();
    let mut tried = 0;
    for recording in recordings::all() {
        if recording.dialect == "thread-protocol" {
            continue;
        }
        let Some(from) = dialect::named(recording.dialect) else { continue };
        let carried = convert(from, own, &recording.text);
        let report = report(&carried);
        assert!(report.is_valid(), "{}: {:?}", recording.name, report.diagnostics());
        tried += 1;
    }
    assert!(tried > 500);
}
