//! Names with `*` for any characters.

/// Whether a name fits.
pub fn fits(glob: &str, name: &str) -> bool {
    let Some((head, rest)) = glob.split_once('*') else { return glob == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let mut rest = rest;
    while let Some((piece, more)) = rest.split_once('*') {
        let Some(at) = name.find(piece) else { return false };
        name = name.get(at + piece.len()..).unwrap_or_default();
        rest = more;
    }
    name.ends_with(rest)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (glob, name) in [
            ("a", "a"),
            ("*", ""),
            ("*", "read_file"),
            ("read_*", "read_file"),
            ("*_file", "read_file"),
            ("r*d*e", "read_file"),
            ("**", "x"),
            ("a*a", "aa"),
        ] {
            assert!(fits(glob, name), "{glob} {name}");
        }
        for (glob, name) in
            [("a", "ab"), ("", "a"), ("read_*", "write"), ("a*a", "a"), ("*b*", "ac")]
        {
            assert!(!fits(glob, name), "{glob} {name}");
        }
    }
}
