//! A selector on kqueue.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::kqueue::{Event, EventFilter, EventFlags};

use super::Interest;
use crate::system::darwin;

#[derive(Debug)]
pub(super) struct Selector(OwnedFd);

impl Selector {
    pub(super) fn new() -> io::Result<Self> {
        darwin::kqueue().map(Self)
    }

    pub(super) fn add(
        &self,
        descriptor: BorrowedFd<'_>,
        interest: Interest,
        key: u64,
    ) -> io::Result<()> {
        self.set(descriptor, Some(interest), key)
    }

    pub(super) fn change(
        &self,
        descriptor: BorrowedFd<'_>,
        interest: Interest,
        key: u64,
    ) -> io::Result<()> {
        self.set(descriptor, Some(interest), key)
    }

    pub(super) fn remove(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        self.set(descriptor, None, 0)
    }

    /// Reading and writing are two filters. Without `CLEAR` each is reported for as long as it
    /// holds.
    fn set(
        &self,
        descriptor: BorrowedFd<'_>,
        interest: Option<Interest>,
        key: u64,
    ) -> io::Result<()> {
        let descriptor = descriptor.as_raw_fd();
        let reads = matches!(interest, Some(Interest::Read | Interest::ReadOrWrite));
        let writes = matches!(interest, Some(Interest::Write | Interest::ReadOrWrite));
        let filters =
            [(EventFilter::Read(descriptor), reads), (EventFilter::Write(descriptor), writes)];
        for (filter, wanted) in filters {
            let flags = if wanted { EventFlags::ADD } else { EventFlags::DELETE };
            // The pointer is never followed, only given back.
            let key = std::ptr::without_provenance_mut(key as usize);
            match darwin::change(&self.0, &Event::new(filter, flags, key)) {
                // It was not watched for that.
                Err(error) if !wanted && error.kind() == io::ErrorKind::NotFound => {}
                changed => changed?,
            }
        }
        Ok(())
    }

    pub(super) fn wait(&self, most: usize, limit: Duration) -> io::Result<Vec<u64>> {
        let events = darwin::events(&self.0, most, limit)?;
        Ok(events.iter().map(|event| event.udata().addr() as u64).collect())
    }
}

impl AsFd for Selector {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
