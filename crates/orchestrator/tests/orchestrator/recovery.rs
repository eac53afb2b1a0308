//! Sessions taken up again by another process: what ran goes on, what is done is not repeated.

use coven_model::event::SessionEvent;
use coven_model::{InterventionChoice, SessionId, WorkflowStatus};

use coven_orchestrator::NewSession;

use crate::support::{Base, decide, end, fact, intervention, nothing_left};

/// Runs a session until something happens, and then lets go of it as a process that ends does.
/// What a killed process leaves is shown by the tests in `killed`.
async fn until(base: &Base, new: NewSession, wanted: impl Fn(&SessionEvent) -> bool) -> SessionId {
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    fact(&mut events, "the moment to let go", |event| wanted(event).then_some(())).await;
    orchestrator.close().await;
    id
}

/// Spec: C0.8.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_agent_is_adopted_and_finished_steps_are_not_repeated() {
    let base = Base::new();
    let new = base.definition(
        r#"
name: adopted
description: Dies in the second step.
steps:
  - {name: first, type: script, command: echo first >> log.txt}
  - {name: second, type: agent, mode: headless, permissions: all, prompt: "think 1.5; disobey echo second >> log.txt; say done", output: said}
  - {name: third, type: script, command: echo third >> log.txt}
"#,
    );
    let id = until(
        &base,
        new,
        |event| matches!(event, SessionEvent::TaskStarted(started) if started.spec.step == "second"),
    )
    .await;
    let orchestrator = base.open().await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(view.variables["said"], "done");
    let log = std::fs::read_to_string(base.path().join("log.txt")).unwrap();
    assert_eq!(log, "first\nsecond\nthird\n");
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_question_is_still_open_afterwards_and_can_be_answered() {
    let base = Base::new();
    let new = base.definition(
        r#"
name: asked
description: Dies while an agent asks.
steps:
  - {name: ask, type: agent, mode: interactive, permissions: ask, prompt: "approve echo x >> log.txt; say done"}
"#,
    );
    let id =
        until(&base, new, |event| matches!(event, SessionEvent::InterventionRequired { .. })).await;
    let orchestrator = base.open().await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(std::fs::read_to_string(base.path().join("log.txt")).unwrap(), "x\n");
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_of_two_questions_with_the_same_words_is_still_the_second_afterwards() {
    let base = Base::new();
    let new = base.definition(
        r#"
name: twice
description: Asks the same twice and dies at the second.
steps:
  - {name: ask, type: agent, mode: interactive, permissions: ask, prompt: "approve echo x >> log.txt; approve echo x >> log.txt; say done"}
"#,
    );
    let before = base.open().await;
    let id = before.execute_workflow(new).await.unwrap();
    let mut events = before.subscribe(&id, 0).await.unwrap();
    let first = intervention(&mut events).await;
    decide(&before, &first, InterventionChoice::Approve).await;
    intervention(&mut events).await;
    before.close().await;
    drop(before);
    let orchestrator = base.open().await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    intervention(&mut events).await;
    let second = intervention(&mut events).await;
    decide(&orchestrator, &second, InterventionChoice::Approve).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(std::fs::read_to_string(base.path().join("log.txt")).unwrap(), "x\nx\n");
    nothing_left(&id, &view);
}
