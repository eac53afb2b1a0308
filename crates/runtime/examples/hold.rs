//! A holder on its own: what `coven hold` does, without the rest of `coven`.

use std::process::ExitCode;

use coven_runtime::hold::{Folder, HoldVerb, hold, snap};

fn main() -> ExitCode {
    // The first argument is the verb.
    let verb = HoldVerb::from_args(std::env::args_os().skip(2));
    let held = verb.map_err(|error| error.to_string()).and_then(|verb| {
        let done = match verb {
            HoldVerb::Hold(request) => hold(request, &mut std::io::stdout()),
            HoldVerb::Snap(folder) => snap(&Folder::new(folder)),
        };
        done.map_err(|error| error.to_string())
    });
    match held {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hold: {error}");
            ExitCode::FAILURE
        }
    }
}
