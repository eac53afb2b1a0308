//! The `coven` command: the only part of Coven that talks to the terminal it was started from.
//! What is asked for goes to stdout, everything else to stderr.

mod adapter;
mod demo_agent;
mod failure;
mod folders;
mod grimoire;
mod hold;
mod output;
mod schema;
mod written;

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
    /// Look at adapters, which say how to start, read, answer and stop an agent CLI.
    #[command(subcommand)]
    Adapter(adapter::Command),
    /// Look at grimoires, which are workflows that people write.
    #[command(subcommand)]
    Grimoire(grimoire::Command),
    /// Print the JSON schema of a file that people write.
    Schema {
        /// Which file.
        file: schema::File,
    },
    #[command(hide = true, name = coven_demo::SUBCOMMAND)]
    DemoAgent(Box<demo_agent::Arguments>),
    #[command(hide = true, disable_help_flag = true)]
    Hold(hold::Arguments),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Some(Command::DemoAgent(arguments)) => demo_agent::run(*arguments),
        Some(Command::Hold(arguments)) => hold::run(arguments),
        Some(Command::Adapter(command)) => failure::exit(adapter::run(command)),
        Some(Command::Grimoire(command)) => failure::exit(grimoire::run(command)),
        Some(Command::Schema { file }) => failure::exit(schema::run(file)),
        None => failure::exit(output::write(NOTE)),
    }
}
