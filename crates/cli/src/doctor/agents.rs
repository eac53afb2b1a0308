//! Which agent CLIs are installed, and whether we know their versions.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use coven_adapters::AdapterConfigLoader;
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{DoctorCheck, State};
use crate::folders;

/// How long a program may take to say its version. Some start a whole runtime for that.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// These come with Coven.
pub(crate) const BUNDLED_ADAPTERS: [&str; 2] = ["demo", "shell"];

const GROUP: &str = "agents";

pub(super) async fn check() -> Vec<DoctorCheck> {
    let adapters = AdapterConfigLoader::new(folders::adapters());
    let mut waiting = JoinSet::new();
    let mut checks = Vec::new();
    for kind in adapters.types() {
        match adapters.load(&kind, None) {
            Err(error) => {
                let mend = format!("coven adapter check {kind}");
                checks
                    .push(DoctorCheck::new(GROUP, &kind, State::Bad, error.to_string()).mend(mend));
            }
            Ok(_) if BUNDLED_ADAPTERS.contains(&kind.as_str()) => {}
            Ok(loaded) => {
                let config = loaded.config;
                let program = config.command.clone().unwrap_or_else(|| kind.clone());
                let (args, tested) = (config.version_args.clone(), config.tested_version.clone());
                let install = config.install.clone();
                waiting.spawn(async move { one(kind, program, args, tested, install).await });
            }
        }
    }
    while let Some(check) = waiting.join_next().await {
        checks.extend(check);
    }
    checks.sort_by(|one, two| one.name.cmp(&two.name));
    if checks.iter().all(|check| check.state != State::Ok) {
        let what = "needs nothing installed: coven run demo";
        checks.push(DoctorCheck::ok(GROUP, "demo", what));
    } else {
        checks.push(DoctorCheck::ok(GROUP, "demo", "comes with Coven"));
    }
    checks
}

async fn one(
    kind: String,
    program: String,
    args: Vec<String>,
    tested: Option<String>,
    install: Option<String>,
) -> DoctorCheck {
    let Some(path) = find(&program) else {
        let mend = install.unwrap_or_else(|| format!("install `{program}`, if you want to use it"));
        return DoctorCheck::new(GROUP, &kind, State::Note, "is not installed").mend(mend);
    };
    let place = path.display();
    if args.is_empty() {
        return DoctorCheck::ok(GROUP, &kind, place.to_string());
    }
    match (version(&path, &args).await, tested) {
        (None, _) => {
            let what = format!("{place} does not say its version");
            DoctorCheck::new(GROUP, &kind, State::Note, what)
                .mend(format!("try: {program} {}", args.join(" ")))
        }
        (Some(version), Some(tested)) if version != tested => {
            let what = format!("{version}, and we know {tested}: {place}");
            let mend = format!(
                "it will mostly work; if its state is read wrongly: coven explain, coven adapter new {kind} --from {kind}"
            );
            DoctorCheck::new(GROUP, &kind, State::Note, what).mend(mend)
        }
        (Some(version), _) => DoctorCheck::ok(GROUP, &kind, format!("{version}: {place}")),
    }
}

/// Where a program is.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(runs);
    }
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(program)).find(runs)
}

/// The first thing in what a program prints that looks like a version.
async fn version(program: &PathBuf, args: &[String]) -> Option<String> {
    let asked = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let printed = timeout(VERSION_TIMEOUT, asked).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    number(&text)
}

fn number(text: &str) -> Option<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+')));
    let is_version =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let mut words = words.map(|word| word.trim_start_matches('v')).filter(is_version);
    words.next().map(|word| word.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_whatever_a_program_says() {
        for (text, version) in [
            ("2.1.325 (Claude Code)\n", Some("2.1.325")),
            ("codex-cli 0.166.0", Some("0.166.0")),
            ("aider v0.86.2.", Some("0.86.2")),
            ("no number here", None),
        ] {
            assert_eq!(number(text).as_deref(), version, "{text}");
        }
    }
}
