//! Checks that are known to fail, each with the reason why that is right.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The list in `conformance/expected.txt`: a line is a pattern of check ids, where
/// `*` stands for anything, then ` -- ` and the reason.
pub(crate) struct Expected {
    lines: Vec<(String, String)>,
}

impl Expected {
    /// Reads the list.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("could not read {}", path.display()))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut lines = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (pattern, reason) = line
                .split_once(" -- ")
                .with_context(|| format!("expected failure without a reason: {line}"))?;
            lines.push((pattern.trim().to_owned(), reason.trim().to_owned()));
        }
        Ok(Self { lines })
    }

    /// The reason why this check may fail.
    pub(crate) fn reason(&self, id: &str) -> Option<&str> {
        self.lines
            .iter()
            .find(|(pattern, _)| matches(pattern, id))
            .map(|(_, reason)| reason.as_str())
    }
}

fn matches(pattern: &str, id: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == id;
    };
    let Some(rest) = id.strip_prefix(head) else {
        return false;
    };
    (0..=rest.len())
        .filter(|&start| rest.is_char_boundary(start))
        .any(|start| matches(tail, &rest[start..]))
}

#[cfg(test)]
mod tests {
    use anyhow::Result;

    use super::{Expected, matches};

    #[test]
    fn a_star_stands_for_anything() {
        assert!(matches("a/*/c", "a/b/b/c"));
        assert!(matches("a/*", "a/"));
        assert!(!matches("a/*/c", "a/c"));
        assert!(!matches("a", "ab"));
    }

    #[test]
    fn every_line_has_a_reason() -> Result<()> {
        let expected = Expected::parse("# why\n\nx/* -- upstream bug\n")?;
        assert_eq!(expected.reason("x/y"), Some("upstream bug"));
        assert_eq!(expected.reason("y"), None);
        assert!(Expected::parse("x/y").is_err());
        Ok(())
    }
}
