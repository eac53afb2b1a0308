//! A folder that was copied, or stands where another one stood: what lies in it is not ours, and
//! never stands in front of what is.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::journal::Stage;
use super::plant::Planted;
use super::{assert_untouched, coven_in, folder, listed, row, run_in, tree};
use crate::home::Home;

/// Copies a folder with everything about its files.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success());
}

/// The id of the session with a name.
fn id_of(home: &Home, name: &str) -> String {
    home.coven(&["show", name, "--json"]).ok().json()["id"].as_str().unwrap().to_owned()
}

/// Our own session is found by its name and its id, waits, and goes on when it is answered.
#[track_caller]
fn expect_ours(home: &Home, name: &str, id: &str) {
    for text in [name, id] {
        let said = home.coven(&["show", text, "--json"]).ok().json();
        let place = said["baseDir"].as_str().unwrap();
        assert_eq!(Path::new(place), home.path("project").canonicalize().unwrap(), "{text}");
        assert_eq!(said["status"], "blocked", "{text}");
    }
    home.coven(&["approve", name]).ok();
    super::until("the answer to take effect", || home.path("project/yes.txt").exists());
}

#[test]
fn a_copy_of_a_folder_in_which_an_agent_waits_takes_nothing_over() {
    let home = Home::new();
    let name = home.asking("approve echo yes > yes.txt");
    let (id, copied) = (id_of(&home, &name), home.path("copy"));
    copy(&home.path("project"), &copied);
    let session = copied.join(".coven/sessions").join(&id);
    let before = tree(&session);
    let listing = row(&listed(&home, &copied), &id);
    assert_eq!(listing["foreign"], true, "the copied session is taken for ours: {listing}");
    coven_in(&home, &copied, &["new", "demo", "say hello", "--mode", "headless"]).ok();
    assert_eq!(row(&listed(&home, &copied), &id)["foreign"], true);
    home.kill_daemon();
    assert_eq!(row(&listed(&home, &copied), &id)["foreign"], true);
    expect_ours(&home, &name, &id);
    assert!(!copied.join("yes.txt").exists(), "the answer reached the copy");
    assert_untouched(&session, &before);
}

#[test]
fn a_copy_of_a_folder_asks_nothing_and_answers_reach_the_original() {
    let home = Home::new();
    let name = home.asking("approve echo yes > yes.txt");
    let (id, copied) = (id_of(&home, &name), home.path("copy"));
    copy(&home.path("project"), &copied);
    home.coven(&["ls", "-C", copied.to_str().unwrap()]).ok();
    run_in(&home, &copied, "true").ok();
    let open = home.coven(&["inbox", "--json"]).ok().json();
    assert_eq!(open["interventions"].as_array().unwrap().len(), 1, "{open}");
    expect_ours(&home, &name, &id);
    assert!(!copied.join("yes.txt").exists(), "the answer reached the copy");
}

#[test]
fn a_planted_session_with_the_id_and_the_name_of_ours_never_stands_in_front_of_it() {
    let home = Home::new();
    let name = home.asking("approve echo yes > yes.txt");
    let id = id_of(&home, &name);
    // Before and after our folder in the order of paths.
    let cloned = [folder(&home, "a-clone"), folder(&home, "z-clone")];
    for base_dir in &cloned {
        let planted = Planted::with_id(&home, base_dir, Stage::Blocked, &id, &name);
        planted.expect_foreign(&row(&listed(&home, base_dir), &id));
        run_in(&home, base_dir, "true").ok();
        planted.expect_foreign(&row(&listed(&home, base_dir), &id));
    }
    home.kill_daemon();
    expect_ours(&home, &name, &id);
}

#[test]
fn a_planted_session_with_the_id_of_ours_does_not_run() {
    let home = Home::new();
    let name = home.asking("approve echo yes > yes.txt");
    let (id, cloned) = (id_of(&home, &name), folder(&home, "a-clone"));
    let planted = Planted::with_id(&home, &cloned, Stage::Running, &id, "sly-magpie");
    planted.expect_foreign(&row(&listed(&home, &cloned), &id));
    run_in(&home, &cloned, "true").ok();
    planted.expect_not_run(&home);
    home.kill_daemon();
    planted.expect_not_run(&home);
    expect_ours(&home, &name, &id);
}

/// Puts another folder with a planted session where the project stood.
fn exchange(home: &Home) -> Planted {
    let project = home.path("project");
    fs::rename(&project, home.path("moved")).unwrap();
    fs::create_dir(&project).unwrap();
    Planted::new(home, &project, Stage::Running)
}

#[test]
fn a_folder_in_the_place_of_ours_brings_only_foreign_sessions() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    let planted = exchange(&home);
    home.kill_daemon();
    let before = tree(&home.path("project"));
    planted.expect_foreign(&row(&listed(&home, &home.path("project")), &planted.id));
    assert_untouched(&home.path("project"), &before);
    planted.expect_not_run(&home);
    planted.expect_foreign(&row(&listed(&home, &home.path("project")), &planted.id));
}

#[test]
fn a_session_of_ours_that_was_moved_into_another_folder_in_its_place_is_foreign() {
    let home = Home::new();
    home.run("  - {name: look, type: gate, message: Look at it.}\n", &[]).code(3);
    let id = id_of(&home, &home.only());
    let planted = exchange(&home);
    copy(&home.path("moved/.coven/sessions").join(&id), &planted.folder.with_file_name(&id));
    home.kill_daemon();
    let page = listed(&home, &home.path("project"));
    planted.expect_foreign(&row(&page, &planted.id));
    planted.expect(row(&page, &id)["foreign"] == true, &format!("both are foreign: {page}"));
    planted.expect_not_run(&home);
}

#[test]
fn a_folder_that_takes_the_place_of_ours_while_the_daemon_runs_runs_nothing() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    let planted = exchange(&home);
    // The daemon may go on with the folder it opened, and then does not list this one.
    let listing = row(&listed(&home, &home.path("project")), &planted.id);
    if !listing.is_null() {
        planted.expect_foreign(&listing);
    }
    home.run("  - {name: two, type: script, command: 'true'}\n", &[]);
    run_in(&home, &folder(&home, "elsewhere"), "true").ok();
    assert!(!planted.marker.exists(), "the planted command ran");
}
