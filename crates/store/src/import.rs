//! Making a session the user's own that another key, or a version without seals, wrote.
//!
//! The facts stay as they are; the journal is sealed anew and the one that was there is kept beside
//! it. Nothing that lies in the project but the journal is believed: what the jobs of the session
//! left is not taken over.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use coven_folder::{Durability, FileError, OpenFolder, best_effort};
use coven_model::{ContentDigest, SessionId, Timestamp};
use rustix::fs::{FlockOperation, OFlags};
use serde::Serialize;

use crate::authority::SessionAuthority;
use crate::checkpoint::Checkpoint;
use crate::journal::{self, AppendError, JournalSeal, OpenError, ResealedJournal, reseal};
use crate::layout::{self, BaseDir};
use crate::seal::SealKey;

/// What the journal that was there is called afterwards.
const KEPT_JOURNAL: &str = "journal.before-import.jsonl";

/// A larger journal is not read into memory.
const MAX_JOURNAL_BYTES: u64 = 1 << 30;

/// Why a session cannot be made the user's own.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    File(#[from] FileError),
    /// Its journal is none, or is damaged.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// That it was imported cannot be recorded.
    #[error(transparent)]
    Record(#[from] AppendError),
    /// Another process writes it.
    #[error("the session {id} is being written by another process; end that first")]
    InUse { id: SessionId },
    /// It is another one than was looked at.
    #[error("the session {id} changed since you looked at it; look at it again")]
    Changed { id: SessionId },
    /// The key that was given did not seal it.
    #[error("the session {id} was not sealed with the key that was given")]
    WrongKey { id: SessionId },
    #[error("the journal of {id} has more than {MAX_JOURNAL_BYTES} bytes")]
    TooLong { id: SessionId },
}

/// A journal that could be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportableJournal {
    /// Of all its bytes.
    pub digest: ContentDigest,
    pub facts: u64,
    pub seal: JournalSeal,
}

/// Looks at the journal of a session that is not the user's own. Changes nothing.
pub fn examine(
    base: &BaseDir,
    authority: &SessionAuthority,
    id: &SessionId,
) -> Result<ImportableJournal, ImportError> {
    let folder = open(base, id)?;
    let (_, bytes) = read(&folder, id)?;
    let sealed = reseal(&folder.path().join(journal::FILE), id, &bytes, authority.key(), None)?;
    let ResealedJournal { facts, seal, .. } = sealed;
    Ok(ImportableJournal { digest: ContentDigest::of_bytes(&bytes), facts, seal })
}

/// Whose the jobs are that the state folder has for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobsOwner {
    /// The session that is imported: the user made it here, with a key that is gone.
    This,
    /// Another one with the same id, so they are removed.
    Another,
}

/// What is to be imported.
#[derive(Clone, Copy, Debug)]
pub struct ImportTerms<'a> {
    /// The digest of the journal that was looked at.
    pub digest: &'a str,
    /// With a key, only if that sealed every line.
    pub key: Option<&'a Arc<SealKey>>,
    pub jobs: JobsOwner,
}

/// Seals a journal with the key of the user. One that this key has sealed already stays as it is;
/// any other gets `fact` at its end, which is there at once with the new seal.
pub fn take_over<T: Serialize>(
    base: &BaseDir,
    authority: &SessionAuthority,
    id: &SessionId,
    terms: ImportTerms<'_>,
    time: Timestamp,
    fact: impl FnOnce(JournalSeal) -> T,
) -> Result<JournalSeal, ImportError> {
    let ImportTerms { digest, key: other, jobs } = terms;
    let folder = open(base, id)?;
    let (file, bytes) = read(&folder, id)?;
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Err(ImportError::InUse { id: id.clone() });
    }
    if ContentDigest::of_bytes(&bytes).as_str() != digest {
        return Err(ImportError::Changed { id: id.clone() });
    }
    let path = folder.path().join(journal::FILE);
    let mut sealed = reseal(&path, id, &bytes, authority.key(), other)?;
    let is_own_key = other.is_some_and(|key| key.public() == authority.key().public());
    let wanted = if is_own_key { JournalSeal::Ours } else { JournalSeal::Given };
    if other.is_some() && sealed.seal != wanted {
        return Err(ImportError::WrongKey { id: id.clone() });
    }
    if sealed.seal != JournalSeal::Ours {
        if jobs == JobsOwner::Another {
            authority.remove_jobs(id)?;
        }
        sealed.add(time, &fact(sealed.seal), authority.key())?;
        folder.replace(KEPT_JOURNAL, &bytes, Durability::Synced)?;
        folder.replace(journal::FILE, &sealed.bytes, Durability::Synced)?;
    }
    let jobs = authority.make_session(id)?;
    if let Some((seq, tag)) = sealed.last(authority.key()) {
        best_effort("write a checkpoint", Checkpoint { seq, tag }.write(&jobs));
    }
    Ok(sealed.seal)
}

fn open(base: &BaseDir, id: &SessionId) -> Result<OpenFolder, ImportError> {
    let path = base.session_path(id).join(journal::FILE);
    Ok(layout::session(base, id)?.ok_or(OpenError::Missing { path })?)
}

fn read(folder: &OpenFolder, id: &SessionId) -> Result<(File, Vec<u8>), ImportError> {
    let file = folder.file(journal::FILE, OFlags::RDONLY)?;
    let failed = |source| folder.error("read", journal::FILE, source);
    if file.metadata().map_err(failed)?.len() > MAX_JOURNAL_BYTES {
        return Err(ImportError::TooLong { id: id.clone() });
    }
    let mut bytes = Vec::new();
    (&file).take(MAX_JOURNAL_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    Ok((file, bytes))
}
