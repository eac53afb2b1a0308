//! A session and its controller: what it reports while it runs, and that sessions side by side have
//! nothing in common.

use std::path::Path;

use coven_model::event::SessionEvent;
use coven_model::{
    InterventionChoice, InterventionKind, SessionId, TaskId, TaskStatus, WorkflowStatus,
};
use coven_orchestrator::{LiveEvent, Orchestrator, PublishedEvent};
use coven_runtime::hold::HolderFolder;
use coven_runtime::processes;
use coven_store::journal::OpenError;
use coven_store::{BaseDir, Session};
use coven_tape::{TapeEvent, TapeReader};
use serde_json::{Value, json};

use crate::support::{
    Base, agreed, authority_of, decide, end, fact, intervention, nothing_left, until,
};

fn task(name: &str) -> TaskId {
    TaskId::new(name).unwrap()
}

/// The view of a session as another program reads it.
fn view_on_disk(base: &Base, id: &SessionId) -> Value {
    let file = base.path().join(".coven/sessions").join(id.as_str()).join("session.json");
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// Everything that an agent showed or was typed, as its tape has it.
fn tape(folder: &Path) -> (String, String) {
    let (mut shown, mut typed) = (Vec::new(), Vec::new());
    for record in TapeReader::open(folder).unwrap().records(0) {
        match record.unwrap().event {
            TapeEvent::Output { bytes, .. } => shown.extend_from_slice(&bytes),
            TapeEvent::Input(bytes) => typed.extend_from_slice(&bytes),
            _ => {}
        }
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(shown), text(typed))
}

/// Two stages; in the first an agent works until a file is there, in the second one asks.
fn two_stages() -> String {
    let first = json!({
        "id": "first", "adapter": "demo", "executionMode": "headless", "permissions": "all",
        "prompt": "approve until test -e go.txt; do sleep 0.05; done",
    });
    let ask = json!({
        "id": "ask", "adapter": "demo", "executionMode": "interactive", "permissions": "ask",
        "prompt": "approve touch made.txt; exit 0",
    });
    let stages = [json!({"id": "a", "tasks": [first]}), json!({"id": "b", "tasks": [ask]})];
    json!({"id": "two", "stages": stages}).to_string()
}

/// Spec: C0.4.2, C0.8.1, C1.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_running_while_an_agent_works_and_blocked_as_soon_as_it_asks() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(&two_stages())).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    fact(&mut events, "the first agent", |event| {
        matches!(event, SessionEvent::TaskStarted(_)).then_some(())
    })
    .await;
    let status = |orchestrator: &Orchestrator| orchestrator.controller(&id).unwrap().status();
    // It goes on only when the file is there, so this is what it is while the agent works.
    assert_eq!(status(&orchestrator), WorkflowStatus::Running);
    until("the view", || view_on_disk(&base, &id)["taskStatus"]["first"] == "RUNNING").await;
    let view = view_on_disk(&base, &id);
    assert_eq!((&view["status"], &view["currentStep"]), (&json!("running"), &json!("a")));
    assert_eq!(
        (&view["currentStageIndex"], &view["taskStatus"]["ask"]),
        (&json!(0), &json!("PENDING"))
    );
    std::fs::write(base.path().join("go.txt"), "").unwrap();

    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::Approval);
    assert_eq!(asked.task, Some(task("ask")));
    assert!(asked.excerpt.contains("touch made.txt"), "what is asked: {}", asked.excerpt);
    // What is told of is true by then, in memory and on the disk.
    until("that it is blocked", || status(&orchestrator) == WorkflowStatus::Blocked).await;
    until("the view", || view_on_disk(&base, &id)["status"] == "blocked").await;
    let view = view_on_disk(&base, &id);
    assert_eq!((&view["currentStageIndex"], &view["currentStep"]), (&json!(1), &json!("b")));
    let tasks = &view["taskStatus"];
    assert_eq!((&tasks["first"], &tasks["ask"]), (&json!("DONE"), &json!("WAITING_FOR_USER")));

    // It follows from the facts: a process that knows nothing else says the same.
    orchestrator.close().await;
    drop((events, orchestrator));
    let orchestrator = base.open().await;
    until("that it is blocked again", || status(&orchestrator) == WorkflowStatus::Blocked).await;

    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    fact(&mut events, "that it goes on", |event| {
        matches!(event, SessionEvent::WorkflowResumed { .. }).then_some(())
    })
    .await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(view.task_status[&task("ask")], TaskStatus::Done);
    nothing_left(&id, &view);
}

/// A session with an agent on a terminal that says a word and then waits.
fn talking(word: &str) -> String {
    let talk = json!({
        "id": "talk", "adapter": "demo", "executionMode": "interactive",
        "prompt": format!("say {word}"),
    });
    json!({"id": word, "stages": [{"id": "s", "tasks": [talk]}]}).to_string()
}

/// Spec: C1.5.1, C1.18.2, C1.18.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_to_one_session_is_nothing_to_another() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let mut ids = Vec::new();
    for word in ["alpha", "omega"] {
        let id = orchestrator.execute_workflow(base.definition(&talking(word))).await.unwrap();
        ids.push(id);
    }
    let (one, two) = (&ids[0], &ids[1]);
    let mut heard = Vec::new();
    for id in &ids {
        let mut events = orchestrator.subscribe(id, 0).await.unwrap();
        assert_eq!(intervention(&mut events).await.kind, InterventionKind::EndedTurn);
        heard.push(orchestrator.subscribe(id, 0).await.unwrap());
    }
    // Each has a controller that knows its own session alone.
    for id in &ids {
        let controller = orchestrator.controller(id).unwrap();
        assert_eq!(controller.snapshot().id(), id);
    }
    // It is the only one that writes its session: no other gets the journal while it is there.
    let (path, all) = (base.path().to_owned(), ids.clone());
    coven_orchestrator::blocking(move || {
        let store = BaseDir::find(&path).unwrap().unwrap();
        for id in &all {
            let other = Session::open(&store, &authority_of(&path), id).map(drop);
            assert!(matches!(other, Err(OpenError::InUse { .. })), "{other:?}");
        }
    })
    .await;
    // Each has processes of its own.
    let running = |id: &SessionId| {
        let folder = HolderFolder::new(base.attempt(id, "talk", 1));
        processes::of_job(&folder.spawn_record().unwrap().unwrap().job)
    };
    let (first, second) = (running(one), running(two));
    assert!(!first.is_empty() && !second.is_empty());
    assert!(first.iter().all(|process| !second.contains(process)));

    assert!(orchestrator.send(one, &task("talk"), "say delta", "a test").await.unwrap());
    orchestrator.cancel(one, "a test", "enough").await.unwrap();
    let view = end(&orchestrator, one).await;
    assert_eq!(view.status, WorkflowStatus::Cancelled);
    nothing_left(one, &view);

    // The other is where it was, and is told something itself.
    assert_eq!(orchestrator.controller(two).unwrap().status(), WorkflowStatus::Blocked);
    assert_eq!(running(two), second, "its processes still run");
    assert!(orchestrator.send(two, &task("talk"), "say theta", "a test").await.unwrap());
    orchestrator.cancel(two, "a test", "enough").await.unwrap();
    let view = end(&orchestrator, two).await;
    nothing_left(two, &view);

    for (index, (own, foreign)) in
        [(["alpha", "delta"], ["omega", "theta"]), (["omega", "theta"], ["alpha", "delta"])]
            .into_iter()
            .enumerate()
    {
        let id = &ids[index];
        let (shown, typed) = tape(&base.attempt(id, "talk", 1));
        assert!(typed.contains(own[1]), "{typed:?}");
        let mut told = String::new();
        loop {
            let envelope = heard[index].next().await.unwrap().unwrap();
            assert_eq!(envelope.session, *id);
            match &envelope.what {
                PublishedEvent::Fact { event, .. } => {
                    told.push_str(&serde_json::to_string(&**event).unwrap());
                    if event.kind() == "workflow.cancelled" {
                        break;
                    }
                }
                PublishedEvent::Live(LiveEvent::Output { clean, .. }) => told.push_str(clean),
                PublishedEvent::Live(_) => {}
            }
        }
        for word in own {
            assert!(shown.contains(word) && told.contains(word), "{word}: {told}");
        }
        for word in foreign {
            assert!(!shown.contains(word) && !typed.contains(word), "{word}");
            assert!(!told.contains(word), "{word}: {told}");
        }
    }
}

/// Spec: C1.16.1, C0.8.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_was_partly_run_goes_on_under_a_controller_of_its_own() {
    const HALF: &str = "
name: half
description: Stops in the middle.
steps:
  - {name: one, type: script, command: echo one >> ran.txt}
  - {name: look, type: gate, message: Go on?}
  - {name: two, type: script, command: echo two >> ran.txt}
";
    let base = Base::new();
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(HALF)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    orchestrator.close().await;
    drop((events, orchestrator));

    let orchestrator = base.open().await;
    let controller = orchestrator.resume(&id, None).await.unwrap();
    assert_eq!(controller.snapshot().id(), &id);
    let view = controller.snapshot().view().cloned().unwrap();
    assert_eq!((view.current_stage_index, view.current_step.as_deref()), (1, Some("look")));
    // Whoever resumes it again gets the same one.
    let again = orchestrator.resume(&id, None).await.unwrap();
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    assert_eq!(again.wait(false).await, WorkflowStatus::Completed);
    assert_eq!(controller.status(), WorkflowStatus::Completed);
    let ran = std::fs::read_to_string(base.path().join("ran.txt")).unwrap();
    assert_eq!(ran, "one\ntwo\n", "what was done is not done again");
}

/// Spec: AD.4.2, AD.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_uses_the_adapter_of_its_project_once_that_is_trusted() {
    let base = Base::new();
    let folder = base.path().join(".coven/adapters/ours");
    std::fs::create_dir_all(&folder).unwrap();
    // One file says how it is started and how its screen is read.
    let config = json!({
        "schemaVersion": 1,
        "command": "/bin/sh",
        "modes": {"interactive": {"baseArgs": [
            "-c", "printf 'May I? '; read answer; echo \"got $answer\" > got.txt",
        ]}},
        "states": {"interaction_ours": {"pattern": "May I\\?", "region": "cursor:1", "kind": "question"}},
    });
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let text =
        json!({"id": "uses", "stages": [{"id": "s", "tasks": [{"id": "ask", "adapter": "ours"}]}]});
    let orchestrator = base.open().await;
    let refused = orchestrator.execute_workflow(base.definition(&text.to_string())).await;
    assert!(refused.unwrap_err().to_string().contains("`ours`"));

    orchestrator.set_trust(agreed(base.path()));
    let id = orchestrator.execute_workflow(base.definition(&text.to_string())).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(
        (asked.kind, asked.rule.as_deref()),
        (InterventionKind::Question, Some("interaction_ours"))
    );
    let decision =
        coven_model::event::InterventionDecision::new(InterventionChoice::Answer, "a test")
            .with_text("yes");
    orchestrator.answer(&asked.id, decision, asked.digest.clone()).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(std::fs::read_to_string(base.path().join("got.txt")).unwrap(), "got yes\n");
    nothing_left(&id, &view);
}

/// Spec: C1.2.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_headless_agent_whose_input_is_open_reads_what_it_is_sent() {
    let base = Base::new();
    let folder = base.path().join("config/adapters/reader");
    std::fs::create_dir_all(&folder).unwrap();
    let config = json!({
        "schemaVersion": 1,
        "command": "/bin/sh",
        "modes": {"headless": {"baseArgs": ["-c"], "stdin": "pipe", "transcript": "text"}},
    });
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let mut options = base.options();
    options.config_dir = Some(base.path().join("config"));
    let orchestrator = Orchestrator::open(options).await.unwrap();
    let work = json!({
        "id": "work", "adapter": "reader", "executionMode": "headless",
        "prompt": "read first; read second; echo \"$first and $second\" > got.txt",
    });
    let text = json!({"id": "reads", "stages": [{"id": "s", "tasks": [work]}]}).to_string();
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    // As soon as it is made: a message waits for its agent.
    for line in ["one thing", "another"] {
        assert!(orchestrator.send(&id, &task("work"), line, "a test").await.unwrap());
        let (said, by) = fact(&mut events, "that it was sent", |event| match event {
            SessionEvent::InputDelivered {
                input: coven_model::event::DeliveredInput::Typed { text, by },
                ..
            } => Some((text.clone(), by.clone())),
            _ => None,
        })
        .await;
        assert_eq!((said.as_str(), by.as_str()), (line, "a test"));
    }
    let view = end(&orchestrator, &id).await;
    let got = std::fs::read_to_string(base.path().join("got.txt")).unwrap();
    assert_eq!(got, "one thing and another\n");
    nothing_left(&id, &view);
}
