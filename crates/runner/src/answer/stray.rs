//! Keys of an answer that were read and of which nothing was seen.

use std::time::Duration;

use super::AnswerError;

/// How long keys that were read may still act, where nothing was printed since: behind a slow link
/// or in a program that is busy. Others would act behind them, on something that nobody has seen.
const STRAY_KEY_TIME: Duration = Duration::from_secs(30);

/// Keys of an answer that were read and have had no effect that could be seen.
#[derive(Debug)]
pub(crate) struct StrayKeys {
    /// What was asked then.
    asked: Option<Vec<String>>,
    pressed: Duration,
    until: Duration,
}

impl StrayKeys {
    /// The last of them was pressed at a time, and this is asked now.
    pub(crate) fn new(asked: Option<Vec<String>>, pressed: Duration, now: Duration) -> Self {
        Self { asked, pressed, until: now + STRAY_KEY_TIME }
    }

    /// Why no other key is pressed now, while the same is asked as then and nothing was printed since
    /// they were pressed.
    pub(crate) fn forbid(
        &self,
        asked: Option<&[String]>,
        printed: Duration,
        now: Duration,
    ) -> Option<AnswerError> {
        let left = self.until.checked_sub(now).filter(|left| !left.is_zero())?;
        let after_seconds = left.as_secs() + 1;
        let has_reacted = printed > self.pressed || self.asked.as_deref() != asked;
        (!has_reacted).then_some(AnswerError::MayStillAct { after_seconds })
    }
}
