//! Reads from the screen of an agent that it tries to reach its model again. It is told to people
//! and decides nothing, so that an agent that quotes such a line does no harm.

use std::sync::LazyLock;

use coven_model::ModelRetry;
use coven_terminal::snapshot::ScreenSnapshot;
use regex::Regex;

/// Where such a line stands: above the prompt and the lines below it.
const NOTICE_ROWS: usize = 15;

/// Most of a reason, in characters; a line of a wide terminal may be long.
const MAX_REASON_CHARS: usize = 200;

/// As Claude Code and opencode tell it: the reason, the time to wait, the attempt.
static RETRYING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let attempt =
        r"[Rr]etrying in \d+s?(?: ?[a-z]*)?[ ·]+attempt #?(?P<attempt>\d+)(?:/(?P<max>\d+))?";
    Regex::new(&format!(r"^[^\w\[]*(?P<reason>.*?)[ ·\[]*{attempt}")).ok()
});

/// As Codex tells it. What stands in brackets behind it is the time and a key.
static RECONNECTING: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[Rr]econnecting\.\.\. (?P<attempt>\d+)/(?P<max>\d+)").ok());

/// As Gemini CLI tells it when its errors are set to be shown in full, and else.
static TRYING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let full = r"Trying to reach .+ \(Attempt (?P<attempt>\d+)/(?P<max>\d+)\)";
    Regex::new(&format!(r"{full}|This is taking a bit longer, we're still on it\.")).ok()
});

/// The attempt that the last lines of a screen tell of.
pub fn on_screen(screen: &ScreenSnapshot) -> Option<ModelRetry> {
    let lines: Vec<_> = screen.lines().collect();
    let filled = lines.iter().rposition(|line| !line.text.trim().is_empty()).map_or(0, |at| at + 1);
    let tail = &lines[filled.saturating_sub(NOTICE_ROWS)..filled];
    tail.iter().rev().find_map(|line| in_line(&line.text))
}

fn in_line(line: &str) -> Option<ModelRetry> {
    let patterns = [RETRYING.as_ref(), RECONNECTING.as_ref(), TRYING.as_ref()];
    let found = patterns.into_iter().flatten().find_map(|pattern| pattern.captures(line))?;
    let number = |name: &str| found.name(name).and_then(|number| number.as_str().parse().ok());
    let reason = found.name("reason").map_or("", |reason| reason.as_str()).trim();
    let (status, reason) = match reason.split_once(' ') {
        Some((first, rest)) if first.len() == 3 && first.parse::<u64>().is_ok() => {
            (first.parse().ok(), rest)
        }
        _ => (None, reason),
    };
    let reason: String = reason.trim().chars().take(MAX_REASON_CHARS).collect();
    Some(ModelRetry {
        attempt: number("attempt"),
        max: number("max"),
        // It counts down, and is no news every second.
        delay_ms: None,
        status,
        reason: Some(reason).filter(|reason| !reason.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Option<String> {
        in_line(line).map(|retry| retry.to_string())
    }

    #[test]
    fn the_lines_of_each_program_are_read() {
        for (line, words) in [
            (
                "✻ 429 Rate limit reached (stub) · Retrying in 3s · attempt 4/10",
                "retrying 4 of 10: 429 Rate limit reached (stub)",
            ),
            (
                "   ⬝⬝■■■■■■ bad request (stub) [retrying in 8s attempt #3]        esc interrupt",
                "retrying, attempt 3: bad request (stub)",
            ),
            ("• Reconnecting... 2/5 (1m 02s • esc to interrupt)", "retrying 2 of 5"),
            ("Retrying in 12 seconds · attempt 1/10", "retrying 1 of 10"),
            (
                "⠋ Trying to reach gemini-3-pro (Attempt 2/10) (esc to cancel, 9s)",
                "retrying 2 of 10",
            ),
            ("⠋ This is taking a bit longer, we're still on it. (esc to cancel)", "retrying"),
        ] {
            assert_eq!(told(line).as_deref(), Some(words), "{line}");
        }
    }

    #[test]
    fn other_lines_tell_of_no_attempt() {
        for line in ["attempt 3 failed", "I am retrying in a moment", "esc to interrupt", ""] {
            assert_eq!(told(line), None, "{line}");
        }
    }
}
