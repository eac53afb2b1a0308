//! The two facts about the operating system that the store writes down: which start of the system it
//! is, and when a process started. The runtime knows more; the store stands beside it and cannot ask.

#[cfg(target_os = "macos")]
mod darwin;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "macos")]
use darwin as system;
#[cfg(target_os = "linux")]
use linux as system;

/// When a process started, in a unit of the system's own; nothing if there is none with this id.
pub(crate) fn start_of(pid: i32) -> Option<u64> {
    system::start_of(pid)
}

/// Tells one start of the system from the next; empty where the system does not tell.
pub(crate) fn boot_id() -> String {
    system::boot_id().unwrap_or_default().trim().to_owned()
}
