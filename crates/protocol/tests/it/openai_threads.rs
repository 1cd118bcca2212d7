//! `openai-threads`: what the objects and the Assistants stream mean, and what is written for them.

use selvedge_protocol::dialect::{self, DecodeOptions, decode};

fn events(source: &str) -> Vec<String> {
    let dialect = dialect::named("openai-threads").unwrap();
    let mut out = Vec::new();
    decode(dialect, &DecodeOptions::default(), source, |batch| {
        for event in &batch.events {
            let mut text = String::new();
            event.write(&mut text);
            out.push(text);
        }
    });
    out
}

#[test]
fn dump() {
    let root =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/openai-threads");
    let mut files: Vec<_> = std::fs::read_dir(root).unwrap().flatten().map(|f| f.path()).collect();
    files.sort();
    for f in files {
        println!("== {}", f.display());
        for e in events(&std::fs::read_to_string(f).unwrap()) {
            println!("  {e}");
        }
    }
}
