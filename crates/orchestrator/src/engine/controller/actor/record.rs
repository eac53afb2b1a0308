//! What a session does with everything that happens, in this order: decide, record, act, publish,
//! and refresh what people read.

use std::ops::Range;
use std::sync::Arc;

use coven_model::event::SessionEvent;
use coven_model::{Timestamp, WorkflowStatus};
use coven_store::SessionEntry;
use coven_store::register::RegisterError;
use coven_workflow::SessionInput;
use coven_workflow::input::TreeReport;
use tokio::time::Instant;

use super::storage::is_cancel;
use super::{SessionActor, VIEW_INTERVAL, forget_caller};
use crate::error::ExecuteError;
use crate::event::{LiveEvent, PublishedEvent};
use crate::orchestrator::RecordedFacts;
use crate::snapshot::SessionSnapshot;
use crate::state::blocking::blocking;
use crate::state::{Recorded, caller};
use coven_folder::best_effort;

impl SessionActor {
    /// Decides, records, acts and publishes, in this order. What cannot be recorded is tried again
    /// until it can: nothing follows from it before. Says whether it was recorded; it is not if the
    /// session is closed before it can be.
    pub(super) async fn happen(&mut self, input: SessionInput) -> bool {
        self.happen_at(input, self.now()).await
    }

    pub(super) async fn happen_at(&mut self, input: SessionInput, now: Timestamp) -> bool {
        let before = self.session.status();
        if before.is_final() && matches!(input, SessionInput::Retry { .. }) {
            self.keep_caller().await;
            self.follow_again().await;
        }
        // If this process dies before the tree is there, the next one makes it.
        if before.is_final() && is_restore(&input) {
            self.register_live(true).await;
        }
        self.cancelling = Some(&input).filter(|input| is_cancel(input)).cloned();
        let (facts, commands) = self.session.decide(input, now);
        let facts = Arc::new(facts);
        let recorded = self.record(&facts, now).await;
        self.cancelling = None;
        let Some(Recorded { seqs, restored }) = recorded else { return false };
        self.carry_out(commands).await;
        self.storage_problem.send_if_modified(|problems| problems.set_session(None));
        if restored {
            self.folder_restored().await;
        }
        self.start_triggered(&facts, seqs.clone()).await;
        let changed = !facts.is_empty();
        if changed {
            // Before the facts: a subscriber that hears of a question finds it in the snapshot.
            self.publish_snapshot();
        }
        let status = self.session.status();
        let is_over = status.is_final() && !before.is_final();
        if is_over {
            // Before the facts: who hears that a run is over finds everything of it written, and
            // may remove it.
            self.status_changed(before, status).await;
        }
        self.publish_facts(seqs, Arc::unwrap_or_clone(facts), now).await;
        if changed && !is_over {
            self.status_changed(before, status).await;
        }
        if is_over {
            self.context.ended.notify_one();
        }
        self.settled.send_replace(status);
        true
    }

    /// Records facts, as often as it takes. Nothing if the session is closed before.
    async fn record(&mut self, facts: &Arc<Vec<SessionEvent>>, now: Timestamp) -> Option<Recorded> {
        self.disk_waits.send_modify(|waits| waits.begin(Instant::now()));
        let recorded = self.record_until_done(facts, now).await;
        self.disk_waits.send_modify(|waits| waits.end(Instant::now()));
        recorded
    }

    async fn record_until_done(
        &mut self,
        facts: &Arc<Vec<SessionEvent>>,
        now: Timestamp,
    ) -> Option<Recorded> {
        let mut told = false;
        let writer = self.context.writer.clone();
        loop {
            let tries_again = match self.session.record(&writer, facts, now).await {
                Ok(Ok(recorded)) => return Some(recorded),
                Ok(Err(error)) => self.storage_fails(&mut told, &error).await,
                Err(failed) => self.storage_fails(&mut told, &failed).await,
            };
            if !tries_again {
                return None;
            }
        }
    }

    /// Publishes the session as it is now.
    pub(super) fn publish_snapshot(&self) {
        let snapshot = SessionSnapshot::new(&self.session, self.jobs.live());
        self.snapshot.send_replace(Arc::new(snapshot));
    }

    async fn publish_facts(&self, seqs: Range<u64>, facts: Vec<SessionEvent>, now: Timestamp) {
        let feed = &self.context.feed;
        if feed.needs_room(facts.len()) {
            let feed = feed.clone();
            blocking(move || feed.make_room()).await;
        }
        for (seq, fact) in seqs.zip(facts) {
            let published = PublishedEvent::Fact { seq, event: Arc::new(fact) };
            let envelope = feed.tell(self.session.id(), now, published);
            // A session without subscribers is fine.
            drop(self.events.send(envelope));
        }
    }

    pub(super) fn publish_live(&self, live: LiveEvent) {
        let feed = &self.context.feed;
        let envelope = feed.tell(self.session.id(), self.now(), PublishedEvent::Live(live));
        drop(self.events.send(envelope));
    }

    /// Makes the sessions that facts of this one start. The facts are published after that.
    async fn start_triggered(&mut self, facts: &Arc<Vec<SessionEvent>>, seqs: Range<u64>) {
        if !RecordedFacts::can_start(facts) {
            return;
        }
        if self.context.triggers.has_nothing_for(facts) {
            // Written down with the next view, which these facts have made due.
            self.has_unmarked_facts = true;
            return;
        }
        let triggers = self.context.triggers.clone();
        let recorded = RecordedFacts {
            session: self.session.id().clone(),
            state: self.session.state().clone(),
            seqs,
            facts: facts.clone(),
            env: self.executor.env.clone(),
        };
        let look = move || triggers.look(&recorded);
        self.has_unmarked_facts = false;
        self.start_others(look).await;
    }

    /// Makes the sessions that facts start which an earlier process recorded and did not look at.
    pub(super) async fn start_triggered_before(&mut self) {
        let triggers = self.context.triggers.clone();
        let (id, state) = (self.session.id().clone(), self.session.state().clone());
        let (reader, env) = (self.session.reader(), self.executor.env.clone());
        let look = move || triggers.catch_up(&id, &state, &mut reader.clone(), &env);
        self.start_others(look).await;
    }

    async fn start_others<F>(&mut self, look: F)
    where
        F: Fn() -> Result<Vec<String>, ExecuteError> + Send + Sync + 'static,
    {
        let look = Arc::new(look);
        let mut told = false;
        let problems = loop {
            let look = look.clone();
            match blocking(move || look()).await {
                Ok(problems) => break problems,
                Err(error) if error.is_storage() => {
                    // What was not looked at is looked at by the next process.
                    if !self.storage_fails(&mut told, &error).await {
                        return;
                    }
                }
                Err(error) => break vec![error.to_string()],
            }
        };
        for problem in problems {
            self.publish_live(LiveEvent::Trigger { problem });
        }
    }

    /// A session that was over goes on, and its facts start others again.
    async fn follow_again(&mut self) {
        let mut told = false;
        loop {
            let (manager, triggers) = (self.context.manager.clone(), self.context.triggers.clone());
            let (id, last) = (self.session.id().clone(), self.session.last());
            let followed = blocking(move || {
                manager.set_live(&id, true)?;
                triggers.follow(&id, last)
            })
            .await;
            match followed {
                Ok(()) | Err(RegisterError::Newer { .. }) => return,
                Err(error) => {
                    if !self.storage_fails(&mut told, &error).await {
                        return;
                    }
                }
            }
        }
    }

    /// Sees to what depends on the status of the run.
    async fn status_changed(&mut self, before: WorkflowStatus, status: WorkflowStatus) {
        let kept = self.keeps();
        let is_over = status.is_final() && !before.is_final();
        if status != before || kept != self.lists_kept {
            self.lists_kept = kept;
            let (manager, files) = (self.context.manager.clone(), self.session.files());
            let (entry, live) = (self.list_entry(), self.has_more_to_do());
            let triggers = self.context.triggers.clone();
            let path = self.session.jobs_path().to_owned();
            let id = self.session.id().clone();
            // What was not looked at for triggers is left to the next process, with what it needs.
            let forgets = is_over && self.closing.is_none();
            blocking(move || {
                if let Some(entry) = entry {
                    manager.note(entry, files.lock().journal_bytes());
                }
                best_effort("register a session's end", manager.set_live(&id, live));
                if forgets {
                    forget_caller(&path, &triggers, &id);
                }
            })
            .await;
        }
        if is_over {
            self.finish_view().await;
            self.stay();
        }
    }

    /// What the listing says of the session.
    pub(super) fn list_entry(&self) -> Option<SessionEntry> {
        self.context.manager.list_entry(&self.session)
    }

    /// Whether the next process has something to do for this session. Facts that were not looked
    /// at for triggers are something to do.
    pub(super) fn has_more_to_do(&self) -> bool {
        !self.rests() || self.closing.is_some()
    }

    /// Registers whether the next process has something to do for this session. A session that is
    /// registered so by mistake is looked at once more.
    pub(super) async fn register_live(&self, live: bool) {
        let (manager, id) = (self.context.manager.clone(), self.session.id().clone());
        let registered = blocking(move || manager.set_live(&id, live)).await;
        best_effort("register a session", registered);
    }

    /// The folder of the session had been deleted, and was put back without what lay beside the
    /// journal.
    async fn folder_restored(&self) {
        self.session.viewer().keep_again();
        self.keep_caller().await;
        self.publish_live(LiveEvent::Restored);
    }

    /// Keeps the caller's environment for the next process. If that fails, the next process uses
    /// its own.
    async fn keep_caller(&self) {
        let (path, env) = (self.session.jobs_path().to_owned(), self.executor.env.clone());
        let kept = blocking(move || caller::keep(&path, &env)).await;
        best_effort("keep the caller's environment", kept);
    }

    /// When the readable view is to be written.
    pub(super) fn view_due(&self) -> Option<Instant> {
        let due = || self.view_written.map_or_else(Instant::now, |written| written + VIEW_INTERVAL);
        self.session.view_is_behind().then(due)
    }

    pub(super) async fn write_view(&mut self) {
        self.view_written = Some(Instant::now());
        self.finish_view().await;
    }

    /// Writes the readable view now if it is behind. A view that cannot be written is tried again
    /// later, and made from the journal when the session is opened the next time.
    pub(super) async fn finish_view(&mut self) {
        if !self.session.view_is_behind() {
            return;
        }
        let (state, viewer) = (self.session.state().clone(), self.session.viewer().clone());
        let (files, id, last) =
            (self.session.files(), self.session.id().clone(), self.session.last());
        let unmarked = std::mem::take(&mut self.has_unmarked_facts);
        let triggers = self.context.triggers.clone();
        let work = move || {
            if unmarked {
                best_effort("mark facts as looked at", triggers.mark(&id, last));
            }
            files.lock().write_view(&state, &viewer)
        };
        self.disk_waits.send_modify(|waits| waits.begin(Instant::now()));
        let written = blocking(work).await;
        self.disk_waits.send_modify(|waits| waits.end(Instant::now()));
        self.session.set_view_behind(!written.is_done);
        if written.restored {
            self.folder_restored().await;
        }
    }
}

/// Whether somebody wants a checkpoint brought back.
fn is_restore(input: &SessionInput) -> bool {
    matches!(input, SessionInput::Tree(report) if matches!(**report, TreeReport::Wanted(_)))
}
