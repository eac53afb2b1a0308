//! What the model checker is asked: that every promise holds everywhere, that the interesting
//! places are among what it saw, and that each rule and mechanism is needed.

use coven_model::WorkflowStatus;
use coven_model::event::TaskRole;
use stateright::{Checker, Model, Property};

use super::scenes::{self, ModelScenario};
use super::trees::TreeFault;
use super::walk::SessionModel;
use super::world::{ModelProcess, WorldState};
use super::{DisabledParts, ModelStep, SafetyMechanism};
use crate::rules::DecisionRule;
use crate::state::RunPhase;

type Holds = fn(&SessionModel, &WorldState) -> bool;

/// What must hold in every state.
const INVARIANTS: [(&str, Holds); 22] = [
    ("no process outlives its run", |_, world| {
        !world.run().is_over() || world.alive().next().is_none()
    }),
    ("no job runs twice", |_, world| world.runs.values().all(|runs| *runs <= 1)),
    ("no finished task runs again", |_, world| {
        world.alive().all(|job| {
            let task = world.run().task(&job.task);
            !world.done.contains(&job.task) || task.is_some_and(|task| task.attempt == job.attempt)
        })
    }),
    ("a run that is completed or cancelled stays so", |_, world| {
        world.forever.is_none_or(|status| world.run().status() == status)
    }),
    ("nothing is started once the run is to end", |_, world| world.asked_for_late == 0),
    ("an intervention is decided once", |_, world| world.decided.values().all(|times| *times <= 1)),
    ("a wish to try again is fulfilled once", |_, world| world.fulfilled <= world.wishes),
    ("no text is ordered while the agent works", |_, world| !world.interrupted),
    ("a step that needs approval starts after it was approved", |_, world| {
        !world.started_unapproved
    }),
    ("no task works in a tree that is not there", |_, world| !world.trees.has(TreeFault::Homeless)),
    ("a step is over when its trees are landed, in order", |_, world| {
        !world.trees.has(TreeFault::Unlanded)
    }),
    ("what was landed is not landed again", |_, world| world.lands_once()),
    ("a run is completed when its trees are gone or said to stay", |_, world| {
        world.trees_are_settled()
    }),
    ("no tree goes with what is nowhere else", |_, world| !world.trees.has(TreeFault::Lost)),
    ("a tree is made from all that was done before it", |_, world| {
        !world.trees.has(TreeFault::Stale)
    }),
    ("what was done in a tree is kept before another task starts there", |_, world| {
        !world.trees.has(TreeFault::Unkept)
    }),
    ("a refusal starts a task again once, and costs no attempt", |_, world| {
        world.counts_refusals_once()
    }),
    ("an agent that asks has somebody to wait for", |_, world| world.attends_to_all()),
    ("everything can end", |walk, world| {
        walk.broken != DisabledParts::default() || world.can_end()
    }),
    ("a step begins when all that it needs is over", |_, world| !world.hasty),
    ("a run fails when nothing can go on that does not need what failed", |_, world| !world.halted),
    ("a loop has no more rounds than it may", |_, world| {
        world.run().steps.iter().all(|step| {
            step.tasks.iter().all(|task| match task.role {
                TaskRole::Inner { round, .. } | TaskRole::Round(round) => round <= step.rounds,
                _ => true,
            })
        })
    }),
];

/// What must be seen on the way, or the model shows less than it seems to.
const REACHABLE_STATES: [(&str, Holds); 12] = [
    ("a run completes", |_, world| world.run().status() == WorkflowStatus::Completed),
    ("a run fails", |_, world| world.run().status() == WorkflowStatus::Failed),
    ("a run is cancelled", |_, world| world.run().status() == WorkflowStatus::Cancelled),
    ("a blocked run completes", |_, world| {
        world.was_blocked && world.run().status() == WorkflowStatus::Completed
    }),
    ("a step that needs approval is let start a second time", |_, world| {
        let approved = world.run().current().is_some_and(|(_, step, _)| step.needs_approval);
        approved && world.fulfilled > 0 && world.alive().next().is_some()
    }),
    ("a process lives while its run is being stopped", |_, world| {
        matches!(world.run().phase, RunPhase::Stopping { .. }) && world.alive().next().is_some()
    }),
    ("a refused agent uses up all of its attempts without its protocol", |_, world| {
        let failed = world.run().status() == WorkflowStatus::Failed;
        failed && !world.refused.is_empty() && world.processes.keys().any(|job| job.attempt == 3)
    }),
    ("an agent that was left alive is answered after the end of its run", |_, world| {
        world.answered_late
    }),
    ("an agent is left alive on purpose", |_, world| {
        let runs = |process: &ModelProcess| matches!(process, ModelProcess::Runs { .. });
        world.run().status() == WorkflowStatus::Completed && world.processes.values().any(runs)
    }),
    ("a loop of several steps has a round more than it had", |_, world| {
        let is_second = |role| matches!(role, TaskRole::Inner { round: 2, .. });
        world.run().steps.iter().any(|step| step.tasks.iter().any(|task| is_second(task.role)))
    }),
    ("two steps run at the same time", |_, world| {
        world.run().active().filter(|(_, _, step)| step.live > 0).count() == 2
    }),
    ("a step runs after another has failed", |_, world| {
        let mut failed = world.run().active().filter(|(_, _, step)| step.has_failed());
        failed.next().is_some()
            && world.run().phase == RunPhase::Running
            && world.alive().next().is_some()
    }),
];

/// The promise that is broken without a rule or a mechanism.
fn promise(broken: DisabledParts) -> &'static str {
    match (broken.rule, broken.mechanism) {
        (Some(DecisionRule::NothingStartsLate | DecisionRule::FinalAbsorbs), _) => INVARIANTS[4].0,
        (Some(DecisionRule::DecidedOnce), _) => INVARIANTS[5].0,
        (Some(DecisionRule::RetriedOnce), _) => INVARIANTS[6].0,
        (Some(DecisionRule::ObservationsGrow), _) => INVARIANTS[7].0,
        (Some(DecisionRule::ApprovedFirst), _) => INVARIANTS[8].0,
        (Some(DecisionRule::TreeFirst), _) => INVARIANTS[9].0,
        (Some(DecisionRule::LandFirst), _) => INVARIANTS[10].0,
        (Some(DecisionRule::LandedOnce), _) => INVARIANTS[11].0,
        (Some(DecisionRule::RemovedFirst), _) => INVARIANTS[12].0,
        (Some(DecisionRule::KeptFirst), _) => INVARIANTS[15].0,
        (Some(DecisionRule::NeedsFirst), _) => INVARIANTS[19].0,
        (Some(DecisionRule::BranchesGoOn), _) => INVARIANTS[20].0,
        (Some(DecisionRule::RoundsEnd), _) => INVARIANTS[21].0,
        (None, Some(SafetyMechanism::Ledger | SafetyMechanism::DurableOutcomes)) => INVARIANTS[1].0,
        (Some(DecisionRule::DrainFirst | DecisionRule::OutcomesCountOnce), _)
        | (None, Some(SafetyMechanism::Tombstones | SafetyMechanism::JournalFirst)) => {
            INVARIANTS[0].0
        }
        (None, None) => "",
    }
}

/// With something broken, only the promise that depends on it is of interest.
pub(super) fn properties(broken: DisabledParts) -> Vec<Property<SessionModel>> {
    let always = INVARIANTS.iter().map(|(name, holds)| Property::always(name, *holds));
    if broken != DisabledParts::default() {
        return always.filter(|property| property.name == promise(broken)).collect();
    }
    let sometimes = REACHABLE_STATES.iter().map(|(name, holds)| Property::sometimes(name, *holds));
    always.chain(sometimes).collect()
}

fn explore(scenes: Vec<ModelScenario>) -> usize {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let walk = SessionModel { scenes, broken: DisabledParts::default() };
    let checker = walk.checker().threads(threads).spawn_bfs().join();
    checker.assert_properties();
    checker.unique_state_count()
}

/// Spec: GR.6.2, GR.6.3, GR.6.4, RT.9
#[test]
fn every_promise_holds_in_every_state_that_can_be_reached() {
    let states = explore(scenes::all());
    // Far fewer would mean that the model does not do what it says.
    assert!(states > 5_000, "only {states} states");
}

/// As above with more of everything.
#[test]
#[ignore = "takes minutes; for changes to the decisions"]
fn every_promise_holds_in_a_larger_world_too() {
    let states = explore(scenes::larger());
    assert!(states > 100_000, "only {states} states");
}

/// A way to break the promise that depends on what is broken.
fn counterexample(broken: DisabledParts) -> Vec<ModelStep> {
    let scenes = match (broken.rule, broken.mechanism) {
        (Some(DecisionRule::ObservationsGrow), _) => vec![scenes::stages()],
        (Some(DecisionRule::RetriedOnce), _) => vec![scenes::failing_and_retried()],
        (Some(DecisionRule::FinalAbsorbs), _) => vec![scenes::timed()],
        (Some(DecisionRule::ApprovedFirst), _) => vec![scenes::approved_twice()],
        (Some(DecisionRule::KeptFirst), _) => vec![scenes::retried_in_a_tree()],
        (Some(DecisionRule::NeedsFirst | DecisionRule::BranchesGoOn), _) => {
            vec![scenes::branches()]
        }
        (Some(DecisionRule::RoundsEnd), _) => vec![scenes::rounds_of_steps()],
        (_, Some(SafetyMechanism::JournalFirst)) | (Some(DecisionRule::DecidedOnce), _) => {
            vec![scenes::approved_start()]
        }
        (
            Some(
                DecisionRule::TreeFirst
                | DecisionRule::LandFirst
                | DecisionRule::LandedOnce
                | DecisionRule::RemovedFirst,
            ),
            _,
        ) => vec![scenes::trees()],
        _ => vec![scenes::retried(), scenes::fan_out()],
    };
    let checker = SessionModel { scenes, broken }.checker().threads(2).spawn_bfs().join();
    let found = checker.discoveries().into_values().next();
    found.unwrap_or_else(|| panic!("nothing breaks without {broken:?}")).into_actions()
}

/// Spec: RT.9
#[test]
fn each_rule_is_needed() {
    for rule in DecisionRule::ALL {
        let broken = DisabledParts { rule: Some(rule), mechanism: None };
        assert!(!counterexample(broken).is_empty(), "{rule:?}");
    }
}

#[test]
fn each_mechanism_around_the_decisions_is_needed() {
    for mechanism in [
        SafetyMechanism::Ledger,
        SafetyMechanism::Tombstones,
        SafetyMechanism::DurableOutcomes,
        SafetyMechanism::JournalFirst,
    ] {
        let broken = DisabledParts { rule: None, mechanism: Some(mechanism) };
        let steps = counterexample(broken);
        assert!(!steps.is_empty(), "{mechanism:?}");
    }
}
