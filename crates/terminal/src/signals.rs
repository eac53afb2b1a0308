//! What a program tells its terminal beside the screen: window title, working directory, links,
//! notifications, prompt marks, program status and the bell.
//!
//! [`SignalTap`] reads them out of a stream on its own; a [`Screen`](crate::screen::Screen)
//! collects the same signals from the bytes it is fed. A payload that does not fit its sequence is
//! ignored.

mod osc;
mod status;

use crate::parser::{ParserSink, SequenceParser, StringTerminator};

pub(crate) use osc::read;
pub use status::{ProgramState, ProgramStatus};

/// One thing a program signalled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalSignal {
    /// The window title (OSC 0 and 2).
    Title(String),
    /// The working directory as a URL or path (OSC 7, OSC 9;9).
    Directory(String),
    /// A link begins (OSC 8). Its text is what is printed until the next link signal.
    Link {
        /// The id that ties separate parts of one link together, if given.
        id: Option<String>,
        /// Where the link leads.
        uri: String,
    },
    LinkEnd,
    /// The program wants a person to look (OSC 9, 99 and 777).
    Notification {
        /// The title, where the sequence has one.
        title: Option<String>,
        /// The text; may be empty where only a title is given.
        body: String,
    },
    /// Progress of a long task (OSC 9;4): nothing while it is hidden, else a percentage.
    Progress(Option<u8>),
    /// A shell's mark (OSC 133).
    Prompt(PromptMark),
    /// Program status (OSC 7501).
    Status(ProgramStatus),
    /// The program asks whether its status is understood (`OSC 7501 ; ?`).
    StatusQuery,
    Bell,
}

/// Where a shell stands between prompt and command (OSC 133).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptMark {
    PromptStart,
    /// The prompt ends, the command line begins.
    CommandStart,
    /// The command line was sent, output begins.
    OutputStart,
    /// The command ended, with its exit code where told.
    CommandEnd(Option<i32>),
}

/// Reads signals out of a stream that is fed in chunks of any size.
#[derive(Clone, Debug, Default)]
pub struct SignalTap {
    parser: SequenceParser,
}

impl SignalTap {
    /// A tap at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes and hands over the signals in order.
    pub fn feed(&mut self, bytes: &[u8], out: impl FnMut(TerminalSignal)) {
        self.parser.feed(bytes, &mut SignalSink(out));
    }
}

struct SignalSink<F>(F);

impl<F: FnMut(TerminalSignal)> ParserSink for SignalSink<F> {
    fn text(&mut self, _text: &str) {}

    fn control(&mut self, byte: u8) {
        if byte == 0x07 {
            (self.0)(TerminalSignal::Bell);
        }
    }

    fn osc(&mut self, payload: &[u8], _end: StringTerminator) {
        if let Some(signal) = read(payload) {
            (self.0)(signal);
        }
    }
}

#[cfg(test)]
mod tests;
