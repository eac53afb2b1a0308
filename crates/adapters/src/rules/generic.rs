//! What means in any program that it waits for a person: a menu, a question for yes or no, a box
//! with buttons, the words "press Enter". It is looked for only where no rule of the adapter knows
//! the screen, and what it finds is always for a person.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use coven_model::MenuEntry;
use regex::Regex;
use unicode_width::UnicodeWidthStr as _;

use super::menu::{MenuProof, is_edge};
use super::rule::QUESTION_LINES;
use super::{LineView, ScreenMenu};

/// How many lines may stand below what is asked. What stands higher is over.
const MAX_LINES_BELOW: usize = 8;

/// A question in no program's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GenericHit {
    /// The name that stands in the place of a rule.
    pub(crate) rule: &'static str,
    pub(crate) line: String,
    pub(crate) excerpt: Vec<String>,
    pub(crate) menu: Option<ScreenMenu>,
}

static YES_OR_NO: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)[\[(<]\s*y(?:es)?\s*[/|,]\s*no?\b[^\n]{0,24}?[\])>]\s*[:?>]*\s*$")
});

static BUTTONS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:\[ ?|< ?|\( ?)(?:yes|no|ok|cancel|allow|deny|accept|reject|continue|quit|approve|confirm|abort|skip)[^\])>\n]{0,20}(?: ?\]| ?>| ?\))(?:\s+(?:\[ ?|< ?|\( ?)\p{L}[^\])>\n]{0,20}(?: ?\]| ?>| ?\)))+",
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
static ASKS: LazyLock<Regex> =
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
        menu(view, end)
            .or_else(|| yes_or_no(view))
            .or_else(|| Self::line(view, "generic:buttons", &BUTTONS, low.clone()))
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
        Some(Self::new(view, rule, line, None))
    }

    pub(super) fn new(
        view: &LineView<'_>,
        rule: &'static str,
        line: usize,
        menu: Option<ScreenMenu>,
    ) -> Self {
        let lines = line.saturating_sub(QUESTION_LINES)..view.end().max(line + 1);
        Self {
            rule,
            line: view.line(line).trim().to_owned(),
            excerpt: lines.map(|line| view.line(line).to_owned()).collect(),
            menu,
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
    (is_menu && filled <= MAX_LINES_BELOW)
        .then(|| GenericHit::new(view, "generic:menu", first, Some(menu)))
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
    let heading = heading(view, &menu);
    ASKS.is_match(heading) || is_key_hint(heading) || names_keys(view, &menu)
}

/// The line above a menu, or nothing.
pub(super) fn heading<'a>(view: &'a LineView<'_>, menu: &Range<usize>) -> &'a str {
    let above = menu.start.saturating_sub(LINES_ABOVE_MENU)..menu.start;
    let text = |line: usize| view.line(line).trim_matches(is_edge);
    above.rev().map(text).find(|text| !text.is_empty()).unwrap_or_default()
}

/// A question for yes or no in the line of the cursor, which stands behind it.
fn yes_or_no(view: &LineView<'_>) -> Option<GenericHit> {
    let (line, column) = view.cursor_line()?;
    let text = view.line(line);
    let is_asked = column >= text.width() && YES_OR_NO.is_match(text);
    is_asked.then(|| GenericHit::new(view, "generic:yes-no", line, None))
}
