//! A screen as the rules see it: whole lines, however the terminal wrapped them.

use std::borrow::Cow;
use std::ops::Range;

use coven_terminal::screen::ScreenCursor;
use coven_terminal::snapshot::{CellColor, CellStyle, ScreenSnapshot};

use super::ScreenRegion;
use super::rule::LinePlace;
use crate::sniffer::AskedLine;

/// What is cut off the ends of lines. Other blanks stay: they are a part of what is shown.
const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// The lines of a screen or a text.
#[derive(Debug)]
pub struct LineView<'a> {
    lines: Vec<ViewLine<'a>>,
    cursor: Option<ScreenCursor>,
    /// Where the styles stand.
    snapshot: Option<&'a ScreenSnapshot>,
    /// The line of a question that was answered, and where it was asked.
    answered: Option<(AskedLine, LinePlace)>,
    /// The line of the question that was last asked with the cursor in it, and where it was asked.
    left: Option<(AskedLine, LinePlace)>,
    /// How many rows have left the screen at its top.
    scrolled: u64,
    typed: TypedText,
}

/// Whether the terminal shows what is typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TypedText {
    /// The program does it itself, or it is not known.
    #[default]
    Shown,
    /// It does, and collects a line before the program reads it.
    Line,
    /// The program reads a line that must not be shown, as for a password.
    Hidden,
}

#[derive(Debug)]
struct ViewLine<'a> {
    text: Cow<'a, str>,
    rows: Range<usize>,
}

/// The lines of one region, also as one text.
#[derive(Debug)]
pub(super) struct RegionText<'a> {
    pub(super) joined: String,
    pub(super) lines: Vec<&'a str>,
    /// Where each line starts in `joined`.
    pub(super) starts: Vec<usize>,
    /// Which line of the screen the first of these is.
    pub(super) first: usize,
}

impl<'a> LineView<'a> {
    /// The lines of a screen. Rows that the terminal wrapped are one line.
    pub(crate) fn of_screen(snapshot: &'a ScreenSnapshot) -> Self {
        let lines = snapshot
            .lines()
            .map(|line| ViewLine { text: trimmed(line.text), rows: line.rows })
            .collect();
        Self {
            lines,
            cursor: Some(snapshot.cursor()),
            snapshot: Some(snapshot),
            answered: None,
            left: None,
            scrolled: snapshot.scrolled(),
            typed: TypedText::Shown,
        }
    }

    /// The lines of a plain text, for use without a screen.
    pub(crate) fn of_text(text: &'a str) -> Self {
        let lines = text
            .lines()
            .enumerate()
            .map(|(row, line)| ViewLine {
                text: Cow::Borrowed(line.trim_end_matches(BLANKS)),
                rows: row..row + 1,
            })
            .collect();
        Self {
            lines,
            cursor: None,
            snapshot: None,
            answered: None,
            left: None,
            scrolled: 0,
            typed: TypedText::Shown,
        }
    }

    /// The same, where the line of a question was answered: it is not asked any more once the cursor
    /// is below it and below where it was then.
    pub(crate) fn answered(self, answered: Option<(AskedLine, LinePlace)>) -> Self {
        Self { answered, ..self }
    }

    /// The same, where the line of a question was asked with the cursor in it.
    pub(crate) fn left(self, left: Option<(AskedLine, LinePlace)>) -> Self {
        Self { left, ..self }
    }

    /// The same on a terminal that does this with what is typed.
    pub(crate) fn with_typed(self, typed: TypedText) -> Self {
        Self { typed, ..self }
    }

    pub(super) fn collects_line(&self) -> bool {
        self.typed == TypedText::Line
    }

    pub(super) fn hides_typed(&self) -> bool {
        self.typed == TypedText::Hidden
    }

    /// How many rows have left the screen at its top.
    pub(crate) fn scrolled(&self) -> u64 {
        self.scrolled
    }

    /// Which row a line begins with, counted from the first that was ever printed.
    pub(super) fn place(&self, line: usize) -> u64 {
        self.scrolled + self.lines.get(line).map_or(0, |line| line.rows.start as u64)
    }

    /// In which row the cursor is, counted the same way.
    pub(super) fn cursor_place(&self) -> Option<u64> {
        self.cursor.map(|cursor| self.scrolled + u64::from(cursor.row))
    }

    /// Whether this line of a question was answered and the cursor has left it. A program that asks
    /// the same again in the same place may have its cursor below it as before.
    pub(super) fn is_answered(&self, asked: &AskedLine, line: usize) -> bool {
        let Some((answered, place)) = &self.answered else { return false };
        let below = |cursor: ScreenCursor| {
            self.lines.get(line).is_some_and(|line| usize::from(cursor.row) >= line.rows.end)
                && place.cursor.is_none_or(|then| self.cursor_place() > Some(then))
        };
        answered == asked && self.cursor.is_none_or(below)
    }

    /// Whether exactly this line was answered where it stands, and the cursor has moved on from
    /// there.
    pub(super) fn is_answered_at(&self, asked: &AskedLine, place: &LinePlace) -> bool {
        self.answered.as_ref().is_some_and(|(answered, then)| {
            answered == asked && then.row == place.row && place.cursor > then.cursor
        })
    }

    /// Whether the question of a line that stands here was asked with the cursor in this line, and the
    /// cursor has moved on from there. What stands above it may change meanwhile.
    pub(super) fn is_left_at(&self, asked: &AskedLine, place: &LinePlace) -> bool {
        self.left.as_ref().is_some_and(|(left, then)| {
            left.rule == asked.rule
                && left.last_line() == asked.last_line()
                && then.row == place.row
                && place.cursor > then.cursor
        })
    }

    /// Whether a question still stands where it was asked.
    pub(crate) fn stands(&self, asked: &AskedLine, place: &LinePlace) -> bool {
        let mut lines = 0..self.lines.len();
        let at = lines.find(|&line| self.place(line) == place.row);
        at.is_some_and(|line| Some(self.line(line)) == asked.last_line())
    }

    pub(super) fn has_cursor(&self, line: usize) -> bool {
        self.cursor_line().is_some_and(|(at, _)| at == line)
    }

    /// Whether there is a cursor to be seen. A text has none, and says nothing about it.
    pub(crate) fn cursor_visible(&self) -> Option<bool> {
        self.cursor.map(|cursor| cursor.visible)
    }

    /// The line of the cursor and the column in it. A text has its cursor at the end.
    pub(crate) fn cursor_line(&self) -> Option<(usize, usize)> {
        let Some(cursor) = self.cursor else {
            let last = self.lines.len().checked_sub(1)?;
            return Some((last, usize::MAX));
        };
        let row = usize::from(cursor.row);
        let at = self.lines.iter().position(|line| line.rows.contains(&row))?;
        let columns = self.snapshot.map_or(0, |snapshot| usize::from(snapshot.size().columns));
        let above = row - self.lines[at].rows.start;
        Some((at, above * columns + usize::from(cursor.column)))
    }

    /// How many lines there are up to the last that is not empty.
    pub(super) fn end(&self) -> usize {
        self.lines.iter().rposition(|line| !line.text.is_empty()).map_or(0, |last| last + 1)
    }

    /// Whether there is nothing to be seen.
    pub(crate) fn is_blank(&self) -> bool {
        self.lines.iter().all(|line| line.text.trim().is_empty())
    }

    /// How a line looks at one column of its first row.
    pub(super) fn style(&self, line: usize, column: usize) -> CellStyle {
        let row =
            self.snapshot.and_then(|snapshot| snapshot.rows().get(self.lines[line].rows.start));
        let runs = row.map_or(&[][..], |row| row.runs());
        let here = |begin: u16, length: u16| {
            (usize::from(begin)..usize::from(begin) + usize::from(length)).contains(&column)
        };
        let run = runs.iter().find(|run| here(run.column, run.length));
        run.map(|run| run.style.clone()).unwrap_or_default()
    }

    /// Whether anything in a line looks different from plain text.
    pub(super) fn is_styled(&self, line: usize) -> bool {
        let rows =
            self.snapshot.and_then(|snapshot| snapshot.rows().get(self.lines[line].rows.clone()));
        rows.is_some_and(|rows| rows.iter().any(|row| !row.runs().is_empty()))
    }

    /// Whether a line is lit from its first column to the last of the screen.
    pub(super) fn is_lit_over_whole_width(&self, line: usize) -> bool {
        let columns = self.snapshot.map_or(0, |snapshot| usize::from(snapshot.size().columns));
        let is_lit = |column: usize| {
            let style = self.style(line, column);
            style.attributes.inverse || style.background != CellColor::Default
        };
        columns > 0 && is_lit(0) && is_lit(columns - 1)
    }

    /// How many rows of the screen lie below a line.
    pub(super) fn rows_below(&self, line: usize) -> usize {
        let rows = self.snapshot.map_or(0, |snapshot| snapshot.rows().len());
        rows.saturating_sub(self.lines[line].rows.end)
    }

    /// Whether the last row of the screen has text or the cursor.
    pub(super) fn is_filled(&self) -> bool {
        let Some(snapshot) = self.snapshot else { return false };
        let rows = snapshot.rows().len();
        let cursor = self.cursor.map_or(0, |cursor| usize::from(cursor.row) + 1);
        let text = self.end().checked_sub(1).map_or(0, |last| self.lines[last].rows.end);
        rows > 0 && cursor.max(text) == rows
    }

    pub(super) fn region(&self, region: ScreenRegion) -> RegionText<'_> {
        let end = self.end();
        let range = match region {
            ScreenRegion::Screen => 0..end,
            ScreenRegion::Tail(lines) => end.saturating_sub(usize::from(lines))..end,
            ScreenRegion::Head(lines) => 0..end.min(usize::from(lines)),
            ScreenRegion::Cursor(lines) => {
                let row = self.cursor.map_or(usize::MAX, |cursor| usize::from(cursor.row));
                let at = self.lines.iter().position(|line| line.rows.contains(&row));
                let last = at.map_or(self.lines.len(), |at| at + 1);
                last.saturating_sub(usize::from(lines))..last
            }
        };
        let first = range.start;
        RegionText::new(first, self.lines[range].iter().map(|line| &*line.text))
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|line| &*line.text)
    }

    pub(super) fn line(&self, index: usize) -> &str {
        &self.lines[index].text
    }

    /// The last lines that are not empty at the end, as they are.
    pub(crate) fn tail(&self, lines: u16) -> Vec<String> {
        self.region(ScreenRegion::Tail(lines)).lines.into_iter().map(str::to_owned).collect()
    }
}

fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_end_matches(BLANKS)),
        Cow::Owned(mut text) => {
            text.truncate(text.trim_end_matches(BLANKS).len());
            Cow::Owned(text)
        }
    }
}

impl<'a> RegionText<'a> {
    fn new(first: usize, lines: impl Iterator<Item = &'a str>) -> Self {
        let mut text = Self { joined: String::new(), lines: Vec::new(), starts: Vec::new(), first };
        for line in lines {
            if !text.lines.is_empty() {
                text.joined.push('\n');
            }
            text.starts.push(text.joined.len());
            text.joined.push_str(line);
            text.lines.push(line);
        }
        text
    }

    /// Out of the lines that a match spans, the one that tells a person most: the first with words
    /// in it, or the last.
    pub(super) fn most_telling_line(&self, found: Range<usize>) -> usize {
        let last = self.line_at(found.end.saturating_sub(1).max(found.start));
        let mut lines = self.line_at(found.start)..=last;
        lines.find(|&line| self.lines[line].contains(char::is_alphanumeric)).unwrap_or(last)
    }

    /// The line that a place in `joined` lies in.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }
}
