//! `cargo xtask fuzz`: runs the cargo-fuzz targets for a while each, with limits that make
//! unbounded memory or time a finding too.

use std::fs;
use std::process::Stdio;

use crate::cargo;
use crate::error::Error;

/// Above this much memory a target has failed. Everything the targets exercise promises bounded
/// memory; the sanitiser itself needs a few hundred MiB of it.
const MEMORY_LIMIT_MB: u32 = 1024;

/// One input may take this long before it counts as hung. Inputs are a few KiB and normally take
/// microseconds; the margin is for the sanitiser and a busy machine.
const SECONDS_PER_INPUT: u32 = 10;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which target to run; all of them when left out
    target: Option<String>,
    /// How long to run each target
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u32,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let path = cargo::root().join("fuzz/Cargo.toml");
    let manifest = fs::read_to_string(&path).map_err(|source| Error::Read { path, source })?;
    let chosen = choose(targets(&manifest), args.target.as_deref())?;
    install()?;
    for target in &chosen {
        eprintln!("== {target} for {} s", args.seconds);
        fuzz(target, args.seconds)
            .map_err(|source| Error::Fuzz { target: target.clone(), source: Box::new(source) })?;
    }
    Ok(())
}

/// The names of the `[[bin]]` sections of a manifest: with cargo-fuzz each is a target.
fn targets(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[[bin]]"
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "name"
        {
            names.push(value.trim().trim_matches('"').to_owned());
        }
    }
    names
}

fn choose(known: Vec<String>, wanted: Option<&str>) -> Result<Vec<String>, Error> {
    match wanted {
        None => Ok(known),
        Some(name) if known.iter().any(|target| target == name) => Ok(vec![name.to_owned()]),
        Some(name) => Err(Error::UnknownTarget { name: name.to_owned(), known: known.join(", ") }),
    }
}

/// Installs cargo-fuzz where it is missing. It is not a dependency, because only this verb needs
/// it and it takes a minute to build.
fn install() -> Result<(), Error> {
    let version =
        cargo::command(&["fuzz", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if version.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    eprintln!("== cargo-fuzz is not installed, installing it");
    cargo::run(&["install", "cargo-fuzz", "--locked"])
}

fn fuzz(target: &str, seconds: u32) -> Result<(), Error> {
    let time = format!("-max_total_time={seconds}");
    let memory = format!("-rss_limit_mb={MEMORY_LIMIT_MB}");
    let hang = format!("-timeout={SECONDS_PER_INPUT}");
    // Pieces of real input, so that the fuzzer need not find every sequence byte by byte.
    let pieces = format!("-dict={}", cargo::root().join("fuzz/terminal.dict").display());
    let quiet = "-verbosity=0";
    let stats = "-print_final_stats=1";
    let line = ["fuzz", "run", target, "--", &time, &memory, &hang, &pieces, quiet, stats];
    // The sanitisers are behind unstable flags; this lets the stable compiler accept them.
    let ended = cargo::command(&line).env("RUSTC_BOOTSTRAP", "1").status();
    cargo::finish(&line, ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
[package]
name = "coven-fuzz"

[[bin]]
name = "sanitise"
path = "targets/sanitise.rs"

[[bin]]
test = false
name="screen"

[dependencies]
name = "1"
"#;

    #[test]
    fn targets_are_the_bins_and_nothing_else() {
        assert_eq!(targets(MANIFEST), ["sanitise", "screen"]);
    }

    #[test]
    fn without_a_name_every_target_runs() {
        assert_eq!(choose(targets(MANIFEST), None).unwrap(), ["sanitise", "screen"]);
    }

    #[test]
    fn a_name_picks_one_target() {
        assert_eq!(choose(targets(MANIFEST), Some("screen")).unwrap(), ["screen"]);
    }

    #[test]
    fn an_unknown_name_is_refused_and_the_known_ones_are_told() {
        let error = choose(targets(MANIFEST), Some("scren")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no fuzz target is called `scren`; there are: sanitise, screen"
        );
    }
}
