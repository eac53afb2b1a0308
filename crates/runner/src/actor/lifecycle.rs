//! The phases in the life of an agent's process, and what moves it from one to the next. Time is an
//! input, and what is to be done to the process comes back as a value.

use std::time::Duration;

use coven_runtime::domain::StopMode;

use crate::outcome::OutcomeCause;

/// How long everything may take to be gone once it is forced. Processes in the middle of a write
/// to a slow disk take their time.
pub(super) const FORCE_TIMEOUT: Duration = Duration::from_secs(20);

/// Where an agent is in its life. `R` is where a caller that stops it hears of its end.
#[derive(Debug)]
enum RunnerPhase<R> {
    /// Its task is under way.
    Running,
    /// Its task is over, and its process was to be kept alive.
    KeptAlive,
    /// Its process is being ended.
    Stopping { cause: OutcomeCause, step: StopStep, waiting: Vec<R> },
}

/// How far a stop is.
#[derive(Clone, Copy, Debug)]
enum StopStep {
    /// The process was asked to end.
    Asked { force_at: Duration },
    /// It was forced to.
    Forced { check_at: Duration },
}

/// The life of one agent.
#[derive(Debug)]
pub(super) struct Lifecycle<R> {
    phase: RunnerPhase<R>,
    /// How long its task may take.
    timeout: Option<Duration>,
    /// How long its process may take to end when it is asked.
    grace: Duration,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct DueStop<R> {
    /// What to do to the process.
    pub(super) stop: Option<StopMode>,
    /// The callers to tell that it could not be ended. It goes on being tried.
    pub(super) survived: Vec<R>,
}

impl<R> Lifecycle<R> {
    pub(super) fn new(timeout: Option<Duration>, grace: Duration) -> Self {
        Self { phase: RunnerPhase::Running, timeout, grace }
    }

    /// Whether the task is under way.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.phase, RunnerPhase::Running)
    }

    /// The task is over and the process goes on. One that is being stopped does not.
    pub(super) fn keep_alive(&mut self) {
        if self.is_running() {
            self.phase = RunnerPhase::KeptAlive;
        }
    }

    /// Ends the process. Says what to do to it, unless that was begun before; then the first cause
    /// counts.
    pub(super) fn stop(&mut self, cause: OutcomeCause, now: Duration) -> Option<StopMode> {
        if matches!(self.phase, RunnerPhase::Stopping { .. }) {
            return None;
        }
        let step = StopStep::Asked { force_at: now + self.grace };
        self.phase = RunnerPhase::Stopping { cause, step, waiting: Vec::new() };
        Some(StopMode::Polite { grace: self.grace })
    }

    /// Ends the process for a caller that waits until it is gone.
    pub(super) fn stop_for(&mut self, caller: R, now: Duration) -> Option<StopMode> {
        let stop = self.stop(OutcomeCause::Stopped, now);
        if let RunnerPhase::Stopping { waiting, .. } = &mut self.phase {
            waiting.push(caller);
        }
        stop
    }

    /// What is due by the clock.
    pub(super) fn tick(&mut self, now: Duration) -> DueStop<R> {
        let nothing = DueStop { stop: None, survived: Vec::new() };
        match &mut self.phase {
            RunnerPhase::Running if self.timeout.is_some_and(|timeout| timeout <= now) => {
                DueStop { stop: self.stop(OutcomeCause::TimedOut, now), ..nothing }
            }
            RunnerPhase::Running | RunnerPhase::KeptAlive => nothing,
            RunnerPhase::Stopping { step, waiting, .. } => {
                let survived = match *step {
                    StopStep::Asked { force_at } if force_at <= now => Vec::new(),
                    StopStep::Forced { check_at } if check_at <= now => std::mem::take(waiting),
                    StopStep::Asked { .. } | StopStep::Forced { .. } => return nothing,
                };
                *step = StopStep::Forced { check_at: now + FORCE_TIMEOUT };
                DueStop { stop: Some(StopMode::Force), survived }
            }
        }
    }

    /// When something is due.
    pub(super) fn deadline(&self) -> Option<Duration> {
        match &self.phase {
            RunnerPhase::Running => self.timeout,
            RunnerPhase::KeptAlive => None,
            RunnerPhase::Stopping { step, .. } => Some(match *step {
                StopStep::Asked { force_at } => force_at,
                StopStep::Forced { check_at } => check_at,
            }),
        }
    }

    /// The process is gone: why, if it was ended by us, and the callers that wait for it.
    pub(super) fn end(self) -> (Option<OutcomeCause>, Vec<R>) {
        match self.phase {
            RunnerPhase::Running | RunnerPhase::KeptAlive => (None, Vec::new()),
            RunnerPhase::Stopping { cause, waiting, .. } => (Some(cause), waiting),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(5);

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn life(timeout: Option<Duration>) -> Lifecycle<&'static str> {
        Lifecycle::new(timeout, GRACE)
    }

    fn nothing<R>() -> DueStop<R> {
        DueStop { stop: None, survived: Vec::new() }
    }

    fn force<R>(survived: Vec<R>) -> DueStop<R> {
        DueStop { stop: Some(StopMode::Force), survived }
    }

    #[test]
    fn a_stop_asks_then_forces_and_tells_its_callers_when_that_fails() {
        let mut life = life(None);
        assert_eq!((life.deadline(), life.tick(s(100))), (None, nothing()));
        assert_eq!(life.stop_for("first", s(100)), Some(StopMode::Polite { grace: GRACE }));
        assert_eq!(life.stop_for("second", s(101)), None, "it is asked once");
        assert_eq!(life.deadline(), Some(s(105)));
        assert_eq!(life.tick(s(104)), nothing());
        assert_eq!(life.tick(s(105)), force(vec![]));
        assert_eq!(life.tick(s(106)), nothing());
        assert_eq!(life.deadline(), Some(s(125)));
        assert_eq!(life.tick(s(125)), force(vec!["first", "second"]));
        assert_eq!(life.stop_for("third", s(126)), None);
        assert_eq!(life.end(), (Some(OutcomeCause::Stopped), vec!["third"]));
    }

    #[test]
    fn time_is_up_only_while_the_task_is_under_way() {
        let mut slow = life(Some(s(60)));
        assert_eq!(slow.deadline(), Some(s(60)));
        assert_eq!(slow.tick(s(60)).stop, Some(StopMode::Polite { grace: GRACE }));
        assert!(!slow.is_running());
        assert_eq!(slow.end(), (Some(OutcomeCause::TimedOut), vec![]));

        let mut kept = life(Some(s(60)));
        kept.keep_alive();
        assert_eq!((kept.deadline(), kept.tick(s(60))), (None, nothing()));
        assert_eq!(kept.end(), (None, vec![]));
    }

    #[test]
    fn the_first_cause_counts_and_what_is_stopped_is_not_kept() {
        let mut life = life(Some(s(60)));
        assert!(life.stop(OutcomeCause::TimedOut, s(60)).is_some());
        assert!(life.stop(OutcomeCause::Stopped, s(61)).is_none());
        life.keep_alive();
        assert_eq!(life.end(), (Some(OutcomeCause::TimedOut), vec![]));
    }
}
