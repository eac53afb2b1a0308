//! Waiting until descriptors can be read or written: many behind one ([`Selector`]), and one on the
//! tokio reactor ([`watch`]).

#[cfg(target_os = "linux")]
mod epoll;
#[cfg(target_os = "macos")]
mod kqueue;

#[cfg(target_os = "linux")]
use epoll as system;
#[cfg(target_os = "macos")]
use kqueue as system;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// What a descriptor is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to read, or the end.
    Read,
    Write,
    ReadOrWrite,
}

/// Watches many descriptors, and is itself a descriptor that is readable while any of them is ready.
#[derive(Debug)]
pub struct Selector(system::Selector);

impl Selector {
    /// A selector that watches nothing.
    pub fn new() -> io::Result<Self> {
        system::Selector::new().map(Self)
    }

    /// Watches a descriptor. It is reported, by its key, for as long as it stays ready. The system
    /// forgets it when it is closed and has no copies.
    pub fn add(&self, descriptor: BorrowedFd<'_>, interest: Interest, key: u64) -> io::Result<()> {
        self.0.add(descriptor, interest, key)
    }

    /// Watches a descriptor for something else from now on.
    pub fn change(
        &self,
        descriptor: BorrowedFd<'_>,
        interest: Interest,
        key: u64,
    ) -> io::Result<()> {
        self.0.change(descriptor, interest, key)
    }

    /// Watches a descriptor no more.
    pub fn remove(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        self.0.remove(descriptor)
    }

    /// Waits until a descriptor is ready, or for `limit`, and gives the keys of at most `most`
    /// that are. A signal ends the wait early, without keys.
    pub fn wait(&self, most: usize, limit: Duration) -> io::Result<Vec<u64>> {
        self.0.wait(most, limit)
    }
}

impl AsFd for Selector {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Watches a descriptor for something to read. Must be called within a tokio runtime that has I/O.
#[cfg(feature = "tokio")]
pub fn watch(descriptor: OwnedFd) -> io::Result<tokio::io::unix::AsyncFd<OwnedFd>> {
    crate::system::watch(descriptor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_selector_tells_what_is_readable_for_as_long_as_it_is() {
        let selector = Selector::new().unwrap();
        let (mut first, mut to_first) = io::pipe().unwrap();
        let (second, _to_second) = io::pipe().unwrap();
        selector.add(first.as_fd(), Interest::Read, 1).unwrap();
        selector.add(second.as_fd(), Interest::Read, 2).unwrap();
        assert_eq!(selector.wait(2, Duration::ZERO).unwrap(), [] as [u64; 0]);

        to_first.write_all(b"x").unwrap();
        for _ in 0..2 {
            assert_eq!(selector.wait(2, Duration::from_secs(5)).unwrap(), [1]);
        }
        first.read_exact(&mut [0]).unwrap();
        assert_eq!(selector.wait(2, Duration::ZERO).unwrap(), [] as [u64; 0]);

        drop(to_first);
        assert_eq!(selector.wait(2, Duration::from_secs(5)).unwrap(), [1], "an end is readable");
        selector.remove(first.as_fd()).unwrap();
        assert_eq!(selector.wait(2, Duration::ZERO).unwrap(), [] as [u64; 0]);
    }

    #[test]
    fn a_descriptor_is_watched_for_what_was_asked_last() {
        let selector = Selector::new().unwrap();
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        selector.add(ours.as_fd(), Interest::Read, 3).unwrap();
        assert_eq!(selector.wait(2, Duration::ZERO).unwrap(), [] as [u64; 0]);
        selector.change(ours.as_fd(), Interest::Write, 3).unwrap();
        assert_eq!(selector.wait(2, Duration::from_secs(5)).unwrap(), [3]);
        selector.change(ours.as_fd(), Interest::Read, 3).unwrap();
        assert_eq!(selector.wait(2, Duration::ZERO).unwrap(), [] as [u64; 0]);
        selector.change(ours.as_fd(), Interest::ReadOrWrite, 3).unwrap();
        theirs.write_all(b"x").unwrap();
        assert!(selector.wait(2, Duration::from_secs(5)).unwrap().contains(&3));
        selector.remove(ours.as_fd()).unwrap();
        assert_eq!(selector.wait(2, Duration::ZERO).unwrap(), [] as [u64; 0]);
    }

    #[test]
    fn a_selector_in_a_selector_is_readable_while_anything_in_it_is() {
        let (inner, outer) = (Selector::new().unwrap(), Selector::new().unwrap());
        let (read, mut write) = io::pipe().unwrap();
        inner.add(read.as_fd(), Interest::Read, 1).unwrap();
        outer.add(inner.as_fd(), Interest::Read, 7).unwrap();
        assert_eq!(outer.wait(1, Duration::ZERO).unwrap(), [] as [u64; 0]);
        write.write_all(b"x").unwrap();
        assert_eq!(outer.wait(1, Duration::from_secs(5)).unwrap(), [7]);
    }
}
