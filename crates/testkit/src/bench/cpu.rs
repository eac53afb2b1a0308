//! CPU time, and the samples a measurement gives. CPU time and not the time on the clock: other
//! programs may be running.

use std::time::Duration;
use std::{fs, io};

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread since it began.
pub fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// CPU time of this process since it began, all threads together.
pub fn own() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// CPU time of another process that has one thread, to the nanosecond.
pub fn of_process(pid: i32) -> io::Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
    let running = stat.split_whitespace().next().and_then(|field| field.parse().ok());
    running.map(Duration::from_nanos).ok_or_else(|| io::Error::other("schedstat is not as known"))
}

/// CPU time that some work took.
pub fn of(work: impl FnOnce()) -> Duration {
    let start = now();
    work();
    now().saturating_sub(start)
}

/// CPU times of the same work in several rounds, in milliseconds per MB. Empty where it could not
/// be measured.
#[derive(Clone, Debug, Default)]
pub struct CpuSamples(Vec<f64>);

impl CpuSamples {
    /// Adds a round in which so many bytes took so long.
    pub fn add(&mut self, time: Duration, bytes: usize) {
        self.0.push(time.as_secs_f64() * 1e9 / bytes as f64);
    }

    /// What counts: load of the machine can only make a round slower.
    pub fn least(&self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::min)
    }

    /// How much the median lies above the least, as a part of it.
    pub fn spread(&self) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2)?;
        Some(median / sorted.first()? - 1.0)
    }
}
