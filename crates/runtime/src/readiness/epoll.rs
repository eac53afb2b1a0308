//! A selector on epoll.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use super::Interest;

#[derive(Debug)]
pub(super) struct Selector(OwnedFd);

impl Selector {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    pub(super) fn add(
        &self,
        descriptor: BorrowedFd<'_>,
        interest: Interest,
        key: u64,
    ) -> io::Result<()> {
        Ok(epoll::add(&self.0, descriptor, epoll::EventData::new_u64(key), flags(interest))?)
    }

    pub(super) fn change(
        &self,
        descriptor: BorrowedFd<'_>,
        interest: Interest,
        key: u64,
    ) -> io::Result<()> {
        Ok(epoll::modify(&self.0, descriptor, epoll::EventData::new_u64(key), flags(interest))?)
    }

    pub(super) fn remove(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(&self.0, descriptor)?)
    }

    pub(super) fn wait(&self, most: usize, limit: Duration) -> io::Result<Vec<u64>> {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(most);
        let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
        match epoll::wait(&self.0, spare_capacity(&mut events), Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(events.iter().map(|event| event.data.u64()).collect())
    }
}

fn flags(interest: Interest) -> epoll::EventFlags {
    match interest {
        Interest::Read => epoll::EventFlags::IN,
        Interest::Write => epoll::EventFlags::OUT,
        Interest::ReadOrWrite => epoll::EventFlags::IN | epoll::EventFlags::OUT,
    }
}

impl AsFd for Selector {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
