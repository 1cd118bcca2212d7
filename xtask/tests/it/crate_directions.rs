//! Dependencies between the crates point only down the list of the layout:
//! protocol ← store ← agents ← server ← cli, and protocol ← client ← cli. Nothing depends on the cli or
//! the fuzz targets, and xtask, the load of its benchmarks and the simulation stand alone.

use std::collections::BTreeMap;
use std::env;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Which siblings a crate may depend on, by the folder it lives in.
fn allowed(folder: &str) -> Option<&'static [&'static str]> {
    Some(match folder {
        "bench" | "crates/protocol" | "sim" | "xtask" => &[],
        "crates/store" | "crates/client" => &["crates/protocol"],
        "crates/agents" => &["crates/protocol", "crates/store"],
        "crates/server" => &["crates/protocol", "crates/store", "crates/agents"],
        "crates/cli" => {
            &["crates/protocol", "crates/store", "crates/agents", "crates/client", "crates/server"]
        }
        "fuzz" => &["crates/protocol", "crates/store", "crates/agents", "crates/server"],
        _ => return None,
    })
}

#[test]
fn dependencies_point_down() -> Result<()> {
    let mut wrong = Vec::new();
    for (folder, dependencies) in edges()? {
        let Some(allowed) = allowed(&folder) else {
            wrong.push(format!("{folder} has no place in the layout"));
            continue;
        };
        for dependency in dependencies {
            if !allowed.contains(&dependency.as_str()) {
                wrong.push(format!("{folder} must not depend on {dependency}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    Ok(())
}

/// The folder of every workspace crate with the folders of the siblings that it
/// depends on in any way: normal, build or dev.
fn edges() -> Result<BTreeMap<String, Vec<String>>> {
    let metadata = metadata()?;
    let root = metadata["workspace_root"].as_str().context("no root")?;
    let below = |path: &str| -> Option<String> {
        let folder = path.strip_prefix(root)?.trim_start_matches(['/', '\\']);
        Some(folder.replace('\\', "/"))
    };
    let mut edges = BTreeMap::new();
    for package in metadata["packages"].as_array().context("no packages")? {
        let manifest = package["manifest_path"].as_str().context("no manifest")?;
        let folder = manifest.trim_end_matches("Cargo.toml").trim_end_matches(['/', '\\']);
        let siblings = package["dependencies"]
            .as_array()
            .context("no dependencies")?
            .iter()
            .filter_map(|dependency| below(dependency["path"].as_str()?))
            .collect();
        edges.insert(below(folder).context("a crate outside")?, siblings);
    }
    Ok(edges)
}

fn metadata() -> Result<Value> {
    let cargo = env::var_os("CARGO").context("not run by cargo")?;
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}
