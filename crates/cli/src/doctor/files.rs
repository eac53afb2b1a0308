//! Whether the files people wrote are right, and ours can be written.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use coven_adapters::AdapterConfigLoader;
use coven_daemon::{ServiceConfig, UserFolders};
use coven_store::SealKey;
use coven_store::authority::is_writable_by_others;
use coven_store::seal::KeyError;
use coven_workflow::CheckEnvironment;
use coven_workflow::catalogue::GrimoireCatalogue;

use super::{DoctorCheck, State};
use crate::folders;

const GROUP: &str = "files";

/// The longest path of a socket that the system takes.
const MAX_SOCKET_PATH_BYTES: usize = 107;

pub(super) fn check() -> Vec<DoctorCheck> {
    let Ok(places) = folders::places() else {
        let what = "neither HOME nor XDG_STATE_HOME says where to keep anything";
        return vec![DoctorCheck::new(GROUP, "state", State::Bad, what).mend("set HOME")];
    };
    let mut checks = vec![state(&places.state_dir), config(&places.config())];
    checks.extend(authority(&places));
    let socket = places.socket();
    if socket.as_os_str().len() > MAX_SOCKET_PATH_BYTES {
        let what = format!("the path of the socket is too long: {}", socket.display());
        checks.push(
            DoctorCheck::new(GROUP, "socket", State::Bad, what)
                .mend("set XDG_STATE_HOME to a shorter path"),
        );
    }
    checks.push(policy(&places));
    checks.extend(grimoires());
    checks
}

fn state(path: &Path) -> DoctorCheck {
    let name = "state";
    let shown = path.display();
    match fs::metadata(path) {
        Err(_) => DoctorCheck::ok(GROUP, name, format!("{shown} is made when it is needed")),
        Ok(about) if rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_err() => {
            let what = format!(
                "{shown} cannot be written to (mode {:o})",
                about.permissions().mode() & 0o777
            );
            DoctorCheck::new(GROUP, name, State::Bad, what).mend(format!("chmod u+rwx {shown}"))
        }
        Ok(about) if about.permissions().mode() & 0o077 != 0 => {
            let what = format!("{shown} can be read by others");
            DoctorCheck::new(GROUP, name, State::Note, what).mend(format!("chmod 700 {shown}"))
        }
        Ok(_) => DoctorCheck::ok(GROUP, name, shown.to_string()),
    }
}

/// The key that seals journals and the folder of jobs, if something is wrong with their places.
fn authority(places: &UserFolders) -> Vec<DoctorCheck> {
    // A configuration that cannot be read is told by its own check.
    let Ok(config) = ServiceConfig::load(&places.config()) else { return Vec::new() };
    let lies = places.authority(&config);
    let key_folder = lies.key.parent().unwrap_or(Path::new("/")).to_owned();
    let mut checks = Vec::new();
    match SealKey::read(&lies.key) {
        Err(KeyError::File { source, .. }) if source.kind() == ErrorKind::NotFound => {}
        Ok(_) => {}
        Err(error) => {
            let what = format!("the daemon cannot start: {error}");
            checks.push(DoctorCheck::new(GROUP, "sealKey", State::Bad, what));
        }
    }
    for (name, path, folder) in
        [("sealKey", &lies.key, &key_folder), ("jobsFolder", &lies.jobs, &lies.jobs)]
    {
        let shown = path.display();
        if is_writable_by_others(folder) {
            let what = format!("{} can be written by other users", folder.display());
            let mend = format!("chmod go-w {}", folder.display());
            checks.push(DoctorCheck::new(GROUP, name, State::Bad, what).mend(mend));
        }
        if let Ok(target) = fs::read_link(path) {
            let what = format!("{shown} is a link to {}", target.display());
            let mend = format!("name that path itself as `{name}` in config.yaml");
            checks.push(DoctorCheck::new(GROUP, name, State::Note, what).mend(mend));
        }
        let here = folders::base_dir(None).ok();
        let lies_in = fs::canonicalize(path).or_else(|_| fs::canonicalize(folder)).ok();
        if let (Some(here), Some(lies_in)) = (here, lies_in)
            && lies_in.starts_with(&here)
        {
            let what = format!("{shown} lies in this folder, where agents can write");
            let mend = format!("set `{name}` in config.yaml to a place outside, or work elsewhere");
            checks.push(DoctorCheck::new(GROUP, name, State::Note, what).mend(mend));
        }
    }
    checks
}

fn config(path: &Path) -> DoctorCheck {
    let name = "config.yaml";
    if !path.exists() {
        return DoctorCheck::ok(GROUP, name, "none; everything is as usual");
    }
    match ServiceConfig::load(path) {
        Ok(_) => DoctorCheck::ok(GROUP, name, path.display().to_string()),
        Err(error) => DoctorCheck::new(GROUP, name, State::Bad, first_line(&error.to_string()))
            .mend(format!("mend {}; its form: coven schema config", path.display())),
    }
}

fn policy(places: &UserFolders) -> DoctorCheck {
    let (name, path) = ("policy.yaml", places.policy());
    let other = ["policy.yml", "policy.json"].map(|other| places.config_dir.join(other));
    if let Some(other) = other.iter().find(|other| other.exists()) {
        let what = format!("{} is not read", other.display());
        return DoctorCheck::new(GROUP, name, State::Note, what)
            .mend(format!("move its rules into {}", path.display()));
    }
    match coven_daemon::read_user_policy(places) {
        Ok(None) => DoctorCheck::ok(GROUP, name, "none; every question is asked"),
        Ok(Some(policy)) if !policy.is_accepted() => {
            let what = "it was not accepted as it is now, so what it allows is asked";
            DoctorCheck::new(GROUP, name, State::Note, what).mend("coven policy accept")
        }
        Ok(Some(policy)) if policy.allows_by_matches().next().is_some() => {
            let rules: Vec<&str> =
                policy.allows_by_matches().map(|rule| rule.name.as_str()).collect();
            let what = format!("rules that allow by `matches` are asked: {}", rules.join(", "));
            DoctorCheck::new(GROUP, name, State::Note, what)
                .mend("write `version: 2` and `command` in their place: coven policy edit")
        }
        Ok(Some(_)) => DoctorCheck::ok(GROUP, name, path.display().to_string()),
        Err(problem) => DoctorCheck::new(GROUP, name, State::Bad, first_line(&problem))
            .mend(format!("coven policy test {}", path.display())),
    }
}

fn grimoires() -> Vec<DoctorCheck> {
    let known = CheckEnvironment::new(AdapterConfigLoader::new(folders::adapters()).types());
    let catalogue = GrimoireCatalogue::load(&folders::grimoires(), &known);
    let wrong: Vec<DoctorCheck> = catalogue
        .entries()
        .filter(|entry| entry.report().has_errors())
        .map(|entry| {
            let mend = format!("coven grimoire check {}", entry.name);
            DoctorCheck::new(GROUP, "grimoire", State::Note, format!("{} has errors", entry.name))
                .mend(mend)
        })
        .collect();
    if wrong.is_empty() {
        let count = catalogue.entries().count();
        return vec![DoctorCheck::ok(GROUP, "grimoires", format!("{count}, all without errors"))];
    }
    wrong
}

fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next().unwrap_or_default().to_owned()
}
