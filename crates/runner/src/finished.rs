//! What became of a job while nobody followed it, read from what its holder wrote to disk.

use std::path::Path;

use coven_adapters::AgentAdapter;
use coven_adapters::replay::is_reply;
use coven_model::{Mode, Outcome, Usage};
use coven_runtime::domain::ExitStatus;
use coven_tape::{Event, Reader, Stream};
use coven_terminal::signals::Tap;

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

/// Whether an agent has worked since it was last told something, from its tape: it said so by a
/// signal or its title, or whoever followed it then saw it and left a mark.
pub fn worked(adapter: &dyn AgentAdapter, folder: &Path) -> Result<bool, coven_tape::Error> {
    let rules = adapter.rules();
    let mut tap = Tap::new();
    let mut worked = false;
    for record in Reader::open(folder)?.records(0) {
        match record?.event {
            Event::Output { bytes, .. } => {
                tap.feed(&bytes, |signal| worked |= rules.says_working(&signal));
            }
            Event::Mark(note) => worked |= note.contains("\"state\":\"working\""),
            Event::Input(bytes) if !is_reply(&String::from_utf8_lossy(&bytes)) => worked = false,
            _ => {}
        }
    }
    Ok(worked)
}
