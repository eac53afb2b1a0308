//! Which question an agent is asking, and whether it is a new one.

use std::time::Duration;

use coven_model::{AskedAction, ContentDigest};

use super::reading::StateReading;
use crate::rules::ScreenRules;

/// How long after an answer the same question, still on the screen, counts as asked again: either
/// the answer was not taken, or the next question has the same words. A program that works takes
/// its keys well before.
const ASKED_AGAIN_AFTER: Duration = Duration::from_millis(1500);

/// How long after it was first seen a question may still be growing, because it is painted in more
/// than one piece. What changes later is another question.
const QUESTION_PAINT_TIME: Duration = Duration::from_millis(300);

#[derive(Debug, Default)]
pub(super) struct QuestionTracker {
    asked: u64,
    current: Option<OpenQuestion>,
    /// The agent said by itself that it asks something new.
    announced: bool,
}

#[derive(Debug)]
struct OpenQuestion {
    rule: String,
    essence: Vec<String>,
    excerpt: Vec<String>,
    action: AskedAction,
    digest: ContentDigest,
    asked: Duration,
    answered: Option<Duration>,
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

    pub(super) fn action(&self) -> AskedAction {
        self.current.as_ref().map(|current| current.action.clone()).unwrap_or_default()
    }

    /// The agent announced a question by a signal.
    pub(super) fn announced(&mut self) {
        if self.current.is_some() {
            self.announced = true;
        }
    }

    /// The question is gone.
    pub(super) fn question_gone(&mut self) {
        self.current = None;
        self.announced = false;
    }

    pub(super) fn typed(&mut self, now: Duration) {
        if let Some(current) = &mut self.current {
            current.answered = Some(now);
        }
    }

    /// Whether a question was asked and no answer was typed yet.
    pub(super) fn is_open(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.answered.is_none())
    }

    pub(super) fn was_answered(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.answered.is_some())
    }

    /// When a question that was answered counts as asked again if it is still there.
    pub(super) fn asked_again_at(&self) -> Option<Duration> {
        Some(self.current.as_ref()?.answered? + ASKED_AGAIN_AFTER)
    }

    pub(super) fn asks_again(&self, now: Duration) -> bool {
        self.asked_again_at().is_some_and(|at| at <= now)
    }

    /// The agent asks this. Gives the digest that an answer must name.
    pub(super) fn ask(
        &mut self,
        rules: &ScreenRules,
        reading: &StateReading,
        now: Duration,
    ) -> ContentDigest {
        let essence = rules.essence(&reading.excerpt);
        let again = self.announced || self.asks_again(now);
        if let Some(current) = &mut self.current
            && !again
            && current.rule == reading.rule
            && current.essence == essence
        {
            current.excerpt.clone_from(&reading.excerpt);
            current.action.clone_from(&reading.action);
            return current.digest.clone();
        }
        let grows = self.current.as_ref().is_some_and(|current| {
            current.answered.is_none()
                && current.rule == reading.rule
                && now.saturating_sub(current.asked) <= QUESTION_PAINT_TIME
        });
        let asked = self.current.as_ref().map_or(now, |current| current.asked);
        if !grows || again {
            self.asked += 1;
        }
        self.announced = false;
        let words = essence.iter().map(String::as_str);
        let digest = ContentDigest::of_question(&reading.rule, words, self.asked);
        self.current = Some(OpenQuestion {
            rule: reading.rule.clone(),
            essence,
            excerpt: reading.excerpt.clone(),
            action: reading.action.clone(),
            digest: digest.clone(),
            asked: if grows { asked } else { now },
            answered: None,
        });
        digest
    }
}
