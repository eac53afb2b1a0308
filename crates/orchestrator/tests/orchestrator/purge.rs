//! Sessions that go: on request, by retention, and with everything that was still alive of them.

use std::time::Duration;

use coven_model::event::SessionEvent;
use coven_model::{SessionId, TaskId, Timestamp, WorkflowStatus};
use coven_orchestrator::{
    EventSubscription, FeedItem, FeedSubscription, Orchestrator, PublishedEvent, RequestError,
};
use coven_runtime::processes;
use coven_store::{BaseDir, Retention, Session};
use serde_json::json;

use crate::support::{Base, DEADLINE, end, fact, intervention, run};

const ECHO: &str =
    "name: echo\ndescription: Echoes.\nsteps:\n  - {name: say, type: script, command: echo it}\n";

fn talk() -> TaskId {
    TaskId::new("talk").unwrap()
}

fn folder(base: &Base, id: &SessionId) -> std::path::PathBuf {
    base.path().join(".coven/sessions").join(id.as_str())
}

/// Waits until the feed tells that a session was given up.
async fn deleted(events: &mut FeedSubscription) -> (SessionId, String) {
    let search = async {
        loop {
            let Some(FeedItem::Event(envelope)) = events.next().await else { continue };
            if let PublishedEvent::Fact { event, .. } = &envelope.what
                && let SessionEvent::SessionDeleted { by, .. } = &**event
            {
                return (envelope.session, by.clone());
            }
        }
    };
    tokio::time::timeout(DEADLINE, search).await.expect("a session should be given up")
}

/// A session that is over and whose agent was left alive, with its job.
async fn kept(base: &Base, orchestrator: &Orchestrator) -> (SessionId, String) {
    let definition = json!({"id": "kept", "stages": [{"id": "s", "tasks": [{
        "id": "talk", "adapter": "demo", "prompt": "say hello", "keepAlive": true
    }]}]});
    let new = base.definition(&definition.to_string());
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events: EventSubscription = orchestrator.subscribe(&id, 0).await.unwrap();
    intervention(&mut events).await;
    orchestrator.complete_task(&id, &talk(), "a test").await.unwrap();
    let view = end(orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(view.kept, [talk()]);
    let job = format!("{id}/talk/1");
    assert_ne!(processes::of_job(&job), [], "it should be alive");
    (id, job)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_over_is_given_up_and_then_nothing_is_left_of_it() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let text = "name: hang\ndescription: Never ends.\nsteps:\n  - {name: wait, type: agent, mode: headless, prompt: hang}\n";
    let id = orchestrator.execute_workflow(base.definition(text)).await.unwrap();
    let refused = orchestrator.purge(&id, "a test").await.unwrap_err();
    assert!(matches!(refused, RequestError::Refused(_)), "{refused:?}");
    orchestrator.cancel(&id, "a test", "").await.unwrap();
    end(&orchestrator, &id).await;
    let mut events = orchestrator.feed().subscribe(None);
    orchestrator.purge(&id, "a test").await.unwrap();
    assert_eq!(deleted(&mut events).await, (id.clone(), "a test".to_owned()));
    assert!(!folder(&base, &id).exists());
    assert!(orchestrator.list().is_empty());
    assert!(orchestrator.controller(&id).is_none());
    assert!(orchestrator.view(&id).await.is_err());
    assert!(orchestrator.purge(&id, "a test").await.is_err());

    // Who comes later hears that it is gone, and nothing else of it.
    let mut late = orchestrator.feed().subscribe(Some(0));
    assert_eq!(deleted(&mut late).await.0, id);
    orchestrator.close().await;
    drop(orchestrator);
    assert!(base.open().await.list().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_was_left_alive_keeps_its_session_and_ends_with_it() {
    let base = Base::new();
    let mut options = base.options();
    options.retention = Retention { keep: 0, age: None };
    options.linger = Duration::ZERO;
    let orchestrator = Orchestrator::open(options.clone()).await.unwrap();
    let (id, job) = kept(&base, &orchestrator).await;
    assert!(orchestrator.list()[0].kept);
    assert_eq!(orchestrator.sweep().await, []);
    assert!(folder(&base, &id).exists());

    // The next process follows the agent again.
    orchestrator.close().await;
    drop(orchestrator);
    let orchestrator = Orchestrator::open(options).await.unwrap();
    let there = async {
        while orchestrator.agent(&id, &talk()).is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, there).await.expect("it should be followed again");
    assert!(folder(&base, &id).exists());
    orchestrator.purge(&id, "a test").await.unwrap();
    assert_eq!(processes::of_job(&job), []);
    assert!(!folder(&base, &id).exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_was_left_alive_is_stopped_by_name_and_the_listing_says_so() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let (id, job) = kept(&base, &orchestrator).await;
    orchestrator.send(&id, &talk(), "say more", "a test").await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    orchestrator.stop_task(&id, &talk(), "a test").await.unwrap();
    fact(&mut events, "its end", |event| {
        matches!(event, SessionEvent::TaskReleased { .. }).then_some(())
    })
    .await;
    assert_eq!(processes::of_job(&job), []);
    let view = orchestrator.view(&id).await.unwrap().unwrap();
    assert_eq!((view.status, view.kept.len()), (WorkflowStatus::Completed, 0));
    // The listing is written after the fact is published.
    let listed = async {
        while orchestrator.list()[0].kept {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, listed).await.expect("the listing should say so");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_sessions_go_by_themselves_and_blocked_ones_stay() {
    let base = Base::new();
    let mut options = base.options();
    options.retention = Retention { keep: 2, age: None };
    options.linger = Duration::ZERO;
    let orchestrator = Orchestrator::open(options.clone()).await.unwrap();
    let text =
        "name: blocked\ndescription: Waits.\nsteps:\n  - {name: ask, type: gate, message: Go?}\n";
    let blocked = orchestrator.execute_workflow(base.definition(text)).await.unwrap();
    let mut feed = orchestrator.feed().subscribe(None);
    let mut ids = Vec::new();
    for _ in 0..4 {
        let id = orchestrator.execute_workflow(base.definition(ECHO)).await.unwrap();
        let ended = tokio::time::timeout(DEADLINE, orchestrator.wait(&id, false)).await;
        assert_eq!(ended.expect("it should end").unwrap(), WorkflowStatus::Completed);
        ids.push(id);
    }
    assert_eq!(deleted(&mut feed).await, (ids[0].clone(), "retention".to_owned()));
    assert_eq!(deleted(&mut feed).await, (ids[1].clone(), "retention".to_owned()));
    let left = async {
        while orchestrator.list().len() > 3 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, left).await.expect("their entries should go too");
    let left: Vec<SessionId> = orchestrator.list().into_iter().map(|entry| entry.id).collect();
    assert_eq!(left, [ids[3].clone(), ids[2].clone(), blocked.clone()]);
    tokio::time::timeout(DEADLINE, orchestrator.close()).await.expect("it should close");
    drop(orchestrator);

    // At the start as well.
    options.retention.keep = 0;
    options.feed = coven_orchestrator::Feed::in_memory();
    let mut feed = options.feed.subscribe(None);
    let orchestrator = Orchestrator::open(options).await.unwrap();
    assert_eq!(deleted(&mut feed).await.0, ids[2]);
    assert_eq!(deleted(&mut feed).await.0, ids[3]);
    assert!(folder(&base, &blocked).exists());
    tokio::time::timeout(DEADLINE, orchestrator.shutdown(true)).await.expect("it should end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_removal_was_cut_short_is_removed_at_the_next_start() {
    let base = Base::new();
    let (orchestrator, id, _) = run(&base, ECHO).await;
    orchestrator.close().await;
    drop(orchestrator);
    let (path, deleted) = (base.path().to_owned(), id.clone());
    coven_orchestrator::blocking(move || {
        let store = BaseDir::find(&path).unwrap().unwrap();
        let mut session: Session =
            Session::open(&store, &crate::support::authority_of(&path), &deleted).unwrap();
        let at = Timestamp::from_millis(1);
        session
            .append(at, &[SessionEvent::SessionDeleted { by: "a test".to_owned(), at }])
            .unwrap();
    })
    .await;
    let orchestrator = base.open().await;
    assert!(orchestrator.list().is_empty());
    assert!(!folder(&base, &id).exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutting_down_with_everything_leaves_no_process() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let (_, alive) = kept(&base, &orchestrator).await;
    let text = "name: hang\ndescription: Never ends.\nsteps:\n  - {name: wait, type: agent, mode: headless, prompt: hang}\n";
    let id = orchestrator.execute_workflow(base.definition(text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    fact(&mut events, "the job", |event| {
        matches!(event, SessionEvent::TaskStarted(_)).then_some(())
    })
    .await;
    tokio::time::timeout(DEADLINE, orchestrator.shutdown(true)).await.expect("it should end");
    drop(orchestrator);
    assert_eq!(processes::of_job(&alive), []);
    assert_eq!(processes::of_job(&format!("{id}/wait/1")), []);
    let orchestrator = base.open().await;
    let view = orchestrator.view(&id).await.unwrap().unwrap();
    assert_eq!(view.status, WorkflowStatus::Cancelled);
}
