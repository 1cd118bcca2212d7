//! The piece of a source around a finding, small and safe to print.
//!
//! Invariant: an excerpt has at most a few hundred bytes, however long the line or the value that
//! it is cut from, and no control characters; every byte stands where it stood.

use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use crate::output::is_harmless;

/// So much of the source is shown before a finding, at most.
const BEFORE: usize = 60;
/// So much is shown after where a finding begins, at most.
const AFTER: usize = 100;
/// So much of a value is pointed at, at most.
const POINTED: usize = 60;

/// Cuts excerpts out of one source.
pub(super) struct Excerpts<'a> {
    name: &'a str,
    source: &'a [u8],
    /// A place in the source and the line it is on, from 0: counted on from there.
    known: (usize, usize),
}

impl<'a> Excerpts<'a> {
    /// Excerpts of a source.
    pub(super) fn new(name: &'a str, source: &'a [u8]) -> Self {
        Self { name, source, known: (0, 0) }
    }

    /// The excerpt around a span.
    pub(super) fn around(&mut self, span: Range<usize>) -> Excerpt {
        let start = boundary(self.source, span.start.min(self.source.len()));
        let line_start = self.slice(0..start).rposition(b'\n').map_or(0, |at| at + 1);
        // The line before gives a pretty-printed value its context.
        let context = self.slice(0..line_start.saturating_sub(1)).rposition(b'\n');
        let context = if line_start == 0 { 0 } else { context.map_or(0, |at| at + 1) };
        let near = start.saturating_sub(BEFORE);
        let from = if context >= near { context } else { line_start.max(near) };
        let from = boundary(self.source, from);

        let until = (start + AFTER).min(self.source.len());
        let line_end = self.slice(start..until).position(b'\n').map_or(until, |at| start + at);
        let next = (line_end + 1).min(until);
        let until = self.slice(next..until).position(b'\n').map_or(line_end, |at| next + at);
        let until = boundary(self.source, until);

        let end = span.end.clamp(start, line_end).min(start + POINTED);
        let end = boundary(self.source, end).max(start);

        let from_line_start = self.slice(0..from).rposition(b'\n').map_or(0, |at| at + 1);
        Excerpt {
            name: self.name.to_owned(),
            text: safe(self.slice(from..until)),
            from,
            pointed: start..end,
            from_place: (self.line(from), from - from_line_start),
            pointed_place: (self.line(start), start - line_start),
        }
    }

    fn slice(&self, range: Range<usize>) -> &'a [u8] {
        self.source.get(range).unwrap_or(&[])
    }

    /// The line of a place, from 0.
    fn line(&mut self, at: usize) -> usize {
        let (from, line) = if self.known.0 <= at { self.known } else { (0, 0) };
        let line = line + memchr::memchr_iter(b'\n', self.slice(from..at)).count();
        self.known = (at, line);
        line
    }
}

/// A piece of a source that knows where it stood.
pub(super) struct Excerpt {
    name: String,
    text: String,
    from: usize,
    pointed: Range<usize>,
    from_place: (usize, usize),
    pointed_place: (usize, usize),
}

impl Excerpt {
    /// What is pointed at.
    pub(super) fn label(&self) -> SourceSpan {
        (self.pointed.start, self.pointed.len()).into()
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        _span: &SourceSpan,
        before: usize,
        _after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        // Asked without context, it is for the line and column to name.
        let (range, place) = if before == 0 {
            let start = self.pointed.start.saturating_sub(self.from);
            (start..start + self.pointed.len(), self.pointed_place)
        } else {
            (0..self.text.len(), self.from_place)
        };
        let data = self.text.as_bytes().get(range.clone()).ok_or(MietteError::OutOfBounds)?;
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            data,
            (self.from + range.start, data.len()).into(),
            place.0,
            place.1,
            1,
        )))
    }
}

/// The last place at or before `at` where a character begins.
fn boundary(source: &[u8], mut at: usize) -> usize {
    while at > 0 && source.get(at).is_some_and(|byte| byte & 0xC0 == 0x80) {
        at -= 1;
    }
    at
}

/// Text of the same length, with nothing in it that a terminal would act on.
fn safe(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' | '\t' => out.push(c),
                '\r' => out.push(' '),
                _ if is_harmless(c) => out.push(c),
                _ => out.extend(std::iter::repeat_n('?', c.len_utf8())),
            }
        }
        out.extend(std::iter::repeat_n('?', chunk.invalid().len()));
    }
    out
}

/// Looking for a byte from either end.
trait Position {
    fn position(&self, byte: u8) -> Option<usize>;
    fn rposition(&self, byte: u8) -> Option<usize>;
}

impl Position for [u8] {
    fn position(&self, byte: u8) -> Option<usize> {
        memchr::memchr(byte, self)
    }

    fn rposition(&self, byte: u8) -> Option<usize> {
        memchr::memrchr(byte, self)
    }
}
