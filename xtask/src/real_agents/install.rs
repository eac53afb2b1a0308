//! Installs the CLIs by npm, each in a folder of its own, in exactly the versions we name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use serde::Deserialize;

use super::{AgentCli, RealAgentsProblem};

/// Some CLIs need this much, and npm silently takes older ones where it has less.
const OLDEST_NODE: u32 = 22;

const NODE: (&str, &str) = ("node", "22.23.3");

/// The folder of a node that is new enough, if the system's is not.
pub(crate) fn node(folder: &Path) -> Result<Option<PathBuf>, RealAgentsProblem> {
    let output = Command::new("node").arg("--version").stderr(Stdio::null()).output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = version.unwrap_or_default();
    let major = version.trim().trim_start_matches('v').split('.').next();
    if major.and_then(|major| major.parse().ok()).is_some_and(|major: u32| major >= OLDEST_NODE) {
        return Ok(None);
    }
    package(&folder.join("node"), NODE, None)?;
    Ok(Some(folder.join("node/node_modules/node/bin")))
}

/// Installs a CLI, unless it is there.
pub(crate) fn cli(
    cli: AgentCli,
    folder: &Path,
    node: Option<&Path>,
) -> Result<(), RealAgentsProblem> {
    package(&folder.join(cli.name()), cli.package(), node)
}

/// Whether a package is installed in exactly this version.
pub(crate) fn has(folder: &Path, name: &str, version: &str) -> bool {
    installed(folder, name).is_some_and(|found| found == version)
}

/// Installs a package in exactly this version, unless it is there.
pub(crate) fn package(
    folder: &Path,
    (name, version): (&'static str, &str),
    node: Option<&Path>,
) -> Result<(), RealAgentsProblem> {
    if has(folder, name, version) {
        return Ok(());
    }
    eprintln!("== installing {name} {version}");
    fs::create_dir_all(folder).map_err(RealAgentsProblem::io("make a folder for a CLI"))?;
    // Without a file of its own npm would install into a folder further up.
    fs::write(folder.join("package.json"), "{}\n")
        .map_err(RealAgentsProblem::io("write package.json"))?;
    let wanted = format!("{name}@{version}");
    let status = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--save-exact", &wanted])
        .current_dir(folder)
        .env("PATH", path(node))
        .status()
        .map_err(RealAgentsProblem::io("start npm"))?;
    if !status.success() {
        return Err(RealAgentsProblem::Npm { package: wanted, status });
    }
    match installed(folder, name) {
        Some(found) if found == version => Ok(()),
        found => {
            let found = found.unwrap_or_else(|| "nothing".to_owned());
            Err(RealAgentsProblem::Version { package: name, wanted: version.to_owned(), found })
        }
    }
}

pub(crate) fn path(node: Option<&Path>) -> OsString {
    let mut path = OsString::new();
    if let Some(node) = node {
        path.push(node);
        path.push(":");
    }
    path.push(env::var_os("PATH").unwrap_or_default());
    path
}

#[derive(Deserialize)]
struct NpmManifest {
    version: String,
}

/// The version that is installed in a folder.
fn installed(folder: &Path, name: &str) -> Option<String> {
    let text = fs::read(folder.join("node_modules").join(name).join("package.json")).ok()?;
    serde_json::from_slice::<NpmManifest>(&text).ok().map(|manifest| manifest.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_are_those_the_adapters_are_tested_with() {
        use clap::ValueEnum;
        for cli in AgentCli::value_variants() {
            let path = crate::cargo::root()
                .join("crates/adapters/builtin")
                .join(cli.name())
                .join("config.json");
            let text = fs::read_to_string(path).unwrap();
            let tested = format!("\"testedVersion\": \"{}\"", cli.package().1);
            assert!(text.contains(&tested), "{}", cli.name());
        }
    }
}
