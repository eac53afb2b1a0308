//! How long a test has worked, however busy the machine is with others.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Measures the processor time of this thread: tests of speed must not fail because other
/// processes use the machine at the same time.
pub(crate) struct CpuStopwatch(Duration);

impl CpuStopwatch {
    pub(crate) fn start() -> Self {
        Self(now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        now().saturating_sub(self.0)
    }
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
