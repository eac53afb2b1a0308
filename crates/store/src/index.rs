//! Listing sessions without opening each: a cache of what a list shows, checked against the length
//! of every journal.
//!
//! `index.jsonl` in the state folder has a line per session, framed as in a journal, and the last
//! line of a session counts. Each says how long the journal was when it was written. A journal only
//! grows, so one that still has this length has not changed. What cannot be read is ignored: the
//! file can be deleted at any time.
//!
//! Of any other session of the user only what was known last is listed, as not fresh: its journal
//! tells how it stands, and the view beside it is not believed. A foreign session is listed as its
//! view tells.

mod cache;
mod entry;
mod resolve;

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use coven_folder::{Durability, FileError, OpenFolder, OpenObstacle, absent_is_none};
use coven_model::SessionId;
use rustix::fs::OFlags;

use self::cache::CacheLine;
pub use self::entry::SessionEntry;
pub use self::resolve::ResolveError;
use crate::journal;
use crate::layout::{BaseDir, make_private_path};

/// The name of the cache in the folder that the state folder has for a base directory.
pub const FILE: &str = "index.jsonl";

/// So many lines may be superfluous before the cache is written anew.
const MAX_STALE_LINES: usize = 1000;

/// All sessions of a base directory, as they were when it was loaded or told.
#[derive(Debug)]
pub struct Index {
    /// The folder of the cache.
    folder: PathBuf,
    sessions: BTreeMap<SessionId, KnownSession>,
    /// How many lines the cache has; none if it must be written anew before it can be added to.
    lines: Option<usize>,
    /// Whether a newer program wrote the cache, which then is left alone.
    newer: bool,
}

/// A session, and how long its journal was when this was so.
#[derive(Clone, Debug)]
struct KnownSession {
    entry: SessionEntry,
    journal: u64,
}

impl Index {
    /// Lists the sessions of a base directory, with a cache in `folder`. All that are not `own` are
    /// foreign. Changes nothing on the disk.
    pub fn load(
        base: &BaseDir,
        folder: &Path,
        own: impl Fn(&SessionId) -> bool,
    ) -> Result<Self, FileError> {
        let cache = absent_is_none(OpenFolder::open(folder))?;
        let bytes = cache.map_or(Ok(None), |cache| cache.read(FILE))?.unwrap_or_default();
        // Two halves of about the same length, one of which the system works at and not we.
        let (mut cached, lengths) = thread::scope(|scope| {
            let lengths = scope.spawn(|| journal_lengths(base));
            (cache::read(&bytes), lengths.join().unwrap_or_else(|panic| resume_unwind(panic)))
        });
        let base_dir: Arc<Path> = Arc::from(base.path());
        let mut complete = true;
        let session = |(id, journal): (SessionId, Option<u64>)| {
            let line = cached.known.remove(id.as_str());
            let is_current =
                |line: &CacheLine<'_>| Some(line.journal) == journal && line.grimoire.is_some();
            let fresh = line.as_ref().is_some_and(is_current);
            let is_own = own(&id);
            complete &= fresh || !is_own;
            let base_dir = Arc::clone(&base_dir);
            let entry = match (is_own, line) {
                (true, Some(line)) => SessionEntry { fresh, ..line.entry(id.clone(), base_dir) },
                (true, None) => entry::unknown(&id, base_dir),
                // A folder without a journal is no session, or none any more.
                (false, _) if journal.is_none() => return None,
                (false, _) => entry::look(base, &id, base_dir),
            };
            Some((id, KnownSession { entry, journal: journal.unwrap_or(0) }))
        };
        let sessions = lengths?.into_iter().filter_map(session).collect();
        let lines = cached.lines.filter(|_| complete);
        Ok(Self { folder: folder.to_owned(), sessions, lines, newer: cached.newer })
    }

    /// The sessions, by id, which is by age.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &SessionEntry> {
        self.sessions.values().map(|known| &known.entry)
    }

    pub fn get(&self, id: &SessionId) -> Option<&SessionEntry> {
        self.sessions.get(id).map(|known| &known.entry)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// The session that is meant by an id, a beginning of one, or a name.
    pub fn resolve(&self, text: &str) -> Result<&SessionEntry, ResolveError> {
        resolve::resolve(self, text)
    }

    /// A readable name for a new session that none of these has.
    pub fn new_name(&self, id: &SessionId) -> String {
        crate::names::name(id, |name| self.entries().any(|entry| entry.name == name))
    }

    /// Says how a session stands, at a moment when its journal had this many bytes. If the cache
    /// cannot be written, only the next load takes longer.
    pub fn set(&mut self, entry: SessionEntry, journal_bytes: u64) -> Result<(), FileError> {
        let known = KnownSession { entry, journal: journal_bytes };
        let line = cache::line(&known);
        self.sessions.insert(known.entry.id.clone(), known);
        let room = 2 * self.sessions.len() + MAX_STALE_LINES;
        let Some(lines) = self.lines.filter(|lines| *lines < room) else { return self.save() };
        let Some(folder) = absent_is_none(OpenFolder::open(&self.folder))? else {
            return self.save();
        };
        let mut file = match folder.file(FILE, OFlags::WRONLY | OFlags::APPEND) {
            Ok(file) => file,
            // A new file leaves the one behind the other name as it is.
            Err(error)
                if matches!(error.obstacle, OpenObstacle::Missing | OpenObstacle::HardLink) =>
            {
                return self.save();
            }
            Err(error) => return Err(error),
        };
        // If this fails there may be half a line, so the next goes into a new file.
        self.lines = None;
        file.write_all(&line).map_err(|source| folder.error("write", FILE, source))?;
        self.lines = Some(lines + 1);
        Ok(())
    }

    /// Says how a session stands that was not fresh, and keeps that for later with the next
    /// [`save`](Self::save). What is not known for sure is not kept.
    pub fn settle(&mut self, entry: SessionEntry) {
        if let Some(known) = self.sessions.get_mut(&entry.id) {
            known.entry = entry;
        }
    }

    /// Says why a session cannot be opened or is not whole, or that it is.
    pub fn set_problem(&mut self, id: &SessionId, problem: Option<String>) {
        if let Some(known) = self.sessions.get_mut(id) {
            known.entry.fresh &= problem.is_none();
            known.entry.problem = problem;
        }
    }

    /// Forgets a session that was removed.
    pub fn remove(&mut self, id: &SessionId) {
        self.sessions.remove(id);
    }

    /// Forgets the sessions that are over and whose folders were deleted. One that goes on is put
    /// back by the session manager that has it open.
    pub fn forget_missing(&mut self, base: &BaseDir) {
        self.sessions
            .retain(|id, known| !known.entry.status.is_final() || base.session_path(id).exists());
    }

    /// Writes the cache anew. Only the process that holds the lock of the base directory may do so.
    pub fn save(&mut self) -> Result<(), FileError> {
        if self.newer {
            return Ok(());
        }
        let text = cache::all(self.sessions.values());
        self.lines = None;
        make_private_path(&self.folder)?.replace(FILE, &text, Durability::Cache)?;
        self.lines = Some(self.sessions.len());
        Ok(())
    }
}

/// Every session that has a folder, in order, and how long its journal is if it has one.
fn journal_lengths(base: &BaseDir) -> Result<Vec<(SessionId, Option<u64>)>, FileError> {
    let mut ids = base.ids()?;
    ids.sort_unstable();
    let mut found = Vec::with_capacity(ids.len());
    let mut name = String::new();
    for id in ids {
        name.clear();
        name.extend([id.as_str(), "/", journal::FILE]);
        match base.sessions().stat(&name) {
            Ok(stat) => found.push((id, stat.map(|stat| stat.st_size as u64))),
            // One that cannot be looked into is listed all the same, as one of which little is
            // known, and hides no other.
            Err(_) => found.push((id, Some(0))),
        }
    }
    Ok(found)
}
