//! What people are shown.

use coven_model::view::HistoryKind;
use coven_model::{
    AgentMode, InterventionChoice, JobOutcome, PlanView, TaskStatus, WorkflowStatus,
};
use serde_json::json;

use super::*;
use crate::input::SessionInput;
use crate::plan::OnLimit;
use crate::testing::*;

fn viewer(told: &TestRun) -> SessionViewBuilder {
    let mut viewer = SessionViewBuilder::default();
    for event in &told.journal {
        viewer.record(Timestamp::default(), event);
    }
    viewer
}

fn view(told: &TestRun) -> SessionView {
    viewer(told).session(&told.state).unwrap()
}

/// Spec: C1.11.1, C1.11.2, C1.12.1
#[test]
fn the_view_of_a_session_has_its_goal_its_definition_and_what_was_said() {
    let steps =
        vec![agent_step("plan", "split it").output("tasks"), gate("tests", Some("cargo test"))];
    let mut told = TestRun::begin(plan(steps), json!({"spec": "a.md"}));
    told.succeed("plan", 1, "one, two");
    told.fail("tests", 1);
    let view = view(&told);
    assert_eq!(view.goal.as_deref(), Some("to test"));
    assert_eq!(view.workflow_definition, json!({"written": "by hand"}));
    assert_eq!((view.current_stage_index, view.current_step.as_deref()), (1, Some("tests")));
    assert_eq!(view.status, WorkflowStatus::Blocked);
    assert_eq!(
        serde_json::to_value(&view.task_status).unwrap(),
        json!({"plan": "DONE", "tests": "ERROR"})
    );
    assert_eq!(view.variables["tasks"], json!("one, two"));
    assert_eq!(view.interventions.len(), 1);
    let said: Vec<(HistoryKind, &str)> =
        view.history.iter().map(|entry| (entry.what, entry.text.as_str())).collect();
    assert!(said.contains(&(HistoryKind::Prompt, "split it")), "{said:?}");
    assert!(said.contains(&(HistoryKind::Output, "one, two")), "{said:?}");
    let text = serde_json::to_string(&view).unwrap();
    assert_eq!(serde_json::from_str::<SessionView>(&text).unwrap(), view);
}

/// The fact of a message does not tell its time; its record does.
#[test]
fn each_message_is_shown_with_the_time_at_which_it_was_recorded() {
    let mut history = RunHistory::default();
    let at = |seconds: u64| Timestamp::from_millis(seconds * 1000);
    history.record(at(1), &SessionEvent::WorkflowStarted { at: at(1) });
    for number in 1..=3 {
        let (job, text) = (job("a", 1), format!("message {number}"));
        let queued = SessionEvent::InputQueued { job, number, text, seen: 0, by: None };
        history.record(at(10 * u64::from(number)), &queued);
    }
    let times: Vec<Timestamp> = history.entries().map(|entry| entry.at).collect();
    assert_eq!(times, [at(1), at(10), at(20), at(30)]);
}

#[test]
fn errors_and_decisions_are_shown() {
    let mut told = TestRun::begin(plan(vec![gate("tests", Some("x"))]), json!({}));
    told.fail("tests", 1);
    told.tell(resolve(1, InterventionChoice::Abort));
    let view = view(&told);
    assert_eq!(view.errors[0].step, "tests");
    assert!(view.history.iter().any(|entry| entry.text == "abort by she"));
}

#[test]
fn what_changed_while_an_arbiter_ran_is_shown() {
    let mut told = TestRun::begin(plan(vec![agent_loop("review", 1, OnLimit::Block)]), json!({}));
    told.succeed("review.r1", 1, "x");
    let job = job("review.r1.arbiter", 1);
    told.tell(SessionInput::Exposed { job, reason: "nothing confines it".to_owned() });
    let outcome = JobOutcome {
        touched: vec!["a.txt (mode 644 to 777)".to_owned(), "and 7 more".to_owned()],
        ..succeeded(r#"{"verdict": "done", "reason": "clean"}"#)
    };
    told.tell(ended("review.r1.arbiter", 1, outcome));
    let view = view(&told);
    let said = |text: &str| {
        view.history.iter().any(|entry| {
            entry.what == HistoryKind::Progress
                && entry.task.as_ref().is_some_and(|task| task.as_str() == "review.r1.arbiter")
                && entry.text.contains(text)
        })
    };
    assert!(said("nothing confines it"), "{:#?}", view.history);
    assert!(said("a.txt (mode 644 to 777); and 7 more"), "{:#?}", view.history);
}

/// The mode comes from the compiled plan, so one that stands under `defaults` counts too, before
/// the task begins, while it runs and after it.
#[test]
fn a_mode_that_stands_under_defaults_is_shown() {
    let text = "name: x\ndescription: x\ndefaults: {adapter: demo, mode: interactive}\nsteps:\n  \
                - {name: talk, type: agent, prompt: hello}\n  \
                - {name: check, type: script, command: ls}\n";
    let source = coven_notation::SourceFile::new("x.yaml", text);
    let plan = crate::check(&source, &crate::CheckEnvironment::new(["demo"])).plan.unwrap();
    let shown = |view: PlanView| -> Vec<AgentMode> {
        view.rows.iter().flat_map(|row| &row.lanes).map(|lane| lane.mode).collect()
    };
    let expected = [AgentMode::Interactive, AgentMode::Headless];
    assert_eq!(shown(dry_run(&plan)), expected);
    let mut told = TestRun::begin(plan, json!({}));
    assert_eq!(shown(plan_view(told.state.run().unwrap())), expected);
    told.succeed("talk", 1, "done");
    told.succeed("check", 1, "done");
    let run = told.state.run().unwrap();
    assert_eq!((run.status(), shown(plan_view(run))), (WorkflowStatus::Completed, expected.into()));
    let task = TaskId::new("talk").unwrap();
    assert_eq!(run.task_adapter(&task), Some(("demo", AgentMode::Interactive)));
}

#[test]
fn a_large_value_is_kept_aside_and_written_once() {
    let steps = vec![agent_step("big", "go").output("big"), agent_step("then", "x")];
    let mut told = TestRun::begin(plan(steps), json!({}));
    told.succeed("big", 1, &"x".repeat(MAX_INLINE_BYTES + 1));
    let viewer = viewer(&told);
    let first = viewer.session(&told.state).unwrap();
    assert_eq!(viewer.session(&told.state).unwrap(), first);
    let large = viewer.large();
    let [large] = &large[..] else { panic!("not one") };
    assert_eq!(
        first.variables["big"],
        json!({
            "$value": large.digest,
            "bytes": MAX_INLINE_BYTES + 1,
            "begins": "x".repeat(BEGINNING_CHARS),
        })
    );
    assert_eq!(large.value.as_str().map(str::len), Some(MAX_INLINE_BYTES + 1));
}

#[test]
fn a_dry_run_shows_what_a_plan_will_do() {
    let steps = vec![
        parallel("build", "${input.tasks}", "Implement ${item}", 3),
        agent_loop("review", 5, OnLimit::Block),
        gate("ready", None).when("${input.ask}"),
    ];
    let view = dry_run(&plan(steps));
    let rows: Vec<(&str, &str, usize)> = view
        .rows
        .iter()
        .map(|row| (row.step.as_str(), row.note.as_str(), row.lanes.len()))
        .collect();
    assert_eq!(
        rows,
        [
            ("build", "for each of ${input.tasks}, 3 at a time", 1),
            ("review", "at most 5 rounds", 2),
            ("ready", "asks: go on?; only when ${input.ask}", 0),
        ]
    );
    assert_eq!(view.rows[0].lanes[0].task, "build.*");
    assert_eq!(view.rows[0].lanes[0].note, "Implement ${item}");
}

#[test]
fn the_plan_of_a_run_shows_where_everything_stands() {
    let steps = vec![parallel("build", "${input.tasks}", "${item}", 2), agent_step("then", "x")];
    let tasks: Vec<u32> = (0..500).collect();
    let mut told = TestRun::begin(plan(steps), json!({ "tasks": tasks }));
    told.fail("build.0", 1);
    for index in 1..300 {
        told.succeed(&format!("build.{index}"), 1, "ok");
    }
    let view = plan_view(told.run());
    let row = &view.rows[0];
    assert_eq!((row.status.as_str(), row.lanes.len()), ("running", 100));
    assert_eq!(row.lanes[0].task, "build.0");
    assert_eq!(row.lanes[0].note, "exit code 1");
    assert_eq!(row.counts[&TaskStatus::Done], 299);
    assert_eq!(row.counts[&TaskStatus::Running], 2);
    assert_eq!(row.counts[&TaskStatus::Pending], 198);
    assert_eq!(row.counts[&TaskStatus::Error], 1);
    assert_eq!(view.rows[1].status, "pending");
}

#[test]
fn the_lanes_of_a_stage_are_there_before_it_begins() {
    let stages = vec![
        stage("one", &[("a", agent("x"))]),
        stage("two", &[("b", agent("y")), ("c", agent("z"))]),
    ];
    let told = TestRun::begin(plan(stages), json!({}));
    let view = plan_view(told.run());
    let lanes: Vec<(&str, TaskStatus)> =
        view.rows[1].lanes.iter().map(|lane| (lane.task.as_str(), lane.status)).collect();
    assert_eq!(lanes, [("b", TaskStatus::Pending), ("c", TaskStatus::Pending)]);
    let status = viewer(&told).session(&told.state).unwrap().task_status;
    assert_eq!(
        serde_json::to_value(status).unwrap(),
        json!({"a": "RUNNING", "b": "PENDING", "c": "PENDING"})
    );
}
