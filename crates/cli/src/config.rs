//! `selvedge config`: what a configuration can say, and what is wrong with one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use selvedge_agents::config::plan::Kind;
use selvedge_agents::config::{self, Config, Findings};

use crate::args;
use crate::error::{Error, FOUND};
use crate::findings::{self, counted};
use crate::input::Source;
use crate::output;

/// The configuration that is taken if none is named.
pub(crate) const USUAL: &str = "selvedge.toml";

/// Check a configuration of agents, or print what one can say
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Find everything that is wrong with selvedge.toml:
      selvedge config check

  Let an editor help with writing it (`#:schema selvedge.schema.json` as its first line):
      selvedge config schema > selvedge.schema.json

Keys of providers are read from variables and files, never from the configuration:
      ANTHROPIC_API_KEY=$(cat key) selvedge config check agents.toml

docs/errors.md explains every code, docs/configuration.md every table.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find everything that is wrong with a configuration
    ///
    /// Exits with 0 when there is nothing, 1 when there is something, and 2 when the file cannot
    /// be read. `serve` does the same before it starts.
    Check {
        /// The configuration; `-` is standard input
        #[arg(default_value = USUAL, value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the JSON Schema of a configuration
    Schema,
}

/// Checks, or prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    match &args.command {
        Command::Schema => output::print(&config::schema())?,
        Command::Check { file } => match load(file)? {
            Ok(config) => output::print(&summary(file, &config))?,
            Err(found) => {
                output::print(&render(file, &found))?;
                return Ok(FOUND.into());
            }
        },
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads a configuration and checks it; its paths begin in its folder.
pub(crate) fn load(file: &Path) -> Result<Result<Config, Findings>, Error> {
    let (name, bytes) = if file == Path::new("-") {
        let source = Source::open(file)?;
        (source.name().to_owned(), source.read_all()?)
    } else {
        let name = file.display().to_string();
        let read = |cause| Error::Read { name: format!("`{name}`"), cause };
        (name.clone(), config::read(file).map_err(read)?)
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    Ok(config::check(&name, &bytes, folder, &config::variable))
}

/// Everything that is wrong, each with the text around it, and how much it is.
pub(crate) fn render(file: &Path, found: &Findings) -> String {
    let mut out = String::new();
    for file in &found.files {
        out.push_str(&findings::render(&file.name, file.text.as_bytes(), &file.report));
    }
    let bad = args::ERROR;
    let errors = counted(found.count(), "error");
    out.push_str(&format!("{bad}✗{bad:#} {}: {errors}\n", file.display()));
    out
}

/// What there is, on a line.
fn summary(file: &Path, config: &Config) -> String {
    let good = args::GOOD;
    let file = file.display();
    let counts = [
        counted(config.agents.len(), "agent"),
        counted(config.models.len(), "model"),
        counted(config.servers.len(), "MCP server"),
        counted(config.tools.len(), "tool"),
    ];
    let mut out = format!("{good}✓{good:#} {file}: {}\n", counts.join(", "));
    for agent in &config.agents {
        let kind = match &agent.kind {
            Kind::Model { models, .. } => format!("model {}", models.join(", then ")),
            Kind::Script { .. } => "script".to_owned(),
            Kind::Worker { .. } => "worker".to_owned(),
            Kind::Remote { place, .. } => format!("remote {}", place.url),
        };
        out.push_str(&format!("  {}  {kind}\n", output::tame(&agent.id)));
    }
    out
}
