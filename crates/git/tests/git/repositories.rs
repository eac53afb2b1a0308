//! Repositories of every kind, and work trees made in them, also many at once and after accidents.

use std::fs::OpenOptions;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use coven_git::Error;

use crate::fixture::{Fixture, make_executable};

#[test]
fn a_folder_without_a_repository_is_none() {
    let fixture = Fixture::empty();
    assert!(fixture.git.discover(&fixture.root()).unwrap().is_none());
}

#[test]
fn the_users_name_is_their_own_whatever_a_repository_says() {
    let fixture = Fixture::new();
    fixture.plain(&fixture.root(), &["config", "user.name", "Somebody Else"]);
    assert_eq!(fixture.git.user_name().as_deref(), Some("Pat Person"));
    std::fs::write(fixture.path("home/.gitconfig"), "[user]\n\temail = pat@example.invalid\n")
        .unwrap();
    assert_eq!(fixture.git.user_name(), None);
}

#[test]
fn repositories_that_no_tree_can_be_made_of_say_why() {
    let fixture = Fixture::empty();
    fixture.plain(&fixture.root(), &["init", "-q"]);
    let found = fixture.git.discover(&fixture.root());
    assert!(matches!(found, Err(Error::NoCommits { .. })), "{found:?}");
    let bare = fixture.path("bare");
    fixture.plain(&fixture.path(""), &["init", "-q", "--bare", bare.to_str().unwrap()]);
    let found = fixture.git.discover(&bare);
    assert!(matches!(found, Err(Error::Bare { .. })), "{found:?}");
}

#[test]
fn a_folder_below_the_root_and_a_detached_head_are_found_as_such() {
    let fixture = Fixture::new();
    fixture.write("repo/packages/core/x.txt", "x");
    fixture.commit("package");
    let found = fixture.git.discover(&fixture.root().join("packages/core")).unwrap().unwrap();
    assert_eq!(found.repository.root, fixture.root());
    assert_eq!(found.prefix, std::path::Path::new("packages/core"));
    assert_eq!(found.branch.as_deref(), Some("main"));
    assert_eq!((found.dirty_files, found.sparse, found.shallow), (0, false, false));

    fixture.plain(&fixture.root(), &["checkout", "-q", "--detach"]);
    fixture.write("repo/a.txt", "changed");
    fixture.write("repo/untracked", "new");
    let found = fixture.found();
    assert_eq!((found.branch, found.dirty_files), (None, 2));
    let (tree, added) = fixture.tree("one");
    let inside = fixture.git.discover(&tree).unwrap().unwrap();
    assert_eq!(inside.repository.git_dir, added.git_dir);
    assert_eq!(inside.repository.common_dir, fixture.root().join(".git"));
}

#[test]
fn a_sparse_checkout_is_inherited_and_said() {
    let fixture = Fixture::new();
    fixture.write("repo/in/x.txt", "x");
    fixture.write("repo/out/y.txt", "y");
    fixture.commit("folders");
    fixture.plain(&fixture.root(), &["sparse-checkout", "set", "in"]);
    assert!(fixture.found().sparse);
    let (tree, _) = fixture.tree("one");
    assert!(tree.join("in/x.txt").exists());
    assert!(!tree.join("out/y.txt").exists());
}

#[test]
fn a_branch_called_like_the_prefix_gives_other_names() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    let name =
        |prefix: &str, name: &str| fixture.git.free_branch_name(&repository, prefix, name).unwrap();
    assert_eq!(name("coven", "otter"), "coven/otter");
    fixture.plain(&fixture.root(), &["branch", "coven/otter"]);
    assert_eq!(name("coven", "otter"), "coven/otter-2");
    assert_eq!(name("coven", "Otter"), "coven/Otter-2");
    fixture.plain(&fixture.root(), &["branch", "-D", "-q", "coven/otter"]);
    fixture.plain(&fixture.root(), &["branch", "coven"]);
    assert_eq!(name("coven", "otter"), "coven-otter");
}

#[test]
fn names_that_could_be_options_or_expressions_are_refused() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    for name in ["-f", "", "a..b", "a b", "x.lock", "a~1", "@{-1}", "a/", ".a", "HEAD", "a\nb"] {
        let tip = fixture.git.tip(&repository, name);
        assert!(matches!(tip, Err(Error::InvalidName { .. })), "{name:?}: {tip:?}");
    }
}

#[test]
fn references_move_only_from_where_they_are_expected() {
    let fixture = Fixture::new();
    let (repository, first) = (fixture.repository(), fixture.head());
    fixture.git.create_branch(&repository, "b", &first).unwrap();
    let again = fixture.git.create_branch(&repository, "b", &first);
    assert!(matches!(again, Err(Error::Moved { .. })), "{again:?}");
    fixture.write("repo/a.txt", "second");
    let second = fixture.commit("second");
    let update = |new, old| {
        fixture.git.update_reference(&repository, "refs/heads/b", new, Some(old), "test")
    };
    assert!(matches!(update(&second, &second), Err(Error::Moved { .. })));
    update(&second, &first).unwrap();
    let deleted = fixture.git.delete_branch(&repository, "b", &first);
    assert!(matches!(deleted, Err(Error::Moved { .. })), "{deleted:?}");
    fixture.git.delete_branch(&repository, "b", &second).unwrap();
    let main = fixture.git.delete_branch(&repository, "main", &second);
    assert!(matches!(main, Err(Error::BranchInUse { .. })), "{main:?}");
}

fn parallel(count: usize) {
    let fixture = Fixture::new();
    let (repository, head) = (fixture.repository(), fixture.head());
    std::thread::scope(|scope| {
        for number in 0..count {
            let (fixture, repository, head) = (&fixture, &repository, &head);
            scope.spawn(move || {
                let path = fixture.path(&format!("tree/{number}"));
                let branch = format!("coven/{number}");
                fixture.git.add_worktree(repository, &path, &branch, head).unwrap();
            });
        }
    });
    assert_eq!(fixture.git.worktrees(&repository).unwrap().len(), count + 1);
    let branches = fixture.plain(&fixture.root(), &["for-each-ref", "refs/heads/coven/"]);
    assert_eq!(branches.lines().count(), count);
}

#[test]
fn eight_trees_at_once_are_eight_trees() {
    parallel(8);
}

#[test]
fn fifty_trees_at_once_are_fifty_trees() {
    parallel(50);
}

#[test]
fn a_tree_is_made_while_the_configuration_is_locked() {
    let fixture = Fixture::new();
    std::fs::write(fixture.root().join(".git/config.lock"), "").unwrap();
    let (tree, _) = fixture.tree("one");
    assert!(tree.join("a.txt").exists());
}

#[test]
fn a_lock_that_is_let_go_is_waited_for_and_one_that_is_not_is_an_error_of_gits_words() {
    let fixture = Fixture::new();
    let (repository, head) = (fixture.repository(), fixture.head());
    let lock = fixture.root().join(".git/refs/heads/coven/one.lock");
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    OpenOptions::new().write(true).create_new(true).open(&lock).unwrap();
    let path = fixture.path("tree/one");
    let hasty = fixture.git.clone().with_deadline(Duration::from_secs(2));
    let result = hasty.add_worktree(&repository, &path, "coven/one", &head);
    let Err(Error::Failed { words, .. }) = result else { panic!("{result:?}") };
    assert!(words.contains("File exists"), "{words}");
    assert!(!path.exists());

    std::thread::scope(|scope| {
        let add = || fixture.git.add_worktree(&repository, &path, "coven/one", &head);
        let adding = scope.spawn(add);
        std::fs::remove_file(&lock).unwrap();
        adding.join().unwrap().unwrap();
    });
    assert!(path.join("a.txt").exists());
}

#[test]
fn asked_again_it_is_the_same_tree() {
    let fixture = Fixture::new();
    let (tree, first) = fixture.tree("one");
    std::fs::write(tree.join("work.txt"), "work").unwrap();
    fixture.commit_in(&tree, "work");
    let (_, second) = fixture.tree("one");
    assert!(second.existed);
    assert_eq!(second.git_dir, first.git_dir);
    assert!(tree.join("work.txt").exists());
}

#[test]
fn what_an_interrupted_attempt_left_is_finished_or_refused() {
    let fixture = Fixture::new();
    let (repository, head) = (fixture.repository(), fixture.head());
    let add = |name: &str| {
        let path = fixture.path(&format!("tree/{name}"));
        fixture.git.add_worktree(&repository, &path, &format!("coven/{name}"), &head)
    };
    // A branch without a folder, at the base.
    fixture.plain(&fixture.root(), &["branch", "coven/branch"]);
    add("branch").unwrap();
    // An empty folder without a registration.
    std::fs::create_dir(fixture.path("tree/empty")).unwrap();
    add("empty").unwrap();
    // A registration whose folder is gone.
    add("stale").unwrap();
    std::fs::remove_dir_all(fixture.path("tree/stale")).unwrap();
    assert!(!add("stale").unwrap().existed);
    assert!(fixture.path("tree/stale/a.txt").exists());
    // Somebody's files.
    fixture.write("tree/files/mine.txt", "mine");
    let refused = add("files");
    assert!(matches!(refused, Err(Error::PathTaken { .. })), "{refused:?}");
    assert!(fixture.path("tree/files/mine.txt").exists());
    assert!(!fixture.git.branch_exists(&repository, "coven/files").unwrap());
    // A branch with commits of its own.
    fixture.plain(&fixture.root(), &["branch", "coven/taken"]);
    fixture.write("repo/a.txt", "more");
    let more = fixture.commit("more");
    fixture.plain(&fixture.root(), &["branch", "-f", "coven/taken", more.as_str()]);
    let refused = add("taken");
    assert!(matches!(refused, Err(Error::BranchTaken { .. })), "{refused:?}");
    // A branch that is checked out elsewhere.
    fixture.plain(&fixture.root(), &["branch", "coven/busy", head.as_str()]);
    fixture.plain(&fixture.root(), &["worktree", "add", "-q", "../busy", "coven/busy"]);
    let refused = add("busy");
    assert!(matches!(refused, Err(Error::BranchInUse { .. })), "{refused:?}");
}

#[test]
fn a_checkout_that_was_killed_in_the_middle_is_finished() {
    let fixture = Fixture::new();
    let root = fixture.root();
    fixture.write("repo/.gitattributes", "*.slow filter=slow\n");
    fixture.write("repo/z.slow", "slow");
    fixture.commit("slow");
    let script = fixture.path("slow.sh");
    // It kills the git that started it, which so has no chance to clean up.
    std::fs::write(&script, "#!/bin/sh\nkill -9 0\n").unwrap();
    make_executable(&script);
    fixture.plain(&root, &["config", "filter.slow.smudge", script.to_str().unwrap()]);
    let (repository, head) = (fixture.repository(), fixture.head());
    let path = fixture.path("tree/one");
    let begin = || fixture.git.begin_worktree(&repository, &path, "coven/one", &head).unwrap();
    let inside = repository.in_worktree(&path, &begin().git_dir);
    let files = fixture.git.check_out_command(&inside, &fixture.allowed()).unwrap();
    let killed = fixture.git.run(&files);
    assert!(matches!(killed, Err(Error::Failed { .. })), "{killed:?}");
    assert!(path.join("a.txt").exists(), "half of it is there");
    fixture.plain(&root, &["config", "filter.slow.smudge", "cat"]);
    let again = begin();
    assert!(again.existed && again.is_empty);
    let files = fixture.git.check_out_command(&inside, &fixture.allowed()).unwrap();
    fixture.git.run(&files).unwrap();
    fixture.git.finish_worktree(&repository, &path).unwrap();
    assert!(!begin().is_empty);
    assert_eq!(std::fs::read(path.join("z.slow")).unwrap(), b"slow");
    assert_eq!(fixture.plain(&path, &["status", "--porcelain"]), "");
    let trees = fixture.git.worktrees(&repository).unwrap();
    assert!(trees.iter().all(|tree| tree.locked.is_none()), "{trees:?}");
}

#[test]
fn a_tree_with_work_in_it_is_not_removed() {
    let fixture = Fixture::new();
    let (tree, _) = fixture.tree("one");
    std::fs::write(tree.join("untracked"), "work").unwrap();
    let refused = fixture.git.remove_worktree(&fixture.repository(), &tree);
    assert!(matches!(refused, Err(Error::NotRemoved { .. })), "{refused:?}");
    std::fs::remove_file(tree.join("untracked")).unwrap();
    fixture.git.remove_worktree(&fixture.repository(), &tree).unwrap();
    assert!(!tree.exists());
    assert!(fixture.git.branch_exists(&fixture.repository(), "coven/one").unwrap());
    let main = fixture.git.remove_worktree(&fixture.repository(), &fixture.root());
    assert!(matches!(main, Err(Error::NotRegistered { .. })), "{main:?}");
}

#[test]
fn included_files_are_the_ignored_ones_that_the_list_names() {
    let fixture = Fixture::new();
    fixture.write("repo/.gitignore", ".env*\nlocal/\n*.tmp\n");
    fixture.write("repo/.worktreeinclude", ".env*\nlocal/\na.txt\nnotes.md\n");
    fixture.commit("lists");
    fixture.write("repo/.env", "SECRET=1");
    fixture.write("repo/local/certs/key.pem", "key");
    fixture.write("repo/local/huge", "x".repeat(1000));
    fixture.write("repo/notes.md", "untracked, not ignored");
    fixture.write("repo/x.tmp", "ignored, not named");
    std::os::unix::fs::symlink("/etc/passwd", fixture.root().join(".env.link")).unwrap();
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(fixture.root().join("local/certs/key.pem"), private).unwrap();
    let (tree, _) = fixture.tree("one");
    let copy = || {
        let list = ".worktreeinclude".as_ref();
        fixture.git.copy_included(&fixture.repository(), list, &tree, 500).unwrap()
    };
    let included = copy();
    let copied: Vec<_> = included.copied.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(copied, [".env", "local/certs/key.pem"]);
    let skipped: Vec<_> = included.skipped.iter().map(|one| one.path.to_str().unwrap()).collect();
    assert_eq!(skipped, [".env.link", "local/huge"]);
    let mode = tree.join("local/certs/key.pem").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::write(tree.join(".env"), "changed").unwrap();
    assert!(copy().copied.is_empty());
    assert_eq!(std::fs::read(tree.join(".env")).unwrap(), b"changed");
}
