//! `coven daemon run`.

use coven_daemon::{Error, Options, serve};

use crate::connect::{not_inside_agent, program};
use crate::failure::{CommandFailure, FailureCode, Result};
use crate::{folders, output};

pub(super) fn run(port: Option<u16>, no_tcp: bool, detached: bool) -> Result {
    not_inside_agent()?;
    if detached {
        // Of its own session, so that closing the terminal does not end it. It fails only for who
        // has one already.
        rustix::process::setsid().ok();
    }
    let places = folders::places()?;
    let program = program().map_err(|error| {
        CommandFailure::failed(format!("this program cannot be found: {error}"))
    })?;
    let options = Options { port, tcp: !no_tcp, ..Options::new(places, program) };
    if !detached {
        output::say!(
            "The daemon runs here until Ctrl-C. Its log: {}",
            options.places.log().display()
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandFailure::failed(format!("the daemon cannot be set up: {error}")))?;
    runtime.block_on(serve(options)).map_err(|error| failed(&error))
}

fn failed(error: &Error) -> CommandFailure {
    let hint = match error {
        Error::Running { .. } => Some("coven daemon status"),
        Error::Config(_) => Some("mend the file, then try again"),
        _ => None,
    };
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        let more = source.to_string();
        if !message.contains(&more) {
            message = format!("{message}: {more}");
        }
        cause = source.source();
    }
    let failure = CommandFailure::new(FailureCode::Failed, message);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
