//! Values that are too large for a line of the journal. Each is a file named by the SHA-256 of its
//! content, which is JSON, and is on the disk before a fact refers to it.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use coven_folder::{Durability, FileError, OpenFolder};
use coven_model::ContentDigest;
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::OFlags;

use crate::layout;

/// The name of the folder.
pub(crate) const FOLDER: &str = "values";

/// What is longer than this, as JSON, is put aside.
pub const LIMIT: usize = 64 * 1024;

/// How many files are held open, so that they can be put back if their folder is deleted.
const MAX_HELD_FILES: usize = 64;

/// A value cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum ValueError {
    /// Something cannot be reached.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is no such file.
    #[error("{} is missing: it was deleted, and only a copy can bring it back", path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// The content is not what its name says.
    #[error("{} is damaged: its content does not have this SHA-256. Put back a copy of the file",
        path.display())]
    Damaged { path: PathBuf },
    /// The text is not the SHA-256 of anything, and must not become a path.
    #[error("{text:?} is no SHA-256 in hexadecimal digits")]
    NotADigest { text: String },
    /// The place it was taken from is not there any more.
    #[error("there is nothing at {place} that a value could stand for")]
    NoPlace {
        /// The place, as a JSON pointer.
        place: String,
    },
}

/// The values of one session. Clones share the place, also when it changes.
#[derive(Clone, Debug)]
pub struct Values(Arc<Mutex<ValueFiles>>);

#[derive(Debug)]
struct ValueFiles {
    session: OpenFolder,
    held: VecDeque<(String, File)>,
}

impl Values {
    /// The values in the folder of a session.
    pub fn new(session: &OpenFolder) -> Self {
        Self(Arc::new(Mutex::new(ValueFiles { session: session.clone(), held: VecDeque::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, ValueFiles> {
        // Nothing that panics runs under this lock.
        self.0.lock()
    }

    /// The folder of the session. Files are read and written without the lock.
    fn session(&self) -> OpenFolder {
        self.lock().session.clone()
    }

    /// Keeps a value and makes it durable. Keeping it twice keeps it once.
    pub fn put(&self, bytes: &[u8]) -> Result<ContentDigest, ValueError> {
        let digest = ContentDigest::of_bytes(bytes);
        let name = digest.as_str();
        let folder = layout::make_private(&self.session(), FOLDER)?;
        let there = folder.stat(name)?.is_some_and(|stat| stat.st_size as usize == bytes.len());
        // One of the right length may still be damaged, and then this is the chance to mend it.
        if !there || self.get(name).is_err() {
            folder.put_durably(name, bytes)?;
        }
        self.hold(name, folder.file(name, OFlags::RDONLY)?);
        Ok(digest)
    }

    /// Keeps a value that has this digest, unless it is there, and says where. What is there is not
    /// read: who reads it checks it.
    pub fn keep(
        &self,
        digest: &ContentDigest,
        bytes: impl FnOnce() -> Vec<u8>,
    ) -> Result<PathBuf, ValueError> {
        let folder = layout::make_private(&self.session(), FOLDER)?;
        if folder.stat(digest.as_str())?.is_none() {
            self.put(&bytes())?;
        }
        Ok(self.path(digest.as_str()))
    }

    /// The value with this digest.
    pub fn get(&self, digest: &str) -> Result<Vec<u8>, ValueError> {
        let name = checked(digest)?;
        let folder = self.session().find(FOLDER)?;
        let bytes = folder.map(|folder| folder.read(name)).transpose()?.flatten();
        let bytes = bytes.ok_or_else(|| ValueError::Missing { path: self.path(name) })?;
        if ContentDigest::of_bytes(&bytes).as_str() == name {
            Ok(bytes)
        } else {
            Err(ValueError::Damaged { path: self.path(name) })
        }
    }

    pub(crate) fn path(&self, digest: &str) -> PathBuf {
        self.session().path().join(FOLDER).join(digest)
    }

    /// Moves to the new folder of the session, with every value whose file is still open.
    pub(crate) fn move_to(&self, session: &OpenFolder) -> Result<(), FileError> {
        let mut inner = self.lock();
        inner.session = session.clone();
        for (name, file) in &inner.held {
            let folder = layout::make_private(session, FOLDER)?;
            if folder.stat(name)?.is_none()
                && let Ok(bytes) = content(file)
            {
                folder.replace(name, &bytes, Durability::Synced)?;
            }
        }
        Ok(())
    }

    fn hold(&self, name: &str, file: File) {
        let held = &mut self.lock().held;
        if held.iter().any(|(known, _)| known == name) {
            return;
        }
        if held.len() == MAX_HELD_FILES {
            held.pop_front();
        }
        held.push_back((name.to_owned(), file));
    }
}

fn content(file: &File) -> io::Result<Vec<u8>> {
    let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// The digest, if it can be the name of a file.
fn checked(digest: &str) -> Result<&str, ValueError> {
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if digest.len() == 64 && digest.bytes().all(digit) {
        Ok(digest)
    } else {
        Err(ValueError::NotADigest { text: digest.chars().take(80).collect() })
    }
}
