//! A question that comes or goes while something is on its way: what was typed before it, and
//! whether the line that an answer was typed into is still the one that was asked.

use std::time::Duration;

use coven_model::AgentState;

use super::message::{DeliveryError, DeliveryStage};
use super::{
    Delivery, DeliveryProof, DeliveryStep, InputReader, OutputSinceTyped, PromptView,
    READY_TIMEOUT, Submission,
};
use crate::actor::READER_LOOK_TIME;
use crate::answer::QUESTION_HIDDEN_TIME;

/// How long what was typed before a question may take to be on the screen again after it.
pub(super) const REAPPEAR_TIME: Duration = Duration::from_secs(1);

impl Delivery {
    /// What follows where the question that an answer was typed for has gone: the keys that submit it
    /// would answer the next one.
    pub(super) fn question_gone(
        &mut self,
        view: &PromptView<'_>,
        now: Duration,
    ) -> Option<DeliveryStep> {
        if self.is_asked_in(view) && !self.is_taken_as_key(view) {
            self.gone_since = None;
            return None;
        }
        let due = *self.gone_since.get_or_insert(now) + QUESTION_HIDDEN_TIME;
        if now < due {
            return Some(DeliveryStep::Wait(due));
        }
        Some(if self.typed_as_line {
            DeliveryStep::Failed(DeliveryError::QuestionChanged)
        } else if self.message.text.chars().nth(1).is_none() {
            // The program reads single keys, and has read this one.
            DeliveryStep::Done
        } else {
            DeliveryStep::Failed(DeliveryError::MovedOn)
        })
    }

    /// Whether an answer of one key was taken by a program that reads keys: it asks something else, or
    /// has painted what it asks once more, and the key does not stand there.
    fn is_taken_as_key(&self, view: &PromptView<'_>) -> bool {
        let is_other = match (&self.asked_words, view.asked_words) {
            (Some(before), Some(now)) => before != now,
            _ => false,
        };
        self.answers
            && self.is_key(view)
            && (is_other || view.printed == OutputSinceTyped::Question)
            && !view.before_cursor.ends_with(&*self.message.text)
    }

    /// Whether it is a single character, for a program that reads keys as they come.
    fn is_key(&self, view: &PromptView<'_>) -> bool {
        let mut chars = self.message.text.chars();
        let is_one = chars.next().is_some() && chars.next().is_none();
        is_one && !self.typed_as_line && !view.collects_lines
    }

    /// Whether keys that erase it would find it where it was typed.
    pub(super) fn can_be_erased(&self, view: &PromptView<'_>) -> bool {
        if view.collects_lines || view.printed == OutputSinceTyped::Nothing {
            return true;
        }
        if self.answers && self.is_key(view) {
            return view.before_cursor.ends_with(&*self.message.text);
        }
        self.stands(view)
    }

    /// What follows where a text that need not be seen was typed at a program that reads keys, and the
    /// program shows something else: the keys that submit it would be for that.
    pub(super) fn taken_unseen(
        &mut self,
        view: &PromptView<'_>,
        now: Duration,
    ) -> Option<DeliveryStep> {
        if self.message.proof != DeliveryProof::None
            || self.message.text.trim().is_empty()
            || self.typed_as_line
            || view.collects_lines
        {
            return None;
        }
        if view.reader == InputReader::Busy {
            return Some(DeliveryStep::Wait(now + READER_LOOK_TIME));
        }
        if view.printed == OutputSinceTyped::Nothing {
            return None;
        }
        let stands = self.stands(view);
        if self.is_key(view) {
            return match view.before_cursor.ends_with(&*self.message.text) {
                true => None,
                false if stands => Some(DeliveryStep::Failed(DeliveryError::MovedOn)),
                false => Some(DeliveryStep::Done),
            };
        }
        (!stands).then_some(DeliveryStep::Failed(DeliveryError::MovedOn))
    }

    /// What came of it when the program has ended. One that read keys may have ended upon them.
    pub(super) fn at_end(&self, is_written: bool) -> Result<(), DeliveryError> {
        let is_typed = self.is_typed_only() && is_written;
        if !self.answers || !is_typed || self.typed_as_line {
            return Err(DeliveryError::Ended);
        }
        if self.message.text.chars().nth(1).is_none() {
            Ok(())
        } else {
            Err(DeliveryError::MovedOn)
        }
    }

    /// Whether the line that an answer was typed into is the same, as far as there is one.
    pub(super) fn is_asked_in(&self, view: &PromptView<'_>) -> bool {
        let (Some((row, before)), Some(line)) = (&self.asked_in, view.line) else { return true };
        let is_there = *row == view.row;
        let needle = &*self.needle;
        if let Some(behind) = line.strip_prefix(&**before)
            && (is_there || behind.contains(needle))
        {
            // A program that reads keys and has painted it anew asks it once more.
            let is_anew = behind.is_empty() && self.stage == DeliveryStage::Echoed;
            return self.typed_as_line || !is_anew;
        }
        // An editor takes what stands in an empty prompt away.
        let is_edited =
            !self.typed_as_line && line.matches(needle).count() > before.matches(needle).count();
        // A program that counts down paints over the line and goes on asking the same.
        let bare = line.strip_suffix(needle).unwrap_or(line);
        is_there && (is_edited || counts_down(before, line) || counts_down(before, bare))
    }

    /// Where the agent asks something before what was typed is submitted, the keys would be an answer
    /// to that. The message waits for the end of the question; if it is not on the screen then, the
    /// question has swallowed it, and it is typed again.
    pub(super) fn behind_question(
        &mut self,
        view: &PromptView<'_>,
        now: Duration,
    ) -> Option<DeliveryStep> {
        if self.answers {
            return None;
        }
        if view.state == AgentState::Awaiting {
            if !self.message.waits {
                return Some(DeliveryStep::Failed(DeliveryError::Awaiting));
            }
            (self.since, self.submission) = (now, Submission::BehindQuestion);
            return Some(DeliveryStep::Wait(now + READY_TIMEOUT));
        }
        if self.submission != Submission::BehindQuestion {
            return None;
        }
        let due = self.since + REAPPEAR_TIME;
        if !self.is_shown(view) && now < due {
            return Some(DeliveryStep::Wait(due));
        }
        self.submission = Submission::Due(now);
        if self.is_shown(view) {
            return None;
        }
        self.message.typed = false;
        self.reach(DeliveryStage::Accepted, now);
        Some(self.accepted(view, now))
    }

    /// A question may have swallowed what a process typed that died then. It was never submitted, so
    /// it is typed again once the agent shows a prompt without it.
    pub(super) fn swallowed_before(
        &mut self,
        view: &PromptView<'_>,
        now: Duration,
    ) -> Option<DeliveryStep> {
        if !self.message.typed || self.answers || self.is_shown(view) {
            return None;
        }
        match view.state {
            AgentState::Working => {
                self.since = now;
                Some(DeliveryStep::Wait(now + READY_TIMEOUT))
            }
            AgentState::Idle | AgentState::Error if now < self.since + REAPPEAR_TIME => {
                Some(DeliveryStep::Wait(self.since + REAPPEAR_TIME))
            }
            AgentState::Idle | AgentState::Error => {
                self.message.typed = false;
                self.reach(DeliveryStage::Accepted, now);
                Some(self.accepted(view, now))
            }
            _ => None,
        }
    }
}

/// A line without what turns in it and without the times of day.
fn without_motion(line: &str) -> String {
    let turns =
        |char: char| ('\u{2800}'..='\u{28ff}').contains(&char) || "◐◓◑◒◴◷◶◵✻✶✳✢".contains(char);
    let (mut still, mut digits) = (String::new(), String::new());
    for char in line.chars().filter(|char| !turns(*char)).chain(['\n']) {
        if char.is_ascii_digit() || (char == ':' && !digits.is_empty()) {
            digits.push(char);
            continue;
        }
        if !digits.trim_end_matches(':').contains(':') {
            still.push_str(&digits);
        }
        digits.clear();
        still.push(char);
    }
    still.trim().trim_matches(['|', '/', '-', '\\']).to_owned()
}

/// Whether a line is another one with something typed behind it, apart from what turns in both.
pub(crate) fn goes_on(before: &str, now: &str) -> bool {
    let before = without_motion(before);
    !before.is_empty() && without_motion(now).starts_with(&before)
}

/// Whether two lines have the same words, and every number that is not the same has become smaller.
/// What turns in them, and clocks, may be anything.
pub(crate) fn counts_down(before: &str, now: &str) -> bool {
    let (before, now) = (&*without_motion(before), &*without_motion(now));
    let words = |line: &str| line.split(|char: char| char.is_ascii_digit()).collect::<String>();
    let numbers = |line: &str| -> Vec<u64> {
        let digits = line.split(|char: char| !char.is_ascii_digit());
        digits.filter_map(|digits| digits.parse().ok()).collect()
    };
    let (old, new) = (numbers(before), numbers(now));
    let is_less = old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| new <= old);
    words(before) == words(now) && is_less
}

#[cfg(test)]
mod tests {
    use super::counts_down;

    #[test]
    fn a_line_with_a_clock_a_spinner_or_a_countdown_in_it_is_the_same_line() {
        for (before, now) in [
            ("DeleteA?(9s)", "DeleteA?(8s)"),
            ("⠋DeleteA?(y/n)", "⠹DeleteA?(y/n)"),
            ("/DeleteA?(y/n)", "-DeleteA?(y/n)"),
            ("DeleteA?(y/n)09:59:59", "DeleteA?(y/n)10:00:00"),
        ] {
            assert!(counts_down(before, now), "{before} {now}");
        }
        for (before, now) in [
            ("DeleteA?(8s)", "DeleteA?(9s)"),
            ("⠋DeleteA?(y/n)", "⠹DeleteB?(y/n)"),
            ("Delete3files?", "Delete4files?"),
            ("DeleteA?(y/n)09:59", "DeleteB?(y/n)09:59"),
        ] {
            assert!(!counts_down(before, now), "{before} {now}");
        }
    }
}
