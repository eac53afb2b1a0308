//! What happens in a run, as lines for a pipe or a log.

use std::collections::{BTreeMap, BTreeSet};

use coven_api::event::EventEnvelope;
use coven_model::event::{SessionEvent, TaskRole};
use coven_model::{Intervention, JobWork, TaskId, TaskStatus};

use super::fact_words;
use crate::{output, question};

/// The longest text within a line.
const MAX_LINE_TEXT_CHARS: usize = 160;

/// Turns facts into lines. It remembers what later facts refer to.
#[derive(Debug, Default)]
pub(crate) struct FactPrinter {
    /// Steps by their place.
    steps: BTreeMap<u32, String>,
    /// Tasks that are their step; what happens to the step is told, and not twice.
    mains: BTreeSet<TaskId>,
}

impl FactPrinter {
    /// What is to be told of something that happened, if anything is.
    pub(crate) fn line(&mut self, envelope: &EventEnvelope) -> Option<String> {
        let text = match fact_words::storage_problem(envelope) {
            Some(problem) => problem,
            None => self.text(&event(envelope)?)?,
        };
        Some(format!("{}  {text}", output::clock(envelope.time)))
    }

    /// The same for everything that happens, also for what is of no interest in a log.
    pub(crate) fn any(&mut self, envelope: &EventEnvelope) -> String {
        let number = envelope.pos.or(envelope.seq).map_or_else(String::new, |at| at.to_string());
        let fact = event(envelope);
        let told = fact.as_ref().and_then(|fact| self.text(fact));
        let told = told.or_else(|| fact.as_ref().map(fact_words::fact));
        let told = told.or_else(|| fact_words::live(envelope)).unwrap_or_else(|| {
            let data = output::one_line(&envelope.data.to_string());
            format!("{} {}", envelope.kind, output::shortened(&data, MAX_LINE_TEXT_CHARS))
        });
        format!("{number:>6}  {}  {}", output::clock(envelope.time), told.trim_start())
    }

    fn text(&mut self, event: &SessionEvent) -> Option<String> {
        Some(match event {
            SessionEvent::StepStarted { step, index, kind, .. } => {
                self.steps.insert(*index, step.clone());
                format!("{step}: started ({kind})")
            }
            SessionEvent::StepCompleted { step, summary, .. } if summary.trim().is_empty() => {
                format!("{step}: completed")
            }
            SessionEvent::StepCompleted { step, summary, .. } => {
                format!("{step}: completed: {}", short(summary))
            }
            SessionEvent::StepFailed { step, error, continues, .. } => {
                let on = if *continues { " (the run goes on)" } else { "" };
                format!("{step}: failed: {}{on}", short(error))
            }
            SessionEvent::StepSkipped { step, reason, .. } => {
                format!("{step}: skipped: {}", short(reason))
            }
            SessionEvent::TaskStarted(started) => {
                let id = &started.spec.job.attempt;
                if started.role == TaskRole::Main {
                    self.mains.insert(id.task.clone());
                    return None;
                }
                let agent = match &started.spec.work {
                    JobWork::Agent(agent) => agent.adapter.as_str(),
                    JobWork::Shell(_) => "shell",
                };
                let again = if id.attempt > 1 {
                    format!(", attempt {}", id.attempt)
                } else {
                    String::new()
                };
                format!("  {}: started ({agent}{again})", id.task)
            }
            SessionEvent::TaskEnded(ended) => {
                let (task, reason) = (&ended.job.task, short(&ended.outcome.reason));
                let how = match ended.status {
                    TaskStatus::Pending => Some(format!("  {task}: {reason}; tried again")),
                    _ if self.mains.contains(task) => None,
                    TaskStatus::Done => Some(format!("  {task}: done")),
                    _ => Some(format!("  {task}: {reason}")),
                };
                let touched = ended.outcome.touched.join("; ");
                let touched = (!touched.is_empty()).then(|| {
                    let what = short(&touched);
                    format!("  {task}: changed while it ran, though it only reads: {what}")
                });
                let lines: Vec<String> = how.into_iter().chain(touched).collect();
                return (!lines.is_empty()).then(|| lines.join("\n          "));
            }
            SessionEvent::LoopJudged { index, round, verdict, reason, .. } => {
                let step = self.steps.get(index).map_or("loop", String::as_str);
                format!("  {step}: round {round}: {}: {}", verdict.as_str(), short(reason))
            }
            SessionEvent::InterventionRequired { intervention, .. } => {
                format!("? {}", asked(intervention))
            }
            SessionEvent::InterventionResolved { decision, .. } => {
                format!("= {} by {}", decision.choice, output::one_line(&decision.by))
            }
            SessionEvent::InterventionWithdrawn { reason, .. } => {
                format!("= not asked any more: {}", short(reason))
            }
            SessionEvent::InputDecided { intervention, decision, .. } => format!(
                "? {}\n          = {} by {}",
                asked(intervention),
                decision.choice,
                output::one_line(&decision.by)
            ),
            SessionEvent::InputRefused { job, reason, .. } => {
                format!("  {}: the answer was not given: {}", job.task, short(reason))
            }
            SessionEvent::TaskExposed { job, reason } => {
                format!("  {}: {}", job.task, short(reason))
            }
            SessionEvent::WorkflowStopping { why, .. } if !why.is_empty() => {
                format!("stopping: {}", short(why))
            }
            SessionEvent::WorkflowRetried { .. } => "tried again".to_owned(),
            _ => return None,
        })
    }
}

/// A text within a line.
pub(super) fn short(text: &str) -> String {
    output::shortened(&output::one_line(text), MAX_LINE_TEXT_CHARS)
}

fn asked(intervention: &Intervention) -> String {
    output::shortened(&question::asked(intervention), MAX_LINE_TEXT_CHARS)
}

/// The fact in an envelope; nothing for what is live.
pub(crate) fn event(envelope: &EventEnvelope) -> Option<SessionEvent> {
    envelope.seq?;
    let value = serde_json::json!({"type": envelope.kind, "data": envelope.data});
    serde_json::from_value(value).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_reader_changed_is_told_with_its_end() {
        let ended = json!({"type": "task.ended", "data": {
            "task": "review.r1.arbiter", "attempt": 1, "status": "DONE", "at": 5,
            "outcome": {
                "ok": true, "ending": {"how": "exited", "code": 0}, "reason": "exit code 0",
                "touched": ["work.txt (mode 644 to 777)"],
            },
        }});
        let ended: SessionEvent = serde_json::from_value(ended).unwrap();
        let text = FactPrinter::default().text(&ended).unwrap();
        assert!(text.contains("arbiter: done") && text.contains("work.txt (mode 644"), "{text}");
    }
}
