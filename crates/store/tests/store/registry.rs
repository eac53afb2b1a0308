//! Which sessions are the user's own: those that were registered, in the directory they were
//! registered for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coven_model::SessionId;
use coven_store::registry::registered_bases;
use coven_store::{BaseDir, Index, Registered, Registry, SealKey, Session, SessionEntry};

use crate::{authority, id, key};

/// A state folder, and a project with one registered session beside one that is not.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(place.project()).unwrap();
        let base = BaseDir::create(&place.project()).unwrap();
        let mut registry =
            Registry::open(&place.state(), &base, key().public(), |_| false).unwrap();
        registry.register(&id(1)).unwrap();
        for session in [id(1), id(2)] {
            drop(Session::create(&base, &authority(&base), &session).unwrap());
        }
        place
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// The numbers of the sessions in a folder that are the user's own, and of those that are not.
    fn sessions(&self, project: &Path) -> (Vec<u64>, Vec<u64>) {
        let base = BaseDir::find(project).unwrap().unwrap();
        let registered = Registered::read(&self.state(), &base).unwrap();
        let own = |id: &SessionId| registered.contains(id, &key().public());
        let index = Index::load(&base, &base.path().join("state"), own).unwrap();
        let (mut own, mut foreign) = (Vec::new(), Vec::new());
        for number in 1..4 {
            match index.get(&id(number)) {
                Some(entry) if entry.foreign => foreign.push(number),
                Some(_) => own.push(number),
                None => {}
            }
        }
        (own, foreign)
    }

    fn copy(&self, name: &str) -> PathBuf {
        let to = self.folder.path().join(name);
        let copied = Command::new("cp").arg("-a").arg(self.project()).arg(&to).status().unwrap();
        assert!(copied.success());
        to
    }
}

#[test]
fn a_session_is_the_users_own_if_it_was_registered_and_foreign_otherwise() {
    let place = Place::new();
    assert_eq!(place.sessions(&place.project()), (vec![1], vec![2]));
}

#[test]
fn reading_which_sessions_are_registered_writes_nothing() {
    let place = Place::new();
    let copy = place.copy("copy");
    let before = fs::read_dir(place.state().join("bases")).unwrap().count();
    place.sessions(&copy);
    assert_eq!(fs::read_dir(place.state().join("bases")).unwrap().count(), before);
    assert!(!place.folder.path().join("nowhere").exists());
    let base = BaseDir::find(&copy).unwrap().unwrap();
    Registered::read(&place.folder.path().join("nowhere"), &base).unwrap();
    assert!(!place.folder.path().join("nowhere").exists());
}

#[test]
fn everything_in_a_copy_is_foreign() {
    let place = Place::new();
    let copy = place.copy("copy");
    assert_eq!(place.sessions(&copy), (vec![], vec![1, 2]));
    // Nor does opening the copy make it the user's own.
    let copied = BaseDir::create(&copy).unwrap();
    Registry::open(&place.state(), &copied, key().public(), |_| false).unwrap();
    assert_eq!(place.sessions(&copy), (vec![], vec![1, 2]));
    assert_eq!(place.sessions(&place.project()), (vec![1], vec![2]));
}

#[test]
fn another_folder_in_the_place_of_a_registered_one_has_only_foreign_sessions() {
    let place = Place::new();
    let (copy, aside) = (place.copy("copy"), place.folder.path().join("aside"));
    fs::rename(place.project(), &aside).unwrap();
    fs::rename(&copy, place.project()).unwrap();
    assert_eq!(place.sessions(&place.project()), (vec![], vec![1, 2]));
    assert_eq!(place.sessions(&aside), (vec![], vec![1, 2]), "it counts where it was registered");
    fs::rename(place.project(), &copy).unwrap();
    fs::rename(&aside, place.project()).unwrap();
    assert_eq!(place.sessions(&place.project()), (vec![1], vec![2]), "and does so there again");
}

#[test]
fn a_folder_on_another_device_is_another_folder_until_the_system_starts_anew() {
    let place = Place::new();
    let bases: Vec<_> = fs::read_dir(place.state().join("bases")).unwrap().flatten().collect();
    let file = bases[0].path().join("registered.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let device = text.split("\"device\":").nth(1).unwrap().split(',').next().unwrap().to_owned();
    let change = |from: &str, to: &str| {
        let lines = fs::read_to_string(&file).unwrap();
        let changed: String = lines
            .lines()
            .map(|line| {
                let json = line.rsplit_once('\t').unwrap().0.replace(from, to);
                format!("{json}\t{:08x}\n", crc32fast::hash(json.as_bytes()))
            })
            .collect();
        fs::write(&file, changed).unwrap();
    };
    change(&format!("\"device\":{device}"), "\"device\":77");
    assert_eq!(place.sessions(&place.project()), (vec![], vec![1, 2]));
    let boot = text.split("\"bootId\":\"").nth(1).unwrap().split('"').next().unwrap();
    change(boot, "another-start");
    assert_eq!(place.sessions(&place.project()), (vec![1], vec![2]));
}

#[test]
fn what_is_registered_and_whether_there_is_something_to_do_is_known_afterwards() {
    let place = Place::new();
    let base = BaseDir::find(&place.project()).unwrap().unwrap();
    let live = || Registered::read(&place.state(), &base).unwrap().has_live();
    assert!(live(), "a session that was just made is not over");
    let mut registry = Registry::open(&place.state(), &base, key().public(), |_| false).unwrap();
    registry.set_live(&id(1), false).unwrap();
    assert!(!live());
    registry.set_live(&id(2), true).unwrap();
    assert!(!live(), "only what is registered can have something to do");
    let known = registered_bases(&place.state()).unwrap();
    assert_eq!((known.len(), &known[0].sessions), (1, &vec![id(1)]));
    assert_eq!(known[0].path, place.project().canonicalize().unwrap());
    registry.remove(&id(1)).unwrap();
    assert_eq!(place.sessions(&place.project()), (vec![], vec![1, 2]));
}

#[test]
fn a_session_whose_folder_was_deleted_is_not_registered_any_more() {
    let place = Place::new();
    let base = BaseDir::find(&place.project()).unwrap().unwrap();
    fs::remove_dir_all(base.session_path(&id(1))).unwrap();
    let registry = Registry::open(&place.state(), &base, key().public(), |_| false).unwrap();
    assert!(!registry.contains(&id(1)));
}

#[test]
fn a_session_with_a_job_that_runs_stays_registered_without_its_folder() {
    let place = Place::new();
    let base = BaseDir::find(&place.project()).unwrap().unwrap();
    fs::remove_dir_all(base.session_path(&id(1))).unwrap();
    let mut registry =
        Registry::open(&place.state(), &base, key().public(), |session| *session == id(1)).unwrap();
    assert!(registry.contains(&id(1)) && registry.take_gone().is_empty());
}

#[test]
fn a_session_that_another_key_seals_is_foreign() {
    let place = Place::new();
    let base = BaseDir::find(&place.project()).unwrap().unwrap();
    let other = SealKey::from_secret(&[8; 32]).public();
    let registry = Registry::open(&place.state(), &base, other, |_| false).unwrap();
    assert!(!registry.contains(&id(1)) && registry.is_registered(&id(1)));
    let registered = Registered::read(&place.state(), &base).unwrap();
    assert!(!registered.contains(&id(1), &other) && registered.contains(&id(1), &key().public()));
}

#[test]
fn a_foreign_session_never_stands_in_front_of_one_of_the_user() {
    let place = Place::new();
    let base = BaseDir::find(&place.project()).unwrap().unwrap();
    let view = |number: u64, name: &str| {
        let view = format!(r#"{{"version":1,"upTo":0,"name":"{name}"}}"#);
        fs::write(base.session_path(&id(number)).join("session.json"), view).unwrap();
    };
    view(2, "same");
    let load = || {
        let folder = base.path().join("state");
        let mut index = Index::load(&base, &folder, |session| *session == id(1)).unwrap();
        let own = index.get(&id(1)).unwrap().clone();
        index.settle(SessionEntry { name: "same".to_owned(), ..own });
        index
    };
    let index = load();
    assert_eq!(index.resolve("same").unwrap().id, id(1));
    assert_eq!(index.resolve(id(2).as_str()).unwrap().id, id(2), "it can be named by its id");
    let beginning = id(2).as_str()[..4].to_owned();
    assert_eq!(index.resolve(&beginning).unwrap().id, id(1));
    view(2, "\\u001b[2Jcleared");
    let index = load();
    let name = &index.get(&id(2)).unwrap().name;
    assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name:?}");
}
