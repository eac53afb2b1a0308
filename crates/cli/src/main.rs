//! The `coven` command: the only part of Coven that talks to the terminal it was started from.
//! What is asked for goes to stdout, everything else to stderr.
//!
//! One file for each command. What they share: [`connect`] finds the daemon and starts it,
//! [`find`] knows what a name means, [`failure`] tells what went wrong, [`output`], [`tree`] and
//! [`question`] are how things look, [`tty`] and [`signals`] are the terminal outside.

mod abilities;
mod adapter;
mod agent_comments;
mod answer;
mod attach;
mod audit;
mod cancel;
mod command;
mod comment;
mod complete;
mod completions;
mod connect;
mod daemon;
mod demo_agent;
mod device;
mod diff;
mod doctor;
mod drafts;
mod events;
mod explain;
mod failure;
mod find;
mod finish;
mod folders;
mod grimoire;
mod hold;
mod home;
mod import;
mod inbox;
mod init;
mod interrupt;
mod key;
mod large_value;
mod last_line;
mod logs;
mod ls;
mod man;
mod merge;
mod mirror;
mod new;
mod open;
mod output;
mod play;
mod policy;
mod pr;
mod printed;
mod progress;
mod question;
mod results;
mod resume;
mod retry;
mod review;
mod rm;
mod run;
mod schema;
mod send;
mod show;
mod signals;
mod stop;
mod transcript;
mod tree;
mod trees;
mod trust;
mod tty;
mod ui;
mod wait;
mod written;

use std::process::ExitCode;

use clap::FromArgMatches;
use clap_complete::CompleteEnv;

use crate::command::CovenCli;

fn main() -> ExitCode {
    // The shell asks here what could follow; then nothing else happens.
    CompleteEnv::with_factory(command::cli).var(completions::COMPLETE_VARIABLE).complete();
    let parsed =
        command::cli().try_get_matches().and_then(|matches| CovenCli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => command::run(cli),
        Err(error) => failure::usage(&error),
    }
}
