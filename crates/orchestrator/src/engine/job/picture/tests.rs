//! Pictures of folders that change.

use std::fs::{File, FileTimes, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use super::*;
use crate::engine::job::look::LookReason;

fn look() -> FolderLook {
    FolderLook::new(LookReason::Before)
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("src/deep")).unwrap();
    for name in ["a.txt", "src/b.txt", "src/deep/c.txt"] {
        fs::write(folder.path().join(name), name).unwrap();
    }
    folder
}

fn take(folder: &Path) -> FolderMetadata {
    FolderMetadata::take(folder, &BTreeSet::new(), &look())
}

fn set_time(path: &Path, time: SystemTime) {
    File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

#[test]
fn how_far_a_look_is_can_be_read_while_it_lasts() {
    let folder = folder();
    let slot = crate::engine::job::runner_slot::RunnerSlot::default();
    let before = slot.show_look(&look(), |look| {
        let said = || slot.look_words().unwrap();
        assert_eq!(said(), "notes how 0 files are before it begins");
        let before = FolderMetadata::take(folder.path(), &BTreeSet::new(), look);
        assert_eq!(said(), "notes how 5 files are before it begins");
        before
    });
    assert_eq!(slot.look_words(), None);
    slot.show_look(&FolderLook::new(LookReason::After), |look| {
        assert_eq!(FolderMetadata::take(folder.path(), &BTreeSet::new(), look), before);
        let said = slot.look_words().unwrap();
        assert_eq!(said, "compares 5 files with how they were before it");
    });
}

#[test]
fn nothing_differs_where_nothing_happened() {
    let folder = folder();
    let before = take(folder.path());
    fs::read(folder.path().join("a.txt")).unwrap();
    assert_eq!(before.differences(&take(folder.path()), true), [] as [&str; 0]);
    assert_eq!(before.differences(&take(folder.path()), false), [] as [&str; 0]);
}

#[test]
fn modes_and_times_are_seen_also_when_they_were_set_back() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::set_permissions(path("a.txt"), Permissions::from_mode(0o644)).unwrap();
    let modified = fs::metadata(path("src/deep/c.txt")).unwrap().modified().unwrap();
    let before = take(folder.path());
    fs::set_permissions(path("a.txt"), Permissions::from_mode(0o600)).unwrap();
    set_time(&path("src/b.txt"), SystemTime::UNIX_EPOCH + Duration::from_secs(9));
    set_time(&path("src/deep/c.txt"), SystemTime::UNIX_EPOCH);
    set_time(&path("src/deep/c.txt"), modified);
    assert_eq!(
        before.differences(&take(folder.path()), true),
        [
            "a.txt (mode 644 to 600)",
            "src/b.txt (times)",
            "src/deep/c.txt (attributes, or something that was set back)"
        ]
    );
}

#[test]
fn what_others_write_is_not_told_of_a_job_that_cannot_write() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let before = take(folder.path());
    fs::write(path("a.txt"), "longer than it was").unwrap();
    fs::write(path("src/new.txt"), "x").unwrap();
    fs::remove_file(path("src/deep/c.txt")).unwrap();
    let after = take(folder.path());
    assert_eq!(before.differences(&after, true), [] as [&str; 0]);
    // Where nothing keeps the job from writing, it may have been the job.
    assert_eq!(
        before.differences(&after, false),
        ["a.txt (content)", "src/deep/c.txt (gone)", "src/new.txt (new)"]
    );
}

#[test]
fn a_picture_is_the_same_after_it_was_written_and_read() {
    let folder = folder();
    let odd = std::ffi::OsStr::from_bytes(b"odd \xff\nname");
    fs::write(folder.path().join(odd), "x").unwrap();
    let picture = take(folder.path());
    let kept = tempfile::tempdir().unwrap();
    let file = fs::canonicalize(kept.path()).unwrap().join(FILE);
    let attempt = OpenFolder::open_without_links(file.parent().unwrap()).unwrap();
    picture.save(&attempt).unwrap();
    assert_eq!(FolderMetadata::load(&attempt), Some(picture.clone()));
    fs::set_permissions(folder.path().join(odd), Permissions::from_mode(0o600)).unwrap();
    let [told] = &picture.differences(&take(folder.path()), true)[..] else { panic!("not one") };
    assert!(told.starts_with("odd \u{fffd}\u{fffd}name (mode"), "{told}");
    fs::write(&file, "something else").unwrap();
    assert_eq!(FolderMetadata::load(&attempt), None);
}

#[test]
fn a_picture_is_neither_read_nor_written_through_a_link() {
    let root = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(root.path()).unwrap();
    let victim = root.join("victim");
    let picture = take(&root);
    for is_symbolic in [true, false] {
        let path = root.join(format!("attempt-{is_symbolic}"));
        fs::create_dir(&path).unwrap();
        fs::write(&victim, "not yours").unwrap();
        for name in [FILE, DRAFT] {
            if is_symbolic {
                std::os::unix::fs::symlink(&victim, path.join(name)).unwrap();
            } else {
                fs::hard_link(&victim, path.join(name)).unwrap();
            }
        }
        let attempt = OpenFolder::open_without_links(&path).unwrap();
        picture.save(&attempt).unwrap();
        assert_eq!(FolderMetadata::load(&attempt), Some(picture.clone()));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "not yours");
        fs::rename(path.join(FILE), root.join("moved")).unwrap();
        std::os::unix::fs::symlink(root.join("moved"), path.join(FILE)).unwrap();
        assert_eq!(FolderMetadata::load(&attempt), None);
    }
}

#[test]
fn what_is_left_out_is_not_looked_at() {
    let folder = folder();
    fs::create_dir_all(folder.path().join(".git/objects/ab")).unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    let picture = FolderMetadata::take(&root, &BTreeSet::from([root.join("src")]), &look());
    let paths: Vec<&str> =
        picture.entries.keys().filter_map(|path| std::str::from_utf8(path).ok()).collect();
    assert_eq!(paths, [".", ".git", "a.txt"]);
}

#[test]
fn a_large_folder_is_cut_and_says_so_and_many_differences_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..80 {
        fs::write(folder.path().join(format!("{number:03}")), "").unwrap();
    }
    let before = FolderMetadata::take_most(folder.path(), &BTreeSet::new(), 71, &look());
    assert!(before.capped);
    for number in 0..80 {
        let path = folder.path().join(format!("{number:03}"));
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    let after = FolderMetadata::take_most(folder.path(), &BTreeSet::new(), 71, &look());
    let told = before.differences(&after, true);
    assert_eq!((told.len(), told.last().unwrap().as_str()), (51, "and 20 more"));
}
