//! Agents in trees of their own, with real git: what they do is landed, the person's checkout is
//! left as it is, and what conflicts waits for a person.

use std::path::Path;

use coven_model::event::{InterventionDecision, SessionEvent};
use coven_model::{Intervention, InterventionChoice, InterventionKind, SessionId, WorkflowStatus};
use coven_orchestrator::Orchestrator;
use coven_testkit::git::git;
use serde_json::{Value, json};

use crate::support::{Base, end, fact, intervention_of};

/// A repository with one commit, and a checkout in which something is in the works.
fn repository(base: &Base) -> Checkout {
    let path = base.path();
    git(path, &["init", "--quiet"]);
    git(path, &["config", "user.name", "Mira"]);
    git(path, &["config", "user.email", "mira@example.invalid"]);
    std::fs::write(path.join(".gitignore"), ".coven/\ndemo-state/\n").unwrap();
    std::fs::write(path.join("shared.txt"), "one\n").unwrap();
    git(path, &["add", "."]);
    git(path, &["commit", "--quiet", "-m", "first"]);
    std::fs::write(path.join("shared.txt"), "in the works\n").unwrap();
    std::fs::write(path.join("new.txt"), "not added\n").unwrap();
    Checkout::of(path)
}

/// What must be as it was.
#[derive(Debug, PartialEq, Eq)]
struct Checkout {
    status: String,
    index: Vec<u8>,
    reflog: String,
    head: String,
    files: [String; 2],
}

impl Checkout {
    fn of(path: &Path) -> Self {
        let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
        Self {
            index: std::fs::read(path.join(".git/index")).unwrap(),
            status: git(path, &["--no-optional-locks", "status", "--porcelain"]),
            reflog: git(path, &["reflog"]),
            head: git(path, &["rev-parse", "HEAD"]),
            files: [read("shared.txt"), read("new.txt")],
        }
    }
}

fn fan_out(items: &Value, more: &str) -> String {
    format!(
        "name: team\ndescription: A team.\nsteps:\n  - name: build\n    type: parallel-agents\n    \
         isolation: auto\n    adapter: demo\n    mode: headless\n    permissions: all\n    \
         for_each: {items}\n    max_concurrent: 2\n    prompt: write ${{item.file}} ${{item.text}}\n    \
         output: results\n{more}"
    )
}

async fn decide(orchestrator: &Orchestrator, asked: &Intervention, choice: InterventionChoice) {
    let decision = InterventionDecision::new(choice, "mira");
    orchestrator.answer(&asked.id, decision, None).await.unwrap();
}

/// The name of a session.
async fn name(orchestrator: &Orchestrator, id: &SessionId) -> String {
    end(orchestrator, id).await.name
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_agents_do_in_their_trees_is_landed_and_the_checkout_is_left_as_it_is() {
    let base = Base::new();
    let before = repository(&base);
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let items = json!([
        {"file": "a.txt", "text": "a"}, {"file": "b.txt", "text": "b"}, {"file": "c.txt", "text": "c"},
    ]);
    let gate = "  - name: landed\n    type: script\n    isolation: auto\n    \
                command: cat a.txt b.txt c.txt shared.txt\n    output: seen\n";
    let text = fan_out(&items, gate);
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let seen = view.variables["seen"].as_str().unwrap();
    let seen: Vec<&str> = seen.split_whitespace().collect();
    assert_eq!(seen, ["a", "b", "c", "one"], "a step behind the fan-out sees what was landed");
    for result in view.variables["results"].as_array().unwrap() {
        assert_eq!((&result["landed"], &result["changed"]), (&json!(true), &json!(1)), "{result}");
    }
    assert_eq!(Checkout::of(base.path()), before);
    let listed = orchestrator.session_trees(&id).await.unwrap().list(false).await;
    assert_eq!(listed[0].changed, 3, "what was landed in the tree of the run");
    let branch = format!("coven/{}", view.name);
    let log = git(base.path(), &["log", "--format=%s", &format!("main..{branch}")]);
    assert_eq!(log.lines().count(), 3, "{log}");
    let branches = git(base.path(), &["branch", "--format=%(refname:short)", "--list", "coven/*"]);
    assert_eq!(branches, branch, "those of the tasks are gone with their trees");
    let trees = git(base.path(), &["worktree", "list", "--porcelain"]);
    assert_eq!(trees.matches("worktree ").count(), 2, "{trees}");
    git(base.path(), &["fsck", "--strict"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conflict_is_seen_before_anything_is_touched_and_waits_for_a_person() {
    let base = Base::new();
    let before = repository(&base);
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let items = json!([
        {"file": "shared.txt", "text": "left"}, {"file": "shared.txt", "text": "right"},
        {"file": "c.txt", "text": "c"},
    ]);
    let id = orchestrator.execute_workflow(base.definition(&fan_out(&items, ""))).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let conflict = intervention_of(&mut events, InterventionKind::MergeConflict).await;
    assert!(conflict.reason.contains("shared.txt"), "{}", conflict.reason);
    assert_eq!(conflict.task.as_ref().unwrap().as_str(), "build.1");
    decide(&orchestrator, &conflict, InterventionChoice::Skip).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let results = view.variables["results"].as_array().unwrap();
    let landed: Vec<&Value> = results.iter().map(|result| &result["landed"]).collect();
    assert_eq!(landed, [&json!(true), &json!(false), &json!(true)]);
    let branch = format!("coven/{}", name(&orchestrator, &id).await);
    let shown = git(base.path(), &["show", &format!("{branch}:shared.txt")]);
    assert_eq!(shown, "left");
    let kept = git(base.path(), &["show", &format!("{branch}.build.1:shared.txt")]);
    assert_eq!(kept, "right", "what was not landed is still on its branch");
    assert_eq!(Checkout::of(base.path()), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_says_no_is_heard_and_can_be_tried_again() {
    let base = Base::new();
    repository(&base);
    let hook = base.path().join(".git/hooks/pre-commit");
    let allowed = base.path().join("allowed");
    let script =
        format!("#!/bin/sh\ntest -e '{}' || {{ echo no tests; exit 1; }}\n", allowed.display());
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let items = json!([{"file": "a.txt", "text": "a"}]);
    let id = orchestrator.execute_workflow(base.definition(&fan_out(&items, ""))).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let problem = intervention_of(&mut events, InterventionKind::TreeProblem).await;
    assert!(problem.reason.contains("no tests"), "{}", problem.reason);
    std::fs::write(&allowed, "").unwrap();
    decide(&orchestrator, &problem, InterventionChoice::Retry).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let log = git(base.path(), &["log", "-1", "--format=%an%n%b", &format!("coven/{}", view.name)]);
    assert!(log.starts_with("Mira\nCoven-Session: "), "{log}");
    assert!(log.contains("Coven-Task: build.0"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_repository_writers_take_turns_or_are_refused() {
    let base = Base::new();
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let items = json!([{"file": "a.txt", "text": "a"}, {"file": "a.txt", "text": "b"}]);
    let text = fan_out(&items, "");
    let strict = text.replace("isolation: auto", "isolation: task");
    let refused = orchestrator.execute_workflow(base.definition(&strict)).await.unwrap_err();
    assert!(refused.to_string().contains("git init"), "{refused}");
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let mut running = 0;
    while !fact(&mut events, "another fact", |event| {
        match event {
            SessionEvent::TaskStarted(_) => running += 1,
            SessionEvent::TaskEnded(_) => running -= 1,
            _ => {}
        }
        assert!(running <= 1, "two write to one folder");
        Some(matches!(event, SessionEvent::WorkflowCompleted { .. }))
    })
    .await
    {}
}
