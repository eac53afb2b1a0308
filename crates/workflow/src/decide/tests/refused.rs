//! Agents whose programs refuse to be spoken to in their own protocol.

use coven_model::event::{SessionEvent, StopCause};
use coven_model::{JobWork, TaskStatus};
use serde_json::json;

use crate::input::SessionInput;
use crate::plan::PlanStep;
use crate::testing::*;

fn begun(steps: Vec<PlanStep>) -> TestRun {
    TestRun::begin(plan(steps), json!({}))
}

fn reason(told: &TestRun, attempt: u32) -> Option<&str> {
    match &told.spec("do", attempt).work {
        JobWork::Agent(work) => work.without_channel.as_deref(),
        JobWork::Shell(_) => None,
    }
}

#[test]
fn a_refused_agent_is_started_once_more_without_its_protocol_and_without_a_pause() {
    let mut told = begun(vec![agent_step("do", "go").retries(1, 5000)]);
    assert_eq!(reason(&told, 1), None);
    assert_eq!(told.starts(ended("do", 1, refused("no such option"))), ["do/2"]);
    assert_eq!(reason(&told, 2), Some("no such option"));
    assert_eq!(told.prompt("do", 2), "go");
    // It was the only attempt that counts.
    assert_eq!(told.fail("do", 2), [] as [&str; 0]);
    assert_eq!(told.task_status("do"), TaskStatus::Error);
}

#[test]
fn a_refusal_costs_none_of_the_attempts_and_is_remembered_by_those_that_follow() {
    let mut told = begun(vec![agent_step("do", "go").retries(2, 0)]);
    assert_eq!(told.fail("do", 1), ["do/2"]);
    assert_eq!(told.starts(ended("do", 2, refused("no such option"))), ["do/3"]);
    assert_eq!(reason(&told, 3), Some("no such option"));
    assert_eq!(told.starts(ended("do", 3, refused("still not"))), [] as [&str; 0]);
    assert_eq!(told.task_status("do"), TaskStatus::Error);
    let by = "she".to_owned();
    let again = told.starts(SessionInput::Retry { run: 0, by, why: String::new() });
    assert_eq!(again, ["do/4"]);
    assert_eq!(reason(&told, 4), Some("no such option"));
}

#[test]
fn a_refused_agent_with_inputs_after_its_prompt_fails_with_the_reason() {
    let mut spec = agent("go");
    spec.pending_inputs = vec![template("and this")];
    let mut told = begun(vec![stage("s", &[("do", spec)])]);
    assert_eq!(told.starts(ended("do", 1, refused("no such option"))), [] as [&str; 0]);
    assert_eq!(told.task_status("do"), TaskStatus::Error);
}

#[test]
fn a_refused_agent_that_is_being_stopped_is_not_started_again() {
    let mut told = begun(vec![agent_step("do", "go")]);
    let (task, by) = (job("do", 1).task, "she".to_owned());
    let (events, _) = told.tell(SessionInput::StopTask { task, by });
    let stops = |event: &SessionEvent| {
        matches!(event, SessionEvent::TaskStopping { cause: StopCause::Unwanted, .. })
    };
    assert!(events.iter().any(stops), "{events:?}");
    assert_eq!(told.starts(ended("do", 1, refused("no such option"))), [] as [&str; 0]);
    assert_eq!(told.task_status("do"), TaskStatus::Error);
}

#[test]
fn an_agent_that_does_not_know_its_conversation_begins_afresh_at_no_cost() {
    let mut told = begun(vec![agent_step("do", "go").retries(2, 0)]);
    assert_eq!(told.fail("do", 1), ["do/2"]);
    assert_eq!(told.starts(ended("do", 2, unresumed())), ["do/3"]);
    // That one was the second that counts.
    assert_eq!(told.fail("do", 3), [] as [&str; 0]);
    assert_eq!(told.task_status("do"), TaskStatus::Error);
}
