//! Who may use the daemon over TCP: the devices that were added, the tokens that browsers got since
//! the daemon started, and the connections that each device has now.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use coven_api::device::{DeviceItem, DeviceRole};
use coven_model::Timestamp;
use coven_service::{DeviceCredential, DeviceError, DeviceRecord, DeviceStore};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::secret::Secret;

/// How many tokens a browser may have at once, one for each tab; the oldest goes. A tab whose token
/// went signs in again by itself.
const MAX_TOKENS_PER_DEVICE: usize = 64;

/// The devices, with what is in memory only.
#[derive(Debug)]
pub(crate) struct DeviceAccess {
    store: DeviceStore,
    live: Mutex<LiveDevices>,
}

#[derive(Debug, Default)]
struct LiveDevices {
    /// The tokens of browsers, by their hash.
    tokens: HashMap<String, BrowserToken>,
    /// The connections of each device, by its id and theirs.
    connections: HashMap<String, HashMap<u64, CancellationToken>>,
    issued: u64,
}

#[derive(Debug)]
struct BrowserToken {
    device: String,
    number: u64,
}

/// A device that showed who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceGrant {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) role: DeviceRole,
}

impl From<DeviceRecord> for DeviceGrant {
    fn from(device: DeviceRecord) -> Self {
        Self { id: device.id, name: device.name, role: device.role }
    }
}

impl DeviceAccess {
    pub(crate) fn new(store: DeviceStore) -> Self {
        Self { store, live: Mutex::default() }
    }

    pub(crate) fn store(&self) -> &DeviceStore {
        &self.store
    }

    /// The device that this token is of.
    pub(crate) fn authenticate(&self, token: &str) -> Option<DeviceGrant> {
        // A hash is looked up, so the time says nothing about the token.
        let hash = hash(token);
        let browser = self.live.lock().tokens.get(&hash).map(|token| token.device.clone());
        match browser {
            Some(id) => self.store.by_id(&id).map(DeviceGrant::from),
            None => self.store.find(&DeviceCredential::TokenHash(hash)).map(DeviceGrant::from),
        }
    }

    /// A token for a browser that signed in. Keeps no more than its hash.
    pub(crate) fn issue(&self, device: &str) -> std::io::Result<Secret> {
        let token = Secret::token()?;
        let mut live = self.live.lock();
        live.issued += 1;
        let number = live.issued;
        let own = live.tokens.iter().filter(|(_, token)| token.device == device);
        let mut own: Vec<(u64, String)> =
            own.map(|(hash, token)| (token.number, hash.clone())).collect();
        if own.len() >= MAX_TOKENS_PER_DEVICE {
            own.sort_unstable();
            live.tokens.remove(&own[0].1);
        }
        let issued = BrowserToken { device: device.to_owned(), number };
        live.tokens.insert(hash(token.reveal()), issued);
        Ok(token)
    }

    /// Adds a program, whose token is kept as a hash. Waits for the disk.
    pub(crate) fn add_program(
        &self,
        name: String,
        role: DeviceRole,
        now: Timestamp,
    ) -> Result<(DeviceRecord, Secret), DeviceError> {
        let path = std::path::PathBuf::from("devices.json");
        let token = Secret::token().map_err(|source| DeviceError::File { path, source })?;
        let hash = hash(token.reveal());
        let device = DeviceRecord {
            id: hash[..22].to_owned(),
            name,
            role,
            created: now,
            last_used: None,
            credential: DeviceCredential::TokenHash(hash),
        };
        self.store.add(device.clone())?;
        Ok((device, token))
    }

    /// Removes a device with its tokens, and ends its connections. Waits for the disk.
    pub(crate) fn remove(&self, name: &str) -> Result<(), DeviceError> {
        let device = self.store.remove(name)?;
        self.end(&device.id);
        Ok(())
    }

    /// Ends the tokens and connections of a device, which may have got another role.
    pub(crate) fn end(&self, id: &str) {
        let mut live = self.live.lock();
        live.tokens.retain(|_, token| token.device != id);
        for connection in live.connections.remove(id).into_iter().flat_map(HashMap::into_values) {
            connection.cancel();
        }
    }

    /// All devices with how many connections each has.
    pub(crate) fn list(&self) -> Vec<DeviceItem> {
        let devices = self.store.list();
        let live = self.live.lock();
        let count = |id: &str| live.connections.get(id).map_or(0, HashMap::len);
        devices.iter().map(|device| device.item(count(&device.id))).collect()
    }

    /// Counts a connection as one of a device; it ends with the device. Nothing if the device was
    /// removed meanwhile.
    pub(crate) fn attach(&self, device: &str, connection: &DeviceConnection) -> Option<()> {
        let mut live = self.live.lock();
        // Asked under the lock: a removal that comes later finds the connection.
        self.store.by_id(device)?;
        let connections = live.connections.entry(device.to_owned()).or_default();
        connections.insert(connection.number, connection.ended.clone());
        drop(live);
        connection.waiting.lock().take();
        Some(())
    }

    fn detach(&self, connection: u64) {
        let mut live = self.live.lock();
        live.connections.retain(|_, connections| {
            connections.remove(&connection);
            !connections.is_empty()
        });
    }
}

/// One connection over TCP, and what ends it.
#[derive(Debug)]
pub(crate) struct DeviceConnection {
    number: u64,
    ended: CancellationToken,
    devices: Arc<DeviceAccess>,
    /// The place among connections on which no device has shown itself, as long as none has.
    waiting: Mutex<Option<OwnedSemaphorePermit>>,
}

/// Numbers connections.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

impl DeviceConnection {
    pub(crate) fn new(devices: Arc<DeviceAccess>, waiting: Option<OwnedSemaphorePermit>) -> Self {
        let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        let (ended, waiting) = (CancellationToken::new(), Mutex::new(waiting));
        Self { number, ended, devices, waiting }
    }

    /// Whether no device has shown itself on it yet. Never so on the socket.
    pub(crate) fn is_unauthenticated(&self) -> bool {
        self.waiting.lock().is_some()
    }

    /// Cancelled when a device of this connection is removed.
    pub(crate) fn ended(&self) -> &CancellationToken {
        &self.ended
    }
}

impl Drop for DeviceConnection {
    fn drop(&mut self) {
        self.devices.detach(self.number);
    }
}

fn hash(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> (tempfile::TempDir, Arc<DeviceAccess>) {
        let folder = tempfile::tempdir().unwrap();
        let store = DeviceStore::open(folder.path().join("devices.json"));
        (folder, Arc::new(DeviceAccess::new(store)))
    }

    #[test]
    fn a_device_that_is_removed_loses_its_tokens_and_its_connections() {
        let (folder, access) = access();
        let now = Timestamp::from_millis(1);
        let (device, token) = access.add_program("ci".to_owned(), DeviceRole::Look, now).unwrap();
        let other = access.add_program("other".to_owned(), DeviceRole::Full, now).unwrap();
        assert_eq!(access.authenticate(token.reveal()).unwrap().role, DeviceRole::Look);
        let kept = std::fs::read_to_string(folder.path().join("devices.json")).unwrap();
        assert!(!kept.contains(token.reveal()), "the token is kept as a hash");
        let more = access.issue(&device.id).unwrap();
        let connection = DeviceConnection::new(access.clone(), None);
        access.attach(&device.id, &connection).unwrap();
        assert_eq!(access.list()[0].connections, 1);
        access.remove("ci").unwrap();
        assert!(connection.ended().is_cancelled());
        assert!(access.authenticate(token.reveal()).is_none());
        assert!(access.authenticate(more.reveal()).is_none());
        assert!(access.attach(&device.id, &connection).is_none());
        assert!(access.authenticate(other.1.reveal()).is_some());
    }

    #[test]
    fn a_browser_has_so_many_tokens_and_the_oldest_goes() {
        let (_folder, access) = access();
        let now = Timestamp::from_millis(1);
        let (device, _) = access.add_program("tabs".to_owned(), DeviceRole::Full, now).unwrap();
        let tokens: Vec<Secret> =
            (0..=MAX_TOKENS_PER_DEVICE).map(|_| access.issue(&device.id).unwrap()).collect();
        assert!(access.authenticate(tokens[0].reveal()).is_none());
        assert!(tokens[1..].iter().all(|token| access.authenticate(token.reveal()).is_some()));
    }
}
