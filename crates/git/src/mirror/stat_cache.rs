//! Which blob a file was at the last look, so that files that did not change are not read again. The
//! time of the last change of the inode cannot be set by a program, and a file whose change is too
//! recent to be told from the next one is not remembered.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::write_anew;
use crate::{Error, ObjectId};

/// What `stat` says about a file, as far as it tells versions of the file apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
}

/// The blobs of a tree by path.
#[derive(Debug, Default)]
pub(super) struct StatCache {
    pub(super) entries: HashMap<Vec<u8>, (Stamp, ObjectId)>,
}

impl Stamp {
    pub(super) fn words(&self) -> String {
        let Self { device, inode, size, modified: (a, b), changed: (c, d) } = self;
        format!("{device} {inode} {size} {a} {b} {c} {d}")
    }

    pub(super) fn from_words<'a>(parts: &mut impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse::<i64>().ok();
        Some(Self {
            device: number()? as u64,
            inode: number()? as u64,
            size: number()? as u64,
            modified: (number()?, number()?),
            changed: (number()?, number()?),
        })
    }
}

const VERSION: &str = "coven stat cache 1";

impl StatCache {
    /// Reads the cache of a tree; one that is missing, damaged or of another tree is empty.
    pub(super) fn read(mirror: &Path, tree: &Path) -> Self {
        let bytes = std::fs::read(file(mirror, tree)).unwrap_or_default();
        Self { entries: parse(&bytes, tree).unwrap_or_default() }
    }

    pub(super) fn write(&self, mirror: &Path, tree: &Path) -> Result<(), Error> {
        let mut bytes = VERSION.as_bytes().to_vec();
        bytes.push(0);
        bytes.extend_from_slice(tree.as_os_str().as_bytes());
        bytes.push(0);
        for (path, (stamp, blob)) in &self.entries {
            bytes.extend_from_slice(format!("{} {blob} ", stamp.words()).as_bytes());
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        write_anew(&file(mirror, tree), &bytes)
    }
}

fn parse(bytes: &[u8], tree: &Path) -> Option<HashMap<Vec<u8>, (Stamp, ObjectId)>> {
    let mut records = crate::fields(bytes);
    if records.next()? != VERSION.as_bytes() || records.next()? != tree.as_os_str().as_bytes() {
        return None;
    }
    records.map(parse_record).collect()
}

fn parse_record(record: &[u8]) -> Option<(Vec<u8>, (Stamp, ObjectId))> {
    let mut parts = record.splitn(9, |byte| *byte == b' ');
    let stamp = Stamp::from_words(&mut parts)?;
    let blob = ObjectId::from_bytes(parts.next()?)?;
    Some((parts.next()?.to_vec(), (stamp, blob)))
}

/// A file for each path of a tree. Two paths with one hash overwrite each other's cache, which then
/// is empty for the other.
fn file(mirror: &Path, tree: &Path) -> PathBuf {
    file_of(mirror, "stat-cache", tree)
}

pub(super) fn file_of(mirror: &Path, folder: &str, tree: &Path) -> PathBuf {
    // FNV-1a, because the name must be the same in the next process.
    let hash = tree.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mirror.join(folder).join(format!("{hash:016x}"))
}
