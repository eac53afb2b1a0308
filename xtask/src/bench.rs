//! `cargo xtask bench`: runs the benchmarks. Each one writes its own section of
//! docs/benchmarks.md; this file only knows where they live.

use clap::ValueEnum;

use crate::error::Error;
use crate::{browser, cargo};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which benchmark to run; all of them when left out
    name: Option<Bench>,
    /// Passed on to the benchmark
    #[arg(last = true)]
    rest: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Bench {
    /// CPU and memory per stream of terminal output, against the bare emulator and tmux
    Terminal,
    /// Panes by the thousand, idle and busy, with and without holders
    Runtime,
    /// Reading a state off a screen that changed, with 10 and 50 patterns
    Adapters,
    /// From an agent's question on its screen to our event, with twenty agents at once
    Runner,
    /// Deciding and folding alone: steps per second, and a journal folded again
    Workflow,
    /// Making a tree, keeping and comparing what is in it, against a bare `git worktree add`
    Trees,
    /// Durable facts, replay, listing and views, against a bare append and sync
    Store,
    /// Sessions end to end: steps per second, memory, many at once, taking them up again
    Orchestrator,
    /// From a question to a client's event, attaching, ten thousand sessions, a thousand agents
    Daemon,
    /// Whole commands as a shell sees them, with ten thousand sessions
    Cli,
    /// The page in Chromium: its size, how soon it answers with a hundred agents, its memory
    Page,
}

impl Bench {
    fn command_line(self) -> &'static [&'static str] {
        match self {
            // It needs a browser as the tests of the page do, so it stands with them.
            Self::Page => &[
                "test",
                "--release",
                "--package",
                "coven-daemon",
                "--test",
                "daemon",
                "page::measure",
                "--",
                "--ignored",
                "--nocapture",
            ],
            Self::Daemon => &["bench", "--package", "coven-daemon", "--bench", "daemon"],
            Self::Cli => &["bench", "--package", "coven-cli", "--bench", "cli"],
            Self::Terminal => &["bench", "--package", "coven-terminal", "--bench", "terminal"],
            Self::Runtime => &["bench", "--package", "coven-runtime", "--bench", "runtime"],
            Self::Adapters => &["bench", "--package", "coven-adapters", "--bench", "adapters"],
            Self::Runner => &["bench", "--package", "coven-runner", "--bench", "runner"],
            Self::Workflow => &["bench", "--package", "coven-workflow", "--bench", "workflow"],
            Self::Trees => &["bench", "--package", "coven-git", "--bench", "trees"],
            Self::Store => &["bench", "--package", "coven-store", "--bench", "store"],
            Self::Orchestrator => {
                &["bench", "--package", "coven-orchestrator", "--bench", "orchestrator"]
            }
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let chosen = args.name.as_ref().map_or(Bench::value_variants(), std::slice::from_ref);
    for bench in chosen {
        let line = bench.command_line();
        if matches!(bench, Bench::Page) {
            browser::arrange()?;
            // A test takes no arguments of its own.
            let ended = cargo::command(line).env("COVEN_BENCH", args.rest.join(" ")).status();
            cargo::finish(line, ended)?;
            continue;
        }
        let mut line = line.to_vec();
        line.push("--");
        line.extend(args.rest.iter().map(String::as_str));
        cargo::run(&line)?;
    }
    Ok(())
}
