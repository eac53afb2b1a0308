//! How many connections there may be: on the socket, over TCP, and over TCP without a device.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many connections the socket has. They are kept for it.
const MAX_SOCKET_CONNECTIONS: usize = 2048;

/// How many connections there are over TCP at once.
const MAX_TCP_CONNECTIONS: usize = 1024;

/// How many of those may be ones on which no device has shown itself yet: the page's own files,
/// signing in, and whatever else comes.
const MAX_UNAUTHENTICATED_CONNECTIONS: usize = 128;

/// How long such a connection lives: as long as the page takes through a slow tunnel.
pub(super) const UNAUTHENTICATED_LIFETIME: Duration = Duration::from_secs(20);

/// The users of how many connections are looked up at once; each reads the system's whole table.
const MAX_LOOKUPS: usize = 16;

/// A place for a connection, which is given back when it is dropped.
pub(super) type ConnectionPlace = OwnedSemaphorePermit;

/// The places for connections.
#[derive(Clone, Debug)]
pub(super) struct ConnectionLimits {
    socket: Arc<Semaphore>,
    tcp: Arc<Semaphore>,
    unauthenticated: Arc<Semaphore>,
    lookups: Arc<Semaphore>,
}

impl ConnectionLimits {
    pub(super) fn new() -> Self {
        Self::for_files(getrlimit(Resource::Nofile).current)
    }

    /// The places of a process that may have so many files open. Where that is little, most of it
    /// is left to the socket and to agents.
    fn for_files(files: Option<u64>) -> Self {
        let files = files.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
        let tcp = MAX_TCP_CONNECTIONS.min(files / 4);
        let places = |count: usize| Arc::new(Semaphore::new(count));
        Self {
            socket: places(MAX_SOCKET_CONNECTIONS),
            tcp: places(tcp),
            unauthenticated: places(MAX_UNAUTHENTICATED_CONNECTIONS.min(tcp / 2)),
            lookups: places(MAX_LOOKUPS),
        }
    }

    /// A place on the socket, or what to say.
    pub(super) fn socket_place(&self) -> Result<ConnectionPlace, String> {
        self.socket
            .clone()
            .try_acquire_owned()
            .map_err(|_| format!("there are {MAX_SOCKET_CONNECTIONS} connections already"))
    }

    /// A place over TCP, and one among those without a device, or what to say.
    pub(super) fn tcp_places(&self) -> Result<(ConnectionPlace, ConnectionPlace), String> {
        let place = self.tcp.clone().try_acquire_owned();
        let place = place.map_err(|_| "there are too many connections over TCP".to_owned())?;
        let waiting = self.unauthenticated.clone().try_acquire_owned().map_err(|_| {
            "there are too many connections over TCP that have not signed in".to_owned()
        })?;
        Ok((place, waiting))
    }

    /// Waits until the user of another connection may be looked up.
    pub(super) async fn lookup(&self) -> Option<ConnectionPlace> {
        // It is never closed.
        self.lookups.clone().acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_never_takes_the_places_of_the_socket_and_strangers_not_those_of_devices() {
        let limits = ConnectionLimits::for_files(Some(1 << 20));
        let mut waiting = Vec::new();
        while let Ok(places) = limits.tcp_places() {
            waiting.push(places);
        }
        assert_eq!(waiting.len(), MAX_UNAUTHENTICATED_CONNECTIONS);
        assert!(limits.socket_place().is_ok());
        // Those that signed in make room.
        let mut devices: Vec<_> = waiting.into_iter().map(|(place, _)| place).collect();
        while let Ok((place, _)) = limits.tcp_places() {
            devices.push(place);
        }
        assert_eq!(devices.len(), MAX_TCP_CONNECTIONS);
        assert!(limits.socket_place().is_ok());
    }

    #[test]
    fn a_process_with_few_files_leaves_most_of_them_to_the_socket() {
        let limits = ConnectionLimits::for_files(Some(256));
        let mut taken = Vec::new();
        while let Ok((place, _)) = limits.tcp_places() {
            taken.push(place);
        }
        assert_eq!(taken.len(), 64);
    }
}
