//! The terminal this command was started from: its size, its keys, and leaving it as it was.

use std::io::{self, IsTerminal, Read};
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetwinsize, tcsetattr,
};
use tokio::io::unix::AsyncFd;

use crate::failure::{CommandFailure, Result};

/// Everything that comes on stdin.
pub(crate) fn all_input() -> Result<String> {
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map_err(|error| CommandFailure::failed(format!("could not read stdin: {error}")))?;
    Ok(text)
}

/// Whether a person sits there who can be asked: keys come from a terminal, and go to one.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether the terminal says that it understands no escape sequences.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|value| value == "dumb")
}

/// Fails where a screen is to be shown on a terminal that cannot show one. `instead` is what can be
/// done there.
pub(crate) fn refuse_dumb(instead: &str) -> Result {
    if !is_dumb() {
        return Ok(());
    }
    Err(CommandFailure::failed("this terminal shows no screens: TERM is `dumb`").hint(instead))
}

/// Columns and rows of the terminal we write to, if it is one.
pub(crate) fn size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

/// What becomes of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyMode {
    /// Each key comes at once and is not shown; Ctrl-C still interrupts.
    Single,
    /// Every byte is passed on as it is.
    Raw,
}

/// The keyboard, set so that keys can be read one by one. Dropping it sets the terminal back as
/// it was, also on a panic.
#[derive(Debug)]
pub(crate) struct TerminalKeyboard {
    before: Termios,
    input: AsyncFd<OwnedFd>,
}

/// Throws away what was typed so far: it was typed before what is asked next was shown.
pub(crate) fn discard_typed() -> io::Result<()> {
    Ok(tcflush(io::stdin(), QueueSelector::IFlush)?)
}

/// Whether what was typed is the key `y` and nothing else: a word that begins with it was meant for
/// something else.
pub(crate) fn is_yes(typed: &[u8]) -> bool {
    matches!(typed.trim_ascii_end(), b"y" | b"Y")
}

/// Reads a line that is not shown while it is typed, where it comes from a terminal.
pub(crate) fn read_hidden_line() -> io::Result<String> {
    let stdin = io::stdin();
    let mut line = String::new();
    let Ok(before) = tcgetattr(&stdin) else {
        stdin.read_line(&mut line)?;
        return Ok(line);
    };
    let mut hidden = before.clone();
    hidden.local_modes &= !LocalModes::ECHO;
    tcsetattr(&stdin, OptionalActions::Now, &hidden)?;
    let read = stdin.read_line(&mut line);
    tcsetattr(&stdin, OptionalActions::Now, &before)?;
    read?;
    Ok(line)
}

impl TerminalKeyboard {
    /// Takes the keyboard. Must be called inside the runtime.
    pub(crate) fn take(keys: KeyMode) -> io::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let input = coven_runtime::readiness::watch(fcntl_dupfd_cloexec(&stdin, 0)?)?;
        let mut now = before.clone();
        match keys {
            KeyMode::Raw => now.make_raw(),
            KeyMode::Single => now.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO),
        }
        now.special_codes[SpecialCodeIndex::VMIN] = 1;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&stdin, OptionalActions::Now, &now)?;
        Ok(Self { before, input })
    }

    /// What was typed; nothing once the terminal is gone. Nothing is lost if the caller stops
    /// waiting.
    pub(crate) async fn read(&self) -> io::Result<Vec<u8>> {
        loop {
            let mut ready = self.input.readable().await?;
            // The descriptor is shared with the shell and stays blocking, so look before reading.
            let mut fds = [PollFd::new(self.input.get_ref(), PollFlags::IN)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            if poll(&mut fds, Some(&now))? == 0 {
                ready.clear_ready();
                continue;
            }
            let mut buffer = [0; 4096];
            let count = rustix::io::read(self.input.get_ref(), &mut buffer)?;
            return Ok(buffer[..count].to_vec());
        }
    }
}

impl Drop for TerminalKeyboard {
    fn drop(&mut self) {
        // Nothing more can be done for a terminal that is gone.
        tcsetattr(io::stdin(), OptionalActions::Drain, &self.before).ok();
    }
}
