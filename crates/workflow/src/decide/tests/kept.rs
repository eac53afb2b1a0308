//! Agents that were left alive: what they ask reaches a person, and what is said to them arrives,
//! also when their run is over. The run stays what it is.

use coven_model::event::{DeliveredInput, InterventionDecision, SessionEvent};
use coven_model::{InterventionChoice, InterventionKind, TaskStatus, WorkflowStatus};
use serde_json::json;

use crate::attention::ShownActivity;
use crate::command::Command;
use crate::input::{ScreenObservation, SessionInput};
use crate::state::{RefusalReason, State};
use crate::testing::*;

/// A run of one stage with an agent that stays, which has ended its turn and was called done.
fn kept() -> TestRun {
    let mut agent = interactive("hi");
    agent.keep_alive = true;
    let mut told = TestRun::begin(plan(vec![stage("first", &[("a", agent)])]), json!({}));
    told.tell(idle("a", 1, 1, true));
    told.tell(resolve(1, InterventionChoice::Complete));
    assert_eq!(told.status(), WorkflowStatus::Completed);
    told
}

fn answered(number: u64, seen: u64) -> SessionInput {
    SessionInput::Answered { intervention: intervention(number), seen }
}

fn message(text: &str) -> SessionInput {
    SessionInput::Message { task: job("a", 1).task, text: text.to_owned(), by: "she".to_owned() }
}

fn sends(commands: &[Command]) -> Vec<(u32, String)> {
    let sent = |command: &Command| match command {
        Command::Send { text, .. } => Some((text.number, text.text.clone())),
        _ => None,
    };
    commands.iter().filter_map(sent).collect()
}

fn answers(commands: &[Command]) -> Vec<String> {
    let answer = |command: &Command| match command {
        Command::Answer(answer) => Some(answer.intervention.to_string()),
        _ => None,
    };
    commands.iter().filter_map(answer).collect()
}

/// Spec: C0.11.3
#[test]
fn what_an_agent_asks_that_was_left_alive_reaches_a_person_and_the_run_stays_completed() {
    let mut told = kept();
    let ended_at = told.run().ended_at;
    let (events, commands) = told.tell(asks("a", 1, 5, "Allow rm?"));
    assert_eq!(
        events.iter().map(SessionEvent::kind).collect::<Vec<_>>(),
        ["workflow.intervention.required"]
    );
    assert_eq!(commands, []);
    let SessionEvent::InterventionRequired { intervention: asked, attempt } = &events[0] else {
        panic!("{events:?}")
    };
    assert_eq!((asked.step.as_str(), *attempt), ("first", Some(1)));
    assert_eq!(told.waiting(), [InterventionKind::Approval]);
    assert_eq!(
        (told.status(), told.task_status("a"), told.run().ended_at),
        (WorkflowStatus::Completed, TaskStatus::Done, ended_at)
    );
    let again = || asks("a", 1, 6, "Allow rm?");
    assert_eq!(told.kinds(again()), [] as [&str; 0], "it is asked once");

    let (events, commands) = told.tell(resolve(2, InterventionChoice::Approve));
    assert_eq!(events[0].kind(), "workflow.intervention.resolved");
    assert_eq!(answers(&commands), [intervention(2).to_string()]);
    assert_eq!(told.waiting(), []);
    assert!(told.state.admits(&resolve(2, InterventionChoice::Deny)).is_err());
    // A process that dies here finds the answer on its way.
    let after = replay(&told.journal);
    assert_eq!(answers(&after.outstanding()), [intervention(2).to_string()]);
    assert_eq!(after, told.state);

    let (events, commands) = told.tell(answered(2, 9));
    assert!(matches!(
        &events[..],
        [SessionEvent::InputDelivered { input: DeliveredInput::Answer(_), seen: 9, .. }]
    ));
    assert_eq!(commands, [Command::Observe(job("a", 1))]);
    assert_eq!(told.state.outstanding(), []);
    assert_eq!(told.status(), WorkflowStatus::Completed);
}

#[test]
fn an_answer_that_a_kept_agent_does_not_take_brings_its_question_back() {
    let mut told = kept();
    told.tell(asks("a", 1, 5, "Allow rm?"));
    told.tell(resolve(2, InterventionChoice::Approve));
    let stale = SessionInput::Stale {
        intervention: intervention(2),
        reason: "it changed".to_owned(),
        pressed: false,
    };
    let (events, commands) = told.tell(stale);
    assert_eq!(events[0].kind(), "input.refused");
    assert_eq!(commands, [Command::Observe(job("a", 1))]);
    assert_eq!(told.kinds(asks("a", 1, 7, "Allow rm?")), ["workflow.intervention.required"]);
    let refused = told.run().interventions().next().unwrap().refused.clone();
    assert_eq!(refused.as_deref(), Some("it changed"));
}

#[test]
fn a_question_of_a_kept_agent_is_withdrawn_when_it_goes_on_or_ends() {
    let working =
        |seen| SessionInput::Observed { job: job("a", 1), seen, what: ScreenObservation::Working };
    let mut told = kept();
    told.tell(asks("a", 1, 5, "Allow rm?"));
    assert_eq!(told.kinds(working(6)), ["workflow.intervention.withdrawn"]);
    told.tell(asks("a", 1, 7, "Allow ls?"));
    assert_eq!(told.kinds(idle("a", 1, 8, true)), ["workflow.intervention.withdrawn"]);
    told.tell(asks("a", 1, 9, "Allow cat?"));
    assert_eq!(
        told.kinds(ended("a", 1, stopped())),
        ["workflow.intervention.withdrawn", "task.released"]
    );
    assert_eq!(told.waiting(), []);
    assert_eq!(told.kinds(asks("a", 1, 10, "Allow mv?")), [] as [&str; 0], "it is gone");
    assert_eq!(told.status(), WorkflowStatus::Completed);
}

#[test]
fn a_kept_agent_that_asks_does_not_block_the_run_that_goes_on_without_it() {
    let mut agent = interactive("hi");
    agent.keep_alive = true;
    let stages = vec![stage("first", &[("a", agent)]), stage("second", &[("b", interactive("y"))])];
    let mut told = TestRun::begin(plan(stages), json!({}));
    told.tell(idle("a", 1, 1, true));
    told.tell(resolve(1, InterventionChoice::Complete));
    assert_eq!(told.status(), WorkflowStatus::Running);
    assert_eq!(told.kinds(asks("a", 1, 5, "Allow rm?")), ["workflow.intervention.required"]);
    assert_eq!(told.status(), WorkflowStatus::Running);
    assert_eq!(told.run().interventions().next().unwrap().step, "first");
    told.tell(idle("b", 1, 1, true));
    assert_eq!(told.status(), WorkflowStatus::Blocked);
    let numbers = told.run().interventions().map(|asked| asked.id.to_string());
    assert_eq!(
        numbers.collect::<Vec<_>>(),
        [intervention(2).to_string(), intervention(3).to_string()]
    );
    told.tell(resolve(3, InterventionChoice::Complete));
    told.tell(ended("b", 1, stopped()));
    assert_eq!(told.status(), WorkflowStatus::Completed);
    assert_eq!(told.waiting(), [InterventionKind::Approval], "it waits on");
    let (_, commands) = told.tell(resolve(2, InterventionChoice::Approve));
    assert_eq!(answers(&commands), [intervention(2).to_string()]);
}

#[test]
fn what_a_kept_agent_asked_when_its_task_was_called_done_is_asked_again() {
    let mut agent = interactive("hi");
    agent.keep_alive = true;
    let mut told = TestRun::begin(plan(vec![stage("first", &[("a", agent)])]), json!({}));
    told.tell(asks("a", 1, 1, "Allow rm?"));
    let complete = SessionInput::Complete { task: job("a", 1).task, by: "she".to_owned() };
    let (_, commands) = told.tell(complete);
    assert_eq!(told.status(), WorkflowStatus::Completed);
    assert_eq!(commands, [Command::Observe(job("a", 1))]);
    let digest = told.run().kept_job(&job("a", 1)).unwrap().asked[0].digest.clone();
    let state = coven_model::AgentState::Awaiting;
    let shown = ShownActivity { state, digest: Some(digest), is_unexplained: false };
    assert!(told.run().is_unheard(&job("a", 1), &shown), "nobody was asked so far");
    assert_eq!(told.kinds(asks("a", 1, 2, "Allow rm?")), ["workflow.intervention.required"]);
    assert!(!told.run().is_unheard(&job("a", 1), &shown));
}

/// Spec: C0.11.3
#[test]
fn a_message_to_a_kept_agent_is_queued_delivered_and_held_like_any_other() {
    let mut told = kept();
    let (events, commands) = told.tell(message("more"));
    assert_eq!(events[0].kind(), "input.queued");
    assert_eq!(sends(&commands), [(1, "more".to_owned())]);
    assert_eq!(sends(&replay(&told.journal).outstanding()), [(1, "more".to_owned())]);
    let fails = SessionInput::Undelivered {
        job: job("a", 1),
        number: 1,
        attempt: 1,
        reason: "it was not seen".to_owned(),
        typable: true,
    };
    assert_eq!(told.kinds(fails), ["workflow.intervention.required"]);
    assert_eq!(told.waiting(), [InterventionKind::UndeliveredMessage]);
    let (_, commands) = told.tell(resolve(2, InterventionChoice::Retry));
    assert_eq!(sends(&commands), [(1, "more".to_owned())]);
    let delivered = SessionInput::Delivered { job: job("a", 1), number: 1, seen: 9 };
    assert_eq!(told.kinds(delivered), ["input.delivered"]);
    assert_eq!(told.state.outstanding(), []);
    // The end of the turn that follows is nothing that a task waits for.
    assert_eq!(told.kinds(idle("a", 1, 10, true)), [] as [&str; 0]);
    // A message is no answer.
    told.tell(asks("a", 1, 11, "Allow rm?"));
    let refused = told.state.admits(&message("yes"));
    assert_eq!(refused, Err(RefusalReason::Awaiting(job("a", 1).task)));
    told.tell(ended("a", 1, stopped()));
    let over = told.state.admits(&message("yes"));
    assert!(matches!(over, Err(RefusalReason::NotLive { .. })), "{over:?}");
}

#[test]
fn what_nobody_knows_of_a_kept_agent_is_for_a_person_who_cannot_complete_its_task_again() {
    let puzzled = |seen| SessionInput::Observed {
        job: job("a", 1),
        seen,
        what: ScreenObservation::Unexplained { excerpt: "???".to_owned() },
    };
    let mut told = kept();
    assert_eq!(told.kinds(puzzled(5)), ["workflow.intervention.required"]);
    assert_eq!(told.kinds(puzzled(6)), [] as [&str; 0]);
    let asked = told.run().interventions().next().unwrap();
    assert_eq!(asked.kind, InterventionKind::UnknownState);
    assert_eq!(asked.options, [InterventionChoice::Send, InterventionChoice::Stop]);
    let (_, commands) = told.tell(decide_with(
        2,
        InterventionDecision::new(InterventionChoice::Send, "she").with_text("y"),
    ));
    assert_eq!(sends(&commands), [(1, "y".to_owned())]);
    told.tell(SessionInput::Delivered { job: job("a", 1), number: 1, seen: 7 });
    told.tell(puzzled(8));
    let (_, commands) = told.tell(resolve(3, InterventionChoice::Stop));
    assert_eq!(commands, [Command::Stop(job("a", 1))]);
    assert_eq!(replay(&told.journal).outstanding(), commands);
    assert_eq!(told.kinds(ended("a", 1, stopped())), ["task.released"]);
    assert_eq!(
        (told.status(), told.task_status("a")),
        (WorkflowStatus::Completed, TaskStatus::Done)
    );
}

#[test]
fn the_time_of_a_task_does_not_run_on_for_its_kept_agent() {
    let mut agent = interactive("hi");
    agent.keep_alive = true;
    let mut steps = vec![stage("first", &[("a", agent)])];
    steps[0].timeout = Some(std::time::Duration::from_secs(5));
    let mut told = TestRun::begin(plan(steps), json!({}));
    told.tell(SessionInput::Started(job("a", 1)));
    told.tell(idle("a", 1, 1, true));
    told.tell(resolve(1, InterventionChoice::Complete));
    assert_eq!(told.run().kept_job(&job("a", 1)).unwrap().deadline, None);
    assert_eq!(told.state.outstanding(), []);
    // After a restart it is found again, which starts no time.
    assert_eq!(told.kinds(SessionInput::Started(job("a", 1))), [] as [&str; 0]);
    told.tell(asks("a", 1, 5, "Allow rm?"));
    assert_eq!(told.run().interventions().next().unwrap().expires_at, None);
}

/// A journal of a version that asked nobody for such agents folds as it did, and the agent is known
/// from it.
#[test]
fn an_old_journal_with_a_kept_agent_gives_an_agent_that_can_ask() {
    let told = kept();
    let state: State = replay(&told.journal);
    assert_eq!(state.status(), WorkflowStatus::Completed);
    assert!(state.run().unwrap().kept_job(&job("a", 1)).is_some());
    assert_eq!(state.outstanding(), []);
}
