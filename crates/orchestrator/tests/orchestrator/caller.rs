//! Whose environment jobs get, and what may change while sessions run.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use coven_model::{InterventionChoice, SessionId, WorkflowStatus};
use coven_orchestrator::{ExecuteError, ProjectTrust};

use crate::support::{Base, decide, end, intervention};

const SECRET: &str = "kept-for-the-owner-alone";

const GATED: &str = "name: gated\ndescription: Waits, then shows a variable.\nsteps:\n  - {name: wait, type: gate, message: Go?}\n  - {name: show, type: script, command: echo \"$OF_CALLER\", output: shown}\n";

fn file(base: &Base, id: &SessionId) -> PathBuf {
    crate::support::state_of(base.path()).join("jobs").join(id.as_str()).join("caller-env")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_goes_on_in_the_environment_it_was_made_with() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let mut new = base.definition(GATED);
    new.env.insert("OF_CALLER".into(), SECRET.into());
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    orchestrator.close().await;
    drop((orchestrator, events));
    let kept = std::fs::metadata(file(&base, &id)).unwrap();
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);
    let folder = base.path().join(".coven/sessions").join(id.as_str());
    for name in ["journal.jsonl", "session.json"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(!text.contains(SECRET), "{name} has it");
    }

    // This process does not have the variable.
    let orchestrator = base.open().await;
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(view.variables["shown"], SECRET);
    assert!(!file(&base, &id).exists(), "it goes when the session is over");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_was_only_made_begins_in_the_environment_of_its_maker() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let mut new = base.definition(
        "name: later\ndescription: Begins later.\nsteps:\n  - {name: show, type: script, command: echo \"$OF_CALLER\", output: shown}\n",
    );
    new.env.insert("OF_CALLER".into(), "maker".into());
    let id = orchestrator.create_session(new).await.unwrap();
    orchestrator.resume(&id, None).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.variables["shown"], "maker");

    // One that never begins can be cancelled, and nothing of it runs.
    let never = orchestrator.create_session(base.definition(GATED)).await.unwrap();
    orchestrator.cancel(&never, "a test", "").await.unwrap();
    let view = end(&orchestrator, &never).await;
    assert_eq!(view.status, WorkflowStatus::Cancelled);
    assert_eq!(view.started_at, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_session_is_tried_again_in_the_environment_of_whoever_tries() {
    let base = Base::new();
    for restart in [false, true] {
        let mut orchestrator = base.open().await;
        let new = base.definition(
            "name: fails\ndescription: Fails without a variable.\nsteps:\n  - {name: show, type: script, command: test -n \"$OF_CALLER\" && echo \"$OF_CALLER\", output: shown}\n",
        );
        let id = orchestrator.execute_workflow(new).await.unwrap();
        assert_eq!(end(&orchestrator, &id).await.status, WorkflowStatus::Failed);
        assert!(!file(&base, &id).exists());
        if restart {
            orchestrator.close().await;
            drop(orchestrator);
            orchestrator = base.open().await;
        }
        let mut env = base.env();
        env.insert("OF_CALLER".into(), "second".into());
        orchestrator.resume(&id, Some(env)).await.unwrap();
        orchestrator.retry(&id, "a test", "now it is set").await.unwrap();
        let view = end(&orchestrator, &id).await;
        assert_eq!(view.status, WorkflowStatus::Completed, "{restart}: {:#?}", view.errors);
        assert_eq!(view.variables["shown"], "second");
        assert!(!file(&base, &id).exists());
        orchestrator.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trust_can_be_given_and_taken_while_it_runs() {
    let base = Base::new();
    let folder = base.path().join(".coven/grimoires");
    std::fs::create_dir_all(&folder).unwrap();
    let text = "name: own\ndescription: Of the project.\nsteps:\n  - {name: say, type: script, command: echo own}\n";
    std::fs::write(folder.join("own.yaml"), text).unwrap();
    let orchestrator = base.open().await;
    let refused = orchestrator.execute_workflow(base.grimoire("own")).await;
    assert!(matches!(refused, Err(ExecuteError::Grimoire(_))), "{refused:?}");
    orchestrator.set_trust(crate::support::agreed(base.path()));
    let id = orchestrator.execute_workflow(base.grimoire("own")).await.unwrap();
    assert_eq!(end(&orchestrator, &id).await.status, WorkflowStatus::Completed);
    orchestrator.set_trust(ProjectTrust::default());
    assert!(orchestrator.execute_workflow(base.grimoire("own")).await.is_err());
}
