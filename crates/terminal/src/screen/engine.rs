//! The state behind a screen: the emulator's grid, and beside it everything the emulator does not
//! keep, keeps privately or keeps wrong.

use std::collections::VecDeque;
use std::sync::Arc;

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::{Charsets, Dimensions};
use alacritty_terminal::term::Config;
use alacritty_terminal::term::cell::Cell;
use alacritty_terminal::vte::ansi::{CharsetIndex, Handler, StandardCharset};

use super::buffer::{KittyKeyboard, PerBuffer};
use super::cursor::{SavedCursor, TabStops};
use super::damage::{DamageTracker, ScreenDamage};
use super::grid::{Grid, with_history};
use super::{ColorPalette, GridSize, Options, ScreenCursor, ScreenModes};
use crate::parser::{ControlSequence, ParserSink, StringTerminator};
use crate::replies::ReplyBuffer;
use crate::signals::{self, TerminalSignal};
use crate::snapshot::{ScreenRow, ScreenSnapshot};

/// Most history rows a screen may be asked to keep.
const MAX_HISTORY: usize = 10_000;

/// Signals kept until they are taken; the oldest go first.
const MAX_SIGNALS: usize = 4096;

/// What happened to the rows above the main screen.
#[derive(Debug)]
pub(crate) enum LeavingRow {
    /// A row left at the top.
    Text { text: String, wrapped: bool },
    /// The program erased the rows above.
    HistoryErased,
}

/// Titles kept on the title stack.
const MAX_TITLES: usize = 16;

pub(crate) struct ScreenEmulator {
    pub(super) term: Term<VoidListener>,
    /// Rows the main screen keeps above.
    pub(super) history: usize,
    /// Rows that left the main screen at its top since they were taken; nothing if they are not
    /// wanted.
    pub(super) leaving: Option<Vec<LeavingRow>>,
    /// How many rows have left the screen at its top by line feeds.
    pub(super) scrolled: u64,
    pub(super) modes: ScreenModes,
    /// Scrolling margins, rows from the first to before the second.
    pub(super) margins: (usize, usize),
    pub(super) tabs: TabStops,
    pub(super) saved: PerBuffer<Option<SavedCursor>>,
    pub(super) kitty: PerBuffer<KittyKeyboard>,
    /// Which of the four character sets is in use.
    pub(super) charset: CharsetIndex,
    pub(super) palette: ColorPalette,
    pub(super) cursor_style: u8,
    /// The character just printed, for REP and for emoji that are joined; gone after anything
    /// else but turning insert mode on, which a dump does last.
    pub(super) last_char: Option<char>,
    /// It ends with a joiner, which takes the next character in.
    pub(super) joiner: bool,
    /// What mode 47 left on the alternate screen.
    pub(super) parked: Option<Grid>,
    pub(super) title: String,
    pub(super) titles: Vec<String>,
    pub(super) replies: ReplyBuffer,
    pub(super) signals: VecDeque<TerminalSignal>,
    /// Changes since damage was taken.
    damage: DamageTracker,
    /// Changes since the last snapshot, and its rows.
    stale: DamageTracker,
    pub(super) rows: Vec<Arc<ScreenRow>>,
    /// Cursor, modes and title at the last look.
    seen: (ScreenCursor, ScreenModes, String),
}

impl ScreenEmulator {
    pub(super) fn new(options: &Options) -> Self {
        let size = GridSize::new(options.size.columns, options.size.rows);
        let history = options.history.min(MAX_HISTORY);
        let config = Config { scrolling_history: history, ..Config::default() };
        let mut term = Term::new(config, &size, VoidListener);
        *term.grid_mut() = with_history(size.screen_lines(), Dimensions::columns(&size), history);
        let modes = ScreenModes::default();
        let cursor =
            ScreenCursor { row: 0, column: 0, visible: true, pending_wrap: false, style: 0 };
        Self {
            term,
            history,
            leaving: None,
            scrolled: 0,
            modes,
            margins: (0, size.screen_lines()),
            tabs: TabStops::new(size.columns()),
            saved: PerBuffer::default(),
            kitty: PerBuffer::default(),
            charset: CharsetIndex::G0,
            palette: ColorPalette::new(options.foreground, options.background),
            cursor_style: 0,
            last_char: None,
            joiner: false,
            parked: None,
            title: String::new(),
            titles: Vec::new(),
            replies: ReplyBuffer::new(options.replies),
            signals: VecDeque::new(),
            damage: DamageTracker::new(),
            stale: DamageTracker::new(),
            rows: Vec::new(),
            seen: (cursor, modes, String::new()),
        }
    }

    pub(crate) fn size(&self) -> GridSize {
        GridSize::new(self.columns() as u16, self.height() as u16)
    }

    pub(crate) fn columns(&self) -> usize {
        self.term.columns()
    }

    pub(crate) fn height(&self) -> usize {
        self.term.screen_lines()
    }

    pub(crate) fn grid(&self) -> &Grid {
        self.term.grid()
    }

    // What a dump reads.

    pub(crate) fn palette(&self) -> &ColorPalette {
        &self.palette
    }

    pub(crate) fn saved(&self) -> &PerBuffer<Option<SavedCursor>> {
        &self.saved
    }

    pub(crate) fn inactive_grid(&self) -> Option<&Grid> {
        self.parked.as_ref()
    }

    pub(crate) fn kitty_stacks(&self) -> &PerBuffer<KittyKeyboard> {
        &self.kitty
    }

    pub(crate) fn tabs(&self) -> &TabStops {
        &self.tabs
    }

    pub(crate) fn titles(&self) -> (&str, &[String]) {
        (&self.title, &self.titles)
    }

    pub(crate) fn cursor_style(&self) -> u8 {
        self.cursor_style
    }

    pub(crate) fn margins(&self) -> (usize, usize) {
        self.margins
    }

    pub(crate) fn charset(&self) -> CharsetIndex {
        self.charset
    }

    /// Whether the last thing that happened was a character.
    pub(crate) fn just_printed(&self) -> bool {
        self.last_char.is_some()
    }

    pub(super) fn touch(&mut self, row: usize) {
        self.damage.row(row);
        self.stale.row(row);
    }

    pub(super) fn touch_all(&mut self) {
        self.damage.all();
        self.stale.all();
    }

    pub(super) fn cursor_view(&self) -> ScreenCursor {
        let cursor = &self.grid().cursor;
        ScreenCursor {
            row: cursor.point.line.0 as u16,
            column: cursor.point.column.0 as u16,
            visible: self.modes.cursor_visible,
            pending_wrap: cursor.input_needs_wrap,
            style: self.cursor_style,
        }
    }

    pub(crate) fn modes_view(&self) -> ScreenModes {
        ScreenModes { kitty: self.kitty().flags, ..self.modes }
    }

    pub(super) fn take_damage(&mut self) -> ScreenDamage {
        let (cursor, modes) = (self.cursor_view(), self.modes_view());
        let state = (cursor, modes) != (self.seen.0, self.seen.1) || self.title != self.seen.2;
        if state {
            self.seen = (cursor, modes, self.title.clone());
        }
        self.damage.take(self.height(), state)
    }

    pub(super) fn snapshot(&mut self) -> ScreenSnapshot {
        let height = self.height();
        self.rows.truncate(height);
        for index in 0..height {
            // A row's text depends on whether the next begins with a wide character.
            let stale = self.stale.contains(index) || self.stale.contains(index + 1);
            if stale || index >= self.rows.len() {
                let row = Arc::new(ScreenRow::read(self.grid(), index));
                match self.rows.get_mut(index) {
                    Some(old) => *old = row,
                    None => self.rows.push(row),
                }
            }
        }
        self.stale.clear();
        ScreenSnapshot::new(
            self.rows.clone(),
            self.size(),
            self.cursor_view(),
            self.modes_view(),
            &self.title,
            self.scrolled,
        )
    }

    /// Keeps the text of the first rows of the main screen, which are about to leave.
    pub(super) fn rows_leave(&mut self, count: usize) {
        if self.modes.alternate_screen || self.margins.0 > 0 {
            return;
        }
        let count = count.min(self.margins.1);
        let Some(mut leaving) = self.leaving.take() else { return };
        leaving.extend((0..count).map(|index| {
            let row = ScreenRow::read(self.grid(), index);
            LeavingRow::Text { wrapped: row.is_wrapped(), text: row.joined_text().to_owned() }
        }));
        self.leaving = Some(leaving);
    }

    /// Notes that the rows above the main screen were erased.
    pub(super) fn history_erased(&mut self) {
        if let Some(leaving) = self.leaving.as_mut().filter(|_| !self.modes.alternate_screen) {
            leaving.push(LeavingRow::HistoryErased);
        }
    }

    pub(super) fn signal(&mut self, signal: TerminalSignal) {
        if self.signals.len() == MAX_SIGNALS {
            self.signals.pop_front();
        }
        self.signals.push_back(signal);
    }

    pub(super) fn push_title(&mut self) {
        if self.titles.len() < MAX_TITLES {
            self.titles.push(self.title.clone());
        }
    }

    pub(super) fn pop_title(&mut self) {
        if let Some(title) = self.titles.pop() {
            self.title = title;
        }
    }

    pub(super) fn use_charset(&mut self, charset: CharsetIndex) {
        self.charset = charset;
        self.term.set_active_charset(charset);
    }

    fn designate(&mut self, slot: u8, set: u8) {
        let index = match slot {
            b'(' => CharsetIndex::G0,
            b')' => CharsetIndex::G1,
            b'*' => CharsetIndex::G2,
            _ => CharsetIndex::G3,
        };
        let set = match set {
            b'0' => StandardCharset::SpecialCharacterAndLineDrawing,
            _ => StandardCharset::Ascii,
        };
        self.term.configure_charset(index, set);
    }

    /// RIS: as new, but for the size and what was not yet taken.
    fn reset(&mut self) {
        self.history_erased();
        self.term.reset_state();
        self.modes = ScreenModes::default();
        self.margins = (0, self.height());
        self.tabs = TabStops::new(self.columns());
        self.saved = PerBuffer::default();
        self.kitty = PerBuffer::default();
        self.charset = CharsetIndex::G0;
        self.palette.reset_all();
        self.cursor_style = 0;
        self.parked = None;
        self.title.clear();
        self.titles.clear();
        self.touch_all();
    }

    /// DECSTR: modes, margins and attributes as new; what stands on the screen stays.
    pub(super) fn soft_reset(&mut self) {
        for (mode, on) in [(25, true), (1, false), (66, false), (7, true), (45, false)] {
            self.set_private_mode(mode, on);
        }
        self.modes.insert = false;
        self.modes.newline = false;
        self.modes.origin = false;
        self.set_margins(0, self.height());
        let cursor = &mut self.term.grid_mut().cursor;
        cursor.template = Cell::default();
        cursor.charsets = Charsets::default();
        self.use_charset(CharsetIndex::G0);
        let buffer = self.modes.alternate_screen;
        *self.saved.get_mut(buffer) = None;
    }
}

impl ParserSink for ScreenEmulator {
    fn text(&mut self, text: &str) {
        self.print_text(text);
    }

    fn control(&mut self, byte: u8) {
        self.last_char = None;
        match byte {
            0x07 => self.signal(TerminalSignal::Bell),
            0x08 => self.left(1),
            b'\t' => self.tab_forward(1),
            b'\n' | 0x0b | 0x0c => {
                self.index();
                if self.modes.newline {
                    self.set_column(0);
                }
            }
            b'\r' => self.set_column(0),
            0x0e => self.use_charset(CharsetIndex::G1),
            0x0f => self.use_charset(CharsetIndex::G0),
            _ => {}
        }
    }

    fn escape(&mut self, intermediates: &[u8], last: u8) {
        self.last_char = None;
        match (intermediates, last) {
            ([], b'7') => self.save_cursor(),
            ([], b'8') => self.restore_cursor(),
            ([], b'=') => self.modes.application_keypad = true,
            ([], b'>') => self.modes.application_keypad = false,
            ([], b'D') => self.index(),
            ([], b'E') => {
                self.index();
                self.set_column(0);
            }
            ([], b'H') => {
                let column = self.grid().cursor.point.column.0;
                self.tabs.set(column, true);
            }
            ([], b'M') => self.reverse_index(),
            ([], b'Z') => self.replies.device_attributes(),
            ([], b'c') => self.reset(),
            ([], b'n') => self.use_charset(CharsetIndex::G2),
            ([], b'o') => self.use_charset(CharsetIndex::G3),
            ([b'#'], b'8') => self.alignment_pattern(),
            ([slot @ (b'(' | b')' | b'*' | b'+')], set) => self.designate(*slot, set),
            _ => {}
        }
    }

    fn csi(&mut self, csi: &ControlSequence<'_>) {
        self.run_csi(csi);
        let insert = csi.last == b'h' && csi.marker == 0 && csi.params.all() == [4];
        if !insert {
            self.last_char = None;
        }
    }

    fn osc(&mut self, payload: &[u8], end: StringTerminator) {
        self.last_char = None;
        if let Some(signal) = signals::read(payload) {
            self.apply_signal(&signal);
            self.signal(signal);
        } else {
            self.run_osc(payload, end);
        }
    }

    fn dcs(&mut self, payload: &[u8]) {
        self.last_char = None;
        self.run_dcs(payload);
    }
}
