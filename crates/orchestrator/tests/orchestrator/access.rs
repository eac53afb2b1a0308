//! Looking closer at a session, and talking to its agents: live, and from the disk once it is over.

use std::time::Duration;

use coven_model::event::{DeliveredInput, InterventionDecision, SessionEvent};
use coven_model::{
    AgentMode, InterventionChoice, InterventionKind, SessionId, TaskId, TaskStatus, WorkflowStatus,
};
use coven_notation::SourceFile;
use coven_orchestrator::{EventSubscription, Orchestrator, RequestError};
use coven_policy::{EffectivePolicies, Policy};
use serde_json::json;

use crate::support::{Base, DEADLINE, decide, end, fact, intervention, nothing_left};

fn task(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

fn stage(tasks: &[serde_json::Value]) -> String {
    json!({"id": "staged", "stages": [{"id": "s", "tasks": tasks}]}).to_string()
}

async fn start(
    base: &Base,
    orchestrator: &Orchestrator,
    text: &str,
) -> (SessionId, EventSubscription) {
    let id = orchestrator.execute_workflow(base.definition(text)).await.unwrap();
    let events = orchestrator.subscribe(&id, 0).await.unwrap();
    (id, events)
}

/// Waits until an agent is there to talk to.
async fn agent(orchestrator: &Orchestrator, id: &SessionId, name: &str) {
    let there = async {
        while orchestrator.agent(id, &task(name)).is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, there).await.unwrap_or_else(|_| panic!("{name} never started"));
}

/// A session that is over leaves the memory at once here.
async fn open_forgetful(base: &Base) -> Orchestrator {
    let mut options = base.options();
    options.linger = Duration::ZERO;
    Orchestrator::open(options).await.unwrap()
}

async fn forgotten(orchestrator: &Orchestrator, id: &SessionId) {
    let gone = async {
        while orchestrator.controller(id).is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, gone).await.expect("what is over should leave the memory");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_reached_while_it_runs_and_its_tape_afterwards() {
    let base = Base::new();
    let orchestrator = open_forgetful(&base).await;
    let text = stage(&[
        json!({"id": "talk", "adapter": "demo", "prompt": "say hello"}),
        json!({"id": "work", "adapter": "demo", "executionMode": "headless", "prompt": "hang"}),
    ]);
    let (id, mut events) = start(&base, &orchestrator, &text).await;
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::EndedTurn);
    let talk = orchestrator.task(&id, &task("talk")).await.unwrap();
    assert_eq!((talk.adapter.as_str(), talk.mode), ("demo", AgentMode::Interactive));
    assert_eq!(talk.status, TaskStatus::WaitingForUser);
    assert!(talk.agent.is_some() && talk.headless.is_none());
    assert!(talk.agent.unwrap().view().await.unwrap().snapshot.text().contains("hello"));
    let verdicts = orchestrator.snapshot(&id).await.unwrap().verdicts();
    assert_eq!(verdicts.iter().map(|(job, _)| job.task.as_str()).collect::<Vec<_>>(), ["talk"]);
    let plan = orchestrator.snapshot(&id).await.unwrap().plan().cloned().unwrap();
    assert_eq!(plan.rows[0].lanes.len(), 2);

    let unknown = orchestrator.task(&id, &task("tolk")).await.unwrap_err();
    assert_eq!(unknown.to_string(), "there is no task `tolk`; did you mean `talk`?");
    let headless = async {
        while orchestrator.task(&id, &task("work")).await.unwrap().headless.is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, headless).await.expect("the headless agent should be reached");
    let said = orchestrator.send(&id, &task("work"), "say more", "a test").await;
    assert!(matches!(said, Err(RequestError::NotInteractive(_))), "{said:?}");

    orchestrator.cancel(&id, "a test", "").await.unwrap();
    let view = end(&orchestrator, &id).await;
    nothing_left(&id, &view);
    drop(events);
    forgotten(&orchestrator, &id).await;
    let past = orchestrator.task(&id, &task("talk")).await.unwrap();
    assert_eq!((past.attempt, past.folder.clone()), (talk.attempt, talk.folder));
    assert_eq!((past.adapter.as_str(), past.mode), ("demo", AgentMode::Interactive));
    assert_eq!(past.status, TaskStatus::Cancelled);
    assert!(past.agent.is_none() && past.headless.is_none());
    assert!(coven_tape::TapeReader::open(&past.folder).unwrap().records(0).count() > 0);
    let unknown = orchestrator.task(&id, &task("tolk")).await;
    assert!(matches!(unknown, Err(RequestError::NoTask { near: Some(_), .. })), "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_over_and_forgotten_is_answered_from_the_disk() {
    let base = Base::new();
    let orchestrator = open_forgetful(&base).await;
    let text = "name: two\ndescription: Two steps.\nsteps:\n  - {name: one, type: gate, message: Go?}\n  - {name: two, type: script, command: echo two, output: said}\n";
    let (id, mut events) = start(&base, &orchestrator, text).await;
    let asked = intervention(&mut events).await;
    let early = orchestrator.task(&id, &task("two")).await;
    assert!(matches!(early, Err(RequestError::NoTask { .. })), "{early:?}");
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    let status = orchestrator.wait(&id, false).await.unwrap();
    assert_eq!(status, WorkflowStatus::Completed);
    drop(events);
    forgotten(&orchestrator, &id).await;
    let view = orchestrator.view(&id).await.unwrap().unwrap();
    assert_eq!(view.variables["said"], "two");
    assert_eq!(orchestrator.wait(&id, false).await.unwrap(), WorkflowStatus::Completed);
    assert_eq!(
        orchestrator.snapshot(&id).await.unwrap().plan().cloned().unwrap().status,
        WorkflowStatus::Completed
    );
    let decided = orchestrator.decided(&id).await;
    assert_eq!(decided.len(), 1);
    assert_eq!(decided[0].1.as_ref().unwrap().choice, InterventionChoice::Approve);
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let mut count = 0;
    let replay = async {
        while events.next().await.unwrap().is_some() {
            count += 1;
        }
    };
    tokio::time::timeout(DEADLINE, replay).await.expect("it should replay and end");
    assert!(count > 5);
    let late = orchestrator.cancel(&id, "a test", "").await;
    assert!(matches!(late, Err(RequestError::Refused(_))), "{late:?}");
    assert!(orchestrator.controller(&id).is_none(), "a refusal needs nobody in memory");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_questions_of_all_sessions_come_oldest_first_and_decided_ones_stay_known() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let text = "name: asks\ndescription: Asks.\nsteps:\n  - {name: one, type: gate, message: Go?}\n  - {name: two, type: agent, mode: interactive, permissions: ask, prompt: approve touch made.txt; say done}\n";
    let (first, mut one) = start(&base, &orchestrator, text).await;
    let older = intervention(&mut one).await;
    let (second, mut two) = start(&base, &orchestrator, text).await;
    let newer = intervention(&mut two).await;
    assert_eq!(orchestrator.interventions(), [older.clone(), newer.clone()]);
    assert_eq!(orchestrator.decided(&first).await, []);

    // From now on a rule answers what agents ask.
    let policy = "version: 1\nrules:\n  - {name: yes, kind: approval, decision: allow}\n";
    let policy = Policy::read(&SourceFile::new("policy.yaml", policy)).unwrap();
    orchestrator
        .set_policies(EffectivePolicies { user: Some(policy), ..EffectivePolicies::default() });
    decide(&orchestrator, &older, InterventionChoice::Approve).await;
    let view = end(&orchestrator, &first).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(orchestrator.interventions(), [newer]);
    let decided = orchestrator.decided(&first).await;
    let kinds: Vec<_> = decided.iter().map(|(asked, _)| asked.kind).collect();
    assert_eq!(kinds, [InterventionKind::HumanGate, InterventionKind::Approval]);
    let by: Vec<_> = decided.iter().map(|(_, how)| how.as_ref().unwrap().by.clone()).collect();
    assert_eq!(by[0], "a test");
    assert!(by[1].contains("yes"), "{by:?}");
    orchestrator.cancel(&second, "a test", "").await.unwrap();
    end(&orchestrator, &second).await;
    assert_eq!(orchestrator.decided(&second).await[0].1, None, "nobody decided it");
}

/// Spec: C0.11.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_to_an_agent_is_verified_and_becomes_a_fact() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let text = stage(&[json!({"id": "talk", "adapter": "demo"})]);
    let (id, mut events) = start(&base, &orchestrator, &text).await;
    agent(&orchestrator, &id, "talk").await;
    assert!(orchestrator.send(&id, &task("talk"), "say one", "a test").await.unwrap());
    let mut replay = orchestrator.subscribe(&id, 0).await.unwrap();
    let sent = fact(&mut replay, "the message", |event| match event {
        SessionEvent::InputQueued { text, by, .. } => Some((text.clone(), by.clone())),
        _ => None,
    });
    assert_eq!(sent.await, ("say one".to_owned(), Some("a test".to_owned())));
    let arrived = fact(&mut replay, "its arrival", |event| match event {
        SessionEvent::InputDelivered { input: DeliveredInput::Queued(1), .. } => Some(()),
        _ => None,
    });
    arrived.await;

    // Its turn is over: now the same request is the decision to send.
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::EndedTurn);
    orchestrator.send(&id, &task("talk"), "say two", "a test").await.unwrap();
    let decided = fact(&mut events, "the decision", |event| match event {
        SessionEvent::InterventionResolved { decision, .. } => Some((**decision).clone()),
        _ => None,
    });
    let decided = decided.await;
    assert_eq!(
        (decided.choice, decided.text.as_deref()),
        (InterventionChoice::Send, Some("say two"))
    );
    let again = intervention(&mut events).await;
    assert!(again.excerpt.contains("two"), "{}", again.excerpt);
    let nobody = orchestrator.send(&id, &task("nobody"), "say", "a test").await;
    assert!(matches!(nobody, Err(RequestError::NoTask { .. })), "{nobody:?}");
    orchestrator.complete_task(&id, &task("talk"), "a test").await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let late = orchestrator.send(&id, &task("talk"), "say", "a test").await;
    assert!(matches!(late, Err(RequestError::NoAgent(_))), "{late:?}");
    nothing_left(&id, &view);
}

/// An agent that is held up for longer than a message waits is not ended, and the message is not
/// lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_does_not_arrive_ends_no_agent_and_can_be_sent_again() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let text = stage(&[json!({"id": "talk", "adapter": "demo", "prompt": "say hello"})]);
    let (id, mut events) = start(&base, &orchestrator, &text).await;
    assert_eq!(intervention(&mut events).await.kind, InterventionKind::EndedTurn);
    let folder = orchestrator.task(&id, &task("talk")).await.unwrap().folder;
    let record = std::fs::read_to_string(folder.join("spawn.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let process = record["process"]["pid"].to_string();
    let signal = |name: &str| {
        assert!(
            std::process::Command::new("kill").args([name, &process]).status().unwrap().success()
        );
    };

    signal("-STOP");
    let sent = orchestrator.send(&id, &task("talk"), "say two", "a test").await;
    let Err(RequestError::MessageHeld { intervention: held, reason }) = sent else {
        panic!("{sent:?}")
    };
    assert!(reason.contains("talk did not get its message"), "{reason}");
    let asked = intervention(&mut events).await;
    assert_eq!((asked.kind, &asked.id), (InterventionKind::UndeliveredMessage, &held));
    assert_eq!(asked.excerpt, "say two");
    signal("-CONT");

    let retry = InterventionDecision::new(InterventionChoice::Retry, "a test");
    orchestrator.answer(&held, retry, None).await.unwrap();
    let again = intervention(&mut events).await;
    assert_eq!(again.kind, InterventionKind::EndedTurn);
    assert_eq!(again.excerpt, "two");
    let agent = orchestrator.agent(&id, &task("talk")).unwrap();
    let shown = agent.view().await.unwrap().snapshot.text();
    assert_eq!(shown.matches("> say two").count(), 1, "{shown}");
    orchestrator.complete_task(&id, &task("talk"), "a test").await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    nothing_left(&id, &view);
}

/// What a person has typed and not submitted is neither sent along nor lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draft_in_the_prompt_is_kept_and_said() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let text = stage(&[json!({"id": "talk", "adapter": "demo", "prompt": "say hello"})]);
    let (id, mut events) = start(&base, &orchestrator, &text).await;
    assert_eq!(intervention(&mut events).await.kind, InterventionKind::EndedTurn);
    let agent = orchestrator.agent(&id, &task("talk")).unwrap();
    agent.write(b"say a thought of mine".to_vec()).await;
    let sent = orchestrator.send(&id, &task("talk"), "say two", "a test").await;
    let Err(RequestError::MessageHeld { intervention: held, reason }) = sent else {
        panic!("{sent:?}")
    };
    assert!(reason.contains("“say a thought of mine” stands in the prompt"), "{reason}");
    let asked = intervention(&mut events).await;
    assert_eq!((asked.kind, &asked.id), (InterventionKind::UndeliveredMessage, &held));
    // The person sends it, and then the message goes out.
    agent.write(b"\r".to_vec()).await;
    let retry = InterventionDecision::new(InterventionChoice::Retry, "a test");
    orchestrator.answer(&held, retry, None).await.unwrap();
    while intervention(&mut events).await.excerpt != "two" {}
    let shown = agent.view().await.unwrap().snapshot.text();
    assert_eq!(shown.matches("> say two\n").count(), 1, "{shown}");
    assert_eq!(shown.matches("> say a thought of mine\n").count(), 1, "{shown}");
    orchestrator.cancel(&id, "a test", "").await.unwrap();
    let view = end(&orchestrator, &id).await;
    nothing_left(&id, &view);
}

/// One queue and one order, however the agent toggles between work and rest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_arrive_once_and_in_the_order_they_were_sent() {
    const MESSAGES: usize = 12;
    let base = Base::new();
    let orchestrator = base.open().await;
    let text = stage(&[json!({"id": "talk", "adapter": "demo"})]);
    let (id, mut events) = start(&base, &orchestrator, &text).await;
    for number in 0..MESSAGES {
        let pause = if number % 3 == 0 { "think 0.3; " } else { "" };
        let message = format!("{pause}disobey echo {number} >> order.txt");
        orchestrator.send(&id, &task("talk"), &message, "a test").await.unwrap();
    }
    let all: String = (0..MESSAGES).map(|number| format!("{number}\n")).collect();
    let path = base.path().join("order.txt");
    // Each turn that ends is told, the last one when every message was worked on.
    while std::fs::read_to_string(&path).unwrap_or_default().len() < all.len() {
        intervention(&mut events).await;
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), all);
    orchestrator.cancel(&id, "a test", "").await.unwrap();
    let view = end(&orchestrator, &id).await;
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_interrupted_and_its_turn_is_over() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let text = stage(&[json!({"id": "talk", "adapter": "demo", "prompt": "think 600"})]);
    let (id, mut events) = start(&base, &orchestrator, &text).await;
    agent(&orchestrator, &id, "talk").await;
    let working = async {
        let mut verdicts = orchestrator.agent(&id, &task("talk")).unwrap().watch();
        let working =
            |verdict: &coven_model::AgentVerdict| verdict.state == coven_model::AgentState::Working;
        verdicts.wait_for(working).await.unwrap();
    };
    tokio::time::timeout(DEADLINE, working).await.expect("it should work");
    orchestrator.interrupt(&id, &task("talk")).await.unwrap();
    assert_eq!(intervention(&mut events).await.kind, InterventionKind::EndedTurn);
    orchestrator.cancel(&id, "a test", "").await.unwrap();
    let view = end(&orchestrator, &id).await;
    nothing_left(&id, &view);
}
