//! Writing to stdout: what was asked for, and nothing else.

mod paint;
mod table;
mod text;
mod time;

use std::io::{self, IsTerminal, Write};

pub(crate) use paint::OutputPaint;
pub(crate) use table::table;
pub(crate) use text::{PutText, clean, folded, one_line, shortened, visible, width, wrapped};
pub(crate) use time::{age, ago, clock, moment, now};

use crate::failure::Result;

/// Writes a text. A reader that went away is no failure.
pub(crate) fn write(text: &str) -> Result {
    bytes(text.as_bytes())
}

/// Writes bytes as they are.
pub(crate) fn bytes(bytes: &[u8]) -> Result {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

pub(crate) fn line(text: &str) -> Result {
    write(&format!("{text}\n"))
}

/// Writes a value as JSON that people can read.
pub(crate) fn json(value: &serde_json::Value) -> Result {
    line(&format!("{value:#}"))
}

/// Writes anything as JSON that people can read.
pub(crate) fn as_json(value: &impl serde::Serialize) -> Result {
    json(&serde_json::to_value(value).map_err(crate::failure::CommandFailure::failed)?)
}

fn colour(terminal: bool) -> bool {
    terminal
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|value| value != "dumb")
}

/// How wide a line on stderr may be; `None` where stderr is no terminal.
pub(crate) fn columns_of_stderr() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col).max(20))
}

pub(crate) fn colour_on_stderr() -> bool {
    colour(io::stderr().is_terminal())
}

pub(crate) fn paint() -> OutputPaint {
    OutputPaint::new(colour(io::stdout().is_terminal()))
}

pub(crate) fn paint_stderr() -> OutputPaint {
    OutputPaint::new(colour_on_stderr())
}

/// How wide a line may be: the terminal's width, and 80 where there is none.
pub(crate) fn columns() -> usize {
    crate::tty::size().map_or(80, |(columns, _)| usize::from(columns).max(20))
}
