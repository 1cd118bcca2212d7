//! What is wrong with a document, precisely enough to act on.

use std::fmt;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable, kebab-case: `missing-field`, `tp-sequence`, ….
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// JSON pointer into the source. The first token counts records where there are several.
    pub pointer: String,
    /// What is wrong, in words.
    pub message: String,
    /// Where that is in the source, in bytes, if known.
    pub span: Option<std::ops::Range<usize>>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Odd, but readers get by.
    Warning,
    /// Not what the protocol allows.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Findings are collected up to this many; more are counted only.
pub const MAX_DIAGNOSTICS: usize = 1000;

/// Collects findings.
#[derive(Debug, Default)]
pub struct Report {
    list: Vec<Diagnostic>,
    errors: usize,
    dropped: usize,
    /// Added to spans: where the record at hand begins in the source.
    offset: usize,
}

impl Report {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Spans from here on are relative to this offset of the source.
    pub fn set_offset(&mut self, offset: usize) {
        self.offset = offset;
    }

    /// Adds an error.
    pub fn error(
        &mut self,
        code: &'static str,
        pointer: &str,
        span: Option<std::ops::Range<usize>>,
        message: impl Into<String>,
    ) {
        self.push(Severity::Error, code, pointer, span, message.into());
    }

    /// Adds a warning.
    pub fn warning(
        &mut self,
        code: &'static str,
        pointer: &str,
        span: Option<std::ops::Range<usize>>,
        message: impl Into<String>,
    ) {
        self.push(Severity::Warning, code, pointer, span, message.into());
    }

    fn push(
        &mut self,
        severity: Severity,
        code: &'static str,
        pointer: &str,
        span: Option<std::ops::Range<usize>>,
        message: String,
    ) {
        if severity == Severity::Error {
            self.errors += 1;
        }
        if self.list.len() >= MAX_DIAGNOSTICS {
            self.dropped += 1;
            return;
        }
        let span = span.map(|s| s.start + self.offset..s.end + self.offset);
        let pointer = pointer.to_owned();
        self.list.push(Diagnostic { code, severity, pointer, message, span });
    }

    /// Whether no error was found.
    pub fn is_valid(&self) -> bool {
        self.errors == 0
    }

    /// Findings that were counted but not kept.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// The findings.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.list
    }
}
