//! The port on loopback. It stays the same over restarts, because the page of a browser, its
//! bookmarks and its key belong to one port.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use coven_service::private_file;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::error::Error;

/// The version of `port.json`.
const VERSION: u32 = 1;

/// Where a new port is looked for: below those that systems give to outgoing connections, which
/// would take it while the daemon is away.
const NEW_PORTS: std::ops::Range<u16> = 20_000..30_000;

/// How many new ports are tried before the system chooses one.
const MAX_TRIED_PORTS: usize = 32;

#[derive(Debug, Serialize, Deserialize)]
struct PortFile {
    version: u32,
    port: u16,
}

/// The listener on loopback.
#[derive(Debug)]
pub(crate) struct LoopbackListener {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
    /// The port of the last time, if another program has it.
    pub(crate) lost_port: Option<u16>,
}

impl LoopbackListener {
    /// Listens on the port that people said. Without one on that of the last time, which `file`
    /// says; if another program has that, on a new one, which is remembered instead.
    pub(crate) async fn bind(said: Option<u16>, file: &Path) -> Result<Self, Error> {
        if let Some(port) = said {
            let bound = bind(port).await.map_err(|source| Error::Port { port, source })?;
            return Ok(Self { listener: bound.0, address: bound.1, lost_port: None });
        }
        let last = last_port(file);
        let mut lost_port = None;
        if let Some(port) = last {
            match bind(port).await {
                Ok((listener, address)) => return Ok(Self { listener, address, lost_port }),
                Err(error) => {
                    tracing::warn!(
                        "port {port}, which the daemon had before, cannot be used: {error}; \
                         another program may pretend to be the daemon there"
                    );
                    lost_port = Some(port);
                }
            }
        }
        let (listener, address) =
            bind_new().await.map_err(|source| Error::Port { port: 0, source })?;
        let note = PortFile { version: VERSION, port: address.port() };
        let written = serde_json::to_vec(&note)
            .map_err(io::Error::from)
            .and_then(|bytes| private_file::write(file, &bytes));
        written.map_err(|source| Error::file(file, source))?;
        Ok(Self { listener, address, lost_port })
    }
}

/// The port of the last time. A file that says nothing is as good as none.
fn last_port(file: &Path) -> Option<u16> {
    let bytes = std::fs::read(file).ok()?;
    let note: PortFile = serde_json::from_slice(&bytes).ok()?;
    (note.port != 0).then_some(note.port)
}

async fn bind(port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

async fn bind_new() -> io::Result<(TcpListener, SocketAddr)> {
    for _ in 0..MAX_TRIED_PORTS {
        let mut bytes = [0; 2];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let port = NEW_PORTS.start + u16::from_ne_bytes(bytes) % (NEW_PORTS.end - NEW_PORTS.start);
        if let Ok(bound) = bind(port).await {
            return Ok(bound);
        }
    }
    bind(0).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_port_stays_the_same_until_another_program_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("port.json");
        let first = LoopbackListener::bind(None, &file).await.unwrap();
        let (port, lost) = (first.address.port(), first.lost_port);
        assert_eq!(lost, None);
        drop(first);
        let again = LoopbackListener::bind(None, &file).await.unwrap();
        assert_eq!(again.address.port(), port);
        // While it is taken, another is used and remembered.
        let other = LoopbackListener::bind(None, &file).await.unwrap();
        assert_eq!(other.lost_port, Some(port));
        assert_ne!(other.address.port(), port);
        assert_eq!(last_port(&file), Some(other.address.port()));
    }
}
