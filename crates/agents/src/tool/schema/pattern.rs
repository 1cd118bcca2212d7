//! Patterns of schemas: regular expressions that run in linear time.

use regex_lite::{Regex, RegexBuilder};

/// Bytes that a pattern may take.
const SIZE: usize = 1 << 20;

/// A pattern; one that only other engines understand (looking around, classes of Unicode) fits
/// everything: the tool itself will tell.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    regex: Option<Regex>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        let regex = RegexBuilder::new(text).size_limit(SIZE).build().ok();
        Self { text: text.to_owned(), regex }
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        self.regex.as_ref().is_none_or(|regex| regex.is_match(text))
    }
}
