//! What goes wrong around a run: deleted folders, cancelling at bad moments, an arbiter that tries
//! to change the work.

use coven_model::event::SessionEvent;
use coven_model::{InterventionChoice, WorkflowStatus};
use coven_orchestrator::{AdmissionQueue, LiveEvent, PublishedEvent};

use crate::support::{
    Base, DEADLINE, decide, delete, end, fact, intervention, kinds, nothing_left,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_folder_that_is_deleted_is_restored_and_that_is_said() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let new = base.definition(
        "name: cleaned\ndescription: Deleted under way.\nsteps:\n  - {name: ask, type: gate, message: Ready?}\n  - {name: last, type: script, command: echo last}\n",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    let folder = base.path().join(".coven/sessions").join(id.as_str());
    delete(&folder);
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    let said = async {
        loop {
            let envelope = events.next().await.unwrap().unwrap();
            if matches!(envelope.what, PublishedEvent::Live(LiveEvent::Restored)) {
                return;
            }
        }
    };
    tokio::time::timeout(DEADLINE, said).await.expect("it should be said");
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    orchestrator.close().await;
    drop(orchestrator);
    let orchestrator = base.open().await;
    let again = orchestrator.view(&id).await.unwrap().unwrap();
    assert_eq!(again.status, WorkflowStatus::Completed, "nothing that was known is lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_waits_for_a_slot_is_cancelled_without_ever_starting() {
    let base = Base::new();
    let mut options = base.options();
    options.admission = AdmissionQueue::new(1);
    let orchestrator = coven_orchestrator::Orchestrator::open(options).await.unwrap();
    let new = base.definition(
        r#"
name: queued
description: Two at once, one slot.
steps:
  - name: work
    type: parallel-agents
    mode: headless
    permissions: all
    for_each: [a, b]
    prompt: "disobey touch ${item}.txt; hang"
"#,
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let waited = async {
        while !base.path().join("a.txt").exists() && !base.path().join("b.txt").exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, waited).await.expect("one should start");
    orchestrator.cancel(&id, "a test", "").await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Cancelled);
    let started = ["a.txt", "b.txt"].iter().filter(|file| base.path().join(file).exists()).count();
    assert_eq!(started, 1, "one slot, one agent");
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_cancelled_while_an_agent_asks() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let new = base.definition(
        "name: asked\ndescription: Asks.\nsteps:\n  - {name: ask, type: agent, mode: interactive, permissions: ask, prompt: approve touch made.txt}\n",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    intervention(&mut events).await;
    orchestrator.cancel(&id, "a test", "").await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Cancelled);
    assert!(view.interventions.is_empty(), "nobody has to answer any more");
    assert!(!base.path().join("made.txt").exists());
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_arbiter_cannot_change_the_work() {
    let base = Base::new();
    std::fs::write(base.path().join("work.txt"), "the work").unwrap();
    let tricks = [
        "disobey touch made.txt",
        "disobey echo worse > work.txt",
        "disobey mv work.txt gone.txt",
        "disobey ln work.txt link.txt",
        "disobey ln -s /etc/passwd soft.txt",
        "disobey rm -f work.txt",
        "disobey sh -c 'echo child > child.txt'",
        r#"json {"verdict": "done", "reason": "I tried"}"#,
    ];
    std::fs::write(base.path().join("verdict.txt"), tricks.join("\n")).unwrap();
    let orchestrator = base.open().await;
    let new = base.definition(
        r"
name: judged
description: The arbiter tries to change the work.
steps:
  - name: polish
    type: agent-loop
    mode: headless
    prompt: say worked
    arbiter: {prompt: Good?, extra_args: [--script, verdict.txt]}
    max_iterations: 1
",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    fact(&mut events, "the verdict", |event| {
        matches!(event, SessionEvent::LoopJudged { .. }).then_some(())
    })
    .await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(std::fs::read_to_string(base.path().join("work.txt")).unwrap(), "the work");
    for file in ["made.txt", "gone.txt", "link.txt", "soft.txt", "child.txt"] {
        assert!(base.path().join(file).symlink_metadata().is_err(), "{file} was made");
    }
    assert!(kinds(&orchestrator, &id).await.contains(&"workflow.loop.judged".to_owned()));
}
