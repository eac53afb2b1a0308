//! What of ours reads the files of an agent that is confined is confined like it: hooks at a commit, and
//! what a project wants done before a tree is removed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use coven_model::WorkflowStatus;
use coven_orchestrator::{Orchestrator, TreesConfig};
use coven_runtime::sandbox::Enforcement;
use coven_testkit::git::git;

use crate::support::{Base, end};

/// Whether this kernel confines at all.
fn confines() -> bool {
    let confines = Enforcement::of_this_kernel() != Enforcement::Nothing;
    if !confines {
        coven_testkit::skip::skip("this kernel confines nothing");
    }
    confines
}

/// A repository whose hook runs a file of the tree, as those do that call a linter of the project.
fn repository(root: &Path) {
    git(root, &["init", "--quiet"]);
    git(root, &["config", "user.name", "Mira"]);
    git(root, &["config", "user.email", "mira@example.invalid"]);
    std::fs::write(root.join(".gitignore"), ".coven/\ndemo-state/\n").unwrap();
    std::fs::write(root.join("shared.txt"), "one\n").unwrap();
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "first"]);
    let hook = root.join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\nsh ./check.sh; echo ran > \"$TMPDIR/ran\" && exit 0\n")
        .unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// An agent in a tree of its own that leaves a program there which a hook will run.
fn team(sandbox: &str, check: &str) -> String {
    let prompt = format!("disobey printf 'touch {check}' > check.sh; write new.txt hello");
    format!(
        "name: team\ndescription: A team.\nsteps:\n  - name: build\n    type: parallel-agents\n    \
         isolation: task\n    adapter: demo\n    mode: headless\n    permissions: all\n    \
         sandbox: {sandbox}\n    for_each: {:?}\n    prompt: ${{item}}\n    output: results\n",
        [prompt]
    )
}

/// Naive: the commit of what a confined agent wrote runs the user's hooks unconfined, and these run
/// what the agent wrote.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_runs_what_a_confined_agent_wrote_is_confined_like_it() {
    if !confines() {
        return;
    }
    for (sandbox, escapes) in [("off", true), ("workspace", false)] {
        let base = Base::new();
        repository(base.path());
        let outside = base.path().with_file_name("outside");
        std::fs::create_dir(&outside).unwrap();
        let out = outside.join("escaped");
        let inside = ["escaped", "hooks/escaped", "refs/heads/escaped.lock", "info/escaped"];
        let inside = inside.map(|name| base.path().join(".git").join(name));
        let targets: Vec<String> =
            [&out].into_iter().chain(&inside).map(|path| path.display().to_string()).collect();
        let orchestrator = Orchestrator::open(base.options()).await.unwrap();
        let text = team(sandbox, &targets.join(" "));
        let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
        let view = end(&orchestrator, &id).await;
        assert_eq!(view.status, WorkflowStatus::Completed, "{sandbox}: {:#?}", view.errors);
        let branch = format!("coven/{}", view.name);
        let landed = git(base.path(), &["show", &format!("{branch}:new.txt")]);
        assert_eq!(landed, "hello", "{sandbox}");
        assert_eq!(out.exists(), escapes, "{sandbox}: outside");
        for path in inside {
            assert_eq!(path.exists(), escapes, "{sandbox}: {}", path.display());
        }
        orchestrator.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_run_before_a_tree_is_removed_is_confined_like_its_agent() {
    if !confines() {
        return;
    }
    let base = Base::new();
    repository(base.path());
    let outside = base.path().with_file_name("outside");
    std::fs::create_dir(&outside).unwrap();
    let (set_up, escaped) = (outside.join("set-up"), outside.join("escaped"));
    let mut options = base.options();
    options.trees = TreesConfig {
        setup: vec![format!("touch '{}'", set_up.display())],
        teardown: vec!["test ! -e check.sh || sh ./check.sh || true".to_owned()],
        ..TreesConfig::default()
    };
    let orchestrator = Orchestrator::open(options).await.unwrap();
    let text = team("workspace", &escaped.display().to_string());
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert!(base.attempt(&id, "build.0.teardown", 1).is_dir());
    assert!(
        set_up.exists(),
        "nothing of an agent is in a new tree, so its set-up is the user's own"
    );
    assert!(!escaped.exists(), "the teardown ran what the agent wrote");
}

/// A repository whose filter, hooks and set-up are tracked files, or run such.
fn repository_with_its_own_programs(root: &Path) {
    repository(root);
    for folder in ["tools", ".husky"] {
        std::fs::create_dir(root.join(folder)).unwrap();
    }
    std::fs::write(root.join("tools/program.sh"), "cat\n").unwrap();
    std::fs::write(root.join(".gitattributes"), "*.big filter=x\n").unwrap();
    for hook in ["post-checkout", "post-merge", "post-index-change", "reference-transaction"] {
        let hook = root.join(".husky").join(hook);
        std::fs::write(&hook, "#!/bin/sh\nsh tools/program.sh < /dev/null\n").unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "programs"]);
    git(root, &["config", "filter.x.smudge", "sh tools/program.sh"]);
    git(root, &["config", "core.hooksPath", ".husky"]);
}

/// Naive: the daemon's own `git worktree add`, `git merge` and `git status` run the user's filters and
/// hooks on what agents wrote, and those run what agents wrote.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_checked_out_of_what_a_confined_agent_wrote_is_confined_like_it() {
    if !confines() {
        return;
    }
    for (sandbox, escapes) in [("off", true), ("workspace", false)] {
        let base = Base::new();
        repository_with_its_own_programs(base.path());
        let outside = base.path().with_file_name("outside");
        std::fs::create_dir(&outside).unwrap();
        let out = outside.join("escaped");
        let mut options = base.options();
        options.trees.setup = vec!["sh tools/program.sh < /dev/null".to_owned()];
        let orchestrator = Orchestrator::open(options).await.unwrap();
        let evil = format!(
            "disobey printf 'touch {}; cat' > tools/program.sh; write data.big hello",
            out.display()
        );
        let step = |name: &str, prompt: &str| {
            let text = team(sandbox, "").replace("name: build", &format!("name: {name}"));
            let text = text.replace("output: results", &format!("output: {name}"));
            let (_, steps) = text.split_once("steps:\n").unwrap();
            let list = steps.find("for_each: ").unwrap();
            let end = steps[list..].find('\n').unwrap();
            format!("{}for_each: {:?}{}", &steps[..list], [prompt], &steps[list + end..])
        };
        let steps = [step("first", &evil), step("second", "write more.big hello again")];
        let text = format!("name: team\ndescription: A team.\nsteps:\n{}", steps.concat());
        let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
        let view = end(&orchestrator, &id).await;
        assert_eq!(view.status, WorkflowStatus::Completed, "{sandbox}: {:#?}", view.errors);
        let trees = orchestrator.session_trees(&id).await.unwrap().list(false).await;
        let run = trees.iter().find(|tree| tree.tree == coven_model::TreeId::Run).unwrap();
        for (file, text) in [("data.big", "hello\n"), ("more.big", "hello again\n")] {
            let found = std::fs::read_to_string(run.path.join(file)).unwrap();
            assert_eq!(found, text, "{sandbox}");
        }
        assert!(base.attempt(&id, "second.0.checkout", 1).is_dir(), "its hook ran");
        assert_eq!(out.exists(), escapes, "{sandbox}");
        std::fs::remove_file(&out).ok();
        let refused = orchestrator.merge(&id, crate::tree_traps::merge_request()).await;
        refused.unwrap_err();
        orchestrator.prune_trees(coven_orchestrator::PruneRequest::default()).await.unwrap();
        assert!(!out.exists(), "{sandbox}: what a person asked for runs nothing of an agent");
        orchestrator.close().await;
    }
}
