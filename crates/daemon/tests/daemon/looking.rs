//! Looking opens, creates and resumes nothing: not a folder, not a session.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use coven_api::ProblemCode;
use coven_api::route::{HttpMethod, ROUTES, RouteAnswer};
use coven_api::system::OpenBaseDir;
use coven_api::workflow::{ActionRequest, ListQuery};
use coven_model::WorkflowStatus;

use crate::stream_support::{Raw, journal};
use crate::support::{Daemon, Home, code};

const SAYS: &str =
    "name: says\ndescription: S.\nsteps:\n  - {name: say, type: script, command: echo hello}\n";

/// Every file below a folder, with its content.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                found.insert(path.clone(), Vec::new());
                folders.push(path);
            } else {
                let content = std::fs::read(&path).unwrap_or_default();
                found.insert(path, content);
            }
        }
    }
    found
}

/// Who keeps the sessions of the base directory, as the note in its lock says.
fn keeper(home: &Home) -> String {
    std::fs::read_to_string(home.base().join(".coven/lock")).unwrap_or_default()
}

async fn completed(daemon: &Daemon<'_>) -> String {
    let id = daemon.start(&daemon.definition(SAYS)).await.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    id
}

#[tokio::test]
async fn no_route_that_looks_makes_or_opens_anything() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = completed(&daemon).await;
    daemon.stop().await;
    // Another folder has a copy, which is in no registry.
    let copy = home.path().join("copy");
    let copied = std::process::Command::new("cp").arg("-a").arg(home.base()).arg(&copy).status();
    assert!(copied.unwrap().success());
    let daemon = home.daemon().await;
    let before = (tree(&home.base()), tree(&copy), tree(&home.state().join("bases")));
    for route in ROUTES.iter().filter(|route| route.method == HttpMethod::Get) {
        let path = route.path.replace("{id}", &id).replace("{task}", "say");
        let path = path.replace("{name}", "demo");
        for folder in [None, Some(home.base()), Some(copy.clone())] {
            let query = folder.map(|folder| format!("?baseDir={}", folder.display()));
            let request = daemon.raw("GET", &(path.clone() + &query.unwrap_or_default()));
            let response = request.send().await.unwrap();
            // A stream goes on for as long as its client reads it.
            if !matches!(route.answers, RouteAnswer::Events(_)) {
                response.bytes().await.unwrap();
            }
        }
    }
    let after = (tree(&home.base()), tree(&copy), tree(&home.state().join("bases")));
    assert!(before == after, "looking changed something");
    assert_eq!(keeper(&home), "", "nobody has opened it");
    assert!(!home.state().join("workspace").exists());
}

#[tokio::test]
async fn sessions_that_are_over_can_be_read_after_a_restart_without_opening_their_folder() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = completed(&daemon).await;
    let facts = journal(&daemon, &id).await;
    daemon.stop().await;
    let daemon = home.daemon().await;
    let page = daemon.client.workflows(&ListQuery::default()).await.unwrap();
    assert_eq!((page.total, page.workflows[0].status), (1, WorkflowStatus::Completed));
    assert!(!page.workflows[0].foreign);
    let workflow = daemon.client.workflow(&id).await.unwrap();
    assert!(!workflow.live && workflow.tasks[0].attempt == 1);
    assert_eq!(journal(&daemon, &id).await, facts);
    let output = daemon.raw("GET", &format!("/workflows/{id}/tasks/say/output?raw=true"));
    assert_eq!(output.send().await.unwrap().text().await.unwrap(), "hello\n");
    // Nor is there a hole in what happened everywhere.
    let mut all = Raw::open(&daemon, "/events?after=0&live=false", None).await;
    let first = loop {
        let frame = all.next().await.unwrap();
        if frame.comment.is_none() {
            break frame;
        }
    };
    assert_eq!(first.event, "session.created");
    assert_eq!(keeper(&home), "", "nobody has opened it");

    // A command opens it.
    daemon.client.purge(&id).await.unwrap();
    assert!(keeper(&home).contains("the coven daemon"), "{}", keeper(&home));
    assert_eq!(daemon.client.workflows(&ListQuery::default()).await.unwrap().total, 0);
}

#[tokio::test]
async fn a_folder_is_known_from_when_it_is_opened_and_its_foreign_sessions_can_be_read() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = completed(&daemon).await;
    daemon.client.purge(&completed(&daemon).await).await.unwrap();
    let copy = home.path().join("copy");
    std::fs::rename(home.base(), &copy).unwrap();
    std::fs::create_dir(home.path().join("base")).unwrap();
    daemon.stop().await;
    let daemon = home.daemon().await;
    assert_eq!(code(daemon.client.workflow(&id).await), ProblemCode::WorkflowNotFound);
    let open = OpenBaseDir { base_dir: copy.display().to_string() };
    let opened = daemon.client.open_base_dir(&open).await.unwrap();
    assert_eq!(opened.sessions, 1);
    let workflow = daemon.client.workflow(&id).await.unwrap();
    assert!(workflow.item.foreign && !workflow.live && workflow.interventions.is_empty());
    let path = format!("/workflows/{id}/events?after=0&live=false");
    let facts = Raw::open(&daemon, &path, None).await.rest().await;
    assert_eq!(facts.len() as u64, workflow.last_seq + 1, "every fact, and the end");
    for refused in [
        code(daemon.client.resume(&id, &ActionRequest::default()).await),
        code(daemon.client.retry(&id, &ActionRequest::default()).await),
        code(daemon.client.cancel(&id, &ActionRequest::default()).await),
        code(daemon.client.purge(&id).await),
    ] {
        assert_eq!(refused, ProblemCode::ForeignSession);
    }
    let of = |status: &str| ListQuery { status: Some(status.to_owned()), ..ListQuery::default() };
    assert_eq!(daemon.client.workflows(&of("completed")).await.unwrap().total, 0);
    assert_eq!(daemon.client.workflows(&of("foreign")).await.unwrap().total, 1);
    // A run there works, and the next daemon knows the folder.
    let mut start = daemon.definition(SAYS);
    start.base_dir = Some(copy.display().to_string());
    let own = daemon.start(&start).await.id.to_string();
    daemon.ends(&own, WorkflowStatus::Completed).await;
    daemon.kill();
    let daemon = home.daemon().await;
    assert_eq!(daemon.client.workflows(&ListQuery::default()).await.unwrap().total, 2);
}
