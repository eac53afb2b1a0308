//! Merges onto branches that something else is at work on: a rebase, a bisection, a folder that was
//! moved, a git that holds a lock. And merges that a person took back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use coven_orchestrator::{
    MergeMode, MergeOutcome, MergeRequest, PruneRequest, TreeLandingState, TreeRequestError,
};
use coven_testkit::git::git;

use crate::support::Base;
use crate::tree_requests::{commit, done, merge, repository, request, write};

/// A repository with three commits on `main`.
fn three_commits() -> Base {
    let base = Base::new();
    repository(&base);
    for name in ["b.txt", "c.txt"] {
        write(&base, name, name);
        commit(&base, name);
    }
    base
}

fn tip(base: &Base, branch: &str) -> String {
    git(base.path(), &["rev-parse", branch])
}

/// A rebase of the branch in a folder that has stopped at its last commit, with nothing changed.
fn begin_rebase(folder: &Path) {
    let editor = "sequence.editor=sed -i s/^pick/edit/";
    git(folder, &["-c", editor, "rebase", "--quiet", "-i", "HEAD~1"]);
    assert_eq!(git(folder, &["status", "--porcelain"]), "");
}

/// Naive: the head of the checkout is on no branch, so the branch is checked out nowhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_that_is_being_rebased_or_bisected_is_not_moved() {
    let base = three_commits();
    let (orchestrator, id) = done(&base, "write new.txt hello; say done").await;
    let before = tip(&base, "main");
    let refused = |into: &'static str, dry_run| {
        let (orchestrator, id) = (orchestrator.clone(), id.clone());
        let into = Some(into.to_owned());
        let request = MergeRequest { into, dry_run, ..request(MergeMode::Merge) };
        async move {
            match orchestrator.merge(&id, request).await {
                Err(TreeRequestError::NotNow(why)) => why,
                other => panic!("{other:?}"),
            }
        }
    };
    begin_rebase(base.path());
    for dry_run in [true, false] {
        let why = refused("main", dry_run).await;
        assert!(why.contains("`main` is being rebased in"), "{why}");
        assert!(why.contains(base.path().to_str().unwrap()), "{why}");
    }
    assert_eq!(tip(&base, "main"), before);
    git(base.path(), &["rebase", "--abort"]);
    assert_eq!(git(base.path(), &["rev-parse", "--abbrev-ref", "HEAD"]), "main");

    git(base.path(), &["bisect", "start", "HEAD", "HEAD~2"]);
    let why = refused("main", false).await;
    assert!(why.contains("`main` is being bisected in"), "{why}");
    git(base.path(), &["bisect", "reset"]);

    // In another work tree of the person, and with the older way to rebase.
    let other = base.path().with_file_name("other");
    let other_path = other.to_str().unwrap();
    git(base.path(), &["worktree", "add", "--quiet", "-b", "next", other_path]);
    write(&base, "b.txt", "another\n");
    commit(&base, "a conflict");
    std::fs::write(other.join("b.txt"), "mine\n").unwrap();
    git(&other, &["commit", "--quiet", "-am", "mine"]);
    let stopped = std::process::Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.invalid"])
        .args(["rebase", "--quiet", "--apply", "main"])
        .current_dir(&other)
        .output()
        .unwrap();
    assert!(!stopped.status.success());
    let next = tip(&base, "next");
    let why = refused("next", false).await;
    assert!(why.contains(other_path), "{why}");
    assert_eq!(tip(&base, "next"), next);
    // Of the others nothing is said.
    assert!(matches!(
        merge(&orchestrator, &id, MergeMode::Merge).await.outcome,
        MergeOutcome::Landed { .. }
    ));
}

/// Naive: a work tree whose folder is not where it was has no files that could differ.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_whose_work_tree_was_moved_is_not_moved() {
    let base = three_commits();
    let other = base.path().with_file_name("other");
    git(base.path(), &["worktree", "add", "--quiet", "-b", "next", other.to_str().unwrap()]);
    let (orchestrator, id) = done(&base, "write new.txt hello; say done").await;
    let (moved, before) = (base.path().with_file_name("moved"), tip(&base, "next"));
    std::fs::rename(&other, &moved).unwrap();
    let wish = MergeRequest { into: Some("next".to_owned()), ..request(MergeMode::Merge) };
    let refused = orchestrator.merge(&id, wish.clone()).await;
    let Err(TreeRequestError::NotNow(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("git worktree repair") && why.contains("git worktree prune"), "{why}");
    assert_eq!(tip(&base, "next"), before);
    git(base.path(), &["worktree", "repair", moved.to_str().unwrap()]);
    let landed = orchestrator.merge(&id, wish).await.unwrap();
    assert!(matches!(landed.outcome, MergeOutcome::Landed { .. }), "{landed:#?}");
    assert!(moved.join("new.txt").exists());
    assert_eq!(git(&moved, &["status", "--porcelain"]), "");
}

/// Naive: what was once landed is landed, whatever a person did to the branch since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_landing_that_was_taken_back_is_none_and_a_merge_lands_again() {
    for mode in [MergeMode::Merge, MergeMode::Squash, MergeMode::Rebase] {
        let base = Base::new();
        repository(&base);
        let (orchestrator, id) = done(&base, "write new.txt hello; say done").await;
        // The branch goes on, so that a rebase makes other commits.
        write(&base, "other.txt", "other\n");
        let before = commit(&base, "other");
        let landed = merge(&orchestrator, &id, mode).await;
        assert!(matches!(landed.outcome, MergeOutcome::Landed { .. }), "{landed:#?}");
        git(base.path(), &["reset", "--quiet", "--hard", &before]);

        let entry = orchestrator.all_trees(false).await.remove(0);
        assert_eq!(entry.landing, TreeLandingState::Open, "{mode:?}");
        let kept = orchestrator.prune_trees(PruneRequest::default()).await.unwrap().remove(0);
        assert!(kept.kept.is_some(), "{mode:?}: what it has is nowhere else");
        assert!(entry.path.exists());
        let again = merge(&orchestrator, &id, mode).await;
        assert!(matches!(again.outcome, MergeOutcome::Landed { .. }), "{mode:?}: {again:#?}");
        let text = std::fs::read_to_string(base.path().join("new.txt")).unwrap();
        assert_eq!(text, "hello\n");
        let entry = orchestrator.all_trees(false).await.remove(0);
        assert!(matches!(entry.landing, TreeLandingState::Landed { .. }), "{entry:#?}");
        let pruned = orchestrator.prune_trees(PruneRequest::default()).await.unwrap().remove(0);
        assert_eq!(pruned.kept, None, "{mode:?}");

        // Also when the tree is gone.
        git(base.path(), &["reset", "--quiet", "--hard", &before]);
        let refused = orchestrator.merge(&id, request(mode)).await;
        let Err(TreeRequestError::NotNow(why)) = refused else { panic!("{mode:?}: {refused:?}") };
        assert!(why.contains("coven trees restore"), "{why}");
    }
}

/// Naive: a lock is waited for as long as a call may take, which nobody who asked waits for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_into_a_checkout_that_is_locked_is_refused_and_never_done_later() {
    let base = Base::new();
    repository(&base);
    let (orchestrator, id) = done(&base, "write new.txt hello; say done").await;
    let before = tip(&base, "main");
    let lock: PathBuf = base.path().join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let answer = orchestrator.merge(&id, request(MergeMode::Merge));
    let answer = tokio::time::timeout(Duration::from_secs(40), answer).await;
    let Ok(Err(TreeRequestError::NotNow(why))) = answer else { panic!("{answer:?}") };
    assert!(why.contains("index.lock") && why.contains("File exists"), "{why}");
    assert!(why.contains("nothing was changed"), "{why}");
    std::fs::remove_file(&lock).unwrap();
    assert_eq!(tip(&base, "main"), before);
    let landed = merge(&orchestrator, &id, MergeMode::Merge).await;
    assert!(matches!(landed.outcome, MergeOutcome::Landed { .. }), "{landed:#?}");
}

/// Naive: a merge commit whenever the branch has something new.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_that_goes_on_from_the_target_is_landed_without_a_merge_commit() {
    for is_checked_out in [true, false] {
        let base = Base::new();
        repository(&base);
        let (orchestrator, id) = done(&base, "write new.txt hello; say done").await;
        if !is_checked_out {
            git(base.path(), &["checkout", "--quiet", "-b", "elsewhere"]);
        }
        let entry = orchestrator.all_trees(false).await.remove(0);
        let landed = merge(&orchestrator, &id, MergeMode::Merge).await;
        assert!(matches!(landed.outcome, MergeOutcome::Landed { .. }), "{landed:#?}");
        assert_eq!(tip(&base, "main"), entry.head);
        assert_eq!(git(base.path(), &["rev-list", "--count", "--merges", "main"]), "0");
        let again = merge(&orchestrator, &id, MergeMode::Merge).await;
        assert_eq!(again.outcome, MergeOutcome::UpToDate);
    }
}

/// Naive: a conflict with what the branch itself brought, or an empty merge commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_brought_over_by_hand_is_not_merged_again() {
    for by_hand in [&["cherry-pick", "main..TREE"][..], &["merge", "--squash", "--quiet", "TREE"]] {
        let base = Base::new();
        repository(&base);
        let prompt = "write new.txt hello; disobey git add . && git -c user.name=A -c user.email=a@b \
                      commit -qm one; write new.txt again";
        let (orchestrator, id) = done(&base, prompt).await;
        let entry = orchestrator.all_trees(false).await.remove(0);
        assert_eq!(
            git(base.path(), &["rev-list", "--count", &format!("main..{}", entry.head)]),
            "2"
        );
        write(&base, "other.txt", "other\n");
        let before = commit(&base, "other");
        let line: Vec<String> = by_hand
            .iter()
            .map(|word| word.replace("main..TREE", &format!("main..{}", entry.head)))
            .map(|word| word.replace("TREE", &entry.head))
            .collect();
        git(base.path(), &line.iter().map(String::as_str).collect::<Vec<_>>());
        if by_hand[0] == "merge" {
            git(base.path(), &["commit", "--quiet", "-m", "all of it"]);
        }
        assert_ne!(tip(&base, "main"), before);
        write(&base, "new.txt", "something else\n");
        let after = commit(&base, "on top of it");
        for mode in [MergeMode::Merge, MergeMode::Squash, MergeMode::Rebase] {
            let report = merge(&orchestrator, &id, mode).await;
            assert_eq!(report.outcome, MergeOutcome::UpToDate, "{by_hand:?} {mode:?}");
            assert_eq!(tip(&base, "main"), after);
        }
        let entry = orchestrator.all_trees(false).await.remove(0);
        assert!(matches!(entry.landing, TreeLandingState::Landed { .. }), "{entry:#?}");
    }
}

/// Naive: the branch is checked out and nothing is changed there, so it is moved; `git am` then puts its
/// patches on what came in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkout_in_the_middle_of_something_is_not_moved() {
    let base = three_commits();
    let (orchestrator, id) = done(&base, "write new.txt hello; say done").await;
    let patch = git(base.path(), &["format-patch", "--stdout", "-1"]);
    let mail = base.path().with_file_name("mail");
    std::fs::write(&mail, format!("{patch}\n")).unwrap();
    let sign = |folder: &Path, line: &[&str]| {
        let who = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"];
        std::process::Command::new("git").args(who).args(line).current_dir(folder).output().unwrap()
    };
    let am = || sign(base.path(), &["am", "--quiet", mail.to_str().unwrap()]);
    let before = tip(&base, "main");
    let refused = |what: &'static str| {
        let (orchestrator, id) = (orchestrator.clone(), id.clone());
        async move {
            for dry_run in [true, false] {
                let request = MergeRequest { dry_run, ..request(MergeMode::Merge) };
                let refused = orchestrator.merge(&id, request).await;
                let Err(TreeRequestError::NotNow(why)) = refused else { panic!("{refused:?}") };
                assert!(why.contains(&format!("`{what}` is not finished")), "{why}");
                assert!(why.contains("--into"), "{why}");
            }
        }
    };
    // It is there already, so the patch fits no more.
    assert!(!am().status.success());
    assert_eq!(git(base.path(), &["status", "--porcelain"]), "");
    refused("git am").await;
    git(base.path(), &["am", "--abort"]);

    // As after the last conflict was resolved in favour of what is there.
    let heads = [
        ("MERGE_HEAD", "git merge"),
        ("CHERRY_PICK_HEAD", "git cherry-pick"),
        ("REVERT_HEAD", "git revert"),
    ];
    for (name, what) in heads {
        let head = base.path().join(".git").join(name);
        std::fs::write(&head, format!("{before}\n")).unwrap();
        refused(what).await;
        std::fs::remove_file(&head).unwrap();
    }
    assert_eq!(tip(&base, "main"), before);
    let landed = merge(&orchestrator, &id, MergeMode::Merge).await;
    assert!(matches!(landed.outcome, MergeOutcome::Landed { .. }), "{landed:#?}");
}

/// Naive: git writes the files and then finds the branch locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_that_another_git_has_locked_leaves_the_files_as_they_are() {
    for lock in [".git/refs/heads/main.lock", ".git/HEAD.lock"] {
        let base = Base::new();
        repository(&base);
        let (orchestrator, id) = done(&base, "write new.txt hello; say done").await;
        let before = tip(&base, "main");
        let lock = base.path().join(lock);
        std::fs::write(&lock, "").unwrap();
        let refused = orchestrator.merge(&id, request(MergeMode::Merge)).await;
        let Err(TreeRequestError::NotNow(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains("nothing was changed") && why.contains(".lock"), "{why}");
        assert!(!base.path().join("new.txt").exists());
        assert_eq!(git(base.path(), &["--no-optional-locks", "status", "--porcelain"]), "");
        std::fs::remove_file(&lock).unwrap();
        assert_eq!(tip(&base, "main"), before);
        let landed = merge(&orchestrator, &id, MergeMode::Merge).await;
        assert!(matches!(landed.outcome, MergeOutcome::Landed { .. }), "{landed:#?}");
    }
}
