//! What the model checker is asked: that every promise holds everywhere, that the interesting
//! places are among what it saw, and that each rule is needed.

use std::collections::BTreeSet;

use stateright::{Checker, Model};

use super::{BoardScene, ModelAction, ModelState, ModelWorld, asked, granted};
use crate::agent::AgentId;
use crate::command::{Capability, CommandId};
use crate::execution::{ExecutionOutcome, ExecutionState, StopCause};
use crate::invariants::Invariant;
use crate::scheduler::{AgentAssignment, Rule};

/// A promise about every step, which no single board can show.
const TRAIL_ONLY_GROWS: &str = "the trail of decisions only grows";

/// Needs no rule of its own: the others together keep it.
const CAN_END: &str = "everything can end";

/// What only the second agent is capable of.
const BOTH: [Capability; 2] = [Capability::Shell, Capability::Agent];

type Holds = fn(&ModelWorld, &ModelState) -> bool;

macro_rules! invariant {
    ($name:ident) => {
        (stringify!($name), |_, state| Invariant::$name.check(&state.board).is_ok())
    };
}

/// What must hold in every state.
pub(super) const ALWAYS: [(&str, Holds); 22] = [
    invariant!(NoDoubleAssignment),
    invariant!(NoOrphanedExecution),
    invariant!(TerminalExclusivity),
    invariant!(DependenciesRespected),
    invariant!(CapabilityMatch),
    invariant!(ExecutingAgentHasTerminal),
    invariant!(OnlyApprovedExecute),
    invariant!(NoDoubleDecision),
    invariant!(CompletedHaveAudit),
    invariant!(PendingNotCompleted),
    invariant!(CompletedHaveTime),
    invariant!(IdsSequential),
    invariant!(TimeoutsValid),
    invariant!(SucceedsAtMostOnce),
    invariant!(FailedNeverBeginsAgain),
    invariant!(CancelledNeverRuns),
    invariant!(DeadlinesListed),
    invariant!(LimitsRecover),
    invariant!(LimitsKept),
    invariant!(QueueBounded),
    (TRAIL_ONLY_GROWS, |_, state| state.trail_kept),
    // Where agents may leave, a command can be left without one that is capable of it.
    (CAN_END, |_, state| state.scene.leaving || state.can_end()),
];

/// What must be seen on the way, or the model shows less than it seems to.
pub(super) const SOMETIMES: [(&str, Holds); 14] = [
    ("both slots are in use", |_, state| state.board.free_slots() == 0),
    ("more run than there are slots", |_, state| state.board.live().count() > state.scene.slots),
    ("a command that ran already is over and its agent has left", |_, state| {
        state.board.next_agent > 2 && state.board.agents.len() == 2
    }),
    ("a dependent command succeeds", |_, state| {
        state.scene.is_chained() && outcome(state, 1) == Some(&ExecutionOutcome::Succeeded)
    }),
    ("a dependent command fails with its dependency", |_, state| {
        matches!(outcome(state, 1), Some(ExecutionOutcome::Failed(_)))
            && state.board.executions.len() < 2
    }),
    ("a command is rejected", |_, state| {
        matches!(outcome(state, 0), Some(ExecutionOutcome::Rejected(_)))
    }),
    ("a question is withdrawn", |_, state| {
        outcome(state, 0) == Some(&ExecutionOutcome::Cancelled { exit: None })
            && state.board.executions.is_empty()
    }),
    ("a command is cancelled while it starts", |_, state| {
        runs(state, |run| *run == ExecutionState::Starting { cancelled: true })
    }),
    ("a running command is cancelled", |_, state| {
        let cancelled = |run: &ExecutionState| matches!(run, ExecutionState::Cancelled { .. });
        runs(state, cancelled)
    }),
    ("a pane breaks", |_, state| {
        let is_broken = |cause: &StopCause| matches!(cause, StopCause::Broken(_));
        runs(state, |run| matches!(run, ExecutionState::Stopping { cause, .. } if is_broken(cause)))
    }),
    ("a command has failed", |_, state| {
        runs(state, |run| matches!(run, ExecutionState::Failed { .. }))
    }),
    ("a command that needs two capabilities succeeds", |_, state| {
        let needs = state.scene.tickets[1].capabilities.len();
        needs > 1 && outcome(state, 1) == Some(&ExecutionOutcome::Succeeded)
    }),
    ("the queue is full", |_, state| state.scene.queue == Some(state.board.waiting.len())),
    ("all is over and forgotten", |_, state| {
        state.board.forgotten == Some(CommandId(1)) && state.board.commands.is_empty()
    }),
];

fn outcome(state: &ModelState, command: u64) -> Option<&ExecutionOutcome> {
    state.board.command(CommandId(command))?.outcome()
}

fn runs(state: &ModelState, is: impl Fn(&ExecutionState) -> bool) -> bool {
    state.board.executions.values().any(|execution| is(&execution.state))
}

fn explore(scenes: Vec<BoardScene>) -> usize {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let checker = ModelWorld { scenes, broken: None }.checker().threads(threads).spawn_bfs().join();
    checker.assert_properties();
    checker.unique_state_count()
}

/// Spec: RT.9
#[test]
fn every_promise_holds_in_every_state_that_can_be_reached() {
    let states = explore(vec![
        BoardScene::new(&asked(), &asked(), &[Capability::Shell]),
        BoardScene::new(&granted(), &asked(), &[Capability::Agent]).chained().waiting(2),
        BoardScene::new(&asked(), &granted(), &[Capability::Shell]).chained().waiting(2).leaving(),
        BoardScene::new(&granted(), &asked(), &[Capability::Agent]).adopting(),
        BoardScene::new(&asked(), &granted(), &[Capability::Shell]).chained().adopting().leaving(),
        BoardScene::new(&granted(), &granted(), &BOTH).queueing_one(),
        BoardScene::new(&asked(), &granted(), &BOTH).chained().queueing_one().leaving(),
    ]);
    // Far fewer would mean that the model does not do what it says.
    assert!(states > 35_000, "only {states} states");
}

/// As above with every pair of commands, more time, and agents that leave everywhere.
#[test]
#[ignore = "takes minutes; for changes to the board"]
fn every_promise_holds_in_a_larger_world_too() {
    let mut scenes = Vec::new();
    for first in [granted(), asked()] {
        for second in [granted(), asked()] {
            for capabilities in [&BOTH[..1], &BOTH[1..], &BOTH[..]] {
                let scene = BoardScene::new(&first, &second, capabilities);
                scenes.push(scene.clone().queueing_one());
                scenes.push(scene.clone().leaving());
                scenes.push(scene.clone().adopting().leaving());
                scenes.push(scene.clone().adopting().waiting(2));
                scenes.push(scene.clone().waiting(2));
                scenes.push(scene.clone().chained().waiting(3));
                scenes.push(scene.chained().waiting(3).leaving());
            }
        }
    }
    let states = explore(scenes);
    assert!(states > 1_000_000, "only {states} states");
}

/// The promise that is broken without a rule.
pub(super) fn promise(rule: Rule) -> String {
    let invariant = match rule {
        Rule::ApprovedFirst => Invariant::OnlyApprovedExecute,
        Rule::AssignedOnce => Invariant::NoDoubleAssignment,
        Rule::EndedIsOver => Invariant::SucceedsAtMostOnce,
        Rule::FailedIsOver => Invariant::FailedNeverBeginsAgain,
        Rule::CancelledIsOver | Rule::RejectedIsOver => Invariant::CancelledNeverRuns,
        Rule::DependenciesFirst => Invariant::DependenciesRespected,
        Rule::CapableOnly => Invariant::CapabilityMatch,
        Rule::QueueIsBounded => Invariant::QueueBounded,
        Rule::OnlyIdleLeave => Invariant::NoOrphanedExecution,
        Rule::SlotsServeOne => Invariant::TerminalExclusivity,
        Rule::SlotsAreHeldToTheEnd => Invariant::ExecutingAgentHasTerminal,
        Rule::SlotsAreGivenBack | Rule::AgentsReturn => Invariant::LimitsRecover,
        Rule::BeginWithinTheLimit => Invariant::LimitsKept,
        Rule::DecidedOnce => Invariant::NoDoubleDecision,
        Rule::DeadlinesAreKept => Invariant::TimeoutsValid,
        Rule::DeadlinesAreListed => Invariant::DeadlinesListed,
        Rule::DecisionsHaveATime => Invariant::CompletedHaveTime,
        Rule::DecisionsAreOnRecord => Invariant::CompletedHaveAudit,
        Rule::DecisionsEndTheQuestion => Invariant::PendingNotCompleted,
        Rule::IdsAreGivenInOrder => Invariant::IdsSequential,
        Rule::TheTrailIsKept => return TRAIL_ONLY_GROWS.to_owned(),
    };
    invariant.to_string()
}

/// A way to break the promise of a rule that does not hold.
fn counterexample(rule: Rule) -> Vec<ModelAction> {
    let small = BoardScene::new(&granted(), &granted(), &[Capability::Agent]).waiting(0);
    let scenes = match rule {
        // The way there is long, so little else may happen.
        Rule::EndedIsOver => vec![small.chained()],
        Rule::BeginWithinTheLimit => vec![small.adopting()],
        Rule::QueueIsBounded => vec![small.queueing_one()],
        _ => vec![
            small,
            BoardScene::new(&asked(), &granted(), &[Capability::Shell]).chained().leaving(),
        ],
    };
    let world = ModelWorld { scenes, broken: Some(rule) };
    let checker = world.checker().spawn_bfs().join();
    let found = checker.discoveries().into_values().next();
    found.unwrap_or_else(|| panic!("nothing breaks without {rule:?}")).into_actions()
}

/// Spec: RT.9
#[test]
fn each_rule_is_needed_and_each_promise_can_be_broken() {
    let mut broken = BTreeSet::new();
    for rule in Rule::ALL {
        assert!(!counterexample(rule).is_empty(), "{rule:?}");
        broken.insert(promise(rule));
    }
    let promises = ALWAYS.iter().map(|(name, _)| (*name).to_owned());
    let promises: BTreeSet<String> = promises.filter(|name| name != CAN_END).collect();
    assert_eq!(broken, promises);
    for invariant in Invariant::ALL {
        assert!(promises.contains(&invariant.to_string()), "{invariant} is in no list");
    }
}

/// Spec: RT.9
#[test]
fn a_counterexample_tells_what_happened() {
    let actions = counterexample(Rule::CapableOnly);
    // The first agent can only do shell commands.
    let wrong = AgentAssignment { command: CommandId(1), agent: AgentId(0) };
    assert!(actions.contains(&ModelAction::Assign(wrong)), "{actions:?}");
}

/// The first agent has one of the two capabilities, which is not enough.
///
/// Spec: RT.9
#[test]
fn an_agent_with_some_of_the_capabilities_does_not_get_the_command() {
    let scene = BoardScene::new(&granted(), &granted(), &BOTH).waiting(0);
    let world = ModelWorld { scenes: vec![scene], broken: Some(Rule::CapableOnly) };
    let found = world.checker().spawn_bfs().join().discoveries().into_values().next();
    let wrong = AgentAssignment { command: CommandId(1), agent: AgentId(0) };
    let actions = found.expect("the check of capabilities finds it").into_actions();
    assert!(actions.contains(&ModelAction::Assign(wrong)), "{actions:?}");
}
