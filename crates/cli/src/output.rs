//! Everything that a command prints: what was asked for on stdout, everything else on stderr.
//!
//! Nothing in a text acts on the terminal but our own paint, whatever names, arguments and messages
//! it is made of. Exact bytes go through [`bytes`] alone: recordings, and what draws on a terminal.

mod charset;
mod paint;
mod table;
mod text;
mod time;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use coven_notation::ProblemReport;

use charset::OutputCharset;
pub(crate) use paint::OutputPaint;
pub(crate) use table::table;
pub(crate) use text::{
    PutText, clean, folded, one_line, shortened, shown, visible, width, wrapped,
};
pub(crate) use time::{age, ago, clock, moment, now};

use crate::failure::{self, CommandFailure, Result};

/// Says a line on stderr; takes what `format!` takes.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::say_text(format_args!("{}\n", format_args!($($text)*))) };
}

/// The same without the end of the line.
macro_rules! ask {
    ($($text:tt)*) => { $crate::output::ask_text(format_args!($($text)*)) };
}

pub(crate) use {ask, say};

/// Whether the reader of stdout went away, as `head` does.
static READER_GONE: AtomicBool = AtomicBool::new(false);

/// Whether the reader of stdout went away. What only prints can stop then.
pub(crate) fn is_reader_gone() -> bool {
    READER_GONE.load(Ordering::Relaxed)
}

/// Writes a text. A reader that went away is no failure.
pub(crate) fn write(text: &str) -> Result {
    bytes(shown(text).as_bytes())
}

/// Writes bytes as they are.
pub(crate) fn bytes(bytes: &[u8]) -> Result {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        Err(_) => {
            READER_GONE.store(true, Ordering::Relaxed);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

pub(crate) fn line(text: &str) -> Result {
    write(&format!("{text}\n"))
}

/// Writes what a file has: to another program as it is, to a terminal so that nothing acts on it.
pub(crate) fn file(text: &str) -> Result {
    if io::stdout().is_terminal() { write(text) } else { bytes(text.as_bytes()) }
}

/// Writes a value as JSON that people can read.
pub(crate) fn json(value: &serde_json::Value) -> Result {
    bytes(format!("{}\n", text::json_shown(&format!("{value:#}"))).as_bytes())
}

/// Writes anything as JSON that people can read.
pub(crate) fn as_json(value: &impl serde::Serialize) -> Result {
    json(&serde_json::to_value(value).map_err(CommandFailure::failed)?)
}

/// Writes anything as one line of JSON.
pub(crate) fn json_line(value: &impl serde::Serialize) -> Result {
    let json = serde_json::to_string(value).map_err(CommandFailure::failed)?;
    bytes(format!("{}\n", text::json_shown(&json)).as_bytes())
}

/// Writes values as a line of JSON each, all at once.
pub(crate) fn json_lines(values: &[serde_json::Value]) -> Result {
    let text: String = values.iter().map(|value| format!("{value}\n")).collect();
    bytes(text::json_shown(&text).as_bytes())
}

/// Writes a value as one line of JSON on stderr.
pub(crate) fn say_json(value: &serde_json::Value) {
    on_stderr(&format!("{}\n", text::json_shown(&value.to_string())));
}

/// Writes a text on stderr for people; [`say`] is how it is called. Programs that read JSON are not
/// given another text.
pub(crate) fn say_text(text: fmt::Arguments<'_>) {
    if !failure::as_json() {
        ask_text(text);
    }
}

/// The same for what a person is asked; [`ask`] is how it is called.
pub(crate) fn ask_text(text: fmt::Arguments<'_>) {
    on_stderr(&shown(&text.to_string()));
}

/// What is wrong with a file, for a program that is told it as JSON with the failure.
static UNTOLD_REPORT: Mutex<Option<String>> = Mutex::new(None);

/// What is wrong with a file and was not told, because a program reads JSON.
pub(crate) fn take_report() -> Option<String> {
    UNTOLD_REPORT.lock().ok()?.take()
}

/// Tells what is wrong with a file. The report shows harmlessly what it has from there.
pub(crate) fn report(report: &ProblemReport) {
    if failure::as_json() {
        if let Ok(mut untold) = UNTOLD_REPORT.lock() {
            *untold = Some(report.render(false));
        }
        return;
    }
    let mut text = String::new();
    OutputCharset::of_environment().put(&report.render(colour_on_stderr()), &mut text);
    on_stderr(&text);
}

/// Draws a line on stderr in the place of the one before, on a terminal.
pub(crate) fn redraw(text: &str) {
    on_stderr(&format!("\r{}\x1b[K", shown(text)));
}

fn on_stderr(text: &str) {
    // There is nowhere else to say that nothing can be said.
    io::stderr().lock().write_all(text.as_bytes()).ok();
}

fn colour(terminal: bool) -> bool {
    terminal
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && !crate::tty::is_dumb()
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
