//! Keys of an answer that were read and of which nothing was seen.

use std::time::Duration;

use super::AnswerError;

/// How long keys that were read may still act, where nothing was seen of them: behind a slow link or
/// in a program that is busy. Others would act behind them, on something that nobody has seen.
const STRAY_KEY_TIME: Duration = Duration::from_secs(30);

/// Keys of an answer that were read and have had no effect that could be seen.
#[derive(Debug)]
pub(crate) struct StrayKeys {
    /// What was asked then.
    asked: Option<Vec<String>>,
    until: Duration,
}

impl StrayKeys {
    pub(crate) fn new(asked: Option<Vec<String>>, now: Duration) -> Self {
        Self { asked, until: now + STRAY_KEY_TIME }
    }

    /// Why no other key is pressed now, while the same is asked as then.
    pub(crate) fn forbid(&self, asked: Option<&[String]>, now: Duration) -> Option<AnswerError> {
        let left = self.until.checked_sub(now).filter(|left| !left.is_zero())?;
        let after_seconds = left.as_secs() + 1;
        (self.asked.as_deref() == asked).then_some(AnswerError::MayStillAct { after_seconds })
    }
}
