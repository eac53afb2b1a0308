//! `coven grimoire`: the workflows there are, and whether they are right.

mod check;
mod list;
mod new;
mod show;

use clap::Subcommand;
use coven_adapters::AdapterConfigLoader;
use coven_api::ProblemCode;
use coven_workflow::CheckEnvironment;
use coven_workflow::catalogue::{GrimoireCatalogue, UnusableGrimoire};

use crate::failure::{CommandFailure, Result};
use crate::folders;

/// Looks at grimoires, which are workflows that people write.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the grimoires there are.
    Ls {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a grimoire as it is written, or what it will do.
    Show {
        /// Its name.
        name: String,
        /// Show the steps and tasks of a run instead of the text.
        #[arg(long)]
        plan: bool,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check definitions, grimoires and stage workflows alike, and show every problem.
    Check {
        /// Files, or names of grimoires.
        #[arg(required = true, value_name = "FILE|NAME")]
        what: Vec<String>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a new grimoire to start from.
    New {
        /// Its name, in kebab-case.
        name: String,
        /// Begin with the text of another grimoire.
        #[arg(long, value_name = "NAME")]
        from: Option<String>,
        /// Write it to your own configuration instead of `.coven/grimoires` of this folder.
        #[arg(long)]
        user: bool,
        /// Print where it is as JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: Command) -> Result {
    match command {
        Command::Ls { json } => list::run(json),
        Command::Show { name, plan, json } => show::run(&name, plan, json),
        Command::Check { what, json } => check::run(&what, json),
        Command::New { name, from, user, json } => new::run(&name, from.as_deref(), user, json),
    }
}

/// What definitions are checked against.
fn known() -> CheckEnvironment {
    CheckEnvironment::new(AdapterConfigLoader::new(folders::adapters()).types())
}

/// Why a grimoire cannot be run, shown or copied.
pub(crate) fn not_usable(error: UnusableGrimoire) -> CommandFailure {
    match error {
        UnusableGrimoire::Unknown { .. } => {
            CommandFailure::not_found(ProblemCode::GrimoireNotFound, error)
        }
        UnusableGrimoire::Broken { .. } => {
            CommandFailure::not_found(ProblemCode::BadDefinition, error)
        }
        UnusableGrimoire::Inert { .. } => CommandFailure::not_found(ProblemCode::NotTrusted, error),
    }
}

fn catalogue() -> GrimoireCatalogue {
    GrimoireCatalogue::load(&folders::grimoires(), &known())
}
