//! The daemon as a process of its own, for tests that kill it: what `coven daemon run` does,
//! without the rest of `coven`. Its first argument is the program that holds jobs; with `no-tcp`
//! behind it, it listens on its socket alone.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is wrong is told to the test that starts it"
)]

use std::process::ExitCode;

use coven_daemon::{Options, UserFolders, serve};

fn main() -> ExitCode {
    let Some(program) = std::env::args_os().nth(1) else {
        eprintln!("name the program that holds jobs");
        return ExitCode::from(2);
    };
    let run = || -> Result<(), Box<dyn std::error::Error>> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let tcp = std::env::args_os().nth(2).is_none_or(|word| word != "no-tcp");
        let options = Options { tcp, ..Options::new(UserFolders::from_env()?, program) };
        runtime.block_on(serve(options))?;
        Ok(())
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
