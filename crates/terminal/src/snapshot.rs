//! An immutable picture of a screen: rows of text with their styles, the cursor, the title and
//! the modes, and soft-wrapped rows joined into the lines they were.

mod row;

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use unicode_width::UnicodeWidthStr;

use crate::screen::{GridSize, ScreenCursor, ScreenModes};

pub use row::{
    CellAttributes, CellColor, CellStyle, LinkTarget, ScreenRow, StyledRun, UnderlineStyle,
};
pub(crate) use row::{ends_with_spacer, is_wrapped, same_style};

/// A screen at one moment. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenSnapshot {
    rows: Arc<[Arc<ScreenRow>]>,
    size: GridSize,
    cursor: ScreenCursor,
    modes: ScreenModes,
    title: Arc<str>,
    hash: u64,
    scrolled: ScrollCount,
}

/// How many rows have left a screen at its top. Two screens that show the same are equal, however
/// much was printed before.
#[derive(Clone, Copy, Debug)]
struct ScrollCount(u64);

impl PartialEq for ScrollCount {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ScrollCount {}

/// Lines and corners that programs draw around text, and the blocks some use for edges.
pub fn is_frame(char: char) -> bool {
    matches!(char, '\u{2500}'..='\u{259f}')
}

/// A line as it was printed: one row, or several where the text went on in the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalLine<'a> {
    pub text: Cow<'a, str>,
    /// The rows it takes.
    pub rows: Range<usize>,
}

impl ScreenSnapshot {
    pub(crate) fn new(
        rows: Vec<Arc<ScreenRow>>,
        size: GridSize,
        cursor: ScreenCursor,
        modes: ScreenModes,
        title: &str,
        scrolled: u64,
    ) -> Self {
        let mut hasher = DefaultHasher::new();
        (&rows, size, cursor, modes, title).hash(&mut hasher);
        let hash = hasher.finish();
        Self {
            rows: rows.into(),
            size,
            cursor,
            modes,
            title: title.into(),
            hash,
            scrolled: ScrollCount(scrolled),
        }
    }

    /// The rows from top to bottom.
    pub fn rows(&self) -> &[Arc<ScreenRow>] {
        &self.rows
    }

    pub fn size(&self) -> GridSize {
        self.size
    }

    pub fn cursor(&self) -> ScreenCursor {
        self.cursor
    }

    pub fn modes(&self) -> ScreenModes {
        self.modes
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    /// What stands before the cursor in its row.
    pub fn before_cursor(&self) -> String {
        let row = self.rows.get(usize::from(self.cursor.row));
        row.map(|row| row.until_column(self.cursor.column)).unwrap_or_default()
    }

    /// The same screen before a text was typed at its cursor; nothing if it does not stand there, in
    /// the row of the cursor.
    pub fn before_typed(&self, text: &str) -> Option<Self> {
        let before = self.before_cursor();
        let kept = before.strip_suffix(text).filter(|_| !text.is_empty())?;
        let mut rows = self.rows.to_vec();
        let row = rows.get_mut(usize::from(self.cursor.row))?;
        *row = Arc::new(row.only(kept));
        let column = UnicodeWidthStr::width(kept).min(usize::from(u16::MAX)) as u16;
        let cursor = ScreenCursor { column, ..self.cursor };
        Some(Self::new(rows, self.size, cursor, self.modes, &self.title, self.scrolled.0))
    }

    /// How many rows have left the screen at its top by line feeds, so far.
    pub fn scrolled(&self) -> u64 {
        self.scrolled.0
    }

    /// Equal for equal snapshots. For comparing within one process, not for keeping.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The screen as text: rows without trailing blanks, empty rows at the end left out.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in self.rows.iter() {
            text.push_str(row.text().trim_end_matches(' '));
            text.push('\n');
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    /// The lines from top to bottom, soft-wrapped rows joined. Only joined lines are copied.
    pub fn lines(&self) -> impl Iterator<Item = LogicalLine<'_>> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let first = self.rows.get(start)?;
            let mut line =
                LogicalLine { text: Cow::Borrowed(first.text()), rows: start..start + 1 };
            while let (true, Some(next)) =
                (self.rows[line.rows.end - 1].is_wrapped(), self.rows.get(line.rows.end))
            {
                let text = line.text.to_mut();
                if self.rows[line.rows.end - 1].has_spacer() {
                    text.pop();
                }
                text.push_str(next.text());
                line.rows.end += 1;
            }
            start = line.rows.end;
            Some(line)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::screen::{GridSize, Screen};

    fn snapshot(columns: u16, rows: u16, bytes: &str) -> super::ScreenSnapshot {
        let mut screen = Screen::new(GridSize::new(columns, rows));
        screen.feed(bytes.as_bytes());
        screen.snapshot()
    }

    fn lines(snapshot: &super::ScreenSnapshot) -> Vec<String> {
        snapshot.lines().map(|line| line.text.into_owned()).collect()
    }

    #[test]
    fn wrapped_rows_are_one_line_and_others_are_not() {
        let snapshot = snapshot(10, 5, "Allow execution of [Shell]?\r\n0123456789\r\nx");
        assert_eq!(lines(&snapshot), ["Allow execution of [Shell]?", "0123456789", "x"]);
        let rows: Vec<_> = snapshot.lines().map(|line| line.rows).collect();
        assert_eq!(rows, [0..3, 3..4, 4..5]);
    }

    #[test]
    fn blanks_at_the_end_of_a_row_count_only_where_the_line_goes_on() {
        assert_eq!(lines(&snapshot(5, 2, "abc  de   \r")), ["abc  de"]);
        assert_eq!(snapshot(5, 3, "a    \r\n\r\n").text(), "a");
    }

    #[test]
    fn a_wide_character_that_did_not_fit_leaves_no_blank_in_the_line() {
        let snapshot = snapshot(5, 3, "漢字漢字漢");
        assert_eq!(lines(&snapshot), ["漢字漢字漢"]);
        assert_eq!(snapshot.rows()[0].text(), "漢字 ");
    }

    #[test]
    fn equal_screens_have_equal_hashes_and_different_ones_differ() {
        let first = snapshot(20, 3, "\x1b[31mred\x1b[0m");
        assert_eq!(first, snapshot(20, 3, "\x1b[0;31mred\x1b[m"));
        assert_eq!(first.hash(), snapshot(20, 3, "\x1b[0;31mred\x1b[m").hash());
        for other in ["red", "\x1b[32mred\x1b[0m", "\x1b[31mred\x1b[0m ", "\x1b[31mrad\x1b[0m"] {
            assert_ne!(first.hash(), snapshot(20, 3, other).hash(), "{other:?}");
        }
    }

    #[test]
    fn rows_that_did_not_change_are_shared() {
        let mut screen = Screen::new(GridSize::new(20, 3));
        screen.feed(b"one\r\ntwo\r\nthree");
        let before = screen.snapshot();
        screen.feed(b"\x1b[2;1HTWO");
        let after = screen.snapshot();
        let shared = |row: usize| std::sync::Arc::ptr_eq(&before.rows()[row], &after.rows()[row]);
        assert_eq!(after.text(), "one\nTWO\nthree");
        assert!(!shared(1) && shared(2));
        assert_eq!(before.text(), "one\ntwo\nthree", "the picture taken stays");
    }
}
