//! How long a session has waited for its disk: while it does, it hears of nothing that its agents
//! show.

use std::time::Duration;

use tokio::time::Instant;

/// The time for which a session has waited for its disk so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DiskWaits {
    /// All waits that are over.
    over: Duration,
    /// When the present one began.
    since: Option<Instant>,
}

impl DiskWaits {
    /// The session waits from now on.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// It does not any more.
    pub(crate) fn end(&mut self, now: Instant) {
        self.over = self.until(now);
        self.since = None;
    }

    /// How long it has waited until now.
    pub(crate) fn until(&self, now: Instant) -> Duration {
        let present = self.since.map(|since| now.saturating_duration_since(since));
        self.over + present.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_the_disk_add_up_and_the_present_one_counts() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut waits = DiskWaits::default();
        waits.begin(at(1));
        assert_eq!(waits.until(at(4)), Duration::from_secs(3));
        waits.begin(at(4));
        waits.end(at(5));
        assert_eq!(waits.until(at(60)), Duration::from_secs(4));
        waits.begin(at(60));
        assert_eq!(waits.until(at(62)), Duration::from_secs(6));
    }
}
