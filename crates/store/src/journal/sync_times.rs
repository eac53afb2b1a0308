//! How long the disk took to make facts durable, counted for the whole process: operators watch
//! the disk by this, and there is one disk for all sessions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper ends of the classes, in milliseconds. What took longer is in the last class.
pub const CLASSES: [u64; 9] = [1, 2, 5, 10, 20, 50, 100, 500, 2000];

static COUNTS: [AtomicU64; CLASSES.len() + 1] = [const { AtomicU64::new(0) }; CLASSES.len() + 1];
static MICROSECONDS: AtomicU64 = AtomicU64::new(0);

/// How often facts were made durable, by how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncTimes {
    /// How many took at most as long as the class of the same place in [`CLASSES`] and longer than
    /// the one before; the last counts all that took longer.
    pub counts: [u64; CLASSES.len() + 1],
    /// How long all of them took together.
    pub total: Duration,
}

/// Everything since the process began.
pub fn sync_times() -> SyncTimes {
    let counts = std::array::from_fn(|class| COUNTS[class].load(Ordering::Relaxed));
    SyncTimes { counts, total: Duration::from_micros(MICROSECONDS.load(Ordering::Relaxed)) }
}

pub(super) fn took(time: Duration) {
    let longer = |most: &&u64| time > Duration::from_millis(**most);
    let class = CLASSES.iter().take_while(longer).count();
    COUNTS[class].fetch_add(1, Ordering::Relaxed);
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    MICROSECONDS.fetch_add(micros, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_counted_in_the_first_class_that_it_does_not_exceed() {
        // Other tests of this process write journals too, though none of theirs takes this long.
        let before = sync_times();
        took(Duration::from_secs(2));
        took(Duration::from_millis(2001));
        let after = sync_times();
        assert!(after.counts[8] > before.counts[8]);
        assert!(after.counts[9] > before.counts[9]);
        assert!(after.total >= before.total + Duration::from_millis(4001));
    }
}
