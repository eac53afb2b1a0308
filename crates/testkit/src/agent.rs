//! What `coven demo-agent` and `coven hold` do, without the rest of `coven`, for the programs that
//! tests start and for examples that are their own holder.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use coven_demo::{AgentStreams, Options};
use coven_runtime::hold::{HoldVerb, HolderFolder, hold, snap};

const HOLD: &str = "hold";

/// The demo agent, or its holder if the first argument says so.
pub fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(HOLD) => hold_from_args(),
        Some(coven_demo::SUBCOMMAND) => demo(),
        _ => ExitCode::FAILURE,
    }
}

/// Whether the arguments of this process ask for [`main`] rather than for what the program is for.
pub fn is_asked_for() -> bool {
    matches!(std::env::args().nth(1).as_deref(), Some(HOLD | coven_demo::SUBCOMMAND))
}

/// Holds a process as the arguments say. Its one line of output is for the program that starts it.
pub fn hold_from_args() -> ExitCode {
    // The first argument is the verb of `coven`.
    let Ok(verb) = HoldVerb::from_args(std::env::args_os().skip(2)) else {
        return ExitCode::from(2);
    };
    let done = match verb {
        HoldVerb::Hold(request) => {
            let Ok(report) = io::stdout().as_fd().try_clone_to_owned() else {
                return ExitCode::FAILURE;
            };
            hold(request, &mut File::from(report)).is_ok()
        }
        HoldVerb::Snap(folder) => snap(&HolderFolder::new(folder)).is_ok(),
    };
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn demo() -> ExitCode {
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    let streams =
        AgentStreams { input: input.as_fd(), output: output.as_fd(), errors: errors.as_fd() };
    match options().and_then(|options| coven_demo::run(&options, streams).ok()) {
        Some(code) => ExitCode::from(code),
        None => ExitCode::from(2),
    }
}

fn options() -> Option<Options> {
    let mut options = Options { delay: Duration::from_millis(20), ..Options::default() };
    let mut arguments = std::env::args().skip(2);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--headless" => options.headless = true,
            "--acp" => options.acp = true,
            "--alt" => options.alternate = true,
            "--output-format" => options.output_format = arguments.next()?.parse().ok()?,
            "--permissions" => options.permissions = arguments.next()?.parse().ok()?,
            "--resume" => options.resume = Some(arguments.next()?),
            "--session-id" => options.session_id = Some(arguments.next()?),
            "--script" => options.script = Some(arguments.next()?.into()),
            "--first" => options.first = Some(arguments.next()?),
            "--model" => options.model = arguments.next()?,
            "--helper" => options.helper = Some(arguments.next()?.parse().ok()?),
            _ => options.prompt = Some(argument.into()),
        }
    }
    Some(options)
}
