//! Attacks on the real binary: what a repository, an agent or another user of the machine puts on
//! the disk is never run, answered or written to in the name of the daemon's user.
//!
//! Most of them plant a session: a folder `.coven/sessions/<id>` with a valid journal that no
//! daemon of this home wrote. Such a session is foreign. It can be looked at, and nothing of it
//! runs.

mod approvals;
mod arbiters;
mod auto;
mod browser;
mod copied;
mod copies;
mod cut;
mod escapes;
mod exchanged;
mod holders;
mod http;
mod journal;
mod links;
mod listing;
mod opening;
mod outside;
mod owner;
mod plant;
mod processes;
mod prompts;
mod sandboxed;
mod seals;
mod signals;
mod triggers;
mod trusted;
mod typing;
mod verbs;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::home::{Home, Said};

/// How long a condition may take to hold before a test fails.
const CONDITION_TIMEOUT: Duration = Duration::from_mins(1);

/// How often a condition is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Whether a condition comes to hold in this time.
fn holds_within(limit: Duration, condition: impl Fn() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !condition() {
        if Instant::now() >= end {
            return false;
        }
        thread::park_timeout(LOOK_INTERVAL);
    }
    true
}

/// Waits until a condition holds.
#[track_caller]
fn until(what: &str, condition: impl Fn() -> bool) {
    assert!(holds_within(CONDITION_TIMEOUT, condition), "waited in vain for {what}");
}

/// An empty folder of the home, beside its project.
fn folder(home: &Home, name: &str) -> PathBuf {
    let path = home.path(name);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Runs a command of ours in a folder.
fn coven_in(home: &Home, folder: &Path, args: &[&str]) -> Said {
    Said::of(&home.command(args).current_dir(folder).output().unwrap())
}

/// Runs a script in a folder, with a session of its own.
fn run_in(home: &Home, folder: &Path, command: &str) -> Said {
    home.run(&script("own", command), &["-C", folder.to_str().unwrap()])
}

/// A step that is a script.
fn script(name: &str, command: &str) -> String {
    format!("  - name: {name}\n    type: script\n    command: |\n      {command}\n")
}

/// The sessions of a folder, as `coven ls` lists them.
fn listed(home: &Home, folder: &Path) -> Value {
    home.coven(&["ls", "-C", folder.to_str().unwrap(), "--all", "--json"]).ok().json()
}

/// The row of a session in a listing; null where it is not listed.
fn row(page: &Value, id: &str) -> Value {
    let rows = page["workflows"].as_array().cloned().unwrap_or_default();
    rows.into_iter().find(|row| row["id"] == id).unwrap_or_default()
}

/// Everything below a folder: kind, mode, time of the last change and content.
fn tree(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut paths = vec![folder.to_owned()];
    while let Some(path) = paths.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_dir() {
            paths.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            String::new()
        } else if metadata.is_file() {
            String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
        } else {
            format!("{:?}", fs::read_link(&path).ok())
        };
        let (mode, seconds, nanos) = (metadata.mode(), metadata.mtime(), metadata.mtime_nsec());
        found.insert(path, format!("{mode:o} {seconds}.{nanos} {content}"));
    }
    found
}

/// Fails with the names of what differs between two looks at a folder.
#[track_caller]
fn assert_untouched(folder: &Path, before: &BTreeMap<PathBuf, String>) {
    let after = tree(folder);
    let differs = |path: &&PathBuf| before.get(*path) != after.get(*path);
    let paths = before.keys().chain(after.keys());
    let changed: Vec<&PathBuf> = paths.filter(differs).collect();
    assert!(changed.is_empty(), "created, changed or removed: {changed:#?}");
}

/// Makes a named pipe that a job can wait on.
fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Lets a job go on that reads a named pipe, once it does.
fn release(path: &Path) {
    use std::os::unix::fs::OpenOptionsExt;
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let open = || fs::OpenOptions::new().write(true).custom_flags(nonblocking).open(path);
    until("a reader of the pipe", || open().is_ok());
}
