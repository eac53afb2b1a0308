//! Automatic answers: runs that were started with `auto` ask a person only what is not answered
//! here.
//!
//! | what waits | allow | deny |
//! |---|---|---|
//! | approval, dialog, leave to start | approve | deny |
//! | question or choice that the adapter knows | deny: there is nothing to answer | deny |
//! | human gate | approve | deny |
//! | ended turn | complete | complete |
//! | loop at its limit | proceed | abort |
//! | partial failure | proceed | abort |
//! | failed gate, failed step | abort: there is nothing to allow | abort |
//! | unreadable verdict | retry once for each step, then proceed | abort |
//! | lost job | retry once for each task, then abort | abort |
//! | message that did not arrive | retry once for each task, then a person decides | the same |
//! | an agent that shows what nobody knows | a person decides | the same |
//! | a question that no rule of the adapter knows (generic) | a person decides | the same |
//! | anything of which a part is not on the screen | a person decides | the same |
//! | a question that an answer may have reached already, or that refused five answers | a person decides | the same |
//!
//! A dialog that its adapter does not know is not approved, because that would press Enter
//! blindly; it is denied. Each decision is a fact like any other, by `--auto allow` or
//! `--auto deny`. What was wanted is a part of the first
//! fact of the session, so that the next daemon knows it; no file beside the journal means anything.

use std::path::Path;

use coven_model::{
    AutoAnswer, Intervention, InterventionChoice, InterventionDecision, InterventionId,
    InterventionKind,
};
use coven_orchestrator::{Orchestrator, RequestError, SessionSnapshot};

use crate::context::ServiceContext;

/// How many answers to one question an agent may refuse. More of them would not help.
const MAX_REFUSED_ANSWERS: u32 = 5;

/// Answers everything that waits in the sessions of a base directory.
pub(crate) async fn answer_waiting(context: &ServiceContext, orchestrator: &Orchestrator) {
    for asked in orchestrator.interventions() {
        answer(context, orchestrator, &asked).await;
    }
}

/// Answers a question, if the session was started with automatic answers.
pub(crate) async fn answer(
    context: &ServiceContext,
    orchestrator: &Orchestrator,
    asked: &Intervention,
) {
    let Some(controller) = orchestrator.controller(&asked.workflow_id) else { return };
    let snapshot = controller.snapshot();
    let Some(auto) = snapshot.auto() else { return };
    let Some(entry) = orchestrator.entry(&asked.workflow_id) else { return };
    let base_dir = &*entry.base_dir;
    let mut choice = match automatic_choice(orchestrator, &snapshot, auto, asked).await {
        Ok(choice) => choice,
        Err(why) => {
            tracing::warn!(intervention = %asked.id, "{why}; a person has to decide");
            return;
        }
    };
    if (choice, asked.kind) == (InterventionChoice::Approve, InterventionKind::Dialog)
        && !is_known_dialog(context, base_dir, orchestrator, asked).await
    {
        choice = InterventionChoice::Deny;
    }
    let decision = InterventionDecision::new(choice, decider(auto));
    if let Err(error) = orchestrator.answer(&asked.id, decision, asked.digest.clone()).await {
        // A person was faster, or it is not asked any more; anything else a person will see.
        if !matches!(error, RequestError::Refused(_)) {
            tracing::warn!(intervention = %asked.id, "auto could not decide: {error}");
        }
    }
}

/// Those of the open questions of a session that its `auto` leaves to a person; none if it has no
/// `auto`.
pub(crate) async fn left_to_person(
    orchestrator: &Orchestrator,
    snapshot: &SessionSnapshot,
    open: &[Intervention],
) -> Vec<InterventionId> {
    let Some(auto) = snapshot.auto() else { return Vec::new() };
    let mut left = Vec::new();
    for asked in open {
        if automatic_choice(orchestrator, snapshot, auto, asked).await.is_err() {
            left.push(asked.id.clone());
        }
    }
    left
}

/// What is decided without a person, or why a person has to.
async fn automatic_choice(
    orchestrator: &Orchestrator,
    snapshot: &SessionSnapshot,
    auto: AutoAnswer,
    asked: &Intervention,
) -> Result<InterventionChoice, String> {
    if asked.rule.as_deref().is_some_and(coven_model::is_generic_rule) {
        return Err("no rule knows it".to_owned());
    }
    let refused = snapshot.refused(asked);
    let answers = refused.map_or(0, |refused| refused.answers);
    // What may have been answered already is for a person.
    let pressed = asked.refused.is_some() && refused.is_none_or(|refused| refused.pressed);
    if pressed || answers >= MAX_REFUSED_ANSWERS {
        return Err("it takes no answer".to_owned());
    }
    if asked.truncated {
        return Err("a part of it is not shown".to_owned());
    }
    let retried = may_retry(asked.kind) && was_retried(orchestrator, asked, &decider(auto)).await;
    let choice = choose(auto, asked.kind, retried).ok_or_else(|| asked.reason.clone())?;
    // A dialog that is not known is denied instead.
    let is_offered = asked.options.contains(&choice) || asked.kind == InterventionKind::Dialog;
    if is_offered { Ok(choice) } else { Err(format!("`{choice}` is not offered")) }
}

/// Who decides, as facts name it.
fn decider(auto: AutoAnswer) -> String {
    format!("--auto {}", auto.as_str())
}

/// What is tried once more, and once only.
fn may_retry(kind: InterventionKind) -> bool {
    matches!(
        kind,
        InterventionKind::LostJob
            | InterventionKind::UnreadableVerdict
            | InterventionKind::UndeliveredMessage
    )
}

async fn was_retried(orchestrator: &Orchestrator, asked: &Intervention, by: &str) -> bool {
    let ours = |decision: &InterventionDecision| {
        decision.by == by && decision.choice == InterventionChoice::Retry
    };
    orchestrator.decided(&asked.workflow_id).await.iter().any(|(before, decision)| {
        (&before.step, &before.task, before.kind) == (&asked.step, &asked.task, asked.kind)
            && decision.as_ref().is_some_and(ours)
    })
}

/// Whether the adapter of the agent that shows a dialog says what its answers are.
async fn is_known_dialog(
    context: &ServiceContext,
    base_dir: &Path,
    orchestrator: &Orchestrator,
    asked: &Intervention,
) -> bool {
    let Some(task) = &asked.task else { return false };
    let Ok(access) = orchestrator.task(&asked.workflow_id, task).await else { return false };
    let Some(agent) = access.agent else { return false };
    let rule = agent.verdict().evidence.rule;
    let Ok(trust) = context.trust_of(base_dir) else { return false };
    let adapters = context.catalogue_folders(base_dir, &trust).adapters();
    let loaded = adapters.load(&access.adapter, None);
    loaded.is_ok_and(|loaded| loaded.config.dialog(&rule).is_some())
}

/// What is decided without a person; nothing where a person has to.
fn choose(auto: AutoAnswer, kind: InterventionKind, retried: bool) -> Option<InterventionChoice> {
    use InterventionKind as Kind;
    Some(match (auto, kind) {
        (
            AutoAnswer::Allow,
            Kind::Approval | Kind::Dialog | Kind::HumanGate | Kind::StartApproval | Kind::Landing,
        ) => InterventionChoice::Approve,
        (
            AutoAnswer::Deny,
            Kind::Approval | Kind::Dialog | Kind::HumanGate | Kind::StartApproval | Kind::Landing,
        )
        | (_, Kind::Question | Kind::Choice) => InterventionChoice::Deny,
        (_, Kind::EndedTurn) => InterventionChoice::Complete,
        // Which side is right, or what is wrong with a repository, is for a person.
        (_, Kind::UnknownState | Kind::MergeConflict | Kind::TreeProblem) => return None,
        (_, Kind::UndeliveredMessage) if retried => return None,
        (_, Kind::UndeliveredMessage) => InterventionChoice::Retry,
        (AutoAnswer::Allow, kind) if may_retry(kind) && !retried => InterventionChoice::Retry,
        (AutoAnswer::Allow, Kind::LoopLimit | Kind::PartialFailure | Kind::UnreadableVerdict) => {
            InterventionChoice::Proceed
        }
        (
            _,
            Kind::FailedGate
            | Kind::FailedStep
            | Kind::LostJob
            | Kind::LoopLimit
            | Kind::PartialFailure
            | Kind::UnreadableVerdict,
        ) => InterventionChoice::Abort,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_waits_has_an_answer_that_it_offers_and_a_second_try_is_the_last() {
        for auto in [AutoAnswer::Allow, AutoAnswer::Deny] {
            for kind in InterventionKind::ALL {
                for retried in [false, true] {
                    let Some(choice) = choose(auto, kind, retried) else { continue };
                    assert!(kind.options().contains(&choice), "{auto:?} {kind} {choice}");
                    assert!(!retried || choice != InterventionChoice::Retry, "{auto:?} {kind}");
                }
            }
        }
    }
}
