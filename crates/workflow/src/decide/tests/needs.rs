//! Steps that say what they need, and so run side by side.

use coven_model::event::SessionEvent;
use coven_model::{
    InterventionChoice, InterventionKind, TaskId, TaskStatus, TreeId, WorkflowStatus,
};
use serde_json::{Value, json};

use crate::command::{Command, TreeOrder};
use crate::input::SessionInput;
use crate::plan::{Isolation, OnFailure, PlanStep};
use crate::state::State;
use crate::testing::*;
use crate::view::{SessionViewBuilder, plan_view};

fn begun(steps: Vec<PlanStep>) -> TestRun {
    TestRun::begin(plan(steps), json!({}))
}

/// Two scripts side by side, and one that needs both.
fn fork() -> Vec<PlanStep> {
    vec![
        script_step("left", "x").needs([]),
        script_step("right", "x").needs([]),
        script_step("both", "x").needs(["left", "right"]),
    ]
}

fn with_on_failure(mut step: PlanStep, on_failure: OnFailure) -> PlanStep {
    step.on_failure = on_failure;
    step
}

fn step_status(told: &TestRun) -> Vec<&'static str> {
    told.run().steps.iter().map(crate::state::StepRun::status).collect()
}

fn retry(run: u32) -> SessionInput {
    SessionInput::Retry { run, by: "she".to_owned(), why: String::new() }
}

#[test]
fn steps_that_need_nothing_start_at_once_and_one_that_needs_both_waits_for_both() {
    let mut told = begun(fork());
    assert_eq!(told.alive(), ["left/1", "right/1"]);
    assert_eq!(told.succeed("right", 1, "r"), Vec::<String>::new());
    assert_eq!(told.succeed("left", 1, "l"), ["both/1"]);
    told.succeed("both", 1, "b");
    assert_eq!(told.status(), WorkflowStatus::Completed);
    assert_eq!(told.run().cursor, 3);
}

#[test]
fn a_step_without_needs_comes_after_the_one_written_before_it() {
    let steps = vec![
        script_step("a", "x"),
        script_step("b", "x"),
        script_step("side", "x").needs(["a"]),
        script_step("after-side", "x"),
    ];
    let mut told = begun(steps);
    assert_eq!(told.alive(), ["a/1"]);
    assert_eq!(told.succeed("a", 1, ""), ["b/1", "side/1"]);
    assert_eq!(told.succeed("side", 1, ""), ["after-side/1"]);
    assert_eq!(told.alive(), ["b/1", "after-side/1"]);
}

#[test]
fn a_step_can_need_one_that_is_written_after_it() {
    let steps = vec![script_step("a", "x").needs(["b"]), script_step("b", "x").needs([])];
    let mut told = begun(steps);
    assert_eq!(told.alive(), ["b/1"]);
    assert_eq!(told.run().current().map(|(index, ..)| index), Some(1));
    assert_eq!(told.succeed("b", 1, ""), ["a/1"]);
    told.succeed("a", 1, "");
    assert_eq!(told.status(), WorkflowStatus::Completed);
}

#[test]
fn a_branch_that_failed_fails_the_run_when_the_others_are_done() {
    let mut steps = fork();
    steps.push(script_step("after-right", "x").needs(["right"]));
    let mut told = begun(steps);
    told.fail("left", 1);
    assert_eq!((told.status(), told.error()), (WorkflowStatus::Running, String::new()));
    let rows = plan_view(told.run()).rows;
    assert_eq!(rows[2].note, "does not start: `left`, which it needs, failed");
    assert_eq!(told.succeed("right", 1, ""), ["after-right/1"]);
    told.succeed("after-right", 1, "");
    assert_eq!(told.status(), WorkflowStatus::Failed);
    assert_eq!(told.error(), "exit code 1");
    assert_eq!(step_status(&told), ["failed", "completed", "pending", "completed"]);
    let errors: Vec<_> = told.run().errors().collect();
    assert_eq!(errors, [("left", "exit code 1")]);
}

#[test]
fn a_run_names_all_branches_that_failed() {
    let mut told = begun(fork());
    told.fail("right", 1);
    told.fail("left", 1);
    assert_eq!(told.error(), "exit code 1 (and right failed as well)");
    let failed = told.journal.iter().find_map(|event| match event {
        SessionEvent::WorkflowFailed { step, .. } => step.clone(),
        _ => None,
    });
    assert_eq!(failed.as_deref(), Some("left"), "the first in the plan");
}

#[test]
fn a_retry_tries_all_that_failed_and_then_what_needs_it() {
    let mut told = begun(fork());
    told.fail("right", 1);
    told.fail("left", 1);
    let (_, commands) = told.tell(retry(0));
    assert_eq!(starts(&commands), ["left/2", "right/2"]);
    told.succeed("left", 2, "");
    assert_eq!(told.succeed("right", 2, ""), ["both/1"]);
    told.succeed("both", 1, "");
    assert_eq!(told.status(), WorkflowStatus::Completed);
}

#[test]
fn while_branches_go_on_there_is_nothing_to_retry() {
    let mut told = begun(fork());
    told.fail("left", 1);
    assert!(told.state.admits(&retry(0)).is_err());
    told.succeed("right", 1, "");
    assert!(told.state.admits(&retry(0)).is_ok());
}

#[test]
fn what_needs_a_step_that_may_fail_goes_on_without_it() {
    let mut steps = fork();
    steps[0] = with_on_failure(steps.remove(0), OnFailure::Continue);
    steps.insert(1, script_step("right", "x").needs([]));
    let mut told = begun(steps);
    told.succeed("right", 1, "");
    assert_eq!(told.fail("left", 1), ["both/1"]);
    told.succeed("both", 1, "");
    assert_eq!(told.status(), WorkflowStatus::Completed);
}

#[test]
fn a_step_that_waits_for_a_person_keeps_only_what_needs_it() {
    let steps = vec![
        gate("ask", None).needs([]),
        script_step("work", "x").needs([]),
        script_step("after-ask", "x").needs(["ask"]),
        script_step("after-work", "x").needs(["work"]),
    ];
    let mut told = begun(steps);
    assert_eq!(told.status(), WorkflowStatus::Blocked);
    assert_eq!(told.succeed("work", 1, ""), ["after-work/1"]);
    told.succeed("after-work", 1, "");
    assert_eq!(told.status(), WorkflowStatus::Blocked);
    let (_, commands) = told.tell(resolve(1, InterventionChoice::Approve));
    assert_eq!(starts(&commands), ["after-ask/1"]);
}

#[test]
fn a_denied_gate_lets_other_branches_come_to_their_end() {
    let steps = vec![
        gate("ask", None).needs([]),
        script_step("work", "x").needs([]),
        script_step("after-ask", "x").needs(["ask"]),
    ];
    let mut told = begun(steps);
    told.tell(resolve(1, InterventionChoice::Deny));
    assert_eq!((told.status(), told.alive()), (WorkflowStatus::Running, vec!["work/1".to_owned()]));
    told.succeed("work", 1, "");
    assert_eq!((told.status(), told.error()), (WorkflowStatus::Failed, "denied by she".to_owned()));
}

#[test]
fn two_branches_that_block_are_two_questions_and_one_retry_answers_both() {
    let block = |step: PlanStep| with_on_failure(step, OnFailure::Block);
    let mut told = begun(fork().into_iter().map(block).collect());
    told.fail("left", 1);
    told.fail("right", 1);
    assert_eq!(told.waiting(), [InterventionKind::FailedStep; 2]);
    let steps: Vec<String> = told.run().interventions().map(|one| one.step.clone()).collect();
    assert_eq!(steps, ["left", "right"]);
    assert_eq!(told.starts(retry(0)), ["left/2", "right/2"]);
    told.fail("right", 2);
    let (_, commands) = told.tell(resolve(3, InterventionChoice::Retry));
    assert_eq!(starts(&commands), ["right/3"]);
}

#[test]
fn a_skipped_step_counts_as_done() {
    let mut steps = fork();
    steps[0] = steps[0].clone().when("${input.never} == true");
    let mut told = TestRun::begin(plan(steps), json!({"never": false}));
    assert_eq!(told.alive(), ["right/1"]);
    assert_eq!(told.succeed("right", 1, ""), ["both/1"]);
    assert_eq!(step_status(&told), ["skipped", "completed", "running"]);
}

#[test]
fn agents_of_two_branches_are_told_apart() {
    let steps = vec![
        step("one", crate::plan::StepAction::Agent { agent: interactive("hi") }).needs([]),
        step("two", crate::plan::StepAction::Agent { agent: interactive("hi") }).needs([]),
    ];
    let mut told = begun(steps);
    told.tell(asks("two", 1, 1, "may I?"));
    let asked: Vec<String> = told.run().interventions().map(|one| one.step.clone()).collect();
    assert_eq!(asked, ["two"]);
    told.tell(resolve(1, InterventionChoice::Approve));
    told.tell(idle("one", 1, 1, true));
    assert_eq!(told.task_status("two"), TaskStatus::Running);
    told.tell(ended("one", 1, stopped()));
    assert_eq!(step_status(&told), ["completed", "running"]);
}

#[test]
fn what_is_alive_of_a_step_that_failed_is_stopped_while_others_go_on() {
    // The second element has no `title`, so no agent can be made of it.
    let steps = vec![
        parallel("wide", "${input.items}", "do ${item.title}", 2).needs([]),
        script_step("work", "x").needs([]),
    ];
    let items = json!({"items": [{"title": "a"}, {}]});
    let mut told = TestRun::begin(plan(steps), items);
    assert_eq!(step_status(&told), ["failed", "running"]);
    let is_stop = |command: &Command| matches!(command, Command::Stop(_));
    let stopped_jobs: Vec<Command> = told.state.outstanding().into_iter().filter(is_stop).collect();
    assert_eq!(stopped_jobs, [Command::Stop(job("wide.0", 1))]);
    told.tell(ended("wide.0", 1, stopped()));
    assert_eq!(told.alive(), ["work/1"]);
    told.succeed("work", 1, "");
    assert_eq!(told.status(), WorkflowStatus::Failed);
}

#[test]
fn a_cancelled_run_waits_for_the_jobs_of_all_branches() {
    let mut told = begun(fork());
    told.tell(SessionInput::Cancel { by: "she".to_owned(), why: String::new() });
    told.tell(ended("left", 1, stopped()));
    assert!(!told.run().is_over());
    told.tell(ended("right", 1, stopped()));
    assert_eq!(told.status(), WorkflowStatus::Cancelled);
}

#[test]
fn a_command_finds_the_variables_of_the_steps_that_it_needs() {
    let steps = vec![
        script_step("a", "x").needs([]).output("from_a"),
        script_step("b", "x").needs([]).output("from_b"),
        script_step("c", "echo ${from_a}").needs(["a"]),
    ];
    let mut told = begun(steps);
    told.succeed("b", 1, "of b");
    told.succeed("a", 1, "of a");
    let task = TaskId::new("c").unwrap();
    let known = told.run().variables(Some(&task), "", &mut Value::clone);
    assert_eq!(known["from_a"], json!("of a"));
    assert_eq!(known.get("from_b"), None, "whether it is over is a matter of chance");
    let names: Vec<&String> = known["steps"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a"]);
    let shown = SessionViewBuilder::default().session(&told.state).unwrap();
    assert_eq!(
        (&shown.variables["from_a"], &shown.variables["from_b"]),
        (&json!("of a"), &json!("of b"))
    );
}

#[test]
fn the_view_tells_all_steps_whose_turn_it_is_and_what_each_needs() {
    let mut told = begun(fork());
    let view = SessionViewBuilder::default().session(&told.state).unwrap();
    assert_eq!((view.current_stage_index, view.current_step.as_deref()), (0, Some("left")));
    assert_eq!(view.current_steps, ["left", "right"]);
    let needs: Vec<Option<Vec<String>>> =
        plan_view(told.run()).rows.into_iter().map(|row| row.needs).collect();
    let both = vec!["left".to_owned(), "right".to_owned()];
    assert_eq!(needs, [Some(vec![]), Some(vec![]), Some(both)]);
    told.fail("left", 1);
    let view = SessionViewBuilder::default().session(&told.state).unwrap();
    assert_eq!(view.current_step.as_deref(), Some("right"), "the first that goes on");
    let told = begun(vec![script_step("one", "x"), script_step("two", "x")]);
    let view = SessionViewBuilder::default().session(&told.state).unwrap();
    assert_eq!(view.current_steps, Vec::<String>::new());
    assert!(plan_view(told.run()).rows.iter().all(|row| row.needs.is_none()));
}

#[test]
fn a_plan_whose_steps_wait_for_each_other_is_not_run() {
    for (steps, why) in [
        (vec![script_step("a", "x").needs(["a"])], "step `a` waits for itself"),
        (vec![script_step("a", "x").needs(["b"])], "which does not exist"),
    ] {
        let (events, _) = crate::decide::decide(
            &State::default(),
            creation(plan(steps), &json!({})),
            coven_model::Timestamp::default(),
        );
        let state = replay(&events);
        assert!(state.closed().unwrap().contains(why), "{:?}", state.closed());
    }
}

fn orders(commands: &[Command]) -> Vec<TreeOrder> {
    let order = |command: &Command| match command {
        Command::Tree(order) => Some(order.clone()),
        _ => None,
    };
    commands.iter().filter_map(order).collect()
}

fn in_trees(isolation: [Isolation; 2]) -> TestRun {
    let mut steps = vec![agent_step("left", "x").needs([]), agent_step("right", "x").needs([])];
    for (step, isolation) in steps.iter_mut().zip(isolation) {
        step.isolation = Some(isolation);
    }
    let mut told = begun(steps);
    told.tell(tree_ready(TreeId::Run));
    told
}

#[test]
fn branches_land_one_after_the_other_in_the_order_of_the_plan() {
    let mut told = in_trees([Isolation::Task, Isolation::Task]);
    for task in ["left", "right"] {
        told.tell(tree_ready(tree_of(task)));
    }
    assert_eq!(told.alive(), ["left/1", "right/1"]);
    told.succeed("left", 1, "l");
    told.succeed("right", 1, "r");
    told.tell(tree_checkpoint("left", 1));
    let (_, commands) = told.tell(tree_checkpoint("right", 1));
    assert_eq!(orders(&commands), [], "the first is on its way");
    assert!(
        told.state
            .outstanding()
            .contains(&Command::Tree(TreeOrder::Land { tree: tree_of("left") }))
    );
    let (_, commands) = told.tell(tree_landed("left"));
    assert_eq!(orders(&commands), [TreeOrder::Land { tree: tree_of("right") }]);
    told.tell(tree_landed("right"));
    assert_eq!(step_status(&told), ["completed", "completed"]);
}

#[test]
fn a_branch_that_is_being_landed_is_not_overtaken_by_one_before_it_in_the_plan() {
    let mut told = in_trees([Isolation::Task, Isolation::Task]);
    for task in ["left", "right"] {
        told.tell(tree_ready(tree_of(task)));
    }
    told.succeed("right", 1, "r");
    let (_, commands) = told.tell(tree_checkpoint("right", 1));
    assert_eq!(orders(&commands), [TreeOrder::Land { tree: tree_of("right") }]);
    told.succeed("left", 1, "l");
    let (_, commands) = told.tell(tree_checkpoint("left", 1));
    assert_eq!(orders(&commands), [], "another is on its way");
    let (_, commands) = told.tell(tree_landed("right"));
    assert_eq!(orders(&commands), [TreeOrder::Land { tree: tree_of("left") }]);
    let (_, commands) = told.tell(tree_landed("left"));
    let lands = |order: &TreeOrder| matches!(order, TreeOrder::Land { .. });
    assert!(!orders(&commands).iter().any(lands), "each is ordered once: {commands:?}");
}

#[test]
fn a_conflict_of_one_branch_does_not_keep_another_from_landing() {
    let mut told = in_trees([Isolation::Task, Isolation::Task]);
    for task in ["left", "right"] {
        told.tell(tree_ready(tree_of(task)));
        told.succeed(task, 1, "fine");
        told.tell(tree_checkpoint(task, 1));
    }
    let (_, commands) = told.tell(tree_conflict("left"));
    assert_eq!(told.waiting(), [InterventionKind::MergeConflict]);
    assert_eq!(orders(&commands), [TreeOrder::Land { tree: tree_of("right") }]);
}

#[test]
fn a_tree_is_made_only_when_nothing_works_in_the_tree_of_the_run() {
    let mut told = in_trees([Isolation::Run, Isolation::Task]);
    assert_eq!(told.alive(), ["left/1"]);
    let trees = |told: &TestRun| told.run().trees().count();
    assert_eq!(trees(&told), 1, "its base would be without what is being done");
    told.succeed("left", 1, "fine");
    let (_, commands) = told.tell(run_checkpoint("left", 1, 1));
    assert_eq!(orders(&commands), [TreeOrder::Commit { tree: TreeId::Run, number: 2 }]);
    assert_eq!(trees(&told), 1);
}
