//! What the system tells about a process: memory, threads and descriptors.

use std::time::Duration;
use std::{fs, io};

/// KiB of memory of a process.
pub(crate) struct Memory {
    /// Everything of it that is in memory.
    pub(crate) resident: u64,
    /// What it shares counts in parts.
    pub(crate) proportional: u64,
    /// What it shares with no other process.
    pub(crate) private: u64,
}

impl Memory {
    /// Of a process by its id, or of `self`. Unlike its siblings the file it reads is exact.
    pub(crate) fn of(process: &str) -> io::Result<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
        Ok(Self {
            resident: field(&text, "Rss:")?,
            proportional: field(&text, "Pss:")?,
            private: field(&text, "Private_Clean:")? + field(&text, "Private_Dirty:")?,
        })
    }
}

/// KiB that the kernel needs to map the memory of a process, which is not part of it.
pub(crate) fn page_tables(process: &str) -> io::Result<u64> {
    field(&fs::read_to_string(format!("/proc/{process}/status"))?, "VmPTE:")
}

/// Threads of this process.
pub(crate) fn threads() -> io::Result<u64> {
    field(&fs::read_to_string("/proc/self/status")?, "Threads:")
}

/// Open descriptors of this process.
pub(crate) fn descriptors() -> io::Result<usize> {
    // One of them is the directory being read.
    Ok(fs::read_dir("/proc/self/fd")?.count() - 1)
}

/// CPU time of all children that were reaped, and of what they reaped, in steps of 10 ms.
pub(crate) fn children_time() -> io::Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field, a name in parentheses, may hold anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(13).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second()))
}

fn field(text: &str, name: &str) -> io::Result<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .ok_or_else(|| io::Error::other(format!("the system does not tell {name}")))
}
