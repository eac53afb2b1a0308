//! How a job ended that nobody followed to its end: read from what its holder left on disk.

use std::path::Path;

use coven_adapters::AgentAdapter;
use coven_model::{Mode, Outcome, Usage};
use coven_runtime::domain::ExitStatus;
use coven_tape::{Event, Reader, Stream};

use crate::headless::decoder;
use crate::outcome;
use crate::task::OkCodes;

/// The outcome of a job whose process has ended, from its exit and its tape.
pub fn finished(
    adapter: &dyn AgentAdapter,
    mode: Mode,
    ok: &OkCodes,
    folder: &Path,
    exit: Option<ExitStatus>,
    previous: Usage,
) -> Result<Outcome, coven_tape::Error> {
    let ending = outcome::ending(None, exit);
    if mode == Mode::Interactive {
        return Ok(outcome::of_terminal(ending, ok, None));
    }
    let mut decoder = decoder(adapter, previous);
    for record in Reader::open(folder)?.records(0) {
        if let Event::Output { stream, bytes } = record?.event {
            match stream {
                Stream::Out => decoder.feed_stdout(&bytes, &mut |_| {}),
                Stream::Err => decoder.feed_stderr(&bytes, &mut |_| {}),
            }
        }
    }
    Ok(outcome::of_transcript(decoder, ending, ok, &mut |_| {}))
}
