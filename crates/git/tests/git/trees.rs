//! Trees held, compared and brought back: exact bytes of every kind of file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use coven_git::Error;
use coven_git::mirror::{
    ChangeStatus, CommittedState, FileDiff, LineKind, NotHeldReason, RestoreRequest,
};

use crate::fixture::{Fixture, hold, hold_as, make_executable};

#[test]
fn a_tree_is_made_held_compared_and_restored() {
    let fixture = Fixture::new();
    let (tree, added) = fixture.tree("one");
    assert!(!added.existed);
    assert!(added.git_dir.starts_with(fixture.root().join(".git/worktrees")));
    let mirror = fixture.mirror();
    let baseline = hold(&mirror, &tree, &fixture.head());
    assert_eq!(baseline.files_changed, 0);

    std::fs::write(tree.join("a.txt"), "one\n2\nthree\n").unwrap();
    std::fs::write(tree.join("new.sh"), "echo").unwrap();
    make_executable(&tree.join("new.sh"));
    std::os::unix::fs::symlink("/etc/passwd", tree.join("link")).unwrap();
    let held = hold(&mirror, &tree, &baseline.commit);
    assert_eq!(held.files_changed, 3);
    let changes = mirror.changes(&baseline.commit, &held.commit).unwrap();
    let names: Vec<_> =
        changes.iter().map(|file| (file.path.to_str().unwrap(), file.status)).collect();
    let wanted = [
        ("a.txt", ChangeStatus::Modified),
        ("link", ChangeStatus::Added),
        ("new.sh", ChangeStatus::Added),
    ];
    assert_eq!(names, wanted);
    assert_eq!((changes[0].added, changes[0].removed), (1, 1));
    assert!(changes[1].symlink);
    assert_eq!(changes[2].new_mode, "100755");

    let diff = mirror.file_diff(&baseline.commit, &held.commit, "a.txt".as_ref(), None).unwrap();
    let FileDiff::Lines(hunks) = diff else { panic!("{diff:?}") };
    let kinds: Vec<_> = hunks[0].lines.iter().map(|line| (line.kind, line.old, line.new)).collect();
    assert_eq!(kinds[1], (LineKind::Removed, Some(2), None));
    assert_eq!(kinds[2], (LineKind::Added, None, Some(2)));

    let into = fixture.path("back");
    std::fs::create_dir(&into).unwrap();
    std::fs::write(into.join("a.txt"), "mine").unwrap();
    let request =
        RestoreRequest { checkpoint: &held.commit, into: &into, only: None, overwrite: false };
    let restored = mirror.restore(&request).unwrap();
    assert_eq!(restored.kept, [PathBuf::from("a.txt")]);
    assert_eq!(restored.written, [PathBuf::from("link"), PathBuf::from("new.sh")]);
    assert_eq!(std::fs::read(into.join("a.txt")).unwrap(), b"mine");
    assert_eq!(std::fs::read_link(into.join("link")).unwrap(), PathBuf::from("/etc/passwd"));
}

#[test]
fn any_file_name_is_held_and_restored() {
    let fixture = Fixture::new();
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    let names: [&[u8]; 9] = [
        b"new\nline",
        b"quo\"te",
        b"back\\slash",
        b"tab\there",
        b"\xff\xfe",
        b"-rf",
        b":(glob)*",
        b" spaces ",
        b"sp\xc3\xa4t.txt",
    ];
    for name in names {
        std::fs::write(tree.join(OsStr::from_bytes(name)), name).unwrap();
    }
    let held = hold(&mirror, &tree, &fixture.head());
    assert_eq!(held.files_changed, names.len());
    let changes = mirror.changes(&fixture.head(), &held.commit).unwrap();
    for name in names {
        let path = PathBuf::from(OsStr::from_bytes(name));
        let change = changes.iter().find(|change| change.path == path).unwrap();
        assert_eq!(change.status, ChangeStatus::Added);
        let diff = mirror.file_diff(&fixture.head(), &held.commit, &path, None).unwrap();
        let FileDiff::Lines(hunks) = diff else { panic!("{diff:?}") };
        assert!(!hunks.is_empty(), "{path:?}");
    }
    let into = fixture.path("back");
    std::fs::create_dir(&into).unwrap();
    let request =
        RestoreRequest { checkpoint: &held.commit, into: &into, only: None, overwrite: false };
    assert_eq!(mirror.restore(&request).unwrap().written.len(), names.len() + 1);
    for name in names {
        assert_eq!(std::fs::read(into.join(OsStr::from_bytes(name))).unwrap(), name);
    }
}

#[test]
fn what_cannot_be_held_is_named_and_what_is_ignored_is_not() {
    let fixture = Fixture::new();
    fixture.write("repo/.gitignore", "*.log\nbuild/\n");
    fixture.write("repo/build/kept.txt", "tracked though ignored");
    fixture.plain(&fixture.root(), &["add", "-f", "build/kept.txt"]);
    fixture.commit("ignore");
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    let baseline = hold(&mirror, &tree, &fixture.head());
    assert_eq!(baseline.files_changed, 0);
    std::fs::write(tree.join("x.log"), "x").unwrap();
    std::fs::write(tree.join("build/out.o"), "x").unwrap();
    std::fs::write(tree.join("build/kept.txt"), "changed").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.join("socket")).unwrap();
    std::fs::create_dir(tree.join(".GIT")).unwrap();
    let held = hold(&mirror, &tree, &baseline.commit);
    let changes = mirror.changes(&baseline.commit, &held.commit).unwrap();
    let names: Vec<_> = changes.iter().map(|file| file.path.to_str().unwrap()).collect();
    assert_eq!(names, ["build/kept.txt"]);
    let reasons: Vec<_> = held.not_held.iter().map(|one| one.reason.clone()).collect();
    assert_eq!(reasons, [NotHeldReason::Name, NotHeldReason::Special]);
}

/// Naive: the same second, the same size: a comparison by size and seconds sees no change.
#[test]
fn a_file_that_changed_right_after_a_checkpoint_is_held_again() {
    let fixture = Fixture::new();
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    let mut parent = hold(&mirror, &tree, &fixture.head()).commit;
    for number in 0..20 {
        std::fs::write(tree.join("a.txt"), format!("{number:08}")).unwrap();
        let held = hold(&mirror, &tree, &parent);
        assert_eq!(held.files_changed, 1, "round {number}");
        parent = held.commit;
    }
}

#[test]
fn files_folders_and_links_may_take_each_others_place() {
    let fixture = Fixture::new();
    fixture.write("repo/thing/inner.txt", "inner");
    fixture.commit("folder");
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    let baseline = hold(&mirror, &tree, &fixture.head());
    std::fs::remove_dir_all(tree.join("thing")).unwrap();
    std::fs::write(tree.join("thing"), "now a file").unwrap();
    std::fs::remove_file(tree.join("a.txt")).unwrap();
    std::os::unix::fs::symlink("thing", tree.join("a.txt")).unwrap();
    let held = hold(&mirror, &tree, &baseline.commit);
    let changes = mirror.changes(&baseline.commit, &held.commit).unwrap();
    let seen: Vec<_> = changes.iter().map(|f| (f.path.to_str().unwrap(), f.status)).collect();
    let wanted = [
        ("a.txt", ChangeStatus::TypeChanged),
        ("thing", ChangeStatus::Added),
        ("thing/inner.txt", ChangeStatus::Deleted),
    ];
    assert_eq!(seen, wanted);
    std::fs::remove_file(tree.join("thing")).unwrap();
    std::fs::create_dir(tree.join("thing")).unwrap();
    std::fs::write(tree.join("thing/inner.txt"), "inner").unwrap();
    let again = hold(&mirror, &tree, &held.commit);
    assert_eq!(mirror.changes(&baseline.commit, &again.commit).unwrap().len(), 1);
}

#[test]
fn the_same_files_are_the_same_commit_whenever_they_are_looked_at() {
    let fixture = Fixture::new();
    fixture.write("repo/file", "one\n");
    let base = fixture.commit("one");
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    let now = mirror.present(&tree, Some(&base), None).unwrap();
    let folder = fixture.path("state/mirror");
    // A time of the look would make another commit of the same files a second later.
    assert_eq!(fixture.plain(&folder, &["show", "-s", "--format=%at %ct", now.as_str()]), "0 0");
    assert_eq!(mirror.present(&tree, Some(&base), None).unwrap(), now);
    std::fs::write(tree.join("file"), "two\n").unwrap();
    assert_ne!(mirror.present(&tree, Some(&base), None).unwrap(), now);
}

#[test]
fn line_ends_and_filters_show_no_change_against_the_first_checkpoint() {
    let fixture = Fixture::new();
    // As LFS does it: what is committed is not what is in the folder.
    fixture.plain(&fixture.root(), &["config", "filter.shout.clean", "tr A-Z a-z"]);
    fixture.plain(&fixture.root(), &["config", "filter.shout.smudge", "tr a-z A-Z"]);
    fixture.write("repo/.gitattributes", "*.big filter=shout\n*.txt text=auto eol=crlf\n");
    fixture.write("repo/data.big", "CONTENT\n");
    fixture.write("repo/lines.txt", "one\r\ntwo\r\n");
    let base = fixture.commit("filters");
    assert_eq!(fixture.plain(&fixture.root(), &["show", "HEAD:data.big"]), "content");
    let (tree, _) = fixture.tree("one");
    assert_eq!(std::fs::read(tree.join("data.big")).unwrap(), b"CONTENT\n");
    let mirror = fixture.mirror();
    let baseline = hold(&mirror, &tree, &base);
    let now = mirror.present(&tree, Some(&baseline.commit), None).unwrap();
    assert_eq!(mirror.changes(&baseline.commit, &now).unwrap(), []);
    let states = [CommittedState { checkpoint: &baseline.commit, commit: &base }];
    assert!(mirror.uncommitted(&tree, &base, &states).unwrap().is_empty());

    std::fs::write(tree.join("data.big"), "OTHER\n").unwrap();
    std::fs::write(tree.join("lines.txt"), "one\r\n2\r\n").unwrap();
    std::fs::write(tree.join("extra"), "untracked").unwrap();
    let open = mirror.uncommitted(&tree, &base, &states).unwrap();
    assert_eq!(open, ["data.big", "extra", "lines.txt"].map(PathBuf::from));
    let tip = fixture.commit_in(&tree, "changed");
    mirror.take_in(&fixture.repository(), &tip).unwrap();
    let after = hold_as(&mirror, &tree, Some(&baseline.commit), "refs/coven/after");
    let states = [CommittedState { checkpoint: &after.commit, commit: &tip }];
    assert!(mirror.uncommitted(&tree, &tip, &states).unwrap().is_empty());
    // Against another commit, a file that is the same in both shows no change either.
    fixture.write("repo/more.txt", "more\n");
    let target = fixture.commit("more");
    mirror.take_in(&fixture.repository(), &target).unwrap();
    let state = CommittedState { checkpoint: &baseline.commit, commit: &base };
    let there = mirror.as_checked_out(&target, &state).unwrap();
    let changes = mirror.changes(&there, &now).unwrap();
    let names: Vec<_> = changes.iter().map(|file| file.path.to_str().unwrap()).collect();
    assert_eq!(names, ["more.txt"]);
    assert_eq!(mirror.as_checked_out(&base, &state).unwrap(), baseline.commit);
    // Without that state nobody can know that the filter made the one of the other.
    let unknown = mirror.uncommitted(&tree, &tip, &[]).unwrap();
    assert_eq!(unknown, [PathBuf::from("data.big")]);
}

#[test]
fn large_and_binary_files_are_held_and_not_shown_as_lines() {
    let fixture = Fixture::new();
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    let large: Vec<u8> =
        (0..40_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(tree.join("large.bin"), &large).unwrap();
    std::fs::write(tree.join("long.txt"), "line\n".repeat(200_000)).unwrap();
    std::fs::write(tree.join("zero.bin"), b"a\0b").unwrap();
    let base = fixture.head();
    let held = hold(&mirror, &tree, &base);
    let changes = mirror.changes(&base, &held.commit).unwrap();
    let seen: Vec<_> = changes.iter().map(|file| (file.binary, file.too_large)).collect();
    assert_eq!(seen, [(true, true), (false, true), (true, false)]);
    let diff = |path: &str| mirror.file_diff(&base, &held.commit, path.as_ref(), None).unwrap();
    assert_eq!(diff("long.txt"), FileDiff::TooLarge);
    assert_eq!(diff("zero.bin"), FileDiff::Binary);
    let into = fixture.path("back");
    std::fs::create_dir(&into).unwrap();
    let request =
        RestoreRequest { checkpoint: &held.commit, into: &into, only: None, overwrite: false };
    mirror.restore(&request).unwrap();
    assert!(std::fs::read(into.join("large.bin")).unwrap() == large);
}

#[test]
fn a_renamed_file_is_one_change() {
    let fixture = Fixture::new();
    fixture.write("repo/long.txt", (0..50).map(|n| format!("line {n}\n")).collect::<String>());
    fixture.commit("long");
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    let baseline = hold(&mirror, &tree, &fixture.head());
    std::fs::rename(tree.join("long.txt"), tree.join("moved.txt")).unwrap();
    let text = std::fs::read_to_string(tree.join("moved.txt")).unwrap();
    std::fs::write(tree.join("moved.txt"), text.replace("line 7\n", "line seven\n")).unwrap();
    make_executable(&tree.join("a.txt"));
    let held = hold(&mirror, &tree, &baseline.commit);
    let changes = mirror.changes(&baseline.commit, &held.commit).unwrap();
    assert_eq!(changes.len(), 2);
    assert!(changes[0].mode_changed());
    assert_eq!(changes[1].status, ChangeStatus::Renamed);
    assert_eq!(changes[1].old_path.as_deref(), Some("long.txt".as_ref()));
    assert_eq!((changes[1].added, changes[1].removed), (1, 1));
    let old = Some("long.txt".as_ref());
    let diff = mirror.file_diff(&baseline.commit, &held.commit, "moved.txt".as_ref(), old).unwrap();
    let FileDiff::Lines(hunks) = diff else { panic!("{diff:?}") };
    assert_eq!(hunks.len(), 1);
    assert_eq!(hunks[0].lines.len(), 8);
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_no_change() {
    let fixture = Fixture::new();
    for name in ["in/a.txt", "out/b.txt"] {
        fixture.write(&format!("repo/{name}"), name);
    }
    let base = fixture.commit("folders");
    fixture.plain(&fixture.root(), &["sparse-checkout", "set", "in"]);
    let (tree, _) = fixture.tree("one");
    assert!(!tree.join("out").exists(), "the trap itself must be there");
    let mirror = fixture.mirror();
    let first = hold(&mirror, &tree, &base).commit;
    let state = CommittedState { checkpoint: &first, commit: &base };
    assert!(mirror.uncommitted(&tree, &base, &[state]).unwrap().is_empty());
    std::fs::write(tree.join("in/a.txt"), "changed").unwrap();
    let tip = fixture.commit_in(&tree, "changed");
    let repository = fixture.repository();
    mirror.take_in(&repository, &tip).unwrap();
    assert!(mirror.uncommitted(&tree, &tip, &[state]).unwrap().is_empty());
    let now = mirror.present(&tree, Some(&first), Some(&tip)).unwrap();
    let there = mirror.as_checked_out(&tip, &state).unwrap();
    assert_eq!(mirror.changes(&there, &now).unwrap(), []);
    assert_eq!(mirror.changes(&first, &now).unwrap().len(), 1);
    let paths = fixture.git.paths_between(&repository, &base, &tip).unwrap();
    assert_eq!(paths, [PathBuf::from("in/a.txt")], "nothing was deleted");
}

#[test]
fn a_tree_for_a_checkpoint_has_its_files_and_the_index_of_its_base() {
    let fixture = Fixture::new();
    fixture.write("repo/gone.txt", "deleted by the agent\n");
    let base = fixture.commit("gone");
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    std::fs::remove_file(tree.join("gone.txt")).unwrap();
    std::fs::write(tree.join("new.txt"), "new").unwrap();
    let held = hold(&mirror, &tree, &base);
    let into = fixture.path("tree/restored");
    let (repository, git) = (fixture.repository(), &fixture.git);
    git.add_worktree_without_files(&repository, &into, "coven/restored", &base).unwrap();
    let request =
        RestoreRequest { checkpoint: &held.commit, into: &into, only: None, overwrite: false };
    mirror.restore(&request).unwrap();
    let status = fixture.plain(&into, &["status", "--porcelain"]);
    assert_eq!(status, " D gone.txt\n?? new.txt");
    let again = git.add_worktree_without_files(&repository, &into, "coven/other", &base);
    assert!(matches!(again, Err(Error::PathTaken { .. })), "{again:?}");
    let path = fixture.path("tree/more");
    let again = git.add_worktree_without_files(&repository, &path, "coven/restored", &base);
    assert!(matches!(again, Err(Error::BranchTaken { .. })), "{again:?}");

    let refused = git.remove_worktree(&repository, &into);
    assert!(matches!(refused, Err(Error::NotRemoved { .. })), "{refused:?}");
    git.remove_worktree_with_changes(&repository, &into).unwrap();
    assert!(!into.exists());
    assert!(git.branch_exists(&repository, "coven/restored").unwrap());
}

#[test]
fn a_submodule_keeps_its_commit_and_its_files_are_said_not_to_be_held() {
    let fixture = Fixture::new();
    let other = fixture.path("other");
    std::fs::create_dir(&other).unwrap();
    fixture.plain(&other, &["init", "-q", "-b", "main"]);
    std::fs::write(other.join("inner.txt"), "x").unwrap();
    fixture.commit_in(&other, "inner");
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q"];
    fixture.plain(&fixture.root(), &[&add[..], &[other.to_str().unwrap(), "sub"]].concat());
    fixture.commit("submodule");
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    let baseline = hold(&mirror, &tree, &fixture.head());
    assert_eq!((baseline.files_changed, baseline.not_held.len()), (0, 0));
    std::fs::write(tree.join("sub/.git"), "gitdir: elsewhere\n").unwrap();
    std::fs::write(tree.join("sub/inner.txt"), "x").unwrap();
    let held = hold(&mirror, &tree, &baseline.commit);
    assert_eq!(held.files_changed, 0);
    assert_eq!(held.not_held[0].reason, NotHeldReason::Submodule);
}

/// Naive: what is below the path of a submodule belongs to it, checked out or not.
#[test]
fn files_in_the_folder_of_a_submodule_that_is_not_checked_out_are_held() {
    let fixture = Fixture::new();
    let gitlink = format!("160000,{},sub", fixture.head());
    fixture.plain(&fixture.root(), &["update-index", "--add", "--cacheinfo", &gitlink]);
    fixture.plain(&fixture.root(), &["commit", "-q", "-m", "submodule"]);
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    let baseline = hold(&mirror, &tree, &fixture.head());
    assert_eq!((baseline.files_changed, baseline.not_held.len()), (0, 0));
    std::fs::write(tree.join("sub/notes.txt"), "x").unwrap();
    let held = hold(&mirror, &tree, &baseline.commit);
    assert_eq!((held.files_changed, held.not_held.len()), (2, 0), "instead of the submodule");
    let open = mirror.uncommitted(&tree, &fixture.head(), &[]).unwrap();
    assert_eq!(open, [PathBuf::from("sub"), PathBuf::from("sub/notes.txt")]);
    std::fs::remove_file(tree.join("sub/notes.txt")).unwrap();
    let tip = fixture.head();
    let now = mirror.present(&tree, Some(&held.commit), Some(&tip)).unwrap();
    assert!(mirror.has_same_files(&now, &baseline.commit).unwrap());
}
