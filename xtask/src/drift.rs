//! `cargo xtask drift`: installs published versions of the agent CLIs, one at a time, drives each
//! offline through the same steps, and writes what Coven said at each to docs/drift.md. The screens
//! become fixtures. Opt-in: it downloads several gigabytes and takes about an hour.

mod page;

use std::fs;
use std::path::Path;

use clap::ValueEnum;
use serde::Deserialize;

use crate::cargo;
use crate::error::Error;
use crate::real_agents::{self, AgentCli, RealAgentsProblem, install};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which CLIs to drive; all of them when left out
    clis: Vec<AgentCli>,
    /// Only this version of the one CLI
    #[arg(long)]
    version: Option<String>,
    /// Do not write docs/drift.md and fixtures/drift
    #[arg(long)]
    dry: bool,
}

/// What the driver found about one version.
#[derive(Debug, Deserialize)]
struct VersionReport {
    version: String,
    steps: Vec<StepReport>,
}

#[derive(Debug, Deserialize)]
struct StepReport {
    step: String,
    truth: String,
    said: String,
    mark: String,
    note: String,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let chosen = if args.clis.is_empty() { AgentCli::value_variants() } else { &args.clis };
    let root = cargo::root();
    let folder = root.join("target/drift");
    let namespace = real_agents::namespace()?;
    fs::create_dir_all(&folder).map_err(RealAgentsProblem::io("make target/drift"))?;
    let node = install::node(&folder)?;
    let (package, example) = real_agents::DRIVERS[0];
    let driver = real_agents::built(package, "--example", example)?;
    let holder = real_agents::built("coven-test-programs", "--bin", real_agents::HOLDER)?;
    let mut wrong = 0;
    for cli in chosen {
        let mut reports = Vec::new();
        for version in versions(*cli) {
            if args.version.as_ref().is_some_and(|only| only != version) {
                continue;
            }
            eprintln!("== {} {version}", cli.name());
            let place = folder.join(cli.name());
            remove(&place)?;
            install::package(&place, (cli.package().0, version), node.as_deref())?;
            let recordings =
                if args.dry { folder.join("recordings") } else { root.join("fixtures/drift") };
            let recording = recordings.join(cli.name()).join(format!("{version}.cast"));
            let evidence = folder.join("evidence").join(version);
            let mut command = real_agents::offline(namespace);
            command.args([&driver, &folder, &holder, &evidence]);
            command.args(["drift", cli.name(), version]).arg(&recording);
            let report: VersionReport = real_agents::report(&mut command)?;
            wrong += report.steps.iter().filter(|step| step.fails()).count();
            reports.push(report);
            // One install is kept at a time; the next version of this CLI takes its place.
            remove(&place)?;
        }
        if args.dry {
            print!("{}", page::section(*cli, &reports));
        } else {
            page::write(&root.join("docs/drift.md"), *cli, &reports)?;
        }
    }
    if wrong > 0 { Err(Error::Drift(wrong)) } else { Ok(()) }
}

fn remove(folder: &Path) -> Result<(), RealAgentsProblem> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(RealAgentsProblem::Io { step: "remove the version before", source: error })
        }
        _ => Ok(()),
    }
}

impl StepReport {
    /// Whether a person would have been left without a word, or misled.
    fn fails(&self) -> bool {
        matches!(self.mark.as_str(), "silent" | "wrong")
    }
}

/// Versions of the last year, the oldest first; the last is the one the adapters are tested with.
fn versions(cli: AgentCli) -> &'static [&'static str] {
    match cli {
        AgentCli::Claude => &["2.0.55", "2.1.54", "2.1.123", "2.1.197", "2.1.252", "2.1.325"],
        AgentCli::Codex => &["0.77.0", "0.101.0", "0.133.0", "0.151.0", "0.159.3", "0.166.0"],
        AgentCli::Gemini => &["0.19.1", "0.34.0", "0.47.0", "0.53.0", "0.61.0"],
        AgentCli::Opencode => &["1.1.53", "1.2.27", "1.15.13", "1.18.4", "1.18.33"],
        AgentCli::Qwen => &["0.7.1", "0.12.0", "0.15.10", "0.21.2", "0.24.4"],
        AgentCli::Copilot => &["0.0.384", "0.0.423", "1.0.39", "1.0.65", "1.0.80", "1.0.102"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_the_one_the_adapters_are_tested_with() {
        for cli in AgentCli::value_variants() {
            assert!(versions(*cli).len() >= 4, "{}", cli.name());
            assert_eq!(versions(*cli).last(), Some(&cli.package().1), "{}", cli.name());
        }
    }
}
