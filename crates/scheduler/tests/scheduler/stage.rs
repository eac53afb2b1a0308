//! A runtime on a played domain with a clock that is moved by hand, as most tests of scheduling
//! want it.

use std::sync::Arc;
use std::time::Duration;

use coven_runtime::mock::{MockDomain, Script};
use coven_scheduler::agent::AgentState;
use coven_scheduler::agent_runtime::{AgentRuntime, RuntimeConfig};
use coven_scheduler::approval::ApprovalId;
use coven_scheduler::clock::ManualClock;
use coven_scheduler::command::{AgentCommand, Capability, CommandId};
use coven_scheduler::execution::{ExecutionId, ExecutionOutcome, ExecutionState};
use coven_scheduler::invariants;
use coven_scheduler::scheduler::{Completion, TickResult};

pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// More ticks than anything here takes.
const MAX_TICKS: usize = 1000;
/// A played process may have nothing to say for a few ticks.
const QUIET: usize = 5;

pub(crate) struct Stage {
    pub(crate) runtime: AgentRuntime,
    pub(crate) domain: MockDomain,
    pub(crate) clock: Arc<ManualClock>,
}

impl Stage {
    /// With this many agents that can do shell commands, and as many slots.
    pub(crate) fn new(agents: usize) -> Self {
        Self::with(agents, |config| config)
    }

    pub(crate) fn with(agents: usize, change: impl FnOnce(RuntimeConfig) -> RuntimeConfig) -> Self {
        let (domain, clock) = (MockDomain::new(), Arc::new(ManualClock::new()));
        let config = change(RuntimeConfig {
            max_agents: agents,
            stop_grace: GRACE,
            drain_grace: GRACE,
            clock: Arc::<ManualClock>::clone(&clock),
            ..RuntimeConfig::default()
        });
        let mut runtime = AgentRuntime::new(config).unwrap();
        runtime.set_default_domain(Arc::new(domain.clone()));
        for _ in 0..agents {
            runtime.spawn_agent(&[Capability::Shell]).unwrap();
        }
        Self { runtime, domain, clock }
    }

    /// Queues a command that plays this.
    pub(crate) fn play(&mut self, id: u64, script: Script) {
        self.queue(line(id), script);
    }

    /// Queues this command and has it play this.
    pub(crate) fn queue(&mut self, command: AgentCommand, script: Script) {
        self.domain.on_line(&text(command.id.0), script);
        self.runtime.queue_command(command).unwrap();
    }

    /// A tick after which every promise holds.
    pub(crate) fn tick(&mut self) -> TickResult {
        let result = self.runtime.tick();
        invariants::check(self.runtime.board()).unwrap();
        result
    }

    /// Ticks until nothing happens any more, and returns what did.
    pub(crate) fn settle(&mut self) -> Vec<Completion> {
        let mut completions = Vec::new();
        let mut quiet = 0;
        for _ in 0..MAX_TICKS {
            let result = self.tick();
            quiet = if result.is_quiet() { quiet + 1 } else { 0 };
            if quiet == QUIET {
                return completions;
            }
            completions.extend(result.completions);
        }
        panic!("it never settles");
    }

    /// The one completion there is when everything has settled.
    pub(crate) fn settle_one(&mut self) -> Completion {
        let mut completions = self.settle();
        assert_eq!(completions.len(), 1, "{completions:?}");
        completions.remove(0)
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.clock.advance(time);
    }

    pub(crate) fn state(&self, execution: u64) -> &ExecutionState {
        self.runtime.board().execution(ExecutionId(execution)).unwrap().state()
    }

    pub(crate) fn is_idle(&self) -> bool {
        let board = self.runtime.board();
        let agents = (0..).map_while(|id| board.agent(coven_scheduler::agent::AgentId(id)));
        let mut states = agents.map(coven_scheduler::agent::AgentRecord::state);
        board.live().next().is_none() && states.all(|state| state == AgentState::Idle)
    }

    /// The requests that wait for a decision.
    pub(crate) fn questions(&self) -> Vec<ApprovalId> {
        let pending = self.runtime.board().approvals().pending();
        pending.map(coven_scheduler::approval::Approval::id).collect()
    }
}

fn text(id: u64) -> String {
    format!("run {id}")
}

/// A command that plays what [`Stage::queue`] says.
pub(crate) fn line(id: u64) -> AgentCommand {
    AgentCommand::shell(CommandId(id), text(id))
}

/// The outcomes by command.
pub(crate) fn outcomes(completions: &[Completion]) -> Vec<(u64, String)> {
    completions.iter().map(|done| (done.command.0, done.outcome.to_string())).collect()
}

/// The commands in the order they ended.
pub(crate) fn order(completions: &[Completion]) -> Vec<u64> {
    completions.iter().map(|done| done.command.0).collect()
}

pub(crate) fn succeeded(completion: &Completion) -> bool {
    completion.outcome == ExecutionOutcome::Succeeded
}
