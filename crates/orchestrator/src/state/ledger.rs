//! The order of everything that was told: which fact of which session stands at which position.
//!
//! Positions grow by one and are never used twice, also not after a restart or a power cut. The
//! ledger holds only where a fact is found; the fact itself stays in the journal of its session.
//! Positions without a hole form a stretch, which on disk is a file; old stretches are dropped as
//! a whole. A hole is left where positions may have been told that were not kept.

mod disk;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_folder::disk_wait;
use coven_model::Timestamp;
use uuid::Uuid;

use self::disk::LedgerFolder;
use coven_folder::best_effort;

/// How many positions a stretch has at most.
const MAX_STRETCH_POSITIONS: usize = 16 * 1024;

/// How many positions are kept at least.
const MIN_KEPT_POSITIONS: usize = 200_000;

/// How long before a stretch is full the file of the next one is made.
const PREPARE_AHEAD_POSITIONS: usize = 1024;

/// How far positions jump where some may have been told and lost: more than two stretches have, and
/// all but the newest two are known to be on the disk.
const POSITION_JUMP: u64 = 1_000_000;

/// How many sessions are remembered of which no position is kept any more.
const MAX_FLOOR_SESSIONS: usize = 10_000;

/// Where a fact is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LedgerPlace {
    pub(crate) session: Uuid,
    /// The number of the fact in it.
    pub(crate) seq: u64,
    /// When it was recorded.
    pub(crate) time: Timestamp,
    /// What has to be known of it without its journal.
    pub(crate) mark: LedgerMark,
}

/// What has to be known of a fact without its journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LedgerMark {
    /// Only its place has to be known.
    #[default]
    None,
    /// The run is over with it.
    Over,
    /// The session is gone with it.
    Deleted,
}

/// Positions without a hole.
#[derive(Debug)]
struct LedgerStretch {
    first: u64,
    places: Vec<LedgerPlace>,
    /// Its file, once there is one, and how many places are in it.
    file: Option<Arc<File>>,
    written: usize,
}

impl LedgerStretch {
    fn new(first: u64) -> Self {
        Self { first, places: Vec::new(), file: None, written: 0 }
    }

    /// The position behind its last one.
    fn end(&self) -> u64 {
        self.first + self.places.len() as u64
    }
}

/// The file of a stretch that has no position yet.
#[derive(Debug)]
pub(crate) struct PreparedStretch {
    first: u64,
    file: Arc<File>,
}

/// What waits on the disk when positions move on to the next stretch.
#[derive(Debug)]
pub(crate) struct RoomWork {
    folder: PathBuf,
    first: u64,
    unsynced: Option<Arc<File>>,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct RoomDone {
    prepared: Option<PreparedStretch>,
}

impl RoomWork {
    pub(crate) fn run(self) -> RoomDone {
        disk_wait::check("making room in the feed");
        if let Some(file) = self.unsynced {
            best_effort("sync a part of the feed", file.sync_data());
        }
        let made = disk::make_stretch(&self.folder, self.first);
        let first = self.first;
        RoomDone { prepared: made.ok().map(|file| PreparedStretch { first, file: Arc::new(file) }) }
    }
}

/// How much is kept, smaller in tests.
#[derive(Clone, Copy, Debug)]
struct LedgerLimits {
    stretch: usize,
    keep: usize,
}

impl Default for LedgerLimits {
    fn default() -> Self {
        Self { stretch: MAX_STRETCH_POSITIONS, keep: MIN_KEPT_POSITIONS }
    }
}

/// The order of everything that was told.
#[derive(Debug)]
pub(crate) struct Ledger {
    limits: LedgerLimits,
    /// There is always one, and positions are added to the last.
    stretches: VecDeque<LedgerStretch>,
    disk: Option<LedgerFolder>,
    /// The file of the next stretch, made before it is needed.
    prepared: Option<PreparedStretch>,
    /// The file of a stretch that is complete and not yet synced.
    unsynced: Option<Arc<File>>,
    /// The last fact of each session that has or had a position, and what it was.
    known: HashMap<Uuid, (u64, LedgerMark)>,
    /// Those of them that have no position any more.
    floor: BTreeMap<Uuid, u64>,
}

impl Ledger {
    /// One that is forgotten with the process.
    pub(crate) fn in_memory() -> Self {
        Self::empty(LedgerLimits::default())
    }

    /// One in a folder, which is made if it is not there. Only one process has it at a time.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        Self::open_with(folder, LedgerLimits::default())
    }

    fn empty(limits: LedgerLimits) -> Self {
        Self {
            limits,
            stretches: VecDeque::from([LedgerStretch::new(1)]),
            disk: None,
            prepared: None,
            unsynced: None,
            known: HashMap::new(),
            floor: BTreeMap::new(),
        }
    }

    fn open_with(folder: &Path, limits: LedgerLimits) -> io::Result<Self> {
        let mut ledger = Self::empty(limits);
        let found = LedgerFolder::open(folder)?;
        ledger.floor = found.floor;
        ledger.known = ledger
            .floor
            .iter()
            .map(|(session, seq)| (*session, (*seq, LedgerMark::None)))
            .collect();
        if !found.stretches.is_empty() {
            ledger.stretches = found.stretches.into();
        }
        for stretch in &ledger.stretches {
            for place in &stretch.places {
                ledger.known.insert(place.session, (place.seq, place.mark));
            }
        }
        let mut disk = found.disk;
        if found.may_have_lost {
            let first = ledger.next() + POSITION_JUMP;
            let mut stretch = LedgerStretch::new(first);
            // It is on the disk before the folder says that all is well again.
            disk.begin(&mut stretch)?;
            ledger.stretches.push_back(stretch);
            disk.settle()?;
        }
        ledger.disk = Some(disk);
        Ok(ledger)
    }

    fn next(&self) -> u64 {
        self.stretches.back().map_or(1, LedgerStretch::end)
    }

    /// The last position that was given.
    pub(crate) fn last(&self) -> u64 {
        self.next() - 1
    }

    /// The first position that is still kept; the next one if there is none.
    pub(crate) fn oldest(&self) -> u64 {
        let kept = self.stretches.iter().find(|stretch| !stretch.places.is_empty());
        kept.map_or_else(|| self.next(), |stretch| stretch.first)
    }

    /// Whether everything after this position is known. What lies in a hole was never ours to
    /// give, or was lost.
    pub(crate) fn reaches(&self, after: u64) -> bool {
        if after == self.last() {
            return true;
        }
        let first = self.stretches.front().map_or(1, |stretch| stretch.first);
        let inside = |stretch: &LedgerStretch| (stretch.first..stretch.end()).contains(&after);
        (first == self.oldest() && after.checked_add(1) == Some(first))
            || self.stretches.iter().any(inside)
    }

    /// Gives a fact its position. It is with the system when this returns, and outlives the
    /// process; if the disk does not take it, that is tried again with the next.
    pub(crate) fn append(&mut self, place: LedgerPlace) -> u64 {
        let full = |stretch: &LedgerStretch| stretch.places.len() >= self.limits.stretch;
        if self.stretches.back().is_none_or(full) {
            let next = self.next();
            let mut stretch = LedgerStretch::new(next);
            let prepared = self.prepared.take().filter(|prepared| prepared.first == next);
            stretch.file = prepared.map(|prepared| prepared.file);
            self.unsynced = self.stretches.back().and_then(|full| full.file.clone());
            self.stretches.push_back(stretch);
            self.drop_old();
        }
        let position = self.next();
        if let Some(stretch) = self.stretches.back_mut() {
            stretch.places.push(place);
        }
        self.known.insert(place.session, (place.seq, place.mark));
        if let Some(disk) = &mut self.disk {
            disk.write(&mut self.stretches);
        }
        position
    }

    /// Whether the disk should be prepared before so many positions are given.
    pub(crate) fn needs_room(&self, positions: usize) -> bool {
        let nearly_full = |stretch: &LedgerStretch| {
            stretch.places.len() + positions + PREPARE_AHEAD_POSITIONS >= self.limits.stretch
        };
        let is_prepared = self.prepared.as_ref().map(|prepared| prepared.first);
        self.disk.is_some()
            && (self.unsynced.is_some()
                || (self.stretches.back().is_some_and(nearly_full)
                    && is_prepared != Some(self.next_stretch())))
    }

    /// The first position of the next stretch.
    fn next_stretch(&self) -> u64 {
        self.stretches.back().map_or(1, |stretch| stretch.first + self.limits.stretch as u64)
    }

    /// What is to be done on the disk, without holding the ledger meanwhile.
    pub(crate) fn room_work(&mut self) -> Option<RoomWork> {
        let folder = self.disk.as_ref()?.folder().to_owned();
        Some(RoomWork { folder, first: self.next_stretch(), unsynced: self.unsynced.take() })
    }

    /// Takes what was done. What failed is done when the position is given, while all wait.
    pub(crate) fn take_room(&mut self, done: RoomDone) {
        self.prepared = done.prepared.filter(|prepared| prepared.first == self.next_stretch());
    }

    fn drop_old(&mut self) {
        let mut kept: usize = self.stretches.iter().map(|stretch| stretch.places.len()).sum();
        let mut dropped = false;
        while let Some(oldest) = self.stretches.front()
            && kept - oldest.places.len() >= self.limits.keep
        {
            kept -= oldest.places.len();
            for place in &oldest.places {
                if self.known.get(&place.session).is_some_and(|(seq, _)| *seq == place.seq) {
                    self.floor.insert(place.session, place.seq);
                }
            }
            while self.floor.len() > MAX_FLOOR_SESSIONS {
                self.floor.pop_first();
            }
            if let Some(disk) = &self.disk {
                // First what the places are remembered by, then the places.
                disk.write_floor(&self.floor);
                disk.remove(oldest.first);
            }
            self.stretches.pop_front();
            dropped = true;
        }
        if dropped {
            let floor = &self.floor;
            let placed: std::collections::HashSet<Uuid> = self
                .stretches
                .iter()
                .flat_map(|stretch| stretch.places.iter().map(|place| place.session))
                .collect();
            self.known.retain(|session, _| placed.contains(session) || floor.contains_key(session));
        }
    }

    /// The positions from this one on, at most so many.
    pub(crate) fn read(&self, from: u64, most: usize) -> Vec<(u64, LedgerPlace)> {
        let reached = self.stretches.iter().filter(|stretch| stretch.end() > from);
        let places = reached.flat_map(|stretch| {
            let skip = from.saturating_sub(stretch.first);
            let rest = stretch.places.get(skip as usize..).unwrap_or_default();
            rest.iter().zip(stretch.first + skip..).map(|(place, position)| (position, *place))
        });
        places.take(most).collect()
    }

    /// The last fact of a session that has a position, and what it was.
    pub(crate) fn known(&self, session: &Uuid) -> Option<(u64, LedgerMark)> {
        self.known.get(session).copied()
    }
}
