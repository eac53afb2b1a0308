//! What means in any program that it waits for a person: a menu, a question for yes or no, a box
//! with buttons, the words "press Enter". It is looked for only where no rule of the adapter knows
//! the screen, and what it finds is always for a person.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use coven_model::MenuEntry;
use regex::Regex;
use unicode_width::UnicodeWidthChar as _;

use super::hidden_line::HIDDEN_LINE;
use super::menu::{MenuProof, buttons, is_edge, lit_words};
use super::own_lines::OwnLines;
use super::rule::{LinePlace, QUESTION_LINES};
use super::{LineView, MenuLayout, ScreenMenu, title};
use crate::sniffer::AskedLine;

/// How many lines may stand below what is asked. What stands higher is over.
const MAX_LINES_BELOW: usize = 8;

/// A question in no program's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GenericHit {
    /// The name that stands in the place of a rule.
    pub(crate) rule: &'static str,
    pub(crate) line: String,
    /// The line by which people know it.
    pub(crate) title: Option<String>,
    pub(crate) excerpt: Vec<String>,
    pub(crate) menu: Option<ScreenMenu>,
    /// What makes it this question, and where that stands.
    pub(crate) asked_line: (AskedLine, LinePlace),
    /// A part of it has left the screen.
    pub(crate) is_cut: bool,
}

/// Stands in the place of the index of a rule.
const NO_RULE: usize = usize::MAX;

/// A line with nothing but the mark of a prompt, into which the answer to the line above is typed.
static BARE_PROMPT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*[>❯›»:?]+\s*$"));

static YES_OR_NO: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)[\[(<]\s*y(?:es)?\s*[/|,]\s*no?\b[^\n]{0,24}?[\])>]\s*[:?>]*\s*$")
});

static BUTTONS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:\[ {0,4}|< {0,4}|\( {0,4})(?:yes|no|ok|cancel|allow|deny|accept|reject|continue|quit|approve|confirm|abort|skip)[^\])>\n]{0,20}[\])>](?:\s+(?:[>❯›▶▸►→»]\s*)?[\[<(] {0,4}\p{L}[^\])>\n]{0,20}[\])>])+",
    )
});

static WAITS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\bwaiting for (?:user |your )?(?:confirmation|approval|permission|answer|response)\b",
    )
});

static PRESS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:press|hit) (?:the )?[\[<(]?(?:enter|return|any key|space)\b|\b(?:enter|return) to (?:confirm|continue|select|submit|accept|proceed)\b",
    )
});

const MENU: &str = "generic:menu";

/// A question for yes or no.
pub(crate) const YES_OR_NO_RULE: &str = "generic:yes-no";

const BUTTONS_RULE: &str = "generic:buttons";

/// The end of a line that asks for a secret.
static ASKS_FOR_SECRET: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:password|passphrase|passcode|pass ?word|pin|(?:api|access|secret)[ -]?(?:key|token)|token|(?:verification|one-time|security) code)\b[^?\n]{0,80}[:：]\s*$",
    )
});

/// Where Enter does nothing but go on.
static GOES_ON: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:press|hit) (?:the )?[\[<(]?(?:enter|return|any key)\b"));

/// Where Enter does something about what was typed or selected.
static SUBMITS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:type|typing|select\w*|choose|confirm|submit|accept|send|save|agree|your)\b")
});

/// A time that runs: `in 299s`, `10 seconds left`, `00:41`.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds?|m|mins?|minutes?)\b|\b\d{1,2}:\d{2}(?::\d{2})?\b",
    )
});

/// What moves at the end of a line: a clock, a time that runs down, a share, a spinner.
static MOVING_END: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:\s*[\[(]?(?:(?:\b(?:eta|elapsed|time|remaining|left|after|in)\b:?\s*)?(?:\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds?|m|mins?|minutes?)\b|\b\d{1,2}:\d{2}(?::\d{2})?\b)(?:\s*(?:left|remaining|elapsed))?|\d+(?:\.\d+)? ?%|[\u{2800}-\u{28ff}\u{2588}-\u{258f}\u{2591}-\u{2593}◐◓◑◒◴◷◶◵✻✶✳✢]+)[\])]?|\s[|/\\-])+\s*$",
    )
});

/// What a line says up to the cursor. Nothing if something else stands behind that than what moves.
fn asked_part(text: &str, column: usize) -> Option<&str> {
    let mut width = 0;
    let end = text.char_indices().find(|(_, char)| {
        width += char.width().unwrap_or(0);
        width > column
    });
    let (before, behind) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    let moves = MOVING_END.find(behind).is_some_and(|found| found.start() == 0);
    if !behind.trim().is_empty() && !moves {
        return None;
    }
    Some(before)
}

/// A line without what moves at its end.
pub(crate) fn without_moving_end(text: &str) -> &str {
    MOVING_END.find(text).map_or(text, |found| &text[..found.start()])
}

/// Whether a line, apart from what moves at its end, looks like one that waits for something to be
/// typed behind it.
pub(crate) fn is_prompt(text: &str) -> bool {
    let text = without_moving_end(text).trim_end();
    text.ends_with(['?', ':', '>', '❯', '›', '»', '：', '？']) || YES_OR_NO.is_match(text)
}

/// A text without the times in it.
pub(crate) fn without_times(text: &str) -> Cow<'_, str> {
    TIME.replace_all(text, "")
}

static CHOOSES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)↑|↓|⇅|\barrows?\b|\b(?:enter|return)\b.*\b(?:select|confirm|choose|continue)|\bto select\b",
    )
});

/// The line above a menu that asks for a choice.
pub(super) static ASKS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\?\s*(?:\([^()]*\))?$|\b(?:choose|pick|select|which)\b"));

/// How many lines above a menu may be the one that asks, and how many below may name its keys.
const LINES_ABOVE_MENU: usize = 3;
const LINES_BELOW_MENU: usize = 4;

#[expect(clippy::expect_used, reason = "each pattern is part of the program and used in a test")]
pub(super) fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("the pattern is tested")
}

impl GenericHit {
    /// What the screen asks, if it asks in one of these ways.
    pub(crate) fn find(view: &LineView<'_>) -> Option<Self> {
        let end = view.end();
        let low = end.saturating_sub(MAX_LINES_BELOW)..end;
        // A program that reads a line waits in it; once the cursor has left it, that is over.
        let waits = match view.cursor_line() {
            Some((line, _)) if view.collects_line() => line..line + 1,
            _ => low.clone(),
        };
        secret_line(view)
            .or_else(|| menu(view, end))
            .or_else(|| yes_or_no(view))
            .or_else(|| Self::line(view, BUTTONS_RULE, &BUTTONS, low.clone()))
            .or_else(|| words_beside(view, low.clone()))
            .or_else(|| Self::line(view, "generic:waits", &WAITS, low.clone()))
            .or_else(|| Self::line(view, "generic:press-key", &PRESS, waits).map(Self::with_enter))
    }

    /// The same with Enter as its one entry, where that only goes on.
    fn with_enter(self) -> Self {
        let goes_on = GOES_ON.is_match(&self.line) && !SUBMITS.is_match(&self.line);
        let enter = || ScreenMenu::of_rows(vec![MenuEntry::new("1", "Press Enter")], 0);
        Self { menu: goes_on.then(enter), ..self }
    }

    fn line(
        view: &LineView<'_>,
        rule: &'static str,
        pattern: &Regex,
        mut lines: Range<usize>,
    ) -> Option<Self> {
        let line = lines.rfind(|&line| pattern.is_match(view.line(line)))?;
        // No key moves between buttons where the terminal collects a line.
        let is_buttons = rule == BUTTONS_RULE && !view.collects_line();
        let menu = is_buttons.then(|| buttons(view, line)).flatten();
        Some(Self::new(view, rule, line, menu))
    }

    pub(super) fn new(
        view: &LineView<'_>,
        rule: &'static str,
        line: usize,
        menu: Option<ScreenMenu>,
    ) -> Self {
        let own = match &menu {
            Some(menu) if menu.layout == MenuLayout::Rows => OwnLines::of_menu(view, &menu.lines),
            _ => OwnLines::around(view, line),
        };
        Self::with_own_lines(view, rule, line, menu, &own)
    }

    fn with_own_lines(
        view: &LineView<'_>,
        rule: &'static str,
        line: usize,
        menu: Option<ScreenMenu>,
        own: &OwnLines,
    ) -> Self {
        let begin = own.begin().min(line.saturating_sub(QUESTION_LINES));
        let words = own.words(view);
        let title = match rule {
            MENU => title::of_menu(view, line),
            BUTTONS_RULE => title::of_buttons(view, line),
            _ => title::of_line(view, line),
        };
        let (row, cursor) = (view.place(line), view.cursor_place());
        let place = LinePlace { count: 0, row, cursor, has_cursor: view.has_cursor(line) };
        Self {
            rule,
            line: view.line(line).trim().to_owned(),
            title,
            excerpt: (begin..view.end().max(line + 1))
                .map(|line| view.line(line).to_owned())
                .collect(),
            menu,
            asked_line: (AskedLine { rule: NO_RULE, words }, place),
            is_cut: own.is_cut(view),
        }
    }
}

/// A menu near the end of the screen.
fn menu(view: &LineView<'_>, end: usize) -> Option<GenericHit> {
    let menu = ScreenMenu::read(view, 0..end, None)?;
    let below = menu.lines.end..end;
    let filled = below.filter(|&line| !view.line(line).trim().is_empty()).count();
    let is_menu = match menu.proof {
        MenuProof::None => true,
        MenuProof::Keys => names_keys(view, &menu.lines),
        MenuProof::Question => is_asked_at(view, menu.lines.clone()),
    };
    let first = menu.lines.start;
    if !is_menu || filled > MAX_LINES_BELOW {
        return None;
    }
    if !view.collects_line() {
        return Some(GenericHit::new(view, MENU, first, Some(menu)));
    }
    // No key moves a mark where the terminal collects a line: these are words about what to type
    // into the line right below.
    let own = OwnLines::of_menu(view, &menu.lines);
    is_typed_below(view, menu.lines.end)
        .then(|| GenericHit::with_own_lines(view, MENU, first, None, &own))
}

/// Words side by side of which one is lit, below a line that asks or with the keys named below.
fn words_beside(view: &LineView<'_>, lines: Range<usize>) -> Option<GenericHit> {
    if view.collects_line() {
        return None;
    }
    let offered = |line: usize| lit_words(view, line).filter(|_| is_asked_at(view, line..line + 1));
    lines.rev().find_map(|line| Some(GenericHit::new(view, MENU, line, Some(offered(line)?))))
}

/// Whether the cursor is in the first line with words from this one on.
fn is_typed_below(view: &LineView<'_>, end: usize) -> bool {
    let cursor = view.cursor_line().map(|(line, _)| line);
    let first = (end..view.end()).find(|&line| !view.line(line).trim().is_empty());
    first.is_some() && first == cursor
}

/// Whether a line says which keys choose.
pub(super) fn is_key_hint(line: &str) -> bool {
    CHOOSES.is_match(line)
}

/// Whether the lines below a menu say which keys choose.
fn names_keys(view: &LineView<'_>, menu: &Range<usize>) -> bool {
    let below = menu.end..view.end();
    below.take(LINES_BELOW_MENU).any(|line| is_key_hint(view.line(line)))
}

/// Whether the line above these asks for a choice, or one above or below says which keys choose.
pub(super) fn is_asked_at(view: &LineView<'_>, menu: Range<usize>) -> bool {
    ASKS.is_match(heading(view, &menu)) || is_key_hint_at(view, &menu)
}

/// Whether the line above a menu or one below says which keys choose.
pub(super) fn is_key_hint_at(view: &LineView<'_>, menu: &Range<usize>) -> bool {
    is_key_hint(heading(view, menu)) || names_keys(view, menu)
}

/// The line above a menu, or nothing.
pub(super) fn heading<'a>(view: &'a LineView<'_>, menu: &Range<usize>) -> &'a str {
    heading_line(view, menu).map_or("", |line| view.line(line).trim_matches(is_edge))
}

/// The same, by its number.
pub(super) fn heading_line(view: &LineView<'_>, menu: &Range<usize>) -> Option<usize> {
    let mut above = menu.start.saturating_sub(LINES_ABOVE_MENU)..menu.start;
    above.rfind(|&line| !view.line(line).trim_matches(is_edge).is_empty())
}

/// A line that asks for something that nobody else may read, right before the cursor. What is typed
/// there may be hidden by a program behind the one that has the terminal, as with ssh.
fn secret_line(view: &LineView<'_>) -> Option<GenericHit> {
    let (cursor, column) = view.cursor_line()?;
    let asked = asked_part(view.line(cursor), column)?;
    let is_asked =
        view.cursor_visible() != Some(false) && ASKS_FOR_SECRET.is_match(without_moving_end(asked));
    is_asked.then(|| GenericHit::new(view, HIDDEN_LINE, cursor, None))
}

/// A question for yes or no in the line of the cursor, which stands behind it, or in the line above
/// where that of the cursor has only the mark of a prompt.
pub(super) fn yes_or_no(view: &LineView<'_>) -> Option<GenericHit> {
    let (cursor, column) = view.cursor_line()?;
    let here = asked_part(view.line(cursor), column)?;
    let asked = |line: usize, text: &str| {
        let is_asked = YES_OR_NO.is_match(text) || YES_OR_NO.is_match(without_moving_end(text));
        is_asked.then(|| GenericHit::new(view, YES_OR_NO_RULE, line, None))
    };
    asked(cursor, here).or_else(|| {
        let above = cursor.checked_sub(1).filter(|_| BARE_PROMPT.is_match(here))?;
        let asked = asked(above, view.line(above))?;
        // The prompt below a question that was answered in its own line, or asked there and left, is
        // the next one.
        let (line, place) = &asked.asked_line;
        (!view.is_answered_at(line, place) && !view.is_left_at(line, place)).then_some(asked)
    })
}
