//! Cancelling, trying again, time, and what comes late.

use coven_model::event::{JobTimer, SessionEvent, StopCause, TimerPurpose};
use coven_model::{
    InterventionChoice, InterventionKind, JobOutcome, ProcessEnding, TaskStatus, Timestamp,
    WorkflowStatus,
};
use serde_json::json;

use crate::command::Command;
use crate::input::SessionInput;
use crate::plan::{MAX_LOST_RETRIES, OnFailure, OnLost, StepAction};
use crate::state::RefusalReason;
use crate::testing::*;

fn cancel() -> SessionInput {
    SessionInput::Cancel { by: "she".to_owned(), why: "enough".to_owned() }
}

fn again(run: u32) -> SessionInput {
    SessionInput::Retry { run, by: "she".to_owned(), why: String::new() }
}

fn timer(task: &str, attempt: u32, purpose: TimerPurpose) -> SessionInput {
    SessionInput::TimerFired(JobTimer { job: job(task, attempt), purpose })
}

#[test]
fn a_cancelled_run_stops_everything_and_ends_when_nothing_is_alive() {
    let steps = vec![parallel("build", "${input.tasks}", "${item}", 2), agent_step("then", "x")];
    let mut told = TestRun::begin(plan(steps), json!({"tasks": [1, 2, 3]}));
    told.tell(asks("build.0", 1, 1, "Allow rm?"));
    let (_, commands) = told.tell(cancel());
    assert_eq!(commands, [Command::Stop(job("build.0", 1)), Command::Stop(job("build.1", 1))]);
    assert_eq!((told.status(), told.waiting()), (WorkflowStatus::Running, vec![]));
    assert_eq!(told.state.admits(&cancel()), Err(RefusalReason::Stopping));
    // One ends well all the same. Nothing starts in its place.
    assert_eq!(told.succeed("build.1", 1, "B"), [] as [&str; 0]);
    assert_eq!(told.status(), WorkflowStatus::Running);
    assert_eq!(told.kinds(ended("build.0", 1, stopped())), ["task.ended", "workflow.cancelled"]);
    assert_eq!(
        (told.task_status("build.0"), told.task_status("build.1")),
        (TaskStatus::Cancelled, TaskStatus::Done)
    );
    assert_eq!(told.state.outstanding(), []);
}

#[test]
fn what_is_over_takes_nothing_in_any_more() {
    let mut told = TestRun::begin(plan(vec![agent_step("do", "go").retries(3, 100)]), json!({}));
    told.fail("do", 1);
    told.tell(cancel());
    assert_eq!(told.status(), WorkflowStatus::Cancelled);
    told.now += 1_000;
    for input in [
        timer("do", 2, TimerPurpose::Retry),
        ended("do", 1, succeeded("x")),
        ended("do", 2, succeeded("x")),
        SessionInput::Started(job("do", 2)),
        SessionInput::Lost(job("do", 1)),
        resolve(1, InterventionChoice::Retry),
        SessionInput::Begin,
        SessionInput::Recover,
        again(0),
        cancel(),
    ] {
        assert_eq!(told.kinds(input.clone()), [] as [&str; 0], "{input:?}");
    }
}

#[test]
fn a_run_that_has_not_begun_is_cancelled_at_once() {
    let mut told = TestRun { state: crate::State::default(), journal: vec![], now: 0 };
    told.tell(creation(plan(vec![agent_step("do", "go")]), &json!({})));
    assert_eq!(told.kinds(cancel()), ["workflow.cancelled"]);
}

#[test]
fn a_failed_attempt_is_repeated_after_its_pause() {
    let mut told = TestRun::begin(plan(vec![agent_step("do", "go").retries(2, 500)]), json!({}));
    let (events, commands) = told.tell(ended("do", 1, exited(1)));
    assert_eq!(
        events.iter().map(SessionEvent::kind).collect::<Vec<_>>(),
        ["task.ended", "timer.set"]
    );
    let due = Timestamp::from_millis(told.now + 500);
    let retry = JobTimer { job: job("do", 2), purpose: TimerPurpose::Retry };
    assert_eq!(commands, [Command::SetTimer { timer: retry.clone(), due }]);
    // Too early: it is set again.
    let (events, commands) = told.tell(SessionInput::TimerFired(retry.clone()));
    assert_eq!(
        (events.len(), commands),
        (0, vec![Command::SetTimer { timer: retry.clone(), due }])
    );
    told.now += 500;
    assert_eq!(told.starts(SessionInput::TimerFired(retry.clone())), ["do/2"]);
    assert_eq!(told.starts(SessionInput::TimerFired(retry)), [] as [&str; 0]);
    told.fail("do", 2);
    assert_eq!(told.status(), WorkflowStatus::Failed);
}

#[test]
fn an_attempt_whose_time_is_up_is_stopped_and_counts_as_timed_out_whatever_it_says() {
    let mut steps = vec![agent_step("do", "go")];
    steps[0].timeout = Some(std::time::Duration::from_mins(1));
    let mut told = TestRun::begin(plan(steps), json!({}));
    assert_eq!(told.kinds(timer("do", 1, TimerPurpose::Timeout)), [] as [&str; 0]);
    // Time runs from the start of the process, and is not set anew when it is told twice.
    assert_eq!(told.kinds(SessionInput::Started(job("do", 1))), ["timer.set"]);
    told.now += 30_000;
    assert_eq!(told.kinds(SessionInput::Started(job("do", 1))), [] as [&str; 0]);
    told.now += 30_000;
    let (_, commands) = told.tell(timer("do", 1, TimerPurpose::Timeout));
    assert_eq!(commands, [Command::Stop(job("do", 1))]);
    assert_eq!(
        told.run().live(&job("do", 1)).unwrap().stop.as_ref().unwrap().0,
        StopCause::Timeout
    );
    told.succeed("do", 1, "I was just about to finish");
    assert_eq!(
        (told.status(), told.error().as_str()),
        (WorkflowStatus::Failed, "it took longer than 60s")
    );
}

#[test]
fn an_attempt_that_could_not_reach_its_model_in_time_says_so() {
    let mut steps = vec![agent_step("do", "go")];
    steps[0].timeout = Some(std::time::Duration::from_mins(1));
    let mut told = TestRun::begin(plan(steps), json!({}));
    told.tell(SessionInput::Started(job("do", 1)));
    told.now += 60_000;
    told.tell(timer("do", 1, TimerPurpose::Timeout));
    let retry = coven_model::ModelRetry {
        attempt: Some(7),
        max: Some(10),
        status: Some(500),
        ..coven_model::ModelRetry::default()
    };
    told.tell(ended("do", 1, JobOutcome { retry: Some(retry), ..stopped() }));
    assert_eq!(told.error(), "it took longer than 60s, retrying 7 of 10: 500");
}

#[test]
fn a_question_waits_no_longer_than_the_job_that_asks_has_time() {
    let mut steps = vec![agent_step("do", "go"), agent_step("then", "go")];
    steps[0].timeout = Some(std::time::Duration::from_mins(1));
    let mut told = TestRun::begin(plan(steps), json!({}));
    told.tell(SessionInput::Started(job("do", 1)));
    let due = Timestamp::from_millis(told.now + 60_000);
    told.now += 30_000;
    told.tell(asks("do", 1, 1, "Allow rm?"));
    assert_eq!(told.run().interventions().next().unwrap().expires_at, Some(due));
    told.now += 30_000;
    let kinds = told.kinds(timer("do", 1, TimerPurpose::Timeout));
    assert_eq!(kinds[0], "workflow.intervention.withdrawn");
    assert_eq!(told.waiting(), []);
}

#[test]
fn a_failed_run_is_tried_again_at_the_step_that_failed() {
    let steps = vec![agent_step("one", "x").output("first"), agent_step("two", "${first}")];
    let mut told = TestRun::begin(plan(steps), json!({}));
    told.succeed("one", 1, "1");
    told.fail("two", 1);
    assert_eq!(told.status(), WorkflowStatus::Failed);
    assert_eq!(told.starts(again(0)), ["two/2"]);
    assert_eq!(told.prompt("two", 2), "1");
    told.fail("two", 2);
    // The same request once more, late: it was carried out already.
    assert_eq!(told.state.admits(&again(0)), Err(RefusalReason::AlreadyRetried));
    assert_eq!(told.starts(again(0)), [] as [&str; 0]);
    assert_eq!(told.starts(again(1)), ["two/3"]);
    told.succeed("two", 3, "2");
    assert_eq!(told.status(), WorkflowStatus::Completed);
    assert_eq!(told.state.admits(&again(2)), Err(RefusalReason::Over(WorkflowStatus::Completed)));
}

#[test]
fn a_blocked_run_that_is_tried_again_does_the_blocked_step_again() {
    let mut told =
        TestRun::begin(plan(vec![gate("tests", Some("x")), agent_step("then", "y")]), json!({}));
    assert_eq!(told.state.admits(&again(0)), Err(RefusalReason::NothingToRetry));
    told.fail("tests", 1);
    assert_eq!(told.starts(again(0)), ["tests/2"]);
    assert_eq!((told.status(), told.waiting()), (WorkflowStatus::Running, vec![]));
    told.fail("tests", 2);
    assert_eq!(told.starts(again(0)), [] as [&str; 0]);
    assert_eq!(told.starts(again(1)), ["tests/3"]);
}

#[test]
fn a_step_that_never_began_is_tried_again_from_its_beginning() {
    let mut told = TestRun::begin(
        plan(vec![parallel("build", "${input.tasks}", "x", 2)]),
        json!({"tasks": 3}),
    );
    assert_eq!(told.status(), WorkflowStatus::Failed);
    told.tell(again(0));
    assert_eq!((told.status(), told.run().retries), (WorkflowStatus::Failed, 1));
}

#[test]
fn a_lost_job_is_tried_again_if_the_step_says_so_and_otherwise_a_person_decides() {
    let mut told = TestRun::begin(plan(vec![agent_step("do", "go").retries(2, 0)]), json!({}));
    assert_eq!(told.starts(SessionInput::Lost(job("do", 1))), ["do/2"]);
    told.tell(SessionInput::Lost(job("do", 2)));
    assert_eq!(told.waiting(), [InterventionKind::LostJob]);
    assert_eq!(told.starts(resolve(1, InterventionChoice::Retry)), ["do/3"]);
    // What was believed lost and reports all the same does not count any more.
    assert_eq!(told.kinds(ended("do", 2, succeeded("x"))), [] as [&str; 0]);
    told.succeed("do", 3, "x");
    assert_eq!(told.status(), WorkflowStatus::Completed);
}

#[test]
fn a_lost_job_does_not_stop_a_step_that_goes_on_anyway() {
    let mut steps = vec![agent_step("do", "go"), agent_step("then", "x")];
    steps[0].on_failure = OnFailure::Continue;
    let mut told = TestRun::begin(plan(steps), json!({}));
    assert_eq!(told.starts(SessionInput::Lost(job("do", 1))), ["then/1"]);
}

#[test]
fn a_lost_job_follows_what_its_step_says_about_that() {
    let begin = |on_failure, on_lost| {
        let mut steps = vec![agent_step("do", "go"), agent_step("then", "x")];
        (steps[0].on_failure, steps[0].on_lost) = (on_failure, Some(on_lost));
        TestRun::begin(plan(steps), json!({}))
    };
    let mut told = begin(OnFailure::Continue, OnLost::Ask);
    told.tell(SessionInput::Lost(job("do", 1)));
    assert_eq!(told.waiting(), [InterventionKind::LostJob], "also where a failure is no matter");
    let mut told = begin(OnFailure::Fail, OnLost::Fail);
    told.tell(SessionInput::Lost(job("do", 1)));
    assert_eq!((told.status(), told.waiting()), (WorkflowStatus::Failed, vec![]));
    let mut told = begin(OnFailure::Continue, OnLost::Fail);
    assert_eq!(told.starts(SessionInput::Lost(job("do", 1))), ["then/1"]);
    let mut told = begin(OnFailure::Fail, OnLost::Retry);
    for attempt in 1..=MAX_LOST_RETRIES {
        let next = format!("do/{}", attempt + 1);
        assert_eq!(told.starts(SessionInput::Lost(job("do", attempt))), [next]);
    }
    told.tell(SessionInput::Lost(job("do", MAX_LOST_RETRIES + 1)));
    assert_eq!(
        told.waiting(),
        [InterventionKind::LostJob],
        "a person looks at one that is lost often"
    );
}

#[test]
fn what_other_failures_do_is_not_changed_by_what_is_said_about_lost_jobs() {
    let mut steps = vec![agent_step("do", "go")];
    steps[0].on_lost = Some(OnLost::Retry);
    let mut told = TestRun::begin(plan(steps), json!({}));
    told.fail("do", 1);
    assert_eq!(told.status(), WorkflowStatus::Failed);
}

#[test]
fn a_lost_task_of_a_stage_follows_what_it_says_itself() {
    let begin = |on_lost| {
        let mut steps = vec![stage("s", &[("a", agent("x")), ("b", agent("y"))])];
        let StepAction::Stage { tasks } = &mut steps[0].action else { unreachable!() };
        tasks[0].on_lost = Some(on_lost);
        TestRun::begin(plan(steps), json!({}))
    };
    let mut told = begin(OnLost::Retry);
    assert_eq!(told.starts(SessionInput::Lost(job("a", 1))), ["a/2"]);
    let mut told = begin(OnLost::Fail);
    told.tell(SessionInput::Lost(job("a", 1)));
    told.succeed("b", 1, "y");
    assert_eq!((told.status(), told.waiting()), (WorkflowStatus::Failed, vec![]));
    let mut told = begin(OnLost::Ask);
    told.tell(SessionInput::Lost(job("a", 1)));
    told.succeed("b", 1, "y");
    assert_eq!(told.waiting(), [InterventionKind::PartialFailure]);
}

#[test]
fn a_step_that_is_to_block_asks_and_does_itself_again() {
    let mut steps = vec![script_step("do", "x"), script_step("then", "y")];
    steps[0].on_failure = OnFailure::Block;
    let mut told = TestRun::begin(plan(steps), json!({}));
    told.fail("do", 1);
    assert_eq!(told.waiting(), [InterventionKind::FailedStep]);
    assert_eq!(told.starts(resolve(1, InterventionChoice::Retry)), ["do/2"]);
}

#[test]
fn only_what_is_offered_can_be_chosen() {
    let mut told = TestRun::begin(plan(vec![gate("tests", Some("x"))]), json!({}));
    told.fail("tests", 1);
    let refused = |input: &SessionInput| told.state.admits(input).unwrap_err().to_string();
    assert_eq!(
        refused(&resolve(1, InterventionChoice::Approve)),
        "`approve` is not possible here; choose retry, skip, abort"
    );
    assert!(refused(&resolve(9, InterventionChoice::Retry)).starts_with("nothing waits under"));
    assert_eq!(told.kinds(resolve(1, InterventionChoice::Approve)), [] as [&str; 0]);
}

#[test]
fn a_task_can_be_stopped_by_itself_and_is_not_repeated_then() {
    let mut told = TestRun::begin(plan(vec![agent_step("do", "go").retries(5, 0)]), json!({}));
    let (_, commands) =
        told.tell(SessionInput::StopTask { task: job("do", 1).task, by: "she".to_owned() });
    assert_eq!(commands, [Command::Stop(job("do", 1))]);
    told.tell(ended(
        "do",
        1,
        JobOutcome { ending: ProcessEnding::Exited { code: 0 }, ..stopped() },
    ));
    assert_eq!((told.status(), told.error().as_str()), (WorkflowStatus::Failed, "stopped by she"));
}

#[test]
fn a_finished_session_can_be_given_up_and_nothing_follows() {
    let mut told = TestRun::begin(plan(vec![agent_step("do", "go")]), json!({}));
    let delete = || SessionInput::Delete { by: "she".to_owned() };
    assert_eq!(told.state.admits(&delete()), Err(RefusalReason::NotOver(WorkflowStatus::Running)));
    told.succeed("do", 1, "x");
    assert_eq!(told.kinds(delete()), ["session.deleted"]);
    assert_eq!(told.kinds(delete()), [] as [&str; 0]);
}

#[test]
fn a_session_with_a_fact_of_a_later_version_is_only_looked_at() {
    let mut told = TestRun::begin(plan(vec![agent_step("do", "go")]), json!({}));
    let unknown = serde_json::from_value(json!({"type": "task.moved", "data": {}})).unwrap();
    told.state = crate::fold(std::mem::take(&mut told.state), &unknown);
    assert_eq!(told.kinds(ended("do", 1, succeeded("x"))), [] as [&str; 0]);
    assert_eq!(told.state.outstanding(), []);
    assert!(told.state.closed().unwrap().contains("`task.moved`"));
}
