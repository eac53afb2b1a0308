//! The few calls that the standard library and rustix leave to unsafe code. Nothing else in this
//! crate is unsafe.
#![expect(unsafe_code, reason = "the calls below have no safe form")]

#[cfg(target_os = "macos")]
pub(crate) mod darwin;
#[cfg(target_os = "linux")]
pub(crate) mod linux;

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has `prepare` run in the child between fork and exec.
///
/// `prepare` may only do what is safe there: system calls on what was made before, no allocation
/// that could wait for a lock another thread held at the fork.
pub(crate) fn before_exec(
    command: &mut Command,
    prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the callers pass closures that only make system calls (see the doc comment), which
    // are async-signal-safe. The ruleset of a sandbox also frees memory; it is used by the holder
    // alone, which has one thread, so no lock can be held by another.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Sets every signal back to what it does by default. Exec keeps ignored signals ignored, and
/// our parent may have ignored some. (Two that the C library keeps for itself cannot be set.)
pub(crate) fn reset_signals() {
    #[cfg(target_os = "linux")]
    let last = libc::SIGRTMAX();
    #[cfg(not(target_os = "linux"))]
    let last = darwin::LAST_SIGNAL;
    for signal in 1..=last {
        if signal != libc::SIGKILL && signal != libc::SIGSTOP {
            // SAFETY: SIG_DFL is a valid disposition for every signal; one that cannot be set is
            // refused by the kernel without effect.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}

/// Has tokio wait until a descriptor is readable.
#[cfg(feature = "tokio")]
pub(crate) fn watch(
    descriptor: std::os::fd::OwnedFd,
) -> io::Result<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>> {
    // SAFETY: an OwnedFd is always the same open descriptor until it is dropped, and tokio owns
    // it until then.
    let watched = unsafe {
        tokio::io::unix::AsyncFd::register_with_interest(descriptor, tokio::io::Interest::READABLE)
    };
    watched.map_err(|error| error.into_parts().1)
}
