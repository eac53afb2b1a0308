//! `coven policy`: which questions are answered without a person.

pub(crate) mod accept;
mod test;

use std::path::PathBuf;

use clap::Subcommand;

use crate::failure::Result;

/// Looks at policies, which answer questions without you.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Hold a policy against what was asked before.
    #[command(after_help = "Examples:
  coven policy test                      your policy, against the newest sessions
  coven policy test draft.yaml           a file that is not in use yet
  coven policy test --session brisk-otter

Nothing is carried out. A row says what was asked, what was decided then, and what the policy
would decide. Below it stands the command that was to run, with the rule for each of its parts.")]
    Test {
        /// A policy file; the one in use unless said.
        file: Option<PathBuf>,
        /// Only what this session asked.
        #[arg(long, value_name = "NAME", add = crate::complete::sessions())]
        session: Option<String>,
        /// How many of the newest sessions are looked at.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
        limit: u32,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Change your policy in your editor, check it and accept it.
    #[command(
        after_help = "The editor is $VISUAL or $EDITOR. What the policy allows counts from then on."
    )]
    Edit,
    /// Agree to your policy as it is now.
    #[command(
        after_help = "A policy that changed by another way than `coven policy edit` was perhaps written by an
agent: what it denies counts, what it allows is asked until you accept it.

Examples:
  coven policy accept          shows it and asks
  coven policy accept --yes    for scripts; an agent may not"
    )]
    Accept {
        /// Do not ask.
        #[arg(long)]
        yes: bool,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: Command) -> Result {
    match command {
        Command::Test { file, session, limit, json } => {
            test::run(file.as_deref(), session.as_deref(), limit, json)
        }
        Command::Edit => accept::edit(),
        Command::Accept { yes, json } => accept::accept(yes, json),
    }
}
