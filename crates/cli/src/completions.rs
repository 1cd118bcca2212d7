//! `selvedge completions`: the shell knows commands and options.

use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;

use crate::error::Error;
use crate::output;

/// Print completions for a shell
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
      selvedge completions bash > ~/.local/share/bash-completion/completions/selvedge
      selvedge completions zsh > ~/.zfunc/_selvedge
      selvedge completions fish > ~/.config/fish/completions/selvedge.fish")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// Prints.
pub(crate) fn run(args: &Args, mut command: Command) -> Result<ExitCode, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "selvedge", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
