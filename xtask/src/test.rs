//! `cargo xtask test`: the test command of the README. Whatever the tests come to need beyond a
//! Rust toolchain is to be arranged here, so that this one command keeps working on a new machine.

use std::num::NonZero;
use std::path::Path;
use std::{env, fs, io, thread};

use crate::error::Error;
use crate::tidy::lexer;
use crate::tidy::tree::{self, TreeFile};
use crate::{browser, cargo};

/// Names the file to which `coven_testkit::skip` adds a line for each skip.
const SKIPS: &str = "COVEN_SKIPS";

/// Tells `coven_testkit::programs` that the programs were built together with the tests.
const PROGRAMS_BUILT: &str = "COVEN_TEST_PROGRAMS_BUILT";

/// How many tests the test harness runs at a time.
const THREADS: &str = "RUST_TEST_THREADS";

/// More at a time are faster, but tests of locks fail while another test forks.
const TESTS_PER_CORE: usize = 1;

/// How the attribute of a test begins that is run only when it is asked for.
const IGNORE: [&str; 3] = ["#", "[", "ignore"];

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
    let list = cargo::root().join("target/skipped-tests.txt");
    remove(&list)?;
    let line = command_line(&args.rest);
    let mut command = cargo::command(&line);
    command.env(SKIPS, &list).env(PROGRAMS_BUILT, "1");
    if env::var_os(THREADS).is_none() {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        command.env(THREADS, (cores * TESTS_PER_CORE).to_string());
    }
    let ended = command.status();
    let skipped = fs::read_to_string(&list).unwrap_or_default();
    let ignored = tree::read(&cargo::root())?.iter().map(ignored_in).sum();
    eprint!("{}", summary(&skipped, ignored));
    cargo::finish(&line, ended)
}

fn remove(list: &Path) -> Result<(), Error> {
    match fs::remove_file(list) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::Read { path: list.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// How many tests of a file are run only when they are asked for.
fn ignored_in(file: &TreeFile) -> usize {
    if !file.is_rust() {
        return 0;
    }
    let code = lexer::code(&file.text);
    let tokens = lexer::tokens(&code);
    tokens.windows(3).filter(|words| words.iter().map(|word| word.text).eq(IGNORE)).count()
}

/// What was not tested: each skip with its reason, and the number of ignored tests.
fn summary(skipped: &str, ignored: usize) -> String {
    let mut lines: Vec<&str> = skipped.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    let mut text = format!("{} tests skipped, {ignored} ignored", lines.len());
    text.push_str(if lines.is_empty() { "\n" } else { ":\n" });
    lines.iter().fold(text, |text, line| text + "  " + line + "\n")
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
    fn what_was_skipped_is_said_once_with_its_reason() {
        let skipped = "b: there is no git\na: only root may mount\nb: there is no git\n";
        assert_eq!(
            summary(skipped, 7),
            "2 tests skipped, 7 ignored:\n  a: only root may mount\n  b: there is no git\n"
        );
        assert_eq!(summary("", 0), "0 tests skipped, 0 ignored\n");
    }

    #[test]
    fn ignored_tests_are_counted_in_code_and_not_in_comments() {
        let text = "#[test]\n#[ignore = \"slow\"]\nfn a() {}\n// #[ignore]\n#[ignore]\nfn b() {}\n";
        let file = |path: &str| TreeFile { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(ignored_in(&file("crates/a/src/lib.rs")), 2);
        assert_eq!(ignored_in(&file("docs/a.md")), 0);
    }

    #[test]
    fn what_follows_the_dashes_reaches_cargo_test_unchanged() {
        let rest = ["wraps".to_owned(), "--".to_owned(), "--nocapture".to_owned()];
        assert_eq!(
            command_line(&rest),
            ["test", "--workspace", "--no-fail-fast", "wraps", "--", "--nocapture"]
        );
    }
}
