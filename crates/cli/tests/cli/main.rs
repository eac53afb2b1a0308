//! Runs the built `coven` as a user does and looks at what it prints and how it exits. One file for
//! each verb; each test has a home, a project and a daemon of its own.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

mod adapter;
mod always;
mod answer;
mod attach;
mod attacks;
mod audit;
mod cancel;
mod causes;
mod ceremony;
mod completions;
mod daemon;
mod deleted;
mod demo_agent;
mod device;
mod docs;
mod doctor;
mod events;
mod exit_codes;
mod explain;
mod file_reference;
mod finish;
mod full_disk;
mod grimoire;
mod home;
mod inbox;
mod init;
mod inside;
mod json;
mod kept;
mod keys;
mod large_values;
mod locale;
mod logs;
mod ls;
mod man;
mod names;
mod narrow;
mod new;
mod nothing;
mod play;
mod policy;
mod readme;
mod results;
mod resume;
mod retry;
mod review;
mod rm;
mod run;
mod schema;
mod send;
mod show;
mod skew;
mod stop;
mod terminal;
mod trees;
mod trust;
mod ui;
mod unheard;
mod upgrade;
mod wait;

use std::process::{Command, Output};
use std::time::Duration;

/// How long anything may take before a test fails. Nothing takes that long unless it is broken.
const STEP_TIMEOUT: Duration = Duration::from_mins(1);

fn coven(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coven")).args(args).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn version_is_one_line_with_name_and_number() {
    let output = coven(&["--version"]);
    assert_eq!(stdout(&output), format!("coven {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn help_says_what_coven_is_for_and_how_to_call_it() {
    let output = coven(&["--help"]);
    let text = stdout(&output);
    assert!(text.starts_with("Runs teams of AI coding CLIs on your own machine."), "{text}");
    assert!(text.contains("Usage: coven"), "{text}");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn help_groups_the_verbs_by_what_people_do() {
    let text = stdout(&coven(&["--help"])).to_owned();
    let heads = ["\nStart:\n", "\nLook:\n", "\nAnswer:\n", "\nRepair:\n", "\nWrite:\n"];
    let places: Vec<Option<usize>> = heads.iter().map(|head| text.find(head)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
    let group = |from: usize, to: usize| &text[places[from].unwrap()..places[to].unwrap()];
    assert!(group(0, 1).contains("\n  run ") && group(1, 2).contains("\n  output "), "{text}");
    assert!(group(2, 3).contains("\n  approve ") && group(3, 4).contains("\n  doctor "), "{text}");
    assert!(text[places[4].unwrap()..].contains("\n  grimoire ") && text.contains("workflow"));
    assert_eq!(stdout(&coven(&["-h"])).matches("\n  run ").count(), 1);
    assert!(stdout(&coven(&["workflow", "ls"])).contains("demo"));
}

#[test]
fn an_unknown_option_is_a_usage_error_told_on_stderr() {
    let output = coven(&["--no-such-option"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""));
    assert!(stderr(&output).contains("--no-such-option"), "{}", stderr(&output));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_coven"));
    let output = command.args(["adapter", "ls"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_a_failure() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_coven"));
    let output = command.args(["adapter", "ls"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("error: could not write to stdout"));
}
