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
    let recordings = if args.dry { folder.join("recordings") } else { root.join("fixtures/drift") };
    let evidence = folder.join("evidence");
    let mut wrong = 0;
    for cli in chosen {
        let mut reports = Vec::new();
        for driven in versions(*cli) {
            let version = driven.version;
            if args.version.as_ref().is_some_and(|only| only != version) {
                continue;
            }
            eprintln!("== {} {}", cli.name(), driven.name());
            let place = folder.join(cli.name());
            if !install::has(&place, cli.package().0, version) {
                // One install is kept at a time; this version takes the place of the one before.
                remove(&place)?;
            }
            install::package(&place, (cli.package().0, version), node.as_deref())?;
            let recording = recordings.join(cli.name()).join(format!("{}.cast", driven.name()));
            let mut command = real_agents::offline(namespace);
            command.args([&driver, &folder, &holder, &evidence.join(driven.name())]);
            command.args(["drift", cli.name(), &driven.name()]).arg(&recording).args(driven.args);
            let report: VersionReport = real_agents::report(&mut command)?;
            wrong += report.steps.iter().filter(|step| step.fails()).count();
            reports.push(report);
        }
        remove(&folder.join(cli.name()))?;
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

/// A version that is driven, in one way of several.
#[derive(Clone, Copy, Debug)]
struct DrivenVersion {
    version: &'static str,
    /// What is different about it, in a word for the name of its recording.
    variant: Option<&'static str>,
    args: &'static [&'static str],
}

impl DrivenVersion {
    const fn plain(version: &'static str) -> Self {
        Self { version, variant: None, args: &[] }
    }

    fn name(&self) -> String {
        self.variant.map_or_else(
            || self.version.to_owned(),
            |variant| format!("{}-{variant}", self.version),
        )
    }
}

/// Versions of the last year, the oldest first, and other looks of the one the adapters are tested
/// with.
fn versions(cli: AgentCli) -> Vec<DrivenVersion> {
    let older: &[&str] = match cli {
        AgentCli::Claude => &["2.0.55", "2.1.54", "2.1.123", "2.1.197", "2.1.252"],
        AgentCli::Codex => &["0.77.0", "0.101.0", "0.133.0", "0.151.0", "0.159.3"],
        AgentCli::Gemini => &["0.19.1", "0.34.0", "0.47.0", "0.53.0"],
        AgentCli::Opencode => &["1.1.53", "1.2.27", "1.15.13", "1.18.4"],
        AgentCli::Qwen => &["0.7.1", "0.12.0", "0.15.10", "0.21.2"],
        // Those before cannot be used without a login.
        AgentCli::Copilot => &["1.0.39", "1.0.65", "1.0.80"],
    };
    let tested = cli.package().1;
    let mut versions: Vec<DrivenVersion> =
        older.iter().chain([&tested]).map(|version| DrivenVersion::plain(version)).collect();
    let variant = match cli {
        AgentCli::Claude => Some(("still", &["--settings", "{\"prefersReducedMotion\":true}"][..])),
        AgentCli::Opencode => Some(("mini", &["--mini"][..])),
        _ => None,
    };
    versions.extend(variant.map(|(variant, args)| DrivenVersion {
        version: tested,
        variant: Some(variant),
        args,
    }));
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_versions_are_driven_and_one_is_the_one_the_adapters_are_tested_with() {
        for cli in AgentCli::value_variants() {
            let versions = versions(*cli);
            assert!(versions.iter().filter(|each| each.variant.is_none()).count() >= 4);
            assert_eq!(versions.last().map(|each| each.version), Some(cli.package().1));
        }
    }
}
