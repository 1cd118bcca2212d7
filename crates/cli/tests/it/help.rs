//! Help texts, the version and the list of dialects.

use crate::selvedge;

#[test]
fn without_arguments_it_prints_help() {
    let run = selvedge(&[]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!("help", run.stderr);
}

#[test]
fn every_command_explains_itself_with_examples() {
    insta::assert_snapshot!("help-convert", selvedge(&["convert", "--help"]).stdout);
    insta::assert_snapshot!("help-validate", selvedge(&["validate", "--help"]).stdout);
    insta::assert_snapshot!("help-inspect", selvedge(&["inspect", "--help"]).stdout);
    insta::assert_snapshot!("help-serve", selvedge(&["serve", "--help"]).stdout);
    insta::assert_snapshot!("help-keys", selvedge(&["keys", "--help"]).stdout);
    insta::assert_snapshot!("help-keys-add", selvedge(&["keys", "add", "--help"]).stdout);
    for command in ["tail", "fork", "diff", "verify", "doctor", "completions", "copy"] {
        let help = selvedge(&[command, "--help"]).stdout;
        insta::assert_snapshot!(format!("help-{command}"), help);
    }
    insta::assert_snapshot!("help-config", selvedge(&["config", "--help"]).stdout);
    insta::assert_snapshot!("help-canon", selvedge(&["canon", "--help"]).stdout);
    for command in [
        "serve",
        "threads",
        "tail",
        "append",
        "fork",
        "diff",
        "import",
        "export",
        "search",
        "inbox",
        "verify",
        "doctor",
        "copy",
        "bench",
        "mcp",
        "completions",
        "share",
        "promote",
        "redact",
        "erase",
    ] {
        let help = selvedge(&[command, "--help"]).stdout;
        assert!(help.contains("Examples:\n"), "{command}");
    }
}

#[test]
fn the_version_is_the_packages() {
    let run = selvedge(&["--version"]);
    assert_eq!(run.stdout, format!("selvedge {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_list_of_dialects_names_each_with_its_versions() {
    let table = selvedge(&["dialects"]).stdout;
    let json = selvedge(&["dialects", "--format", "json"]).stdout;
    let list: serde_json::Value = serde_json::from_str(&json).unwrap();
    let list = list.as_array().unwrap();
    assert_eq!(table.lines().count(), list.len() + 1);
    for (line, entry) in table.lines().skip(1).zip(list) {
        assert!(line.starts_with(entry["name"].as_str().unwrap()), "{line}");
        assert!(line.contains(entry["about"].as_str().unwrap()), "{line}");
    }
    let pydantic = list.iter().find(|entry| entry["name"] == "pydantic-ai").unwrap();
    assert_eq!(pydantic["versions"], serde_json::json!(["2", "1"]));
    assert_eq!(pydantic["framing"], "json-array");
    assert!(table.contains("pydantic-ai@2 pydantic-ai@1"));
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = selvedge(&["completions", shell]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        for word in ["serve", "verify", "doctor", "no-follow"] {
            assert!(run.stdout.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(selvedge(&["completions", "tcsh"]).code, Some(2));
}
