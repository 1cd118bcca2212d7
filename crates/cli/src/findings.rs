//! Findings for people: the source around each, and what is wrong there.

mod excerpt;

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};
use selvedge_protocol::diagnostic::{self, Report, Severity};

use self::excerpt::{Excerpt, Excerpts};
use crate::output::tame;

/// So many findings are shown; the rest is counted.
const SHOWN: usize = 50;

/// The findings in one source, by its name and bytes.
pub(crate) fn render(name: &str, bytes: &[u8], report: &Report) -> String {
    let handler = GraphicalReportHandler::new_themed(theme()).with_width(100);
    let mut out = String::new();
    let found = report.diagnostics();
    let mut excerpts = Excerpts::new(name, bytes);
    for finding in found.iter().take(SHOWN) {
        let excerpt = finding.span.clone().map(|span| excerpts.around(span));
        let finding = Finding { finding, message: tame(&finding.message), excerpt };
        if handler.render_report(&mut out, &finding).is_err() {
            let _ = writeln!(out, "{finding}");
        }
        out.push('\n');
    }
    let more = found.len().saturating_sub(SHOWN) + report.dropped();
    if more > 0 {
        let _ = writeln!(out, "  … and {more} more\n");
    }
    out
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Colours are for terminals.
fn theme() -> GraphicalTheme {
    match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => GraphicalTheme::unicode_nocolor(),
        _ if io::stdout().is_terminal() => GraphicalTheme::unicode(),
        _ => GraphicalTheme::unicode_nocolor(),
    }
}

/// A finding as miette wants it.
struct Finding<'a> {
    finding: &'a diagnostic::Diagnostic,
    message: String,
    excerpt: Option<Excerpt>,
}

impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)
    }
}

impl std::error::Error for Finding<'_> {}

impl Diagnostic for Finding<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.finding.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.finding.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let pointer = tame(&self.finding.pointer);
        (!pointer.is_empty()).then(|| Box::new(format!("at {pointer}")) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_ref().map(|excerpt| excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let excerpt = self.excerpt.as_ref()?;
        let label = LabeledSpan::new_primary_with_span(None, excerpt.label());
        Some(Box::new(std::iter::once(label)))
    }
}
