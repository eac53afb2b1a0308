//! Runs of agents that ask instead of ending their turn, right below the prompt that they had before.

use coven_model::event::{InterventionDecision, SessionEvent};
use coven_model::{Intervention, InterventionChoice, WorkflowStatus};
use coven_orchestrator::{EventSubscription, Orchestrator};
use serde_json::json;

use crate::handlers::{open, read};
use crate::support::{Base, end, fact, nothing_left};

/// What the agent is told: to ask, to write down what it heard, and to say that it did.
const ASKS: &str = "read -p 'Delete everything? [y/N] ' heard; echo \"heard $heard\" >> got.txt";

/// An adapter for bash with its prompt, which knows nothing but that.
fn shell(base: &Base) {
    let folder = base.path().join("config/adapters/prompt-shell");
    std::fs::create_dir_all(&folder).unwrap();
    let config = json!({
        "schemaVersion": 1,
        "command": "/bin/bash",
        "env": {"set": {"PS1": "$ "}},
        "modes": {"interactive": {
            "baseArgs": ["--norc", "--noprofile", "-i"], "promptPosition": "typed",
        }},
        "states": {"idle": {"pattern": "^\\$ ?$", "kind": "idle", "region": "cursor:1"}},
        "keys": {"submit": ["Enter"]},
    });
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
}

/// The next question. The run must not end before.
async fn question(events: &mut EventSubscription) -> Intervention {
    fact(events, "a question", |event| match event {
        SessionEvent::InterventionRequired { intervention, .. } => Some((**intervention).clone()),
        SessionEvent::TaskEnded(_) | SessionEvent::WorkflowCompleted { .. } => {
            panic!("the run ended an agent that asks: {event:?}")
        }
        _ => None,
    })
    .await
}

async fn answers(orchestrator: &Orchestrator, asked: &Intervention, text: &str) {
    assert_eq!(asked.rule.as_deref(), Some("generic:yes-no"), "{}", asked.excerpt);
    let decision = InterventionDecision::new(InterventionChoice::Answer, "a test").with_text(text);
    let taken = orchestrator.answer_and_see(&asked.id, decision, asked.digest.clone()).await;
    assert!(taken.unwrap(), "{}", asked.excerpt);
}

/// A question counts only when it has stood for a while. Until then the prompt from before the prompt
/// of the task is all that is known, and is no end of its turn.
///
/// Spec: C0.4.2, C1.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_does_not_end_an_agent_that_asks_instead_of_ending_its_turn() {
    let base = Base::new();
    shell(&base);
    let orchestrator = open(&base).await;
    let step = json!({
        "name": "work", "type": "agent", "mode": "interactive", "adapter": "prompt-shell",
        "prompt": ASKS,
    });
    let grimoire = json!({"name": "turns", "description": "An agent asks.", "steps": [step]});
    let id = orchestrator.execute_workflow(base.definition(&grimoire.to_string())).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = question(&mut events).await;
    assert_eq!(read(&base.path().join("got.txt")), "");
    answers(&orchestrator, &asked, "n").await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(read(&base.path().join("got.txt")), "heard n\n");
    nothing_left(&id, &view);
}

/// The same at each of the messages that it is told later.
///
/// Spec: C0.4.2, C1.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_does_not_end_an_agent_that_asks_at_a_later_message() {
    let base = Base::new();
    shell(&base);
    let orchestrator = open(&base).await;
    let task = json!({
        "id": "work", "adapter": "prompt-shell", "prompt": "echo first >> got.txt",
        "pendingInputs": [ASKS, "echo last >> got.txt"],
    });
    let stages = json!({"id": "turns", "stages": [{"id": "s", "tasks": [task]}]});
    let id = orchestrator.execute_workflow(base.definition(&stages.to_string())).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = question(&mut events).await;
    assert_eq!(read(&base.path().join("got.txt")), "first\n", "nothing is told meanwhile");
    answers(&orchestrator, &asked, "y").await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(read(&base.path().join("got.txt")), "first\nheard y\nlast\n");
    nothing_left(&id, &view);
}
