//! `selvedge config`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Folder, Run, run, selvedge, selvedge_with};

/// Texts that stand in the broken files where a secret would.
const SECRETS: &[&str] =
    &["letmein-letmein", "sk-proj-Zm9vYmFy", "ghp_Zm9vYmFy", "hunter22", "value-of-SET"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn broken() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/config")
}

/// Runs a check with these variables and no others that matter.
fn check(folder: &Path, file: &str, variables: &[(&str, &str)]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    for name in ["ANTHROPIC", "OPENAI", "GEMINI", "DEEPSEEK"] {
        command.env_remove(format!("{name}_API_KEY"));
    }
    command.envs(variables.iter().copied()).current_dir(folder);
    run(command.args(["config", "check", file]), b"")
}

/// The configuration that the README shows.
fn example() -> String {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let start = readme.find("```toml\n").expect("the README has a configuration") + 8;
    let rest = &readme[start..];
    rest[..rest.find("```").unwrap()].to_owned()
}

#[test]
fn every_mistake_is_told_at_once_with_its_place() {
    for name in [
        "models", "keys", "names", "cycle", "tools", "scripts", "syntax", "values", "remote",
        "budget",
    ] {
        let variables = [("SET", "value-of-SET"), ("EMPTY", " ")];
        let run = check(&broken(), &format!("{name}.toml"), &variables);
        assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""), "{name}");
        for secret in SECRETS {
            assert!(!run.stdout.contains(secret), "{name} shows {secret}:\n{}", run.stdout);
        }
        insta::assert_snapshot!(format!("config-{name}"), run.stdout);
    }
}

#[test]
fn the_readme_shows_three_agents_of_three_vendors_in_under_30_lines() {
    let text = example();
    assert!(text.lines().count() < 30, "{}", text.lines().count());
    for vendor in ["openai", "anthropic", "gemini"] {
        assert!(text.contains(&format!("provider = \"{vendor}\"")), "{vendor}");
    }
    let folder = Folder::new("config-readme");
    folder.file("selvedge.toml", text.as_bytes());
    let keys = [("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "b"), ("GEMINI_API_KEY", "c")];
    let path = folder.path("");
    let run = check(Path::new(&path), "selvedge.toml", &keys);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
    assert!(run.stdout.starts_with("✓ selvedge.toml: 3 agents, 3 models, "), "{}", run.stdout);
    let run = check(Path::new(&path), "selvedge.toml", &keys[1..]);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("`ANTHROPIC_API_KEY` is not set"), "{}", run.stdout);
    assert!(run.stdout.ends_with("✗ selvedge.toml: 1 error\n"), "{}", run.stdout);
}

#[test]
fn the_committed_schema_is_the_one_that_is_printed() {
    let printed = selvedge(&["config", "schema"]).stdout;
    let path = root().join("docs/config.schema.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &printed).unwrap();
    }
    assert_eq!(printed, fs::read_to_string(path).unwrap(), "run with UPDATE_GOLDEN=1");
}

#[test]
fn a_file_that_cannot_be_read_is_no_mistake_in_it() {
    let folder = Folder::new("config-unreadable");
    let path = folder.path("");
    let run = check(Path::new(&path), "no-such.toml", &[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("cannot read `no-such.toml`"), "{}", run.stderr);
    folder.file("huge.toml", &vec![b'#'; 300 << 10]);
    let run = check(Path::new(&path), "huge.toml", &[]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("longer than 256 KiB"), "{}", run.stderr);
}

#[test]
fn secrets_are_hidden_whatever_is_around_them() {
    let text = b"[tools.schema]
kind = \"http\"
description = \"x\"
url = \"https://example.com\"
headers = { Authorization = \"Bearer letmein-letmein\" }
[agents.arguments]
kind = \"a2a\"
url = \"https://example.com\"
password = \"\"\"
letmein-letmein
\"\"\"
nothing = 1
[models.m]
key = sk-proj-Zm9vYmFyYmF6cXV4Zm9vYmFy
";
    let run = selvedge_with(&["config", "check", "-"], text);
    assert_eq!(run.code, Some(1));
    for secret in SECRETS {
        assert!(!run.stdout.contains(secret), "{}", run.stdout);
    }
    let valid = text.split(|byte| *byte == b'[').take(3).collect::<Vec<_>>().join(&b'[');
    let run = selvedge_with(&["config", "check", "-"], &valid);
    assert_eq!(run.stdout.matches("config-secret").count(), 2, "{}", run.stdout);
    assert!(run.stdout.contains("[standard input:12:1]"), "{}", run.stdout);
    for secret in SECRETS {
        assert!(!run.stdout.contains(secret), "{}", run.stdout);
    }
}

#[test]
fn keys_are_found_in_files_beside_the_configuration() {
    let folder = Folder::new("config-files");
    folder.file("the.key", b"a-key\n");
    folder.file("system.md", b"Be brief.");
    folder.file(
        "agents.toml",
        b"[models.m]\nprovider = \"openai\"\nmodel = \"gpt-5\"\nkey_file = \"the.key\"\n\
          [agents.a]\nmodel = \"m\"\nsystem_file = \"system.md\"\n",
    );
    let elsewhere = Folder::new("config-elsewhere");
    let run = check(Path::new(&elsewhere.path("")), &folder.path("agents.toml"), &[]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
}
