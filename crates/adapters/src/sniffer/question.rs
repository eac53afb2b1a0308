//! Which question an agent is asking, and whether it is a new one.

use std::time::Duration;

use coven_model::{AskedAction, ContentDigest, MenuEntry, are_same_entries, is_generic_rule};

use super::reading::StateReading;
use crate::rules::{LinePlace, LineView, ScreenRules, without_motion, without_times};

/// How long after an answer the same question, still on the screen, counts as asked again: either
/// the answer was not taken, or the next question has the same words. Which of them cannot be told,
/// so only a person may answer it. A program that works takes its keys well before.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(3);

/// How long after it was first seen a question may still be growing, because it is painted in more
/// than one piece. What changes later is another question.
const QUESTION_PAINT_TIME: Duration = Duration::from_millis(300);

#[derive(Debug, Default)]
pub(super) struct QuestionTracker {
    asked: u64,
    current: Option<OpenQuestion>,
    /// The agent said by itself that it asks something new.
    announced: bool,
    /// A question in a line that was answered and that the cursor has left. It may stay on the
    /// screen for long.
    answered: Option<(AskedLine, LinePlace)>,
    /// The line that was last asked with the cursor in it, as long as it stands there. A prompt that
    /// is printed below it is not its own.
    in_own_line: Option<(AskedLine, LinePlace)>,
}

/// The line of a question, by the rule that finds it and the words up to the end of what it finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedLine {
    pub(crate) rule: usize,
    pub(crate) words: String,
}

impl AskedLine {
    /// The line itself, without what stands above it.
    pub(crate) fn last_line(&self) -> Option<&str> {
        self.words.lines().next_back()
    }
}

#[derive(Debug)]
struct OpenQuestion {
    rule: String,
    essence: Vec<String>,
    /// What stood above the line that asks, as far as it was all on the screen.
    above_line: Option<Vec<String>>,
    title: Option<String>,
    excerpt: Vec<String>,
    action: AskedAction,
    /// The entries of its menu, as they stand in the excerpt.
    entries: Vec<MenuEntry>,
    /// The last ones that it had, without what moves in them.
    offered: Vec<MenuEntry>,
    /// The last command that was shown whole, without blanks.
    command: Option<String>,
    digest: ContentDigest,
    asked: Duration,
    answered: Option<Duration>,
    /// The last answer was refused, so that it is the same question as long as it stays there.
    is_refused: bool,
    /// Where it is a line, which one, and where it stands.
    line: Option<(AskedLine, LinePlace)>,
    /// It stands there since before the last answer.
    repeated: bool,
}

impl QuestionTracker {
    pub(super) fn resumed(asked: u64) -> Self {
        Self { asked, ..Self::default() }
    }

    pub(super) fn asked(&self) -> u64 {
        self.asked
    }

    pub(super) fn excerpt(&self) -> &[String] {
        self.current.as_ref().map_or(&[], |current| &current.excerpt)
    }

    pub(super) fn title(&self) -> Option<&str> {
        self.current.as_ref()?.title.as_deref()
    }

    pub(super) fn action(&self) -> AskedAction {
        let action = |current: &OpenQuestion| AskedAction {
            entries: current.entries.clone(),
            ..current.action.clone()
        };
        self.current.as_ref().map(action).unwrap_or_default()
    }

    /// The agent announced a question by a signal.
    pub(super) fn announced(&mut self) {
        if self.current.is_some() {
            self.announced = true;
        }
    }

    /// The question is gone.
    pub(super) fn question_gone(&mut self) {
        if let Some(OpenQuestion { answered: Some(_), line: Some(line), .. }) = self.current.take()
        {
            self.answered = Some(line);
        }
        self.announced = false;
    }

    /// The line that is not asked any more once the cursor has left it, and where it was asked.
    pub(super) fn answered_line(&self) -> Option<(AskedLine, LinePlace)> {
        let current = self.current.as_ref().filter(|current| current.answered.is_some());
        let line = current.and_then(|current| current.line.clone());
        line.or_else(|| self.answered.clone())
    }

    /// The line that was last asked with the cursor in it, and where, if it still stands there.
    pub(super) fn left_line(&mut self, view: &LineView<'_>) -> Option<(AskedLine, LinePlace)> {
        self.in_own_line.take_if(|(line, place)| !view.stands(line, place));
        self.in_own_line.clone()
    }

    /// Whether the question stands there since before the last answer.
    pub(super) fn is_repeated(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.repeated)
    }

    /// Something was typed at this line before it counted as asked.
    pub(super) fn typed_at(&mut self, line: &(AskedLine, LinePlace)) {
        if self.current.is_none() {
            self.answered = Some(line.clone());
        }
    }

    pub(super) fn typed(&mut self, now: Duration) {
        if let Some(current) = &mut self.current {
            (current.answered, current.is_refused) = (Some(now), false);
        }
    }

    /// The last answer to the question was refused. Of one of which something was pressed the rest
    /// may still have been taken.
    pub(super) fn answer_refused(&mut self, was_pressed: bool) {
        if let Some(current) = &mut self.current {
            current.is_refused = true;
            current.answered.take_if(|_| !was_pressed);
        }
    }

    /// Whether a question was asked and no answer was typed that may have been taken.
    pub(super) fn is_open(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.answered.is_none())
    }

    pub(super) fn was_answered(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.answered.is_some())
    }

    /// When a question that was answered counts as asked again if it is still there.
    pub(super) fn asked_again_at(&self) -> Option<Duration> {
        let current = self.current.as_ref().filter(|current| !current.is_refused)?;
        Some(current.answered? + ASKED_AGAIN_AFTER)
    }

    pub(super) fn asks_again(&self, now: Duration) -> bool {
        self.asked_again_at().is_some_and(|at| at <= now)
    }

    /// Whether the same line was answered and stands there anew, below the one that was.
    fn is_below(&self, reading: &StateReading) -> bool {
        let current = self.current.as_ref().filter(|current| current.answered.is_some());
        match (current.and_then(|current| current.line.as_ref()), &reading.line) {
            (Some((asked, before)), Some((line, place))) => {
                asked == line && (place.count > before.count || place.row > before.row)
            }
            _ => false,
        }
    }

    /// Whether a reading shows the question that counts as asked, or one that is as good as that.
    pub(super) fn is_shown(&self, rules: &ScreenRules, reading: &StateReading) -> bool {
        self.current
            .as_ref()
            .is_some_and(|current| current.is_same(rules, reading, &essence(rules, reading)))
            && !self.is_below(reading)
    }

    /// The agent asks this. Gives the digest that an answer must name.
    pub(super) fn ask(
        &mut self,
        rules: &ScreenRules,
        reading: &StateReading,
        now: Duration,
    ) -> ContentDigest {
        if let Some((_, place)) = &reading.line
            && place.has_cursor
        {
            self.in_own_line.clone_from(&reading.line);
        }
        let essence = essence(rules, reading);
        let still_there = self.asks_again(now);
        let again = self.announced || still_there || self.is_below(reading);
        if let Some(current) = &mut self.current
            && !again
            && current.is_same(rules, reading, &essence)
        {
            if reading.above_line.is_some() {
                current.above_line.clone_from(&reading.above_line);
            }
            current.title.clone_from(&reading.title);
            current.excerpt.clone_from(&reading.excerpt);
            current.action.clone_from(&reading.action);
            current.command = whole_command(&reading.action).or(current.command.take());
            current.entries = entries(reading);
            if !current.entries.is_empty() {
                current.offered = still_entries(rules, &current.entries);
            }
            // It may have moved: a size that changes wraps the lines above it anew.
            if current.answered.is_none() {
                current.line.clone_from(&reading.line);
            }
            return current.digest.clone();
        }
        let repeated = still_there
            && !self.announced
            && !self.is_below(reading)
            && self
                .current
                .as_ref()
                .is_some_and(|current| current.is_same(rules, reading, &essence));
        let grows = self.current.as_ref().is_some_and(|current| {
            current.answered.is_none()
                && current.rule == reading.rule
                && !current.offers_other(rules, reading)
                && !current.is_about_other(reading)
                && now.saturating_sub(current.asked) <= QUESTION_PAINT_TIME
        });
        let asked = self.current.as_ref().map_or(now, |current| current.asked);
        if !grows || again {
            self.asked += 1;
        }
        self.announced = false;
        let words = essence.iter().map(String::as_str);
        let digest = ContentDigest::of_question(&reading.rule, words, self.asked);
        let entries = entries(reading);
        self.current = Some(OpenQuestion {
            rule: reading.rule.clone(),
            essence,
            above_line: reading.above_line.clone(),
            title: reading.title.clone(),
            excerpt: reading.excerpt.clone(),
            action: reading.action.clone(),
            offered: still_entries(rules, &entries),
            command: whole_command(&reading.action),
            entries,
            digest: digest.clone(),
            asked: if grows { asked } else { now },
            answered: None,
            is_refused: false,
            line: reading.line.clone(),
            repeated,
        });
        self.answered = None;
        digest
    }
}

impl OpenQuestion {
    /// Whether a reading shows this question. The line that asks for leave is the same for every
    /// command; what stands above it may leave the screen while a small viewer looks.
    fn is_same(&self, rules: &ScreenRules, reading: &StateReading, essence: &[String]) -> bool {
        self.rule == reading.rule
            && self.essence == essence
            && !self.is_about_other(reading)
            && !self.offers_other(rules, reading)
    }

    /// Whether a reading has the same line about something else.
    fn is_about_other(&self, reading: &StateReading) -> bool {
        let has_other_words = matches!(
            (&self.above_line, &reading.above_line),
            (Some(before), Some(now)) if before != now
        );
        let has_other_command = matches!(
            (&self.command, whole_command(&reading.action)),
            (Some(before), Some(now)) if *before != now
        );
        has_other_words || has_other_command
    }

    /// Whether a reading has other entries under the same words. A menu that cannot be read for a
    /// moment is no other.
    fn offers_other(&self, rules: &ScreenRules, reading: &StateReading) -> bool {
        let now = still_entries(rules, &entries(reading));
        !self.offered.is_empty() && !now.is_empty() && !are_same_entries(&self.offered, &now)
    }
}

/// The command that is asked for, if all of it is shown. Another width of the screen breaks its lines
/// elsewhere.
fn whole_command(action: &AskedAction) -> Option<String> {
    let command = action.command.as_ref().filter(|_| !action.truncated)?;
    Some(command.split_whitespace().collect())
}

/// Entries without what moves in their labels.
fn still_entries(rules: &ScreenRules, entries: &[MenuEntry]) -> Vec<MenuEntry> {
    let still = |entry: &MenuEntry| MenuEntry {
        label: rules.still_words(&entry.label).join(" "),
        ..entry.clone()
    };
    entries.iter().map(still).collect()
}

fn entries(reading: &StateReading) -> Vec<MenuEntry> {
    reading.menu.as_ref().map(|menu| menu.entries.clone()).unwrap_or_default()
}

/// What makes a question this question.
pub(super) fn essence(rules: &ScreenRules, reading: &StateReading) -> Vec<String> {
    let mut essence = match &reading.line {
        Some((line, _)) => rules.essence(std::slice::from_ref(&line.words)),
        None if is_generic_rule(&reading.rule) => {
            let still = reading.excerpt.iter().map(|line| without_motion(line).into_owned());
            rules.essence(&still.collect::<Vec<_>>())
        }
        None => rules.essence(&reading.excerpt),
    };
    // Nobody has said what changes in a question that no rule knows. Times do.
    if is_generic_rule(&reading.rule) {
        essence = without_times(&essence.join(" ")).split_whitespace().map(str::to_owned).collect();
    }
    // Enter means something else where another entry is lit, and the text does not show which.
    if let Some(menu) = reading.menu.as_ref().filter(|menu| menu.is_lit) {
        essence.push(format!("selected:{}", menu.selected));
    }
    essence
}
