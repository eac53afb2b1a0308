//! Folders that belong to another user, or that every user can write to: nothing in them is used
//! until a person says so. As root the other user is made up; otherwise it is root, with `/`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use super::journal::Stage;
use super::plant::Planted;
use super::{coven_in, folder, http, listed, row, run_in};
use crate::home::{Home, Said};

/// The number of a user that is not us, also where we are root.
const OTHER: u32 = 65534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Gives a folder and everything in it to the other user.
fn give_away(folder: &Path) {
    let owner = format!("{OTHER}:{OTHER}");
    assert!(Command::new("chown").args(["-R", &owner]).arg(folder).status().unwrap().success());
}

fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
}

/// The words for a user: its number, and its name where it has one.
fn words(user: u32) -> Vec<String> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is_user = |line: &&str| line.split(':').nth(2) == Some(user.to_string().as_str());
    let name = users.lines().find(is_user).and_then(|line| line.split(':').next());
    name.map(str::to_owned).into_iter().chain([user.to_string()]).collect()
}

/// Whether a text has a word in it, and not only as a part of another.
fn says(text: &str, word: &str) -> bool {
    Regex::new(&format!(r"\b{}\b", regex::escape(word))).unwrap().is_match(text)
}

/// Whether a command was refused with one of these words and the command that helps.
fn is_refused(said: &Said, words: &[String]) -> bool {
    said.code == 1
        && words.iter().any(|word| says(&said.err, word))
        && said.err.contains("coven trust --owner")
}

/// A repository of the other user with a planted session, and a folder of ours below it.
fn shared(home: &Home) -> (PathBuf, PathBuf, Planted) {
    let (shared, own) = (folder(home, "shared"), home.path("shared/own"));
    fs::create_dir(shared.join(".git")).unwrap();
    let planted = Planted::new(home, &shared, Stage::Running);
    if is_root() {
        give_away(&shared);
    }
    fs::create_dir(&own).unwrap();
    let text =
        "name: test\ndescription: A test.\nsteps:\n  - {name: a, type: script, command: 'true'}\n";
    fs::write(own.join("test.yaml"), text).unwrap();
    (shared, own, planted)
}

#[test]
fn a_folder_of_another_user_is_not_used_until_a_person_says_so() {
    let home = Home::new();
    let (shared, own, planted) = shared(&home);
    if !is_root() {
        let said = run_in(&home, Path::new("/"), "true");
        assert!(is_refused(&said, &words(0)), "{said:?}");
        assert_eq!(http::start(&home, Path::new("/")).body["code"], "not-owned");
        return;
    }
    let said = coven_in(&home, &own, &["run", "./test.yaml"]);
    planted.expect(is_refused(&said, &words(OTHER)), &format!("it is refused: {said:?}"));
    assert_eq!(http::start(&home, &shared).body["code"], "not-owned");
    // Looking is refused or answers; it runs nothing either way.
    home.coven(&["ls", "-C", shared.to_str().unwrap()]);
    planted.expect_not_run(&home);
    home.coven(&["trust", "--owner", "--yes", shared.to_str().unwrap()]).ok();
    coven_in(&home, &own, &["run", "./test.yaml"]).ok();
    planted.expect_foreign(&row(&listed(&home, &shared), &planted.id));
    planted.expect_not_run(&home);
}

/// A folder of ours is refused as long as every user can write to this part of it.
#[track_caller]
fn refused_while_open(part: &str) {
    let home = Home::new();
    let open = folder(&home, "open");
    let planted = Planted::new(&home, &open, Stage::Running);
    open_to_all(&open.join(part));
    let said = run_in(&home, &open, "true");
    let refused = is_refused(&said, &["world-writable".to_owned()]);
    planted.expect(refused, &format!("it is refused: {said:?}"));
    assert_eq!(http::start(&home, &open).body["code"], "not-owned");
    home.coven(&["ls", "-C", open.to_str().unwrap()]);
    planted.expect_not_run(&home);
    home.coven(&["trust", "--owner", "--yes", open.to_str().unwrap()]).ok();
    run_in(&home, &open, "true").ok();
    planted.expect_foreign(&row(&listed(&home, &open), &planted.id));
    planted.expect_not_run(&home);
}

#[test]
fn a_folder_that_every_user_can_write_to_is_not_used_until_a_person_says_so() {
    refused_while_open("");
}

#[test]
fn a_coven_folder_that_every_user_can_write_to_is_not_used_until_a_person_says_so() {
    refused_while_open(".coven");
}

/// Commands that write files are refused as those that run something are, and say which part of a
/// folder is open to others.
#[test]
fn no_new_project_grimoire_or_adapter_is_written_into_a_folder_that_is_open_to_all() {
    for part in ["", ".coven"] {
        let home = Home::new();
        let open = folder(&home, "open");
        fs::create_dir(open.join(".coven")).unwrap();
        let shown = open.join(part).components().as_path().display().to_string();
        open_to_all(&open.join(part));
        for command in
            [&["init"][..], &["grimoire", "new", "mine"], &["adapter", "new", "mine", "--project"]]
        {
            let said = coven_in(&home, &open, command);
            assert!(is_refused(&said, &["world-writable".to_owned()]), "{command:?}: {said:?}");
            let refused = format!("{shown} is not yours alone");
            assert!(said.err.contains(&refused), "{command:?}: {said:?}");
            let made = fs::read_dir(open.join(".coven")).unwrap().count();
            assert_eq!(made, 0, "{command:?}");
        }
        home.coven(&["trust", "--owner", "--yes", open.to_str().unwrap()]).ok();
        coven_in(&home, &open, &["grimoire", "new", "mine"]).ok();
        coven_in(&home, &open, &["adapter", "new", "mine", "--project"]).ok();
    }
}

#[test]
fn a_folder_that_was_given_away_after_it_was_used_is_not_opened_again() {
    let home = Home::new();
    let used = folder(&home, "used");
    run_in(&home, &used, "true").ok();
    let planted = Planted::new(&home, &used, Stage::Running);
    if is_root() {
        give_away(&used);
    } else {
        open_to_all(&used);
    }
    home.kill_daemon();
    home.coven(&["ls", "--json"]).ok();
    planted.expect_not_run(&home);
    let said = run_in(&home, &used, "true");
    let mut words = words(OTHER);
    words.push("world-writable".to_owned());
    planted.expect(is_refused(&said, &words), &format!("it is refused: {said:?}"));
}

/// Under sudo the folders of the user who called it are ours. The variable means nothing to a
/// daemon that is not root's.
#[test]
fn root_by_sudo_works_in_the_folders_of_the_user_who_called_it() {
    let home = Home::new();
    let (shared, own, planted) = shared(&home);
    let sudo = |user: u32, folder: &Path, args: &[&str]| {
        let mut command = home.command(args);
        Said::of(&command.env("SUDO_UID", user.to_string()).current_dir(folder).output().unwrap())
    };
    if !is_root() {
        let said = sudo(0, &own, &["run", "./test.yaml", "-C", "/"]);
        assert!(is_refused(&said, &words(0)), "{said:?}");
        return;
    }
    sudo(OTHER, &own, &["daemon", "start"]).ok();
    sudo(OTHER, &own, &["run", "./test.yaml"]).ok();
    planted.expect_foreign(&row(&listed(&home, &shared), &planted.id));
    planted.expect_not_run(&home);
}
