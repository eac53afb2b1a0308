//! The facts of the model in a journal, and its view in a file.

use std::collections::BTreeMap;

use coven_model::event::SessionCreated;
use coven_model::view::{ErrorEntry, SessionView, VIEW_VERSION};
use coven_model::{AttemptId, SessionEvent, TaskId, TaskStatus, TokenUsage, WorkflowStatus};
use coven_store::Session;
use coven_store::session::ReadOnlySession;
use serde_json::{Map, Value, json};

use super::{Base, FACT_TIME, id};

/// Spec: C1.12.1
/// Spec: C1.11.1
#[test]
fn the_events_of_the_model_are_kept_and_read_as_they_were() {
    let base = Base::new();
    let created = SessionCreated {
        repository: None,
        no_trees: None,
        session: id(1),
        name: "brisk-otter".to_owned(),
        plan: json!({"steps": [{"name": "build", "prompt": "x".repeat(100_000)}]}),
        input: json!({"spec": "a.md"}),
        goal: Some("build it".to_owned()),
        base_dir: None,
        auto: None,
        cause: None,
        at: FACT_TIME,
    };
    let job = AttemptId { task: TaskId::new("build.3").unwrap(), attempt: 2 };
    let events = [
        SessionEvent::SessionCreated(Box::new(created)),
        SessionEvent::WorkflowStarted { at: FACT_TIME },
        SessionEvent::TaskStatus { job, status: TaskStatus::WaitingForUser, seen: 7 },
        SessionEvent::WorkflowFailed { error: "no\nroom".to_owned(), step: None, at: FACT_TIME },
    ];
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    session.append(FACT_TIME, &events).unwrap();
    drop(session);
    let session = Session::open(&base.dir(), &base.authority(), &id(1)).unwrap();
    let read = session.reader().read_all::<SessionEvent>(1).unwrap();
    assert!(read.into_iter().map(|record| record.fact).eq(events));
}

/// A view with something in every place.
fn view() -> SessionView {
    let build = TaskId::new("build").unwrap();
    SessionView {
        v: VIEW_VERSION,
        session_id: id(1),
        name: "brisk-otter".to_owned(),
        workflow: "implement".to_owned(),
        status: WorkflowStatus::Failed,
        goal: Some("build it".to_owned()),
        base_dir: None,
        no_trees: None,
        workflow_definition: json!({"name": "implement", "steps": []}),
        current_stage_index: 1,
        current_step: Some("review".to_owned()),
        current_steps: Vec::new(),
        task_status: BTreeMap::from([(build.clone(), TaskStatus::Done)]),
        history: Vec::new(),
        variables: Map::new(),
        errors: vec![ErrorEntry { step: "review".to_owned(), error: "no".to_owned() }],
        interventions: Vec::new(),
        usage: TokenUsage::default(),
        kept: vec![build],
        created_at: FACT_TIME,
        started_at: None,
        ended_at: None,
        retries: 0,
    }
}

/// Spec: C0.8.1
/// Spec: C1.12.1
#[test]
fn the_view_of_the_model_is_on_disk_and_in_the_list() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    session.append(FACT_TIME, &[SessionEvent::WorkflowStarted { at: FACT_TIME }]).unwrap();
    session.write_view(&view()).unwrap();
    drop(session);

    let text = ReadOnlySession::open(&base.dir(), &base.authority(), &id(1))
        .unwrap()
        .view()
        .unwrap()
        .unwrap();
    assert_eq!(serde_json::from_slice::<SessionView>(&text).unwrap(), view());
    let json: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&json["version"], &json["upTo"]), (&json!(1), &json!(1)));
    assert_eq!(json["currentStageIndex"], json!(1));
    assert_eq!(json["taskStatus"], json!({"build": "DONE"}));
    assert_eq!(json["workflowDefinition"]["name"], json!("implement"));

    let index = base.index();
    let entry = index.resolve("brisk-otter").unwrap();
    assert!(entry.fresh && entry.kept);
    assert_eq!((entry.status, entry.goal.as_deref()), (WorkflowStatus::Failed, Some("build it")));
    assert_eq!((entry.created_at, entry.updated_at), (FACT_TIME, FACT_TIME));
}
