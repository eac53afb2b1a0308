//! How sessions and steps begin, and what follows from a person's decision about a step.

use coven_model::event::{
    InterventionDecision, LoopVerdict, SessionCreated, SessionEvent, StepOutput,
};
use coven_model::{InterventionChoice, InterventionId, InterventionKind};
use coven_notation::HumanDuration;
use serde_json::Value;

use super::DecisionDraft;
use crate::command::Command;
use crate::input::SessionSpec;
use crate::plan::OnFailure;
use crate::rules::DecisionRule;
use crate::scope::kind;
use crate::state::TaskVariables;

impl DecisionDraft {
    pub(super) fn create(&mut self, creation: SessionSpec) {
        // A plan is plain data with text keys, so it can always be written.
        let Ok(plan) = serde_json::to_value(&creation.plan) else { return };
        self.record(SessionEvent::SessionCreated(Box::new(SessionCreated {
            session: creation.session,
            name: creation.name,
            plan,
            input: Value::Object(creation.input),
            goal: creation.goal,
            base_dir: creation.base_dir,
            auto: creation.auto,
            cause: creation.cause,
            repository: creation.repository,
            no_trees: creation.no_trees,
            at: self.now,
        })));
    }

    /// A step's turn has come: it is left out, waits for leave, or starts.
    pub(super) fn begin_step(&mut self) {
        let Some(run) = self.run() else { return };
        let Some((index, step, _)) = self.current() else { return };
        if let Some(condition) = &step.when {
            let names = TaskVariables { run, step: index, local: Vec::new() };
            let scope = names.scope(condition.references().into_iter());
            match condition.evaluate(&scope) {
                Ok(true) => {}
                Ok(false) => {
                    let reason = format!("its condition does not hold: {}", condition.source());
                    let (step, at) = (step.name.clone(), self.now);
                    return self.record(SessionEvent::StepSkipped { step, index, reason, at });
                }
                Err(_) => {
                    // Once more with all names, for a message that can suggest one.
                    let scope = names.scope_for_errors(&scope);
                    let error = match condition.evaluate(&scope) {
                        Err(error) => error.to_string(),
                        Ok(_) => "its condition cannot be evaluated".to_owned(),
                    };
                    let error = format!("{error} ({})", super::spec::field(step, "when"));
                    return self.step_failed(error, false);
                }
            }
        }
        if step.unconfined {
            let reason = format!(
                "step `{}` must be confined and nothing confines it on this machine; it waits for \
                 leave to start without",
                step.name
            );
            return self.ask_for_approval(InterventionKind::StartApproval, reason, None);
        }
        if step.needs_approval && self.holds(DecisionRule::ApprovedFirst) {
            let reason = format!("step `{}` waits for leave to start", step.name);
            return self.ask_for_approval(InterventionKind::StartApproval, reason, None);
        }
        self.start_step(None);
    }

    /// The step waits until a person approves or denies it, or until the time for that is up.
    pub(super) fn ask_for_approval(
        &mut self,
        kind: InterventionKind,
        mut reason: String,
        other: Option<InterventionChoice>,
    ) {
        let Some((_, step, _)) = self.current() else { return };
        let time = step.approval_timeout;
        if let Some(time) = time {
            let time = HumanDuration::from(time);
            reason.push_str(&format!(" (denied if nobody decides within {time})"));
        }
        let Some(mut intervention) = self.intervention(kind, None, reason) else { return };
        intervention.options.extend(other);
        intervention.expires_at = time.map(|time| self.now.after(time));
        let intervention = Box::new(intervention);
        self.record(SessionEvent::InterventionRequired { intervention, attempt: None });
    }

    /// Nobody decided in time: that is a no.
    pub(super) fn expired(&mut self, id: InterventionId) {
        let Some((_, pending)) = self.run().and_then(|run| run.pending(&id)) else { return };
        let Some(due) = pending.expiry() else { return };
        // The clock that fired and the one we are told the time by need not agree.
        if due > self.now {
            return self.commands.push(Command::Expire { intervention: id, due });
        }
        let why = "nobody decided in time".to_owned();
        let decision = InterventionDecision::new(InterventionChoice::Deny, "approval_timeout");
        self.resolve(id, InterventionDecision { why, ..decision });
    }

    fn start_step(&mut self, approved_by: Option<String>) {
        let Some(run) = self.run() else { return };
        let Some((index, step, _)) = self.current() else { return };
        let items = match step.action.fan_out() {
            Some((for_each, ..)) => {
                let names = TaskVariables { run, step: index, local: Vec::new() };
                match names.value(step, "for_each", for_each) {
                    Ok(Value::Array(items)) => Some(items),
                    Ok(other) => {
                        let place = super::spec::field(step, "for_each");
                        let error = format!(
                            "`for_each` needs an array, and `{for_each}` is {} ({place})",
                            kind(&other)
                        );
                        return self.step_failed(error, false);
                    }
                    Err(error) => return self.step_failed(error, false),
                }
            }
            None => None,
        };
        let (kind, step, at) = (step.action.kind().to_owned(), step.name.clone(), self.now);
        self.record(SessionEvent::StepStarted { step, index, kind, items, approved_by, at });
    }

    /// Writes down what follows from a decision about the current step.
    pub(super) fn apply_decision(
        &mut self,
        kind: InterventionKind,
        decision: InterventionDecision,
    ) {
        let Some((index, step, state)) = self.current() else { return };
        let by = decided_by(&decision);
        let continues = step.on_failure == OnFailure::Continue;
        match (kind, decision.choice) {
            (
                InterventionKind::StartApproval,
                InterventionChoice::Approve | InterventionChoice::ApproveAlways,
            ) => {
                self.start_step(Some(decision.by));
            }
            (InterventionKind::StartApproval, InterventionChoice::Deny) => {
                self.step_failed(format!("it was not allowed to start{by}"), continues);
            }
            (InterventionKind::HumanGate, InterventionChoice::Deny) => {
                self.step_failed(format!("denied{by}"), continues);
            }
            (
                InterventionKind::HumanGate,
                InterventionChoice::Approve | InterventionChoice::ApproveAlways,
            ) => {
                let output = StepOutput::Value(Value::Bool(true));
                self.complete_step(output, format!("approved{by}"));
            }
            (_, InterventionChoice::Skip) => {
                let (step, at, reason) = (step.name.clone(), self.now, format!("skipped{by}"));
                self.record(SessionEvent::StepSkipped { step, index, reason, at });
            }
            (
                InterventionKind::LoopLimit | InterventionKind::UnreadableVerdict,
                InterventionChoice::Proceed,
            ) => {
                self.complete_loop();
            }
            (InterventionKind::LoopLimit, InterventionChoice::Extend) => {
                self.extend_loop(&decision);
            }
            (InterventionKind::UnreadableVerdict, InterventionChoice::Extend) => {
                let newest = state.judged.last();
                let unread = newest.filter(|judged| judged.verdict == LoopVerdict::Unreadable);
                let Some(judged) = unread else { return self.extend_loop(&decision) };
                let (round, attempt) = (judged.round, judged.attempt);
                let verdict = LoopVerdict::Actionable;
                let reason = decision.text.unwrap_or_else(|| format!("another round{by}"));
                self.record(SessionEvent::LoopJudged { index, round, attempt, verdict, reason });
            }
            (InterventionKind::PartialFailure, InterventionChoice::Proceed) => self.complete_many(),
            (InterventionKind::MergeConflict, InterventionChoice::Resolve) => {
                match self.conflicting() {
                    Some(task) => self.start_resolution(&task),
                    None => self.step_failed(format!("nobody can resolve it{by}"), false),
                }
            }
            (_, InterventionChoice::Abort) => {
                let error = match state.tasks.last().and_then(|task| task.error.as_deref()) {
                    Some(error) => format!("aborted{by}: {error}"),
                    None => format!("aborted{by}"),
                };
                self.step_failed(error, false);
            }
            // Not offered; a journal that says so all the same must not leave the run stuck.
            (_, choice) => self.step_failed(format!("`{choice}` means nothing here{by}"), false),
        }
    }

    pub(super) fn step_completed(&mut self, output: StepOutput, summary: String) {
        let Some((index, step, _)) = self.current() else { return };
        let (step, at) = (step.name.clone(), self.now);
        self.record(SessionEvent::StepCompleted { step, index, summary, output, at });
    }
}

/// Who decided and why, as the end of a sentence.
fn decided_by(decision: &InterventionDecision) -> String {
    let why = [decision.why.as_str(), decision.text.as_deref().unwrap_or_default()];
    let why: Vec<&str> = why.into_iter().filter(|text| !text.is_empty()).collect();
    if why.is_empty() {
        format!(" by {}", decision.by)
    } else {
        format!(" by {} ({})", decision.by, why.join("; "))
    }
}
