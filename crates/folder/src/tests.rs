//! What a folder does with names that lead elsewhere.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

const CONTENT: &str = "not yours";

thread_local! {
    /// What syncing a folder says on this thread, if it fails.
    static SYNC_ERROR: std::cell::Cell<Option<Errno>> = const { std::cell::Cell::new(None) };
}

/// Syncs a folder, or fails as a test says.
pub(super) fn fsync_folder(folder: impl AsFd) -> Result<(), Errno> {
    SYNC_ERROR.get().map_or_else(|| rustix::fs::fsync(folder), Err)
}

#[test]
fn a_file_whose_folder_could_not_be_synced_is_not_found_by_the_next_try() {
    let place = Place::new();
    SYNC_ERROR.set(Some(Errno::IO));
    let error = place.folder.put_durably("outcome", b"done").unwrap_err();
    assert_eq!(error.obstacle, OpenObstacle::Broken);
    assert_eq!(place.folder.read("outcome").unwrap(), None);
    SYNC_ERROR.set(None);
    place.folder.put_durably("outcome", b"done").unwrap();
    assert_eq!(place.folder.read("outcome").unwrap().as_deref(), Some(&b"done"[..]));
}

/// A folder, and beside it a file and a folder that nothing may change.
struct Place {
    _root: TempDir,
    folder: OpenFolder,
    victim: PathBuf,
    elsewhere: PathBuf,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(root.path()).unwrap();
        let (victim, elsewhere) = (path.join("victim"), path.join("elsewhere"));
        fs::write(&victim, CONTENT).unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o644)).unwrap();
        fs::create_dir_all(elsewhere.join("inner")).unwrap();
        fs::create_dir(path.join("folder")).unwrap();
        let folder = OpenFolder::open_without_links(&path.join("folder")).unwrap();
        Self { _root: root, folder, victim, elsewhere }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn assert_untouched(&self) {
        assert_eq!(fs::read_to_string(&self.victim).unwrap(), CONTENT);
        assert_eq!(fs::metadata(&self.victim).unwrap().mode() & 0o777, 0o644);
        let names = fs::read_dir(&self.elsewhere).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["inner"]);
        assert_eq!(fs::read_dir(self.elsewhere.join("inner")).unwrap().count(), 0);
    }
}

#[test]
fn a_link_anywhere_on_the_way_is_refused() {
    let place = Place::new();
    symlink(&place.elsewhere, place.path("link")).unwrap();
    for path in ["link", "link/inner", "link/new", "link/new/er"] {
        let path = place.path(path);
        for opened in
            [OpenFolder::open_without_links(&path), OpenFolder::make_without_links(&path, 0o700)]
        {
            let error = opened.unwrap_err();
            assert_eq!((error.obstacle, error.path), (OpenObstacle::Link, place.path("link")));
        }
    }
    assert_eq!(place.folder.enter("link").unwrap_err().obstacle, OpenObstacle::Link);
    assert_eq!(place.folder.make("link", 0o700).unwrap_err().obstacle, OpenObstacle::Link);
    place.assert_untouched();
}

#[test]
fn only_an_absolute_path_without_dots_is_opened_without_links() {
    let place = Place::new();
    for path in [PathBuf::from("relative"), place.path("../elsewhere"), PathBuf::new()] {
        assert!(OpenFolder::open_without_links(&path).is_err(), "{}", path.display());
        assert!(OpenFolder::make_without_links(&path, 0o700).is_err(), "{}", path.display());
    }
    assert!(OpenFolder::open_without_links(Path::new("/")).is_ok());
}

#[test]
fn a_folder_that_may_only_be_passed_through_is_passed_through() {
    coven_testkit::nobody::without_root(|| {
        let place = Place::new();
        let inner = place.path("outer/inner");
        fs::create_dir_all(&inner).unwrap();
        fs::set_permissions(place.path("outer"), fs::Permissions::from_mode(0o311)).unwrap();
        let opened = OpenFolder::open_without_links(&inner);
        fs::set_permissions(place.path("outer"), fs::Permissions::from_mode(0o755)).unwrap();
        opened.unwrap();
    });
}

#[test]
fn what_is_missing_on_the_way_is_made_with_its_mode() {
    let place = Place::new();
    let made = OpenFolder::make_without_links(&place.path("a/b"), 0o700).unwrap();
    made.create("file").unwrap();
    assert_eq!(fs::metadata(place.path("a")).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(place.path("a/b/file")).unwrap().mode() & 0o777, 0o600);
    assert!(OpenFolder::make_without_links(&place.path("a/b"), 0o700).is_ok());
}

#[test]
fn a_symbolic_link_is_neither_read_nor_written() {
    let place = Place::new();
    symlink(&place.victim, place.path("link")).unwrap();
    symlink(place.elsewhere.join("new"), place.path("dangling")).unwrap();
    for name in ["link", "dangling"] {
        assert_eq!(place.folder.read(name).unwrap_err().obstacle, OpenObstacle::Link);
        for flags in [OFlags::WRONLY, OFlags::RDWR | OFlags::CREATE, OFlags::APPEND] {
            assert_eq!(place.folder.file(name, flags).unwrap_err().obstacle, OpenObstacle::Link);
        }
        assert_eq!(place.folder.create(name).unwrap_err().source.kind(), ErrorKind::AlreadyExists);
        place.folder.create_anew(name).unwrap().write_all(b"ours").unwrap();
        assert_eq!(place.folder.read(name).unwrap().unwrap(), b"ours");
    }
    place.assert_untouched();
}

#[test]
fn a_hard_link_is_not_written() {
    let place = Place::new();
    for name in ["link", "other"] {
        fs::hard_link(&place.victim, place.path(name)).unwrap();
    }
    let error = place.folder.file("link", OFlags::WRONLY | OFlags::CREATE).unwrap_err();
    assert_eq!(error.obstacle, OpenObstacle::HardLink);
    assert!(place.folder.create("link").is_err());
    place.folder.create_anew("link").unwrap().write_all(b"ours").unwrap();
    assert_eq!(place.folder.read("link").unwrap().unwrap(), b"ours");
    assert!(place.folder.file("link", OFlags::WRONLY).is_ok());
    fs::hard_link(&place.victim, place.path("other.new")).unwrap();
    place.folder.replace("other", b"ours", Durability::Synced).unwrap();
    assert_eq!(fs::metadata(&place.victim).unwrap().nlink(), 1);
    place.assert_untouched();
}

#[test]
fn a_draft_that_is_a_link_is_replaced_and_not_written() {
    let place = Place::new();
    symlink(&place.victim, place.path("file.new")).unwrap();
    symlink(&place.victim, place.path("file")).unwrap();
    place.folder.replace("file", b"ours", Durability::Cache).unwrap();
    assert_eq!(place.folder.read("file").unwrap().unwrap(), b"ours");
    place.assert_untouched();
}

#[test]
fn a_pipe_or_a_folder_in_the_place_of_a_file_is_refused_at_once() {
    let place = Place::new();
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(&place.folder, "pipe", FileType::Fifo, mode, 0).unwrap();
    fs::create_dir(place.path("sub")).unwrap();
    for name in ["pipe", "sub"] {
        assert_eq!(place.folder.read(name).unwrap_err().obstacle, OpenObstacle::NotAFile);
        let written = place.folder.file(name, OFlags::WRONLY);
        assert_eq!(written.unwrap_err().obstacle, OpenObstacle::NotAFile);
    }
}

#[test]
fn a_name_with_a_path_in_it_is_none() {
    let place = Place::new();
    for name in ["../victim", "/etc/passwd", "..", ".", "", "sub/../../victim"] {
        assert!(place.folder.read(name).is_err(), "{name}");
        assert!(place.folder.create(name).is_err(), "{name}");
        assert!(place.folder.enter(name).is_err(), "{name}");
        #[cfg(target_os = "linux")]
        assert!(place.folder.handle_of(name).is_err(), "{name}");
    }
}

#[test]
fn removing_a_folder_removes_links_in_it_and_nothing_behind_them() {
    type Remove = fn(&OpenFolder, &str) -> io::Result<()>;
    let ways: [Remove; 2] = [OpenFolder::remove_all, |folder, name| {
        remove::by_handles::remove_all(folder.as_fd(), name)
    }];
    for remove in ways {
        let place = Place::new();
        fs::create_dir_all(place.path("gone/deep")).unwrap();
        symlink(&place.elsewhere, place.path("gone/deep/link")).unwrap();
        fs::hard_link(&place.victim, place.path("gone/victim")).unwrap();
        remove(&place.folder, "gone").unwrap();
        remove(&place.folder, "gone").unwrap();
        symlink(&place.elsewhere, place.path("link")).unwrap();
        remove(&place.folder, "link").unwrap();
        fs::write(place.path("file"), "x").unwrap();
        assert!(remove(&place.folder, "file").is_err(), "a file is no folder");
        assert_eq!(place.folder.names().unwrap(), ["file"]);
        place.assert_untouched();
    }
}

#[test]
fn a_folder_that_was_moved_away_is_still_the_one_that_is_written_to() {
    let place = Place::new();
    let away = place.elsewhere.with_file_name("away");
    fs::rename(place.folder.path(), &away).unwrap();
    symlink(&place.elsewhere, place.folder.path()).unwrap();
    place.folder.replace("file", b"ours", Durability::Synced).unwrap();
    assert_eq!(fs::read(away.join("file")).unwrap(), b"ours");
    place.assert_untouched();
}

#[test]
fn a_name_is_that_of_an_open_file_until_it_is_given_to_another() {
    let place = Place::new();
    let file = place.folder.create("file").unwrap();
    assert!(place.folder.names_file("file", &file).unwrap());
    fs::remove_file(place.path("file")).unwrap();
    assert!(!place.folder.names_file("file", &file).unwrap());
    symlink(&place.victim, place.path("file")).unwrap();
    assert!(!place.folder.names_file("file", &file).unwrap());
}
