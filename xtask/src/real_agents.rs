//! `cargo xtask real-agents`: installs the real agent CLIs, drives them through our runners without
//! a network, and writes what came of it to docs/real-agents.md. Opt-in: it downloads about 1.6 GB
//! the first time.

pub(crate) mod install;
pub(crate) mod page;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use clap::ValueEnum;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::cargo;
use crate::error::Error;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which CLIs to drive; all of them when left out
    clis: Vec<AgentCli>,
    /// Speak to them in their own protocols instead, through the orchestrator
    #[arg(long)]
    channels: bool,
    /// Let them work in worktrees instead: reviewed, landed, and in conflict with each other
    #[arg(long, conflicts_with = "channels")]
    trees: bool,
    /// Do not write docs/real-agents.md
    #[arg(long)]
    dry: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentCli {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Qwen,
    Copilot,
}

/// Why the CLIs could not be driven, or what they did wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RealAgentsProblem {
    #[error(
        "a network namespace is needed, so that no CLI can reach its maker, and `unshare --net` is \
         refused here even in a user namespace; run this as root, or allow user namespaces"
    )]
    NoNamespace,
    #[error("npm did not install {package}: {status}")]
    Npm { package: String, status: std::process::ExitStatus },
    #[error("npm installed {package} {found} instead of {wanted}")]
    Version { package: &'static str, wanted: String, found: String },
    #[error("cargo did not say where it put `{0}`")]
    NotBuilt(&'static str),
    #[error("the driver ended with {0}")]
    Driver(std::process::ExitStatus),
    #[error("{0} row(s) failed; the screens are in target/real-agents/evidence/")]
    Rows(usize),
    #[error("could not {step}")]
    Io { step: &'static str, source: io::Error },
}

impl RealAgentsProblem {
    pub(crate) fn io(step: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { step, source }
    }
}

/// What the driver found about one CLI.
#[derive(Debug, Deserialize)]
struct CliReport {
    cli: String,
    rows: Vec<CheckRow>,
}

#[derive(Debug, Deserialize)]
struct CheckRow {
    #[serde(rename = "row")]
    name: String,
    result: String,
    text: String,
}

/// What drives a CLI, and the package it is an example of: alone, and in whole workflows.
pub(crate) const DRIVERS: [(&str, &str); 2] =
    [("coven-runner", "real_agents"), ("coven-orchestrator", WORKFLOWS)];

const WORKFLOWS: &str = "real_workflows";
/// The CLIs that the rows were written for. Copilot is driven by `cargo xtask drift` alone.
const ROWS_WRITTEN_FOR: [AgentCli; 5] =
    [AgentCli::Claude, AgentCli::Codex, AgentCli::Gemini, AgentCli::Opencode, AgentCli::Qwen];

/// What is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriveMode {
    /// Terminals, and workflows as the sources start them.
    Plain,
    /// The CLIs' own protocols.
    Channels,
    /// Worktrees.
    Trees,
}

impl DriveMode {
    /// What the driver is told.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Plain => &[],
            Self::Channels => &["--channels"],
            Self::Trees => &["--trees"],
        }
    }

    /// What is behind the name of a CLI where its part of the page begins.
    fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Channels => "-channel",
            Self::Trees => "-trees",
        }
    }

    /// What is behind the name of a CLI in its heading.
    fn heading(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Channels => ", in its own protocol",
            Self::Trees => ", in worktrees",
        }
    }
}

pub(crate) const HOLDER: &str = "coven-test-agent";

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let mode = match (args.channels, args.trees) {
        (true, _) => DriveMode::Channels,
        (_, true) => DriveMode::Trees,
        _ => DriveMode::Plain,
    };
    let all = match mode {
        DriveMode::Plain => &ROWS_WRITTEN_FOR[..],
        DriveMode::Channels | DriveMode::Trees => AgentCli::value_variants(),
    };
    let chosen = if args.clis.is_empty() { all } else { &args.clis };
    let folder = cargo::root().join("target/real-agents");
    let namespace = namespace()?;
    fs::create_dir_all(&folder).map_err(RealAgentsProblem::io("make target/real-agents"))?;
    let node = install::node(&folder)?;
    // In worktrees each works beside another one, which may be any.
    let installed = if mode == DriveMode::Trees { all } else { chosen };
    for cli in installed {
        install::cli(*cli, &folder, node.as_deref())?;
    }
    let (drivers, holder) = build()?;
    let mut failed = 0;
    // One after the other, so that each has the machine to itself.
    for cli in chosen {
        let mut report = CliReport { cli: cli.name().to_owned(), rows: Vec::new() };
        for driver in &drivers {
            // Only whole workflows have a channel to speak over, and worktrees.
            if mode != DriveMode::Plain && !driver.ends_with(WORKFLOWS) {
                continue;
            }
            let driver = (driver.as_path(), mode.arguments());
            report.rows.extend(drive(*cli, namespace, driver, &holder, &folder)?.rows);
        }
        failed += report.rows.iter().filter(|row| row.result == "FAIL").count();
        if !args.dry {
            let page = cargo::root().join("docs/real-agents.md");
            page::write(&page, *cli, mode, &report)?;
        }
    }
    if failed > 0 { Err(RealAgentsProblem::Rows(failed).into()) } else { Ok(()) }
}

/// The arguments of `unshare` that give us a network of our own: as root, or as root of a user
/// namespace.
pub(crate) fn namespace() -> Result<&'static [&'static str], RealAgentsProblem> {
    const WAYS: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];
    let works = |way: &&&[&str]| {
        let mut command = Command::new("unshare");
        command.args(**way).args(["sh", "-c", "ip link set lo up"]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    WAYS.iter().find(works).copied().ok_or(RealAgentsProblem::NoNamespace)
}

/// Builds the drivers and the holder, and says where they are.
fn build() -> Result<(Vec<PathBuf>, PathBuf), Error> {
    let mut drivers = Vec::new();
    for (package, example) in DRIVERS {
        drivers.push(built(package, "--example", example)?);
    }
    Ok((drivers, built("coven-test-programs", "--bin", HOLDER)?))
}

/// Builds one program, and says where it is.
pub(crate) fn built(package: &str, kind: &str, name: &'static str) -> Result<PathBuf, Error> {
    let format = ["--message-format", "json-render-diagnostics"];
    let told = cargo::read(&[&["build", "--package", package, kind, name], &format[..]].concat())?;
    let lines = told.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let messages = lines.filter_map(|line| serde_json::from_slice::<CargoMessage>(line).ok());
    let artifacts =
        messages.filter(|message| message.target.as_ref().is_some_and(|of| of.name == name));
    let found = artifacts.filter_map(|message| message.executable).next_back();
    Ok(found.ok_or(RealAgentsProblem::NotBuilt(name))?)
}

/// A line of what cargo tells.
#[derive(Deserialize)]
struct CargoMessage {
    target: Option<CargoTarget>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: String,
}

/// Drives one CLI where there is nothing but loopback.
fn drive(
    cli: AgentCli,
    namespace: &[&str],
    (driver, mode): (&Path, &[&str]),
    holder: &Path,
    folder: &Path,
) -> Result<CliReport, Error> {
    let mut offline = offline(namespace);
    offline.args([driver, folder, holder, &folder.join("evidence")]);
    offline.args(mode).arg(cli.name());
    report(&mut offline)
}

/// A command, to be given its program and arguments, that has nothing but loopback.
pub(crate) fn offline(namespace: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(namespace).args(["sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]);
    command
}

/// Runs a driver, and reads what it prints.
pub(crate) fn report<T: DeserializeOwned>(command: &mut Command) -> Result<T, Error> {
    let ended = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(RealAgentsProblem::io("start the driver"))?;
    if !ended.status.success() {
        return Err(RealAgentsProblem::Driver(ended.status).into());
    }
    Ok(serde_json::from_slice(&ended.stdout)?)
}

impl AgentCli {
    /// Its command, which is also the type of its adapter.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Qwen => "qwen",
            Self::Copilot => "copilot",
        }
    }

    pub(crate) fn shown(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Qwen => "Qwen Code",
            Self::Copilot => "Copilot CLI",
        }
    }

    /// Its package, and the version that the adapters are tested with.
    pub(crate) fn package(self) -> (&'static str, &'static str) {
        match self {
            Self::Claude => ("@anthropic-ai/claude-code", "2.1.325"),
            Self::Codex => ("@openai/codex", "0.166.0"),
            Self::Gemini => ("@google/gemini-cli", "0.61.0"),
            Self::Opencode => ("opencode-ai", "1.18.33"),
            Self::Qwen => ("@qwen-code/qwen-code", "0.24.4"),
            Self::Copilot => ("@github/copilot", "1.0.102"),
        }
    }
}
