//! The three streams of the process, as its caller hands them over.

use std::io::{self, Write};
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Where an agent reads and writes. These are descriptors and not readers and writers, because a
/// terminal is more than its bytes, and because waiting for several of them must not be fooled by
/// a buffer.
#[derive(Clone, Copy, Debug)]
pub struct AgentStreams<'a> {
    /// Keys, or the prompt of a headless run.
    pub input: BorrowedFd<'a>,
    /// The screen, or the answer of a headless run.
    pub output: BorrowedFd<'a>,
    pub errors: BorrowedFd<'a>,
}

/// Writes to a descriptor without a buffer: what is written in one call appears as one.
pub(crate) struct UnbufferedOutput<'a>(pub(crate) BorrowedFd<'a>);

impl Write for UnbufferedOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(self.0, bytes) {
                // Another process may have made the shared terminal non-blocking; wait for it.
                Err(Errno::AGAIN) => {
                    let mut fds = [PollFd::from_borrowed_fd(self.0, PollFlags::OUT)];
                    poll(&mut fds, None)?;
                }
                result => return Ok(result?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
