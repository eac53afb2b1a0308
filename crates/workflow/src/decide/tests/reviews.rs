//! Reviews of what a task did whose agent is not there any more: another attempt begins with them.

use coven_model::event::SessionEvent;
use coven_model::{
    InterventionChoice, InterventionKind, JobWork, RoundContext, TaskId, TokenUsage, TreeId,
    WorkflowStatus,
};
use serde_json::json;

use crate::decide::decide;
use crate::input::{SentReview, SessionInput};
use crate::plan::{Isolation, LandMode, OnFailure, PlanStep};
use crate::state::RefusalReason;
use crate::testing::*;

const REVIEW: &str = "This is a review.";

fn review(task: &str, attempt: u32) -> SessionInput {
    SessionInput::Reviewed(Box::new(SentReview {
        job: job(task, attempt),
        comments: Vec::new(),
        summary: None,
        prompt: Some(REVIEW.to_owned()),
        run: None,
        by: "mira".to_owned(),
    }))
}

fn fan_out() -> PlanStep {
    let mut step = parallel("build", "${input.items}", "do ${item}", 2);
    step.isolation = Some(Isolation::Auto);
    step.land = Some(LandMode::Ask);
    step
}

/// A run whose agents are done, and that asks whether what they did may be landed.
fn done() -> TestRun {
    let mut told = TestRun::begin(plan(vec![fan_out()]), json!({"items": ["a", "b"]}));
    told.tell(tree_ready(TreeId::Run));
    for task in ["build.0", "build.1"] {
        told.tell(tree_ready(tree_of(task)));
    }
    for task in ["build.0", "build.1"] {
        told.succeed(task, 1, "fine");
        told.tell(tree_checkpoint(task, 1));
    }
    assert_eq!(told.waiting(), [InterventionKind::Landing]);
    told
}

#[test]
fn a_review_of_what_is_to_be_landed_begins_another_attempt_and_asks_again() {
    let mut told = done();
    let kinds = told.kinds(review("build.0", 2));
    let wanted =
        ["review.sent", "workflow.intervention.withdrawn", "task.started", "workflow.resumed"];
    assert_eq!(kinds, wanted);
    assert_eq!(told.alive(), ["build.0/2"]);
    let prompt = told.prompt("build.0", 2);
    assert!(prompt.starts_with(REVIEW) && prompt.ends_with("do a"), "{prompt}");
    told.succeed("build.0", 2, "better");
    told.tell(tree_checkpoint("build.0", 2));
    assert_eq!(told.waiting(), [InterventionKind::Landing], "what is there now was not approved");
    told.tell(review("build.0", 3));
    assert_eq!(told.alive(), ["build.0/3"], "as often as a person wants");
}

/// Naive: the review is one fact and the wish to begin another, and who dies in between loses it.
#[test]
fn wherever_the_journal_ends_behind_a_review_the_attempt_begins_with_it() {
    let mut retried = PlanStep { on_failure: OnFailure::Fail, ..fan_out() };
    retried.land = None;
    let mut failed = TestRun::begin(plan(vec![retried]), json!({"items": ["a"]}));
    failed.tell(tree_ready(TreeId::Run));
    failed.tell(tree_ready(tree_of("build.0")));
    failed.fail("build.0", 1);
    failed.tell(tree_checkpoint("build.0", 1));
    assert_eq!(failed.status(), WorkflowStatus::Failed);
    for mut told in [done(), failed] {
        let before = told.journal.len();
        told.tell(review("build.0", 2));
        assert_eq!(told.alive(), ["build.0/2"]);
        for cut in before + 1..=told.journal.len() {
            let mut state = replay(&told.journal[..cut]);
            let now = coven_model::Timestamp::from_millis(told.now + 1);
            let (events, _) = decide(&state, SessionInput::Recover, now);
            state = events.iter().fold(state, crate::fold::fold);
            let run = state.run().unwrap();
            let task = run.task(&TaskId::new("build.0").unwrap()).unwrap();
            let live = task.live().unwrap_or_else(|| panic!("cut at {cut}: {task:#?}"));
            let JobWork::Agent(work) = &live.spec.work else { panic!() };
            assert_eq!((task.attempt, work.review.as_deref()), (2, Some(REVIEW)), "cut at {cut}");
            let starts =
                events.iter().filter(|event| matches!(event, SessionEvent::TaskStarted(_)));
            assert!(starts.count() <= 1);
        }
    }
}

#[test]
fn an_attempt_that_begins_with_a_review_goes_on_with_the_conversation_before() {
    let mut told = TestRun::begin(plan(vec![fan_out()]), json!({"items": ["a"]}));
    told.tell(tree_ready(TreeId::Run));
    told.tell(tree_ready(tree_of("build.0")));
    let mut outcome = succeeded("fine");
    outcome.agent_session = Some("talk-1".to_owned());
    told.tell(ended("build.0", 1, outcome));
    told.tell(tree_checkpoint("build.0", 1));
    told.tell(review("build.0", 2));
    let JobWork::Agent(work) = &told.spec("build.0", 2).work else { panic!() };
    let conversation = "talk-1".to_owned();
    let used = TokenUsage::default();
    assert_eq!(work.context, Some(RoundContext::Continue { conversation, used }));
    assert_eq!(work.review.as_deref(), Some(REVIEW));
}

#[test]
fn an_attempt_that_fails_over_its_review_is_not_landed_and_begins_with_it_again() {
    let mut told = done();
    told.tell(review("build.0", 2));
    told.fail("build.0", 2);
    told.tell(tree_checkpoint("build.0", 2));
    assert_eq!(told.waiting(), [InterventionKind::FailedStep]);
    told.tell(resolve(2, InterventionChoice::Retry));
    assert_eq!(told.alive(), ["build.0/3"]);
    assert!(told.prompt("build.0", 3).starts_with(REVIEW));
    told.succeed("build.0", 3, "better");
    told.tell(tree_checkpoint("build.0", 3));
    assert_eq!(told.waiting(), [InterventionKind::Landing]);
}

#[test]
fn a_review_that_no_attempt_can_begin_with_is_refused_with_the_reason() {
    let mut told = done();
    let refusal = |told: &TestRun, task: &str| told.state.admits(&review(task, 2)).unwrap_err();
    told.tell(review("build.0", 2));
    let task = |name: &str| TaskId::new(name).unwrap();
    assert_eq!(refusal(&told, "build.0"), RefusalReason::WorksAgain(task("build.0")));
    assert_eq!(refusal(&told, "none"), RefusalReason::NoTask(task("none")));

    let mut told =
        TestRun::begin(plan(vec![agent_step("one", "x"), script_step("two", "y")]), json!({}));
    told.succeed("one", 1, "fine");
    assert_eq!(refusal(&told, "one"), RefusalReason::StepOver(task("one")));
    told.fail("two", 1);
    assert_eq!(refusal(&told, "two"), RefusalReason::NoAgent(task("two")));

    let mut told = TestRun::begin(plan(vec![agent_step("one", "x")]), json!({}));
    told.succeed("one", 1, "fine");
    assert_eq!(refusal(&told, "one"), RefusalReason::Over(WorkflowStatus::Completed));
}
