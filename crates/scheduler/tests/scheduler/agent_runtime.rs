//! The whole runtime on real processes: local ones and held ones, driven by its own loop and by
//! tokio.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use coven_runtime::domain::{Connection, Domain, ExitStatus, SpawnConfig};
use coven_runtime::processes;
use coven_runtime::{HolderDomain, LocalDomain};
use coven_scheduler::agent_runtime::{AgentRuntime, RuntimeConfig};
use coven_scheduler::command::{AgentCommand, Capability, CommandId};
use coven_scheduler::drive::SchedulerDriver;
use coven_scheduler::execution::{ExecutionFailure, ExecutionOutcome};
use coven_scheduler::scheduler::Completion;
use coven_testkit::panes;
use coven_testkit::programs::TestProgram;

fn domain() -> HolderDomain {
    HolderDomain::new(TestProgram::Holder.path())
}

/// A folder for attempts that leaves no process behind, whatever a test does.
struct Attempts {
    root: tempfile::TempDir,
    jobs: RefCell<Vec<String>>,
}

impl Attempts {
    fn new() -> Self {
        let root = coven_testkit::folders::temporary().unwrap();
        Self { root, jobs: RefCell::default() }
    }

    fn config(&self, script: &str, connection: Connection) -> SpawnConfig {
        let mut config = panes::shell(script, connection, self.root.path());
        config.folder = Some(self.root.path().join(&config.job));
        self.jobs.borrow_mut().push(config.job.clone());
        config
    }
}

impl Drop for Attempts {
    fn drop(&mut self) {
        for job in self.jobs.borrow().iter() {
            // Without its process a holder ends too.
            processes::end_all(|| processes::of_job(job), Duration::from_secs(5));
        }
    }
}

fn runtime(domain: Arc<dyn Domain>, agents: usize) -> AgentRuntime {
    let config =
        RuntimeConfig { stop_grace: Duration::from_millis(50), ..RuntimeConfig::default() };
    let mut runtime = AgentRuntime::new(config).unwrap();
    runtime.set_default_domain(domain);
    for _ in 0..agents {
        runtime.spawn_agent(&[Capability::Shell]).unwrap();
    }
    runtime
}

fn held(attempts: &Attempts, id: u64, line: &str) -> AgentCommand {
    let config = attempts.config(line, panes::terminal());
    let mut command = AgentCommand::shell(CommandId(id), line);
    command.folder = config.folder;
    command.job = Some(config.job);
    command
}

fn text(completion: &Completion) -> String {
    completion.capture.as_ref().unwrap().output.text()
}

/// Spec: RT.1, RT.2, RT.3, RT.4, RT.6, RT.8
#[test]
fn commands_really_run_and_their_end_is_theirs() {
    let mut runtime = runtime(Arc::new(LocalDomain::new()), 2);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = Arc::clone(&heard);
    runtime.set_completion_callback(Box::new(move |completion: &Completion| {
        ears.lock().unwrap().push(completion.command);
    }));
    for (id, line) in
        ["echo hello", "stty size", "exit 3", "kill -9 $$", "echo on a pipe"].iter().enumerate()
    {
        let mut command = AgentCommand::shell(CommandId(id as u64), *line);
        if id == 4 {
            command.connection = Some(Connection::Pipes);
        }
        runtime.queue_command(command).unwrap();
    }
    let mut completions = runtime.run_until_complete().completions;
    completions.sort_by_key(|completion| completion.command);
    let outcomes: Vec<ExecutionOutcome> =
        completions.iter().map(|done| done.outcome.clone()).collect();
    assert_eq!(
        outcomes,
        [
            ExecutionOutcome::Succeeded,
            ExecutionOutcome::Succeeded,
            ExecutionOutcome::Failed(ExecutionFailure::Exit(ExitStatus::Code(3))),
            ExecutionOutcome::Failed(ExecutionFailure::Exit(ExitStatus::Signal(9))),
            ExecutionOutcome::Succeeded,
        ]
    );
    assert_eq!(text(&completions[0]), "hello\r\n");
    assert_eq!(text(&completions[1]), "24 80\r\n");
    assert_eq!(text(&completions[4]), "on a pipe\n");
    let screen = completions[0].capture.as_ref().unwrap().screen.as_ref().unwrap();
    assert_eq!(screen.text(), "hello");
    assert_eq!(heard.lock().unwrap().len(), 5, "each was told once");
    assert_eq!(runtime.board().live().count(), 0, "every slot is free again");
}

/// Spec: RT.5
#[test]
fn what_cannot_start_fails_with_its_reason_and_frees_its_slot() {
    let mut runtime = runtime(Arc::new(LocalDomain::new()), 1);
    runtime.queue_command(AgentCommand::program(CommandId(0), ["no-such-program"])).unwrap();
    runtime.queue_command(AgentCommand::shell(CommandId(1), "echo next")).unwrap();
    let result = runtime.run_until_complete();
    assert_eq!(result.errors.len(), 1);
    assert!(
        result.errors[0].to_string().contains("`no-such-program` was not found"),
        "{:?}",
        result.errors
    );
    let outcomes: Vec<&ExecutionOutcome> =
        result.completions.iter().map(|done| &done.outcome).collect();
    assert!(
        matches!(
            outcomes[..],
            [ExecutionOutcome::Failed(ExecutionFailure::Spawn { .. }), ExecutionOutcome::Succeeded]
        ),
        "{outcomes:?}"
    );
}

/// Spec: RT.9
#[test]
fn cancelling_a_hostile_command_ends_all_of_it() {
    let attempts = Attempts::new();
    let mut runtime = runtime(Arc::new(domain()), 1);
    let command = held(&attempts, 0, panes::HOSTILE);
    let job = command.job.clone().unwrap();
    runtime.queue_command(command).unwrap();
    runtime.queue_command(held(&attempts, 1, "echo never")).unwrap();
    let started = runtime.tick().executions_started;
    assert_eq!(started.len(), 1);
    runtime.cancel(CommandId(1)).unwrap();
    runtime.cancel(CommandId(0)).unwrap();
    let completions = runtime.run_until_complete().completions;
    assert!(
        completions.iter().all(|done| matches!(done.outcome, ExecutionOutcome::Cancelled { .. })),
        "{completions:?}"
    );
    assert_eq!(processes::of_job(&job), []);
}

/// Spec: RT.3, RT.8
#[test]
fn tokio_drives_held_and_local_commands_without_polling() {
    let attempts = Attempts::new();
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    executor.block_on(async {
        let mut runtime = runtime(Arc::new(domain()), 8);
        let driver = SchedulerDriver::new(&runtime).unwrap();
        for id in 0..8 {
            let line = format!("sleep 0.{id}; seq 1 20000; exit {id}");
            let mut command = held(&attempts, id, &line);
            command.connection = Some(Connection::Pipes);
            runtime.queue_command(command).unwrap();
        }
        let (mut ticks, mut completions) = (0, Vec::new());
        while completions.len() < 8 {
            let tick = tokio::time::timeout(panes::DEADLINE, driver.tick(&mut runtime));
            completions.extend(tick.await.unwrap().unwrap().completions);
            ticks += 1;
        }
        for done in &completions {
            let code = done.command.0 as i32;
            match &done.outcome {
                ExecutionOutcome::Succeeded => assert_eq!(code, 0),
                ExecutionOutcome::Failed(ExecutionFailure::Exit(status)) => {
                    assert_eq!(*status, ExitStatus::Code(code));
                }
                other => panic!("{other:?}"),
            }
            assert!(text(done).ends_with("19999\n20000\n"));
        }
        // Something happened in every tick: eight jobs with about 110 KB each.
        assert!(ticks < 2000, "{ticks} ticks");
    });
}
