//! Time as an input: the scheduler is told what time it is and never looks by itself, so that a
//! test can make it any time and the same inputs always give the same result.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// A point in time that never goes back: what a [`SchedulerClock`] shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Duration);

impl Moment {
    /// Before every other moment: what was due then is due at once.
    pub const BEGINNING: Self = Self(Duration::ZERO);

    /// The moment this long after the beginning of 1970.
    pub const fn since_1970(passed: Duration) -> Self {
        Self(passed)
    }

    /// The moment this much later; the end of time if there is none.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(wait))
    }

    /// How long it is from here until `later`; nothing if that has passed.
    pub fn until(self, later: Self) -> Duration {
        later.0.saturating_sub(self.0)
    }

    /// The time of day, for people.
    pub fn to_system_time(self) -> Option<SystemTime> {
        SystemTime::UNIX_EPOCH.checked_add(self.0)
    }
}

/// Something that knows what time it is.
pub trait SchedulerClock: Send + Sync {
    /// The moment, never before one already shown.
    fn now(&self) -> Moment;

    /// Says how long to wait in the world for this much time to pass on this clock.
    fn wait(&self, time: Duration) -> Duration {
        time
    }
}

/// The machine's clock: the time of day as it was when this was made, moved on by the monotonic
/// clock, so that setting the time of day moves no deadline.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    started: Moment,
    origin: Instant,
}

impl SystemClock {
    /// A clock that starts with the time of day.
    pub fn new() -> Self {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        // A machine that believes to be before 1970 has lost its time; deadlines work all the same.
        Self { started: Moment(since_1970.unwrap_or_default()), origin: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl SchedulerClock for SystemClock {
    fn now(&self) -> Moment {
        self.started.after(self.origin.elapsed())
    }
}

/// A clock that stands still until it is moved or waited for, for tests. No caller waits for long: it
/// is moved on by as much as anybody wants to wait.
#[derive(Debug, Default)]
pub struct ManualClock {
    nanoseconds: AtomicU64,
    step: u64,
}

impl ManualClock {
    /// A clock that starts at 0 and stands.
    pub fn new() -> Self {
        Self::default()
    }

    /// A clock that moves on by `step` each time it is looked at. With it, something that waits
    /// for a deadline by looking again and again gets there.
    pub fn stepping(step: Duration) -> Self {
        Self { nanoseconds: AtomicU64::new(0), step: nanoseconds(step) }
    }

    /// Moves the clock on.
    pub fn advance(&self, by: Duration) {
        self.nanoseconds.fetch_add(nanoseconds(by), Ordering::SeqCst);
    }
}

impl SchedulerClock for ManualClock {
    fn now(&self) -> Moment {
        let passed = self.nanoseconds.fetch_add(self.step, Ordering::SeqCst);
        Moment(Duration::from_nanos(passed))
    }

    fn wait(&self, time: Duration) -> Duration {
        self.advance(time);
        Duration::ZERO
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{ManualClock, Moment, SchedulerClock, SystemClock};
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::new();
        assert_eq!(clock.now(), Moment::default());
        clock.advance(Duration::from_secs(3));
        assert_eq!(clock.now(), Moment::since_1970(Duration::from_secs(3)));
        assert_eq!(clock.now(), clock.now());
    }

    #[test]
    fn waiting_moves_a_manual_clock_and_takes_no_time() {
        let clock = ManualClock::new();
        assert_eq!(clock.wait(Duration::from_secs(3)), Duration::ZERO);
        assert_eq!(clock.now(), Moment::since_1970(Duration::from_secs(3)));
        assert_eq!(SystemClock::new().wait(Duration::from_secs(3)), Duration::from_secs(3));
    }

    #[test]
    fn a_stepping_clock_moves_when_looked_at() {
        let clock = ManualClock::stepping(Duration::from_secs(1));
        assert_eq!(clock.now().until(clock.now()), Duration::from_secs(1));
    }

    #[test]
    fn the_system_clock_shows_the_time_of_day_and_does_not_go_back() {
        let clock = SystemClock::new();
        let (first, second) = (clock.now(), clock.now());
        assert!(first <= second);
        let difference = first.to_system_time().unwrap().duration_since(SystemTime::now());
        assert!(difference.unwrap_or_else(|error| error.duration()) < Duration::from_mins(1));
    }

    #[test]
    fn the_end_of_time_is_not_passed() {
        let end = Moment::default().after(Duration::MAX);
        assert_eq!(end.after(Duration::from_secs(1)), end);
        assert_eq!(end.until(Moment::default()), Duration::ZERO);
    }
}
