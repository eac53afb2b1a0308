//! How an agent ends: by itself, because its time is up, or because somebody says so.

use std::time::Duration;

use coven_model::{AgentState, Outcome};
use coven_runtime::domain::Stop;
use tokio::sync::oneshot;

use super::{Actor, Eyes};
use crate::event::Event;
use crate::mark;
use crate::outcome::{self, Cause};

/// How long everything may take to be gone once it is forced. Processes in the middle of a write
/// to a slow disk take their time.
const FORCED: Duration = Duration::from_secs(20);

/// Why a stop did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StopError {
    /// Something of the agent is still there.
    #[error("the agent was told to end and then forced to, but something of it still runs")]
    Survived,
    /// The agent ended, but how is not known.
    #[error("the agent is gone, and nobody saw how it ended")]
    Gone,
}

/// A stop under way.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stopping {
    /// It was asked to end, and will be forced then.
    Asked(Duration),
    /// It was forced, and should be gone by then.
    Forced(Duration),
}

impl Actor {
    /// Begins to stop the process.
    pub(super) fn stop(&mut self, cause: Cause) {
        self.cause.get_or_insert(cause);
        if self.stopping.is_some() {
            return;
        }
        let grace = self.adapter.config().grace();
        // A process that ended meanwhile cannot be asked; that shows by itself.
        let _ = self.pane.stop(Stop::Polite { grace });
        self.stopping = Some(Stopping::Asked(self.now() + grace));
    }

    pub(super) fn stop_asked(&mut self, reply: oneshot::Sender<Result<Outcome, StopError>>) {
        self.stop_replies.push(reply);
        self.stop(Cause::Stopped);
    }

    /// Whatever is due by the clock.
    pub(super) fn mind_time(&mut self) {
        let now = self.now();
        if let Some(limit) = self.task.timeout
            && now >= limit
            && self.outcome.borrow().is_none()
        {
            self.stop(Cause::TimedOut);
        }
        match self.stopping {
            Some(Stopping::Asked(due)) if due <= now => {
                let _ = self.pane.stop(Stop::Force);
                self.stopping = Some(Stopping::Forced(now + FORCED));
            }
            Some(Stopping::Forced(due)) if due <= now => {
                for reply in self.stop_replies.drain(..) {
                    let _ = reply.send(Err(StopError::Survived));
                }
                let _ = self.pane.stop(Stop::Force);
                self.stopping = Some(Stopping::Forced(now + FORCED));
            }
            _ => {}
        }
    }

    pub(super) fn time_deadline(&self) -> Option<Duration> {
        let running = self.outcome.borrow().is_none() && self.cause.is_none();
        let timeout = self.task.timeout.filter(|_| running);
        let stopping = self.stopping.map(|stopping| match stopping {
            Stopping::Asked(due) | Stopping::Forced(due) => due,
        });
        [timeout, stopping].into_iter().flatten().min()
    }

    /// Whether nothing of the process is left and everything it printed was read.
    pub(super) fn is_over(&mut self) -> bool {
        self.ended && !self.more && !self.pane.is_alive()
    }

    /// Publishes how the task ended, once.
    pub(super) fn complete(&mut self, outcome: Outcome) {
        if self.outcome.borrow().is_some() {
            return;
        }
        self.outcome.send_replace(Some(outcome.clone()));
        self.tell(Event::Done(Box::new(outcome)));
    }

    /// The last words.
    pub(super) fn report_end(&mut self) {
        for event in self.output.finish() {
            self.tell(event);
        }
        let status = self.pane.exit_status();
        let ending = outcome::ending(self.cause, status);
        let now = self.now();
        let eyes = std::mem::replace(&mut self.eyes, Eyes::Gone);
        let outcome = match eyes {
            Eyes::Terminal(mut terminal) => {
                terminal.sniffer.exited(&ending.to_string(), now);
                terminal.fail_everything();
                let mut verdict = terminal.sniffer.verdict().clone();
                let since = mark::now();
                verdict.evidence.since =
                    u64::try_from(since.since(self.born).as_millis()).unwrap_or(u64::MAX);
                self.since.send_replace(since);
                self.verdict.send_replace(verdict.clone());
                self.tell(Event::State(verdict));
                if let Some(asked) = terminal.question.take() {
                    self.tell(Event::NoLongerAwaiting(asked.reported));
                }
                if let Some(id) = self.session_on(&mut terminal) {
                    self.session = Some(id);
                }
                outcome::of_terminal(ending, &self.task.ok_codes, self.session.clone())
            }
            Eyes::Transcript(decoder) => {
                let mut entries = Vec::new();
                let mut outcome =
                    outcome::of_transcript(*decoder, ending, &self.task.ok_codes, &mut |entry| {
                        entries.push(entry);
                    });
                self.entries(entries);
                outcome.agent_session = outcome.agent_session.or(self.session.clone());
                let mut verdict = self.verdict.borrow().clone();
                verdict.state = AgentState::Exited;
                "exited".clone_into(&mut verdict.evidence.rule);
                verdict.evidence.text.clone_from(&outcome.reason);
                self.verdict.send_replace(verdict.clone());
                self.tell(Event::State(verdict));
                outcome
            }
            Eyes::Gone => return,
        };
        let outcome = self.finished.take().unwrap_or(outcome);
        self.complete(outcome.clone());
        for reply in self.stop_replies.drain(..) {
            let _ = reply.send(Ok(outcome.clone()));
        }
    }
}
