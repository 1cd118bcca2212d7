//! `cargo xtask vendor`: the libraries and fonts of the web UI, from packages that are pinned in
//! `crates/server/ui/vendor`. What it writes is committed, so that nobody needs npm to build.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::install::remove;
use crate::process::run_with_retries;
use crate::workspace;

/// A module: its package, its file there, and its name here.
const MODULES: [(&str, &str, &str); 6] = [
    ("preact", "dist/preact.mjs", "preact.js"),
    ("preact", "hooks/dist/hooks.mjs", "hooks.js"),
    ("@preact/signals-core", "dist/signals-core.mjs", "signals-core.js"),
    ("@preact/signals", "dist/signals.mjs", "signals.js"),
    ("htm", "dist/htm.mjs", "htm.js"),
    ("uplot", "dist/uPlot.iife.min.js", "uplot.js"),
];

/// Fonts, and uPlot's own style.
const FILES: [(&str, &str, &str); 3] = [
    ("@fontsource-variable/inter", "files/inter-latin-wght-normal.woff2", "inter.woff2"),
    (
        "@fontsource/jetbrains-mono",
        "files/jetbrains-mono-latin-400-normal.woff2",
        "jetbrains-mono.woff2",
    ),
    ("uplot", "dist/uPlot.min.css", "../style/uplot.css"),
];

/// Modules name each other as packages; browsers want paths.
const NAMES: [(&str, &str); 3] = [
    ("preact", "./preact.js"),
    ("preact/hooks", "./hooks.js"),
    ("@preact/signals-core", "./signals-core.js"),
];

/// Installs the packages and copies what the UI uses of them, with their licences.
pub(crate) fn run() -> Result<()> {
    let here = workspace::root()?.join("crates/server/ui/vendor");
    let folder = workspace::root()?.join("target/vendor");
    remove(&folder)?;
    fs::create_dir_all(&folder)?;
    for name in ["package.json", "package-lock.json", ".npmrc"] {
        fs::copy(here.join(name), folder.join(name))?;
    }
    run_with_retries(Command::new("npm").current_dir(&folder).args([
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]))
    .context("npm is needed: it comes with node")?;
    let packages = folder.join("node_modules");
    for (package, from, to) in MODULES {
        let text = fs::read_to_string(packages.join(package).join(from))?;
        fs::write(here.join(to), module(package, &text)?)?;
    }
    for (package, from, to) in FILES {
        fs::copy(packages.join(package).join(from), here.join(to))?;
    }
    let licences = here.join("licences");
    remove(&licences)?;
    fs::create_dir_all(&licences)?;
    let all = MODULES.iter().chain(&FILES);
    for package in all.map(|(package, ..)| *package) {
        let name = package.trim_start_matches('@').replace('/', "-");
        let text = licence(&packages.join(package))?;
        fs::write(licences.join(format!("{name}.txt")), text)?;
    }
    Ok(())
}

/// A library as a module that browsers load: paths instead of names, and no map, which is not here.
fn module(package: &str, text: &str) -> Result<String> {
    let lines = text.lines().filter(|line| !line.starts_with("//# sourceMappingURL="));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if let Some(at) = text.rfind("//# sourceMappingURL=") {
        text.truncate(at);
    }
    for (name, path) in NAMES {
        for quote in ['"', '\''] {
            for before in ["from", "from ", "import", "import "] {
                let [old, new] = [name, path].map(|to| format!("{before}{quote}{to}{quote}"));
                text = text.replace(&old, &new);
            }
        }
    }
    if package == "uplot" {
        // The UI is in English, and some browsers name languages that nothing can be made from.
        let language = r#"new Intl.NumberFormat(_?k.language:"en-US")"#;
        ensure!(text.contains("var uPlot=") && text.contains(language), "uPlot is not as it was");
        text = text.replace(language, r#"new Intl.NumberFormat("en")"#);
        text.push_str("\nexport default uPlot;");
    }
    Ok(text.trim_end().to_owned() + "\n")
}

fn licence(package: &Path) -> Result<String> {
    let names = ["LICENSE", "LICENSE.md", "LICENSE.txt"];
    let found = names.iter().find_map(|name| fs::read_to_string(package.join(name)).ok());
    found.with_context(|| format!("{} has no licence", package.display()))
}
