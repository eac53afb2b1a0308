//! Agents that were left alive when their task was done: what they ask reaches a person, also when
//! their run is over and after a restart, and their session stays completed.

use coven_model::event::InterventionDecision;
use coven_model::{
    Intervention, InterventionChoice, InterventionKind, SessionId, TaskId, TaskStatus,
    WorkflowStatus,
};
use coven_orchestrator::{Orchestrator, PublishedEvent, RequestError};
use serde_json::json;

use crate::support::{Base, DEADLINE, end, intervention, processes_of, until};

fn talk() -> TaskId {
    TaskId::new("talk").unwrap()
}

/// A run that is over, whose agent was left alive and asks.
async fn asking(base: &Base, orchestrator: &Orchestrator, asks: &str) -> (SessionId, Intervention) {
    let definition = json!({"id": "kept", "stages": [{"id": "s", "tasks": [{
        "id": "talk", "adapter": "demo", "permissions": "ask", "keepAlive": true,
        "prompt": "say hello"
    }]}]});
    let new = base.definition(&definition.to_string());
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    intervention(&mut events).await;
    orchestrator.complete_task(&id, &talk(), "a test").await.unwrap();
    let view = end(orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert!(orchestrator.send(&id, &talk(), asks, "a test").await.unwrap(), "it arrives");
    let asked = intervention(&mut events).await;
    (id, asked)
}

fn approve() -> InterventionDecision {
    InterventionDecision::new(InterventionChoice::Approve, "a test")
}

/// The types of the facts of a session from its first to the so manieth of this type. It goes on
/// behind the end of the run.
async fn kinds(
    orchestrator: &Orchestrator,
    id: &SessionId,
    (last, times): (&str, usize),
) -> Vec<String> {
    let mut events = orchestrator.subscribe(id, 0).await.unwrap();
    let mut kinds = Vec::new();
    let read = async {
        while kinds.iter().filter(|kind| *kind == last).count() < times {
            let envelope = events.next().await.unwrap().expect("the session should go on");
            if let PublishedEvent::Fact { event, .. } = &envelope.what {
                kinds.push(event.kind().to_owned());
            }
        }
    };
    tokio::time::timeout(DEADLINE, read).await.expect(last);
    kinds
}

async fn gone(id: &SessionId) {
    until("the agent should end", || processes_of(id).is_empty()).await;
}

/// Spec: C0.11.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_agent_asks_when_its_run_is_over_and_does_what_a_person_approves() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let (id, asked) = asking(&base, &orchestrator, "approve touch approved.txt").await;
    assert_eq!((asked.kind, asked.task.as_ref()), (InterventionKind::Approval, Some(&talk())));
    assert!(asked.reason.contains("touch approved.txt"), "{}", asked.reason);
    let open = orchestrator.interventions();
    assert_eq!(open.iter().map(|open| &open.id).collect::<Vec<_>>(), [&asked.id]);
    let view = orchestrator.view(&id).await.unwrap().unwrap();
    assert_eq!(
        (view.status, view.task_status[&talk()], view.interventions.len()),
        (WorkflowStatus::Completed, TaskStatus::Done, 1)
    );
    assert!(!base.path().join("approved.txt").exists());
    let taken = orchestrator.answer_and_see(&asked.id, approve(), asked.digest.clone()).await;
    assert!(taken.unwrap());
    until("it should do it", || base.path().join("approved.txt").exists()).await;
    assert_eq!(orchestrator.interventions().len(), 0);
    let twice = orchestrator.answer(&asked.id, approve(), asked.digest.clone()).await;
    assert!(matches!(twice, Err(RequestError::Refused(_))), "{twice:?}");

    // A question that nobody has answered goes with its agent.
    assert!(orchestrator.send(&id, &talk(), "approve touch never.txt", "a test").await.unwrap());
    until("it should ask again", || orchestrator.interventions().len() == 1).await;
    orchestrator.stop_task(&id, &talk(), "a test").await.unwrap();
    gone(&id).await;
    until("its question should go", || orchestrator.interventions().is_empty()).await;
    let told = kinds(&orchestrator, &id, ("task.released", 1)).await;
    let end = told.iter().position(|kind| kind == "workflow.completed").unwrap();
    let after: Vec<&str> = told[end + 1..].iter().map(String::as_str).collect();
    assert_eq!(
        after,
        [
            "input.queued",
            "input.delivered",
            "workflow.intervention.required",
            "workflow.intervention.resolved",
            "input.delivered",
            "input.queued",
            "input.delivered",
            "workflow.intervention.required",
            "workflow.intervention.withdrawn",
            "task.released"
        ]
    );
    assert_eq!(orchestrator.unheard_agents(), 0);
    assert!(!base.path().join("never.txt").exists());
    let status = orchestrator.view(&id).await.unwrap().unwrap().status;
    assert_eq!(status, WorkflowStatus::Completed);
}

/// Spec: C0.11.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_question_of_a_kept_agent_survives_a_restart_and_is_answered_once() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let (id, asked) = asking(&base, &orchestrator, "approve touch approved.txt").await;
    orchestrator.close().await;
    drop(orchestrator);
    assert!(!processes_of(&id).is_empty(), "it lives on");

    let orchestrator = base.open().await;
    let open = orchestrator.interventions();
    assert_eq!(open.iter().map(|open| &open.id).collect::<Vec<_>>(), [&asked.id]);
    until("it should be followed again", || orchestrator.agent(&id, &talk()).is_ok()).await;
    let taken = orchestrator.answer_and_see(&asked.id, approve(), asked.digest.clone()).await;
    assert!(taken.unwrap());
    until("it should do it", || base.path().join("approved.txt").exists()).await;
    // The message, and the answer.
    let told = kinds(&orchestrator, &id, ("input.delivered", 2)).await;
    let asked = told.iter().filter(|kind| *kind == "workflow.intervention.required").count();
    assert_eq!(asked, 2, "the end of its first turn, and its question, once: {told:?}");
    orchestrator.purge(&id, "a test").await.unwrap();
    gone(&id).await;
}

/// What it asks in the moment in which its task is called done was a question about the task. It is
/// asked again, about the agent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_from_before_the_end_of_the_task_is_asked_again() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let definition = json!({"id": "kept", "stages": [{"id": "s", "tasks": [{
        "id": "talk", "adapter": "demo", "permissions": "ask", "keepAlive": true,
        "prompt": "approve touch approved.txt"
    }]}]});
    let new = base.definition(&definition.to_string());
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let first = intervention(&mut events).await;
    orchestrator.complete_task(&id, &talk(), "a test").await.unwrap();
    assert_eq!(end(&orchestrator, &id).await.status, WorkflowStatus::Completed);
    let again = intervention(&mut events).await;
    assert_ne!(again.id, first.id);
    let taken = orchestrator.answer_and_see(&again.id, approve(), again.digest.clone()).await;
    assert!(taken.unwrap());
    until("it should do it", || base.path().join("approved.txt").exists()).await;
    assert_eq!(orchestrator.unheard_agents(), 0);
    orchestrator.purge(&id, "a test").await.unwrap();
    gone(&id).await;
}
