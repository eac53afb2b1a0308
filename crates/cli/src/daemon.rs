//! `coven daemon`: the program in the background that keeps sessions and agents.

mod logs;
mod run;
mod start;
mod status;
mod stop;

use clap::Subcommand;

use crate::connect::block_on;
use crate::failure::Result;

/// Looks after the daemon. It starts by itself when a command needs it.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Start the daemon, if it does not run.
    Start {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Stop the daemon. Agents go on, and the next daemon takes them up again.
    #[command(
        after_help = "Examples:\n  coven daemon stop            agents go on\n  coven daemon stop --agents   runs are cancelled and their agents stopped"
    )]
    Stop {
        /// Cancel all runs and stop their agents too.
        #[arg(long)]
        agents: bool,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say whether it runs, since when, and what it does.
    Status {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show its log.
    Logs {
        /// Go on with what is added.
        #[arg(short, long)]
        follow: bool,
        /// How many of the last lines.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
        lines: usize,
    },
    /// Be the daemon, in the foreground.
    Run {
        /// The port on 127.0.0.1; by default that of config.yaml, or that of the last time, or a free
        /// one.
        #[arg(long, value_name = "PORT")]
        port: Option<u16>,
        /// Listen on the socket only.
        #[arg(long, conflicts_with = "port")]
        no_tcp: bool,
        /// Leave the terminal; for commands that start the daemon.
        #[arg(long, hide = true)]
        detached: bool,
    },
}

pub(crate) fn run(command: &Command) -> Result {
    match command {
        Command::Start { json } => block_on(start::run(*json)),
        Command::Stop { agents, json } => block_on(stop::run(*agents, *json)),
        Command::Status { json } => block_on(status::run(*json)),
        Command::Logs { follow, lines } => block_on(logs::run(*follow, *lines)),
        Command::Run { port, no_tcp, detached } => run::run(*port, *no_tcp, *detached),
    }
}
