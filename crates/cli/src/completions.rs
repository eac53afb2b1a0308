//! `coven completions`: what a shell needs to complete names.

use clap::ValueEnum;
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};

use crate::failure::{CommandFailure, Result};
use crate::output;

/// The variable by which a shell asks for completions.
pub(crate) const COMPLETE_VARIABLE: &str = "COVEN_COMPLETE";

/// What `coven completions` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  source <(coven completions bash)                                  in ~/.bashrc
  source <(coven completions zsh)                                   in ~/.zshrc
  coven completions fish > ~/.config/fish/completions/coven.fish

Names of sessions, tasks, grimoires and adapters are completed as they are at that moment.")]
pub(crate) struct Arguments {
    /// The shell that the script is for.
    shell: CompletionShell,
}

#[derive(Clone, Copy, ValueEnum)]
enum CompletionShell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    let shell: &dyn EnvCompleter = match arguments.shell {
        CompletionShell::Bash => &Bash,
        CompletionShell::Zsh => &Zsh,
        CompletionShell::Fish => &Fish,
    };
    let mut script = Vec::new();
    let program = crate::connect::program().unwrap_or_else(|_| "coven".into());
    let program = program.to_string_lossy();
    shell
        .write_registration(COMPLETE_VARIABLE, "coven", "coven", &program, &mut script)
        .map_err(|error| CommandFailure::failed(format!("the script cannot be made: {error}")))?;
    output::bytes(&script)
}
