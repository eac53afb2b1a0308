//! One subscriber of the feed: what happened since a position, then what happens.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use coven_model::SessionId;
use coven_model::event::Event;
use coven_store::session::Look;
use coven_store::{BaseDir, Reader, Record};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use uuid::Uuid;

use super::{Feed, FeedItem};
use crate::event::{Envelope, Published};
use crate::state::{Mark, Place};

/// How many positions are looked up at a time.
const CHUNK: usize = 256;

/// How many journals are held open by one subscriber.
const JOURNALS: usize = 32;

/// Follows the feed. No fact is left out or comes twice, however slow the reader is; of what is
/// told live, a slow reader misses some. Of a session that was given up meanwhile, whoever reads
/// about it later hears only that it is gone, and not who did it.
#[derive(Debug)]
pub struct FeedSubscription {
    feed: Feed,
    receiver: Receiver<Envelope>,
    /// The first position that was not handed out.
    next: u64,
    /// What was looked up and not handed out.
    backlog: VecDeque<FeedItem>,
    /// There may be facts that the receiver does not bring.
    behind: bool,
    closed: bool,
    missed: u64,
    journals: HashMap<Uuid, Reader>,
}

impl FeedSubscription {
    pub(super) fn new(feed: Feed, receiver: Receiver<Envelope>, after: Option<u64>) -> Self {
        let (last, oldest, reached) = {
            let ledger = &feed.book().ledger;
            (ledger.last(), ledger.oldest(), after.is_none_or(|after| ledger.reaches(after)))
        };
        let mut backlog = VecDeque::new();
        if !reached {
            backlog.push_back(FeedItem::Gap { oldest });
        }
        let next = after.filter(|_| reached).unwrap_or(last) + 1;
        let journals = HashMap::new();
        // Whoever asks for nothing of the past gets all they want from the receiver.
        let behind = after.is_some();
        Self { feed, receiver, next, backlog, behind, closed: false, missed: 0, journals }
    }

    /// How many things the reader was too slow for, since this was last asked. The facts among
    /// them are told all the same.
    pub fn take_missed(&mut self) -> u64 {
        std::mem::take(&mut self.missed)
    }

    /// The next thing; nothing once the feed is closed and everything was told.
    pub async fn next(&mut self) -> Option<FeedItem> {
        loop {
            if let Some(item) = self.backlog.pop_front() {
                return Some(item);
            }
            if self.behind {
                self.catch_up();
                continue;
            }
            if self.closed {
                return None;
            }
            match self.receiver.recv().await {
                Ok(envelope) => match envelope.pos {
                    Some(pos) if pos < self.next => {}
                    Some(pos) if pos == self.next => {
                        self.next += 1;
                        return Some(FeedItem::Event(envelope));
                    }
                    Some(_) => self.behind = true,
                    None => return Some(FeedItem::Event(envelope)),
                },
                // Too slow: the facts are in the journals.
                Err(RecvError::Lagged(missed)) => {
                    self.missed += missed;
                    self.behind = true;
                }
                Err(RecvError::Closed) => {
                    self.closed = true;
                    self.behind = true;
                }
            }
        }
    }

    /// Looks up the next positions.
    fn catch_up(&mut self) {
        let places = {
            let ledger = &self.feed.book().ledger;
            if self.next < ledger.oldest() && !ledger.reaches(self.next - 1) {
                self.next = ledger.last() + 1;
                self.backlog.push_back(FeedItem::Gap { oldest: ledger.oldest() });
            }
            ledger.read(self.next, CHUNK)
        };
        let Some((last, _)) = places.last() else {
            self.behind = false;
            return;
        };
        self.next = last + 1;
        // Journals are read forwards, each once, and their facts put into the order of positions.
        let mut wanted: HashMap<Uuid, Vec<(u64, Place)>> = HashMap::new();
        for (pos, place) in &places {
            wanted.entry(place.session).or_default().push((*pos, *place));
        }
        let mut found: Vec<Envelope> = Vec::with_capacity(places.len());
        for (session, places) in wanted {
            let deleted = places.iter().any(|(_, place)| place.mark == Mark::Deleted);
            if !self.look_up(session, &places, &mut found) && !deleted {
                // Its folder cannot be read now, or it was deleted later. Whoever follows has to
                // look at everything again, and goes on from there.
                let (last, oldest) = {
                    let ledger = &self.feed.book().ledger;
                    (ledger.last(), ledger.oldest())
                };
                self.next = last + 1;
                self.backlog.push_back(FeedItem::Gap { oldest });
                return;
            }
        }
        found.sort_by_key(|envelope| envelope.pos);
        self.backlog.extend(found.into_iter().map(FeedItem::Event));
    }

    /// Finds facts of one session, and says whether that was all of them. Of a session that is
    /// gone, only that it is gone is known.
    fn look_up(
        &mut self,
        session: Uuid,
        places: &[(u64, Place)],
        found: &mut Vec<Envelope>,
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
                (None, Mark::Deleted) => {
                    Arc::new(Event::SessionDeleted { by: String::new(), at: place.time })
                }
                (None, _) => {
                    all = false;
                    continue;
                }
            };
            let what = Published::Fact { seq: place.seq, event };
            found.push(Envelope { pos: Some(*pos), session: id.clone(), time: place.time, what });
        }
        all
    }

    fn read(
        &mut self,
        session: Uuid,
        id: &SessionId,
        places: &[(u64, Place)],
    ) -> Vec<Record<Event>> {
        let seqs = || places.iter().map(|(_, place)| place.seq);
        let (Some(first), Some(last)) = (seqs().min(), seqs().max()) else { return Vec::new() };
        // A journal that was held open outlives its file, which does not matter to a reader. One
        // whose folder was put back has to be opened again.
        for fresh in [false, true] {
            if fresh {
                self.journals.remove(&session);
            }
            let Some(reader) = self.journal(session, id) else { return Vec::new() };
            let Ok(records) = reader.read_from::<Event>(first) else { continue };
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

    fn journal(&mut self, session: Uuid, id: &SessionId) -> Option<&mut Reader> {
        if !self.journals.contains_key(&session) {
            let home = self.feed.book().homes.get(&session).cloned()?;
            let home = BaseDir::find(&home).ok()??;
            let reader = Look::open(&home, id).ok()?.reader().ok()?;
            if self.journals.len() >= JOURNALS {
                self.journals.clear();
            }
            self.journals.insert(session, reader);
        }
        self.journals.get_mut(&session)
    }
}
