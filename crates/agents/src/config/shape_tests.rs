//! The committed schema says what a schema can say, also to those who have nothing else.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;

use crate::config::source::Source;

fn root(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(path).unwrap()
}

fn committed() -> Validator {
    let schema: Value = serde_json::from_str(&root("docs/config.schema.json")).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// The configurations in a page.
fn examples(page: &str) -> Vec<String> {
    let blocks = page.split("```toml\n").skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn it_accepts_what_the_documentation_shows() {
    let schema = committed();
    let mut texts = examples(&root("README.md"));
    texts.extend(examples(&root("docs/configuration.md")));
    assert!(texts.len() > 5);
    for text in texts {
        let (source, mistakes) = Source::read(&text);
        assert!(mistakes.is_empty(), "{mistakes:?}\n{text}");
        let errors: Vec<_> = schema.iter_errors(&source.value).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}\n{text}");
    }
}

#[test]
fn it_refuses_what_a_schema_can_refuse() {
    let schema = committed();
    for wrong in [
        "agent = 1",
        "[models]\nm = { provider = \"antropic\", model = \"x\" }",
        "[models]\nm = { provider = \"openai\" }",
        "[models]\nm = { provider = \"openai\", model = \"\" }",
        "[models]\nm = { provider = \"openai\", model = \"x\", key = \"secret\" }",
        "[models]\nm = { provider = \"openai\", model = \"x\", key_env = \"sk-123\" }",
        "[models]\nm = { provider = \"openai\", model = \"x\", max_tokens = 0 }",
        "[models]\nm = { provider = \"openai\", model = \"x\", thinking = \"hard\" }",
        "[models]\nm = { provider = \"openai\", model = \"x\", price = { input = 1 } }",
        "[models]\nm = { provider = \"openai\", model = \"x\", timeouts = { idle = \"0s\" } }",
        "[agents]\na = { kind = \"robot\" }",
        "[agents]\na = { model = [] }",
        "[agents]\na = { limits = { iterations = 0 } }",
        "[agents]\na = { limits = { backoff = \"soon\" } }",
        "[agents]\na = { while_waiting = \"ignore\" }",
        "[agents]\na = { script = { rules = [] } }",
        "[agents]\na = { script = { rules = [{ lines = [] }] } }",
        "[agents]\na = { script = { rules = [{ lines = [{}] }] } }",
        "[mcp]\nm = { headers = { A = {} } }",
        "[tools]\nt = { kind = \"client\" }",
        "[tools]\nt = { kind = \"shell\", description = \"x\" }",
        "[router]\nrules = { dream = \"a\" }",
        "[router]\nthreshold = 2",
        "[budget]\nthread = { tokens = 0 }",
        "[budget]\nthread = { cost = 0 }",
    ] {
        let (source, mistakes) = Source::read(wrong);
        assert!(mistakes.is_empty(), "{wrong}: {mistakes:?}");
        assert!(!schema.is_valid(&source.value), "{wrong}");
    }
}
