//! What means in any program that it waits for a person: a menu, a question for yes or no, a box
//! with buttons, the words "press Enter". It is looked for only where no rule of the adapter knows
//! the screen, and what it finds is always for a person.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use unicode_width::UnicodeWidthStr as _;

use super::rule::QUESTION_LINES;
use super::{LineView, ScreenMenu};

/// How many lines may stand below what is asked. What stands higher is over.
const MAX_LINES_BELOW: usize = 8;

/// With what the names of these begin, which stand in the place of a rule.
const PREFIX: &str = "generic:";

/// Whether a rule by this name is none of an adapter, but one of those for any program.
pub fn is_generic(rule: &str) -> bool {
    rule.starts_with(PREFIX)
}

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
        r"(?i)\bpress (?:the )?(?:enter|return|any key|space)\b|\b(?:enter|return) to (?:confirm|continue|select|submit|accept|proceed)\b",
    )
});

static CHOOSES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)↑|↓|⇅|\barrows?\b|\b(?:enter|return)\b.*\b(?:select|confirm|choose|continue)|\bto select\b",
    )
});

#[expect(clippy::expect_used, reason = "each pattern is part of the program and used in a test")]
fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("the pattern is tested")
}

impl GenericHit {
    /// What the screen asks, if it asks in one of these ways.
    pub(crate) fn find(view: &LineView<'_>) -> Option<Self> {
        let end = view.end();
        let low = end.saturating_sub(MAX_LINES_BELOW)..end;
        menu(view, end)
            .or_else(|| yes_or_no(view))
            .or_else(|| Self::line(view, "generic:buttons", &BUTTONS, low.clone()))
            .or_else(|| Self::line(view, "generic:waits", &WAITS, low.clone()))
            .or_else(|| Self::line(view, "generic:press-key", &PRESS, low))
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

    fn new(view: &LineView<'_>, rule: &'static str, line: usize, menu: Option<ScreenMenu>) -> Self {
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
    let filled = below.clone().filter(|&line| !view.line(line).trim().is_empty()).count();
    // A plain `>` also stands before what a person types.
    let is_menu = menu.is_plain || below.take(4).any(|line| CHOOSES.is_match(view.line(line)));
    let first = menu.lines.start;
    (is_menu && filled <= MAX_LINES_BELOW)
        .then(|| GenericHit::new(view, "generic:menu", first, Some(menu)))
}

/// A question for yes or no in the line of the cursor, which stands behind it.
fn yes_or_no(view: &LineView<'_>) -> Option<GenericHit> {
    let (line, column) = view.cursor_line()?;
    let text = view.line(line);
    let is_asked = column >= text.width() && YES_OR_NO.is_match(text);
    is_asked.then(|| GenericHit::new(view, "generic:yes-no", line, None))
}
