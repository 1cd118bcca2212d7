//! The documentation keeps up with the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_diagnostic_code_is_explained() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut codes = BTreeSet::new();
    collect(&root.join("crates/protocol/src"), &mut codes);
    collect(&root.join("crates/agents/src/config"), &mut codes);
    assert!(codes.contains("missing-field") && codes.contains("journal-sequence"), "{codes:?}");
    assert!(codes.contains("config-cycle") && codes.contains("config-secret"), "{codes:?}");
    let page = fs::read_to_string(root.join("docs/errors.md")).unwrap();
    let missing: Vec<_> =
        codes.iter().filter(|code| !page.contains(&format!("| `{code}` |"))).collect();
    assert!(missing.is_empty(), "docs/errors.md does not explain {missing:?}");
}

/// The first literal after each call that reports something.
fn collect(folder: &Path, codes: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, codes);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for call in ["report.error(", "report.warning(", "page.error(", "page.error_of_name("] {
                for rest in text.split(call).skip(1) {
                    let code =
                        rest.trim_start().strip_prefix('"').and_then(|c| c.split('"').next());
                    codes.extend(code.map(str::to_owned));
                }
            }
        }
    }
}
