//! What a task of a stage is started with, what it leaves in the session, and one that is kept.

use std::collections::BTreeMap;

use coven_model::event::SessionEvent;
use coven_model::view::HistoryKind;
use coven_model::{TaskId, TaskStatus, WorkflowStatus};
use coven_orchestrator::{Orchestrator, PublishedEvent};
use serde_json::{Value, json};

use crate::support::{Base, DEADLINE, end, nothing_left, processes_of};

fn task(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

/// What was started for each task: the description from the journal, and the command line that
/// its holder wrote down.
async fn started(
    base: &Base,
    orchestrator: &Orchestrator,
    id: &coven_model::SessionId,
) -> BTreeMap<String, (coven_model::JobSpec, Value)> {
    let mut events = orchestrator.subscribe(id, 0).await.unwrap();
    let mut found = BTreeMap::new();
    loop {
        let envelope = events.next().await.unwrap().unwrap();
        let PublishedEvent::Fact { event, .. } = &envelope.what else { continue };
        match &**event {
            SessionEvent::TaskStarted(started) => {
                let task = started.spec.job.attempt.task.as_str();
                let file = base.attempt(id, task, 1).join("spawn.json");
                let spawn = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
                found.insert(task.to_owned(), (started.spec.clone(), spawn));
            }
            SessionEvent::WorkflowCompleted { .. } => return found,
            _ => {}
        }
    }
}

/// Spec: C1.6.3, C1.6.5, C1.6.6, C1.11.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_task_gets_its_own_adapter_folder_environment_and_prompt() {
    let base = Base::new();
    std::fs::create_dir(base.path().join("inner")).unwrap();
    let orchestrator = base.open().await;
    let definition = json!({"id": "own", "stages": [{"id": "s", "tasks": [
        {
            "id": "first", "adapter": "demo", "executionMode": "headless", "cwd": "inner",
            "env": {"WHO": "the first"}, "name": "A name of its own",
            "prompt": "disobey echo \"$WHO\" > who.txt; say first here",
        },
        {
            "id": "second", "adapter": "demo", "executionMode": "interactive",
            "env": {"WHO": "the second"}, "permissions": "all",
            "prompt": "disobey echo \"$WHO\" > who.txt; exit 0",
        },
    ]}]});
    let id = orchestrator.execute_workflow(base.definition(&definition.to_string())).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);

    // Folder and environment are each task's own, though both ran at once.
    let read = |name: &str| std::fs::read_to_string(base.path().join(name)).unwrap();
    assert_eq!(read("inner/who.txt"), "the first\n");
    assert_eq!(read("who.txt"), "the second\n");

    let started = started(&base, &orchestrator, &id).await;
    assert_eq!(started["first"].0.name, "A name of its own");
    assert_eq!(started["second"].0.name, "second", "without a name it is the id");
    for (name, headless) in [("first", true), ("second", false)] {
        let prompt = definition["stages"][0]["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .find_map(|task| (task["id"] == name).then(|| task["prompt"].as_str().unwrap()))
            .unwrap();
        let (_, spawn) = &started[name];
        let argv = spawn["argv"].as_array().unwrap();
        assert_eq!(argv.last().unwrap(), prompt, "the prompt is an argument");
        assert_eq!(argv.iter().any(|argument| argument == "--headless"), headless, "{argv:?}");
        // It was never typed or piped.
        let folder = base.attempt(&id, name, 1);
        for record in coven_tape::TapeReader::open(&folder).unwrap().records(0) {
            if let coven_tape::TapeEvent::Input(bytes) = record.unwrap().event {
                assert!(!String::from_utf8_lossy(&bytes).contains("disobey"), "{name}");
            }
        }
        let recorded = view.history.iter().any(|entry| {
            entry.what == HistoryKind::Prompt
                && entry.task == Some(task(name))
                && entry.text == prompt
        });
        assert!(recorded, "the prompt is in the history: {:#?}", view.history);
    }
    let answered = view.history.iter().any(|entry| {
        entry.what == HistoryKind::Output
            && entry.task == Some(task("first"))
            && entry.text.contains("first here")
    });
    assert!(answered, "what it answered is in the history: {:#?}", view.history);
}

/// Spec: C1.11.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_task_was_sent_and_printed_is_kept_with_the_session() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let definition = json!({"id": "kept", "stages": [{"id": "s", "tasks": [{
        "id": "talk", "adapter": "demo", "permissions": "all", "prompt": "say the first answer",
        "pendingInputs": ["say the second answer"]
    }]}]});
    let id = orchestrator.execute_workflow(base.definition(&definition.to_string())).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let input = view
        .history
        .iter()
        .any(|entry| entry.what == HistoryKind::Input && entry.text == "say the second answer");
    assert!(input, "{:#?}", view.history);
    let folder = base.attempt(&id, "talk", 1);
    let (mut printed, mut typed) = (Vec::new(), Vec::new());
    for record in coven_tape::TapeReader::open(&folder).unwrap().records(0) {
        match record.unwrap().event {
            coven_tape::TapeEvent::Output { bytes, .. } => printed.extend(bytes),
            coven_tape::TapeEvent::Input(bytes) => typed.extend(bytes),
            _ => {}
        }
    }
    let (printed, typed) = (String::from_utf8_lossy(&printed), String::from_utf8_lossy(&typed));
    assert!(printed.contains("the first answer") && printed.contains("the second answer"));
    assert!(typed.contains("say the second answer") && !typed.contains("the first answer"));
}

/// Spec: C0.11.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_kept_lives_on_after_its_task_and_another_does_not() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let talk = |id: &str, kept: bool| {
        json!({
            "id": id, "adapter": "demo", "keepAlive": kept, "permissions": "all",
            "prompt": "say ready", "pendingInputs": ["say hello again"]
        })
    };
    let definition = json!({"id": "kept", "stages": [
        {"id": "s", "tasks": [talk("kept", true), talk("ended", false)]}
    ]});
    let id = orchestrator.execute_workflow(base.definition(&definition.to_string())).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(view.task_status[&task("kept")], TaskStatus::Done);
    assert_eq!(view.kept, [task("kept")]);
    let of = |name: &str| coven_runtime::processes::of_job(&format!("{id}/{name}/1"));
    assert!(!of("kept").is_empty(), "it lives on");
    assert_eq!(of("ended"), [], "the other has ended");

    // It can be talked to, and it ends when it is told to.
    let agent = orchestrator.agent(&id, &task("kept")).unwrap();
    let message = coven_runner::Message::new("disobey touch after.txt");
    agent.send(message).await.unwrap();
    let wrote = async {
        while !base.path().join("after.txt").exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, wrote).await.expect("it should do what it is told");
    orchestrator.stop_task(&id, &task("kept"), "a test").await.unwrap();
    let gone = async {
        while !processes_of(&id).is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, gone).await.expect("it should end");
    nothing_left(&id, &view);
}

/// A prompt that is longer than an argument may be comes in a file, and the agent follows it.
///
/// Spec: C1.6.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_is_too_long_for_an_argument_is_followed_all_the_same() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let filler = "x".repeat(200_000);
    let task = |mode: &str, file: &str| {
        json!({
            "id": mode, "adapter": "demo", "executionMode": mode, "permissions": "all",
            "prompt": format!("say {filler}\nwrite ./{file} done\nexit 0"),
        })
    };
    let tasks = [task("headless", "one.txt"), task("interactive", "two.txt")];
    let text = json!({"id": "long", "stages": [{"id": "s", "tasks": tasks}]}).to_string();
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    for file in ["one.txt", "two.txt"] {
        assert_eq!(std::fs::read_to_string(base.path().join(file)).unwrap().trim(), "done");
    }
}
