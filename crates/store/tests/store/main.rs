//! The crate from outside: what was recorded is what is read, whatever happens to the disk, the
//! files and the process.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod attempts;
mod base_dir;
mod damage;
mod events;
mod index;
mod index_random;
mod journal;
mod killed;
mod links;
mod lock;
mod registry;
mod removing;
mod restoring;
mod seals;
mod session;
mod values;
mod view;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_model::{SessionId, Timestamp};
use coven_store::journal::FILE;
use coven_store::{
    BaseDir, Index, Journal, JournalReader, JournalRecord, OpenFolder, SealKey, SessionAuthority,
    SessionEntry,
};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

/// A fact as good as any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "camelCase")]
enum Fact {
    Said(String),
    Counted(u64),
    Nothing,
}

fn said(text: &str) -> Fact {
    Fact::Said(text.to_owned())
}

/// The time of everything that has no better one.
const FACT_TIME: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn id(number: u64) -> SessionId {
    SessionId::new(format!("01890a5d-ac96-774b-bcce-{number:012x}")).unwrap()
}

/// A directory for a test: in memory where there is such a place, because these tests sync
/// thousands of times.
fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()
}

/// A folder with a journal of its own.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(directory())
    }

    fn folder(&self) -> OpenFolder {
        OpenFolder::open(self.0.path()).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.0.path().join(FILE)
    }

    fn create(&self) -> Journal {
        Journal::create(&self.folder(), &id(1), &key()).unwrap()
    }

    fn open(&self) -> Result<Journal, coven_store::journal::OpenError> {
        Journal::open(&self.folder(), &id(1), &key())
    }

    /// A journal that has these facts, closed.
    fn with(facts: &[Fact]) -> Self {
        let place = Self::new();
        let mut journal = place.create();
        for fact in facts {
            journal.append(FACT_TIME, std::slice::from_ref(fact)).unwrap();
        }
        place
    }

    fn facts(&self) -> Vec<Fact> {
        facts(&mut JournalReader::open(&self.folder(), &id(1)).unwrap())
    }
}

/// All facts there are.
fn facts(reader: &mut JournalReader) -> Vec<Fact> {
    let records: Vec<JournalRecord<Fact>> = reader.read_all(1).unwrap();
    for (record, seq) in records.iter().zip(1..) {
        assert_eq!(record.seq, seq);
    }
    records.into_iter().map(|record| record.fact).collect()
}

/// A base directory of its own.
struct Base(TempDir);

impl Base {
    fn new() -> Self {
        Self(directory())
    }

    fn dir(&self) -> BaseDir {
        BaseDir::create(self.0.path()).unwrap()
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn authority(&self) -> SessionAuthority {
        authority(&self.dir())
    }

    /// The index of all sessions, which are the user's own. What is not fresh is read again, here
    /// from the view.
    fn index(&self) -> Index {
        let mut index = Index::load(&self.dir(), &self.cache(), |_| true).unwrap();
        let views = Index::load(&self.dir(), &self.cache(), |_| false).unwrap();
        for entry in views.entries() {
            if index.get(&entry.id).is_some_and(|known| !known.fresh) {
                index.settle(SessionEntry { foreign: false, ..entry.clone() });
            }
        }
        index
    }

    /// Where the index keeps its cache.
    fn cache(&self) -> PathBuf {
        self.path().join("state")
    }
}

/// The key of every test.
fn key() -> Arc<SealKey> {
    Arc::new(SealKey::from_secret(&[7; 32]))
}

/// The state folder of a base directory that has one of its own.
fn authority(base: &BaseDir) -> SessionAuthority {
    SessionAuthority::new(SealKey::from_secret(&[7; 32]), base.path().join("state/jobs"))
}
