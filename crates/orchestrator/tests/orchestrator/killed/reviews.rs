//! A process that dies between making the run that begins with a review and recording in the old
//! session which run that is.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use coven_model::{SessionId, TaskId, WorkflowStatus};
use coven_orchestrator::{
    Feed, FeedItem, Options, Orchestrator, PublishedEvent, Review, ReviewDelivery,
};
use coven_testkit::git::git;

use crate::support::{Base, end, program, state_of};

/// Tells the child which base directory has the session.
const BASE: &str = "COVEN_TEST_REVIEWED";

const ABORTED: i32 = 6;

fn definition() -> &'static str {
    "name: one\ndescription: One.\nsteps:\n  - name: work\n    type: agent\n    isolation: run\n    \
     adapter: demo\n    mode: headless\n    permissions: all\n    prompt: write new.txt hello\n"
}

fn review(env: BTreeMap<std::ffi::OsString, std::ffi::OsString>) -> Review {
    Review {
        summary: Some("write more.txt better".to_owned()),
        by: "mira".to_owned(),
        env: Some(env),
        ..Review::default()
    }
}

fn task() -> TaskId {
    TaskId::new("work").unwrap()
}

/// The process that dies: as soon as a run is told of, and before anything else is looked at.
#[test]
#[ignore = "started by the test beside it, to die"]
fn sends_a_review_and_dies() {
    let Some(base) = std::env::var_os(BASE).map(PathBuf::from) else { return };
    let reactor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    reactor.block_on(async {
        let mut options = Options::new(&base, state_of(&base), program());
        options.feed = Feed::in_memory();
        let mut told = options.feed.subscribe(None);
        let orchestrator = Orchestrator::open(options).await.unwrap();
        let id = orchestrator.list()[0].id.clone();
        let made = async {
            while let Some(item) = told.next().await {
                if let FeedItem::Event(event) = item
                    && event.session != id
                    && matches!(event.what, PublishedEvent::Fact { .. })
                {
                    std::process::abort();
                }
            }
        };
        let (task, env) = (task(), std::env::vars_os().collect());
        tokio::select! {
            biased;
            () = made => {}
            sent = orchestrator.review(&id, &task, review(env)) => {
                panic!("it was to die before: {sent:?}");
            }
        }
    });
}

/// The runs that the old session names.
fn named(base: &Base, id: &SessionId) -> usize {
    let journal = base.path().join(".coven/sessions").join(id.as_str()).join("journal.jsonl");
    std::fs::read_to_string(journal).unwrap().matches("review.sent").count()
}

fn others(orchestrator: &Orchestrator, id: &SessionId) -> Vec<SessionId> {
    let entries = orchestrator.list().into_iter().map(|entry| entry.id);
    entries.filter(|other| other != id).collect()
}

/// Naive: a run that nobody named is made once more by whoever repeats the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_whose_run_was_made_by_a_process_that_died_finds_that_run() {
    let base = Base::new();
    git(base.path(), &["init", "--quiet"]);
    git(base.path(), &["config", "user.name", "Mira"]);
    git(base.path(), &["config", "user.email", "mira@example.invalid"]);
    std::fs::write(base.path().join(".gitignore"), ".coven/\ndemo-state/\n").unwrap();
    git(base.path(), &["add", "."]);
    git(base.path(), &["commit", "--quiet", "-m", "first"]);
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(definition())).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    orchestrator.close().await;
    drop(orchestrator);

    let died = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "killed::reviews::sends_a_review_and_dies"])
        .envs(base.env())
        .env(BASE, base.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(died.signal(), Some(ABORTED), "{died:?}");
    assert_eq!(named(&base, &id), 0, "it died before");

    let orchestrator = base.open().await;
    let made = others(&orchestrator, &id);
    assert_eq!(made.len(), 1, "it was made");
    let task = task();
    let sent = || orchestrator.review(&id, &task, review(base.env()));
    let Some(ReviewDelivery::Run { id: first, .. }) = sent().await.unwrap().delivery else {
        panic!()
    };
    assert_eq!(others(&orchestrator, &id), std::slice::from_ref(&first), "not made twice");
    assert_eq!(made, std::slice::from_ref(&first));
    assert_eq!(named(&base, &id), 1);
    orchestrator.resume(&first, None).await.ok();
    let view = end(&orchestrator, &first).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let show = |file: &str| git(base.path(), &["show", &format!("coven/{}:{file}", view.name)]);
    assert_eq!((show("new.txt"), show("more.txt")), ("hello".to_owned(), "better".to_owned()));

    // The same said again, once it was recorded, is another wish.
    let Some(ReviewDelivery::Run { id: second, .. }) = sent().await.unwrap().delivery else {
        panic!()
    };
    assert_ne!(first, second);
    assert_eq!((named(&base, &id), others(&orchestrator, &id).len()), (2, 2));
    end(&orchestrator, &second).await;
}
