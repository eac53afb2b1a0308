//! What somebody who can write every file of a tree, and the folder of the repository, cannot make
//! us run. Each attack is first seen to succeed against git as anybody would call it.

use std::path::Path;

use coven_git::{CommitRequest, Error, ExecutableConfig, Repository};

use crate::fixture::{Fixture, hold};

/// Naive: `git add -A` in the tree finds the git dir by the `.git` file, and runs the clean filter of
/// that git dir's configuration.
#[test]
fn a_git_file_that_was_replaced_runs_no_filter() {
    let fixture = Fixture::new();
    let (tree, added) = fixture.tree("one");
    let mirror = fixture.mirror();
    let evil = fixture.path("evil");
    fixture.plain(&fixture.path(""), &["init", "-q", evil.to_str().unwrap()]);
    let trap = fixture.trap("filtered");
    fixture.plain(&evil, &["config", "filter.x.clean", &trap]);
    std::fs::write(tree.join(".git"), format!("gitdir: {}/.git\n", evil.display())).unwrap();
    std::fs::write(tree.join(".gitattributes"), "* filter=x\n").unwrap();
    std::fs::write(tree.join("new.txt"), "bytes").unwrap();
    fixture.naive(&tree, &["add", "-A"]);
    assert!(fixture.ran("filtered"), "the attack itself must work");

    let baseline = hold(&mirror, &tree, &fixture.head());
    assert_eq!(baseline.files_changed, 2);
    mirror.changes(&fixture.head(), &baseline.commit).unwrap();
    mirror.patch(&fixture.head(), &baseline.commit).unwrap();
    let removed = fixture.git.remove_worktree(&fixture.repository(), &tree);
    assert!(matches!(removed, Err(Error::Tampered { .. })), "{removed:?}");
    let found = fixture.git.worktree_git_dir(&fixture.repository(), &tree).unwrap();
    assert_eq!(found, added.git_dir);
    assert!(!fixture.ran("filtered"));
}

/// Puts drivers of every kind into the repository's own configuration and has every file use them.
fn arm(fixture: &Fixture, tree: &Path) {
    let trap = fixture.trap("driven");
    for key in ["filter.x.clean", "filter.x.smudge", "diff.x.textconv", "diff.x.command"] {
        fixture.plain(&fixture.root(), &["config", key, &trap]);
    }
    fixture.plain(&fixture.root(), &["config", "merge.x.driver", &trap]);
    std::fs::write(tree.join(".gitattributes"), "* filter=x diff=x merge=x\n").unwrap();
}

/// Naive: `git add -A` runs the filter, `git diff` the external diff.
#[test]
fn drivers_in_a_configuration_that_was_written_later_do_not_run() {
    let fixture = Fixture::new();
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    let baseline = hold(&mirror, &tree, &fixture.head());
    arm(&fixture, &tree);
    std::fs::write(tree.join("a.txt"), "changed\n").unwrap();
    fixture.naive(&tree, &["diff"]);
    assert!(fixture.ran("driven"), "the attack itself must work");
    fixture.naive(&tree, &["add", "-A"]);
    assert!(fixture.ran("driven"), "the attack itself must work");

    let held = hold(&mirror, &tree, &baseline.commit);
    let changes = mirror.changes(&baseline.commit, &held.commit).unwrap();
    assert_eq!(changes.len(), 2);
    mirror.file_diff(&baseline.commit, &held.commit, "a.txt".as_ref(), None).unwrap();
    mirror.uncommitted(&tree, &fixture.head(), &[]).unwrap();
    assert!(!fixture.ran("driven"));
}

/// Naive: `git merge-tree` of two branches that changed one file runs the merge driver.
#[test]
fn a_merge_driver_that_was_not_there_before_does_not_run() {
    let fixture = Fixture::new();
    std::fs::write(fixture.root().join(".gitattributes"), "* merge=x\n").unwrap();
    let base = fixture.commit("attributes");
    fixture.write("repo/a.txt", "ours\n");
    let ours = fixture.commit("ours");
    fixture.plain(&fixture.root(), &["reset", "-q", "--hard", base.as_str()]);
    fixture.write("repo/a.txt", "theirs\n");
    let theirs = fixture.commit("theirs");
    let trap = fixture.trap("merged");
    fixture.plain(&fixture.root(), &["config", "merge.x.driver", &trap]);
    fixture.naive(&fixture.root(), &["merge-tree", "--write-tree", ours.as_str(), theirs.as_str()]);
    assert!(fixture.ran("merged"), "the attack itself must work");

    fixture.git.merge_tree(&fixture.repository(), &ours, &theirs).unwrap();
    assert!(!fixture.ran("merged"));
}

/// Naive: `git status` in the tree asks the file system monitor of the tree's own configuration.
#[test]
fn a_file_system_monitor_in_the_configuration_of_a_tree_does_not_run() {
    let fixture = Fixture::new();
    let (tree, added) = fixture.tree("one");
    let mirror = fixture.mirror();
    let trap = fixture.trap("watched");
    fixture.plain(&fixture.root(), &["config", "extensions.worktreeConfig", "true"]);
    fixture.plain(&tree, &["config", "--worktree", "core.fsmonitor", &trap]);
    fixture.naive(&tree, &["status"]);
    assert!(fixture.ran("watched"), "the attack itself must work");

    let inside = fixture.repository().in_worktree(&tree, &added.git_dir);
    hold(&mirror, &tree, &fixture.head());
    fixture.git.dirty_paths(&inside).unwrap();
    fixture.git.remove_worktree(&fixture.repository(), &tree).unwrap();
    assert!(!tree.exists());
    assert!(!fixture.ran("watched"));
}

/// Naive: `git worktree add` runs the post-checkout hook that another agent has put there.
#[test]
fn hooks_that_came_later_do_not_run_and_are_said() {
    let fixture = Fixture::new();
    let allowed = fixture.allowed();
    let trap = fixture.trap("hooked");
    let hooks = fixture.root().join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-checkout", "pre-commit", "reference-transaction", "post-merge"] {
        std::fs::copy(&trap, hooks.join(hook)).unwrap();
    }
    fixture.plain(&fixture.root(), &["worktree", "add", "-q", "-b", "naive", "../naive"]);
    assert!(fixture.ran("hooked"), "the attack itself must work");

    let repository = fixture.repository();
    let path = fixture.path("tree/one");
    let head = fixture.head();
    let added = fixture.git.add_worktree(&repository, &path, "coven/one", &head).unwrap();
    let inside = repository.in_worktree(&path, &added.git_dir);
    let hook = fixture.git.checkout_hook(&inside, &head, &allowed).unwrap();
    assert!(hook.neutralised.hooks.contains(&"post-checkout".to_owned()));
    assert!(hook.command.is_none());
    std::fs::write(path.join("b.txt"), "b").unwrap();
    commit(&fixture, &inside, &allowed);
    let tip = fixture.git.tip(&repository, "coven/one").unwrap().unwrap();
    assert_ne!(tip, head);
    fixture.git.fast_forward(&repository, "main", &head, &tip).unwrap();
    fixture.git.create_branch(&repository, "coven/two", &tip).unwrap();
    fixture.git.delete_branch(&repository, "coven/two", &tip).unwrap();
    assert!(!fixture.ran("hooked"));
}

/// The hooks that were there before run, because the user's own commit would run them.
#[test]
fn hooks_that_were_there_before_run_in_a_commit() {
    let fixture = Fixture::new();
    let trap = fixture.trap("hooked");
    std::fs::create_dir_all(fixture.root().join(".git/hooks")).unwrap();
    std::fs::copy(&trap, fixture.root().join(".git/hooks/pre-commit")).unwrap();
    let allowed = fixture.allowed();
    let (tree, added) = fixture.tree("one");
    std::fs::write(tree.join("b.txt"), "b").unwrap();
    commit(&fixture, &fixture.repository().in_worktree(&tree, &added.git_dir), &allowed);
    assert!(fixture.ran("hooked"));
}

fn commit(fixture: &Fixture, tree: &Repository, allowed: &ExecutableConfig) {
    let message_file = fixture.path("message");
    let text = coven_git::message_text("build: a file", &[("Coven-Task", "otter/build.0")]);
    std::fs::write(&message_file, text).unwrap();
    let person = fixture.git.person(tree).unwrap();
    let request =
        CommitRequest { tree, message_file: &message_file, author: Some(&person), unsigned: true };
    let commands = fixture.git.commit_commands(&request, allowed).unwrap();
    fixture.git.run(&commands.add).unwrap();
    fixture.git.run(&commands.commit).unwrap();
}

/// Naive: `git add -A` in a tree with a nested repository that is in the index starts `git status` in
/// it, which runs the filters of its configuration; and it keeps only the id of the nested commit.
#[test]
fn a_nested_repository_runs_nothing_and_its_files_are_held() {
    let fixture = Fixture::new();
    let (tree, added) = fixture.tree("one");
    let mirror = fixture.mirror();
    let nested = tree.join("nested");
    std::fs::create_dir(&nested).unwrap();
    fixture.plain(&nested, &["init", "-q"]);
    std::fs::write(nested.join("inner.txt"), "inner bytes").unwrap();
    std::fs::write(nested.join(".gitignore"), "*.o\n").unwrap();
    std::fs::write(nested.join(".gitattributes"), "* filter=x\n").unwrap();
    fixture.commit_in(&nested, "inner");
    std::fs::write(nested.join("late.txt"), "never committed anywhere").unwrap();
    std::fs::write(nested.join("late.o"), "ignored").unwrap();
    let trap = fixture.trap("nested-ran");
    fixture.plain(&nested, &["config", "core.fsmonitor", &trap]);
    fixture.plain(&nested, &["config", "filter.x.clean", &trap]);
    // The same size: only the filter can tell whether it changed.
    std::fs::write(nested.join("inner.txt"), "INNER bytes").unwrap();
    fixture.naive(&tree, &["add", "-A"]);
    fixture.ran("nested-ran");
    fixture.naive(&tree, &["add", "-A"]);
    assert!(fixture.ran("nested-ran"), "the attack itself must work");

    let held = hold(&mirror, &tree, &fixture.head());
    let changes = mirror.changes(&fixture.head(), &held.commit).unwrap();
    let names: Vec<_> = changes.iter().map(|file| file.path.to_str().unwrap()).collect();
    let wanted = [".gitattributes", ".gitignore", "inner.txt", "late.txt"];
    assert_eq!(names, wanted.map(|name| format!("nested/{name}")));
    mirror.present(&tree, Some(&held.commit), None).unwrap();
    let inside = fixture.repository().in_worktree(&tree, &added.git_dir);
    fixture.git.dirty_paths(&inside).unwrap();
    assert!(!fixture.ran("nested-ran"));
    std::fs::write(tree.join("beside.txt"), "committed all the same").unwrap();
    commit(&fixture, &inside, &fixture.allowed());
    // git removes no tree that has another repository in it.
    fixture.git.remove_worktree(&fixture.repository(), &tree).unwrap_err();
    assert!(!fixture.ran("nested-ran"));
    let files = fixture.plain(&fixture.root(), &["ls-tree", "--name-only", "coven/one"]);
    assert_eq!(files.lines().collect::<Vec<_>>(), ["a.txt", "beside.txt", "nested"]);
}

/// Naive: `cp -a`, or a restore that opens by path, writes through the link.
#[test]
fn a_link_out_of_the_tree_is_neither_read_nor_written_through() {
    let fixture = Fixture::new();
    fixture.write("repo/sub/file.txt", "of the tree");
    fixture.commit("sub");
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    let baseline = hold(&mirror, &tree, &fixture.head());
    fixture.write("outside/file.txt", "secret");
    std::fs::remove_dir_all(tree.join("sub")).unwrap();
    std::os::unix::fs::symlink(fixture.path("outside"), tree.join("sub")).unwrap();
    assert_eq!(std::fs::read(tree.join("sub/file.txt")).unwrap(), b"secret", "the way is open");

    let held = hold(&mirror, &tree, &baseline.commit);
    let patch = mirror.patch(&baseline.commit, &held.commit).unwrap();
    assert!(!String::from_utf8_lossy(&patch).contains("secret"));
    let request = coven_git::mirror::RestoreRequest {
        checkpoint: &baseline.commit,
        into: &tree,
        only: None,
        overwrite: true,
    };
    let restored = mirror.restore(&request).unwrap();
    assert_eq!(restored.failed.len(), 1, "{restored:?}");
    assert_eq!(std::fs::read(fixture.path("outside/file.txt")).unwrap(), b"secret");
}

/// Naive: a checkpoint in the repository itself is lost when its reference is deleted and pruned.
#[test]
fn what_was_held_survives_when_everything_is_pruned_in_the_repository() {
    let fixture = Fixture::new();
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    std::fs::write(tree.join("work.txt"), "hours of work").unwrap();
    let made = fixture.commit_in(&tree, "work");
    mirror.take_in(&fixture.repository(), &made).unwrap();
    let held = hold(&mirror, &tree, &made);
    std::fs::remove_file(tree.join("work.txt")).unwrap();
    fixture.plain(&tree, &["reset", "-q", "--hard", "main"]);
    fixture.plain(&fixture.root(), &["reflog", "expire", "--expire=now", "--all"]);
    std::fs::remove_dir_all(fixture.root().join(".git/worktrees/one/logs")).unwrap();
    std::fs::remove_file(fixture.root().join(".git/worktrees/one/ORIG_HEAD")).ok();
    fixture.plain(&fixture.root(), &["prune", "--expire=now"]);
    let gone = fixture.naive(&fixture.root(), &["cat-file", "-e", made.as_str()]);
    assert!(!gone.status.success(), "the attack itself must work");

    let into = fixture.path("back");
    std::fs::create_dir(&into).unwrap();
    let request = coven_git::mirror::RestoreRequest {
        checkpoint: &held.commit,
        into: &into,
        only: None,
        overwrite: false,
    };
    mirror.restore(&request).unwrap();
    assert_eq!(std::fs::read(into.join("work.txt")).unwrap(), b"hours of work");
    let fsck = fixture.naive(mirror.path(), &["fsck", "--strict", "--full"]);
    assert!(fsck.status.success(), "{}", String::from_utf8_lossy(&fsck.stderr));
}

/// Naive: a filter in the repository's own configuration runs as the user's.
#[test]
fn a_filter_that_was_changed_since_is_replaced_in_a_checkout() {
    let fixture = Fixture::new();
    fixture.plain(&fixture.root(), &["config", "filter.x.clean", "cat"]);
    fixture.plain(&fixture.root(), &["config", "filter.x.smudge", "cat"]);
    fixture.plain(&fixture.root(), &["config", "filter.x.required", "true"]);
    fixture.write("repo/.gitattributes", "* filter=x\n");
    fixture.commit("attributes");
    let allowed = fixture.allowed();
    let trap = fixture.trap("smudged");
    fixture.plain(&fixture.root(), &["config", "filter.x.smudge", &trap]);
    fixture.plain(&fixture.root(), &["worktree", "add", "-q", "-b", "naive", "../naive"]);
    assert!(fixture.ran("smudged"), "the attack itself must work");

    let (repository, head) = (fixture.repository(), fixture.head());
    let path = fixture.path("tree/one");
    let begun = fixture.git.begin_worktree(&repository, &path, "coven/one", &head).unwrap();
    let inside = repository.in_worktree(&path, &begun.git_dir);
    let files = fixture.git.check_out_command(&inside, &allowed).unwrap();
    fixture.git.run(&files).unwrap();
    let hook = fixture.git.checkout_hook(&inside, &head, &allowed).unwrap();
    assert_eq!(hook.neutralised.keys, ["filter.x.smudge"]);
    assert_eq!(std::fs::read(path.join("a.txt")).unwrap(), b"one\ntwo\nthree\n");
    assert!(!fixture.ran("smudged"));
}

/// Naive: the user's own hooks and filters run in whatever git does, and both read files of the
/// repository that agents write: `core.hooksPath` and a filter may lead to tracked files.
#[test]
fn no_call_of_ours_runs_a_program_that_the_user_has() {
    let fixture = Fixture::new();
    let root = fixture.root();
    let trap = fixture.trap("ran");
    std::fs::create_dir(root.join(".husky")).unwrap();
    let hooks = ["post-checkout", "post-merge", "post-index-change", "reference-transaction"];
    for hook in hooks {
        std::fs::copy(&trap, root.join(".husky").join(hook)).unwrap();
    }
    for key in ["filter.x.clean", "filter.x.smudge", "merge.x.driver"] {
        fixture.plain(&root, &["config", key, &trap]);
    }
    fixture.write("repo/.gitattributes", "*.big filter=x\nlist.txt merge=x\n");
    fixture.write("repo/one.big", "one\n");
    fixture.write("repo/list.txt", "a\nb\nc\nd\ne\nf\ng\n");
    let base = fixture.commit("programs");
    fixture.plain(&root, &["config", "core.hooksPath", ".husky"]);
    let (git, repository) = (&fixture.git, fixture.repository());
    fixture.ran("ran");
    fixture.plain(&root, &["worktree", "add", "-q", "-b", "naive", "../naive"]);
    assert!(fixture.ran("ran"), "the attack itself must work");

    let path = fixture.path("tree/one");
    let added = git.add_worktree(&repository, &path, "coven/one", &base).unwrap();
    let inside = repository.in_worktree(&path, &added.git_dir);
    let change = |list: &str, big: &str| {
        std::fs::write(path.join("list.txt"), list).unwrap();
        std::fs::write(path.join("one.big"), big).unwrap();
        let off = ["-c", "core.hooksPath=/dev/null", "-c", "filter.x.clean="];
        fixture.plain(&path, &[&off[..], &["commit", "-qam", "a change"]].concat());
        fixture.plain(&path, &["rev-parse", "HEAD"]).parse::<coven_git::Commit>().unwrap()
    };
    let ours = change("A\nb\nc\nd\ne\nf\ng\n", "one\n");
    fixture.plain(&path, &["-c", "core.hooksPath=/dev/null", "reset", "-q", "--soft", "HEAD~1"]);
    let theirs = change("a\nb\nc\nd\ne\nf\nG\n", "two\n");
    fixture.ran("ran");
    let merged = git.merge_tree(&repository, &ours, &theirs).unwrap();
    assert!(matches!(merged, coven_git::Merged::Clean(_)), "{merged:?}");
    let replayed = git.rebase_onto(&repository, &ours, &base, &theirs, "merge").unwrap();
    assert!(matches!(replayed, coven_git::Replayed::Done { .. }), "{replayed:?}");
    assert_eq!(
        git.filtered_paths(&repository, &base, None).unwrap(),
        [std::path::PathBuf::from("one.big")]
    );
    std::fs::write(root.join("one.big"), "one\n").unwrap();
    git.dirty_paths(&repository).unwrap();
    assert!(git.changed_tracked_paths(&repository, &base).unwrap().is_empty());
    git.fast_forward(&repository, "main", &base, &theirs).unwrap();
    git.create_branch(&repository, "coven/two", &base).unwrap();
    git.delete_branch(&repository, "coven/two", &base).unwrap();
    git.put_head_on(&inside, "coven/one", "a test").unwrap();
    git.remove_worktree_with_changes(&repository, &path).unwrap();
    assert!(!fixture.ran("ran"));
    assert_eq!(std::fs::read(root.join("one.big")).unwrap(), b"two\n");
}

/// Naive: `GIT_COMMON_DIR` says where branches are. git looks where the registration says.
#[test]
fn a_registration_that_leads_to_another_repository_is_refused() {
    let fixture = Fixture::new();
    let (path, added) = fixture.tree("work");
    let repository = fixture.repository();
    let tree = repository.in_worktree(&path, &added.git_dir);
    let evil = fixture.path("evil");
    std::fs::create_dir(&evil).unwrap();
    fixture.plain(&evil, &["init", "-q", "-b", "main"]);
    std::fs::write(evil.join("e.txt"), "evil").unwrap();
    let planted = fixture.commit_in(&evil, "evil");
    fixture.plain(&evil, &["branch", "coven/work"]);
    let file = added.git_dir.join("commondir");
    let own = std::fs::read(&file).unwrap();
    std::fs::write(&file, format!("{}\n", evil.join(".git").display())).unwrap();
    let naive = fixture.plain(&path, &["rev-parse", "HEAD"]);
    assert_eq!(naive, planted.to_string(), "the attack does nothing");
    let refused = fixture.git.worktree_git_dir(&repository, &path);
    assert!(matches!(refused, Err(Error::Tampered { .. })), "{refused:?}");
    let removed = fixture.git.remove_worktree(&repository, &path);
    assert!(matches!(removed, Err(Error::Tampered { .. })), "{removed:?}");
    std::fs::remove_file(&file).unwrap();
    assert!(fixture.git.worktree_git_dir(&repository, &path).is_err());
    std::fs::write(&file, own).unwrap();
    assert_eq!(fixture.git.worktree_git_dir(&repository, &path).unwrap(), added.git_dir);
    assert_eq!(fixture.git.head(&tree).unwrap().branch.as_deref(), Some("coven/work"));
}
