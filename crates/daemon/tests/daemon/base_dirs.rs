//! Where sessions lie: in the folder that a request names, or in the workspace if it names none.

use std::path::{Path, PathBuf};

use coven_api::ProblemCode;
use coven_api::event::PostEvent;
use coven_api::workflow::{ActionRequest, ListQuery, StartWorkflow};
use coven_model::WorkflowStatus;
use serde_json::Map;

use crate::support::{Daemon, Home, code};

const NOTE: &str = "name: note\ndescription: x\nsteps:\n  - {name: note, type: script, command: 'pwd > where; pwd', output: where}\n";

/// A folder of the home, made.
fn folder(home: &Home, name: &str) -> PathBuf {
    let path = home.path().join(name);
    std::fs::create_dir_all(&path).unwrap();
    path.canonicalize().unwrap()
}

/// Where sessions lie that name no folder.
fn workspace(home: &Home) -> PathBuf {
    home.path().canonicalize().unwrap().join(".local/share/coven/workspace")
}

/// The first two folders by their names, and the workspace by none.
fn named([one, two, _]: &[PathBuf; 3]) -> [Option<&Path>; 3] {
    [Some(one), Some(two), None]
}

/// The ids of the sessions whose files lie in a folder.
fn kept(base: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(base.join(".coven/sessions")).into_iter().flatten().flatten();
    let sessions = entries.filter(|entry| entry.path().join("journal.jsonl").exists());
    let mut ids: Vec<String> =
        sessions.map(|entry| entry.file_name().into_string().unwrap()).collect();
    ids.sort();
    ids
}

/// What is to be run in a folder, or in none that is named.
fn note(daemon: &Daemon<'_>, base: Option<&Path>) -> StartWorkflow {
    let base_dir = base.map(|base| base.display().to_string());
    StartWorkflow { base_dir, ..daemon.definition(NOTE) }
}

/// Spec: C1.12.2, C1.15.1
#[tokio::test]
async fn a_session_lies_below_exactly_the_folder_that_was_named_or_in_the_workspace() {
    let home = Home::new();
    let bases = [folder(&home, "one"), folder(&home, "two"), workspace(&home)];
    let daemon = home.daemon().await;
    let mut ids = Vec::new();
    for base in named(&bases) {
        let started = daemon.start(&note(&daemon, base)).await;
        let id = started.id.to_string();
        let expected = &bases[ids.len()];
        assert_eq!(Path::new(&started.base_dir), expected);
        let done = daemon.ends(&id, WorkflowStatus::Completed).await;
        assert_eq!(Path::new(&done.item.base_dir), expected);
        assert_eq!(done.session.variables["where"], expected.display().to_string());
        assert_eq!(kept(expected), [id.as_str()]);
        let view = expected.join(".coven/sessions").join(&id).join("session.json");
        let view: serde_json::Value =
            serde_json::from_slice(&std::fs::read(view).unwrap()).unwrap();
        assert_eq!(view["baseDir"], expected.display().to_string());
        ids.push(id);
    }
    for (base, id) in bases.iter().zip(&ids) {
        assert_eq!(kept(base), [id.as_str()], "only its own are in {}", base.display());
        assert!(base.join("where").exists());
        let base_dir = Some(base.display().to_string());
        let query = ListQuery { base_dir, ..ListQuery::default() };
        let listed = daemon.client.workflows(&query).await.unwrap().workflows;
        let listed: Vec<&str> = listed.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(listed, [id.as_str()]);
    }
    assert_eq!(kept(&home.base()), [""; 0]);
    assert_eq!(kept(home.path()), [""; 0], "nor where the daemon was started");
    for wrong in ["one", "/no/such/folder"] {
        let wrong = note(&daemon, Some(Path::new(wrong)));
        assert_eq!(code(daemon.client.start(&wrong, None).await), ProblemCode::BadBaseDir);
    }
}

/// Spec: C1.12.3, C1.15.1
#[tokio::test]
async fn after_a_restart_sessions_are_loaded_from_the_folders_they_were_started_for() {
    let home = Home::new();
    let bases = [folder(&home, "one"), folder(&home, "two"), workspace(&home)];
    let daemon = home.daemon().await;
    let mut ids = Vec::new();
    for base in named(&bases) {
        let started = daemon.start(&StartWorkflow { hold: true, ..note(&daemon, base) }).await;
        ids.push(started.id.to_string());
    }
    assert!(daemon.stop().await.success());
    // What is not in its folder any more is nowhere else.
    std::fs::remove_dir_all(bases[1].join(".coven/sessions").join(&ids[1])).unwrap();

    let daemon = home.daemon().await;
    assert_eq!(code(daemon.client.workflow(&ids[1]).await), ProblemCode::WorkflowNotFound);
    for (base, id) in [(&bases[0], &ids[0]), (&bases[2], &ids[2])] {
        let loaded = daemon.client.workflow(id).await.unwrap();
        assert_eq!(loaded.item.status, WorkflowStatus::Pending);
        assert_eq!(Path::new(&loaded.item.base_dir), base);
        daemon.client.resume(id, &ActionRequest::default()).await.unwrap();
        let done = daemon.ends(id, WorkflowStatus::Completed).await;
        assert_eq!(done.session.variables["where"], base.display().to_string());
        assert_eq!(kept(base), [id.as_str()], "it went on where it lay");
    }
    assert!(!bases[1].join("where").exists());
}

/// Spec: C1.15.1
#[tokio::test]
async fn an_event_starts_what_waits_for_it_in_the_folder_it_names_or_in_the_workspace() {
    let home = Home::new();
    let grimoires = home.config().join("grimoires");
    std::fs::create_dir_all(&grimoires).unwrap();
    let waiting = NOTE.replace("steps:", "trigger: {event: issue.opened}\nsteps:");
    std::fs::write(grimoires.join("note.yaml"), waiting).unwrap();
    let one = folder(&home, "one");
    let daemon = home.daemon().await;
    for (base, expected) in [(Some(&one), one.clone()), (None, workspace(&home))] {
        let event = PostEvent {
            kind: "issue.opened".to_owned(),
            data: Map::new(),
            id: None,
            base_dir: base.map(|base| base.display().to_string()),
        };
        let started = daemon.client.post_event(&event).await.unwrap().started;
        assert_eq!(started.len(), 1);
        let done = daemon.ends(started[0].as_str(), WorkflowStatus::Completed).await;
        assert_eq!(Path::new(&done.item.base_dir), expected);
        assert_eq!(kept(&expected), [started[0].as_str()]);
    }
    assert_eq!(kept(&one).len(), 1, "the event without a folder did not reach this one");
}
