//! Findings for people, and a line that sums them up.

use std::fmt::Write as _;

use selvedge_protocol::diagnostic::Severity;

use super::Checked;
use crate::args;
use crate::findings::{self, counted};

/// The findings of one source and a line that sums them up.
pub(super) fn render(checked: &Checked) -> String {
    let name = checked.name.trim_matches('`');
    let mut out = findings::render(name, &checked.bytes, &checked.report);
    summary(checked, &mut out);
    out
}

fn summary(checked: &Checked, out: &mut String) {
    let found = checked.report.diagnostics();
    let name = checked.name.trim_matches('`');
    let dialect = checked.dialect.map_or("in any dialect", |dialect| dialect.id.name());
    let count = |severity| found.iter().filter(|f| f.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let notes = match warnings {
        0 => String::new(),
        _ => format!(", {}", counted(warnings, "warning")),
    };
    let (good, bad) = (args::GOOD, args::ERROR);
    let _ = if checked.report.is_valid() {
        writeln!(out, "{good}✓{good:#} {name}: valid {dialect}{notes}")
    } else if checked.report.dropped() > 0 {
        writeln!(out, "{bad}✗{bad:#} {name}: not valid {dialect}, {}+ findings", found.len())
    } else {
        let errors = counted(errors, "error");
        writeln!(out, "{bad}✗{bad:#} {name}: not valid {dialect}, {errors}{notes}")
    };
}
