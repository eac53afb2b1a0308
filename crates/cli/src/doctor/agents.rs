//! Which agent CLIs are installed, and whether we know their versions.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use coven_adapters::{AdapterConfigLoader, Config, ProgramVersion};
use coven_runtime::installed;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};

use super::{DoctorCheck, State};
use crate::folders;

/// How long a program may take to say its version. Some start a whole runtime for that, which takes
/// six seconds on a machine that does nothing else and many more on a busy one.
pub(crate) const VERSION_TIMEOUT: Duration = Duration::from_mins(1);

/// How many programs are asked at once: together they would slow each other down.
const MAX_PROCESSES: usize = 2;

/// These come with Coven.
pub(crate) const BUNDLED_ADAPTERS: [&str; 2] = ["demo", "shell"];

const GROUP: &str = "agents";

pub(super) async fn check() -> Vec<DoctorCheck> {
    let adapters = AdapterConfigLoader::new(folders::adapters());
    let mut waiting = JoinSet::new();
    let places = Arc::new(Semaphore::new(MAX_PROCESSES));
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
                let places = places.clone();
                waiting.spawn(async move { one(kind, &loaded.config, &places).await });
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

async fn one(kind: String, config: &Config, places: &Semaphore) -> DoctorCheck {
    let program = config.command.as_deref().unwrap_or(&kind);
    let Some(path) = find(program) else {
        let install = config.install.clone();
        let mend = install.unwrap_or_else(|| format!("install `{program}`, if you want to use it"));
        return DoctorCheck::new(GROUP, &kind, State::Note, "is not installed").mend(mend);
    };
    let place = path.display().to_string();
    if config.version_args.is_empty() {
        return DoctorCheck::ok(GROUP, &kind, place);
    }
    // The semaphore is never closed.
    let _place = places.acquire().await.ok();
    let args = config.version_args.clone();
    let asked =
        spawn_blocking(move || installed::printed_by(&path, &args, None, VERSION_TIMEOUT)).await;
    let version = match asked {
        Ok(Ok(printed)) => ProgramVersion::find(&printed).ok_or_else(String::new),
        Ok(Err(error)) => Err(format!(": {error}")),
        Err(error) => Err(format!(": {error}")),
    };
    match version {
        Ok(version) => compared(&kind, config, &version, &place),
        Err(why) => {
            let what = format!("{place} does not say its version{why}");
            DoctorCheck::new(GROUP, &kind, State::Note, what)
                .mend(format!("try: {program} {}", config.version_args.join(" ")))
        }
    }
}

/// What an installed version is worth, held against those that the adapter knows.
fn compared(kind: &str, config: &Config, version: &ProgramVersion, place: &str) -> DoctorCheck {
    let known = |text: &Option<String>| text.as_deref()?.parse::<ProgramVersion>().ok();
    let (minimum, tested) = (known(&config.minimum_version), known(&config.tested_version));
    if let Some(minimum) = minimum.filter(|minimum| version < minimum) {
        let what =
            format!("{version} is older than {minimum}, the oldest that is known to work: {place}");
        let mend = config
            .install
            .as_ref()
            .map_or_else(|| format!("update `{kind}`"), |install| format!("update it: {install}"));
        return DoctorCheck::new(GROUP, kind, State::Note, what).mend(mend);
    }
    if let Some(tested) = tested.filter(|tested| version > tested) {
        let what = format!("{version} is newer than {tested}, the newest that was tested: {place}");
        let mend = format!(
            "it will mostly work; if its state is read wrongly: coven explain, coven adapter new {kind} --from {kind}"
        );
        return DoctorCheck::new(GROUP, kind, State::Note, what).mend(mend);
    }
    DoctorCheck::ok(GROUP, kind, format!("{version}: {place}"))
}

/// Where a program is.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        let path = std::path::absolute(program).ok()?;
        return installed::find(path.to_str()?, None);
    }
    installed::find(program, env::var_os("PATH").as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(installed: &str) -> (State, String) {
        let loader = AdapterConfigLoader::default();
        let config = loader.load("claude", None).unwrap().config;
        let check = compared("claude", &config, &installed.parse().unwrap(), "/bin/claude");
        (check.state, check.what)
    }

    #[test]
    fn a_version_is_held_against_the_oldest_and_the_newest_that_are_known() {
        assert_eq!(
            told("1.0.128"),
            (
                State::Note,
                "1.0.128 is older than 2.0.55, the oldest that is known to work: /bin/claude"
                    .into()
            )
        );
        for known in ["2.0.55", "2.1.197", "2.1.325"] {
            assert_eq!(told(known), (State::Ok, format!("{known}: /bin/claude")));
        }
        let (state, what) = told("2.2.0");
        assert_eq!(state, State::Note);
        assert_eq!(what, "2.2.0 is newer than 2.1.325, the newest that was tested: /bin/claude");
    }
}
