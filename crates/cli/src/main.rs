//! The `coven` command.

use clap::Parser;

/// Runs teams of AI coding CLIs.
#[derive(Parser)]
#[command(name = "coven", version, about)]
struct Cli {}

fn main() {
    Cli::parse();
}
