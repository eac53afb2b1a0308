//! Trees made, held, compared, brought back and landed.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use coven_git::mirror::{ChangeStatus, FileDiff, LineKind, NotHeldReason, RestoreRequest};
use coven_git::{Error, ExecutableConfig, Merged, Replayed};

use crate::fixture::{Fixture, hold_as, make_executable};

#[test]
fn a_tree_is_made_held_compared_and_restored() {
    let fixture = Fixture::new();
    let (tree, added) = fixture.tree("one");
    assert!(!added.existed && added.neutralised.is_empty());
    assert!(added.git_dir.starts_with(fixture.root().join(".git/worktrees")));
    let mirror = fixture.mirror();
    let baseline = fixture.hold(&mirror, &tree, &fixture.head());
    assert_eq!(baseline.files_changed, 0);

    std::fs::write(tree.join("a.txt"), "one\n2\nthree\n").unwrap();
    std::fs::write(tree.join("new.sh"), "echo").unwrap();
    make_executable(&tree.join("new.sh"));
    std::os::unix::fs::symlink("/etc/passwd", tree.join("link")).unwrap();
    let held = fixture.hold(&mirror, &tree, &baseline.commit);
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
