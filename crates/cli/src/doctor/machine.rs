//! What the machine can do: the kernel, its limits, the disk, the programs scripts need.

#[cfg(target_os = "linux")]
use std::path::Path;

use coven_runtime::machine::{self, TerminalLimits};
use coven_runtime::sandbox::{Enforcement, PORTS_ABI, SCOPES_ABI};
use rustix::process::{Resource, getrlimit};

use super::agents::find;
use super::{DoctorCheck, State};
use crate::folders;

/// Every agent has a terminal and some files; fewer is no good for a team of them.
const MIN_OPEN_FILES: u64 = 1024;
const MIN_TERMINALS: u64 = 32;

/// Less free disk than this and journals may stop.
const MIN_FREE_DISK_BYTES: u64 = 200 << 20;

pub(super) fn check() -> Vec<DoctorCheck> {
    let mut checks = vec![confinement()];
    #[cfg(target_os = "linux")]
    checks.extend([cgroup(), processes()]);
    checks.extend(limitations());
    checks.extend([terminals(), files()]);
    checks.extend(disk());
    checks.extend([shell(), git()]);
    checks
}

/// What Coven promises elsewhere and cannot do on this system.
fn limitations() -> impl Iterator<Item = DoctorCheck> {
    let all = machine::limitations().iter();
    all.map(|limit| DoctorCheck::new("system", limit.name, State::Note, limit.what))
}

fn confinement() -> DoctorCheck {
    let (group, name) = ("kernel", "landlock");
    match Enforcement::of_this_kernel() {
        Enforcement::Files { abi } if abi >= SCOPES_ABI => {
            // Agents below permission `all` cannot use sudo.
            DoctorCheck::ok(group, name, format!("version {abi}; files, ports, signals (no sudo)"))
        }
        Enforcement::Files { abi } => {
            let ports = if abi >= PORTS_ABI { " and ports" } else { "" };
            let what = format!("version {abi}; confines files{ports}, but not signals");
            DoctorCheck::new(group, name, State::Note, what)
                .mend("a kernel from 6.12 on keeps agents from killing their holder")
        }
        Enforcement::Nothing => DoctorCheck::new(
            group,
            name,
            State::Note,
            "agents cannot be confined",
        )
        .mend(
            "a kernel from 5.13 on with `landlock` in its lsm= list; runs say so and go on without",
        ),
    }
}

#[cfg(target_os = "linux")]
fn cgroup() -> DoctorCheck {
    let (group, name) = ("kernel", "cgroup");
    if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        return DoctorCheck::ok(group, name, "version 2");
    }
    // Whole trees are ended without it.
    DoctorCheck::ok(group, name, "not version 2; trees of processes are ended without it")
}

/// Whether the system shows the processes above ours. They tell a person from an agent.
#[cfg(target_os = "linux")]
fn processes() -> DoctorCheck {
    let (group, name) = ("kernel", "/proc");
    if machine::process(1).is_some() {
        return DoctorCheck::ok(group, name, "shows the ancestors of every process");
    }
    let what = "hides processes, so that commands count as an agent's";
    DoctorCheck::new(group, name, State::Note, what)
        .mend("mount /proc without hidepid, or decide on the page: coven ui")
}

fn terminals() -> DoctorCheck {
    let (group, name) = ("limits", "terminals");
    let Ok(TerminalLimits { max: most, used }) = machine::terminal_limits() else {
        return DoctorCheck::ok(group, name, "the kernel tells no limit");
    };
    let Some(used) = used else {
        return DoctorCheck::ok(group, name, format!("at most {most}"));
    };
    let left = most.saturating_sub(used);
    let what = format!("{left} of {most} left");
    if left >= MIN_TERMINALS {
        return DoctorCheck::ok(group, name, what);
    }
    let state = if left == 0 { State::Bad } else { State::Note };
    DoctorCheck::new(group, name, state, what)
        .mend("sysctl -w kernel.pty.max=4096, or close some terminals")
}

fn files() -> DoctorCheck {
    let (group, name) = ("limits", "open files");
    let most = getrlimit(Resource::Nofile).current;
    let what =
        most.map_or_else(|| "no limit".to_owned(), |most| format!("{most} for each process"));
    if most.is_none_or(|most| most >= MIN_OPEN_FILES) {
        return DoctorCheck::ok(group, name, what);
    }
    DoctorCheck::new(group, name, State::Note, what).mend("ulimit -n 8192 before the daemon starts")
}

fn disk() -> Vec<DoctorCheck> {
    let mut places = Vec::new();
    if let Ok(folders) = folders::places() {
        places.push(("state", folders.state_dir));
    }
    if let Ok(base) = folders::base_dir(None) {
        places.push(("this folder", base));
    }
    let one = |(name, path): (&'static str, std::path::PathBuf)| {
        // What is not there yet lies where the first folder above it does.
        let there = path.ancestors().find(|folder| folder.exists())?.to_owned();
        let about = rustix::fs::statvfs(&there).ok()?;
        let free = about.f_bavail.saturating_mul(about.f_frsize);
        let what = format!("{} MiB free for {}", free >> 20, path.display());
        if free >= MIN_FREE_DISK_BYTES {
            return Some(DoctorCheck::ok("disk", name, what));
        }
        Some(
            DoctorCheck::new("disk", name, State::Bad, what)
                .mend("make room; `coven ls` and `coven rm` delete old sessions"),
        )
    };
    places.into_iter().filter_map(one).collect()
}

fn shell() -> DoctorCheck {
    let (group, name) = ("programs", "bash");
    match (find("bash"), find("sh")) {
        (Some(path), _) => DoctorCheck::ok(group, name, path.display().to_string()),
        (None, Some(path)) => {
            let what = format!("is not there; scripts and gates run by {}", path.display());
            DoctorCheck::new(group, name, State::Note, what).mend("install bash")
        }
        (None, None) => {
            DoctorCheck::new(group, name, State::Bad, "there is no shell for scripts and gates")
                .mend("install bash")
        }
    }
}

fn git() -> DoctorCheck {
    match find("git") {
        Some(path) => DoctorCheck::ok("programs", "git", path.display().to_string()),
        None => {
            DoctorCheck::new("programs", "git", State::Note, "is not there; prepare-pr needs it")
                .mend("install git")
        }
    }
}
