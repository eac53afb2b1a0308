//! Which lines belong to a question that no rule knows. They make it this question: what moves in
//! other lines, a bar or a clock, makes no other question of it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::LineView;
use super::generic::{heading_line, pattern};
use super::menu::is_edge;

/// How many empty lines may lie between two lines of one change to a file.
const MAX_LINES_BETWEEN: usize = 3;

/// How near to a question a changed line stands, where it is about a change to a file.
const NEAR_CHANGE: usize = 12;

/// How many letters say what is asked, beside those of the answers in brackets.
pub(super) const MIN_QUESTION_LETTERS: usize = 4;

static ANSWERS: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\[(<][^\])>]*[\])>]"));

/// What moves in a line that belongs to a question: the share of something that is done, and
/// pictures and bars of something that goes on.
static MOTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\d+(?:\.\d+)? ?%|[\u{2800}-\u{28ff}\u{2588}-\u{258f}\u{2591}-\u{2593}◐◓◑◒◴◷◶◵]+|\[[#=>.\- ]{4,}\]|^\s*[|/\\-] ",
    )
});

/// The lines of a question.
#[derive(Debug)]
pub(super) struct OwnLines {
    /// The line above the entries of a menu, which may stand apart from them.
    heading: Option<usize>,
    lines: Range<usize>,
    /// The line that asks, which has nothing that moves but times.
    asks: Option<usize>,
}

impl OwnLines {
    /// The line above a menu, and its entries.
    pub(super) fn of_menu(view: &LineView<'_>, menu: &Range<usize>) -> Self {
        Self { heading: heading_line(view, menu), lines: menu.clone(), asks: None }
    }

    /// The lines right above one, up to the first that is empty. One that says only which answers
    /// there are belongs to the lines above the gap.
    pub(super) fn around(view: &LineView<'_>, line: usize) -> Self {
        let mut begin = paragraph(view, line);
        if begin > 0
            && (begin..=line).map(|line| letters(view.line(line))).sum::<usize>()
                < MIN_QUESTION_LETTERS
        {
            let above = (0..begin).rfind(|&line| !is_blank(view, line));
            begin = above.map_or(begin, |above| paragraph(view, above));
        }
        Self { heading: None, lines: begin..line + 1, asks: Some(line) }
    }

    /// The words above the entries of a menu: its heading, and what stands right above that.
    pub(super) fn words_above(view: &LineView<'_>, menu: &Range<usize>) -> String {
        heading_line(view, menu)
            .map(|heading| Self::around(view, heading).words(view))
            .unwrap_or_default()
    }

    pub(super) fn begin(&self) -> usize {
        self.heading.unwrap_or(self.lines.start)
    }

    /// What they say, without what moves in them.
    pub(super) fn words(&self, view: &LineView<'_>) -> String {
        let words = |line: usize| {
            let text = view.line(line);
            if self.asks == Some(line) { without_spinner(text) } else { without_motion(text) }
        };
        let lines: Vec<_> = self.heading.into_iter().chain(self.lines.clone()).map(words).collect();
        lines.join("\n")
    }

    /// Whether they reach the first row of a screen that is filled to its last, so that lines which
    /// belong to them may have left it.
    pub(super) fn is_cut(&self, view: &LineView<'_>) -> bool {
        self.begin() == 0 && view.is_filled()
    }
}

/// The pictures of something that goes on, at the begin or the end of a line that asks. Other bars and
/// shares may be what is asked about.
static SPINNER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[\u{2800}-\u{28ff}◐◓◑◒◴◷◶◵✻✶✳✢]+|^\s*[|/\\-] |\s[|/\\-]\s*$"));

fn without_spinner(text: &str) -> Cow<'_, str> {
    SPINNER.replace_all(text, "")
}

/// A line without what moves in it.
pub(crate) fn without_motion(text: &str) -> Cow<'_, str> {
    MOTION.replace_all(text, "")
}

/// How many letters a line has beside the answers that it offers.
pub(super) fn letters(text: &str) -> usize {
    ANSWERS.replace_all(text, "").chars().filter(|char| char.is_alphabetic()).count()
}

fn is_blank(view: &LineView<'_>, line: usize) -> bool {
    view.line(line).trim_matches(is_edge).is_empty()
}

/// The first of the lines right above one that belong to it.
fn paragraph(view: &LineView<'_>, line: usize) -> usize {
    let is_change = |at: usize| view.line(at).starts_with(['+', '-']);
    // The lines of a change to a file may be empty.
    let is_about_change = (line.saturating_sub(NEAR_CHANGE)..line).any(is_change);
    let mut begin = line;
    while begin > 0 {
        let gap = (0..begin).rev().take_while(|&at| is_blank(view, at)).count();
        let Some(above) = (begin - gap).checked_sub(1) else { break };
        let is_within_change = is_about_change
            && gap <= MAX_LINES_BETWEEN
            && [above, begin].into_iter().all(|at| view.line(at).starts_with(['+', '-', ' ']));
        if gap > 0 && !is_within_change {
            break;
        }
        begin = above;
    }
    begin
}
