//! Reviews of what agents did that are not there any more: another attempt begins with them.

use std::path::Path;

use coven_model::event::{InterventionDecision, SessionEvent};
use coven_model::{InterventionChoice, InterventionKind, TaskId, WorkflowStatus};
use coven_orchestrator::{Orchestrator, RequestError, Review, ReviewDelivery, TreeRequestError};
use coven_testkit::git::git;

use crate::support::{Base, end, fact, intervention_of};

fn repository(root: &Path) {
    git(root, &["init", "--quiet"]);
    git(root, &["config", "user.name", "Mira"]);
    git(root, &["config", "user.email", "mira@example.invalid"]);
    std::fs::write(root.join(".gitignore"), ".coven/\ndemo-state/\n").unwrap();
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "first"]);
}

fn team(prompt: &str, more: &str) -> String {
    format!(
        "name: team\ndescription: A team.\nsteps:\n  - name: build\n    type: parallel-agents\n    \
         isolation: task\n    adapter: demo\n    mode: headless\n    permissions: all\n    \
         for_each: {:?}\n    prompt: ${{item}}\n{more}",
        [prompt]
    )
}

fn review(summary: &str) -> Review {
    Review { summary: Some(summary.to_owned()), by: "mira".to_owned(), ..Review::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_before_landing_begins_another_attempt_that_goes_on_with_its_conversation() {
    let base = Base::new();
    repository(base.path());
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let text = team("write new.txt hello; write first.txt hello", "    land: ask\n");
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let task = TaskId::new("build.0").unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let first = intervention_of(&mut events, InterventionKind::Landing).await;
    let dry = Review { dry_run: true, ..review("write new.txt better") };
    assert_eq!(orchestrator.review(&id, &task, dry).await.unwrap().delivery, None);
    let sent = orchestrator.review(&id, &task, review("write new.txt better")).await.unwrap();
    assert_eq!(sent.delivery, Some(ReviewDelivery::Attempt { number: 2 }));
    let decision = || InterventionDecision::new(InterventionChoice::Approve, "mira");
    let late = orchestrator.answer(&first.id, decision(), None).await;
    assert!(late.is_err(), "what was shown before is not landed: {late:?}");
    let second = intervention_of(&mut events, InterventionKind::Landing).await;
    orchestrator.answer(&second.id, decision(), None).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let show = |file: &str| git(base.path(), &["show", &format!("coven/{}:{file}", view.name)]);
    assert_eq!((show("new.txt"), show("first.txt")), ("better".to_owned(), "hello".to_owned()));
}

/// Naive: what is over is not reviewed any more, though only then it can be seen as a whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_of_what_is_over_begins_a_run_that_goes_on_from_what_was_done() {
    let base = Base::new();
    repository(base.path());
    let before = git(base.path(), &["rev-parse", "main"]);
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    for (land, over) in [("in-order", "landed"), ("none", "kept")] {
        let text = team("x", &format!("    land: {land}\n"));
        let text = text.replace("prompt: ${item}", "prompt: 'write new.txt hello $${x}'");
        let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
        let task = TaskId::new("build.0").unwrap();
        let view = end(&orchestrator, &id).await;
        assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
        let wish = Review { env: Some(base.env()), ..review("write other.txt better ${y}") };
        let sessions = orchestrator.list().len();
        let less = Review { starts_no_run: true, ..wish.clone() };
        let less = orchestrator.review(&id, &task, less).await;
        assert!(matches!(less, Err(TreeRequestError::Request(RequestError::Refused(_)))));
        assert_eq!(orchestrator.list().len(), sessions, "{over}");
        let sent = orchestrator.review(&id, &task, wish).await.unwrap();
        let Some(ReviewDelivery::Run { id: next, name }) = sent.delivery else {
            panic!("{over}: {sent:?}")
        };
        let view = end(&orchestrator, &next).await;
        assert_eq!(view.status, WorkflowStatus::Completed, "{over}: {:#?}", view.errors);
        let show = |file: &str| git(base.path(), &["show", &format!("coven/{name}:{file}")]);
        // What the task did is there, and both texts were taken as they are.
        assert_eq!(show("new.txt"), "hello ${x}", "{over}");
        assert_eq!(show("other.txt"), "better ${y}", "{over}");
        assert_eq!(git(base.path(), &["rev-parse", "main"]), before);
        let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
        let told = fact(&mut events, "the review", |event| match event {
            SessionEvent::ReviewSent { run, prompt, .. } => Some((run.clone(), prompt.clone())),
            _ => None,
        })
        .await;
        assert_eq!(told, (Some(next.clone()), None), "{over}");
        let trees = orchestrator.session_trees(&next).await.unwrap().list(false).await;
        assert_eq!(trees[0].target.as_deref(), Some("main"), "{over}: it is for the same branch");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_of_what_failed_lets_its_run_go_on_also_in_another_process() {
    let base = Base::new();
    repository(base.path());
    let text = team("write new.txt hello; exit 1 now", "    on_failure: fail\n");
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    assert_eq!(end(&orchestrator, &id).await.status, WorkflowStatus::Failed);
    orchestrator.close().await;
    drop(orchestrator);
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let task = TaskId::new("build.0").unwrap();
    // Without a conversation it is told its task too, so it fails again. That is the end of it.
    let wish = Review { env: Some(base.env()), ..review("write other.txt x") };
    let less = Review { starts_no_run: true, ..wish.clone() };
    let less = orchestrator.review(&id, &task, less).await;
    assert!(matches!(less, Err(TreeRequestError::Request(RequestError::Refused(_)))));
    let sent = orchestrator.review(&id, &task, wish).await.unwrap();
    assert_eq!(sent.delivery, Some(ReviewDelivery::Attempt { number: 2 }));
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Failed, "{:#?}", view.errors);
    let trees = orchestrator.session_trees(&id).await.unwrap().list(false).await;
    let tree = &trees.iter().find(|tree| tree.tree.task() == Some(&task)).unwrap().path;
    let read = |name: &str| std::fs::read_to_string(tree.join(name)).unwrap();
    assert_eq!((read("new.txt"), read("other.txt")), ("hello\n".to_owned(), "x\n".to_owned()));
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let (mut failed, mut started) = (0, 0);
    fact(&mut events, "the second end", |event| {
        failed += u32::from(matches!(event, SessionEvent::WorkflowFailed { .. }));
        started += u32::from(matches!(event, SessionEvent::TaskStarted(_)));
        (failed == 2).then_some(())
    })
    .await;
    assert_eq!(started, 2);
}
