//! The way of a command: slot, pane, terminal, end, and the slot back in the pool.

use std::sync::Arc;

use coven_runtime::domain::{Connection, DomainId, Sandbox};
use coven_runtime::mock::{MockDomain, Script};
use coven_scheduler::agent::{AgentId, AgentState};
use coven_scheduler::approval::{ApprovalState, ApprovalVerdict};
use coven_scheduler::command::{AgentCommand, Capability, CommandEnvironment, CommandId};
use coven_scheduler::execution::{ExecutionId, ExecutionState};
use coven_scheduler::scheduler::{AgentAssignment, CommandState, IllegalTransition};
use coven_scheduler::slot::SlotId;
use coven_terminal::screen::GridSize;

use crate::stage::{Stage, line, order, outcomes, succeeded};

/// Spec: RT.1
#[test]
fn a_slot_owns_pane_terminal_and_domain_from_start_to_end() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().output("one").pause().output(" two"));
    stage.tick();
    assert_eq!(stage.runtime.slot(ExecutionId(0)).unwrap().id(), SlotId(0));

    stage.tick();
    let slot = stage.runtime.slot(ExecutionId(0)).unwrap();
    assert_eq!(slot.execution(), ExecutionId(0));
    assert_eq!(slot.domain(), &DomainId("mock".to_owned()));
    assert_eq!(stage.runtime.screen(ExecutionId(0)).unwrap().snapshot().text(), "one");
    assert!(!stage.domain.played(0).unwrap().dropped);

    let done = stage.settle_one();
    assert_eq!(done.capture.unwrap().screen.unwrap().text(), "one two");
    assert!(stage.runtime.slot(ExecutionId(0)).is_none());
    assert!(stage.domain.played(0).unwrap().dropped, "the pane goes with the slot");
}

/// Spec: RT.1
#[test]
fn a_slot_serves_one_at_a_time_and_is_used_again() {
    let mut stage = Stage::new(2);
    for id in 0..7 {
        stage.play(id, Script::new().pause().pause());
    }
    let mut ended = Vec::new();
    let mut most = 0;
    while ended.len() < 7 {
        let result = stage.tick();
        let board = stage.runtime.board();
        let mut slots: Vec<_> =
            board.live().map(|id| stage.runtime.slot(id).unwrap().id()).collect();
        slots.dedup();
        assert_eq!(slots.len(), board.live().count(), "each has a slot of its own");
        most = most.max(slots.len());
        ended.extend(order(&result.completions));
    }
    assert_eq!(most, 2, "both slots were used, and never more");
    assert_eq!(stage.runtime.board().free_slots(), 2);
    assert!(stage.is_idle());
}

/// Spec: RT.2
#[test]
fn a_pane_comes_from_the_default_domain_or_from_the_one_that_is_named() {
    let mut stage = Stage::new(2);
    let other = MockDomain::named("other");
    stage.runtime.register_domain(Arc::new(other.clone()));
    stage.play(0, Script::new());
    stage.queue(line(1).in_domain(DomainId("other".to_owned())), Script::new());
    assert_eq!(stage.settle().len(), 2);
    let lines = |domain: &MockDomain| {
        let spawned = domain.spawned();
        spawned.iter().map(|one| one.argv.last().unwrap().clone()).collect::<Vec<_>>()
    };
    assert_eq!(lines(&stage.domain), ["run 0"]);
    assert_eq!(lines(&other), ["run 1"]);
}

/// Spec: RT.2
#[test]
fn a_terminal_is_80_by_24_unless_the_command_says_otherwise() {
    let mut stage = Stage::new(3);
    stage.play(0, Script::new().hang());
    stage.queue(line(1).on_terminal(GridSize::new(132, 50)), Script::new().hang());
    stage.queue(line(2).on_pipes(), Script::new().hang());
    stage.tick();
    let connections: Vec<_> = stage.domain.spawned().iter().map(|one| one.connection).collect();
    assert_eq!(
        connections,
        [
            Connection::Terminal(GridSize::new(80, 24)),
            Connection::Terminal(GridSize::new(132, 50)),
            Connection::Pipes,
        ]
    );
    let size = |id| Some(stage.runtime.slot(ExecutionId(id)).unwrap().screen()?.size());
    assert_eq!(size(0), Some(GridSize::new(80, 24)));
    assert_eq!(size(1), Some(GridSize::new(132, 50)));
    assert_eq!(size(2), None);
}

/// Spec: RT.2
#[test]
fn everything_a_command_says_reaches_the_domain() {
    let mut stage = Stage::new(1);
    let mut command = AgentCommand::program(CommandId(0), ["cat", "a file"]);
    command.env = CommandEnvironment::Exactly([("KEY".into(), "value".into())].into());
    command.cwd = Some("/somewhere".into());
    command.sandbox = Some(Sandbox { write: vec!["/tmp".into()], ..Sandbox::default() });
    command.folder = Some("/attempt".into());
    command.keep = Some(7);
    command.job = Some("session/task/1".to_owned());
    stage.runtime.queue_command(command.clone()).unwrap();
    stage.settle();

    let config = stage.domain.spawned().remove(0);
    assert_eq!(config.argv, ["cat", "a file"]);
    assert_eq!(CommandEnvironment::Exactly(config.env), command.env);
    assert_eq!(Some(config.cwd), command.cwd);
    assert_eq!(config.sandbox, command.sandbox);
    assert_eq!(config.folder, command.folder);
    assert_eq!(config.keep, command.keep);
    assert_eq!(config.job, "session/task/1");
}

#[test]
fn jobs_without_a_name_get_names_of_their_own() {
    let mut first = Stage::new(1);
    let mut second = Stage::new(1);
    for stage in [&mut first, &mut second] {
        stage.play(0, Script::new());
        stage.play(1, Script::new());
        stage.settle();
    }
    let spawned = [first.domain.spawned(), second.domain.spawned()].concat();
    let mut jobs: Vec<_> = spawned.into_iter().map(|config| config.job).collect();
    jobs.sort();
    jobs.dedup();
    assert_eq!(jobs.len(), 4);
}

/// Spec: RT.6, RT.7
#[test]
fn a_command_goes_the_eight_steps_from_approval_to_the_slot_back_in_the_pool() {
    let mut stage = Stage::with(1, |mut config| {
        (config.auto_assign, config.auto_execute) = (false, false);
        config
    });
    let (id, agent, execution) = (CommandId(0), AgentId(0), ExecutionId(0));
    let place = |stage: &Stage| stage.runtime.board().command(id).unwrap().state().clone();
    stage.queue(line(0).needing_approval(None), Script::new().output("hi").pause().exit(0));

    // 1. An agent accepts the command, which is approved.
    let assignment = AgentAssignment { command: id, agent };
    assert_eq!(place(&stage), CommandState::AwaitingApproval);
    assert_eq!(stage.runtime.assign(assignment), Err(IllegalTransition::NotApproved(id)));
    let question = stage.questions()[0];
    stage.runtime.approve(question, "ada", "looks harmless").unwrap();
    assert_eq!(place(&stage), CommandState::Queued);
    stage.runtime.assign(assignment).unwrap();
    assert_eq!(place(&stage), CommandState::Assigned { agent });

    // 2. to 4. It gets a slot, a pane from the domain, and a terminal.
    assert_eq!(stage.runtime.board().free_slots(), 1);
    assert_eq!(stage.runtime.begin_execution(id).unwrap(), execution);
    assert_eq!(stage.runtime.board().free_slots(), 0);
    assert_eq!(stage.domain.spawned().len(), 1);
    assert!(stage.runtime.slot(execution).unwrap().screen().is_some());
    assert_eq!(place(&stage), CommandState::Executing { execution });

    // 5. and 6. It is read: output goes to the terminal and to the buffer.
    let result = stage.tick();
    assert_eq!(result.assignments, [assignment]);
    assert_eq!(result.executions_started, [execution]);
    assert!(result.active.contains(&execution));
    assert_eq!(*stage.state(0), ExecutionState::Running);
    assert_eq!(stage.runtime.screen(execution).unwrap().snapshot().text(), "hi");

    // 7. and 8. It exits; the execution has succeeded and the slot is free.
    let done = stage.settle_one();
    assert!(succeeded(&done));
    assert_eq!(*stage.state(0), ExecutionState::Succeeded);
    assert_eq!(stage.runtime.board().free_slots(), 1);
    assert_eq!(stage.runtime.board().agent(agent).unwrap().state(), AgentState::Idle);
    let approval = stage.runtime.board().approvals().get(question).unwrap();
    assert_eq!(approval.state(), ApprovalState::Decided(ApprovalVerdict::Approved));
}

#[test]
fn first_come_first_served() {
    let mut stage = Stage::new(1);
    for id in [5, 3, 8, 1] {
        stage.play(id, Script::new());
    }
    assert_eq!(order(&stage.settle()), [5, 3, 8, 1]);
}

#[test]
fn a_command_that_cannot_start_yet_does_not_keep_others_waiting() {
    let mut stage = Stage::with(2, |mut config| {
        config.max_agents = 3;
        config
    });
    stage.queue(line(0).needing(Capability::Agent), Script::new());
    stage.queue(line(1).needing_approval(None), Script::new());
    stage.play(2, Script::new().pause());
    stage.queue(line(3).after([CommandId(2)]), Script::new());
    stage.play(4, Script::new());
    assert_eq!(order(&stage.settle()), [4, 2, 3]);

    stage.runtime.spawn_agent(&[Capability::Agent]).unwrap();
    assert_eq!(order(&stage.settle()), [0], "an agent that is capable of it came");
}

/// Spec: RT.9
#[test]
fn what_depends_on_others_starts_after_they_have_succeeded() {
    let mut stage = Stage::new(4);
    stage.play(0, Script::new().pause().pause().pause());
    stage.play(1, Script::new());
    stage.queue(line(2).after([CommandId(0), CommandId(1)]), Script::new());
    stage.tick();
    stage.tick();
    assert_eq!(stage.domain.spawned().len(), 2, "one of two is not enough");
    assert_eq!(order(&stage.settle()), [0, 2]);
}

/// Spec: RT.9
#[test]
fn what_depends_on_something_that_did_not_succeed_fails_and_says_so() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().exit(1));
    stage.queue(line(1).after([CommandId(0)]).needing_approval(None), Script::new());
    stage.queue(line(2).after([CommandId(1), CommandId(0)]), Script::new());
    stage.play(3, Script::new());
    assert_eq!(
        outcomes(&stage.settle()),
        [
            (0, "failed: it ended with exit code 1".to_owned()),
            (1, "failed: it depends on command 0, which failed".to_owned()),
            (2, "failed: it depends on command 1, which failed".to_owned()),
            (3, "succeeded".to_owned()),
        ]
    );
    assert_eq!(stage.questions(), [], "nobody is asked about what cannot run");

    stage.queue(line(4).after([CommandId(2)]), Script::new());
    assert_eq!(
        outcomes(&stage.settle()),
        [(4, "failed: it depends on command 2, which failed".to_owned())]
    );
    assert_eq!(stage.domain.spawned().len(), 2);
}

#[test]
fn a_command_is_refused_if_its_id_is_used_or_its_dependency_unknown() {
    let mut stage = Stage::new(1);
    stage.play(1, Script::new());
    let refused = |stage: &mut Stage, command| stage.runtime.queue_command(command).unwrap_err();
    assert_eq!(refused(&mut stage, line(1)), IllegalTransition::IdUsed(CommandId(1)));
    let (command, dependency) = (CommandId(2), CommandId(9));
    let unknown = IllegalTransition::NoSuchDependency { command, dependency };
    assert_eq!(refused(&mut stage, line(2).after([dependency])), unknown);
    let itself = IllegalTransition::NoSuchDependency { command, dependency: command };
    assert_eq!(refused(&mut stage, line(2).after([command])), itself);
    assert_eq!(order(&stage.settle()), [1]);
    assert_eq!(refused(&mut stage, line(1)), IllegalTransition::IdUsed(CommandId(1)));
}

#[test]
fn the_number_of_agents_is_limited_and_there_is_room_again_when_one_leaves() {
    let mut stage = Stage::new(2);
    stage.play(0, Script::new().hang());
    stage.tick();
    let spawn = |stage: &mut Stage| stage.runtime.spawn_agent(&[Capability::Shell]);
    assert_eq!(spawn(&mut stage), Err(IllegalTransition::TooManyAgents(2)));
    let busy = Err(IllegalTransition::AgentBusy(AgentId(0)));
    assert_eq!(stage.runtime.remove_agent(AgentId(0)), busy);
    stage.runtime.remove_agent(AgentId(1)).unwrap();
    assert_eq!(spawn(&mut stage), Ok(AgentId(2)));
}

#[test]
fn what_is_forgotten_is_gone_and_its_id_stays_used() {
    let mut stage = Stage::new(1);
    stage.play(3, Script::new());
    stage.queue(line(4).after([CommandId(3)]).needing_approval(None), Script::new());
    let id = CommandId(3);
    assert_eq!(stage.runtime.forget(id), Err(IllegalTransition::NotEnded(id)));
    stage.settle();
    assert_eq!(stage.runtime.forget(id), Err(IllegalTransition::StillNeeded(id)));
    let question = stage.questions()[0];
    stage.runtime.approve(question, "ada", "").unwrap();
    stage.settle();
    stage.runtime.forget(id).unwrap();
    let board = stage.runtime.board();
    assert!(board.command(id).is_none());
    assert!(board.execution(ExecutionId(0)).is_none());
    for used in [2, 3] {
        let refused = stage.runtime.queue_command(line(used));
        assert_eq!(refused, Err(IllegalTransition::IdUsed(CommandId(used))));
    }
    stage.play(5, Script::new());
    assert_eq!(order(&stage.settle()), [5]);
}
