//! Since when a screen shows the same, apart from the little on it that is painted all the time: a
//! clock, a spinner, a line of news.
//!
//! A program that waits below such a line prints without end and does nothing. What is left out
//! never includes the line of a visible cursor that is the last one: what moves there is what the
//! program does, unless the line is a prompt with a clock or a spinner in it.

use std::collections::VecDeque;
use std::time::Duration;

use crate::rules::{LineView, is_prompt};

/// How many lines may change all the time on a screen that counts as still.
const MAX_RESTLESS_LINES: usize = 2;

/// How often a line must have changed within [`RESTLESS_TIME`] to count as one that always does.
const RESTLESS_CHANGES: usize = 3;

const RESTLESS_TIME: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct ScreenStillness {
    lines: Vec<LineHistory>,
    scrolled: u64,
    /// When a line last left the screen at its top.
    scrolled_at: Duration,
    /// When the screen was last looked at.
    looked: Option<Duration>,
    since: Duration,
}

/// What a line of the screen shows, and when that changed.
#[derive(Debug, Default)]
struct LineHistory {
    text: String,
    /// The words in it. Numbers, bars and the pictures of a spinner are none.
    words: String,
    changed: Duration,
    /// When its words changed, for the last few times.
    reworded: VecDeque<Duration>,
}

impl ScreenStillness {
    /// Takes in what the screen shows now.
    pub(super) fn look(&mut self, view: &LineView<'_>, now: Duration) {
        let shown: Vec<&str> = view.lines().collect();
        if self.lines.len() < shown.len() {
            self.lines.resize_with(shown.len(), LineHistory::default);
        }
        for (at, line) in self.lines.iter_mut().enumerate() {
            line.look(shown.get(at).copied().unwrap_or_default(), now);
        }
        if self.scrolled != view.scrolled() {
            (self.scrolled, self.scrolled_at) = (view.scrolled(), now);
        }
        self.looked = Some(now);
        let cursor = view.cursor_line().map(|(line, _)| line);
        // A program works below what it has shown; one that waits may leave its cursor in its clock.
        let is_last = |line: &usize| shown.iter().skip(line + 1).all(|text| text.trim().is_empty());
        let visible = cursor.filter(|_| view.cursor_visible() == Some(true));
        self.since = self.still_since(visible.filter(is_last), now);
    }

    /// Since when the screen shows the same. What was printed after the last look may have changed
    /// it.
    pub(super) fn since(&self, printed: Duration) -> Duration {
        if self.looked.is_none_or(|looked| looked < printed) { printed } else { self.since }
    }

    fn still_since(&self, cursor: Option<usize>, now: Duration) -> Duration {
        let lines = || self.lines.iter().enumerate();
        let is_restless =
            |(at, line): &(usize, &LineHistory)| Some(*at) != cursor && line.is_restless(now);
        let leaves_out = lines().filter(is_restless).count() <= MAX_RESTLESS_LINES;
        let counted = lines().filter(|line| !(leaves_out && is_restless(line)));
        let changed = counted.map(|(at, line)| {
            let reworded = line.reworded.back().copied().unwrap_or_default();
            let is_work = Some(at) == cursor && !is_prompt(&line.text);
            if is_work { line.changed } else { reworded }
        });
        changed.max().unwrap_or_default().max(self.scrolled_at)
    }
}

impl LineHistory {
    fn look(&mut self, text: &str, now: Duration) {
        if self.text == text {
            return;
        }
        text.clone_into(&mut self.text);
        self.changed = now;
        let words = words(text);
        if self.words != words {
            self.words = words;
            self.reworded.push_back(now);
            if self.reworded.len() > RESTLESS_CHANGES {
                self.reworded.pop_front();
            }
        }
    }

    fn is_restless(&self, now: Duration) -> bool {
        let first = self.reworded.front().filter(|_| self.reworded.len() == RESTLESS_CHANGES);
        first.is_some_and(|first| now.saturating_sub(*first) <= RESTLESS_TIME)
    }
}

/// The letters of a line. One with anything else shows something.
fn words(text: &str) -> String {
    let letters: String = text.chars().filter(|char| char.is_alphabetic()).collect();
    if letters.is_empty() && !text.trim().is_empty() { "…".to_owned() } else { letters }
}
