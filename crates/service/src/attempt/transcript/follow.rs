//! A transcript as it grows: every entry once, from any id on.

use std::collections::VecDeque;

use coven_api::task::TranscriptQuery;
use coven_model::{AttemptId, TranscriptEntry};
use coven_orchestrator::{EventSubscription, LiveEvent, PublishedEvent};

use super::entries::{add, cut};
use super::tape::{ReadStep, TapeSource, TapeTranscript};
use super::{check, page, source};
use crate::blocking::blocking;
use crate::error::ServiceError;
use crate::service::Service;

/// How many entries are read before they are handed over.
const MAX_READ_ENTRIES: usize = 256;

/// Follows what the agent of an attempt says and does.
#[derive(Debug)]
pub struct TranscriptFollower {
    service: Service,
    session: String,
    attempt: AttemptId,
    whole: bool,
    source: TapeSource,
    /// Read as far as its entries are handed over; nothing before there is a tape.
    tape: Option<TapeTranscript>,
    /// The last entry that was handed over.
    after: u64,
    ready: VecDeque<TranscriptEntry>,
    /// Nothing if the attempt is over.
    events: Option<EventSubscription>,
    /// There may be something that is not read.
    behind: bool,
}

impl TranscriptFollower {
    pub(in crate::attempt) async fn begin(
        service: Service,
        id: &str,
        task: &str,
        query: TranscriptQuery,
    ) -> Result<Self, ServiceError> {
        check(&query)?;
        let found = service.find_attempt(id, task, query.attempt).await?;
        let session = service.session_events(id).await?;
        let last = service.show(session.address()).await?.last_seq;
        // Subscribe before the first look at the tape, so that nothing falls between the two.
        let events = if found.over { None } else { Some(session.subscribe(last).await?) };
        let (attempt, access, looker) =
            (found.access.attempt.clone(), found.access, service.clone());
        let source = blocking(move || Ok(source(&looker, &access))).await?;
        let mut new = Self {
            service,
            session: session.address().to_owned(),
            attempt,
            whole: query.whole.unwrap_or(false),
            source,
            tape: None,
            after: query.after.unwrap_or(0),
            ready: VecDeque::new(),
            events,
            behind: true,
        };
        if query.tail.is_some() {
            let (source, live) = (new.source.clone(), new.events.is_some());
            let last = blocking(move || page(&source, live, &query)).await?;
            new.after = last.next;
            new.ready = last.entries.into();
        }
        Ok(new)
    }

    /// The next entry; nothing once the attempt is over and everything was told. A caller
    /// that stops waiting for it begins anew after the last entry that it has.
    pub async fn next(&mut self) -> Result<Option<TranscriptEntry>, ServiceError> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Ok(Some(entry));
            }
            if self.behind {
                self.read().await?;
                continue;
            }
            if self.events.is_none() {
                return Ok(None);
            }
            self.wait().await?;
        }
    }

    /// Waits until something happened that may be in the transcript.
    async fn wait(&mut self) -> Result<(), ServiceError> {
        let Some(events) = &mut self.events else { return Ok(()) };
        let event = events.next().await.map_err(ServiceError::unreadable)?;
        match event.as_ref().map(|event| &event.what) {
            Some(PublishedEvent::Live(
                LiveEvent::Output { job, .. } | LiveEvent::State { job, .. },
            )) => self.behind = *job == self.attempt,
            Some(PublishedEvent::Live(_)) => {}
            Some(PublishedEvent::Fact { .. }) => {
                let (task, number) = (self.attempt.task.as_str(), Some(self.attempt.attempt));
                let found = self.service.find_attempt(&self.session, task, number).await?;
                if found.over {
                    self.events = None;
                }
                self.behind = true;
            }
            // The session is not running, so nothing more comes.
            None => {
                self.events = None;
                self.behind = true;
            }
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<(), ServiceError> {
        let (source, after, whole) = (self.source.clone(), self.after, self.whole);
        let (tape, is_over) = (self.tape.take(), self.events.is_none());
        let read = blocking(move || {
            let Some(reader) = source.open()? else { return Ok(None) };
            let mut tape = match tape {
                Some(tape) => tape,
                None => TapeTranscript::after(&source, &reader, after)?,
            };
            let mut list = VecDeque::new();
            let step = tape.read(&reader, is_over, &mut |mut entry| {
                if entry.id > after {
                    if !whole {
                        cut(&mut entry);
                    }
                    add(&mut list, entry);
                }
                if list.len() < MAX_READ_ENTRIES { ReadStep::More } else { ReadStep::Enough }
            })?;
            Ok(Some((tape, list, step)))
        });
        let read = read.await?;
        self.behind = false;
        if let Some((tape, list, step)) = read {
            self.tape = Some(tape);
            self.after = list.back().map_or(self.after, |last| last.id);
            self.behind = step == ReadStep::Enough;
            self.ready = list;
        }
        Ok(())
    }
}
