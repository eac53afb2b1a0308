//! Stage workflows: tasks side by side, ended by exit, by hand, or by an empty queue.

use coven_model::{InterventionChoice, InterventionKind, TaskId, TaskStatus, WorkflowStatus};
use coven_orchestrator::RequestError;
use serde_json::json;

use crate::support::{Base, decide, end, intervention, nothing_left};

fn task(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

/// Spec: C0.7.1, C1.10.1, C1.7.2, C1.6.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_of_a_stage_run_side_by_side_and_the_next_stage_waits() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let headless = |id: &str, prompt: &str| json!({"id": id, "adapter": "demo", "executionMode": "headless", "prompt": prompt});
    // Each of the first two waits for the other, so they only end if they run at once.
    let meet = |own: &str, other: &str| {
        format!(
            "disobey touch {own}; disobey until [ -e {other} ]\\; do read -t 0.05 x < /dev/zero || true\\; done; say met"
        )
    };
    let definition = json!({
        "id": "side-by-side",
        "goal": "see both",
        "stages": [
            {"id": "one", "tasks": [headless("a", &meet("a.txt", "b.txt")), headless("b", &meet("b.txt", "a.txt"))]},
            {"id": "two", "tasks": [{"id": "c", "adapter": "demo", "prompt": "disobey ls a.txt b.txt > both.txt; exit 0"}]},
        ]
    });
    let id = orchestrator.execute_workflow(base.definition(&definition.to_string())).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(view.goal.as_deref(), Some("see both"));
    assert_eq!(view.task_status[&task("c")], TaskStatus::Done);
    assert_eq!(std::fs::read_to_string(base.path().join("both.txt")).unwrap(), "a.txt\nb.txt\n");
    nothing_left(&id, &view);
}

/// Spec: C1.10.2, C1.10.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_completed_by_hand_once_and_only_if_it_is_there() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let definition = json!({"id": "by-hand", "stages": [{"id": "s", "tasks": [{"id": "talk", "adapter": "demo", "prompt": "say hello"}]}]});
    let id = orchestrator.execute_workflow(base.definition(&definition.to_string())).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::EndedTurn);
    let unknown = orchestrator.complete_task(&id, &task("nobody"), "a test").await;
    assert!(matches!(unknown, Err(RequestError::Refused(_))), "{unknown:?}");
    orchestrator.complete_task(&id, &task("talk"), "a test").await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let again = orchestrator.complete_task(&id, &task("talk"), "a test").await;
    assert!(matches!(again, Err(RequestError::Refused(_))), "{again:?}");
    nothing_left(&id, &view);
}

/// Spec: C0.11.1, C0.11.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queued_inputs_go_out_at_idle_and_then_the_task_is_done() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let definition = json!({"id": "queued", "stages": [{"id": "s", "tasks": [{
        "id": "talk", "adapter": "demo", "prompt": "disobey echo 0 >> log.txt",
        "pendingInputs": ["disobey echo 1 >> log.txt", "disobey echo 2 >> log.txt"]
    }]}]});
    let id = orchestrator.execute_workflow(base.definition(&definition.to_string())).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(std::fs::read_to_string(base.path().join("log.txt")).unwrap(), "0\n1\n2\n");
    nothing_left(&id, &view);
}

/// Spec: C0.4.3, C0.14.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_approves_by_itself_calls_nobody() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let definition = json!({"id": "automatic", "stages": [{"id": "s", "tasks": [{
        "id": "talk", "adapter": "demo", "autoApprove": true, "permissions": "ask",
        "prompt": "approve touch made.txt; exit 0"
    }]}]});
    let id = orchestrator.execute_workflow(base.definition(&definition.to_string())).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert!(base.path().join("made.txt").exists());
}

/// Spec: C0.14.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_policy_a_person_is_asked_and_may_say_no() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let definition = json!({"id": "asked", "stages": [{"id": "s", "tasks": [{
        "id": "talk", "adapter": "demo", "permissions": "ask", "prompt": "approve touch made.txt; exit 0"
    }]}]});
    let id = orchestrator.execute_workflow(base.definition(&definition.to_string())).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    decide(&orchestrator, &asked, InterventionChoice::Deny).await;
    let view = end(&orchestrator, &id).await;
    assert!(!base.path().join("made.txt").exists());
    assert!(view.status.is_final());
}
