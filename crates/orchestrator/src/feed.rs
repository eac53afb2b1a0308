//! Everything that all orchestrators of one process tell, in one order.
//!
//! Each fact gets a position when it is told, which is after it is durable. Positions grow over the
//! life of the process and, in a folder, over restarts too; a subscriber that names the last
//! position it saw gets everything since. What is told live is passed on and has no position.

mod replay;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use coven_model::event::SessionEvent;
use coven_model::{SessionId, Timestamp};
use coven_store::session::ReadOnlySession;
use coven_store::{BaseDir, SessionAuthority, SessionEntry};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::broadcast;
use uuid::Uuid;

pub use self::replay::FeedSubscription;
use crate::event::{FeedEvent, PublishedEvent};
use crate::state::{Ledger, LedgerMark, LedgerPlace};

/// How far a subscriber may be behind before it reads the ledger instead.
const MAX_EVENT_LAG: usize = 4096;

/// The feed of a process. Clones are handles to the same feed.
#[derive(Clone, Debug)]
pub struct Feed {
    shared: Arc<FeedState>,
}

#[derive(Debug)]
struct FeedState {
    book: Mutex<FeedBook>,
    /// Gone once the feed is closed.
    events: Mutex<Option<broadcast::Sender<FeedEvent>>>,
}

#[derive(Debug)]
struct FeedBook {
    ledger: Ledger,
    /// The base directory that the journal of each session lies below.
    homes: HashMap<Uuid, SessionHome>,
}

/// What a subscriber of a feed is told.
#[derive(Clone, Debug)]
pub enum FeedItem {
    /// The next event, in the order of the feed.
    Event(FeedEvent),
    /// What happened since the position that was asked for is not known any more, or never was.
    /// What follows is what happens from now on; how everything stands has to be asked.
    Gap {
        /// The first position that is still known.
        oldest: u64,
    },
}

impl Feed {
    /// A feed that is forgotten with the process.
    pub fn in_memory() -> Self {
        Self::new(Ledger::in_memory())
    }

    /// A feed whose positions are kept in a folder, which is made if it is not there. One process
    /// has it at a time.
    pub fn open(dir: &Path) -> io::Result<Self> {
        Ok(Self::new(Ledger::open(dir)?))
    }

    fn new(ledger: Ledger) -> Self {
        let book = Mutex::new(FeedBook { ledger, homes: HashMap::new() });
        let events = Mutex::new(Some(broadcast::Sender::new(MAX_EVENT_LAG)));
        Self { shared: Arc::new(FeedState { book, events }) }
    }

    fn book(&self) -> MutexGuard<'_, FeedBook> {
        self.shared.book.lock()
    }

    /// The position of the newest fact; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.book().ledger.last()
    }

    /// The position of the oldest fact that is still known; the next position if there is none.
    pub fn oldest(&self) -> u64 {
        self.book().ledger.oldest()
    }

    /// Everything after a position, then what happens; without a position, what happens.
    pub fn subscribe(&self, after: Option<u64>) -> FeedSubscription {
        let events = self.shared.events.lock();
        // The receiver of a channel without a sender says at once that all is over.
        let receiver =
            events.as_ref().map_or_else(|| broadcast::channel(1).1, broadcast::Sender::subscribe);
        drop(events);
        FeedSubscription::new(self.clone(), receiver, after)
    }

    /// Ends all subscriptions, once they have told what they have to tell. What is told later has
    /// a position all the same.
    pub fn close(&self) {
        self.shared.events.lock().take();
    }

    fn send(&self, envelope: &FeedEvent) {
        let events = self.shared.events.lock();
        if let Some(events) = &*events {
            // It fails only without subscribers; a later one reads the event from its journal.
            drop(events.send(envelope.clone()));
        }
    }

    /// Whether [`make_room`](Self::make_room) should be called before so many facts are told.
    pub(crate) fn needs_room(&self, facts: usize) -> bool {
        self.book().ledger.needs_room(facts)
    }

    /// Makes the file for the positions to come, and settles the one before. Waits on the disk, so
    /// that telling a fact does not.
    pub(crate) fn make_room(&self) {
        let Some(work) = self.book().ledger.room_work() else { return };
        let done = work.run();
        self.book().ledger.take_room(done);
    }

    /// Tells something. A fact must be durable by now.
    pub(crate) fn tell(
        &self,
        session: &SessionId,
        time: Timestamp,
        what: PublishedEvent,
    ) -> FeedEvent {
        let mut envelope = FeedEvent { pos: None, session: session.clone(), time, what };
        let place = match &envelope.what {
            PublishedEvent::Fact { seq, event } => uuid(session).map(|session| LedgerPlace {
                session,
                seq: *seq,
                time,
                mark: mark(event),
            }),
            PublishedEvent::Live(_) => None,
        };
        let Some(place) = place else {
            self.send(&envelope);
            return envelope;
        };
        // The order of positions is the order of telling, so both happen under one lock.
        let mut book = self.book();
        envelope.pos = Some(book.ledger.append(place));
        self.send(&envelope);
        drop(book);
        envelope
    }

    /// Says below which base directory the journals of sessions lie. What is asked of their past
    /// is read there, also while no orchestrator has the base directory open.
    pub fn locate<'a>(
        &self,
        base_dir: &Path,
        authority: &SessionAuthority,
        ids: impl IntoIterator<Item = &'a SessionId>,
    ) {
        let home = SessionHome { base_dir: base_dir.into(), authority: authority.clone() };
        let mut book = self.book();
        for session in ids.into_iter().filter_map(uuid) {
            book.homes.insert(session, home.clone());
        }
    }

    /// Takes note of a session that was there before, and tells what its journal has and the feed
    /// does not: a process that dies may have written facts down and not told its subscribers.
    pub(crate) fn take_up(
        &self,
        base: &BaseDir,
        authority: &SessionAuthority,
        entry: &SessionEntry,
    ) {
        let Some(session) = uuid(&entry.id) else { return };
        self.locate(base.path(), authority, [&entry.id]);
        let known = self.book().ledger.known(&session);
        let settled = entry.fresh && entry.status.is_final() && !entry.kept;
        let seq = match known {
            // It was over before this feed heard of it, or so long ago that it has forgotten.
            None | Some((_, LedgerMark::Over | LedgerMark::Deleted)) if settled => return,
            None => 0,
            Some((seq, _)) => seq,
        };
        let look = ReadOnlySession::open(base, authority, &entry.id);
        let Ok(mut reader) = look.and_then(|look| look.reader()) else {
            return;
        };
        let Ok(records) = reader.read_from::<SessionEvent>(seq + 1) else { return };
        // What cannot be read is an error when the session is opened.
        for record in records.map_while(Result::ok) {
            let what = PublishedEvent::Fact { seq: record.seq, event: Arc::new(record.fact) };
            self.tell(&entry.id, record.time, what);
        }
    }

    /// Forgets where a session was found.
    pub(crate) fn forget(&self, id: &SessionId) {
        if let Some(session) = uuid(id) {
            self.book().homes.remove(&session);
        }
    }
}

/// Where the journal of a session lies, and what it must be sealed by.
#[derive(Clone, Debug)]
struct SessionHome {
    base_dir: Arc<Path>,
    authority: SessionAuthority,
}

impl Default for Feed {
    fn default() -> Self {
        Self::in_memory()
    }
}

fn uuid(session: &SessionId) -> Option<Uuid> {
    session.as_str().parse().ok()
}

fn mark(event: &SessionEvent) -> LedgerMark {
    match event {
        SessionEvent::WorkflowCompleted { .. }
        | SessionEvent::WorkflowFailed { .. }
        | SessionEvent::WorkflowCancelled { .. } => LedgerMark::Over,
        SessionEvent::SessionDeleted { .. } => LedgerMark::Deleted,
        _ => LedgerMark::None,
    }
}
