//! Agents that answer with comments on what is in a tree, with real git: where their lines are after
//! more was done there.

use std::path::Path;

use coven_model::{TaskId, TreeId, WorkflowStatus};
use coven_orchestrator::{AgentComment, AgentComments, Orchestrator, ReviewSide, TreeRequestError};
use coven_testkit::git::git;
use serde_json::{Value, json};

use crate::support::{Base, end};

fn repository(base: &Base) {
    let path = base.path();
    git(path, &["init", "--quiet"]);
    git(path, &["config", "user.name", "Mira"]);
    git(path, &["config", "user.email", "mira@example.invalid"]);
    std::fs::write(path.join(".gitignore"), ".coven/\ndemo-state/\n").unwrap();
    std::fs::write(path.join("old.txt"), "one\ntwo\nthree\n").unwrap();
    git(path, &["add", "."]);
    git(path, &["commit", "--quiet", "-m", "first"]);
}

fn comment(path: &str, line: u32, text: &str) -> Value {
    json!({"path": path, "line": line, "text": text})
}

fn reviewer(name: &str, answer: &Value) -> String {
    let prompt = format!("json {answer}");
    format!(
        "  - name: {name}\n    type: agent\n    isolation: run\n    adapter: demo\n    mode: headless\n    \
         permissions: read-only\n    expect: comments\n    prompt: {prompt:?}\n"
    )
}

fn writer(name: &str, prompt: &str) -> String {
    format!(
        "  - name: {name}\n    type: agent\n    isolation: run\n    adapter: demo\n    mode: headless\n    \
         permissions: all\n    prompt: {prompt:?}\n"
    )
}

fn definition(steps: &[String]) -> String {
    format!("name: reviewed\ndescription: Reviewed.\nsteps:\n{}", steps.concat())
}

async fn comments(
    orchestrator: &Orchestrator,
    id: &coven_model::SessionId,
    tree: &TreeId,
    from: Option<&str>,
) -> AgentComments {
    let trees = orchestrator.session_trees(id).await.unwrap();
    trees.comments(Some(tree), from).await.unwrap()
}

/// Where a comment stands, what it is about, and whether that is there.
fn place(comment: &AgentComment) -> (&Path, u32, Option<u32>, Vec<&str>, bool) {
    let AgentComment { comment, lines, outdated, .. } = comment;
    let lines = lines.iter().map(String::as_str).collect();
    (&comment.path, comment.line, comment.end_line, lines, *outdated)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comments_stand_at_their_lines_also_after_these_have_moved() {
    let base = Base::new();
    repository(&base);
    let orchestrator = base.open().await;
    let mut several = comment("new.txt", 2, "both");
    several["endLine"] = json!(3);
    let mut before = comment("old.txt", 3, "it was");
    before["side"] = json!("old");
    let answer = json!({"summary": "Nearly.", "comments": [
        comment("./new.txt", 1, "the first"),
        several,
        before,
        comment("new.txt", 99, "nothing"),
        comment("none.txt", 1, "no file"),
    ]});
    let text = definition(&[
        writer("write", "write new.txt }\\nmiddle\\n}; write old.txt one"),
        reviewer("check", &answer),
        writer("more", "write new.txt zero\\n}\\n}\\nmiddle\\n}\\nend"),
    ]);
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let found = comments(&orchestrator, &id, &TreeId::Run, None).await;
    let check = TaskId::new("check").unwrap();
    assert_eq!(found.summaries.len(), 1);
    assert_eq!((&found.summaries[0].0.task, found.summaries[0].1.as_str()), (&check, "Nearly."));
    assert!(found.comments.iter().all(|one| one.job.task == check && one.job.attempt == 1));
    let places: Vec<_> = found.comments.iter().map(place).collect();
    assert_eq!(places[1], (Path::new("new.txt"), 4, Some(5), vec!["middle", "}"], false));
    assert_eq!(places[2], (Path::new("old.txt"), 3, None, vec!["three"], false));
    assert_eq!(found.comments[2].comment.side, ReviewSide::Old);
    assert_eq!((places[0].3.as_slice(), places[0].4), (["}"].as_slice(), false));
    assert!([2, 3].contains(&places[0].1), "one of those before `middle`: {places:?}");
    assert_eq!(places[3], (Path::new("new.txt"), 99, None, vec![], true));
    assert_eq!(places[4], (Path::new("none.txt"), 1, None, vec![], true));

    // A line that is there no more is said to be gone, where it was.
    let trees = orchestrator.session_trees(&id).await.unwrap().list(false).await;
    std::fs::write(trees[0].path.join("new.txt"), "other\n").unwrap();
    let found = comments(&orchestrator, &id, &TreeId::Run, Some("check")).await;
    let places: Vec<_> = found.comments.iter().map(place).collect();
    assert_eq!(places[1], (Path::new("new.txt"), 2, Some(3), vec!["middle", "}"], true));
    let trees = orchestrator.session_trees(&id).await.unwrap();
    let nobody = trees.comments(Some(&TreeId::Run), Some("write")).await;
    assert!(matches!(nobody, Err(TreeRequestError::NoReviewer(_))), "{nobody:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_of_the_run_is_shown_to_the_tasks_whose_files_it_is_about() {
    let base = Base::new();
    repository(&base);
    let orchestrator = base.open().await;
    let team = "  - name: build\n    type: parallel-agents\n    isolation: task\n    adapter: demo\n    \
                mode: headless\n    permissions: all\n    for_each: [a.txt, b.txt]\n    \
                prompt: write ${item} hello ${item}\n";
    let answer = json!({"comments": [
        comment("a.txt", 1, "of a"), comment("b.txt", 1, "of b"), comment("old.txt", 1, "of nobody"),
    ]});
    let text = definition(&[team.to_owned(), reviewer("check", &answer)]);
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let texts = |found: AgentComments| {
        found.comments.into_iter().map(|one| one.comment.text).collect::<Vec<_>>()
    };
    let task = |name: &str| TreeId::Task(TaskId::new(name).unwrap());
    let of = |tree: TreeId, from: Option<&'static str>| {
        let (orchestrator, id) = (&orchestrator, &id);
        async move { texts(comments(orchestrator, id, &tree, from).await) }
    };
    assert_eq!(of(TreeId::Run, None).await, ["of a", "of b", "of nobody"]);
    assert_eq!(of(task("build.0"), None).await, ["of a"]);
    assert_eq!(of(task("build.1"), None).await, ["of b"]);
    assert_eq!(of(task("build.1"), Some("check")).await, ["of b"]);
    assert_eq!(of(TreeId::Run, Some("check")).await, ["of a", "of b", "of nobody"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comments_of_agents_without_a_tree_are_as_they_were_written() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let answer = json!({"comments": [comment("a.txt", 3, "why?")]});
    let text = definition(&[reviewer("check", &answer).replace("    isolation: run\n", "")]);
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let trees = orchestrator.session_trees(&id).await.unwrap();
    let found = trees.comments(None, None).await.unwrap();
    assert_eq!((found.tree, found.head), (None, None));
    assert_eq!(place(&found.comments[0]), (Path::new("a.txt"), 3, None, vec![], false));
}
