//! The screen as a person would see it: a facade over the emulator of `alacritty_terminal` that
//! corrects it where programs can meet the difference, bounds its memory, and tells what changed.
//!
//! Synchronized output (mode 2026) is applied as it arrives and told by
//! [`ScreenModes::synchronized`]: the screen is always a function of exactly the bytes fed, and a
//! reader that wants whole frames waits until the mode is off again.

mod buffer;
mod csi;
mod cursor;
mod damage;
mod edit;
mod engine;
mod grid;
mod mode;
mod osc;
mod palette;
mod print;
mod resize;
mod sgr;

use crate::dump;
use crate::keys;
use crate::parser::SequenceParser;
use crate::signals::TerminalSignal;
use crate::snapshot::ScreenSnapshot;

pub(crate) use buffer::KittyKeyboard;
pub(crate) use cursor::SavedCursor;
pub use damage::ScreenDamage;
pub(crate) use engine::{LeavingRow, ScreenEmulator};
pub(crate) use grid::Grid;
pub use mode::{MouseEncoding, MouseTracking, ScreenModes};
pub(crate) use palette::ColorPalette;
pub use palette::Rgb;
pub(crate) use print::is_tone;

/// Smallest and largest screen. One column cannot hold a wide character; a screen of the largest
/// size takes about 100 MB, and no display comes near it.
const COLUMNS: std::ops::RangeInclusive<u16> = 2..=2000;
const ROWS: std::ops::RangeInclusive<u16> = 1..=1000;

/// What is fed to a screen when a part of the output is lost: it ends a sequence that was cut in the
/// middle, then clears the screen, of which nothing is known any more.
pub const FORGET_SCREEN: &[u8] = b"\x18\x1b[H\x1b[2J";

/// A screen's columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GridSize {
    /// Columns, 2 to 2000.
    pub columns: u16,
    /// Rows, 1 to 1000.
    pub rows: u16,
}

impl GridSize {
    /// A size, brought into the range a screen can have.
    pub fn new(columns: u16, rows: u16) -> Self {
        Self {
            columns: columns.clamp(*COLUMNS.start(), *COLUMNS.end()),
            rows: rows.clamp(*ROWS.start(), *ROWS.end()),
        }
    }
}

impl Default for GridSize {
    fn default() -> Self {
        Self::new(80, 24)
    }
}

/// What a new screen is to be like.
#[derive(Clone, Debug)]
pub struct Options {
    pub size: GridSize,
    /// Rows kept above the screen, so that a smaller size and back loses nothing. They take memory
    /// from the beginning; longer history belongs on disk. At most 10,000.
    pub history: usize,
    /// Whether queries are answered. Off when bytes are fed that were answered long ago.
    pub replies: bool,
    /// What OSC 10 answers.
    pub foreground: Rgb,
    /// What OSC 11 answers.
    pub background: Rgb,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size: GridSize::default(),
            history: 24,
            replies: true,
            foreground: Rgb { r: 0xe5, g: 0xe5, b: 0xe5 },
            background: Rgb { r: 0, g: 0, b: 0 },
        }
    }
}

/// Where the cursor is and how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScreenCursor {
    /// Row, from 0 at the top.
    pub row: u16,
    /// Column, from 0 at the left.
    pub column: u16,
    /// Whether it is shown.
    pub visible: bool,
    /// The last column is written and the next character goes to the next row.
    pub pending_wrap: bool,
    /// Shape as given to DECSCUSR, 0 to 6.
    pub style: u8,
}

/// A terminal screen that is fed bytes.
pub struct Screen {
    parser: SequenceParser,
    engine: ScreenEmulator,
}

impl Screen {
    /// An empty screen of this size with everything else as usual.
    pub fn new(size: GridSize) -> Self {
        Self::with_options(&Options { size, ..Options::default() })
    }

    pub fn with_options(options: &Options) -> Self {
        Self { parser: SequenceParser::new(), engine: ScreenEmulator::new(options) }
    }

    /// Reads the next bytes of the program's output, in chunks of any size.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.parser.feed(bytes, &mut self.engine);
    }

    /// How many rows have left the screen at its top by line feeds, so far.
    pub fn scrolled(&self) -> u64 {
        self.engine.scrolled
    }

    /// Goes on counting those rows from here, for a screen that a dump has brought to the state of
    /// another: a dump does not carry the count.
    pub fn set_scrolled(&mut self, rows: u64) {
        self.engine.scrolled = rows;
    }

    /// Changes the size; the main screen's lines are wrapped anew. Sizes out of range are brought
    /// into it: see what came out with [`Screen::size`].
    pub fn resize(&mut self, size: GridSize) {
        self.engine.resize(GridSize::new(size.columns, size.rows));
    }

    pub fn size(&self) -> GridSize {
        self.engine.size()
    }

    /// The window title; empty until one is set.
    pub fn title(&self) -> &str {
        &self.engine.title
    }

    pub fn cursor(&self) -> ScreenCursor {
        self.engine.cursor_view()
    }

    /// The modes the program has set.
    pub fn modes(&self) -> ScreenModes {
        self.engine.modes_view()
    }

    /// The modes that decide how keys are sent.
    pub fn key_modes(&self) -> keys::KeyModes {
        let modes = self.modes();
        keys::KeyModes {
            application_cursor: modes.application_cursor,
            application_keypad: modes.application_keypad,
            bracketed_paste: modes.bracketed_paste,
            newline: modes.newline,
            kitty: modes.kitty,
        }
    }

    /// What changed since the last call.
    pub fn take_damage(&mut self) -> ScreenDamage {
        self.engine.take_damage()
    }

    /// Answers to the program's queries since the last call, to be written to it at once or never.
    pub fn take_replies(&mut self) -> Vec<u8> {
        self.engine.replies.take()
    }

    /// Turns answering on or off.
    pub fn set_replies(&mut self, on: bool) {
        self.engine.replies.set_enabled(on);
    }

    /// What the program signalled since the last call. At most the last few thousand are kept.
    pub fn take_signals(&mut self) -> Vec<TerminalSignal> {
        self.engine.signals.drain(..).collect()
    }

    /// From now on rows that leave the main screen at its top are kept until they are taken.
    pub(crate) fn keep_leaving_rows(&mut self) {
        self.engine.leaving.get_or_insert_default();
    }

    /// The rows that left the main screen since the last call.
    pub(crate) fn take_leaving_rows(&mut self) -> Vec<LeavingRow> {
        self.engine.leaving.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The screen as it stands. Rows that did not change since the last snapshot are shared with
    /// it.
    pub fn snapshot(&mut self) -> ScreenSnapshot {
        self.engine.snapshot()
    }

    /// Escape sequences that bring a terminal of the same size to this state, sequences not yet
    /// finished included: what is fed afterwards has the same effect as here.
    pub fn dump(&mut self) -> Vec<u8> {
        let mut bytes = dump::dump(&mut self.engine);
        bytes.extend_from_slice(&self.parser.pending());
        bytes
    }
}

#[cfg(test)]
mod tests;
