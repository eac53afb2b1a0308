//! Runs the built `coven` as a user does and looks at what it prints and how it exits.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

mod adapter;
mod demo_agent;

use std::process::{Command, Output};

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
fn bare_coven_says_what_exists_and_where_to_go_on() {
    let output = coven(&[]);
    let text = stdout(&output);
    assert!(text.starts_with(concat!("coven ", env!("CARGO_PKG_VERSION"), ":")), "{text}");
    assert!(text.contains("coven --help"), "{text}");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
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
    let output = Command::new(env!("CARGO_BIN_EXE_coven")).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_a_failure() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_coven")).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("error: could not write to stdout"));
}
