//! At the limits of the system: no more descriptors, no more terminals. Each is tried in a process
//! of its own, because the limits are the whole process's or the whole machine's.

use std::process::Command;

use coven_runtime::LocalDomain;
use coven_runtime::domain::{Domain, Pane, SpawnError};
use coven_testkit::panes;
use rustix::process::{Resource, Rlimit, setrlimit};

/// Starts processes until none can be started, says why, and shows that the limit recovers.
fn until_exhausted(most: usize) -> SpawnError {
    let folder = coven_testkit::folders::temporary().unwrap();
    let mut held: Vec<Box<dyn Pane>> = Vec::new();
    let error = loop {
        assert!(held.len() <= most, "there was no limit");
        let config = panes::shell("read line", panes::terminal(), folder.path());
        match LocalDomain::new().spawn(&config) {
            Ok(pane) => held.push(pane),
            Err(error) => break error,
        }
    };
    assert!(!held.is_empty());
    held.pop();
    let config = panes::shell("echo again", panes::terminal(), folder.path());
    let mut pane = LocalDomain::new().spawn(&config).unwrap();
    let (printed, _) = panes::run_to_end(&mut *pane);
    assert_eq!(printed.text(), "again\r\n", "one that ended makes room for another");
    error
}

pub(crate) fn run_alone(test: &str, through: &[&str]) -> bool {
    let program = std::env::current_exe().unwrap();
    let args = ["--exact", test, "--ignored", "--nocapture", "--test-threads=1"];
    let mut command = match through {
        [] => Command::new(program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
    };
    let output = command.args(args).env("COVEN_TEST_ALONE", "1").output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    printed.contains("1 passed")
}

#[test]
#[ignore = "changes the limits of its process; another test starts it alone"]
fn few_descriptors_alone() {
    if std::env::var_os("COVEN_TEST_ALONE").is_none() {
        return;
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(40), maximum: Some(40) }).unwrap();
    let error = until_exhausted(40);
    assert!(matches!(error, SpawnError::Exhausted { what: "file descriptors", .. }), "{error}");
}

#[test]
fn running_out_of_descriptors_says_so_and_recovers() {
    assert!(run_alone("limits::few_descriptors_alone", &[]));
}

#[test]
#[ignore = "needs a machine with few terminals; another test starts it in one"]
fn few_terminals_alone() {
    if std::env::var_os("COVEN_TEST_ALONE").is_none() {
        return;
    }
    let error = until_exhausted(10);
    assert!(matches!(error, SpawnError::Exhausted { what: "terminals", .. }), "{error}");
}

#[test]
fn running_out_of_terminals_says_so_and_recovers() {
    // A set of terminals of its own, with room for four. Only root may have one.
    let script = "mount -t devpts -o newinstance,ptmxmode=0666,max=4 devpts /dev/pts && \
                  mount --bind /dev/pts/ptmx /dev/ptmx && exec \"$@\"";
    let through = ["unshare", "--mount", "sh", "-c", script, "sh"];
    let may = Command::new("unshare").args(["--mount", "sh", "-c", script, "sh", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        return coven_testkit::skip::skip("only root may have a set of terminals of its own");
    }
    assert!(run_alone("limits::few_terminals_alone", &through));
}
