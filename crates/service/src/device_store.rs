//! The devices that may use the daemon over TCP, kept in `devices.json` of the state folder: public
//! keys of browsers and hashes of the tokens of programs. Nothing in the file lets anybody in.
//!
//! A file that cannot be read, that others could have written, or that a newer version wrote, lets
//! no device in and is not overwritten; the socket needs no device.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use coven_api::device::{DeviceItem, DeviceKind, DeviceRole};
use coven_folder::read_plain_file;
use coven_model::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::private_file;

/// The version of `devices.json`.
const VERSION: u32 = 1;

/// How large the file may be.
const MAX_BYTES: u64 = 4 << 20;

/// How many devices there may be.
const MAX_DEVICES: usize = 1000;

/// The longest name of a device.
const MAX_NAME_LENGTH: usize = 40;

/// How exactly it is kept when a device was last used: each note of it is a write to the disk.
const LAST_USE_PRECISION: Duration = Duration::from_mins(1);

/// Why a device cannot be added or removed.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The name has other characters than it may, or too many.
    #[error("a name has 1 to {MAX_NAME_LENGTH} letters, digits, `-`, `_` or `.`")]
    BadName,
    /// There is one of this name.
    #[error("there is a device named `{0}` already")]
    Exists(String),
    /// There is none of this name.
    #[error("there is no device named `{0}`")]
    NotFound(String),
    /// There are as many as there may be.
    #[error("there are {MAX_DEVICES} devices already")]
    TooMany,
    /// The file is not one that can be changed.
    #[error("{path} {why}", path = .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file cannot be written.
    #[error("cannot write {path}: {source}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why it cannot be written.
        #[source]
        source: io::Error,
    },
}

/// How a device shows who it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeviceCredential {
    /// A browser's public key, an uncompressed point of P-256 as base64.
    PublicKey(String),
    /// The SHA-256 of a program's token, as base64.
    TokenHash(String),
}

/// One device, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceRecord {
    /// Tells it from all others.
    pub id: String,
    /// The name that its owner gave it.
    pub name: String,
    /// What it may do.
    pub role: DeviceRole,
    /// When it was added.
    pub created: Timestamp,
    /// When it was last heard of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Timestamp>,
    /// How it shows who it is.
    #[serde(flatten)]
    pub credential: DeviceCredential,
}

impl DeviceRecord {
    /// The device as clients see it.
    pub fn item(&self, connections: usize) -> DeviceItem {
        let kind = match self.credential {
            DeviceCredential::PublicKey(_) => DeviceKind::Browser,
            DeviceCredential::TokenHash(_) => DeviceKind::Program,
        };
        DeviceItem {
            id: self.id.clone(),
            name: self.name.clone(),
            role: self.role,
            kind,
            created: self.created,
            last_used: self.last_used,
            connections: connections as u64,
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct DeviceFile {
    version: u32,
    devices: Vec<DeviceRecord>,
}

#[derive(Debug)]
struct KnownDevices {
    devices: Vec<DeviceRecord>,
    /// Why the file must not be written to, if so.
    unusable: Option<String>,
}

/// The devices there are. Methods that change something wait for the disk.
#[derive(Debug)]
pub struct DeviceStore {
    path: PathBuf,
    known: Mutex<KnownDevices>,
    /// Held while the file is written, so that readers of `known` never wait for the disk.
    writing: Mutex<()>,
}

impl DeviceStore {
    /// Reads the file. None means no devices.
    pub fn open(path: PathBuf) -> Self {
        let known = match read(&path) {
            Ok(devices) => KnownDevices { devices, unusable: None },
            Err(why) => {
                tracing::error!("{} {why}: no device is let in", path.display());
                KnownDevices { devices: Vec::new(), unusable: Some(why) }
            }
        };
        Self { path, known: Mutex::new(known), writing: Mutex::new(()) }
    }

    /// All devices, by name.
    pub fn list(&self) -> Vec<DeviceRecord> {
        let mut devices = self.known.lock().devices.clone();
        devices.sort_by(|one, two| one.name.cmp(&two.name));
        devices
    }

    /// The device that shows itself by this.
    pub fn find(&self, credential: &DeviceCredential) -> Option<DeviceRecord> {
        self.known.lock().devices.iter().find(|device| device.credential == *credential).cloned()
    }

    /// The device with this id.
    pub fn by_id(&self, id: &str) -> Option<DeviceRecord> {
        self.known.lock().devices.iter().find(|device| device.id == id).cloned()
    }

    /// Adds a device, in the place of one with the same credential.
    pub fn add(&self, device: DeviceRecord) -> Result<(), DeviceError> {
        check_name(&device.name)?;
        self.change(|devices| {
            devices.retain(|other| other.credential != device.credential);
            if devices.iter().any(|other| other.name == device.name) {
                return Err(DeviceError::Exists(device.name.clone()));
            }
            if devices.len() >= MAX_DEVICES {
                return Err(DeviceError::TooMany);
            }
            devices.push(device);
            Ok(())
        })
    }

    /// Whether a device of this name could be added.
    pub fn check_new(&self, name: &str) -> Result<(), DeviceError> {
        check_name(name)?;
        let exists = self.known.lock().devices.iter().any(|device| device.name == name);
        if exists { Err(DeviceError::Exists(name.to_owned())) } else { Ok(()) }
    }

    /// A name that no device has yet, like the one that is wished.
    pub fn free_name(&self, wished: &str) -> String {
        let allowed = |character: &char| is_name_character(*character);
        let mut base: String = wished.chars().filter(allowed).take(MAX_NAME_LENGTH - 5).collect();
        if base.is_empty() {
            "browser".clone_into(&mut base);
        }
        let known = self.known.lock();
        let is_free = |name: &String| known.devices.iter().all(|device| device.name != *name);
        let numbered = (2..).map(|number: usize| format!("{base}-{number}"));
        std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or_default()
    }

    /// Removes a device, and gives what it was. That works on a full disk as well.
    pub fn remove(&self, name: &str) -> Result<DeviceRecord, DeviceError> {
        self.change(|devices| {
            let at = devices.iter().position(|device| device.name == name);
            at.map(|at| devices.remove(at)).ok_or_else(|| DeviceError::NotFound(name.to_owned()))
        })
    }

    /// Fails where the file cannot be used, so that no device is known.
    pub fn check_usable(&self) -> Result<(), DeviceError> {
        match self.known.lock().unusable.clone() {
            Some(why) => Err(DeviceError::Unusable { path: self.path.clone(), why }),
            None => Ok(()),
        }
    }

    /// Whether it is worth taking note that a device is used now.
    pub fn is_last_use_old(&self, id: &str, now: Timestamp) -> bool {
        let known = self.known.lock();
        let device = known.devices.iter().find(|device| device.id == id);
        device.is_some_and(|device| {
            device.last_used.is_none_or(|last| now.since(last) >= LAST_USE_PRECISION)
        })
    }

    /// Takes note that a device is used now.
    pub fn note_use(&self, id: &str, now: Timestamp) -> Result<(), DeviceError> {
        self.change(|devices| {
            if let Some(device) = devices.iter_mut().find(|device| device.id == id) {
                device.last_used = Some(now);
            }
            Ok(())
        })
    }

    /// Changes the devices, on the disk and then in memory.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<DeviceRecord>) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let _writing = self.writing.lock();
        self.check_usable()?;
        let devices = self.known.lock().devices.clone();
        let before = devices.len();
        let mut next = DeviceFile { version: VERSION, devices };
        let changed = change(&mut next.devices)?;
        let written = serde_json::to_vec_pretty(&next).map_err(io::Error::from).and_then(|bytes| {
            match private_file::write(&self.path, &bytes) {
                // A device must not keep itself by filling the disk.
                Err(_) if next.devices.len() < before => {
                    private_file::overwrite(&self.path, &bytes)
                }
                written => written,
            }
        });
        written.map_err(|source| DeviceError::File { path: self.path.clone(), source })?;
        self.known.lock().devices = next.devices;
        Ok(changed)
    }
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.')
}

fn check_name(name: &str) -> Result<(), DeviceError> {
    let fits = (1..=MAX_NAME_LENGTH).contains(&name.len()) && name.chars().all(is_name_character);
    if fits { Ok(()) } else { Err(DeviceError::BadName) }
}

fn read(path: &std::path::Path) -> Result<Vec<DeviceRecord>, String> {
    let cannot = |error: io::Error| format!("cannot be read: {error}");
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot(error)),
        Ok(about) if !private_file::is_private(&about) => {
            return Err("can be read or written by other users".to_owned());
        }
        Ok(_) => {}
    }
    let bytes = read_plain_file(path, MAX_BYTES).map_err(cannot)?;
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| format!("cannot be read: {error}"))?;
    if value["version"].as_u64().is_some_and(|version| version > u64::from(VERSION)) {
        return Err("was written by a newer version".to_owned());
    }
    let file: DeviceFile =
        serde_json::from_value(value).map_err(|error| format!("cannot be read: {error}"))?;
    Ok(file.devices)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder that takes no new file is like a full disk, except for root.
    #[test]
    fn a_device_can_be_removed_when_the_disk_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("devices.json");
        let store = DeviceStore::open(path.clone());
        store.add(device("one")).unwrap();
        store.add(device("two")).unwrap();
        // What takes the place of the draft keeps every new file from being written.
        let draft = path.with_extension(format!("{}.draft", std::process::id()));
        fs::create_dir(&draft).unwrap();
        assert!(matches!(store.add(device("three")), Err(DeviceError::File { .. })));
        assert_eq!(store.list().len(), 2);
        store.remove("one").unwrap();
        assert_eq!(store.list().len(), 1);
        let again = DeviceStore::open(path);
        assert_eq!(again.list(), [device("two")]);
    }

    fn device(name: &str) -> DeviceRecord {
        DeviceRecord {
            id: format!("id of {name}"),
            name: name.to_owned(),
            role: DeviceRole::Look,
            created: Timestamp::from_millis(7),
            last_used: None,
            credential: DeviceCredential::TokenHash(format!("hash of {name}")),
        }
    }

    #[test]
    fn devices_are_kept_in_a_private_file_with_a_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("devices.json");
        let store = DeviceStore::open(path.clone());
        store.add(device("phone")).unwrap();
        store.add(device("laptop")).unwrap();
        assert!(matches!(
            store.add(DeviceRecord {
                credential: DeviceCredential::PublicKey("k".to_owned()),
                ..device("phone")
            }),
            Err(DeviceError::Exists(_))
        ));
        assert!(matches!(store.add(device("two words")), Err(DeviceError::BadName)));
        store.note_use("id of phone", Timestamp::from_millis(9)).unwrap();
        let again = DeviceStore::open(path.clone());
        let names: Vec<String> = again.list().into_iter().map(|device| device.name).collect();
        assert_eq!(names, ["laptop", "phone"]);
        let found = again.find(&DeviceCredential::TokenHash("hash of phone".to_owned())).unwrap();
        assert_eq!(found.last_used, Some(Timestamp::from_millis(9)));
        assert_eq!(again.remove("phone").unwrap().name, "phone");
        assert!(matches!(again.remove("phone"), Err(DeviceError::NotFound(_))));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(text["version"], 1);
    }

    #[test]
    fn a_file_that_cannot_be_relied_on_lets_nobody_in_and_is_not_overwritten() {
        for (text, mode) in [
            (r#"{"version": 2, "devices": []}"#, 0o600),
            ("no json", 0o600),
            (r#"{"version": 1, "devices": []}"#, 0o644),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("devices.json");
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let store = DeviceStore::open(path.clone());
            assert!(store.list().is_empty());
            assert!(matches!(store.add(device("x")), Err(DeviceError::Unusable { .. })), "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_free_name_is_like_the_one_that_is_wished() {
        let folder = tempfile::tempdir().unwrap();
        let store = DeviceStore::open(folder.path().join("devices.json"));
        assert_eq!(store.free_name("Chromium"), "Chromium");
        store.add(device("Chromium")).unwrap();
        assert_eq!(store.free_name("Chromium"), "Chromium-2");
        assert_eq!(store.free_name("\u{1b}[2J <b>"), "2Jb");
        assert_eq!(store.free_name("…"), "browser");
    }
}
