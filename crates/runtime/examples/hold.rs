//! A holder on its own: what `coven hold` does, without the rest of `coven`.

use std::process::ExitCode;

use coven_runtime::hold::{HoldRequest, hold};

fn main() -> ExitCode {
    // The first argument is the verb.
    let request = HoldRequest::from_args(std::env::args_os().skip(2));
    let held = request.map_err(|error| error.to_string()).and_then(|request| {
        hold(request, &mut std::io::stdout()).map_err(|error| error.to_string())
    });
    match held {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hold: {error}");
            ExitCode::FAILURE
        }
    }
}
