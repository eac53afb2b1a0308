//! A disk that reports an error when a journal is synced (EIO), under a whole session: what was not
//! synced is never taken for done later, the session says what is wrong, and reads its journal anew
//! before it goes on.

use std::fs;
use std::path::PathBuf;

use coven_model::{InterventionChoice, SessionId, WorkflowStatus};
use coven_orchestrator::{LiveEvent, Orchestrator, PublishedEvent};
use coven_store::faults::FailingSyncs;

use crate::support::{Base, DEADLINE, decide, end, intervention, until};

const ASKS: &str = "name: asks\ndescription: Asks.\nsteps:\n  - {name: ask, type: gate, message: Ready?}\n  - {name: last, type: script, command: echo last >> log.txt}\n";

fn journal(base: &Base, id: &SessionId) -> PathBuf {
    base.path().join(".coven/sessions").join(id.as_str()).join("journal.jsonl")
}

fn decisions(base: &Base, id: &SessionId) -> usize {
    let text = fs::read_to_string(journal(base, id)).unwrap();
    text.lines().filter(|line| line.contains("intervention.resolved")).count()
}

/// A run that asks, up to its question.
async fn asking(base: &Base) -> (Orchestrator, SessionId, coven_model::Intervention) {
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(ASKS)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    (orchestrator, id, asked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_could_not_be_synced_is_said_and_recorded_once_the_disk_works() {
    let base = Base::new();
    let (orchestrator, id, asked) = asking(&base).await;
    let before = fs::read(journal(&base, &id)).unwrap();
    let mut events = orchestrator.subscribe(&id, u64::MAX).await.unwrap();
    let failing = FailingSyncs::below(base.path()).unwrap();
    let answering = tokio::spawn({
        let (orchestrator, asked) = (orchestrator.clone(), asked.clone());
        async move { decide(&orchestrator, &asked, InterventionChoice::Approve).await }
    });
    let told = async {
        loop {
            let envelope = events.next().await.unwrap().expect("the session goes on");
            if let PublishedEvent::Live(LiveEvent::Storage { problem }) = &envelope.what {
                return problem.clone();
            }
        }
    };
    let problem = tokio::time::timeout(DEADLINE, told).await.expect("it is told");
    assert!(problem.starts_with("waits for its disk: "), "{problem}");
    assert!(problem.contains("the disk reports an error"), "{problem}");
    assert!(problem.contains("is read anew before anything more is recorded"), "{problem}");
    assert!(!answering.is_finished(), "an answer is acknowledged when it is on the disk");
    // Nobody finds it: not who looks, not in the file, and nothing followed from it.
    let controller = orchestrator.controller(&id).unwrap();
    assert_eq!(controller.snapshot().view().unwrap().interventions.len(), 1);
    assert!(controller.storage_problem().is_some());
    // The tries while the disk fails leave nothing behind either.
    until("another try", || {
        controller.storage_problem().is_some_and(|problem| problem.contains("could be read anew"))
    })
    .await;
    assert_eq!(fs::read(journal(&base, &id)).unwrap(), before);
    assert!(!base.path().join("log.txt").exists());
    drop(failing);
    tokio::time::timeout(DEADLINE, answering).await.unwrap().unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(controller.storage_problem(), None);
    assert_eq!(fs::read_to_string(base.path().join("log.txt")).unwrap(), "last\n", "once");
    assert_eq!(decisions(&base, &id), 1);
    assert!(fs::read(journal(&base, &id)).unwrap().starts_with(&before));
    orchestrator.close().await;
    drop(orchestrator);
    let again = base.open().await;
    assert_eq!(again.view(&id).await.unwrap().unwrap().status, WorkflowStatus::Completed);
    again.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_process_does_not_find_what_could_not_be_synced() {
    let base = Base::new();
    let (orchestrator, id, asked) = asking(&base).await;
    let failing = FailingSyncs::below(base.path()).unwrap();
    let answering = tokio::spawn({
        let (orchestrator, asked) = (orchestrator.clone(), asked.clone());
        async move {
            let decision =
                coven_model::InterventionDecision::new(InterventionChoice::Approve, "a test");
            orchestrator.answer(&asked.id, decision, asked.digest.clone()).await
        }
    });
    let controller = orchestrator.controller(&id).unwrap();
    until("that it is told", || controller.storage_problem().is_some()).await;
    tokio::time::timeout(DEADLINE, orchestrator.close()).await.expect("it closes");
    let answered = tokio::time::timeout(DEADLINE, answering).await.unwrap().unwrap();
    assert!(answered.is_err(), "who answered hears that it was not taken");
    drop((orchestrator, controller));
    drop(failing);
    let again = base.open().await;
    let open = again.interventions();
    assert_eq!(open.len(), 1, "it is asked still");
    assert_eq!(open[0].id, asked.id);
    assert_eq!(decisions(&base, &id), 0);
    decide(&again, &open[0], InterventionChoice::Approve).await;
    let view = end(&again, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(fs::read_to_string(base.path().join("log.txt")).unwrap(), "last\n", "once");
    again.close().await;
}
