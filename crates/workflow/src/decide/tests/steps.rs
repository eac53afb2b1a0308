//! Loops of several steps.

use coven_model::event::{InterventionDecision, LoopVerdict, SessionEvent, TaskRole};
use coven_model::{InterventionChoice, InterventionKind, TaskId, WorkflowStatus};
use serde_json::{Value, json};

use crate::input::SessionInput;
use crate::plan::{LoopEnd, OnFailure, OnLimit, PlanStep, StepAction};
use crate::testing::*;
use crate::view::{dry_run, plan_view};

fn begun(looping: PlanStep) -> TestRun {
    let steps = vec![looping.output("result"), agent_step("then", "x ${result}")];
    TestRun::begin(plan(steps), json!({}))
}

fn with_limit(mut step: PlanStep, on_limit: OnLimit) -> PlanStep {
    if let StepAction::Loop { on_max_iterations, .. } = &mut step.action {
        *on_max_iterations = on_limit;
    }
    step
}

/// The same until a command passes, which is run before the first round as well if so wanted.
fn until_command(mut step: PlanStep, first: bool) -> PlanStep {
    if let StepAction::Loop { until, .. } = &mut step.action {
        *until = LoopEnd::Command(crate::plan::LoopCheck { first, ..loop_check() });
    }
    step
}

fn judged(told: &TestRun) -> Vec<(u32, LoopVerdict)> {
    let judged = told.journal.iter().filter_map(|event| match event {
        SessionEvent::LoopJudged { round, verdict, .. } => Some((*round, *verdict)),
        _ => None,
    });
    judged.collect()
}

#[test]
fn rounds_run_their_steps_one_after_the_other_until_the_condition_holds() {
    let mut told = begun(test_and_mend(5));
    assert_eq!(told.alive(), ["green.r1.test/1"]);
    assert_eq!(told.fail("green.r1.test", 1), ["green.r1.mend/1"]);
    assert_eq!(told.prompt("green.r1.mend", 1), "round 1: 1 some output, was ");
    assert_eq!(told.succeed("green.r1.mend", 1, "mended a"), ["green.r2.test/1"]);
    assert_eq!(told.fail("green.r2.test", 1), ["green.r2.mend/1"]);
    assert_eq!(told.prompt("green.r2.mend", 1), "round 2: 1 some output, was mended a");
    assert_eq!(told.succeed("green.r2.mend", 1, "mended b"), ["green.r3.test/1"]);
    assert_eq!(told.succeed("green.r3.test", 1, "all green"), ["then/1"]);
    assert_eq!(told.prompt("then", 1), "x all green", "nothing was left to mend");
    let (more, done) = (LoopVerdict::Actionable, LoopVerdict::Done);
    assert_eq!(judged(&told), [(1, more), (2, more), (3, done)]);
}

#[test]
fn a_step_knows_of_one_behind_it_what_that_came_to_in_the_round_before() {
    let steps = vec![
        script_step("use", "echo ${made} ${steps.make.status}"),
        script_step("make", "x").output("made"),
    ];
    let mut told = begun(steps_loop("green", "iteration == 2", 5, steps));
    let given = |told: &TestRun, task: &str| {
        let live = told.run().live(&job(task, 1)).unwrap();
        let coven_model::JobWork::Shell(work) = &live.spec.work else { panic!() };
        work.variables.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(given(&told, "green.r1.use"), ["", "pending"]);
    told.succeed("green.r1.use", 1, "");
    told.succeed("green.r1.make", 1, "one");
    assert_eq!(given(&told, "green.r2.use"), ["one", "completed"]);
    told.succeed("green.r2.use", 1, "");
    assert_eq!(told.succeed("green.r2.make", 1, "two"), ["then/1"]);
}

#[test]
fn a_step_that_fails_ends_the_loop_and_a_retry_goes_on_in_the_same_round() {
    let mut told = begun(test_and_mend(5));
    told.fail("green.r1.test", 1);
    told.fail("green.r1.mend", 1);
    assert_eq!(told.status(), WorkflowStatus::Failed);
    assert_eq!(told.error(), "green.r1.mend: exit code 1");
    let again = SessionInput::Retry { run: 0, by: "she".to_owned(), why: String::new() };
    assert_eq!(told.starts(again), ["green.r1.mend/2"], "not what the round went on without");
    assert_eq!(told.succeed("green.r1.mend", 2, "mended"), ["green.r2.test/1"]);
    assert_eq!(told.succeed("green.r2.test", 1, "green"), ["then/1"]);
}

#[test]
fn a_loop_that_blocks_asks_about_the_task_that_failed() {
    let mut looping = test_and_mend(5);
    looping.on_failure = OnFailure::Block;
    let mut told = begun(looping);
    told.fail("green.r1.test", 1);
    told.fail("green.r1.mend", 1);
    assert_eq!(told.waiting(), [InterventionKind::FailedStep]);
    let asked = told.run().interventions().next().unwrap();
    assert_eq!(asked.task.as_ref().map(TaskId::as_str), Some("green.r1.mend"));
    let (_, commands) = told.tell(resolve(1, InterventionChoice::Retry));
    assert_eq!(starts(&commands), ["green.r1.mend/2"]);
}

#[test]
fn attempts_and_pauses_are_those_of_the_step_inside() {
    let steps = vec![script_step("try", "x").retries(2, 0)];
    let mut told = begun(steps_loop("green", "steps.try.exit_code == 0", 2, steps));
    assert_eq!(told.fail("green.r1.try", 1), ["green.r1.try/2"]);
    assert_eq!(told.succeed("green.r1.try", 2, ""), ["then/1"]);
}

#[test]
fn the_last_round_ends_the_loop_and_the_step_says_how() {
    let end = |on_limit| {
        let mut told = begun(with_limit(test_and_mend(1), on_limit));
        told.fail("green.r1.test", 1);
        told.succeed("green.r1.mend", 1, "mended");
        told
    };
    let mut told = end(OnLimit::Block);
    assert_eq!(told.waiting(), [InterventionKind::LoopLimit]);
    let asked = told.run().interventions().next().unwrap();
    let reason = "1 round is over, and there is still to do: the condition does not hold: \
                  steps.test.exit_code == 0";
    assert_eq!(asked.reason, reason);
    let more = InterventionDecision::new(InterventionChoice::Extend, "she").with_text("2");
    let (_, commands) = told.tell(decide_with(1, more));
    assert_eq!(starts(&commands), ["green.r2.test/1"]);
    assert_eq!(told.run().steps.get(0).unwrap().rounds, 3);
    let told = end(OnLimit::Proceed);
    assert_eq!(told.prompt("then", 1), "x mended");
    let mut told = end(OnLimit::Fail);
    assert_eq!(told.status(), WorkflowStatus::Failed);
    let again = SessionInput::Retry { run: 0, by: "she".to_owned(), why: String::new() };
    assert_eq!(told.starts(again), ["green.r2.test/1"], "with as many rounds more");
}

#[test]
fn a_command_ends_the_loop_as_it_does_with_one_agent() {
    let mut told = begun(until_command(
        steps_loop("fix", "true", 3, vec![agent_step("mend", "${verdict.reason}")]),
        true,
    ));
    assert_eq!(told.alive(), ["fix.r0.check/1"]);
    assert_eq!(told.starts(ended("fix.r0.check", 1, exited(1))), ["fix.r1.mend/1"]);
    assert_eq!(told.prompt("fix.r1.mend", 1), "exit code 1\n\nsome output");
    assert_eq!(told.succeed("fix.r1.mend", 1, "mended"), ["fix.r1.check/1"]);
    assert_eq!(told.succeed("fix.r1.check", 1, "ok"), ["then/1"]);
    assert_eq!(told.prompt("then", 1), "x mended");

    let steps = vec![agent_step("mend", "x")];
    let mut told = begun(until_command(steps_loop("fix", "true", 3, steps), true));
    assert_eq!(told.succeed("fix.r0.check", 1, "ok"), ["then/1"], "it was green already");
    assert_eq!(told.prompt("then", 1), "x ");
}

#[test]
fn rounds_in_which_nothing_is_left_to_do_come_to_an_end() {
    let steps = vec![script_step("never", "x").when("iteration > 5")];
    let told = begun(steps_loop("green", "iteration == 3", 5, steps.clone()));
    assert_eq!(told.alive(), ["then/1"]);
    let told = begun(with_limit(steps_loop("green", "false", 4, steps), OnLimit::Fail));
    assert_eq!((judged(&told).len(), told.status()), (4, WorkflowStatus::Failed));
}

#[test]
fn a_condition_that_cannot_be_evaluated_fails_the_loop_and_says_where() {
    let steps = vec![script_step("give", "x").output("given")];
    let mut told = begun(steps_loop("green", "given.a.b == 1", 5, steps));
    told.succeed("green.r1.give", 1, "text");
    assert_eq!(told.status(), WorkflowStatus::Failed);
    assert!(told.error().ends_with("(`until` of step `green`)"), "{}", told.error());
}

#[test]
fn tasks_of_a_loop_are_found_by_their_names() {
    let told = begun(until_command(test_and_mend(5), false));
    let identity = &told.run().identity;
    let role = |name: &str| identity.locate(&TaskId::new(name).unwrap()).map(|(_, role)| role);
    assert_eq!(role("green.r1.test"), Some(TaskRole::Inner { round: 1, place: 0 }));
    assert_eq!(role("green.r12.mend"), Some(TaskRole::Inner { round: 12, place: 1 }));
    assert_eq!(role("green.r1.check"), Some(TaskRole::Check(1)));
    for none in ["green", "green.r1", "green.r0.test", "green.r1.other", "green.1.test", "test"] {
        assert_eq!(role(none), None, "{none}");
    }
}

#[test]
fn the_view_shows_the_rounds_and_before_the_run_what_one_will_be() {
    let lanes = |view: coven_model::PlanView| {
        let rows = view.rows.into_iter().next().unwrap();
        let names: Vec<String> = rows.lanes.iter().map(|lane| lane.task.clone()).collect();
        (rows.kind, rows.note, names)
    };
    let looping = test_and_mend(5);
    let note = "at most 5 rounds, until `steps.test.exit_code == 0`".to_owned();
    let planned = lanes(dry_run(&plan(vec![looping.clone()])));
    let names = vec!["green.r1.test".to_owned(), "green.r1.mend".to_owned()];
    assert_eq!(planned, ("loop".to_owned(), note.clone(), names));
    let mut told = begun(looping);
    told.fail("green.r1.test", 1);
    told.succeed("green.r1.mend", 1, "mended");
    let names = ["green.r1.test", "green.r1.mend", "green.r2.test"].map(str::to_owned).to_vec();
    assert_eq!(lanes(plan_view(told.run())), ("loop".to_owned(), note, names));
    let task = TaskId::new("green.r2.test").unwrap();
    let known = told.run().variables(Some(&task), "", &mut Value::clone);
    assert_eq!(known["steps"], json!({}), "what is outside the loop");
}

#[test]
fn a_cancelled_loop_starts_nothing_more() {
    let mut told = begun(test_and_mend(5));
    told.tell(SessionInput::Cancel { by: "she".to_owned(), why: String::new() });
    assert_eq!(told.starts(ended("green.r1.test", 1, stopped())), Vec::<String>::new());
    assert_eq!(told.status(), WorkflowStatus::Cancelled);
}
