//! The runtime: a scheduler with a clock, driven by one call, [`AgentRuntime::tick`]. It knows no
//! event loop; any loop can drive it by waiting for its descriptor and its next deadline.

mod config;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use coven_runtime::domain::Domain;
use coven_terminal::screen::{GridSize, Screen};

use crate::agent::AgentId;
use crate::approval::ApprovalId;
use crate::clock::Moment;
use crate::command::{AgentCommand, Capability, CommandId};
use crate::execution::ExecutionId;
use crate::scheduler::{
    AgentAssignment, Board, Completion, Error, IllegalTransition, Scheduler, TickResult,
};
use crate::slot::TerminalSlot;

pub use config::RuntimeConfig;

/// Hears of every command that ended, once each.
pub trait CompletionCallback: Send {
    /// Called once for each command that ended.
    fn completed(&mut self, completion: &Completion);
}

impl<F: FnMut(&Completion) + Send> CompletionCallback for F {
    fn completed(&mut self, completion: &Completion) {
        self(completion);
    }
}

/// Runs commands by agents on terminals.
///
/// ```
/// use std::sync::Arc;
///
/// use coven_scheduler::agent_runtime::{AgentRuntime, CompletionCallback, RuntimeConfig};
/// use coven_scheduler::command::{Capability, AgentCommand, CommandId};
/// use coven_scheduler::execution::ExecutionOutcome;
/// use coven_runtime::mock::{MockDomain, Script};
/// use coven_scheduler::scheduler::Completion;
///
/// struct MyCallback;
///
/// impl CompletionCallback for MyCallback {
///     fn completed(&mut self, completion: &Completion) {
///         assert_eq!(completion.outcome, ExecutionOutcome::Succeeded);
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Create the runtime.
/// let domain = MockDomain::new();
/// domain.on_line("echo hello", Script::new().output("hello\r\n").exit(0));
/// let mut runtime = AgentRuntime::new(RuntimeConfig::default())?;
/// runtime.set_default_domain(Arc::new(domain));
/// runtime.set_completion_callback(Box::new(MyCallback));
///
/// // Spawn agents and queue commands.
/// runtime.spawn_agent(&[Capability::Shell])?;
/// runtime.queue_command(AgentCommand::shell(CommandId(0), "echo hello"))?;
///
/// // The main loop.
/// loop {
///     let result = runtime.tick();
///     // It has assignments, executions_started, completions, approval_timeouts, errors.
///     if let Some(completion) = result.completions.first() {
///         let capture = completion.capture.as_ref().ok_or("it was started")?;
///         assert_eq!(capture.output.text(), "hello\r\n");
///         assert_eq!(capture.screen.as_ref().ok_or("on a terminal")?.text(), "hello");
///         break;
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct AgentRuntime {
    config: RuntimeConfig,
    scheduler: Scheduler,
    callback: Option<Box<dyn CompletionCallback>>,
}

impl AgentRuntime {
    /// A runtime without agents and commands. It needs a descriptor of its own, which is what can
    /// fail.
    pub fn new(config: RuntimeConfig) -> io::Result<Self> {
        let scheduler = Scheduler::new(config.scheduler())?;
        Ok(Self { config, scheduler, callback: None })
    }

    /// Where commands start that do not name a domain.
    pub fn set_default_domain(&mut self, domain: Arc<dyn Domain>) {
        self.scheduler.domains_mut().set_default(domain);
    }

    /// Adds a domain that commands can name. The first becomes the default.
    pub fn register_domain(&mut self, domain: Arc<dyn Domain>) {
        self.scheduler.domains_mut().register(domain);
    }

    /// Who hears of completions.
    pub fn set_completion_callback(&mut self, callback: Box<dyn CompletionCallback>) {
        self.callback = Some(callback);
    }

    /// Adds an agent with these capabilities.
    pub fn spawn_agent(
        &mut self,
        capabilities: &[Capability],
    ) -> Result<AgentId, IllegalTransition> {
        self.scheduler.add_agent(capabilities)
    }

    /// Removes an agent that has nothing to do, which makes room for another.
    pub fn remove_agent(&mut self, agent: AgentId) -> Result<(), IllegalTransition> {
        self.scheduler.remove_agent(agent)
    }

    /// Takes a command in. It starts in a later tick, when it is approved, what it depends on has
    /// succeeded, and an agent and a slot are free: first come, first served.
    pub fn queue_command(&mut self, command: AgentCommand) -> Result<(), IllegalTransition> {
        self.scheduler.queue(command, self.config.clock.now())
    }

    /// Lets a command run. [`Board::approvals`] has what is asked for.
    pub fn approve(
        &mut self,
        id: ApprovalId,
        by: &str,
        reason: &str,
    ) -> Result<(), IllegalTransition> {
        self.scheduler.decide(id, true, by, reason, self.config.clock.now())
    }

    /// Does not let a command run.
    pub fn reject(
        &mut self,
        id: ApprovalId,
        by: &str,
        reason: &str,
    ) -> Result<(), IllegalTransition> {
        self.scheduler.decide(id, false, by, reason, self.config.clock.now())
    }

    /// Cancels a command. One that has not begun never will. One that runs is asked to end, forced
    /// after the grace, and has ended when its process is gone.
    pub fn cancel(&mut self, command: CommandId) -> Result<(), IllegalTransition> {
        self.scheduler.cancel(command, self.config.clock.now())
    }

    /// Forgets a command that has ended. What has ended takes memory until then; forgotten ids, and
    /// all lower ones, are used up.
    pub fn forget(&mut self, command: CommandId) -> Result<(), IllegalTransition> {
        self.scheduler.forget(command)
    }

    /// Gives a command to an agent by hand.
    pub fn assign(&mut self, assignment: AgentAssignment) -> Result<(), IllegalTransition> {
        self.scheduler.assign(assignment)
    }

    /// Begins by hand a command that an agent has.
    pub fn begin_execution(&mut self, command: CommandId) -> Result<ExecutionId, Error> {
        self.scheduler.begin_execution(command, self.config.clock.now())
    }

    /// Does what is to be done now and tells what happened since the last time. It never waits.
    pub fn tick(&mut self) -> TickResult {
        let now = self.config.clock.now();
        self.scheduler.advance(now);
        self.scheduler.turn(now);
        self.scheduler.plan(self.config.auto_assign, self.config.auto_execute, now);
        let result = self.scheduler.take_report();
        if let Some(callback) = &mut self.callback {
            result.completions.iter().for_each(|completion| callback.completed(completion));
        }
        result
    }

    /// When the next tick is due although no pane has anything to say: a moment in the past if
    /// right now, nothing if never. With [`AgentRuntime::as_fd`] this is all a loop has to wait
    /// for.
    pub fn next_deadline(&self) -> Option<Moment> {
        self.scheduler.next_deadline()
    }

    /// How long it is until [`AgentRuntime::next_deadline`]: nothing left if that has passed.
    pub(crate) fn time_to_next_deadline(&self) -> Option<Duration> {
        let clock = &self.config.clock;
        self.next_deadline().map(|deadline| clock.wait(clock.now().until(deadline)))
    }

    /// Ticks until every command has ended, or until the rest cannot go on without a caller: it
    /// waits for an approval without a deadline, for an agent that does not exist, or to be
    /// started by hand. [`Board::unfinished`] tells. Returns everything that happened.
    pub fn run_until_complete(&mut self) -> TickResult {
        let mut all = TickResult::default();
        loop {
            let result = self.tick();
            let quiet = result.is_quiet();
            all.append(result);
            let board = self.scheduler.board();
            if board.unfinished().next().is_none() {
                return all;
            }
            let deadline = self.next_deadline();
            if !quiet || deadline == Some(Moment::BEGINNING) {
                continue;
            }
            if deadline.is_none() && board.live().next().is_none() {
                return all;
            }
            if let Err(error) = self.scheduler.wait(self.time_to_next_deadline()) {
                all.errors.push(Error::Wait(error));
                return all;
            }
        }
    }

    /// Everything that is known of agents, commands, approvals and executions.
    pub fn board(&self) -> &Board {
        self.scheduler.board()
    }

    /// The slot of an execution, from its start to its end.
    pub fn slot(&self, execution: ExecutionId) -> Option<&TerminalSlot> {
        self.scheduler.slot(execution)
    }

    /// The screen of an execution that runs on a terminal.
    pub fn screen(&mut self, execution: ExecutionId) -> Option<&mut Screen> {
        self.scheduler.slot_mut(execution).ok()?.screen.as_mut()
    }

    /// Writes to a program, or keeps what it does not take now for later: all of it, or with an
    /// error nothing.
    pub fn send(&mut self, execution: ExecutionId, bytes: &[u8]) -> Result<(), Error> {
        self.scheduler.send(execution, bytes)
    }

    /// Lets a program read an end of file after what was sent so far.
    pub fn close_input(&mut self, execution: ExecutionId) -> Result<(), Error> {
        self.scheduler.close_input(execution)
    }

    /// Changes the size of a program's terminal and of its screen.
    pub fn resize(&mut self, execution: ExecutionId, size: GridSize) -> Result<(), Error> {
        self.scheduler.resize(execution, size)
    }
}

/// Readable when a pane has something to say: then it is time for a tick.
impl AsFd for AgentRuntime {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.scheduler.as_fd()
    }
}
