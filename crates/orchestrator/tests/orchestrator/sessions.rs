//! Sessions side by side, and the facade in front of them.

use std::any::type_name;

use coven_model::{SessionId, WorkflowStatus};
use coven_orchestrator::{ExecuteError, OpenError, Orchestrator, PublishedEvent, RequestError};
use coven_runtime::processes;

use crate::support::{Base, end, fact, nothing_left};

const HANG: &str = "name: hang\ndescription: Never ends.\nsteps:\n  - {name: wait, type: agent, mode: headless, prompt: hang}\n";

fn echo(word: &str) -> String {
    format!(
        "name: echo-{word}\ndescription: Says {word}.\nsteps:\n  - {{name: say, type: script, command: echo {word}, output: said}}\n"
    )
}

/// Spec: C0.6.1, C1.5.1, C1.18.1, C1.18.2, C1.18.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_share_nothing_and_each_hears_only_of_itself() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let mut ids = Vec::new();
    for word in ["one", "two", "three"] {
        ids.push(orchestrator.execute_workflow(base.definition(&echo(word))).await.unwrap());
    }
    for (id, word) in ids.iter().zip(["one", "two", "three"]) {
        let mut events = orchestrator.subscribe(id, 0).await.unwrap();
        let view = end(&orchestrator, id).await;
        assert_eq!(view.variables["said"], word);
        let mut seq = 0;
        loop {
            let envelope = events.next().await.unwrap().unwrap();
            assert_eq!(envelope.session, *id);
            if let PublishedEvent::Fact { seq: number, event } = envelope.what {
                seq += 1;
                assert_eq!(number, seq, "facts are contiguous");
                if event.kind() == "workflow.completed" {
                    break;
                }
            }
        }
    }
    assert_eq!(orchestrator.list().len(), 3);
}

/// Spec: C1.18.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_created_has_an_id_of_its_own_and_a_controller_that_waits() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let id = orchestrator.create_session(base.definition(&echo("once"))).await.unwrap();
        let controller = orchestrator.controller(&id).expect("its controller");
        assert_eq!(controller.status(), WorkflowStatus::Pending);
        assert!(controller.snapshot().view().unwrap().started_at.is_none());
        assert!(ids.insert(id), "the id is new");
    }
    assert_eq!(orchestrator.list().len(), 3);
    let (first, others) = (ids.first().unwrap().clone(), ids.len() - 1);
    orchestrator.resume(&first, None).await.unwrap();
    assert_eq!(end(&orchestrator, &first).await.variables["said"], "once");
    let waiting = |id: &&SessionId| {
        orchestrator.controller(id).is_some_and(|it| it.status() == WorkflowStatus::Pending)
    };
    assert_eq!(ids.iter().filter(waiting).count(), others, "the others still wait");
}

/// Spec: GR.7.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_session_is_cancelled_when_its_agents_are_gone() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(HANG)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let job = fact(&mut events, "the job", |event| match event {
        coven_model::event::SessionEvent::TaskStarted(started) => {
            Some(started.spec.job.to_string())
        }
        _ => None,
    })
    .await;
    orchestrator.cancel(&id, "a test", "enough").await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Cancelled);
    assert_eq!(processes::of_job(&job), []);
    nothing_left(&id, &view);
    let again = orchestrator.cancel(&id, "a test", "again").await;
    assert!(matches!(again, Err(RequestError::Refused(_))));
}

/// Spec: C1.12.1, C1.12.2, C1.12.3, C1.15.1, C0.5.1, C1.11.1, C0.8.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_on_disk_below_its_base_directory_with_goal_and_definition() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let mut new = base.definition(&echo("kept"));
    new.goal = Some("keep it".to_owned());
    let id = orchestrator.execute_workflow(new).await.unwrap();
    end(&orchestrator, &id).await;
    orchestrator.close().await;
    let file = base.path().join(".coven/sessions").join(id.as_str()).join("session.json");
    let view: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(view["goal"], "keep it");
    assert_eq!(view["status"], "completed");
    assert_eq!(view["workflowDefinition"]["name"], "echo-kept");
    assert_eq!(view["taskStatus"]["say"], "DONE");
}

/// Whether it is to begin or not: a program that reads the folder finds it as soon as it is made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_was_just_made_can_be_read_by_other_programs() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let made = orchestrator.create_session(base.definition(&echo("made"))).await.unwrap();
    let begun = orchestrator.execute_workflow(base.definition(&echo("begun"))).await.unwrap();
    for (id, name) in [(&made, "echo-made"), (&begun, "echo-begun")] {
        let file = base.path().join(".coven/sessions").join(id.as_str()).join("session.json");
        let view: serde_json::Value =
            serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!(view["workflowDefinition"]["name"], name);
    }
    end(&orchestrator, &begun).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_base_directory_has_one_keeper_at_a_time() {
    let base = Base::new();
    let first = base.open().await;
    let second = Orchestrator::open(base.options()).await;
    assert!(matches!(second, Err(OpenError::Locked(_))), "{second:?}");
    first.close().await;
    drop(first);
    assert!(Orchestrator::open(base.options()).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_run_says_why_and_makes_no_session() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let unknown = orchestrator.execute_workflow(base.grimoire("demmo")).await.unwrap_err();
    assert_eq!(unknown.to_string(), "there is no grimoire `demmo`; did you mean `demo`?");
    let broken = orchestrator.execute_workflow(base.definition("name: x\nstep: []\n")).await;
    assert!(matches!(broken, Err(ExecuteError::Definition(_))));
    let nobody = SessionId::new("01890a5d-ac96-774b-bcce-b302099a8057").unwrap();
    assert!(orchestrator.cancel(&nobody, "a test", "").await.is_err());
    assert_eq!(orchestrator.list().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_not_installed_is_told_before_anything_runs() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let mut new = base.definition(
        "name: missing\ndescription: No such program.\nsteps:\n  - {name: ask, type: agent, adapter: codex, mode: headless, prompt: hello}\n",
    );
    new.env.insert("PATH".into(), base.path().into());
    let error = orchestrator.execute_workflow(new).await.unwrap_err().to_string();
    assert!(error.contains("`codex`"), "{error}");
    assert!(orchestrator.list().is_empty(), "no session was made");
}

/// Spec: C0.4.1, C1.14.1
#[test]
fn execution_and_persistence_have_folders_and_only_the_facade_is_above_them() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut names: Vec<String> = std::fs::read_dir(source)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let facade = ["feed", "feed.rs", "lib.rs", "options.rs", "orchestrator", "orchestrator.rs"];
    let above =
        ["error.rs", "event.rs", "snapshot.rs", "trees", "trees.rs"].into_iter().chain(facade);
    let below = ["engine", "engine.rs", "state", "state.rs"];
    let mut all: Vec<&str> = above.chain(below).collect();
    all.sort_unstable();
    assert_eq!(names, all);
    // The three components have types of their own.
    assert!(type_name::<coven_orchestrator::SessionManager>().contains("state::manager"));
    assert!(type_name::<coven_orchestrator::WorkflowExecutor>().contains("engine::executor"));
    assert!(type_name::<Orchestrator>().ends_with("::orchestrator::Orchestrator"));
}
