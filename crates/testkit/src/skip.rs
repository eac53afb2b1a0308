//! Tests that cannot show what they are for on this machine, and say so.
//!
//! A test that only returns looks like one that has passed. `cargo xtask test` lists what was
//! skipped, and with `COVEN_NO_SKIPS`, which the project's own checks set, a skip fails.

use std::fs::File;
use std::io::Write;

/// The file that takes a line for each skip, if this variable names one.
pub const LIST: &str = "COVEN_SKIPS";

/// With this variable a skip fails.
pub const REFUSE: &str = "COVEN_NO_SKIPS";

/// Says that the rest of a test is skipped, and why. The caller returns.
///
/// # Panics
///
/// If skips are refused.
#[track_caller]
pub fn skip(reason: &str) {
    assert!(std::env::var_os(REFUSE).is_none(), "skipped, and {REFUSE} is set: {reason}");
    note(reason);
}

/// As [`skip`], for a program that a machine need not have even where skips are refused.
pub fn skip_optional(reason: &str) {
    note(reason);
}

fn note(reason: &str) {
    let Some(list) = std::env::var_os(LIST) else { return };
    // A thread of the test harness has the name of its test.
    let thread = std::thread::current();
    let line = format!("{}: {reason}\n", thread.name().unwrap_or("a test"));
    // One write, so that the lines of two processes do not mix.
    let written = File::options()
        .append(true)
        .create(true)
        .open(&list)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    assert!(written.is_ok(), "{}: {written:?}", list.display());
}
