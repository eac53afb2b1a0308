//! A holder on its own: what `coven hold` does, without the rest of `coven`. The tests of this
//! crate start it. Its one line of output is for the program that starts it.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::ExitCode;

use coven_runtime::hold::{Folder, HoldVerb, hold, snap};

fn main() -> ExitCode {
    // The first argument is the verb of `coven`.
    let Ok(verb) = HoldVerb::from_args(std::env::args_os().skip(2)) else {
        return ExitCode::from(2);
    };
    let done = match verb {
        HoldVerb::Hold(request) => {
            let Ok(report) = std::io::stdout().as_fd().try_clone_to_owned() else {
                return ExitCode::FAILURE;
            };
            hold(request, &mut File::from(report)).is_ok()
        }
        HoldVerb::Snap(folder) => snap(&Folder::new(folder)).is_ok(),
    };
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
