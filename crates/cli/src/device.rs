//! `coven device`: browsers and programs that may use the daemon over TCP.

mod add;
mod ls;
mod rm;

use clap::{Subcommand, ValueEnum};
use coven_api::device::DeviceRole;

use crate::connect::block_on;
use crate::failure::Result;

/// Looks after browsers and programs that may use the daemon over its port.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Let a browser sign in, or give a program a token.
    #[command(after_help = "Examples:
  coven device add tablet --role answer   prints an address for a browser, good for a minute
  coven device add ci --role look --token prints a token for a program, once

Scripts on this machine need no device: they use `coven` or the daemon's socket. A role of `look`
reads everything, `answer` also decides and types, `full` does everything that a browser may.")]
    Add {
        /// The name by which it is listed and removed.
        name: String,
        /// What it may do.
        #[arg(long, value_enum, default_value_t = RoleArgument::Full)]
        role: RoleArgument,
        /// Print a token for a program instead of an address for a browser.
        #[arg(long)]
        token: bool,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the devices.
    Ls {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a device. Its connections and tokens end at once.
    Rm {
        /// Its name.
        name: String,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// What a device may do, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RoleArgument {
    /// Look at everything.
    Look,
    /// Also decide what waits for you, and type to agents.
    Answer,
    /// Also start, end and change sessions.
    Full,
}

impl From<RoleArgument> for DeviceRole {
    fn from(role: RoleArgument) -> Self {
        match role {
            RoleArgument::Look => Self::Look,
            RoleArgument::Answer => Self::Answer,
            RoleArgument::Full => Self::Full,
        }
    }
}

pub(crate) fn run(command: &Command) -> Result {
    match command {
        Command::Add { name, role, token, json } => {
            block_on(add::run(name, (*role).into(), *token, *json))
        }
        Command::Ls { json } => block_on(ls::run(*json)),
        Command::Rm { name, json } => block_on(rm::run(name, *json)),
    }
}
