//! A terminal that shows another one. Where both have the same size the bytes go through, but for
//! what reaches beyond the screen. Where they have not they would come out garbled: then what the
//! other one shows is painted here, as much of it as there is room for.

mod row;

use std::sync::Arc;

use coven_daemon::ServiceConfig;
use coven_terminal::screen::{GridSize, Screen};
use coven_terminal::snapshot::{ScreenRow, ScreenSnapshot};
use coven_terminal::through::{ClipboardAccess, PassThrough};

use crate::attach::LEAVE;
use crate::failure::{CommandFailure, Result};
use crate::folders;
use crate::output::PutText;

/// Whether the user lets agents write the clipboard.
pub(crate) fn clipboard() -> Result<ClipboardAccess> {
    let config = ServiceConfig::load(&folders::places()?.config());
    let allowed = config.map_err(CommandFailure::failed)?.agent_clipboard;
    Ok(if allowed { ClipboardAccess::Write } else { ClipboardAccess::Off })
}

/// Columns and rows of a terminal of ours.
pub(crate) type Outside = (u16, u16);

/// The other terminal, as it has to be shown here.
pub(crate) struct ScreenMirror {
    screen: Screen,
    outside: Outside,
    clipboard: ClipboardAccess,
    through: PassThrough,
    /// The rows that stand on our terminal, unless bytes go through.
    painted: Option<Vec<Option<Arc<ScreenRow>>>>,
}

impl ScreenMirror {
    /// An empty terminal of a size, to be shown on one of ours.
    pub(crate) fn new(
        (columns, rows): (u16, u16),
        outside: Outside,
        clipboard: ClipboardAccess,
    ) -> Self {
        let mut screen = Screen::new(GridSize::new(columns, rows));
        // The runner that owns the terminal answers the program's queries.
        screen.set_replies(false);
        Self { screen, outside, clipboard, through: PassThrough::new(clipboard), painted: None }
    }

    /// Whether the other terminal has the size of ours.
    fn fits(&self) -> bool {
        let size = self.screen.size();
        (size.columns, size.rows) == self.outside
    }

    /// Whether some of the other terminal cannot be seen.
    pub(crate) fn is_cut(&self) -> bool {
        let size = self.screen.size();
        self.painted.is_some() && (size.columns > self.outside.0 || size.rows > self.outside.1)
    }

    /// The size of the other terminal.
    pub(crate) fn size(&self) -> (u16, u16) {
        (self.screen.size().columns, self.screen.size().rows)
    }

    /// The other terminal is painted from its beginning, with this size.
    pub(crate) fn renew(&mut self, size: (u16, u16)) {
        let painted = self.painted.take();
        *self = Self { painted, ..Self::new(size, self.outside, self.clipboard) };
    }

    /// The other terminal got another size.
    pub(crate) fn resize(&mut self, (columns, rows): (u16, u16)) {
        self.screen.resize(GridSize::new(columns, rows));
    }

    /// Ours got another size.
    pub(crate) fn resize_outside(&mut self, outside: Outside) {
        self.outside = outside;
        if let Some(painted) = &mut self.painted {
            painted.clear();
        }
    }

    /// Takes what was printed; what of it goes through at once.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.screen.feed(bytes);
        drop(self.screen.take_signals());
        let through = self.through.feed(bytes);
        if self.painted.is_none() { through } else { Vec::new() }
    }

    /// Whether what is fed goes through.
    pub(crate) fn passes(&self) -> bool {
        self.painted.is_none()
    }

    /// Lets bytes go through from now on, or not; what has to be written for that. The agent
    /// gets the size of the viewer that types, so bytes go through there even before the resize.
    pub(crate) fn decide(&mut self, types: bool) -> Vec<u8> {
        match (self.painted.is_some(), types || self.fits()) {
            (true, true) => {
                self.painted = None;
                PassThrough::new(self.clipboard).feed(&self.screen.dump())
            }
            (false, false) => {
                self.painted = Some(Vec::new());
                LEAVE.as_bytes().to_vec()
            }
            _ => Vec::new(),
        }
    }

    /// The row of ours, counted from 1, below which nothing is written. What is on another screen
    /// is gone with it.
    pub(crate) fn end(&mut self) -> u16 {
        let picture = self.screen.snapshot();
        let rows = self.outside.1;
        if self.painted.is_none() && picture.modes().alternate_screen {
            return rows;
        }
        let top = if self.painted.is_some() { top(&picture, rows.into()) } else { 0 };
        u16::try_from(last(&picture) + 1 - top.min(last(&picture))).unwrap_or(rows).min(rows)
    }

    /// Paints what has changed; nothing while bytes go through.
    pub(crate) fn paint(&mut self) -> Vec<u8> {
        let (columns, rows) = (usize::from(self.outside.0), usize::from(self.outside.1));
        let Some(painted) = &mut self.painted else { return Vec::new() };
        let picture = self.screen.snapshot();
        let top = top(&picture, rows);
        let mut text = "\x1b[?2026h\x1b[?25l\x1b[?7l".to_owned();
        if painted.len() != rows {
            text.push_str("\x1b[m\x1b[2J");
            *painted = vec![None; rows];
        }
        for (place, known) in painted.iter_mut().enumerate() {
            let row = picture.rows().get(top + place);
            if known.as_ref() == row {
                continue;
            }
            text.put(format!("\x1b[{};1H\x1b[m\x1b[2K", place + 1));
            text.push_str(&row.map(|row| row::painted(row, columns)).unwrap_or_default());
            *known = row.cloned();
        }
        text.push_str("\x1b[m\x1b[?7h");
        let cursor = picture.cursor();
        let (row, column) = (usize::from(cursor.row), usize::from(cursor.column));
        if row >= top && row < top + rows && column < columns {
            text.put(format!("\x1b[{};{}H", row - top + 1, column + 1));
            if cursor.visible {
                text.push_str("\x1b[?25h");
            }
        }
        text.push_str("\x1b[?2026l");
        text.into_bytes()
    }
}

/// The last row that is written.
fn last(picture: &ScreenSnapshot) -> usize {
    let written = |row: &Arc<ScreenRow>| !row.text().trim().is_empty() || !row.runs().is_empty();
    picture.rows().iter().rposition(written).unwrap_or(0)
}

/// The first row to show. Where there is no room for all, it is the last of what is written that
/// matters, and the cursor.
fn top(picture: &ScreenSnapshot, rows: usize) -> usize {
    let last = last(picture);
    let cursor = usize::from(picture.cursor().row);
    let end = if picture.cursor().visible { last.max(cursor) } else { last } + 1;
    // A cursor far above what is written below it stays in sight.
    let top = end.saturating_sub(rows);
    if picture.cursor().visible { top.min(cursor) } else { top }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a terminal shows that got these bytes.
    fn shown(outside: Outside, bytes: &[&[u8]]) -> String {
        let mut screen = Screen::new(GridSize::new(outside.0, outside.1));
        for bytes in bytes {
            screen.feed(bytes);
        }
        screen.snapshot().text()
    }

    #[test]
    fn what_fits_goes_through_and_what_does_not_is_cut() {
        let outside = (10, 3);
        let mut mirror = ScreenMirror::new((20, 5), outside, ClipboardAccess::Off);
        let first = mirror.decide(false);
        let text = b"\x1b[31m0123456789abcdef\x1b[m\r\n\r\nthree\r\n\r\nfive";
        assert!(mirror.feed(text).is_empty());
        let second = mirror.paint();
        assert!(mirror.is_cut());
        assert_eq!(shown(outside, &[&first, &second]), "three\n\nfive");
        // It gets the size of ours, and goes on as it is.
        mirror.resize(outside);
        let third = mirror.decide(false);
        assert_eq!(mirror.feed(b"!"), b"!");
        assert!(!mirror.is_cut() && mirror.paint().is_empty());
        let all = shown(outside, &[&first, &second, &third, b"!"]);
        assert!(all.ends_with("five!"), "{all}");
    }

    #[test]
    fn only_what_changed_is_painted_again() {
        let outside = (10, 3);
        let mut mirror = ScreenMirror::new((20, 2), outside, ClipboardAccess::Off);
        let mut all = mirror.decide(false);
        mirror.feed(b"one\r\ntwo");
        all.extend(mirror.paint());
        mirror.feed(b"\x1b[2;1HTWO");
        let last = mirror.paint();
        assert!(!String::from_utf8_lossy(&last).contains("one"));
        all.extend(last);
        assert_eq!(shown(outside, &[&all]), "one\nTWO");
    }

    #[test]
    fn whoever_types_sees_the_bytes_themselves() {
        let mut mirror = ScreenMirror::new((20, 5), (10, 3), ClipboardAccess::Off);
        assert!(mirror.decide(true).is_empty());
        assert_eq!(mirror.feed(b"x"), b"x");
    }
}
