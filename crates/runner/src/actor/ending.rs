//! How an agent ends: by itself, because its time is up, because a caller stops it, or because the
//! actor itself fails.

use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use coven_model::{AgentState, JobOutcome};
use coven_runtime::domain::{Pane, ReadOutcome, StopMode};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use super::handle::StopReply;
use super::lifecycle::FORCE_TIMEOUT;
use super::question::ReportedQuestion;
use super::reader::{PromptAge, TerminalReader};
use super::{AgentReader, LoopEnd, OutputReading, READ_SIZE, Request, RunnerActor};
use crate::event::RunnerEvent;
use crate::mark;
use crate::outcome::{self, OutcomeCause};
use crate::unwind::{catch_panic, panic_message};

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

impl RunnerActor {
    /// Follows the process to its end and publishes how it ended. A panic on the way ends the
    /// process, because nothing watches it any more, and is published as the outcome.
    pub(super) async fn run(
        mut self,
        descriptor: AsyncFd<OwnedFd>,
        mut requests: mpsc::Receiver<Request>,
    ) {
        let published = Arc::clone(&self.published);
        let left = catch_panic(self.follow(&descriptor, &mut requests)).await;
        let failed = match left {
            Ok(LoopEnd::Detached(reply)) => {
                drop((self, published, descriptor));
                return reply.end(());
            }
            Ok(LoopEnd::Exited) => {
                let reported = catch_unwind(AssertUnwindSafe(|| self.report_end()));
                reported.err().map(|payload| panic_message(&*payload))
            }
            Err(message) => {
                // Callers that wait for a message or an answer hear that the agent has ended.
                let Self { pane, .. } = self;
                let ended = catch_panic(end_pane(pane, &descriptor)).await;
                Some(ended.err().map_or(message.clone(), |other| format!("{message}; {other}")))
            }
        };
        if let Some(message) = failed {
            let outcome = outcome::of_panic(&message);
            let mut verdict = published.verdict.borrow().clone();
            verdict.state = AgentState::Exited;
            (verdict.kind, verdict.digest) = (None, None);
            "exited".clone_into(&mut verdict.evidence.rule);
            verdict.evidence.text.clone_from(&outcome.reason);
            published.set_verdict(verdict, Some(mark::now()));
            published.complete(&outcome);
        }
    }

    /// Begins to stop the process.
    pub(super) fn stop(&mut self, cause: OutcomeCause) {
        if let Some(stop) = self.lifecycle.stop(cause, self.now()) {
            self.stop_pane(stop);
        }
    }

    pub(super) fn stop_for(&mut self, reply: StopReply) {
        if let Some(stop) = self.lifecycle.stop_for(reply, self.now()) {
            self.stop_pane(stop);
        }
    }

    /// Does what is due by the clock.
    pub(super) fn tick(&mut self) {
        let due = self.lifecycle.tick(self.now());
        for reply in due.survived {
            reply.end(Err(StopError::Survived));
        }
        if let Some(stop) = due.stop {
            self.stop_pane(stop);
        }
    }

    /// Whether nothing of the process is left and everything it printed was read.
    pub(super) fn is_over(&mut self) -> bool {
        self.reading == OutputReading::Ended && !self.pane.is_alive()
    }

    /// The task is over though the program has not ended.
    pub(super) fn finish_task(&mut self, outcome: JobOutcome) {
        if self.task.keep_alive {
            self.lifecycle.keep_alive();
            self.published.complete(&outcome);
        } else {
            self.stop(OutcomeCause::Completed(Box::new(outcome)));
        }
    }

    /// What an agent that never got done with starting showed last.
    fn last_words(&mut self) -> Option<String> {
        let AgentReader::Terminal(terminal) = &mut self.reader else { return None };
        if terminal.prompt != PromptAge::Starting {
            return None;
        }
        // A word that the terminal has wrapped is one word.
        let snapshot = terminal.screen.snapshot();
        let shown: Vec<_> = snapshot.lines().map(|line| line.text).collect();
        outcome::last_words(&self.redactor.clean(&shown.join("\n")))
    }

    /// Publishes how the process ended, and with it the task.
    fn report_end(mut self) {
        for event in self.output.finish() {
            self.tell(event);
        }
        let status = self.pane.exit_status();
        let words = self.last_words();
        let is_written = self.input.is_written();
        let Self { reader, lifecycle, published, adapter, task, session, .. } = self;
        let (cause, waiting) = lifecycle.end();
        let ending = outcome::ending(cause.as_ref(), status);
        let outcome = match reader {
            AgentReader::Terminal(mut terminal) => {
                terminal.sniffer.exited(&ending.to_string(), self.started.elapsed());
                terminal.fail_pending(is_written);
                let mut verdict = terminal.sniffer.verdict().clone();
                let since = mark::now();
                verdict.evidence.since = terminal.history.age_at(since);
                published.set_verdict(verdict, Some(since));
                if let Some(asked) = terminal.question.take().filter(ReportedQuestion::is_missed) {
                    published.tell(RunnerEvent::NoLongerAwaiting(asked.reported));
                }
                let session = session_shown(&*adapter, &mut terminal).or(session);
                let retry = terminal.retry.take();
                outcome::of_terminal(ending, &task.ok_codes, session, retry, words.as_deref())
            }
            AgentReader::Transcript(decoder) => {
                let mut entries = Vec::new();
                let mut outcome =
                    outcome::of_transcript(*decoder, ending, &task.ok_codes, &mut |entry| {
                        entries.push(entry);
                    });
                let known = published.tell_entries(entries);
                outcome.agent_session = outcome.agent_session.or(known).or(session);
                let mut verdict = published.verdict.borrow().clone();
                verdict.state = AgentState::Exited;
                "exited".clone_into(&mut verdict.evidence.rule);
                verdict.evidence.text.clone_from(&outcome.reason);
                published.set_verdict(verdict, None);
                outcome
            }
            AgentReader::Channel(channel) => {
                let mut verdict = published.verdict.borrow().clone();
                let mut outcome = channel.into_outcome(ending, &task.ok_codes);
                outcome.agent_session = outcome.agent_session.or(session);
                (verdict.state, verdict.kind, verdict.digest) = (AgentState::Exited, None, None);
                "exited".clone_into(&mut verdict.evidence.rule);
                verdict.evidence.text.clone_from(&outcome.reason);
                published.set_verdict(verdict, Some(mark::now()));
                outcome
            }
        };
        let outcome = match cause {
            Some(OutcomeCause::Completed(completed)) => *completed,
            Some(OutcomeCause::Stopped | OutcomeCause::TimedOut) | None => outcome,
        };
        published.complete(&outcome);
        for reply in waiting {
            reply.end(Ok(outcome.clone()));
        }
    }
}

/// The id of the conversation, where the program shows it on its screen.
fn session_shown(
    adapter: &dyn coven_adapters::AgentAdapter,
    terminal: &mut TerminalReader,
) -> Option<String> {
    let resume = adapter.config().resume.as_ref()?;
    coven_adapters::adapter::session_on(resume, &terminal.screen.snapshot().text())
}

/// Ends a process that is not followed any more, and waits until nothing of it is left, or until it
/// has taken too long.
async fn end_pane(mut pane: Box<dyn Pane>, descriptor: &AsyncFd<OwnedFd>) {
    let gone = async {
        let mut buffer = vec![0; READ_SIZE];
        // A process that has ended meanwhile cannot be stopped, and that shows below.
        drop(pane.stop(StopMode::Force));
        while pane.is_alive() {
            if matches!(pane.read(&mut buffer), Ok(ReadOutcome::Data(..))) {
                tokio::task::yield_now().await;
            } else if let Ok(mut ready) = descriptor.readable().await {
                ready.clear_ready();
            }
        }
    };
    // A process that survives this is stuck in the kernel; its holder goes on trying to end it.
    drop(tokio::time::timeout(FORCE_TIMEOUT, gone).await);
}
