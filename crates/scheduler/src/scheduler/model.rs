//! The board under a model checker: every state that two agents, two commands and one or two slots
//! can reach, by anything that can happen in any order, allowed or not.
//!
//! This is the code that schedules, not a copy of it. What is refused must change nothing; what is
//! not refused must keep every invariant; and from everywhere there is a way to the end. The
//! checks are in `model/checks.rs`.

mod checks;

use std::time::Duration;

use coven_runtime::domain::ExitStatus;
use stateright::{Model, Property};

use super::{AgentAssignment, Board, BoardLimits, CommandTicket, IllegalTransition, Rule};
use crate::agent::AgentId;
use crate::approval::ApprovalId;
use crate::clock::Moment;
use crate::command::{Capability, CommandId, Permission};
use crate::execution::{ExecutionFailure, ExecutionId, ExecutionState};

/// Every wait takes this long, one step of the model's time.
const WAIT: Duration = Duration::from_nanos(1);

/// What may happen. Most of it is not allowed in most states, and is tried all the same.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ModelAction {
    Pass,
    Advance,
    Queue(usize),
    Decide(ApprovalId, bool),
    Assign(AgentAssignment),
    Begin(CommandId),
    Adopt(CommandId),
    Started(ExecutionId),
    NotStarted(ExecutionId),
    Broken(ExecutionId),
    Exited(ExecutionId, Option<ExitStatus>),
    Drained(ExecutionId),
    Cancel(CommandId),
    RemoveAgent(AgentId),
    Forget(CommandId),
}

/// What is to be tried.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct BoardScene {
    /// The two commands that may be queued.
    tickets: [CommandTicket; 2],
    /// How many waits there is time for, one after another.
    waits: u64,
    /// Whether agents may leave and commands be forgotten.
    leaving: bool,
    /// How many commands may begin at a time.
    slots: usize,
    /// Whether commands may turn out to run already.
    adopting: bool,
    /// How many commands may wait.
    queue: Option<usize>,
}

impl BoardScene {
    /// The second command needs these capabilities, the first only the shell.
    fn new(first: &Permission, second: &Permission, capabilities: &[Capability]) -> Self {
        let ticket = |id, approval: &Permission, capabilities: &[Capability]| CommandTicket {
            id,
            capabilities: capabilities.iter().cloned().collect(),
            dependencies: Vec::new(),
            approval: approval.clone(),
        };
        let tickets = [
            ticket(CommandId(0), first, &[Capability::Shell]),
            ticket(CommandId(1), second, capabilities),
        ];
        Self { tickets, waits: 1, leaving: false, slots: 2, adopting: false, queue: None }
    }

    /// The second command depends on the first.
    fn chained(mut self) -> Self {
        self.tickets[1].dependencies = vec![CommandId(0)];
        self
    }

    fn is_chained(&self) -> bool {
        !self.tickets[1].dependencies.is_empty()
    }

    fn waiting(self, waits: u64) -> Self {
        Self { waits, ..self }
    }

    fn leaving(self) -> Self {
        Self { leaving: true, ..self }
    }

    /// There is one slot, and commands may turn out to run already.
    fn adopting(self) -> Self {
        Self { slots: 1, adopting: true, ..self }
    }

    /// Only one command may wait at a time.
    fn queueing_one(self) -> Self {
        Self { queue: Some(1), ..self }
    }

    fn limits(&self) -> BoardLimits {
        BoardLimits {
            agents: 2,
            slots: self.slots,
            queue: self.queue,
            stop_grace: WAIT,
            drain_grace: WAIT,
        }
    }
}

fn granted() -> Permission {
    Permission::Granted { by: "engine".to_owned(), reason: "it is in the plan".to_owned() }
}

fn asked() -> Permission {
    Permission::Required { timeout: Some(WAIT) }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ModelState {
    scene: BoardScene,
    board: Board,
    now: u64,
    /// Whether every line of the trail has stayed as it was, but for those of forgotten commands.
    trail_kept: bool,
}

impl ModelState {
    fn now(&self) -> Moment {
        Moment::since_1970(Duration::from_nanos(self.now))
    }

    fn take(&mut self, action: ModelAction) -> Result<(), IllegalTransition> {
        let (now, board) = (self.now(), &mut self.board);
        match action {
            ModelAction::Pass => self.now += 1,
            ModelAction::Advance => drop(board.advance(now)),
            ModelAction::Queue(index) => drop(board.queue(&self.scene.tickets[index], now)?),
            ModelAction::Decide(id, approve) => drop(board.decide(id, approve, "she", "so", now)?),
            ModelAction::Assign(assignment) => board.assign(assignment)?,
            ModelAction::Begin(command) => drop(board.begin(command)?),
            ModelAction::Adopt(command) => drop(board.adopt(command)?),
            ModelAction::Started(id) => drop(board.started(id, now)?),
            ModelAction::NotStarted(id) => {
                let reason = ExecutionFailure::Spawn { domain: None, error: "no".to_owned() };
                drop(board.not_started(id, reason, now)?);
            }
            ModelAction::Broken(id) => drop(board.broken(id, "it broke".to_owned(), now)?),
            ModelAction::Exited(id, exit) => board.exited(id, exit, now)?,
            ModelAction::Drained(id) => drop(board.drained(id, now)?),
            ModelAction::Cancel(command) => drop(board.cancel(command, now)?),
            ModelAction::RemoveAgent(agent) => board.remove_agent(agent)?,
            ModelAction::Forget(command) => board.forget(command)?,
        }
        Ok(())
    }

    /// Whether a later state still has every line of the trail, in its place and as it was.
    fn has_kept_its_trail(&self, later: &Self) -> bool {
        let (before, after) = (self.board.approvals(), later.board.approvals());
        before.trail.iter().all(|(id, lines)| match after.trail.get(id) {
            Some(kept) => kept.starts_with(lines),
            // A command is forgotten with its request and what was decided on it.
            None => after.get(*id).is_none(),
        })
    }

    /// Whether everything ends if nothing happens but what the scheduler does by itself, and
    /// every process that is started exits.
    fn can_end(&self) -> bool {
        let mut board = self.board.clone();
        for round in 1..12 {
            if board.unfinished().next().is_none() {
                return true;
            }
            let now = Moment::since_1970(Duration::from_nanos(self.now) + WAIT * round);
            board.advance(now);
            for id in board.live().collect::<Vec<_>>() {
                let state = board.execution(id).map(|execution| execution.state.clone());
                drop(match state {
                    Some(ExecutionState::Starting { .. }) => board.started(id, now),
                    Some(ExecutionState::Draining { .. }) => board.drained(id, now),
                    _ => board.exited(id, Some(ExitStatus::Code(0)), now).map(|()| Vec::new()),
                });
            }
            while let Some(assignment) = board.next_assignment() {
                board.assign(assignment).ok();
            }
            for command in board.assigned() {
                board.begin(command).ok();
            }
        }
        false
    }
}

/// What the checker walks through.
#[derive(Clone)]
struct ModelWorld {
    scenes: Vec<BoardScene>,
    /// The rule that does not hold.
    broken: Option<Rule>,
}

impl Model for ModelWorld {
    type State = ModelState;
    type Action = ModelAction;

    fn init_states(&self) -> Vec<ModelState> {
        let state = |scene: &BoardScene| {
            let mut board = Board::breaking(scene.limits(), self.broken);
            board.add_agent(&[Capability::Shell]).unwrap();
            board.add_agent(&[Capability::Shell, Capability::Agent]).unwrap();
            ModelState { scene: scene.clone(), board, now: 1, trail_kept: true }
        };
        self.scenes.iter().map(state).collect()
    }

    fn actions(&self, state: &ModelState, actions: &mut Vec<ModelAction>) {
        let agents = [AgentId(0), AgentId(1)];
        if state.now <= state.scene.waits {
            actions.push(ModelAction::Pass);
        }
        actions.extend([ModelAction::Advance, ModelAction::Queue(0), ModelAction::Queue(1)]);
        for id in (0..state.board.approvals().next).map(ApprovalId) {
            actions.extend([ModelAction::Decide(id, true), ModelAction::Decide(id, false)]);
        }
        for command in [CommandId(0), CommandId(1)] {
            actions.extend(
                agents.map(|agent| ModelAction::Assign(AgentAssignment { command, agent })),
            );
            actions.extend([ModelAction::Begin(command), ModelAction::Cancel(command)]);
            actions.extend(state.scene.adopting.then_some(ModelAction::Adopt(command)));
            actions.extend(state.scene.leaving.then_some(ModelAction::Forget(command)));
        }
        for id in (0..state.board.next_execution).map(ExecutionId) {
            actions.extend([
                ModelAction::Started(id),
                ModelAction::NotStarted(id),
                ModelAction::Broken(id),
                ModelAction::Exited(id, Some(ExitStatus::Code(0))),
                ModelAction::Exited(id, None),
                ModelAction::Drained(id),
            ]);
        }
        if state.scene.leaving {
            actions.extend(agents.map(ModelAction::RemoveAgent));
        }
    }

    fn next_state(&self, state: &ModelState, action: ModelAction) -> Option<ModelState> {
        let mut next = state.clone();
        if next.take(action).is_err() {
            assert!(next == *state, "{action:?} was refused and changed something: {state:#?}");
        }
        next.trail_kept = state.trail_kept && state.has_kept_its_trail(&next);
        (next != *state).then_some(next)
    }

    /// With a broken rule, only the promise that depends on it is of interest.
    fn properties(&self) -> Vec<Property<Self>> {
        let always = checks::ALWAYS.iter().map(|(name, holds)| Property::always(name, *holds));
        if let Some(rule) = self.broken {
            let name = checks::promise(rule);
            return always.filter(|property| property.name == name).collect();
        }
        let sometimes = checks::SOMETIMES.iter();
        let sometimes = sometimes.map(|(name, holds)| Property::sometimes(name, *holds));
        always.chain(sometimes).collect()
    }

    /// Only a broken rule lets commands run more often.
    fn within_boundary(&self, state: &ModelState) -> bool {
        state.board.next_execution <= 3
    }
}
