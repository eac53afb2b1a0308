//! The newest part of what happened in a session, for people. Everything is in the journal.

use std::collections::VecDeque;
use std::sync::Arc;

use coven_model::event::{DeliveredInput, InterventionDecision, SessionEvent};
use coven_model::view::{HistoryEntry, HistoryKind};
use coven_model::{JobWork, TaskId, Timestamp};

const MAX_HISTORY_ENTRIES: usize = 200;
/// How long the text of an entry is at most, in characters.
const MAX_ENTRY_CHARS: usize = 2000;

/// What was said to agents, what they answered, what was decided, and how the run went on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunHistory {
    /// Shared with the copies that snapshots hold, so that copying a history is cheap.
    entries: VecDeque<Arc<HistoryEntry>>,
    /// When the newest fact was recorded. Facts that do not tell their time are shown with it.
    now: Timestamp,
}

impl RunHistory {
    /// The entries, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = &HistoryEntry> {
        self.entries.iter().map(AsRef::as_ref)
    }

    /// Takes note of a fact that was recorded at this time.
    pub fn record(&mut self, time: Timestamp, event: &SessionEvent) {
        use HistoryKind::{Decision as Decided, Input, Output, Progress, Prompt, Question};
        self.now = self.now.max(time);
        match event {
            SessionEvent::WorkflowStarted { at } => self.add(*at, Progress, None, "the run began"),
            SessionEvent::WorkflowStopping { by, why, at, .. } => {
                self.add(*at, Progress, None, &format!("the run is being stopped: {by} {why}"));
            }
            SessionEvent::WorkflowCompleted { at } => {
                self.add(*at, Progress, None, "the run is completed");
            }
            SessionEvent::WorkflowFailed { error, at, .. } => {
                self.add(*at, Progress, None, &format!("the run failed: {error}"));
            }
            SessionEvent::WorkflowCancelled { by, at, .. } => {
                self.add(*at, Progress, None, &format!("the run was cancelled by {by}"));
            }
            SessionEvent::WorkflowRetried { by, at, .. } => {
                self.add(*at, Progress, None, &format!("{by} wants to try again"));
            }
            SessionEvent::StepStarted { step, at, .. } => {
                self.add(*at, Progress, None, &format!("step {step} began"));
            }
            SessionEvent::StepCompleted { step, summary, at, .. } => {
                self.add(*at, Progress, None, &format!("step {step} is completed: {summary}"));
            }
            SessionEvent::StepFailed { step, error, at, .. } => {
                self.add(*at, Progress, None, &format!("step {step} failed: {error}"));
            }
            SessionEvent::StepSkipped { step, reason, at, .. } => {
                self.add(*at, Progress, None, &format!("step {step} was skipped: {reason}"));
            }
            SessionEvent::TaskStarted(started) => {
                let task = Some(&started.spec.job.attempt.task);
                let (text, context) = match &started.spec.work {
                    JobWork::Agent(agent) => {
                        (agent.prompt.as_deref().unwrap_or_default(), agent.context.as_ref())
                    }
                    JobWork::Shell(shell) => (shell.text.as_str(), None),
                };
                if let Some(context) = context {
                    self.add(started.at, Progress, task, &context.to_string());
                }
                self.add(started.at, Prompt, task, text);
            }
            SessionEvent::TaskEnded(ended) => {
                let text = match &ended.outcome.output {
                    Some(output) if ended.outcome.ok => output.clone(),
                    Some(output) => format!("{}\n{output}", ended.outcome.reason),
                    None => ended.outcome.reason.clone(),
                };
                let task = Some(&ended.job.task);
                self.add(ended.at, Output, task, &text);
                let touched = ended.outcome.touched.join("; ");
                if !touched.is_empty() {
                    let text = format!("changed while it ran, though it only reads: {touched}");
                    self.add(ended.at, Progress, task, &text);
                }
            }
            SessionEvent::SessionImported { vouched, at, .. } => {
                let answers =
                    if *vouched { "" } else { "; nothing is answered by itself any more" };
                self.add(*at, Progress, None, &format!("the session was imported{answers}"));
            }
            SessionEvent::TaskExposed { job, reason } => {
                self.add(self.now, Progress, Some(&job.task), reason);
            }
            SessionEvent::TaskConfined { job, confinement } => {
                self.add(self.now, Progress, Some(&job.task), &confinement.to_string());
            }
            SessionEvent::TaskChannel { job, channel, fallback } => {
                let words = match fallback {
                    Some(reason) => format!("it is asked nothing and takes one prompt: {reason}"),
                    None => format!("it is spoken to by {channel}"),
                };
                self.add(self.now, Progress, Some(&job.task), &words);
            }
            SessionEvent::InputQueued { job, text, .. }
            | SessionEvent::InputDelivered {
                job, input: DeliveredInput::Typed { text, .. }, ..
            } => {
                self.add(self.now, Input, Some(&job.task), text);
            }
            SessionEvent::InterventionRequired { intervention, .. } => {
                let (at, task) = (intervention.created_at, intervention.task.as_ref());
                self.add(at, Question, task, &intervention.reason);
            }
            SessionEvent::InterventionResolved { decision, at, .. } => {
                self.add(*at, Decided, None, &decision_text(decision));
            }
            SessionEvent::InputDecided { intervention, decision, .. } => {
                let (at, task) = (intervention.created_at, intervention.task.as_ref());
                self.add(at, Decided, task, &decision_text(decision));
            }
            _ => {}
        }
    }

    fn add(&mut self, at: Timestamp, what: HistoryKind, task: Option<&TaskId>, text: &str) {
        self.now = self.now.max(at);
        if self.entries.len() == MAX_HISTORY_ENTRIES {
            self.entries.pop_front();
        }
        let mut text = text.to_owned();
        if let Some((end, _)) = text.char_indices().nth(MAX_ENTRY_CHARS) {
            text.truncate(end);
            text.push('…');
        }
        let entry = HistoryEntry { at, what, task: task.cloned(), text };
        self.entries.push_back(Arc::new(entry));
    }
}

fn decision_text(decision: &InterventionDecision) -> String {
    let text = decision.text.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
    let rule = decision.rule.as_deref().map(|rule| format!(" ({})", rule.name)).unwrap_or_default();
    format!("{}{rule} by {}{text}", decision.choice, decision.by)
}
