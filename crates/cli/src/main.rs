//! The `coven` command: the only part of Coven that talks to the terminal it was started from.
//! What is asked for goes to stdout, everything else to stderr.

mod demo_agent;
mod hold;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What a bare `coven` says as long as it has nothing to run. To be replaced by the list of what
/// needs the user.
const NOTE: &str = concat!(
    "coven ",
    env!("CARGO_PKG_VERSION"),
    ": runs teams of AI coding CLIs on your own machine.

What exists so far: the library that reads an agent's terminal exactly, processes
that outlive whoever started them, and an agent to try things with.

Try:
  coven demo-agent
      an agent that needs nothing installed: type /help
  cargo run -p coven-terminal --example render -- --cols 80 --rows 25 < FILE
      shows the screen that the bytes in FILE paint
  coven --help
      shows what this command can do
"
);

/// Runs teams of AI coding CLIs on your own machine.
///
/// Coven starts each agent in a real terminal, knows what it is doing, asks you when it waits for
/// you, and strings agents into workflows that survive a crash. So far it reads terminals, owns
/// processes, and has an agent to try things with.
#[derive(Parser)]
#[command(name = "coven", version)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    #[command(hide = true, name = coven_demo::SUBCOMMAND)]
    DemoAgent(Box<demo_agent::Arguments>),
    #[command(hide = true, disable_help_flag = true)]
    Hold(hold::Arguments),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Some(Command::DemoAgent(arguments)) => demo_agent::run(*arguments),
        Some(Command::Hold(arguments)) => hold::run(arguments),
        None => print_note(),
    }
}

fn print_note() -> ExitCode {
    match io::stdout().write_all(NOTE.as_bytes()) {
        // Whoever closed the pipe, as `head` does, has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("error: could not write to stdout: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
