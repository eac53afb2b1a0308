//! What facts about interventions, and about what is said to agents, mean.

use std::sync::Arc;

use coven_model::event::{DeliveredInput, InterventionDecision, SessionEvent, StopCause};
use coven_model::{AttemptId, Intervention, InterventionChoice, InterventionKind};

use super::step::retry_step;
use super::task::change_live;
use crate::rules::{ActiveRules, DecisionRule};
use crate::state::{
    AnswerPhase, AskedQuestion, LiveJob, PendingIntervention, PendingText, StepProgress,
    WorkflowRun, asked_words, question_words,
};

pub(super) fn apply(run: &mut WorkflowRun, rules: ActiveRules, event: &SessionEvent) {
    match event {
        SessionEvent::InterventionRequired { intervention, attempt } => {
            require(run, intervention, *attempt);
        }
        SessionEvent::InterventionResolved { id, decision, .. } => {
            let Some((number, pending)) = run.pending(id) else { return };
            let pending = pending.clone();
            if rules.hold(DecisionRule::DecidedOnce) {
                run.interventions.remove(&number);
                run.kept_interventions.remove(&number);
            }
            if let Some(rule) = &decision.rule
                && !run.rules.iter().any(|known| **known == **rule)
            {
                run.rules.push(Arc::new((**rule).clone()));
            }
            match attempt_of(&pending) {
                Some(job) => change_live(run, &job, |live| {
                    decide_agent(live, number, &pending.intervention, decision);
                }),
                None => decide_step(run, &pending.intervention, decision),
            }
        }
        SessionEvent::InterventionWithdrawn { id, .. } => {
            let Some((number, pending)) = run.pending(id) else { return };
            let subject = attempt_of(pending);
            run.interventions.remove(&number);
            run.kept_interventions.remove(&number);
            match subject {
                Some(job) => change_live(run, &job, |live| {
                    live.set_answer(number, AnswerPhase::Void);
                    live.turn = live.turn.filter(|turn| *turn != number);
                    if held(live, number) {
                        live.next_text();
                    }
                }),
                None => unblock(run, number),
            }
        }
        SessionEvent::InputDecided { intervention, attempt, decision } => {
            let Some(number) = run.number(&intervention.id) else { return };
            let (Some(task), Some(digest)) = (&intervention.task, &intervention.digest) else {
                return;
            };
            run.next_intervention = run.next_intervention.max(number.saturating_add(1));
            let job = AttemptId { task: task.clone(), attempt: *attempt };
            let answer = AnswerPhase::Decided(decision.clone());
            let (digest, words) = (digest.clone(), question_words(intervention));
            let denied =
                (decision.choice == InterventionChoice::Deny).then(|| asked_words(intervention));
            let asked = AskedQuestion { number, digest, words, answer };
            change_live(run, &job, |live| {
                if let Some(words) = &denied {
                    live.count_denial(words);
                }
                live.ask(asked);
                live.remember(intervention, decision);
            });
        }
        SessionEvent::InputQueued { job, number, text, seen, by } => {
            queue_input(run, job, (*number, text), *seen, by.is_none());
        }
        SessionEvent::InputDelivered { job, input, seen } => {
            let answered = match input {
                DeliveredInput::Answer(id) => run.number(id),
                _ => None,
            };
            let typed = |typing: &PendingText| *input == DeliveredInput::Queued(typing.number);
            let typing = run.alive(job).and_then(|live| live.typing.as_ref());
            if typing.is_some_and(|typing| typing.ends_turn && typed(typing)) {
                super::tree::keep(run, job);
            }
            change_live(run, job, |live| {
                live.seen = live.seen.max(*seen);
                live.refused.clear();
                if let Some(number) = answered {
                    live.set_answer(number, AnswerPhase::Given);
                }
                if live.typing.as_ref().is_some_and(typed) {
                    live.next_text();
                }
            });
        }
        SessionEvent::InputRefused { job, intervention, reason, pressed } => {
            let number = run.number(intervention);
            change_live(run, job, |live| {
                if let Some(number) = number {
                    live.set_answer(number, AnswerPhase::Void);
                    live.refuse_answer(number, reason, *pressed);
                    live.say = None;
                }
            });
        }
        _ => {}
    }
}

/// The attempt that an intervention is about; nothing if it is about a step.
fn attempt_of(pending: &PendingIntervention) -> Option<AttemptId> {
    Some(AttemptId { task: pending.intervention.task.clone()?, attempt: pending.attempt? })
}

fn require(run: &mut WorkflowRun, intervention: &Intervention, attempt: Option<u32>) {
    let Some(number) = run.number(&intervention.id) else { return };
    let pending = PendingIntervention { intervention: intervention.clone(), attempt };
    run.next_intervention = run.next_intervention.max(number.saturating_add(1));
    if let Some(job) = attempt_of(&pending) {
        if run.alive(&job).is_none() {
            return;
        }
        let digest = intervention.digest.clone();
        change_live(run, &job, |live| match (intervention.kind, digest) {
            (InterventionKind::UndeliveredMessage, _) => {
                live.hold_text(&intervention.excerpt, number);
            }
            (InterventionKind::EndedTurn, _) | (_, None) => live.turn = Some(number),
            (_, Some(digest)) => {
                let words = question_words(intervention);
                live.ask(AskedQuestion { number, digest, words, answer: AnswerPhase::Open });
            }
        });
    } else {
        let index = run.active_named(&intervention.step);
        let Some(step) = index.and_then(|index| run.active_mut(index)) else { return };
        step.progress = StepProgress::Blocked { intervention: number };
    }
    let job = attempt_of(&pending).filter(|_| intervention.kind == InterventionKind::EndedTurn);
    if let Some(job) = job {
        super::tree::keep(run, &job);
    }
    let is_kept = attempt_of(&pending).is_some_and(|job| run.kept_job(&job).is_some());
    let open = if is_kept { &mut run.kept_interventions } else { &mut run.interventions };
    open.insert(number, Arc::new(pending));
}

/// A text is to be typed: the next one of the plan, or one of a person.
fn queue_input(
    run: &mut WorkflowRun,
    job: &AttemptId,
    (number, text): (u32, &str),
    seen: u64,
    is_planned: bool,
) {
    // One that a person sends while the agent waits for it follows a turn that was kept.
    let waits = run.live(job).is_none_or(|live| live.turn.is_some());
    let ends_turn = !is_planned && !waits;
    if is_planned && run.live(job).is_some_and(LiveJob::was_given_something) {
        super::tree::keep(run, job);
    }
    change_live(run, job, |live| {
        let queued = PendingText::new(number, text.to_owned());
        live.queue_text(PendingText { ends_turn, ..queued });
        live.sent = live.sent.max(number);
        if is_planned {
            if live.says(text) {
                live.say = None;
            } else {
                live.taken = live.taken.saturating_add(1);
            }
        }
        live.seen = live.seen.max(seen);
    });
}

/// Whether the text under way waits for the decision about this intervention.
fn held(live: &LiveJob, number: u64) -> bool {
    live.typing.as_ref().is_some_and(|typing| typing.held == Some(number))
}

/// What a decision does to an agent: an answer is on its way, or a text, or it is stopped.
fn decide_agent(
    live: &mut LiveJob,
    number: u64,
    intervention: &Intervention,
    decision: &InterventionDecision,
) {
    if held(live, number) {
        return decide_text(live, decision.choice);
    }
    if live.turn != Some(number) {
        live.set_answer(number, AnswerPhase::Decided(Box::new(decision.clone())));
        live.remember(intervention, decision);
        return;
    }
    live.turn = None;
    let cause = match decision.choice {
        InterventionChoice::Complete => {
            if intervention.kind == InterventionKind::EndedTurn && !intervention.excerpt.is_empty()
            {
                // What it said in the turn that was enough.
                live.output = Some(intervention.excerpt.clone());
            }
            StopCause::Completed
        }
        InterventionChoice::Stop => StopCause::Unwanted,
        _ => {
            live.sent = live.sent.saturating_add(1);
            let text = decision.text.clone().unwrap_or_default();
            // Nobody knows what the agent shows but the person who wrote this, so nothing of it can
            // be verified.
            let unverified = intervention.kind == InterventionKind::UnknownState;
            live.queue_text(PendingText { unverified, ..PendingText::new(live.sent, text) });
            return;
        }
    };
    if live.stop.is_none() {
        live.stop = Some((cause, decision.by.clone()));
    }
}

/// What a decision does to a text that did not arrive.
fn decide_text(live: &mut LiveJob, choice: InterventionChoice) {
    match &mut live.typing {
        Some(typing) if choice != InterventionChoice::Drop => {
            typing.held = None;
            typing.attempt = typing.attempt.saturating_add(1);
            typing.unverified = choice == InterventionChoice::SendAnyway;
        }
        _ => live.next_text(),
    }
}

/// What a decision does to a step: it is tried again at once, or what follows is still to come.
fn decide_step(
    run: &mut WorkflowRun,
    intervention: &Intervention,
    decision: &InterventionDecision,
) {
    let Some(index) = run.active_named(&intervention.step) else { return };
    if super::tree::decide(run, index, intervention, decision) {
        return;
    }
    if matches!(decision.choice, InterventionChoice::Retry | InterventionChoice::RetryFailed) {
        run.retries = run.retries.saturating_add(1);
        retry_step(run, index);
    } else if let Some(step) = run.active_mut(index) {
        let decision = Box::new(decision.clone());
        step.progress = StepProgress::Decided { kind: intervention.kind, decision };
    }
}

fn unblock(run: &mut WorkflowRun, number: u64) {
    let blocked = StepProgress::Blocked { intervention: number };
    let index = run.active().find(|(_, _, step)| step.progress == blocked).map(|(index, ..)| index);
    if let Some(step) = index.and_then(|index| run.active_mut(index)) {
        step.progress = StepProgress::Running;
    }
}
