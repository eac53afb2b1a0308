//! All sessions of a base directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_model::event::SessionEvent;
use coven_model::{RepositoryPlace, SessionId, Timestamp};
use coven_runtime::hold::HolderRegistry;
use coven_store::import::{self, ImportError, ImportTerms, JobsOwner};
use coven_store::index::ResolveError;
use coven_store::journal::{JournalSeal, OpenError as JournalOpenError};
use coven_store::layout::session_path;
use coven_store::lock::{LockHolder, LockStanding};
use coven_store::register::RegisterError;
use coven_store::registry::registered_bases;
use coven_store::retention::{self, RemoveError};
use coven_store::session::ReadOnlySession;
use coven_store::{
    AuthorityPlaces, BaseDir, FileError, FolderOwners, Index, JournalReader, Lock, Registry,
    Retention, SealKey, SessionAuthority, SessionEntry,
};
use coven_workflow::state::WorkflowRun;
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
use serde::de::IgnoredAny;

use super::listing::{entry_of, settle};
use super::{Clock, WorkflowSession};
use crate::error::{ImportFailed, OpenError};
use coven_folder::best_effort;

/// Keeps the sessions of a base directory. There is one at a time for each.
#[derive(Debug)]
pub struct SessionManager {
    base: RwLock<BaseDir>,
    authority: SessionAuthority,
    state_dir: PathBuf,
    agreed_owners: Option<FolderOwners>,
    keeper: String,
    index: Mutex<Index>,
    registry: Mutex<Registry>,
    clock: Clock,
    lock: Mutex<Lock>,
    /// What has to be said to the next who starts something here.
    notice: Mutex<Option<String>>,
    /// How `.coven` came to be there.
    origin: Mutex<FolderOrigin>,
    /// Held for reading while a session is made, so that `.coven` is not removed under it.
    making: RwLock<()>,
}

/// How the `.coven` of a base directory came to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FolderOrigin {
    /// It was there when the base directory was opened.
    Found,
    /// It was made because a session was to be made.
    Made,
    /// That session was refused, so it was removed again.
    Removed,
}

/// What is said when a `.coven` that was deleted under us was made again.
fn deleted_notice(gone: usize) -> String {
    let gone = match gone {
        0 => String::new(),
        1 => "; 1 session that was over is gone".to_owned(),
        more => format!("; {more} sessions that were over are gone"),
    };
    format!("the .coven of this folder was deleted and is made anew{gone}")
}

impl SessionManager {
    /// Takes a base directory over.
    pub fn open(
        base_dir: &Path,
        state_dir: &Path,
        authority: Option<&SessionAuthority>,
        agreed_owners: Option<&FolderOwners>,
        keeper: &str,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        let is_there = base_dir.join(".coven").symlink_metadata().is_ok();
        let origin = if is_there { FolderOrigin::Found } else { FolderOrigin::Made };
        let base = BaseDir::create_owned(base_dir, agreed_owners)?;
        let lock = Lock::take(&base, &LockHolder::this_process(keeper, clock.now(), None))?;
        // What is left of removals and creations that were cut short was never missed.
        best_effort("remove what earlier removals left", retention::sweep(&base));
        let authority = match authority {
            Some(authority) => authority.clone(),
            None => SessionAuthority::open(&AuthorityPlaces::in_state(state_dir))?,
        };
        let running = running_sessions(state_dir);
        let runs = |id: &SessionId| running.as_ref().is_none_or(|ids| ids.contains(id.as_str()));
        let mut registry = Registry::open(state_dir, &base, authority.key().public(), runs)?;
        for gone in registry.take_gone() {
            best_effort("remove the jobs of a deleted session", authority.remove_jobs(&gone));
        }
        let mut index = Index::load(&base, registry.folder(), |id| registry.contains(id))?;
        settle(&mut index, &base, &authority);
        let (index, registry) = (Mutex::new(index), Mutex::new(registry));
        Ok(Self {
            base: RwLock::new(base),
            authority,
            state_dir: state_dir.to_owned(),
            agreed_owners: agreed_owners.cloned(),
            keeper: keeper.to_owned(),
            index,
            registry,
            clock,
            lock: Mutex::new(lock),
            notice: Mutex::default(),
            origin: Mutex::new(origin),
            making: RwLock::default(),
        })
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock()
    }

    /// The folder in the state folder where more is kept about this base directory.
    pub(crate) fn state_folder(&self) -> PathBuf {
        self.registry().folder().to_owned()
    }

    /// Registers a session that is about to be made.
    pub(crate) fn register(&self, id: &SessionId) -> Result<(), RegisterError> {
        self.registry().register(id)
    }

    /// Makes a foreign session the user's own, which `digest` says was looked at. With a key only
    /// if that sealed it. Waits on the disk.
    pub(crate) fn import(
        &self,
        id: &SessionId,
        digest: &str,
        key: Option<&Arc<SealKey>>,
        repository: Option<&RepositoryPlace>,
    ) -> Result<(), ImportFailed> {
        if self.is_own(id) && self.look(id).and_then(|look| look.reader()).is_ok_and(sealed) {
            return Err(ImportFailed::Own(id.clone()));
        }
        let base = self.base_for_new()?;
        let bases = registered_bases(&self.state_dir).unwrap_or_default();
        let elsewhere = bases.into_iter().find(|other| {
            let is_there = session_path(&other.path, id).exists();
            other.path != base.path() && is_there && other.sessions.contains(id)
        });
        if let Some(other) = elsewhere {
            return Err(ImportFailed::Copy { id: id.clone(), path: other.path });
        }
        let is_registered = self.registry().is_registered(id);
        let jobs = if is_registered { JobsOwner::This } else { JobsOwner::Another };
        let (terms, at) = (ImportTerms { digest, key, jobs }, self.now());
        let imported = |seal: JournalSeal| {
            let vouched = matches!(seal, JournalSeal::Ours | JournalSeal::Given);
            let repository = repository.cloned().map(Box::new);
            SessionEvent::SessionImported { vouched, repository, at }
        };
        let seal = import::take_over(&base, &self.authority, id, terms, at, imported)?;
        let mut session = WorkflowSession::open(&base, &self.authority, id)?;
        if seal == JournalSeal::Ours {
            session.record_here(&[imported(seal)], at).map_err(ImportError::from)?;
        }
        self.register(id)?;
        let run = session.state().run();
        for (task, _) in run.into_iter().flat_map(WorkflowRun::live_jobs) {
            let attempt = session.files().lock().make_attempt(&task.job())?;
            if !matches!(attempt.spawn(), Ok(Some(_))) {
                attempt.mark_imported()?;
            }
        }
        if let Some(entry) = self.list_entry(&session) {
            self.try_note(entry, session.files().lock().journal_bytes())?;
        }
        Ok(())
    }

    /// Takes that back, because it could not be made. What lies in its place is not ours.
    pub(crate) fn unregister(&self, id: &SessionId) {
        // If even this cannot be written down, the next process finds no folder to go with it.
        best_effort("unregister a session", self.registry().remove(id));
    }

    /// Whether this user made the session in this base directory. No other is opened for writing.
    pub(crate) fn is_own(&self, id: &SessionId) -> bool {
        self.registry().contains(id)
    }

    /// Says whether there is still something to do for a session: then the next process opens its
    /// base directory by itself.
    pub(crate) fn set_live(&self, id: &SessionId, live: bool) -> Result<(), RegisterError> {
        self.registry().set_live(id, live)
    }

    /// Whether there may still be something to do for a session.
    pub(crate) fn is_live(&self, id: &SessionId) -> bool {
        self.registry().is_live(id)
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// What time it is.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The base directory below which the sessions are kept.
    pub fn base(&self) -> BaseDir {
        self.base.read().clone()
    }

    /// The key that seals its sessions, and where their jobs lie.
    pub(crate) fn authority(&self) -> &SessionAuthority {
        &self.authority
    }

    /// A session for reading; one that is not the user's own is opened as foreign.
    pub(crate) fn look(&self, id: &SessionId) -> Result<ReadOnlySession, JournalOpenError> {
        let authority = Some(&self.authority).filter(|_| self.is_own(id));
        look(&self.base(), authority, id)
    }

    /// Whether the base directory is still the one that was opened.
    pub(crate) fn is_in_place(&self) -> bool {
        self.base().is_in_place()
    }

    /// The base directory for something new. If its `.coven` was deleted since, as `git clean -fdx`
    /// does, that is made again and locked.
    pub(crate) fn base_for_new(&self) -> Result<BaseDir, OpenError> {
        let base = self.base();
        base.check_in_place()?;
        if base.has_sessions_in_place() {
            return Ok(base);
        }
        let base = BaseDir::create_owned(base.path(), self.agreed_owners.as_ref())?;
        let mut lock = self.lock.lock();
        if lock.standing()? == LockStanding::Lost {
            *lock = Lock::take(&base, &LockHolder::this_process(&self.keeper, self.now(), None))?;
        }
        drop(lock);
        let gone = {
            let mut index = self.index();
            let before = index.entries().count();
            index.forget_missing(&base);
            before - index.entries().count()
        };
        *self.base.write() = base.clone();
        let was = std::mem::replace(&mut *self.origin.lock(), FolderOrigin::Made);
        if was == FolderOrigin::Removed {
            return Ok(base);
        }
        let notice = deleted_notice(gone);
        tracing::warn!(base = %base.path().display(), "{notice}");
        *self.notice.lock() = Some(notice);
        Ok(base)
    }

    /// Keeps `.coven` from being removed while a session is made in it.
    pub(crate) fn making(&self) -> RwLockReadGuard<'_, ()> {
        self.making.read()
    }

    /// Removes the `.coven` that was made for a session that was then refused, if nothing else is
    /// in it. The next session makes it again.
    pub(crate) fn remove_unused(&self) -> Result<(), FileError> {
        let _alone = self.making.write();
        let mut origin = self.origin.lock();
        if *origin == FolderOrigin::Made && self.base().remove_unused()? {
            *origin = FolderOrigin::Removed;
        }
        Ok(())
    }

    /// What has to be said to the next who starts something here, once.
    pub(crate) fn take_notice(&self) -> Option<String> {
        self.notice.lock().take()
    }

    /// Forgets a session that is not in its place any more.
    pub(crate) fn forget(&self, id: &SessionId) {
        self.index().remove(id);
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock()
    }

    /// All sessions, newest first.
    pub fn list(&self) -> Vec<SessionEntry> {
        let mut entries: Vec<SessionEntry> = self.index().entries().rev().cloned().collect();
        let base = self.base();
        if !base.has_sessions_in_place() {
            // They were deleted with their `.coven`. Those that are under way are put back.
            entries.retain(|entry| {
                !entry.status.is_final() || entry.kept || base.session_path(&entry.id).exists()
            });
        }
        entries
    }

    /// The index entry of a session, live or over.
    pub fn entry(&self, id: &SessionId) -> Option<SessionEntry> {
        self.index().get(id).cloned()
    }

    /// The session that an id, the beginning of an id, or a name means.
    pub fn resolve(&self, text: &str) -> Result<SessionId, ResolveError> {
        self.index().resolve(text).map(|entry| entry.id.clone())
    }

    /// A readable name that no other session has.
    pub(crate) fn new_name(&self, id: &SessionId) -> String {
        self.index().new_name(id)
    }

    /// What a listing says of a session as it is now; nothing if it has no run.
    pub(crate) fn list_entry(&self, session: &WorkflowSession) -> Option<SessionEntry> {
        entry_of(session.state(), self.now(), self.base().path())
    }

    /// Takes a session into listings. A listing on the disk that is behind is mended from the
    /// journal.
    pub(crate) fn note(&self, entry: SessionEntry, journal_bytes: u64) {
        best_effort("write the index", self.try_note(entry, journal_bytes));
    }

    pub(crate) fn try_note(
        &self,
        entry: SessionEntry,
        journal_bytes: u64,
    ) -> Result<(), FileError> {
        self.index().set(entry, journal_bytes)
    }

    /// Says why a session cannot be opened or is not whole, or that it is.
    pub(crate) fn note_problem(&self, id: &SessionId, problem: Option<String>) {
        self.index().set_problem(id, problem);
    }

    /// Whether listings show a session as it is.
    pub(crate) fn shows(&self, entry: &SessionEntry) -> bool {
        let index = self.index();
        let listed = index.get(&entry.id);
        listed.is_some_and(|listed| listed.fresh && listed.status == entry.status)
    }

    /// The sessions that need not be kept any longer, oldest first.
    pub(crate) fn expired(
        &self,
        retention: &Retention,
        needed: impl Fn(&SessionId) -> bool,
    ) -> Vec<SessionId> {
        retention.expired(&self.index(), self.now(), needed)
    }

    /// Removes the folder of a session whose journal has no writer any more, and forgets it.
    pub(crate) fn remove(&self, id: &SessionId) -> Result<(), RemoveError> {
        match retention::remove(&self.base(), &self.authority, id) {
            // What could not be removed lies in the trash, and goes the next time.
            Ok(_) | Err(RemoveError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
        self.index().remove(id);
        self.unregister(id);
        Ok(())
    }
}

/// The sessions that have a job which runs, as its holder says; none if that cannot be known.
fn running_sessions(state_dir: &Path) -> Option<BTreeSet<String>> {
    let running = HolderRegistry::new(state_dir).running().ok()?;
    Some(running.iter().map(|entry| entry.session().to_owned()).collect())
}

/// Whether every line of a journal is sealed with the key that its reader has.
fn sealed(mut reader: JournalReader) -> bool {
    reader.read_from::<IgnoredAny>(1).is_ok_and(|mut records| records.all(|record| record.is_ok()))
}

/// Opens a session for reading: with the authority that it must be sealed by, or as a foreign one.
pub(crate) fn look(
    base: &BaseDir,
    authority: Option<&SessionAuthority>,
    id: &SessionId,
) -> Result<ReadOnlySession, JournalOpenError> {
    match authority {
        Some(authority) => ReadOnlySession::open(base, authority, id),
        None => ReadOnlySession::open_foreign(base, id),
    }
}
