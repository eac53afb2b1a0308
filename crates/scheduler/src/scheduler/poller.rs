//! One descriptor for all panes: readable when any of them has something to say, so that a
//! loop waits for that one, and a turn costs as much as there is to do.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::execution::ExecutionId;

/// The longest single wait. Older kernels refuse more than 24 days; to wake up once an hour costs
/// nothing.
const LONGEST: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub(super) struct Poller {
    epoll: OwnedFd,
    watched: usize,
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?, watched: 0 })
    }

    /// Watches a pane's descriptor. It is reported for as long as it stays readable.
    pub(super) fn add(&mut self, pane: BorrowedFd<'_>, id: ExecutionId) -> io::Result<()> {
        epoll::add(&self.epoll, pane, epoll::EventData::new_u64(id.0), epoll::EventFlags::IN)?;
        self.watched += 1;
        Ok(())
    }

    pub(super) fn remove(&mut self, pane: BorrowedFd<'_>) {
        if epoll::delete(&self.epoll, pane).is_ok() {
            self.watched -= 1;
        }
    }

    /// Who is ready now.
    pub(super) fn ready(&self) -> io::Result<Vec<ExecutionId>> {
        if self.watched == 0 {
            return Ok(Vec::new());
        }
        self.poll(self.watched, Duration::ZERO)
    }

    /// Waits until a pane is ready, or for this long at most. It may return early.
    pub(super) fn wait(&self, limit: Option<Duration>) -> io::Result<()> {
        self.poll(1, limit.unwrap_or(LONGEST)).map(drop)
    }

    fn poll(&self, most: usize, limit: Duration) -> io::Result<Vec<ExecutionId>> {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(most);
        let limit = Timespec::try_from(limit.min(LONGEST)).map_err(io::Error::other)?;
        match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(events.iter().map(|event| ExecutionId(event.data.u64())).collect())
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
