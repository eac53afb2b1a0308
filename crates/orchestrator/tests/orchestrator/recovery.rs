//! Sessions taken up again by another process: what ran goes on, what is done is not repeated.

use coven_model::event::Event;
use coven_model::{Choice, SessionId, WorkflowStatus};

use crate::support::{Base, decide, end, fact, intervention, nothing_left};

/// Runs a session on a reactor of its own until something happens, and then lets that reactor die
/// with everything on it, as a killed process would.
async fn until(
    base: &Base,
    new: coven_orchestrator::NewSession,
    wanted: impl Fn(&Event) -> bool + Send + 'static,
) -> SessionId {
    let options = base.options();
    let died = std::thread::spawn(move || {
        let reactor = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let id = reactor.block_on(async {
            let orchestrator = coven_orchestrator::Orchestrator::open(options).await.unwrap();
            let id = orchestrator.execute_workflow(new).await.unwrap();
            let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
            fact(&mut events, "the moment to die", |event| wanted(event).then_some(())).await;
            id
        });
        reactor.shutdown_background();
        id
    });
    tokio::task::spawn_blocking(move || died.join().unwrap()).await.unwrap()
}

/// Opens a base directory whose keeper has just died; its lock goes with the last of its threads.
async fn reopen(base: &Base) -> coven_orchestrator::Orchestrator {
    let search = async {
        loop {
            match coven_orchestrator::Orchestrator::open(base.options()).await {
                Ok(orchestrator) => return orchestrator,
                Err(coven_orchestrator::OpenError::Locked(_)) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    };
    tokio::time::timeout(crate::support::DEADLINE, search).await.unwrap()
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
        |event| matches!(event, Event::TaskStarted(started) if started.spec.step == "second"),
    )
    .await;
    let orchestrator = reopen(&base).await;
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
    let id = until(&base, new, |event| matches!(event, Event::InterventionRequired { .. })).await;
    let orchestrator = reopen(&base).await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    decide(&orchestrator, &asked, Choice::Approve).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(std::fs::read_to_string(base.path().join("log.txt")).unwrap(), "x\n");
    nothing_left(&id, &view);
}
