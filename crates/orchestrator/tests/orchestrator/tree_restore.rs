//! Bringing back what was in a tree, whatever has become of its branch, of its commits, and of the
//! process that was about to do it.

use std::time::{Duration, Instant};

use coven_model::event::SessionEvent;
use coven_model::{SessionId, TreeId, TreeWork, WorkflowStatus};
use coven_orchestrator::{
    ChangesAgainst, MergeMode, MergeOutcome, Orchestrator, PruneRequest, RestoreRequest,
    RestoredTree, TreeEntry, TreeState,
};
use coven_testkit::git::git;

use crate::support::{Base, end, fact};

fn repository(base: &Base) {
    git(base.path(), &["init", "--quiet"]);
    git(base.path(), &["config", "user.name", "Mira"]);
    git(base.path(), &["config", "user.email", "mira@example.invalid"]);
    std::fs::write(base.path().join(".gitignore"), ".coven/\ndemo-state/\n").unwrap();
    std::fs::write(base.path().join("shared.txt"), "one\n").unwrap();
    git(base.path(), &["add", "."]);
    git(base.path(), &["commit", "--quiet", "-m", "first"]);
}

/// An agent in the tree of the run that writes a file, and steps behind it.
async fn begin(orchestrator: &Orchestrator, base: &Base, more: &str) -> SessionId {
    let text = format!(
        "name: one\ndescription: One.\nsteps:\n  - name: work\n    type: agent\n    isolation: run\n    \
         adapter: demo\n    mode: headless\n    permissions: all\n    prompt: write new.txt hello\n{more}"
    );
    orchestrator.execute_workflow(base.definition(&text)).await.unwrap()
}

async fn restore(orchestrator: &Orchestrator, id: &SessionId) -> RestoredTree {
    let request = RestoreRequest { tree: TreeId::Run, checkpoint: None, by: "mira".to_owned() };
    orchestrator.restore_tree(id, request).await.unwrap()
}

async fn prune_by_force(orchestrator: &Orchestrator, id: &SessionId) {
    let force = vec![(id.clone(), TreeId::Run)];
    let request = PruneRequest { force, ..PruneRequest::default() };
    let pruned = orchestrator.prune_trees(request).await.unwrap();
    assert_eq!(pruned[0].kept, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_whose_branch_was_deleted_is_still_kept_in_checkpoints() {
    let base = Base::new();
    repository(&base);
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let leave = "  - name: leave\n    type: script\n    isolation: run\n    command: git checkout -q \
                 --detach && git branch -q -D \"$COVEN_BRANCH\" && echo more > more.txt\n";
    let id = begin(&orchestrator, &base, leave).await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let last = fact(&mut events, "a second checkpoint", |event| match event {
        SessionEvent::TreeCheckpoint(fact) if fact.number == 2 => Some(fact.clone()),
        SessionEvent::TreeFailed { work: TreeWork::Checkpoint, error, .. } => panic!("{error}"),
        _ => None,
    })
    .await;
    assert_eq!(last.files, 2, "{last:?}");
    let refused = fact(&mut events, "a commit that is refused", |event| match event {
        SessionEvent::TreeFailed { work: TreeWork::Commit, error, .. } => Some(error.clone()),
        _ => None,
    });
    let refused = refused.await;
    assert!(refused.contains("makes it again"), "{refused}");
    assert_eq!(end(&orchestrator, &id).await.status, WorkflowStatus::Completed);
    let tree = orchestrator.all_trees(false).await.remove(0).path;
    std::fs::write(tree.join("later.txt"), "later\n").unwrap();
    prune_by_force(&orchestrator, &id).await;
    assert!(!tree.exists());
    let back = restore(&orchestrator, &id).await;
    for name in ["new.txt", "more.txt", "later.txt"] {
        assert!(back.path.join(name).exists(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkpoint_whose_commits_were_pruned_from_the_repository_is_brought_back() {
    let base = Base::new();
    repository(&base);
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let id = begin(&orchestrator, &base, "").await;
    assert_eq!(end(&orchestrator, &id).await.status, WorkflowStatus::Completed);
    let entry = orchestrator.all_trees(false).await.remove(0);
    prune_by_force(&orchestrator, &id).await;
    // A history that was written anew, and a repository that was tidied up.
    git(base.path(), &["checkout", "--quiet", "--orphan", "fresh"]);
    git(base.path(), &["commit", "--quiet", "-m", "another first"]);
    git(base.path(), &["branch", "--quiet", "-D", "main", &entry.branch]);
    git(base.path(), &["reflog", "expire", "--expire=now", "--all"]);
    git(base.path(), &["gc", "--quiet", "--prune=now"]);

    let back = restore(&orchestrator, &id).await;
    assert_eq!(std::fs::read_to_string(back.path.join("new.txt")).unwrap(), "hello\n");
    assert_eq!(git(&back.path, &["rev-parse", "HEAD"]), entry.head);
    assert_eq!(git(&back.path, &["status", "--porcelain"]), "");
    git(base.path(), &["fsck", "--strict"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_process_was_bringing_back_when_it_ended_the_next_one_brings_back() {
    let base = Base::new();
    repository(&base);
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let id = begin(&orchestrator, &base, "").await;
    let view = end(&orchestrator, &id).await;
    prune_by_force(&orchestrator, &id).await;
    // As long as this is there, git makes no branch of this name.
    let name = format!("coven/{}.run.restored1.lock", view.name);
    let lock = base.path().join(".git/refs/heads").join(name);
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    std::fs::write(&lock, "").unwrap();
    let asked = tokio::spawn({
        let (orchestrator, id) = (orchestrator.clone(), id.clone());
        async move { restore(&orchestrator, &id).await }
    });
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let wanted = |event: &SessionEvent| match event {
        SessionEvent::TreeWanted(fact) if fact.restores.is_some() => Some(fact.tree.clone()),
        _ => None,
    };
    let tree = fact(&mut events, "the wish", wanted).await;
    asked.abort();
    tokio::time::timeout(Duration::from_mins(1), orchestrator.close()).await.unwrap();
    drop((orchestrator, events));

    // The git that it had started has the journal until it ends; nothing is told of what it did.
    std::fs::remove_file(&lock).unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    let next = loop {
        let next = Orchestrator::open(base.options()).await.unwrap();
        if next.controller(&id).is_some() {
            break next;
        }
        next.close().await;
        assert!(Instant::now() < deadline, "nobody goes on with it");
    };
    let mut events = next.subscribe(&id, 0).await.unwrap();
    let ready = |event: &SessionEvent| match event {
        SessionEvent::TreeReady(fact) if fact.tree == tree => Some(()),
        SessionEvent::TreeFailed { error, .. } => panic!("{error}"),
        _ => None,
    };
    fact(&mut events, "the tree", ready).await;
    let trees = next.session_trees(&id).await.unwrap().list(false).await;
    let entry = trees.into_iter().find(|entry| entry.tree == tree).unwrap();
    assert_eq!(entry.state, TreeState::Ready);
    assert_eq!(std::fs::read_to_string(entry.path.join("new.txt")).unwrap(), "hello\n");
}

/// A run whose only change was made in the tree of a task and landed on the branch of the run, of which
/// no checkpoint was made.
async fn landed(base: &Base) -> (Orchestrator, SessionId, TreeEntry) {
    repository(base);
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let text = "name: team\ndescription: A team.\nsteps:\n  - name: build\n    type: parallel-agents\n    \
                isolation: auto\n    adapter: demo\n    mode: headless\n    permissions: all\n    \
                for_each: [one, two]\n    prompt: write ${item}.txt hello\n";
    let id = orchestrator.execute_workflow(base.definition(text)).await.unwrap();
    assert_eq!(end(&orchestrator, &id).await.status, WorkflowStatus::Completed);
    let trees = orchestrator.session_trees(&id).await.unwrap().list(false).await;
    let run = trees.into_iter().find(|entry| entry.tree == TreeId::Run).unwrap();
    assert_eq!(run.state, TreeState::Ready);
    (orchestrator, id, run)
}

/// What a person does who tidies up by hand.
fn tidy_up(base: &Base, run: &TreeEntry) {
    git(base.path(), &["worktree", "remove", "--force", run.path.to_str().unwrap()]);
    git(base.path(), &["branch", "--quiet", "-D", &run.branch]);
}

fn expire(base: &Base) {
    git(base.path(), &["reflog", "expire", "--expire=now", "--all"]);
    git(base.path(), &["gc", "--quiet", "--prune=now"]);
}

/// Naive: its last checkpoint, which is what it began with, and "brought back".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_branch_and_folder_are_gone_is_brought_back_with_all_that_was_landed_on_it() {
    for is_pruned in [false, true] {
        let base = Base::new();
        let (orchestrator, id, run) = landed(&base).await;
        tidy_up(&base, &run);
        if is_pruned {
            expire(&base);
        }
        let changes = orchestrator.session_trees(&id).await.unwrap();
        let changes = changes.changes(&TreeId::Run, ChangesAgainst::Base).await.unwrap();
        assert_eq!(changes.files.len(), 2, "{changes:#?}");
        let back = restore(&orchestrator, &id).await;
        for name in ["one.txt", "two.txt"] {
            assert_eq!(std::fs::read_to_string(back.path.join(name)).unwrap(), "hello\n");
        }
        assert_eq!(git(&back.path, &["rev-parse", "HEAD"]), run.head);
        assert_eq!(git(&back.path, &["status", "--porcelain"]), "");
        git(base.path(), &["fsck", "--strict"]);
        // Once more it is the same, and no further checkpoint is made of it.
        let again = restore(&orchestrator, &id).await;
        assert_eq!(again.checkpoint, back.checkpoint);
    }
}

/// Naive: an older state and "brought back", when the newest is nowhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_landed_and_is_nowhere_any_more_is_not_said_to_be_brought_back() {
    let base = Base::new();
    let (orchestrator, id, run) = landed(&base).await;
    tidy_up(&base, &run);
    expire(&base);
    let mirrors = base.path().with_file_name("state").join("trees");
    let mirrors = std::fs::read_dir(mirrors).unwrap().map(|entry| entry.unwrap().path());
    let mirrors: Vec<_> = mirrors.map(|path| path.join("mirror.git")).collect();
    let mirror = mirrors.iter().find(|path| path.is_dir()).unwrap();
    std::fs::remove_dir_all(mirror).unwrap();
    let request = RestoreRequest { tree: TreeId::Run, checkpoint: None, by: "mira".to_owned() };
    let refused = orchestrator.restore_tree(&id, request).await.unwrap_err().to_string();
    assert!(refused.contains(&run.head[..12]) && refused.contains("was not kept"), "{refused}");
}

/// Naive: the branch counts as gone, and nothing that is said to help can be done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_whose_commit_was_removed_from_the_repository_gets_it_back_from_the_mirror() {
    for what in ["merge", "restore", "prune"] {
        let base = Base::new();
        let (orchestrator, id, run) = landed(&base).await;
        // `git gc` at the wrong moment: the reference is there, and what it leads to is not.
        tidy_up(&base, &run);
        expire(&base);
        let reference = base.path().join(".git/refs/heads").join(&run.branch);
        std::fs::create_dir_all(reference.parent().unwrap()).unwrap();
        std::fs::write(&reference, format!("{}\n", run.head)).unwrap();
        match what {
            "merge" => {
                let merged =
                    super::tree_requests::merge(&orchestrator, &id, MergeMode::Merge).await;
                assert!(matches!(merged.outcome, MergeOutcome::Landed { .. }), "{merged:#?}");
                assert!(base.path().join("two.txt").exists());
            }
            "restore" => {
                let back = restore(&orchestrator, &id).await;
                assert!(back.path.join("two.txt").exists());
            }
            _ => {
                let pruned = orchestrator.prune_trees(PruneRequest::default()).await.unwrap();
                let kept = pruned.into_iter().find(|tree| tree.tree == TreeId::Run).unwrap().kept;
                assert!(kept.unwrap().contains("is on `coven/"), "it is on its branch alone");
            }
        }
        git(base.path(), &["fsck", "--strict"]);
    }
}
