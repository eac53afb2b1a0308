//! One subscriber of the feed: what happened since a position, then what happens.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use coven_model::SessionId;
use coven_model::event::SessionEvent;
use coven_store::session::ReadOnlySession;
use coven_store::{BaseDir, JournalReader, JournalRecord};
use tokio::sync::broadcast::Receiver;
use uuid::Uuid;

use super::{Feed, FeedItem};
use crate::event::{FeedEvent, PublishedEvent};
use crate::state::replay::{LogFollower, ReplayLog, ReplayPiece};
use crate::state::{LedgerMark, LedgerPlace};

/// How many positions are looked up at a time.
const POSITIONS_PER_READ: usize = 256;

/// How many journals are held open by one subscriber.
const MAX_OPEN_JOURNALS: usize = 32;

/// Follows the feed. No fact is left out or comes twice, however slow the reader is; of what is
/// told live, a slow reader misses some. Of a session that was given up meanwhile, a later reader
/// hears only that it is gone, and not who did it.
#[derive(Debug)]
pub struct FeedSubscription {
    follower: LogFollower<FeedLog>,
}

/// The ledger of the feed and the journals it points into, as a log to follow.
#[derive(Debug)]
struct FeedLog {
    feed: Feed,
    journals: HashMap<Uuid, JournalReader>,
}

impl FeedSubscription {
    pub(super) fn new(feed: Feed, receiver: Receiver<FeedEvent>, after: Option<u64>) -> Self {
        let (last, oldest, reached) = {
            let ledger = &feed.book().ledger;
            (ledger.last(), ledger.oldest(), after.is_none_or(|after| ledger.reaches(after)))
        };
        let next = after.filter(|_| reached).unwrap_or(last) + 1;
        let log = FeedLog { feed, journals: HashMap::new() };
        // A subscriber that asks for nothing of the past gets all it wants from the receiver.
        let mut follower = LogFollower::new(log, receiver, next, after.is_some());
        if !reached {
            follower.put_first(FeedItem::Gap { oldest });
        }
        Self { follower }
    }

    /// How many things the reader was too slow for, since this was last asked. The facts among
    /// them are told all the same.
    pub fn take_missed(&mut self) -> u64 {
        self.follower.take_missed()
    }

    /// The next thing; nothing once the feed is closed and everything was told.
    pub async fn next(&mut self) -> Option<FeedItem> {
        match self.follower.next().await {
            Ok(item) => item,
            Err(never) => match never {},
        }
    }
}

impl ReplayLog for FeedLog {
    type Item = FeedItem;
    type Error = Infallible;

    fn read(&mut self, mut next: u64) -> Result<ReplayPiece<FeedItem>, Infallible> {
        let mut items = Vec::new();
        let places = {
            let ledger = &self.feed.book().ledger;
            if next < ledger.oldest() && !ledger.reaches(next - 1) {
                next = ledger.last() + 1;
                items.push(FeedItem::Gap { oldest: ledger.oldest() });
            }
            ledger.read(next, POSITIONS_PER_READ)
        };
        let Some((last, _)) = places.last() else {
            return Ok(ReplayPiece { items, next, has_more: false });
        };
        next = last + 1;
        // Journals are read forwards, each once, and their facts put into the order of positions.
        let mut wanted: HashMap<Uuid, Vec<(u64, LedgerPlace)>> = HashMap::new();
        for (pos, place) in &places {
            wanted.entry(place.session).or_default().push((*pos, *place));
        }
        let mut found: Vec<FeedEvent> = Vec::with_capacity(places.len());
        for (session, places) in wanted {
            let deleted = places.iter().any(|(_, place)| place.mark == LedgerMark::Deleted);
            if !self.look_up(session, &places, &mut found) && !deleted {
                // Its folder cannot be read now, or it was deleted later. The subscriber has to
                // look at everything again, and goes on from there.
                let ledger = &self.feed.book().ledger;
                items.push(FeedItem::Gap { oldest: ledger.oldest() });
                return Ok(ReplayPiece { items, next: ledger.last() + 1, has_more: true });
            }
        }
        found.sort_by_key(|envelope| envelope.pos);
        items.extend(found.into_iter().map(FeedItem::Event));
        Ok(ReplayPiece { items, next, has_more: true })
    }

    fn number(envelope: &FeedEvent) -> Option<u64> {
        envelope.pos
    }

    fn item(envelope: FeedEvent) -> FeedItem {
        FeedItem::Event(envelope)
    }
}

impl FeedLog {
    /// Finds facts of one session, and says whether that was all of them. Of a session that is
    /// gone, only that it is gone is known.
    fn look_up(
        &mut self,
        session: Uuid,
        places: &[(u64, LedgerPlace)],
        found: &mut Vec<FeedEvent>,
    ) -> bool {
        let Ok(id) = SessionId::new(session.to_string()) else { return true };
        let mut all = true;
        let records = self.read(session, &id, places);
        let first = records.first().map_or(0, |record| record.seq);
        for (pos, place) in places {
            let at = place.seq.checked_sub(first).and_then(|at| usize::try_from(at).ok());
            let record = at.and_then(|at| records.get(at));
            let event = match (record, place.mark) {
                (Some(record), _) => Arc::new(record.fact.clone()),
                (None, LedgerMark::Deleted) => {
                    Arc::new(SessionEvent::SessionDeleted { by: String::new(), at: place.time })
                }
                (None, _) => {
                    all = false;
                    continue;
                }
            };
            let what = PublishedEvent::Fact { seq: place.seq, event };
            found.push(FeedEvent { pos: Some(*pos), session: id.clone(), time: place.time, what });
        }
        all
    }

    fn read(
        &mut self,
        session: Uuid,
        id: &SessionId,
        places: &[(u64, LedgerPlace)],
    ) -> Vec<JournalRecord<SessionEvent>> {
        let seqs = || places.iter().map(|(_, place)| place.seq);
        let (Some(first), Some(last)) = (seqs().min(), seqs().max()) else { return Vec::new() };
        // A journal that was held open outlives its file, which does not matter to a reader. One
        // whose folder was put back has to be opened again.
        for fresh in [false, true] {
            if fresh {
                self.journals.remove(&session);
            }
            let Some(reader) = self.journal(session, id) else { return Vec::new() };
            let Ok(records) = reader.read_from::<SessionEvent>(first) else { continue };
            let records: Vec<_> =
                records.map_while(Result::ok).take_while(|record| record.seq <= last).collect();
            if records.last().is_some_and(|record| record.seq == last) {
                return records;
            }
            if fresh {
                return records;
            }
        }
        Vec::new()
    }

    fn journal(&mut self, session: Uuid, id: &SessionId) -> Option<&mut JournalReader> {
        if !self.journals.contains_key(&session) {
            let home = self.feed.book().homes.get(&session).cloned()?;
            let base = BaseDir::find(&home.base_dir).ok()??;
            let look = ReadOnlySession::open(&base, &home.authority, id).ok()?;
            let reader = look.reader().ok()?;
            if self.journals.len() >= MAX_OPEN_JOURNALS {
                self.journals.clear();
            }
            self.journals.insert(session, reader);
        }
        self.journals.get_mut(&session)
    }
}
