//! Keys of an answer that were read and of which nothing was seen.

use std::time::Duration;

use super::AnswerError;

/// How long keys that were read may still act, where nothing was printed since: behind a slow link
/// or in a program that is busy. Others would act behind them, on something that nobody has seen.
const STRAY_KEY_TIME: Duration = Duration::from_secs(30);

/// Keys of an answer that were read and have had no effect that could be seen.
#[derive(Debug)]
pub(crate) struct StrayKeys {
    asked: AskedThen,
    /// Up to where the agent had printed when the last of them was pressed.
    offset: u64,
    until: Duration,
}

/// What was asked when keys were pressed.
#[derive(Debug)]
enum AskedThen {
    /// These words, if anything.
    Words(Option<Vec<String>>),
    /// Another process saw it. As long as nothing was printed, it is what this one sees first.
    Unseen,
}

impl StrayKeys {
    /// The last of them was pressed when the agent had printed so much, and this is asked now.
    pub(crate) fn new(asked: Option<Vec<String>>, offset: u64, now: Duration) -> Self {
        Self { asked: AskedThen::Words(asked), offset, until: now + STRAY_KEY_TIME }
    }

    /// Another process has pressed them when the agent had printed so much. How long ago that was is
    /// not known.
    pub(crate) fn found(offset: u64) -> Self {
        Self { asked: AskedThen::Unseen, offset, until: STRAY_KEY_TIME }
    }

    /// Why no other key is pressed now, while the same is asked as then and the agent, which has
    /// printed so much, has printed nothing since.
    pub(crate) fn forbid(
        &mut self,
        asked: Option<&[String]>,
        printed: u64,
        now: Duration,
    ) -> Option<AnswerError> {
        let left = self.until.checked_sub(now).filter(|left| !left.is_zero())?;
        let after_seconds = left.as_secs() + 1;
        let is_same = match &self.asked {
            AskedThen::Words(words) => words.as_deref() == asked,
            AskedThen::Unseen => {
                self.asked = AskedThen::Words(asked.map(<[String]>::to_vec));
                true
            }
        };
        let has_reacted = printed > self.offset || !is_same;
        (!has_reacted).then_some(AnswerError::MayStillAct { after_seconds })
    }
}
