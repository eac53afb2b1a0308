//! A line that is typed and not shown: a password, a key, a passphrase. The terminal tells it, and
//! so it is known in any program.

use std::sync::LazyLock;

use regex::Regex;

use super::LineView;
use super::generic::{GenericHit, pattern};

/// The name that stands in the place of a rule.
pub(super) const HIDDEN_LINE: &str = "generic:hidden-line";

/// What such a line is asked for with. Programs hide what is typed also while they draw progress.
static ASKS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)[:?>：？]\s*$|\b(?:password|passphrase|passcode|pass ?word|secret|token|pin|api[ -]key|code)\b",
    )
});

/// Whether what a rule by this name asks for must not be recorded.
pub(crate) fn is_hidden_line(rule: &str) -> bool {
    rule == HIDDEN_LINE
}

/// The question for a line that is not shown, in the line of the cursor or the last one above it.
pub(crate) fn hidden_line(view: &LineView<'_>) -> Option<GenericHit> {
    if !view.hides_typed() {
        return None;
    }
    let (cursor, _) = view.cursor_line()?;
    let line = (0..=cursor).rfind(|&line| !view.line(line).trim().is_empty())?;
    ASKS.is_match(view.line(line).trim()).then(|| GenericHit::new(view, HIDDEN_LINE, line, None))
}
