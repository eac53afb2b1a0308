//! Waiting for a descriptor on the tokio reactor.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

use crate::system;

/// Watches a descriptor for something to read. Must be called within a tokio runtime that has I/O.
pub fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    system::watch(descriptor)
}
