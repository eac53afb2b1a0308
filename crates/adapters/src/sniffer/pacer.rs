//! When to look at a screen: soon after it changed, but not while it is being painted.

use std::time::Duration;

/// How long the program must be silent before its screen is looked at.
const QUIET_BEFORE_READ: Duration = Duration::from_millis(16);

/// How long a program that never pauses can keep its screen from being looked at.
const MAX_READ_DELAY: Duration = Duration::from_millis(48);

/// How long a program may hold its screen back by synchronized output. Terminals paint after
/// about this long as well, in case the end was lost.
const MAX_SYNCHRONIZED_HOLD: Duration = Duration::from_millis(150);

/// Says when a screen that changes is worth a look.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadPacer {
    /// When the first and the last change since the last look came.
    changed: Option<(Duration, Duration)>,
}

impl ReadPacer {
    pub fn changed(&mut self, now: Duration) {
        let first = self.changed.map_or(now, |(first, _)| first);
        self.changed = Some((first, now));
    }

    /// When to look, if there is anything new. `held` says that the program is in the middle of
    /// synchronized output.
    pub fn next_read(&self, held: bool) -> Option<Duration> {
        let (first, last) = self.changed?;
        Some(if held {
            first + MAX_SYNCHRONIZED_HOLD
        } else {
            (last + QUIET_BEFORE_READ).min(first + MAX_READ_DELAY)
        })
    }

    /// The screen was looked at.
    pub fn screen_was_read(&mut self) {
        self.changed = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_look_comes_after_a_pause_and_never_much_later_than_the_first_change() {
        let mut pace = ReadPacer::default();
        assert_eq!(pace.next_read(false), None);
        pace.changed(ms(100));
        assert_eq!(pace.next_read(false), Some(ms(116)));
        pace.changed(ms(110));
        assert_eq!(pace.next_read(false), Some(ms(126)));
        pace.changed(ms(140));
        assert_eq!(pace.next_read(false), Some(ms(148)), "a flood is looked at all the same");
        assert_eq!(
            pace.next_read(true),
            Some(ms(250)),
            "not while the program holds its screen back"
        );
        pace.screen_was_read();
        assert_eq!(pace.next_read(false), None);
    }
}
