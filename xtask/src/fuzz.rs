//! `cargo xtask fuzz`: libFuzzer on every target of `fuzz/`, for a bounded time each.
//!
//! Coverage is LLVM's own (`-Cpasses=sancov-module`), which the stable compiler has: neither a
//! nightly toolchain nor `cargo-fuzz` is needed, only a C++ compiler for libFuzzer.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process::{cargo, run as run_command, step};
use crate::workspace;

/// What the compiler is told: to count edges, and to show comparisons to the fuzzer.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// How often it is said how far a target is.
const PROGRESS: Duration = Duration::from_secs(30);

/// Arguments of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds for each target.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Only this target; may be given several times.
    #[arg(long = "target")]
    targets: Vec<String>,
    /// The number that all choices follow from; one of its own each time unless given.
    #[arg(long, default_value_t = 0)]
    seed: u32,
}

/// What became of one target.
#[derive(Default)]
struct Outcome {
    target: String,
    inputs: u64,
    seconds: u64,
    coverage: String,
    findings: Vec<PathBuf>,
}

/// Builds and runs the fuzzers; the exit code tells whether anything was found.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let all = args.targets.is_empty() || args.targets.iter().any(|name| name.starts_with("http-"));
    let binary = build(if all { Built::All } else { Built::Decoders })?;
    let all = names(&binary)?;
    if let Some(unknown) = args.targets.iter().find(|name| !all.contains(name)) {
        bail!("no target `{unknown}`; there are {}", all.join(", "));
    }
    let chosen = if args.targets.is_empty() { &all } else { &args.targets };
    let mut outcomes = Vec::new();
    for target in chosen {
        step(&format!("{target}: {} s", args.seconds));
        outcomes.push(fuzz(&binary, target, args)?);
    }
    Ok(summary(&outcomes))
}

/// Which targets are built. Without those of requests it takes a fraction of the time.
#[derive(PartialEq)]
enum Built {
    All,
    Decoders,
}

fn build(built: Built) -> Result<PathBuf> {
    let output = Command::new("rustc").arg("-vV").output().context("could not start rustc")?;
    let about = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).context("no host")?;
    let folder = folder()?.join("build");
    run_command(
        cargo()
            .current_dir(workspace::root()?)
            // With a target, build scripts are not instrumented.
            .args(["build", "--locked", "--profile", "fuzz", "-p", "selvedge-fuzz"])
            .args(["--target", host])
            .args((built == Built::Decoders).then_some("--no-default-features"))
            .env("CARGO_TARGET_DIR", &folder)
            .env("RUSTFLAGS", FLAGS),
    )?;
    Ok(folder.join(host).join("fuzz/selvedge-fuzz"))
}

/// The targets there are, as the program tells them.
fn names(binary: &Path) -> Result<Vec<String>> {
    let output = Command::new(binary).env("SELVEDGE_FUZZ_TARGET", "?").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
    if names.is_empty() {
        bail!("the fuzzer names no targets: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(names)
}

fn fuzz(binary: &Path, target: &str, args: &Args) -> Result<Outcome> {
    let folder = folder()?;
    let [corpus, seeds, findings] =
        ["corpus", "seeds", "findings"].map(|name| folder.join(name).join(target));
    for folder in [&corpus, &seeds, &findings] {
        fs::create_dir_all(folder)?;
    }
    let known = listed(&findings)?;
    let began = Instant::now();
    // A program of Rust's takes a peer that hung up for an error; libFuzzer's `main` leaves it to kill
    // the process.
    let mut child = Command::new("sh")
        .args(["-c", "trap '' PIPE && exec \"$0\" \"$@\""])
        .arg(binary)
        .env("SELVEDGE_FUZZ_TARGET", target)
        .env("SELVEDGE_FUZZ_SEEDS", &seeds)
        .env("RUST_BACKTRACE", "1")
        .args([&corpus, &seeds])
        .arg(format!("-dict={}", seeds.with_extension("dict").display()))
        .arg(format!("-artifact_prefix={}/", findings.display()))
        .arg(format!("-max_total_time={}", args.seconds))
        .arg(format!("-seed={}", args.seed))
        .args(["-max_len=24576", "-timeout=30", "-rss_limit_mb=3072", "-print_final_stats=1"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("could not start the fuzzer")?;
    let stderr = child.stderr.take().context("no output")?;
    let mut log = File::create(folder.join(format!("{target}.log")))?;
    let mut outcome = Outcome { target: target.to_owned(), ..Outcome::default() };
    let mut said = Instant::now();
    for line in BufReader::new(stderr).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        writeln!(log, "{line}")?;
        let word = |name: &str| {
            let mut words = line.split_whitespace();
            words.find(|word| *word == name).and_then(|_| words.next())
        };
        if let Some(coverage) = word("cov:") {
            outcome.coverage = coverage.to_owned();
        }
        if let Some(inputs) = word("stat::number_of_executed_units:") {
            outcome.inputs = inputs.parse().unwrap_or(0);
        }
        if said.elapsed() >= PROGRESS {
            said = Instant::now();
            eprintln!("    {}", line.trim());
        }
    }
    let status = child.wait()?;
    outcome.seconds = began.elapsed().as_secs();
    outcome.findings =
        listed(&findings)?.into_iter().filter(|file| !known.contains(file)).collect();
    if !status.success() && outcome.findings.is_empty() {
        bail!(
            "the fuzzer of {target} ended with {status}; see {target}.log in {}",
            folder.display()
        );
    }
    Ok(outcome)
}

/// What fuzzers found in a folder. Slow inputs are no findings.
fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with("slow-unit-") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn summary(outcomes: &[Outcome]) -> ExitCode {
    println!("{:<18} {:>9} {:>8} {:>8} {:>9}", "target", "inputs", "seconds", "edges", "findings");
    let (mut inputs, mut seconds, mut found) = (0, 0, 0);
    for outcome in outcomes {
        let Outcome { target, findings, coverage, .. } = outcome;
        println!(
            "{target:<18} {:>9} {:>8} {coverage:>8} {:>9}",
            outcome.inputs,
            outcome.seconds,
            findings.len()
        );
        inputs += outcome.inputs;
        seconds += outcome.seconds;
        found += findings.len();
    }
    println!("{:<18} {inputs:>9} {seconds:>8} {:>8} {found:>9}", "all", "");
    for outcome in outcomes {
        for file in &outcome.findings {
            println!("cargo run -p selvedge-fuzz -- {} {}", outcome.target, file.display());
        }
    }
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn folder() -> Result<PathBuf> {
    Ok(workspace::target()?.join("fuzz"))
}
