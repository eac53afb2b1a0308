//! `coven hold`: the small process that owns one job. Coven starts it itself; its arguments are a
//! matter between the two.

use std::ffi::OsString;
use std::process::ExitCode;

use coven_runtime::hold::{HoldVerb, HolderFolder, hold, snap};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

pub(crate) fn run(arguments: Arguments) -> ExitCode {
    let verb = match HoldVerb::from_args(arguments.rest) {
        Ok(verb) => verb,
        Err(error) => {
            crate::output::say!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let done = match verb {
        HoldVerb::Hold(request) => hold(request, &mut std::io::stdout()),
        HoldVerb::Snap(folder) => snap(&HolderFolder::new(folder)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::output::say!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
