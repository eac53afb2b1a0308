//! Following what a terminal shows, line by line: a line is printed once, when it has left the
//! screen or has stood on it for a moment.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use coven_api::task::LogText;

/// How long a line must stand on the screen before it is printed: longer than the second after
/// which a clock or a spinner has other words.
const STANDING_TIME: Duration = Duration::from_millis(1500);

/// How many of the lines printed last are held against what the terminal shows.
const MAX_COMPARED_LINES: usize = 400;

/// The lines that were printed, and those that stand on the screen.
#[derive(Debug, Default)]
pub(super) struct ShownLines {
    /// The last lines that were printed.
    printed: Vec<String>,
    /// How many lines the log had before those that stand on the screen.
    settled: u64,
    /// Since when a line stands on the screen.
    standing: HashMap<String, Instant>,
}

impl ShownLines {
    /// From which line on the log is needed.
    pub(super) fn from(&self) -> u64 {
        self.settled.saturating_sub(MAX_COMPARED_LINES as u64 / 2)
    }

    /// The lines that are to be printed now.
    pub(super) fn next(&mut self, log: &LogText, now: Instant) -> Vec<String> {
        let standing = usize::try_from(log.standing).unwrap_or(usize::MAX).min(log.lines.len());
        let settled = log.lines.len() - standing;
        self.settled = log.first + settled as u64;
        let before = std::mem::take(&mut self.standing);
        for line in &log.lines[settled..] {
            let since = before.get(line).copied().unwrap_or(now);
            self.standing.insert(line.clone(), since);
        }
        let is_due = |line: &String| {
            !log.live || self.standing.get(line).is_none_or(|since| now >= *since + STANDING_TIME)
        };
        let (left, stands) = log.lines.split_at(settled);
        let ready: Vec<&String> =
            left.iter().chain(stands.iter().filter(|line| is_due(line))).collect();
        let (merged, new) = merge(&self.printed, &ready);
        self.printed = merged;
        let old = self.printed.len().saturating_sub(MAX_COMPARED_LINES);
        self.printed.drain(..old);
        new
    }

    /// When a line that stands on the screen will have stood long enough.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        self.standing.values().map(|since| *since + STANDING_TIME).filter(|due| *due > now).min()
    }
}

/// Puts lines into those that were printed, where they belong. Returns all of them, and those that
/// were not printed yet.
fn merge(printed: &[String], shown: &[&String]) -> (Vec<String>, Vec<String>) {
    // The longest common part, from each pair of places on.
    let width = shown.len() + 1;
    let mut common = vec![0_u32; (printed.len() + 1) * width];
    for row in (0..printed.len()).rev() {
        for column in (0..shown.len()).rev() {
            common[row * width + column] = if printed[row] == *shown[column] {
                common[(row + 1) * width + column + 1] + 1
            } else {
                common[(row + 1) * width + column].max(common[row * width + column + 1])
            };
        }
    }
    let (mut merged, mut new) = (Vec::new(), Vec::new());
    let (mut row, mut column) = (0, 0);
    while row < printed.len() || column < shown.len() {
        let is_both = row < printed.len() && column < shown.len() && printed[row] == *shown[column];
        let goes_down = row < printed.len()
            && (column == shown.len()
                || common[(row + 1) * width + column] >= common[row * width + column + 1]);
        if is_both {
            merged.push(printed[row].clone());
            (row, column) = (row + 1, column + 1);
        } else if goes_down {
            merged.push(printed[row].clone());
            row += 1;
        } else {
            merged.push(shown[column].clone());
            new.push(shown[column].clone());
            column += 1;
        }
    }
    (merged, new)
}

#[cfg(test)]
mod tests {
    use coven_model::{AttemptId, TaskId};

    use super::*;

    struct Follower {
        shown: ShownLines,
        now: Instant,
    }

    impl Follower {
        fn new() -> Self {
            Self { shown: ShownLines::default(), now: Instant::now() }
        }

        /// What is printed so many milliseconds later.
        fn after(
            &mut self,
            millis: u64,
            left: &[&str],
            stands: &[&str],
            live: bool,
        ) -> Vec<String> {
            self.now += Duration::from_millis(millis);
            let all: Vec<String> = left.iter().chain(stands).map(|&line| line.to_owned()).collect();
            let first = self.shown.from().min(all.len() as u64);
            let log = LogText {
                attempt: AttemptId { task: TaskId::new("build").unwrap(), attempt: 1 },
                first,
                lines: all[usize::try_from(first).unwrap()..].to_vec(),
                standing: stands.len() as u64,
                dropped: 0,
                live,
            };
            self.shown.next(&log, self.now)
        }
    }

    #[test]
    fn a_line_is_printed_once_it_stays_and_only_once() {
        let mut follower = Follower::new();
        assert!(follower.after(0, &[], &["hello", "* 1s", "> "], true).is_empty());
        assert!(follower.after(1000, &[], &["hello", "* 2s", "> "], true).is_empty());
        assert_eq!(follower.after(1000, &[], &["hello", "* 3s", "> "], true), ["hello", "> "]);
        assert!(follower.after(1000, &[], &["hello", "* 4s", "> "], true).is_empty());
        // An answer comes between: it is new, the prompt below it is not.
        assert!(follower.after(0, &[], &["hello", "answer", "* 4s", "> "], true).is_empty());
        assert_eq!(follower.after(2000, &[], &["hello", "answer", "* 6s", "> "], true), ["answer"]);
        // What left is not printed again, and what left before it was printed is.
        assert_eq!(
            follower.after(0, &["hello", "answer", "quick"], &["* 7s", "> "], true),
            ["quick"]
        );
        let left = ["hello", "answer", "quick"];
        assert_eq!(follower.after(0, &left, &["done", "> "], false), ["done"]);
    }

    #[test]
    fn the_same_words_said_again_are_printed_again() {
        let mut follower = Follower::new();
        assert_eq!(follower.after(0, &["ok", "ok"], &[], true), ["ok", "ok"]);
        assert_eq!(follower.after(0, &["ok", "ok", "ok"], &[], true), ["ok"]);
    }

    #[test]
    fn a_screen_painted_again_prints_nothing() {
        let mut follower = Follower::new();
        let left: Vec<String> = (0..900).map(|number| format!("line {number}")).collect();
        let left: Vec<&str> = left.iter().map(String::as_str).collect();
        assert_eq!(follower.after(0, &left, &["> "], true).len(), 900);
        assert!(follower.after(0, &left[..700], &[], true).is_empty());
        assert_eq!(follower.after(2000, &left, &["more"], false), ["more"]);
    }
}
