//! What an agent without a terminal said and did, readable, from its tape.

mod entries;
mod follow;
mod tape;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::Path;

use coven_adapters::transcript::TranscriptFormat;
use coven_api::task::TranscriptQuery;
use coven_model::{AgentMode, TokenUsage, TranscriptEntry};
use coven_orchestrator::TaskAccess;

use self::entries::{add, cut, size};
pub use self::follow::TranscriptFollower;
use self::tape::{ReadStep, TapeSource, TapeTranscript};
use crate::error::ServiceError;
use crate::service::Service;

/// How many entries are given unless the request says, and at most.
const DEFAULT_ENTRIES: u64 = 1000;
const MAX_ENTRIES: u64 = 10_000;

/// How many bytes an answer has at most, give or take an entry.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// How the agent of a task writes, as its adapter says now. Reads files and blocks.
fn format(service: &Service, access: &TaskAccess) -> TranscriptFormat {
    let base = access.log.ancestors().find(|path| path.ends_with(".coven"));
    let loaded = base.and_then(Path::parent).and_then(|base| {
        let trust = service.trust_of_blocking(base).ok()?;
        let adapters = service.context().catalogue_folders(base, &trust).adapters();
        adapters.load(&access.adapter, None).ok()
    });
    let mode = loaded.as_ref().and_then(|loaded| loaded.config.modes.get(AgentMode::Headless));
    mode.and_then(|mode| mode.transcript.as_deref()?.parse().ok()).unwrap_or(TranscriptFormat::Text)
}

/// Where the transcript of an attempt is read from. Reads files and blocks.
fn source(service: &Service, access: &TaskAccess) -> TapeSource {
    TapeSource { folder: access.folder.clone(), format: format(service, access) }
}

/// Some entries of a transcript.
#[derive(Debug, Default)]
pub(super) struct TranscriptPage {
    pub(super) entries: Vec<TranscriptEntry>,
    pub(super) next: u64,
    pub(super) more: bool,
    pub(super) dropped: u64,
    pub(super) usage: TokenUsage,
}

/// Reads the entries that are asked for. Waits on the disk.
pub(super) fn read(
    service: &Service,
    access: &TaskAccess,
    live: bool,
    query: &TranscriptQuery,
) -> Result<TranscriptPage, ServiceError> {
    check(query)?;
    page(&source(service, access), live, query)
}

/// Refuses a request that asks for more than there is in one answer.
fn check(query: &TranscriptQuery) -> Result<(), ServiceError> {
    for (name, wanted) in [("tail", query.tail), ("limit", query.limit)] {
        if wanted.is_some_and(|wanted| !(1..=MAX_ENTRIES).contains(&wanted)) {
            return Err(ServiceError::BadRequest(format!("`{name}` is 1 to {MAX_ENTRIES}")));
        }
    }
    Ok(())
}

fn page(
    source: &TapeSource,
    live: bool,
    query: &TranscriptQuery,
) -> Result<TranscriptPage, ServiceError> {
    let after = query.after.unwrap_or(0);
    let Some(reader) = source.open()? else {
        return Ok(TranscriptPage { next: after, ..TranscriptPage::default() });
    };
    if let Some(tail) = query.tail {
        let mut last = TranscriptTail::new(tail, query);
        let mut tape = TapeTranscript::near_end(source, &reader)?;
        tape.read(&reader, !live, &mut |entry| last.take(entry))?;
        // The last block may have only just begun.
        if !last.is_full() && !tape.begins_with_tape() {
            last = TranscriptTail::new(tail, query);
            tape = TapeTranscript::before_end(source, &reader)?;
            tape.read(&reader, !live, &mut |entry| last.take(entry))?;
        }
        return Ok(last.page(&tape));
    }
    let mut first = TranscriptHead::new(query);
    let mut tape = TapeTranscript::after(source, &reader, after)?;
    tape.read(&reader, !live, &mut |entry| first.take(entry))?;
    Ok(first.page(&tape))
}

/// The first entries after an id.
struct TranscriptHead {
    after: u64,
    limit: usize,
    whole: bool,
    bytes: usize,
    list: VecDeque<TranscriptEntry>,
}

impl TranscriptHead {
    fn new(query: &TranscriptQuery) -> Self {
        let limit = query.limit.unwrap_or(DEFAULT_ENTRIES) as usize;
        let (after, whole) = (query.after.unwrap_or(0), query.whole.unwrap_or(false));
        Self { after, limit, whole, bytes: 0, list: VecDeque::new() }
    }

    fn is_full(&self) -> bool {
        self.list.len() > self.limit || self.bytes > MAX_ANSWER_BYTES
    }

    fn take(&mut self, mut entry: TranscriptEntry) -> ReadStep {
        if entry.id > self.after && !self.is_full() {
            if !self.whole {
                cut(&mut entry);
            }
            self.bytes += size(&entry);
            add(&mut self.list, entry);
        }
        if self.is_full() { ReadStep::Enough } else { ReadStep::More }
    }

    fn page(mut self, tape: &TapeTranscript) -> TranscriptPage {
        let more = self.is_full();
        self.list.truncate(self.limit);
        TranscriptPage {
            next: self.list.back().map_or(self.after, |last| last.id),
            more,
            dropped: tape.dropped(),
            usage: tape.usage(),
            entries: self.list.into(),
        }
    }
}

/// The last entries.
struct TranscriptTail {
    after: u64,
    limit: usize,
    whole: bool,
    bytes: usize,
    list: VecDeque<TranscriptEntry>,
    /// Whether entries had to make room for later ones.
    is_full: bool,
}

impl TranscriptTail {
    fn new(tail: u64, query: &TranscriptQuery) -> Self {
        let (after, whole) = (query.after.unwrap_or(0), query.whole.unwrap_or(false));
        let (limit, list) = (tail as usize, VecDeque::new());
        Self { after, limit, whole, bytes: 0, list, is_full: false }
    }

    fn is_full(&self) -> bool {
        self.is_full || self.list.len() == self.limit
    }

    fn take(&mut self, mut entry: TranscriptEntry) -> ReadStep {
        if entry.id <= self.after {
            return ReadStep::More;
        }
        if !self.whole {
            cut(&mut entry);
        }
        self.bytes += size(&entry);
        add(&mut self.list, entry);
        while self.list.len() > self.limit || (self.bytes > MAX_ANSWER_BYTES && self.list.len() > 1)
        {
            self.is_full = true;
            if let Some(gone) = self.list.pop_front() {
                self.bytes = self.bytes.saturating_sub(size(&gone));
            }
        }
        ReadStep::More
    }

    fn page(self, tape: &TapeTranscript) -> TranscriptPage {
        TranscriptPage {
            next: self.list.back().map_or(self.after, |last| last.id),
            more: false,
            dropped: tape.dropped(),
            usage: tape.usage(),
            entries: self.list.into(),
        }
    }
}
