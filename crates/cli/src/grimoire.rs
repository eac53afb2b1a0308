//! `coven grimoire`: the workflows there are, and whether they are right.

mod check;
mod list;
mod new;
mod show;

use clap::Subcommand;
use coven_adapters::AdapterConfigLoader;
use coven_workflow::CheckEnvironment;
use coven_workflow::catalogue::GrimoireCatalogue;

use crate::failure::Result;
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
    },
}

pub(crate) fn run(command: Command) -> Result {
    match command {
        Command::Ls { json } => list::run(json),
        Command::Show { name, plan, json } => show::run(&name, plan, json),
        Command::Check { what, json } => check::run(&what, json),
        Command::New { name, from, user } => new::run(&name, from.as_deref(), user),
    }
}

/// What definitions are checked against.
fn known() -> CheckEnvironment {
    CheckEnvironment::new(AdapterConfigLoader::new(folders::adapters()).types())
}

fn catalogue() -> GrimoireCatalogue {
    GrimoireCatalogue::load(&folders::grimoires(), &known())
}
