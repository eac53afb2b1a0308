//! A question on a terminal, from the first sight of it until it is gone.

use std::time::Duration;

use coven_model::{AskedAction, AwaitingKind, ContentDigest};

use crate::event::ScreenQuestion;

/// How long a question must look the same before it is told: on a busy machine a program paints it
/// in more than one piece. No answer is given faster than this.
const PAINT_TIME: Duration = Duration::from_millis(150);

/// How long after the first sight a question is told that still changes.
const MAX_PAINT_TIME: Duration = Duration::from_millis(450);

/// How long more or less must be known of a question that was told before it is told again. A program
/// may set its terminal up only after it has painted what it asks, and some do so for every key.
const LATE_DETAIL_TIME: Duration = Duration::from_millis(500);

/// What an answer depends on and may become known, or change, while the words that are asked stay the
/// same. Other entries are another question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QuestionDetails {
    kind: AwaitingKind,
    action: AskedAction,
    /// Whether there is a line by which people know it.
    has_title: bool,
}

impl QuestionDetails {
    pub(super) fn of(question: &ScreenQuestion) -> Self {
        let has_title = question.title.is_some();
        Self { kind: question.kind, action: question.action.clone(), has_title }
    }

    fn tell_more_than(&self, told: &Self) -> bool {
        self.kind != told.kind
            || self.action.tells_more_than(&told.action)
            || (self.has_title && !told.has_title)
    }
}

/// A question that is on the screen.
pub(super) struct ReportedQuestion {
    /// As it was reported, or will be.
    pub(super) reported: ContentDigest,
    /// As it is shown now: with another entry selected, or with half an answer typed.
    pub(super) shown: ContentDigest,
    /// Whether a part of it is not on the screen.
    pub(super) is_cut: bool,
    /// When it was first seen.
    pub(super) since: Duration,
    /// When it is to be told. Nothing once it was.
    tell_at: Option<Duration>,
    /// What was told of it.
    told: Option<QuestionDetails>,
    /// Since when something else is known of it.
    differs: Option<Duration>,
    /// An answer to it has come to its end. What is asked now is another question.
    is_over: bool,
}

impl ReportedQuestion {
    /// A question that is seen for the first time, or in the place of one that nobody was told.
    pub(super) fn seen(
        digest: ContentDigest,
        is_cut: bool,
        is_repeated: bool,
        before: Option<&Self>,
        now: Duration,
    ) -> Self {
        let since = before.filter(|before| !before.is_told()).map_or(now, |before| before.since);
        let mut tell_at = (now + PAINT_TIME).min(since + MAX_PAINT_TIME);
        // It is painted, and whoever answered is told at once that it is still asked.
        if before.is_some_and(|before| before.is_over && (before.shown == digest || is_repeated)) {
            tell_at = now;
        }
        let tell_at = Some(tell_at);
        Self {
            shown: digest.clone(),
            reported: digest,
            is_cut,
            since,
            tell_at,
            told: None,
            differs: None,
            is_over: false,
        }
    }

    /// Takes note of what is told of it.
    pub(super) fn tell(&mut self, details: QuestionDetails) {
        (self.told, self.differs) = (Some(details), None);
    }

    /// Takes note of what is known of it now. It is told again once that has differed for some time
    /// from what was told; gives when that will be.
    pub(super) fn know(&mut self, details: &QuestionDetails, now: Duration) -> Option<Duration> {
        if !self.told.as_ref().is_some_and(|told| details.tell_more_than(told)) {
            self.differs = None;
            return None;
        }
        let due = *self.differs.get_or_insert(now) + LATE_DETAIL_TIME;
        if due <= now {
            self.tell_at = Some(now);
        }
        Some(due)
    }

    /// Whether it is no longer what the screen shows.
    pub(super) fn is_replaced(&self, shown: Option<&ContentDigest>, is_cut: bool) -> bool {
        self.is_over || Some(&self.shown) != shown || self.is_cut != is_cut
    }

    /// An answer to it has come to its end.
    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// Whether somebody was told of it who must learn that it is gone.
    pub(super) fn is_missed(&self) -> bool {
        self.is_told() && !self.is_over
    }

    /// A question that is told at this moment.
    pub(super) fn told(digest: ContentDigest, is_cut: bool, now: Duration) -> Self {
        Self { tell_at: None, ..Self::seen(digest, is_cut, false, None, now) }
    }

    pub(super) fn is_told(&self) -> bool {
        self.tell_at.is_none()
    }

    /// When it is to be told, if it was not.
    pub(super) fn tell_at(&self) -> Option<Duration> {
        self.tell_at
    }

    /// It must not wait any longer.
    pub(super) fn hurry(&mut self, now: Duration) {
        self.tell_at = self.tell_at.map(|_| now);
    }

    /// Whether it is to be told now. True once.
    pub(super) fn take_due(&mut self, now: Duration) -> bool {
        self.tell_at.take_if(|due| *due <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> ContentDigest {
        ContentDigest::of_question("rule", [text], 1)
    }

    fn seen(text: &str, before: Option<&ReportedQuestion>, at: u64) -> ReportedQuestion {
        ReportedQuestion::seen(digest(text), false, false, before, Duration::from_millis(at))
    }

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_question_is_told_once_when_it_looks_the_same_for_a_moment() {
        let mut asked = seen("whole", None, 1000);
        assert!(!asked.take_due(ms(1100)));
        assert!(asked.take_due(ms(1150)));
        assert!(asked.is_told() && !asked.take_due(ms(1200)));
    }

    #[test]
    fn a_question_that_still_changes_is_told_at_last() {
        let mut asked = seen("a part", None, 1000);
        for step in 1..5 {
            asked = seen("more of it", Some(&asked), 1000 + step * 100);
        }
        assert_eq!((asked.since, asked.tell_at()), (Duration::from_secs(1), Some(ms(1450))));
    }

    #[test]
    fn what_comes_after_a_question_that_was_told_is_another() {
        let mut first = seen("first", None, 1000);
        first.hurry(Duration::from_secs(1));
        assert!(first.take_due(Duration::from_secs(1)));
        assert_eq!(seen("second", Some(&first), 1020).tell_at(), Some(ms(1170)));
        first.end();
        assert_eq!(
            seen("first", Some(&first), 1020).tell_at(),
            Some(ms(1020)),
            "it is still asked"
        );
        assert_eq!(seen("second", Some(&first), 1020).tell_at(), Some(ms(1170)));
    }
}
