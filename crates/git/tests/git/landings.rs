//! Landing without a checkout, and a person's checkout that nothing touches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use coven_git::{Commit, Error, Merged, Replayed};

use crate::fixture::{Fixture, hold};

/// A branch with commits that write files, from a start.
fn branch(fixture: &Fixture, name: &str, start: &Commit, writes: &[(&str, &str)]) -> Commit {
    let path = fixture.path(&format!("work/{name}"));
    let line = ["worktree", "add", "-q", "-b", name, path.to_str().unwrap(), start.as_str()];
    fixture.plain(&fixture.root(), &line);
    let mut tip = start.clone();
    for (file, text) in writes {
        std::fs::write(path.join(file), text).unwrap();
        tip = fixture.commit_in(&path, &format!("{file} of {name}\n\nWith a body."));
    }
    tip
}

#[test]
fn commits_are_replayed_with_author_date_and_message() {
    let fixture = Fixture::new();
    let base = fixture.head();
    let onto = branch(&fixture, "target", &base, &[("target.txt", "t")]);
    let path = fixture.path("work/topic");
    let tip = branch(&fixture, "topic", &base, &[("one.txt", "1"), ("two.txt", "2")]);
    let author = "--author=Zoë Author <zoe@example.invalid>";
    fixture.plain(
        &path,
        &["commit", "-q", "--amend", "--no-edit", author, "--date=@1000000000 +0230"],
    );
    let amended: Commit = fixture.plain(&path, &["rev-parse", "HEAD"]).parse().unwrap();
    assert_ne!(tip, amended);

    let repository = fixture.repository();
    let rebase = |onto: &Commit| {
        fixture.git.rebase_onto(&repository, onto, &base, &amended, "merge").unwrap()
    };
    let Replayed::Done { tip, commits, merged: false } = rebase(&onto) else { panic!() };
    assert_eq!(commits.len(), 2);
    let format = "--format=%an|%ae|%ad|%s|%b";
    let show = |commit: &Commit| {
        fixture.plain(&fixture.root(), &["log", "-1", "--date=raw", format, commit.as_str()])
    };
    assert_eq!(show(&tip), show(&amended));
    assert!(show(&tip).starts_with("Zoë Author|zoe@example.invalid|1000000000 +0230|two.txt of"));
    let files = fixture.plain(&fixture.root(), &["ls-tree", "--name-only", tip.as_str()]);
    assert_eq!(files.lines().collect::<Vec<_>>(), ["a.txt", "one.txt", "target.txt", "two.txt"]);
    let cherry = fixture.git.cherry(&repository, &tip, &amended).unwrap();
    assert!(cherry.iter().all(|one| one.landed) && cherry.len() == 2);
    // Again, there is nothing left to do.
    assert_eq!(rebase(&tip), Replayed::Done { tip: tip.clone(), commits: vec![], merged: false });
    assert!(fixture.git.is_ancestor(&repository, &onto, &tip).unwrap());
    assert!(!fixture.git.is_ancestor(&repository, &tip, &onto).unwrap());
    assert_eq!(fixture.git.merge_base(&repository, &onto, &amended).unwrap(), Some(base));
}

#[test]
fn a_branch_with_merges_lands_as_a_merge_and_a_squash_as_one_commit() {
    let fixture = Fixture::new();
    let base = fixture.head();
    let onto = branch(&fixture, "target", &base, &[("target.txt", "t")]);
    branch(&fixture, "side", &base, &[("side.txt", "s")]);
    branch(&fixture, "topic", &base, &[("one.txt", "1")]);
    let path = fixture.path("work/topic");
    fixture.plain(&path, &["merge", "-q", "--no-edit", "side"]);
    let tip: Commit = fixture.plain(&path, &["rev-parse", "HEAD"]).parse().unwrap();
    let repository = fixture.repository();
    let rebased = fixture.git.rebase_onto(&repository, &onto, &base, &tip, "Merge topic").unwrap();
    let Replayed::Done { tip: merge, merged: true, .. } = rebased else { panic!("{rebased:?}") };
    let parents = fixture.plain(&fixture.root(), &["log", "-1", "--format=%P", merge.as_str()]);
    assert_eq!(parents, format!("{onto} {tip}"));
    let squash = |onto: &Commit, since: &Commit, tip: &Commit| {
        fixture.git.squash_onto(&repository, onto, since, tip, "All of it").unwrap()
    };
    let Replayed::Done { tip: squashed, .. } = squash(&onto, &base, &tip) else { panic!() };
    let parents = fixture.plain(&fixture.root(), &["log", "-1", "--format=%P", squashed.as_str()]);
    assert_eq!(parents, onto.as_str());
    let again = squash(&squashed, &base, &tip);
    assert!(matches!(&again, Replayed::Done { tip, .. } if *tip == squashed), "{again:?}");
}

#[test]
fn what_came_after_a_squash_is_squashed_alone() {
    let fixture = Fixture::new();
    let base = fixture.head();
    let first = branch(&fixture, "topic", &base, &[("a.txt", "one\ntopic\nthree\n")]);
    let repository = fixture.repository();
    let squash = |onto: &Commit, since: &Commit, tip: &Commit| {
        fixture.git.squash_onto(&repository, onto, since, tip, "All of it").unwrap()
    };
    let Replayed::Done { tip: squashed, .. } = squash(&base, &base, &first) else { panic!() };
    // The target goes on in the same line; so does the topic, elsewhere.
    fixture.plain(&fixture.root(), &["checkout", "-q", "-b", "target", squashed.as_str()]);
    fixture.write("repo/a.txt", "one\nchanged later\nthree\n");
    let onto = fixture.commit("later");
    let topic = fixture.path("work/topic");
    std::fs::write(topic.join("more.txt"), "more\n").unwrap();
    let tip = fixture.commit_in(&topic, "more");
    let both = squash(&onto, &base, &tip);
    assert!(matches!(both, Replayed::Conflict { .. }), "the same change again: {both:?}");
    let Replayed::Done { tip: landed, .. } = squash(&onto, &first, &tip) else { panic!() };
    let paths = fixture.git.paths_between(&repository, &onto, &landed).unwrap();
    assert_eq!(paths, [PathBuf::from("more.txt")]);
    assert_eq!(fixture.git.commits_between(&repository, &onto, &landed).unwrap(), [landed]);
}

#[test]
fn conflicts_are_named_before_anything_is_touched() {
    let fixture = Fixture::new();
    let base = fixture.head();
    let ours = branch(&fixture, "ours", &base, &[("a.txt", "one\nours\nthree\n")]);
    let theirs = branch(&fixture, "theirs", &base, &[("a.txt", "one\ntheirs\nthree\n")]);
    let repository = fixture.repository();
    let merged = fixture.git.merge_tree(&repository, &ours, &theirs).unwrap();
    let Merged::Conflict { paths, messages } = merged else { panic!("{merged:?}") };
    assert_eq!(paths, [PathBuf::from("a.txt")]);
    assert!(messages.iter().any(|words| words.contains("CONFLICT (content)")), "{messages:?}");
    let rebased = fixture.git.rebase_onto(&repository, &ours, &base, &theirs, "merge").unwrap();
    assert!(matches!(&rebased, Replayed::Conflict { commit, .. } if *commit == theirs));
}

#[test]
fn a_file_that_both_sides_renamed_is_a_conflict_of_three_paths() {
    let fixture = Fixture::new();
    let base = fixture.head();
    let renamed = |name: &str| {
        branch(&fixture, name, &base, &[]);
        let path = fixture.path(&format!("work/{name}"));
        fixture.plain(&path, &["mv", "a.txt", &format!("{name}.txt")]);
        fixture.commit_in(&path, "rename")
    };
    let (ours, theirs) = (renamed("ours"), renamed("theirs"));
    let merged = fixture.git.merge_tree(&fixture.repository(), &ours, &theirs).unwrap();
    let Merged::Conflict { paths, messages } = merged else { panic!("{merged:?}") };
    assert_eq!(paths, ["a.txt", "ours.txt", "theirs.txt"].map(PathBuf::from));
    assert!(messages.iter().any(|words| words.contains("rename/rename")), "{messages:?}");
}

#[test]
fn a_clean_checkout_moves_forward_and_a_dirty_one_is_left_alone() {
    let fixture = Fixture::new();
    let base = fixture.head();
    let tip = branch(&fixture, "topic", &base, &[("a.txt", "new\n")]);
    let repository = fixture.repository();
    let forward = || fixture.git.fast_forward(&repository, "main", &base, &tip);
    fixture.write("repo/a.txt", "mine");
    fixture.write("repo/folder/other.txt", "mine");
    let refused = forward();
    assert!(
        matches!(&refused, Err(Error::Dirty { paths, .. }) if paths == &[PathBuf::from("a.txt")])
    );
    let asked = ["a.txt", "b.txt", "folder/other.txt"].map(PathBuf::from);
    let overlap = fixture.git.dirty_among(&repository, &asked).unwrap();
    assert_eq!(overlap, ["a.txt", "folder/other.txt"].map(PathBuf::from));
    fixture.plain(&fixture.root(), &["checkout", "-q", "a.txt"]);
    // An untracked file that is not in the way is none of our business.
    forward().unwrap();
    assert_eq!(std::fs::read(fixture.root().join("a.txt")).unwrap(), b"new\n");
    assert_eq!(fixture.head(), tip);
    let again = forward();
    assert!(matches!(again, Err(Error::Moved { .. })), "{again:?}");
    let main = fixture.git.worktree_of_branch(&repository, "main").unwrap().unwrap();
    assert_eq!(fixture.git.repository_at(&repository, &main).unwrap(), repository);
}

/// Every byte of a checkout and of its own state in the git dir.
fn state(fixture: &Fixture) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(folder: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().unwrap() != ".git" {
                walk(&path, into);
            } else if path.is_file() {
                into.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(&fixture.root(), &mut files);
    let git = fixture.root().join(".git");
    for name in ["index", "HEAD", "config", "logs/HEAD", "logs/refs/heads/main", "refs/stash"] {
        files.insert(git.join(name), std::fs::read(git.join(name)).unwrap());
    }
    files
}

#[test]
fn a_dirty_checkout_is_byte_for_byte_the_same_after_everything() {
    let fixture = Fixture::new();
    fixture.write("repo/.gitignore", ".env\n");
    fixture.write("repo/b.txt", "b");
    let base = fixture.commit("more");
    fixture.write("repo/b.txt", "stashed");
    fixture.plain(&fixture.root(), &["stash", "-q"]);
    fixture.write("repo/a.txt", "dirty");
    fixture.write("repo/staged.txt", "staged");
    fixture.plain(&fixture.root(), &["add", "staged.txt"]);
    fixture.write("repo/untracked.txt", "untracked");
    fixture.write("repo/.env", "secret");
    fixture.write("repo/.worktreeinclude", ".env\n");
    let before = state(&fixture);

    let (tree, added) = fixture.tree("one");
    let repository = fixture.repository();
    let list = ".worktreeinclude".as_ref();
    fixture.git.copy_included(&repository, list, &tree, 1 << 20).unwrap();
    let mirror = fixture.mirror();
    let baseline = hold(&mirror, &tree, &base);
    for name in ["a.txt", "b.txt"] {
        std::fs::write(tree.join(name), "agent").unwrap();
    }
    let held = hold(&mirror, &tree, &baseline.commit);
    mirror.changes(&baseline.commit, &held.commit).unwrap();
    let tip = fixture.commit_in(&tree, "agent");
    let merged = fixture.git.rebase_onto(&repository, &base, &base, &tip, "merge").unwrap();
    assert!(matches!(merged, Replayed::Done { .. }));
    fixture.git.create_branch(&repository, "landed", &tip).unwrap();
    assert!(fixture.git.fast_forward(&repository, "main", &base, &tip).is_err());
    let inside = repository.in_worktree(&tree, &added.git_dir);
    fixture.git.dirty_paths(&inside).unwrap();
    std::fs::remove_file(tree.join(".env")).unwrap();
    fixture.git.remove_worktree(&repository, &tree).unwrap();
    fixture.git.delete_branch(&repository, "coven/one", &tip).unwrap();

    let after = state(&fixture);
    let changed: Vec<_> =
        before.keys().chain(after.keys()).filter(|k| before.get(*k) != after.get(*k)).collect();
    assert!(changed.is_empty(), "{changed:?}");
    let fsck = fixture.naive(&fixture.root(), &["fsck", "--strict"]);
    assert!(fsck.status.success());
}

/// Naive: a call for each pair of them.
#[test]
fn which_commits_are_on_which_branches_is_known_at_once() {
    let fixture = Fixture::new();
    let first = fixture.head();
    fixture.write("repo/a.txt", "second\n");
    let base = fixture.commit("second");
    let topic = branch(&fixture, "topic", &base, &[("one.txt", "1"), ("two.txt", "2")]);
    let other = branch(&fixture, "other", &base, &[("three.txt", "3")]);
    fixture.plain(&fixture.root(), &["merge", "-q", "--no-ff", "--no-edit", "topic"]);
    let main = fixture.head();
    let repository = fixture.repository();
    let names = ["main", "topic", "other", "none"].map(str::to_owned).into();
    let missing: Commit = "1".repeat(40).parse().unwrap();
    let bases = [base.clone(), missing.clone()].into();
    let history = fixture.git.branch_history(&repository, &names, &bases).unwrap();
    assert_eq!(history.tip("topic"), Some(&topic));
    assert_eq!(history.tip("none"), None);
    let mut known = 0;
    let all = [&first, &base, &topic, &other, &main];
    for (older, newer) in all.into_iter().flat_map(|one| all.map(|other| (one, other))) {
        let Some(is_in) = history.is_ancestor(older, newer) else { continue };
        known += 1;
        let asked = fixture.git.is_ancestor(&repository, older, newer).unwrap();
        assert_eq!(is_in, asked, "{older} {newer}");
    }
    // What is above the base is known, and the base itself.
    assert!(known >= 14, "{known}");
    assert_eq!(history.is_ancestor(&topic, &main), Some(true));
    assert_eq!(history.is_ancestor(&other, &main), Some(false));
    assert_eq!(history.is_ancestor(&base, &other), Some(true));
    assert_eq!(history.is_ancestor(&missing, &main), None);
}

/// Naive: git's list has a name that it would give to the file, `x~` and a commit.
#[test]
fn a_conflict_of_a_file_with_a_folder_or_a_link_names_the_path_that_both_have() {
    let fixture = Fixture::new();
    let base = fixture.head();
    let file = branch(&fixture, "file", &base, &[("x", "1"), ("y", "1")]);
    let folder = branch(&fixture, "folder", &base, &[]);
    let path = fixture.path("work/folder");
    std::fs::create_dir(path.join("x")).unwrap();
    std::fs::write(path.join("x/inner"), "2").unwrap();
    std::os::unix::fs::symlink("a.txt", path.join("y")).unwrap();
    assert_ne!(fixture.commit_in(&path, "others"), folder);
    let folder: Commit = fixture.plain(&path, &["rev-parse", "HEAD"]).parse().unwrap();
    let repository = fixture.repository();
    for (ours, theirs) in [(&file, &folder), (&folder, &file)] {
        let merged = fixture.git.merge_tree(&repository, ours, theirs).unwrap();
        let Merged::Conflict { paths, messages } = merged else { panic!() };
        assert_eq!(paths, [PathBuf::from("x"), PathBuf::from("y")]);
        assert!(messages.iter().all(|message| !message.contains('~')), "{messages:?}");
    }
}
