//! One descriptor for all panes: readable when any of them has something to say, so that a
//! loop waits for that one, and a turn costs as much as there is to do.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use coven_runtime::readiness::{Interest, Selector};

use crate::execution::ExecutionId;

/// The longest single wait. Older kernels refuse more than 24 days; to wake up once an hour costs
/// nothing.
const LONGEST: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub(super) struct PanePoller {
    selector: Selector,
    watched: usize,
}

impl PanePoller {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { selector: Selector::new()?, watched: 0 })
    }

    /// Watches a pane's descriptor. It is reported for as long as it stays readable.
    pub(super) fn add(&mut self, pane: BorrowedFd<'_>, id: ExecutionId) -> io::Result<()> {
        self.selector.add(pane, Interest::Read, id.0)?;
        self.watched += 1;
        Ok(())
    }

    pub(super) fn remove(&mut self, pane: BorrowedFd<'_>) {
        if self.selector.remove(pane).is_ok() {
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
        let ready = self.selector.wait(most, limit.min(LONGEST))?;
        Ok(ready.into_iter().map(ExecutionId).collect())
    }
}

impl AsFd for PanePoller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.selector.as_fd()
    }
}
