//! How executions end: by exit, by failure, by being cancelled.

use std::io;
use std::time::Duration;

use coven_runtime::domain::{DomainId, ExitStatus, SpawnError, StopMode};
use coven_runtime::mock::{MockDomain, Script};
use coven_scheduler::agent::AgentId;
use coven_scheduler::clock::Moment;
use coven_scheduler::command::{Capability, CommandId};
use coven_scheduler::execution::{
    ExecutionFailure, ExecutionId, ExecutionOutcome, ExecutionState, StopCause,
};
use coven_scheduler::scheduler::{
    AgentAssignment, BoardLimits, CommandState, Completion, Error, IllegalTransition, Options,
    Scheduler,
};
use coven_terminal::screen::GridSize;

use crate::stage::{GRACE, Stage, line, order, outcomes, succeeded};

const MOMENT: Duration = Duration::from_nanos(1);
const POLITE: StopMode = StopMode::Polite { grace: GRACE };

/// Spec: RT.4
#[test]
fn the_exit_status_decides() {
    let ways = [
        (Script::new().exit(0), "succeeded"),
        (Script::new().exit(3), "failed: it ended with exit code 3"),
        (Script::new().killed(11), "failed: it ended with signal 11"),
        (
            Script::new().vanish(),
            "failed: it ended without an exit status, so nobody knows whether it did its work",
        ),
    ];
    let mut stage = Stage::new(1);
    for (id, (script, expected)) in (0..).zip(ways) {
        stage.play(id, script.output("last words"));
        let done = stage.settle_one();
        assert_eq!(done.outcome.to_string(), expected);
        assert_eq!(done.capture.unwrap().output.text(), "last words");
        assert_eq!(stage.state(id).outcome(), Some(done.outcome));
    }
}

/// Spec: RT.4
#[test]
fn a_program_that_closes_its_streams_has_not_ended() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().output("bye").close_streams());
    stage.settle();
    assert_eq!(*stage.state(0), ExecutionState::Running);
    stage.runtime.cancel(CommandId(0)).unwrap();
    assert_eq!(stage.settle_one().capture.unwrap().output.text(), "bye");
}

/// Spec: RT.4
#[test]
fn the_end_of_the_output_is_waited_for_but_not_for_ever() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().output("seen").exit(0).hang());
    stage.settle();
    assert!(matches!(stage.state(0), ExecutionState::Draining { .. }));
    stage.pass(GRACE.saturating_sub(MOMENT));
    assert_eq!(stage.settle().len(), 0);
    stage.pass(MOMENT);
    let done = stage.settle_one();
    assert!(succeeded(&done));
    let capture = done.capture.unwrap();
    assert_eq!(capture.output.text(), "seen");
    assert!(!capture.complete, "and it is said that something may be missing");
}

/// A scheduler without a runtime around it, with two commands begun by hand.
fn begun(scripts: [Script; 2]) -> Scheduler {
    let limits =
        BoardLimits { agents: 2, slots: 2, queue: None, stop_grace: GRACE, drain_grace: GRACE };
    let options = Options { limits, size: GridSize::default(), keep: 1000 };
    let mut scheduler = Scheduler::new(options).unwrap();
    let domain = MockDomain::new();
    let now = Moment::BEGINNING;
    for (id, script) in (0..).zip(scripts) {
        domain.next(script);
        scheduler.add_agent(&[Capability::Shell]).unwrap();
        scheduler.queue(line(id), now).unwrap();
        let assignment = AgentAssignment { command: CommandId(id), agent: AgentId(id) };
        scheduler.assign(assignment).unwrap();
    }
    scheduler.domains_mut().register(std::sync::Arc::new(domain));
    for id in 0..2 {
        scheduler.begin_execution(CommandId(id), now).unwrap();
    }
    scheduler
}

/// Spec: RT.4
#[test]
fn one_execution_can_be_checked_for_its_end() {
    let mut scheduler = begun([Script::new().pause(), Script::new().exit(0)]);
    let now = Moment::BEGINNING;
    let mut check = |id| scheduler.check_execution_completion(ExecutionId(id), now);
    let done = check(1).unwrap().unwrap();
    assert_eq!((done.command, &done.outcome), (CommandId(1), &ExecutionOutcome::Succeeded));
    assert!(check(1).unwrap().is_none(), "told once");
    assert_eq!(check(2).unwrap_err(), IllegalTransition::NoSuchExecution(ExecutionId(2)));
    assert!(check(0).unwrap().is_none(), "the other one has only now begun its pause");
    assert!(check(0).unwrap().is_some());
}

/// Spec: RT.4
#[test]
fn all_executions_can_be_checked_for_their_ends() {
    let mut scheduler = begun([Script::new().exit(0), Script::new().exit(1)]);
    let now = Moment::BEGINNING;
    assert_eq!(order(&scheduler.check_all_completions(now)), [0, 1]);
    assert_eq!(order(&scheduler.check_all_completions(now)), [0; 0]);
}

/// Spec: RT.4
#[test]
fn polling_reads_and_returns_what_ended() {
    let mut scheduler = begun([Script::new().output("x").pause(), Script::new().exit(1)]);
    let now = Moment::BEGINNING;
    assert_eq!(order(&scheduler.poll_executions(now)), [1]);
    let done = scheduler.poll_executions(now);
    assert_eq!(order(&done), [0]);
    assert_eq!(done[0].capture.as_ref().unwrap().output.text(), "x");
}

fn not_found() -> SpawnError {
    SpawnError::NotFound { program: "nope".to_owned(), path: "/bin".to_owned() }
}

/// Spec: RT.5, RT.7
#[test]
fn a_failed_start_fails_the_execution_frees_the_slot_and_is_reported() {
    let mut stage = Stage::new(1);
    stage.domain.next_fails(not_found());
    stage.play(0, Script::new());
    let result = stage.tick();
    let [Error::SpawnFailed { command: CommandId(0), execution: ExecutionId(0), source }] =
        &result.errors[..]
    else {
        panic!("{:?}", result.errors);
    };
    assert!(matches!(source, SpawnError::NotFound { .. }));
    let [done] = &result.completions[..] else { panic!("{:?}", result.completions) };
    assert_eq!(
        done.outcome.to_string(),
        "failed: it could not be started in the domain `mock`: `nope` was not found in PATH (/bin)"
    );
    assert!(done.capture.is_none());
    assert_eq!(result.executions_started, []);
    assert!(matches!(stage.state(0), ExecutionState::Failed { .. }));
    assert!(stage.is_idle());

    stage.play(1, Script::new());
    assert!(succeeded(&stage.settle_one()), "the slot is free for the next");
}

/// Spec: RT.5
#[test]
fn whoever_begins_by_hand_learns_that_the_start_failed() {
    let mut stage = Stage::with(1, |mut config| {
        config.auto_execute = false;
        config
    });
    stage.domain.next_fails(not_found());
    stage.play(0, Script::new());
    stage.tick();
    let failed = stage.runtime.begin_execution(CommandId(0)).unwrap_err();
    assert!(matches!(failed, Error::SpawnFailed { .. }), "{failed}");
    assert_eq!(stage.runtime.board().free_slots(), 1);
    let done = stage.settle_one();
    assert!(matches!(done.outcome, ExecutionOutcome::Failed(ExecutionFailure::Spawn { .. })));
}

/// Spec: RT.5
#[test]
fn without_a_free_slot_nothing_begins() {
    let mut stage = Stage::with(2, |mut config| {
        (config.slots, config.auto_execute) = (Some(1), false);
        config
    });
    stage.play(0, Script::new().pause());
    stage.play(1, Script::new());
    stage.tick();
    stage.runtime.begin_execution(CommandId(0)).unwrap();
    let none = stage.runtime.begin_execution(CommandId(1)).unwrap_err();
    assert_eq!(none.to_string(), "no terminals available: all 1 slots are in use");
    assert_eq!(order(&stage.settle()), [0]);
    stage.runtime.begin_execution(CommandId(1)).unwrap();
    assert_eq!(order(&stage.settle()), [1]);
}

/// Spec: RT.5
#[test]
fn a_domain_that_does_not_exist_is_a_failed_start() {
    let mut stage = Stage::new(1);
    stage.queue(line(0).in_domain(DomainId("mars".to_owned())), Script::new());
    let failed = outcomes(&stage.settle());
    let text = "failed: it could not be started in the domain `mars`: there is no domain `mars`";
    assert_eq!(failed, [(0, text.to_owned())]);
}

/// Spec: RT.5
#[test]
fn a_pane_that_breaks_fails_the_execution_once_its_process_is_gone() {
    let mut stage = Stage::new(1);
    let script = Script::new()
        .output("before ")
        .read_error(io::ErrorKind::ConnectionReset, "the line is dead")
        .survive_force(1);
    stage.play(0, script);
    stage.tick();
    let result = stage.tick();
    assert_eq!(result.errors[0].to_string(), "execution 0: reading it: the line is dead");
    let ExecutionState::Stopping { cause: StopCause::Broken(_), .. } = stage.state(0) else {
        panic!("{:?}", stage.state(0));
    };
    assert_eq!(stage.settle().len(), 0, "it lives");
    stage.pass(Duration::from_secs(1));
    let done = stage.settle_one();
    assert_eq!(stage.domain.played(0).unwrap().stops, [StopMode::Force, StopMode::Force]);
    assert_eq!(done.outcome.to_string(), "failed: its pane broke: reading it: the line is dead");
    let capture = done.capture.unwrap();
    assert_eq!((capture.output.text().as_str(), capture.complete), ("before ", false));
    assert!(stage.is_idle());
}

/// Spec: RT.9
#[test]
fn a_command_that_is_cancelled_before_it_began_never_runs() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().pause());
    stage.play(1, Script::new());
    stage.queue(line(2).needing_approval(None), Script::new());
    stage.queue(line(3).after([CommandId(1)]), Script::new());
    stage.tick();
    let question = stage.questions()[0];
    stage.runtime.cancel(CommandId(1)).unwrap();
    stage.runtime.cancel(CommandId(2)).unwrap();
    let ended = outcomes(&stage.settle());
    let ended: Vec<_> = ended.iter().map(|(id, text)| (*id, text.as_str())).collect();
    let dependent = "failed: it depends on command 1, which was cancelled";
    let expected = [(1, "cancelled"), (3, dependent), (2, "cancelled"), (0, "succeeded")];
    assert_eq!(ended, expected);
    assert_eq!(stage.domain.spawned().len(), 1);
    let late = stage.runtime.approve(question, "ada", "yes");
    assert_eq!(
        late,
        Err(IllegalTransition::AlreadyDecided(question)),
        "nor can it be approved any more"
    );
}

/// Spec: RT.9
#[test]
fn an_assigned_command_that_is_cancelled_sets_its_agent_free() {
    let mut stage = Stage::with(1, |mut config| {
        config.auto_execute = false;
        config
    });
    stage.play(0, Script::new());
    stage.tick();
    stage.runtime.cancel(CommandId(0)).unwrap();
    assert_eq!(outcomes(&stage.settle()), [(0, "cancelled".to_owned())]);
    assert!(stage.is_idle());
    assert!(stage.runtime.begin_execution(CommandId(0)).is_err());
    assert_eq!(stage.domain.spawned().len(), 0);
}

#[test]
fn a_running_command_that_is_cancelled_is_asked_to_end_and_its_last_words_are_heard() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().output("working ").hang().last_words("saved"));
    stage.settle();
    stage.runtime.cancel(CommandId(0)).unwrap();
    let done = stage.settle_one();
    assert_eq!(done.outcome, ExecutionOutcome::Cancelled { exit: Some(ExitStatus::Signal(15)) });
    assert_eq!(done.capture.unwrap().output.text(), "working saved");
    assert_eq!(stage.domain.played(0).unwrap().stops, [POLITE]);
    assert!(stage.is_idle());
}

#[test]
fn one_that_does_not_listen_is_ended_by_force_after_the_grace() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().hang().ignore_polite_stop());
    stage.tick();
    stage.runtime.cancel(CommandId(0)).unwrap();
    stage.pass(GRACE.saturating_sub(MOMENT));
    assert_eq!(stage.settle().len(), 0);
    let running = CommandState::Executing { execution: ExecutionId(0) };
    assert_eq!(stage.runtime.board().command(CommandId(0)).unwrap().state(), &running);
    stage.pass(MOMENT);
    let done = stage.settle_one();
    assert_eq!(done.outcome, ExecutionOutcome::Cancelled { exit: Some(ExitStatus::Signal(9)) });
    assert_eq!(stage.domain.played(0).unwrap().stops, [POLITE, StopMode::Force]);
}

#[test]
fn a_cancelled_command_has_ended_only_when_its_process_is_gone() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().hang().ignore_polite_stop().survive_force(2));
    stage.play(1, Script::new());
    stage.tick();
    stage.runtime.cancel(CommandId(0)).unwrap();
    stage.runtime.cancel(CommandId(0)).unwrap();
    stage.pass(GRACE);
    for _ in 0..2 {
        assert_eq!(stage.settle().len(), 0, "the slot is not given away before");
        stage.pass(Duration::from_secs(1));
    }
    assert_eq!(order(&stage.settle()), [0, 1]);
    let stops = stage.domain.played(0).unwrap().stops;
    assert_eq!(
        stops,
        [POLITE, StopMode::Force, StopMode::Force, StopMode::Force],
        "asked once, forced often"
    );
}

#[test]
fn a_pane_that_breaks_while_it_is_cancelled_stays_cancelled() {
    let mut stage = Stage::new(1);
    let broken = Script::new().pause().read_error(io::ErrorKind::Other, "broken");
    stage.play(0, broken.ignore_polite_stop());
    stage.tick();
    stage.runtime.cancel(CommandId(0)).unwrap();
    stage.tick();
    let errors = stage.tick().errors;
    assert_eq!(errors[0].to_string(), "execution 0: reading it: broken");
    stage.pass(GRACE);
    let done = stage.settle_one();
    assert_eq!(done.outcome, ExecutionOutcome::Cancelled { exit: Some(ExitStatus::Signal(9)) });
}

#[test]
fn what_has_ended_cannot_be_cancelled() {
    let mut stage = Stage::new(1);
    let id = CommandId(0);
    assert_eq!(stage.runtime.cancel(id), Err(IllegalTransition::NoSuchCommand(id)));
    stage.play(0, Script::new().exit(0).hang());
    stage.settle();
    let late = Err(IllegalTransition::TooLate(id));
    assert_eq!(stage.runtime.cancel(id), late, "its process is gone, only its output is not");
    stage.pass(GRACE);
    assert!(succeeded(&stage.settle_one()));
    assert_eq!(stage.runtime.cancel(id), late);
}

#[test]
fn what_failed_or_was_cancelled_does_not_come_back() {
    let mut stage = Stage::new(2);
    stage.play(0, Script::new().exit(1));
    stage.play(1, Script::new().hang());
    stage.tick();
    stage.runtime.cancel(CommandId(1)).unwrap();
    let ended: Vec<Completion> = stage.settle();
    assert_eq!(ended.len(), 2);
    stage.pass(GRACE * 100);
    assert_eq!(stage.settle().len(), 0);
    let again = AgentAssignment { command: CommandId(0), agent: AgentId(0) };
    assert!(stage.runtime.assign(again).is_err());
    assert_eq!(stage.domain.spawned().len(), 2);
}
