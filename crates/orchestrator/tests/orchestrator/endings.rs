//! Stops at a bad moment: before the agent runs, while it asks, while it is being taken up again,
//! and of agents that do not want to end.

use coven_model::WorkflowStatus;
use coven_model::event::SessionEvent;

use crate::support::{Base, end, fact, intervention, nothing_left, processes_of, until};

const HANGS: &str = "name: hangs\ndescription: Never ends.\nsteps:\n  - {name: wait, type: agent, mode: headless, permissions: all, prompt: 'disobey echo begun >> log.txt; hang'}\n  - {name: never, type: script, command: touch never.txt}\n";

/// Everything of a session has ended, whatever it did to live on.
fn gone(base: &Base, id: &coven_model::SessionId, view: &coven_model::SessionView) {
    assert_eq!(view.status, WorkflowStatus::Cancelled, "{:#?}", view.errors);
    assert_eq!(processes_of(id), []);
    nothing_left(id, view);
    assert!(!base.path().join("never.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_hears_that_a_run_is_over_finds_it_written_and_may_remove_it() {
    const DONE: &str =
        "name: done\ndescription: x\nsteps:\n  - {name: one, type: script, command: echo one}\n";
    let base = Base::new();
    let orchestrator = base.open().await;
    for _ in 0..5 {
        let id = orchestrator.execute_workflow(base.definition(DONE)).await.unwrap();
        let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
        fact(&mut events, "the end", |event| {
            matches!(event, SessionEvent::WorkflowCompleted { .. }).then_some(())
        })
        .await;
        let folder = base.path().join(".coven/sessions").join(id.as_str());
        let view = std::fs::read(folder.join("session.json")).unwrap();
        let view: serde_json::Value = serde_json::from_slice(&view).unwrap();
        assert_eq!(view["status"], "completed", "{view:#}");
        std::fs::remove_dir_all(&folder).unwrap();
        let _settled = end(&orchestrator, &id).await;
        assert!(!folder.exists(), "nothing is written afterwards");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_cancelled_at_each_moment_of_its_start() {
    let base = Base::new();
    let orchestrator = base.open().await;
    // After so many facts; the last is that the agent is about to run.
    for facts in 0..=4 {
        let id = orchestrator.execute_workflow(base.definition(HANGS)).await.unwrap();
        let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
        for _ in 0..facts {
            fact(&mut events, "another fact", |_| Some(())).await;
            let kind = orchestrator.view(&id).await.unwrap().unwrap().status;
            assert_eq!(kind, WorkflowStatus::Running);
        }
        orchestrator.cancel(&id, "a test", "too soon").await.unwrap();
        let view = end(&orchestrator, &id).await;
        gone(&base, &id, &view);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_ignores_signals_and_leaves_children_is_cancelled_with_all_of_them() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let new = base.definition(
        "name: hostile\ndescription: Does not want to end.\nsteps:\n  - {name: wait, type: agent, mode: headless, permissions: all, prompt: 'ignore-signals; double-fork 600 child.pid; disobey touch begun.txt; hang'}\n  - {name: never, type: script, command: touch never.txt}\n",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    until("its begin", || base.path().join("begun.txt").exists()).await;
    assert!(processes_of(&id).len() > 1, "the agent and what it left");
    orchestrator.cancel(&id, "a test", "enough").await.unwrap();
    let view = end(&orchestrator, &id).await;
    gone(&base, &id, &view);
    let child = std::fs::read_to_string(base.path().join("child.pid")).unwrap();
    let child: i32 = child.trim().parse().unwrap();
    assert_eq!(coven_runtime::processes::Identity::of(child), None, "its child has ended too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_cancelled_while_it_is_being_taken_up_again() {
    for interactive in [false, true] {
        let base = Base::new();
        let text = if interactive {
            HANGS.replace("mode: headless", "mode: interactive")
        } else {
            HANGS.to_owned()
        };
        let before = base.open().await;
        let id = before.execute_workflow(base.definition(&text)).await.unwrap();
        let mut events = before.subscribe(&id, 0).await.unwrap();
        fact(&mut events, "the start", |event| {
            matches!(event, SessionEvent::TaskStarted(_)).then_some(())
        })
        .await;
        before.close().await;
        drop(before);
        let orchestrator = base.open().await;
        // At once: whether its agent was found already is not waited for.
        orchestrator.cancel(&id, "a test", "in the middle").await.unwrap();
        let view = end(&orchestrator, &id).await;
        gone(&base, &id, &view);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_waits_for_a_person_is_cancelled_and_asks_nobody_any_more() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let new = base.definition(
        "name: asks\ndescription: Asks.\nsteps:\n  - {name: ask, type: gate, message: Ready?}\n  - {name: never, type: script, command: touch never.txt}\n",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    orchestrator.cancel(&id, "a test", "").await.unwrap();
    let view = end(&orchestrator, &id).await;
    gone(&base, &id, &view);
    assert!(view.interventions.is_empty());
    let late = coven_model::event::InterventionDecision::new(
        coven_model::InterventionChoice::Approve,
        "too late",
    );
    assert!(orchestrator.answer(&asked.id, late, None).await.is_err());
}
