//! What is in the middle of something: branches that are rebased or bisected, conflicts that were not
//! resolved, submodules at another commit, locks that a killed git left, folders that are gone.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coven_git::{BranchUse, CommitRequest, Error};

use crate::fixture::Fixture;

fn used(fixture: &Fixture, branch: &str) -> Option<BranchUse> {
    fixture.git.branch_use(&fixture.repository(), branch).unwrap()
}

/// Naive: a branch is in use where it is checked out, and nowhere else.
#[test]
fn a_branch_that_is_rebased_or_bisected_is_in_use_though_it_is_checked_out_nowhere() {
    let fixture = Fixture::new();
    let root = fixture.root();
    for name in ["b.txt", "c.txt"] {
        fixture.write(&format!("repo/{name}"), name);
        fixture.commit(name);
    }
    fixture.plain(&root, &["branch", "other"]);
    let Some(BranchUse::CheckedOut(tree)) = used(&fixture, "main") else { panic!() };
    assert_eq!(tree.path, root);
    let edit = "sequence.editor=sed -i s/^pick/edit/";
    fixture.plain(&root, &["-c", edit, "rebase", "--quiet", "-i", "HEAD~1"]);
    assert_eq!(used(&fixture, "main"), Some(BranchUse::Rebasing(root.clone())));
    assert_eq!(used(&fixture, "other"), None);
    fixture.plain(&root, &["rebase", "--abort"]);
    fixture.plain(&root, &["bisect", "start", "HEAD", "HEAD~2"]);
    assert_eq!(used(&fixture, "main"), Some(BranchUse::Bisecting(root.clone())));
    fixture.plain(&root, &["bisect", "reset"]);

    // In a work tree of its own, with the older way to rebase, which stops at a conflict.
    let path = fixture.path("next");
    fixture.plain(&root, &["worktree", "add", "-q", "-b", "next", path.to_str().unwrap()]);
    std::fs::write(path.join("b.txt"), "mine\n").unwrap();
    fixture.commit_in(&path, "mine");
    fixture.write("repo/b.txt", "yours\n");
    fixture.commit("yours");
    assert!(!fixture.naive(&path, &["rebase", "--quiet", "--apply", "main"]).status.success());
    assert_eq!(used(&fixture, "next"), Some(BranchUse::Rebasing(path.clone())));
    let tip = fixture.git.tip(&fixture.repository(), "next").unwrap().unwrap();
    let deleted = fixture.git.delete_branch(&fixture.repository(), "next", &tip);
    assert!(matches!(deleted, Err(Error::BranchInUse { .. })), "{deleted:?}");
    fixture.plain(&path, &["rebase", "--abort"]);
    std::fs::rename(&path, fixture.path("moved")).unwrap();
    assert_eq!(used(&fixture, "next"), Some(BranchUse::MissingFolder(path)));
}

#[test]
fn a_conflict_is_unmerged_until_it_is_resolved() {
    let fixture = Fixture::new();
    let (path, added) = fixture.tree("work");
    let tree = fixture.repository().in_worktree(&path, &added.git_dir);
    let unmerged = || fixture.git.unmerged_paths(&tree).unwrap();
    assert_eq!(unmerged(), [] as [PathBuf; 0]);
    fixture.write("repo/a.txt", "yours\n");
    fixture.commit("yours");
    std::fs::write(path.join("a.txt"), "mine\n").unwrap();
    fixture.commit_in(&path, "mine");
    assert!(!fixture.naive(&path, &["merge", "-q", "main"]).status.success());
    assert_eq!(unmerged(), [PathBuf::from("a.txt")]);
    std::fs::write(path.join("a.txt"), "both\n").unwrap();
    fixture.plain(&path, &["add", "a.txt"]);
    assert_eq!(unmerged(), [] as [PathBuf; 0]);
}

/// Naive: a submodule is at the commit that is staged.
#[test]
fn a_submodule_is_committed_at_the_commit_that_is_checked_out_in_it() {
    let fixture = Fixture::new();
    let library = fixture.path("library");
    std::fs::create_dir(&library).unwrap();
    fixture.plain(&library, &["init", "-q", "-b", "main"]);
    std::fs::write(library.join("l.txt"), "l").unwrap();
    let old = fixture.commit_in(&library, "library");
    let allow = "protocol.file.allow=always";
    let add = ["-c", allow, "submodule", "--quiet", "add", library.to_str().unwrap(), "lib"];
    fixture.plain(&fixture.root(), &add);
    fixture.commit("submodule");
    let (path, added) = fixture.tree("work");
    let tree = fixture.repository().in_worktree(&path, &added.git_dir);
    let at = || fixture.git.checked_out_gitlinks(&tree).unwrap();
    let lib = |id| vec![(PathBuf::from("lib"), id)];
    assert_eq!(at(), lib(old.clone()), "it is not checked out");
    fixture.plain(&path, &["-c", allow, "submodule", "--quiet", "update", "--init"]);
    assert_eq!(at(), lib(old.clone()));
    // Detached, on a branch, and on one whose reference is packed.
    std::fs::write(path.join("lib/new.txt"), "n").unwrap();
    let new = fixture.commit_in(&path.join("lib"), "in the tree");
    assert_eq!(at(), lib(new.clone()));
    fixture.plain(&path.join("lib"), &["checkout", "-q", "-b", "topic"]);
    assert_eq!(at(), lib(new.clone()));
    fixture.plain(&path.join("lib"), &["pack-refs", "--all"]);
    assert_eq!(at(), lib(new.clone()));

    fixture.write("message", "moved\n");
    let message = fixture.path("message");
    let request =
        CommitRequest { tree: &tree, message_file: &message, author: None, unsigned: false };
    let commands = fixture.git.commit_commands(&request, &fixture.allowed()).unwrap();
    fixture.git.run(&commands.add).unwrap();
    fixture.git.run(&commands.add_submodules.unwrap()).unwrap();
    assert!(fixture.git.run(&commands.is_same).is_err());
    fixture.git.run(&commands.commit).unwrap();
    assert_eq!(fixture.plain(&path, &["rev-parse", "HEAD:lib"]), new.as_str());
    assert_eq!(fixture.plain(&path, &["status", "--porcelain"]), "");
    let commands = fixture.git.commit_commands(&request, &fixture.allowed()).unwrap();
    assert!(commands.add_submodules.is_none());

    // What leads out of the repository is not followed.
    std::fs::write(path.join("lib/.git"), format!("gitdir: {}/.git\n", library.display())).unwrap();
    fixture.plain(&library, &["commit", "-q", "--allow-empty", "-m", "elsewhere"]);
    assert_eq!(at(), lib(new));
}

/// Naive: a lock that nobody ends is waited for as long as a call may take.
#[test]
fn a_lock_is_waited_for_as_long_as_the_caller_says() {
    let fixture = Fixture::new();
    let (repository, before) = (fixture.repository(), fixture.head());
    fixture.plain(&fixture.root(), &["checkout", "-q", "-b", "topic"]);
    fixture.write("repo/new.txt", "new");
    let to = fixture.commit("new");
    fixture.plain(&fixture.root(), &["checkout", "-q", "main"]);
    fixture.write("repo/.git/index.lock", "");
    let git = fixture.git.clone().with_lock_timeout(Duration::from_millis(200));
    let begin = Instant::now();
    let refused = git.fast_forward(&repository, "main", &before, &to).unwrap_err();
    assert!(refused.is_lock_held() && refused.to_string().contains("index.lock"), "{refused}");
    assert!(begin.elapsed() < Duration::from_mins(1));
    assert_eq!(fixture.head(), before);
}

/// Naive: what the system says about a missing folder is said about the program.
#[test]
fn a_folder_that_is_gone_is_not_said_to_be_a_missing_program() {
    let fixture = Fixture::new();
    let mut gone = fixture.repository();
    gone.root = fixture.path("gone");
    let refused = fixture.git.head(&gone).unwrap_err().to_string();
    assert!(refused.contains(gone.root.to_str().unwrap()), "{refused}");
    assert!(!refused.contains("cannot start"), "{refused}");
    gone.root = fixture.path("file");
    fixture.write("file", "");
    let refused = fixture.git.head(&gone).unwrap_err();
    assert!(matches!(&refused, Error::Io { path, .. } if path == Path::new(&gone.root)));
}

/// Naive: git's own words, which advise force.
#[test]
fn a_work_tree_that_git_does_not_remove_is_refused_without_advice_to_use_force() {
    let fixture = Fixture::new();
    let (path, _) = fixture.tree("work");
    let repository = fixture.repository();
    std::fs::write(path.join("new.txt"), "new").unwrap();
    let refused = fixture.git.remove_worktree(&repository, &path).unwrap_err();
    assert!(refused.is_about_changes(), "{refused}");
    assert!(!refused.to_string().contains("force"), "{refused}");
    std::fs::remove_file(path.join("new.txt")).unwrap();
    fixture.plain(&fixture.root(), &["worktree", "lock", path.to_str().unwrap()]);
    for remove in [
        fixture.git.remove_worktree(&repository, &path),
        fixture.git.remove_worktree_with_changes(&repository, &path),
    ] {
        let refused = remove.unwrap_err().to_string();
        assert!(refused.contains("it is locked") && !refused.contains(" -f"), "{refused}");
    }
    fixture.plain(&fixture.root(), &["worktree", "unlock", path.to_str().unwrap()]);
    fixture.git.remove_worktree(&repository, &path).unwrap();
}

/// Naive: git writes the files and then finds that the branch is locked.
#[test]
fn a_checkout_whose_branch_is_locked_in_the_middle_keeps_its_files() {
    use crate::fixture::make_executable;
    let fixture = Fixture::new();
    let (path, _) = fixture.tree("work");
    let (repository, base) = (fixture.repository(), fixture.head());
    std::fs::write(path.join("a.txt"), "new\n").unwrap();
    std::fs::write(path.join("b.txt"), "b\n").unwrap();
    let tip = fixture.commit_in(&path, "work");
    // The lock comes after everybody has looked, and stays for one try.
    let lock = fixture.root().join(".git/refs/heads/main.lock");
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' merge --ff-only '*) touch '{lock}';; esac\n\"$@\"\ncode=$?\n\
         rm -f '{lock}'\nexit $code\n",
        lock = lock.display()
    );
    fixture.write("lock.sh", script);
    make_executable(&fixture.path("lock.sh"));
    let locked = fixture.git.clone().wrapped_by([fixture.path("lock.sh")]);
    let locked = locked.with_lock_timeout(Duration::from_millis(200));
    let refused = locked.fast_forward(&repository, "main", &base, &tip).unwrap_err();
    assert!(refused.is_lock_held(), "{refused}");
    assert_eq!(fixture.plain(&fixture.root(), &["status", "--porcelain"]), "");
    assert_eq!(fixture.head(), base);
    assert_eq!(std::fs::read(fixture.root().join("a.txt")).unwrap(), b"one\ntwo\nthree\n");
    fixture.git.fast_forward(&repository, "main", &base, &tip).unwrap();
    assert_eq!(fixture.plain(&fixture.root(), &["status", "--porcelain"]), "");
}
