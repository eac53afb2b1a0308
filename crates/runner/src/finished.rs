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

/// What an agent on a terminal did before it was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// Whether it has worked since it was last told something.
    pub worked: bool,
    /// Whether it has ever worked.
    pub begun: bool,
    /// How many questions it has asked, with the one that it may be showing.
    pub questions: u64,
}

/// What an agent did, from its tape: what it said by signals and its title, what it was told, and
/// the marks of whoever followed it then.
pub fn past(adapter: &dyn AgentAdapter, folder: &Path) -> Result<Past, coven_tape::Error> {
    let rules = adapter.rules();
    let mut tap = Tap::new();
    let mut past = Past::default();
    let mut answered = true;
    for record in Reader::open(folder)?.records(0) {
        match record?.event {
            Event::Output { bytes, .. } => {
                tap.feed(&bytes, |signal| past.worked |= rules.says_working(&signal));
            }
            Event::Mark(note) if note.contains("\"state\":\"working\"") => past.worked = true,
            Event::Mark(note) if note.contains("\"state\":\"awaiting\"") => {
                past.questions += 1;
                answered = false;
            }
            Event::Input(bytes) if !is_reply(&String::from_utf8_lossy(&bytes)) => {
                past.worked = false;
                answered = true;
            }
            _ => {}
        }
        past.begun |= past.worked;
    }
    // A question that shows now, after the last one was answered, is a new one.
    past.questions += u64::from(answered);
    Ok(past)
}

/// Everything that was typed to an agent so far, in the pieces in which it was: not what a terminal
/// answers by itself.
pub fn typed(folder: &Path) -> Result<Vec<Vec<u8>>, coven_tape::Error> {
    let mut typed = Vec::new();
    for record in Reader::open(folder)?.records(0) {
        if let Event::Input(bytes) = record?.event
            && !is_reply(&String::from_utf8_lossy(&bytes))
        {
            typed.push(bytes);
        }
    }
    Ok(typed)
}
