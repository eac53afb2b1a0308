//! `coven adapter`: what is known about agent CLIs, and whether it is right.

mod check;
mod list;
mod new;
mod replay;
mod show;
mod test;

use std::path::PathBuf;

use clap::Subcommand;
use coven_adapters::loader::LoadError;
use coven_api::ProblemCode;

use crate::failure::{CommandFailure, Result};

/// Looks at adapters, which say how to start, read, answer and stop an agent CLI.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the adapters there are.
    Ls {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show everything known about an adapter, all layers laid together.
    Show {
        /// Its type, such as `claude`.
        kind: String,
        /// Print where each part comes from and everything else as JSON.
        #[arg(long)]
        json: bool,
        /// Print the built-in file as it is, to copy and change.
        #[arg(long, conflicts_with = "json")]
        source: bool,
    },
    /// Check adapter files and show every problem.
    Check {
        /// Files, or types of adapters.
        #[arg(required = true, value_name = "FILE|TYPE")]
        what: Vec<String>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a new adapter file to start from.
    New {
        /// The type: lower-case letters, digits, `-` and `_`.
        kind: String,
        /// Begin with everything known about another type.
        #[arg(long, value_name = "TYPE")]
        from: Option<String>,
        /// Write it to your own configuration instead of `.coven/adapters` of this folder.
        #[arg(long)]
        user: bool,
        /// What is so without --user.
        #[arg(long, hide = true, conflicts_with = "user")]
        project: bool,
        /// Print where it is as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what an agent was doing, from a recording of its terminal (asciicast v2).
    Replay {
        /// The type of the adapter that reads it.
        kind: String,
        /// The recording; `-` reads standard input.
        file: PathBuf,
        /// Print one line of JSON per change.
        #[arg(long)]
        json: bool,
        /// An adapter file that counts over all others.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Replay the recordings that lie beside adapters and hold them against their marks.
    Test {
        /// Only these types.
        kinds: Vec<String>,
        /// A recording or a folder of recordings to use instead; needs one type.
        #[arg(long, value_name = "PATH")]
        recordings: Option<PathBuf>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: Command) -> Result {
    match command {
        Command::Ls { json } => list::run(json),
        Command::Show { kind, json, source } => show::run(&kind, json, source),
        Command::Check { what, json } => check::run(&what, json),
        Command::New { kind, from, user, json, project: _ } => {
            new::run(&kind, from.as_deref(), user, json)
        }
        Command::Replay { kind, file, json, config } => {
            replay::run(&kind, &file, json, config.as_deref())
        }
        Command::Test { kinds, recordings, json } => test::run(&kinds, recordings.as_deref(), json),
    }
}

/// Why an adapter cannot be shown, checked or copied.
fn not_usable(error: LoadError) -> CommandFailure {
    match error {
        LoadError::Unknown { .. } | LoadError::Name(_) => {
            CommandFailure::not_found(ProblemCode::BadAdapter, error)
        }
        _ => CommandFailure::failed(error),
    }
}
