//! Waiting: for time to pass, and for descriptors and signals. Nothing here costs anything while
//! it waits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::SigId;
use signal_hook::low_level::{pipe, unregister};

/// Lets this much time pass.
pub(crate) fn pause(time: Duration) {
    let end = Instant::now() + time;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        // Nothing to wait for but the time; a signal that interrupts changes nothing.
        ready([], Some(left)).ok();
    }
}

/// Lets time pass for ever.
pub(crate) fn forever() -> ! {
    loop {
        ready([], None).ok();
    }
}

/// Waits until one of the descriptors can be read, has ended or failed, or until the time is up.
/// The answer says which, in the same order. A signal can make all of them `false`.
pub(crate) fn ready<const N: usize>(
    fds: [Option<BorrowedFd<'_>>; N],
    timeout: Option<Duration>,
) -> io::Result<[bool; N]> {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let timeout = timeout.map(|time| Timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    });
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok([false; N]),
        Err(error) => return Err(error.into()),
    }
    let mut results = polled.iter().map(|fd| !fd.revents().is_empty());
    Ok(fds.map(|fd| fd.is_some() && results.next().unwrap_or_default()))
}

/// A descriptor that becomes readable when one of some signals arrives.
pub(crate) struct SignalWakeups {
    reader: UnixStream,
    registered: Vec<SigId>,
}

impl SignalWakeups {
    pub(crate) fn new(signals: &[i32]) -> io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        let mut wakeups = Self { reader, registered: Vec::new() };
        for signal in signals {
            wakeups.registered.push(pipe::register(*signal, writer.try_clone()?)?);
        }
        Ok(wakeups)
    }

    /// Forgets the signals that have arrived.
    pub(crate) fn clear(&self) {
        let mut buffer = [0; 64];
        while rustix::io::read(&self.reader, &mut buffer).is_ok_and(|count| count > 0) {}
    }
}

impl AsFd for SignalWakeups {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

impl Drop for SignalWakeups {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}
