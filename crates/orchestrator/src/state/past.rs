//! A session that is only looked at: one that is over and that no actor holds in memory.

use coven_model::event::{AttemptPlace, InterventionDecision, SessionEvent, TaskStarted};
use coven_model::{AttemptId, Intervention, InterventionId, Timestamp};
use coven_store::JournalReader;
use coven_store::session::ReadOnlySession;
use coven_workflow::view::SessionViewBuilder;
use coven_workflow::{State, fold};

use crate::error::RequestError;
use crate::event::EventSubscription;
use crate::snapshot::{LiveJobs, SessionSnapshot};

/// A session as its journal tells it. It takes no lock and changes nothing.
#[derive(Debug)]
pub(crate) struct PastSession {
    look: ReadOnlySession,
    snapshot: SessionSnapshot,
    given_up: bool,
    updated_at: Timestamp,
}

impl PastSession {
    /// Reads the whole journal, so this waits on the disk.
    pub(crate) fn read(look: ReadOnlySession) -> Result<Self, RequestError> {
        let id = look.id().clone();
        let (mut state, mut viewer, mut given_up) =
            (State::default(), SessionViewBuilder::default(), false);
        let (mut last, mut updated_at) = (0, Timestamp::default());
        for record in look.reader()?.read_from::<SessionEvent>(1)? {
            let record = record?;
            (last, updated_at) = (record.seq, record.time);
            state = fold(state, &record.fact);
            viewer.record(record.time, &record.fact);
            given_up |= matches!(record.fact, SessionEvent::SessionDeleted { .. });
        }
        let jobs = LiveJobs::default();
        let snapshot = SessionSnapshot::of_parts(id, last, state, viewer, jobs);
        Ok(Self { look, snapshot, given_up, updated_at })
    }

    /// Whether only its folder is there: it was given up, or it was never made. One that has jobs
    /// was made, whatever its journal says.
    pub(crate) fn is_nothing(&self) -> bool {
        let state = self.state();
        let never_began = || state.run().is_none() && state.closed().is_none();
        let has_no_jobs =
            || self.look.attempts(AttemptPlace::Jobs).is_ok_and(|jobs| jobs.is_empty());
        self.given_up || (never_began() && has_no_jobs())
    }

    /// When its last fact was recorded.
    pub(crate) fn updated_at(&self) -> Timestamp {
        self.updated_at
    }

    /// Whether the view shows all of it.
    pub(crate) fn has_current_view(&self) -> bool {
        let head = self.look.view_head().ok().flatten();
        head.is_some_and(|head| head.up_to == self.snapshot.last_seq())
    }

    pub(crate) fn state(&self) -> &State {
        self.snapshot.state()
    }

    pub(crate) fn into_snapshot(self) -> SessionSnapshot {
        self.snapshot
    }

    fn reader(&self) -> Result<JournalReader, RequestError> {
        Ok(self.look.reader()?)
    }

    /// What had to be decided and is not open any more. What cannot be read is left out.
    pub(crate) fn decided(&self) -> Vec<(Intervention, Option<InterventionDecision>)> {
        let open: Vec<InterventionId> =
            self.snapshot.interventions().map(|asked| asked.id.clone()).collect();
        self.reader().and_then(|mut reader| decided(&mut reader, &open)).unwrap_or_default()
    }
}

/// Everything that happened in a session after a fact, and the end. Waits on the disk.
pub(crate) fn subscribe_past(
    look: &ReadOnlySession,
    after: u64,
) -> Result<EventSubscription, RequestError> {
    let reader = look.reader()?;
    // Nothing sends to this channel, so it ends once everything was read.
    let silence = tokio::sync::broadcast::channel(1).1;
    Ok(EventSubscription::new(look.id().clone(), reader, after, silence, None))
}

/// The fact that an attempt was started: what it was asked to do, and where its folder lies.
pub(crate) fn start_of(reader: &mut JournalReader, job: &AttemptId) -> Option<TaskStarted> {
    let records = reader.read_from::<SessionEvent>(1).ok()?;
    records.map_while(Result::ok).find_map(|record| match record.fact {
        SessionEvent::TaskStarted(started) if started.spec.job.attempt == *job => Some(*started),
        _ => None,
    })
}

/// What people or rules had to decide in a session, and what was decided; nothing where it was
/// withdrawn. What is still open is left out.
pub(crate) fn decided(
    reader: &mut JournalReader,
    open: &[InterventionId],
) -> Result<Vec<(Intervention, Option<InterventionDecision>)>, RequestError> {
    let mut past: Vec<(Intervention, Option<InterventionDecision>)> = Vec::new();
    for record in reader.read_from::<SessionEvent>(1)? {
        match record?.fact {
            SessionEvent::InterventionRequired { intervention, .. } => {
                past.push((*intervention, None));
            }
            SessionEvent::InputDecided { intervention, decision, .. } => {
                past.push((*intervention, Some(*decision)));
            }
            SessionEvent::InterventionResolved { id, decision, .. } => {
                // The newest come last, and what is decided is mostly new.
                if let Some(asked) = past.iter_mut().rev().find(|(asked, _)| asked.id == id) {
                    asked.1 = Some(*decision);
                }
            }
            _ => {}
        }
    }
    past.retain(|(asked, _)| !open.contains(&asked.id));
    Ok(past)
}
