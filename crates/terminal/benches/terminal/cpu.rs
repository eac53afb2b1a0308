//! CPU time, and the samples a measurement gives. CPU time and not the time on the clock: other
//! programs may be running.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread since it began.
pub(crate) fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// CPU time that some work took.
pub(crate) fn of(work: impl FnOnce()) -> Duration {
    let start = now();
    work();
    now().saturating_sub(start)
}

/// CPU times of the same work in several rounds, in milliseconds per MB. Empty where it could not
/// be measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn add(&mut self, time: Duration, bytes: usize) {
        self.0.push(time.as_secs_f64() * 1e9 / bytes as f64);
    }

    /// What counts: load of the machine can only make a round slower.
    pub(crate) fn least(&self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::min)
    }

    /// How much the median lies above the least, as a part of it.
    pub(crate) fn spread(&self) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2)?;
        Some(median / sorted.first()? - 1.0)
    }
}
