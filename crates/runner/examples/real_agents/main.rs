//! Drives the real agent CLIs through the runners, offline, against a model server with a script.
//!
//! `cargo xtask real-agents` installs the CLIs and starts this in a network namespace that has
//! nothing but loopback; by hand it is of little use. What it found goes to standard output as
//! JSON, one line per CLI; what it does is told on standard error.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to the terminal")]

mod agent;
mod drift;
mod frames;
mod headless;
mod rows;
mod stage;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use coven_testkit::namespace as left;
use coven_testkit::real_cli::Cli;
use serde_json::json;
use stage::Stage;

/// What became of a row.
enum Mark {
    /// It is as it should be; a note says what was seen.
    Passed(String),
    /// It is not, and why.
    Failed(String),
}

/// What a row found: a note, or why it failed.
type Found = Result<String, String>;

impl From<Found> for Mark {
    fn from(found: Found) -> Self {
        match found {
            Ok(note) => Self::Passed(note),
            Err(reason) => Self::Failed(reason),
        }
    }
}

/// The rows of one CLI, as they are found.
struct Rows {
    cli: Cli,
    marks: Vec<(&'static str, Mark)>,
}

impl Rows {
    fn add(&mut self, row: &'static str, mark: impl Into<Mark>) {
        let mark = mark.into();
        let (word, text) = mark.told();
        eprintln!("  {word:>6}  {row}: {text}");
        self.marks.push((row, mark));
    }

    fn into_json(self) -> serde_json::Value {
        let rows = self.marks.iter().map(|(row, mark)| {
            let (result, text) = mark.told();
            json!({"row": row, "result": result, "text": text})
        });
        json!({"cli": self.cli.name(), "rows": rows.collect::<Vec<_>>()})
    }
}

impl Mark {
    fn told(&self) -> (&'static str, &str) {
        match self {
            Self::Passed(note) => ("pass", note),
            Self::Failed(reason) => ("FAIL", reason),
        }
    }
}

/// `real_agents INSTALLED HOLDER EVIDENCE CLI…`: the folder the CLIs are installed in, the program
/// that holds them, and the folder for the screens of failed rows.
///
/// `real_agents INSTALLED HOLDER EVIDENCE drift CLI VERSION RECORDING [ARGUMENT…]`: one version of
/// one CLI, for `cargo xtask drift`, the file for its screens, and more arguments for the CLI.
fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let mut path = || arguments.next().map(PathBuf::from);
    let (Some(installed), Some(holder), Some(evidence)) = (path(), path(), path()) else {
        eprintln!("usage: real_agents INSTALLED HOLDER EVIDENCE CLI…");
        return ExitCode::from(2);
    };
    let names: Vec<String> = arguments.filter_map(|name| name.into_string().ok()).collect();
    if !left::only_loopback() {
        eprintln!("error: there is more than loopback here; real CLIs are not started");
        return ExitCode::from(2);
    }
    let Ok(reactor) = tokio::runtime::Runtime::new() else { return ExitCode::FAILURE };
    if let [mode, name, version, recording, more @ ..] = &names[..]
        && mode == "drift"
    {
        let Some(cli) = Cli::ALL.into_iter().find(|cli| cli.name() == name) else {
            eprintln!("error: `{name}` is no CLI that can be driven");
            return ExitCode::from(2);
        };
        return match Stage::new(cli, &installed, &holder, &evidence) {
            Ok(stage) => {
                let drive = drift::Lab::new(&stage, more.to_vec());
                let drive = drive.drive(version, Path::new(recording));
                println!("{}", reactor.block_on(drive));
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        };
    }
    for cli in Cli::ALL.into_iter().filter(|cli| names.iter().any(|name| name == cli.name())) {
        eprintln!("== {}", cli.name());
        let stage = match Stage::new(cli, &installed, &holder, &evidence) {
            Ok(stage) => stage,
            Err(error) => {
                eprintln!("error: {error}");
                return ExitCode::FAILURE;
            }
        };
        let mut rows = Rows { cli, marks: Vec::new() };
        let first = reactor.block_on(rows::first_run(&stage, &mut rows));
        let early = reactor.block_on(rows::early_message(&stage, &mut rows));
        let times = reactor.block_on(rows::terminal(&stage, &mut rows));
        rows.add("known states", rows::unknown(first.plus(early).plus(times)));
        reactor.block_on(headless::rows(&stage, &mut rows));
        println!("{}", rows.into_json());
    }
    ExitCode::SUCCESS
}
