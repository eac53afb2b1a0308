//! The runtime from outside: what a tick does and tells, and who hears of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use coven_runtime::mock::{MockDomain, Script};
use coven_scheduler::agent::AgentId;
use coven_scheduler::agent_runtime::{AgentRuntime, RuntimeConfig};
use coven_scheduler::approval::ApprovalId;
use coven_scheduler::clock::{ManualClock, Moment};
use coven_scheduler::command::{Capability, CommandId};
use coven_scheduler::execution::ExecutionId;
use coven_scheduler::scheduler::{AgentAssignment, CommandState, Completion, IllegalTransition};

use crate::stage::{GRACE, Stage, line, order, outcomes};

/// Spec: RT.8
#[test]
fn a_tick_tells_what_was_assigned_started_and_ended() {
    let mut stage = Stage::new(2);
    for id in 0..3 {
        stage.play(id, Script::new());
    }
    let result = stage.tick();
    let assignment = |id| AgentAssignment { command: CommandId(id), agent: AgentId(id) };
    assert_eq!(result.assignments, [assignment(0), assignment(1)]);
    assert_eq!(result.executions_started, [ExecutionId(0), ExecutionId(1)]);
    assert_eq!(order(&result.completions), [0; 0]);

    let result = stage.tick();
    assert_eq!(order(&result.completions), [0, 1]);
    let third = AgentAssignment { command: CommandId(2), agent: AgentId(0) };
    assert_eq!(result.assignments, [third], "in the same tick in which the agent became idle");
    assert_eq!(result.executions_started, [ExecutionId(2)]);
    assert_eq!(order(&stage.tick().completions), [2]);
    assert!(stage.tick().is_quiet());
}

/// Spec: RT.8
#[test]
fn the_callback_hears_of_every_end_once() {
    let mut stage = Stage::new(1);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let writer = Arc::clone(&heard);
    stage.runtime.set_completion_callback(Box::new(move |done: &Completion| {
        writer.lock().unwrap().push((done.command.0, done.outcome.to_string()));
    }));
    stage.play(0, Script::new());
    stage.play(1, Script::new().exit(1));
    stage.queue(line(2).after([CommandId(1)]), Script::new());
    stage.queue(line(3).needing_approval(Some(Duration::ZERO)), Script::new());
    stage.play(4, Script::new());
    stage.runtime.cancel(CommandId(4)).unwrap();
    let told = outcomes(&stage.settle());
    assert_eq!(told.len(), 5);
    assert_eq!(*heard.lock().unwrap(), told);
}

/// Spec: RT.8
#[test]
fn without_automatic_assignment_commands_wait_for_a_caller() {
    let mut stage = Stage::with(1, |mut config| {
        config.auto_assign = false;
        config
    });
    stage.play(0, Script::new());
    stage.play(1, Script::new());
    assert_eq!(stage.settle().len(), 0);
    let assignment = AgentAssignment { command: CommandId(1), agent: AgentId(0) };
    stage.runtime.assign(assignment).unwrap();
    assert_eq!(order(&stage.settle()), [1], "begun automatically, in the caller's order");
}

/// Spec: RT.8
#[test]
fn without_automatic_execution_agents_wait_for_a_caller() {
    let mut stage = Stage::with(1, |mut config| {
        config.auto_execute = false;
        config
    });
    stage.play(0, Script::new());
    assert_eq!(stage.settle().len(), 0);
    let assigned = CommandState::Assigned { agent: AgentId(0) };
    assert_eq!(stage.runtime.board().command(CommandId(0)).unwrap().state(), &assigned);
    stage.runtime.begin_execution(CommandId(0)).unwrap();
    assert_eq!(order(&stage.settle()), [0]);
}

/// Spec: RT.8
#[test]
fn a_batch_runs_to_its_end_in_one_call() {
    let mut stage = Stage::new(2);
    for id in 0..20 {
        stage.play(id, Script::new().output("x").pause().exit((id % 3) as i32));
    }
    let result = stage.runtime.run_until_complete();
    assert_eq!(order(&result.completions), (0..20).collect::<Vec<_>>());
    assert_eq!(result.executions_started.len(), 20);
    assert_eq!(stage.runtime.board().unfinished().count(), 0);
}

/// Spec: RT.8
#[test]
fn a_batch_that_cannot_go_on_by_itself_returns() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new());
    stage.queue(line(1).needing_approval(None), Script::new());
    stage.queue(line(2).needing(Capability::Agent), Script::new());
    let result = stage.runtime.run_until_complete();
    assert_eq!(order(&result.completions), [0]);
    let left: Vec<_> = stage.runtime.board().unfinished().collect();
    assert_eq!(left, [CommandId(1), CommandId(2)]);
    stage.runtime.reject(ApprovalId(1), "ada", "no").unwrap();
    assert_eq!(order(&stage.runtime.run_until_complete().completions), [1]);
}

/// Spec: RT.8
#[test]
fn a_batch_waits_for_deadlines() {
    let clock = Arc::new(ManualClock::stepping(Duration::from_secs(1)));
    let config = RuntimeConfig { stop_grace: GRACE, clock, ..RuntimeConfig::default() };
    let mut runtime = AgentRuntime::new(config).unwrap();
    let domain = MockDomain::new();
    domain.on_line("run 0", Script::new().hang().ignore_polite_stop());
    runtime.set_default_domain(Arc::new(domain));
    runtime.spawn_agent(&[Capability::Shell]).unwrap();
    runtime.queue_command(line(0)).unwrap();
    runtime.tick();
    runtime.cancel(CommandId(0)).unwrap();
    let wait = Some(Duration::from_mins(1));
    runtime.queue_command(line(1).needing_approval(wait)).unwrap();
    let result = runtime.run_until_complete();
    assert_eq!(order(&result.completions), [0, 1]);
    assert_eq!(result.approval_timeouts, [ApprovalId(1)]);
}

#[test]
fn a_tick_is_due_at_once_when_there_is_something_to_do() {
    let mut stage = Stage::new(1);
    assert_eq!(stage.runtime.next_deadline(), Some(Moment::BEGINNING), "an agent came");
    stage.settle();
    assert_eq!(stage.runtime.next_deadline(), None);
    stage.queue(line(0).needing_approval(None), Script::new());
    stage.settle();
    assert_eq!(stage.runtime.next_deadline(), None);
    stage.runtime.cancel(CommandId(0)).unwrap();
    assert_eq!(stage.runtime.next_deadline(), Some(Moment::BEGINNING), "an end is to be told");
    stage.settle();
    assert_eq!(stage.runtime.next_deadline(), None);

    stage.play(1, Script::new().hang());
    stage.settle();
    let at_once = Some(Moment::BEGINNING);
    assert_eq!(stage.runtime.next_deadline(), at_once, "a played process cannot call us");
}

#[test]
fn with_fewer_slots_than_agents_commands_wait_their_turn() {
    let mut stage = Stage::with(3, |mut config| {
        config.slots = Some(1);
        config
    });
    for id in 0..5 {
        stage.play(id, Script::new());
    }
    let result = stage.runtime.run_until_complete();
    assert_eq!(order(&result.completions), [0, 1, 2, 3, 4]);
    assert!(result.errors.is_empty(), "{:?}", result.errors);
}

#[test]
fn what_a_command_carries_comes_back_with_its_end() {
    let mut stage = Stage::new(1);
    let mut command = line(0);
    command.metadata.insert("task".to_owned(), "build.3".to_owned());
    stage.queue(command, Script::new());
    assert_eq!(stage.settle_one().metadata["task"], "build.3");
}

#[test]
fn a_runtime_that_is_dropped_lets_its_panes_go() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().hang());
    stage.tick();
    let domain = stage.domain.clone();
    drop(stage);
    assert!(domain.played(0).unwrap().dropped);
}

#[test]
fn a_runtime_can_be_moved_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<AgentRuntime>();
}

/// Spec: RT.9
#[test]
fn a_full_queue_takes_no_command_until_one_of_it_has_an_agent() {
    let mut stage = Stage::with(1, |config| RuntimeConfig { max_queue: 2, ..config });
    stage.play(0, Script::new());
    stage.play(1, Script::new());
    let refused = stage.runtime.queue_command(line(2)).unwrap_err();
    assert_eq!(refused, IllegalTransition::QueueFull { command: CommandId(2), limit: 2 });
    assert_eq!(
        refused.to_string(),
        "the queue is full: 2 commands wait already; queue command 2 again when one has begun"
    );
    stage.tick();
    stage.play(2, Script::new());
    assert_eq!(order(&stage.settle()), [0, 1, 2], "what was refused could be queued again");
}

/// Spec: RT.9
#[test]
fn a_command_that_needs_two_capabilities_waits_for_an_agent_that_has_both() {
    let mut stage = Stage::new(1);
    let both = [Capability::Shell, Capability::Named("gpu".to_owned())];
    stage.queue(line(0).needing_all(both.clone()), Script::new());
    stage.play(1, Script::new());
    assert_eq!(order(&stage.settle()), [1], "the one agent has only the shell");
    stage.runtime.remove_agent(AgentId(0)).unwrap();
    stage.runtime.spawn_agent(&both[1..]).unwrap();
    assert_eq!(order(&stage.settle()), [0; 0], "and this one only the other");
    stage.runtime.remove_agent(AgentId(1)).unwrap();
    stage.runtime.spawn_agent(&both).unwrap();
    assert_eq!(order(&stage.settle()), [0]);
}
