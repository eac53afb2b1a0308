//! `cargo xtask test`: the test command of the README. Whatever the tests come to need beyond a
//! Rust toolchain is to be arranged here, so that this one command keeps working on a new machine.

use crate::error::Error;
use crate::{browser, cargo};

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Passed on to `cargo test`, for example a part of a test's name
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Unit, integration and documentation tests, with the examples built because tests run them.
///
/// Benchmarks are left out on purpose: as a test they would measure a debug build. Clippy
/// compiles them in `cargo xtask ci`.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    browser::arrange()?;
    cargo::run(&command_line(&args.rest))
}

fn command_line(rest: &[String]) -> Vec<&str> {
    let mut line = vec!["test", "--workspace", "--no-fail-fast"];
    line.extend(rest.iter().map(String::as_str));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_dashes_reaches_cargo_test_unchanged() {
        let rest = ["wraps".to_owned(), "--".to_owned(), "--nocapture".to_owned()];
        assert_eq!(
            command_line(&rest),
            ["test", "--workspace", "--no-fail-fast", "wraps", "--", "--nocapture"]
        );
    }
}
