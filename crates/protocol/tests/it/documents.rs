//! The examples of the five documents: each validates, goes into every dialect, and the loss
//! report names what is lost.

use std::fmt::Write as _;

use selvedge_protocol::diagnostic::Report;
use selvedge_protocol::dialect::{self, DecodeOptions, EncodeOptions, decode};
use selvedge_protocol::json::Doc;
use selvedge_protocol::loss::Losses;
use selvedge_protocol::validate::validate;

use crate::identity::convert;
use crate::recordings::fixture;

/// Every example: its file, its dialect and its text.
fn examples() -> Vec<(String, &'static dialect::Dialect, String)> {
    let index = fixture("documents/index.json");
    let index = Doc::parse(&index).unwrap();
    let mut out = Vec::new();
    for entry in index.root().children() {
        let file = entry.get("file").unwrap().str().unwrap().into_owned();
        let own = dialect::named(&entry.get("dialect").unwrap().str().unwrap()).unwrap();
        // A template with `a|b` in it, and a recording with its HTTP head, are no examples.
        if !file.contains("schematic-") && !file.ends_with(".txt") {
            let text = fixture(&format!("documents/{file}"));
            out.push((file, own, text));
        }
    }
    assert!(out.len() > 40);
    out
}

fn errors(dialect: &dialect::Dialect, text: &str) -> Vec<String> {
    let mut report = Report::new();
    validate(dialect, text.as_bytes(), &mut report);
    let all = report.diagnostics().iter();
    all.filter(|d| d.severity == selvedge_protocol::diagnostic::Severity::Error)
        .map(|d| format!("{} {} {}", d.code, d.pointer, d.message))
        .collect()
}

#[test]
fn every_example_is_valid() {
    for (file, own, text) in examples() {
        assert_eq!(errors(own, &text), [""; 0], "{file}");
    }
}

#[test]
fn every_example_goes_into_every_dialect() {
    let mut wrong = Vec::new();
    for (file, own, text) in examples() {
        for target in dialect::ALL {
            let written = convert(own, target, &text);
            // Some say nothing that some dialect has words for; then there is nothing to check.
            if written.trim().is_empty() {
                continue;
            }
            let found = errors(target, &written);
            if !found.is_empty() {
                wrong.push(format!("{file} → {}: {found:?}", target.id.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_example_survives_both_carriers() {
    for (file, own, text) in examples() {
        for carrier in ["journal", "thread-protocol"] {
            let carrier = dialect::named(carrier).unwrap();
            let back = convert(carrier, own, &convert(own, carrier, &text));
            assert_eq!(back, text, "{file} through {}", carrier.id.name());
        }
    }
}

/// What each document's main example loses on its way into each dialect, as a committed list, so that a change shows.
/// `UPDATE_GOLDEN=1 cargo test documents` writes it anew.
#[test]
fn losses_are_the_committed_ones() {
    let mut out = String::new();
    for (file, own, text) in examples() {
        let main = [
            "thread-protocol/01-example-thread.json",
            "aitp-threads/01-thread.json",
            "envelope-multiagent-1.0/02-planner.json",
            "looopy-events/31-wire-format.sse",
            "agent-api/05-response-stream.sse",
        ];
        if !main.contains(&file.as_str()) {
            continue;
        }
        for target in dialect::ALL {
            let mut losses = Losses::new(target, &EncodeOptions::default());
            let mut lines = Vec::new();
            decode(own, &DecodeOptions::default(), &text, |batch| {
                losses.batch(&batch, &mut |loss| lines.push(loss));
            });
            losses.finish(&mut |loss| lines.push(loss));
            let _ = writeln!(out, "{file} → {}: {} lost", target.id.name(), lines.len());
            for loss in lines {
                let _ = writeln!(out, "    {}: {}", loss.pointer, loss.reason);
            }
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/losses.golden");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &out).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    assert!(golden == out, "losses changed; review with UPDATE_GOLDEN=1:\n{out}");
}
