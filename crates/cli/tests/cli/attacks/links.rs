//! A job puts links in the place of files that the daemon or the holder writes: what they point to
//! stays as it is, and the run ends as if they were not there.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{pipe, script, until};
use crate::home::Home;

/// A link of each kind, made in the place of whatever was there.
const SYMBOLIC: &str = "ln -sfn \"$HOME/victim\"";
const HARD: &str = "ln -f \"$HOME/victim\"";

const CONTENT: &str = "precious\n";

/// Where the files of the job `link` are kept.
const ATTEMPT: &str = "\"$XDG_STATE_HOME/coven/jobs/$COVEN_SESSION/link/1\"";
/// Where everything about its session is kept.
const SESSION: &str = "\".coven/sessions/$COVEN_SESSION\"";

/// A home with a file that no run has a reason to change.
fn with_victim() -> Home {
    let home = Home::new();
    fs::write(home.path("home/victim"), CONTENT).unwrap();
    fs::set_permissions(home.path("home/victim"), fs::Permissions::from_mode(0o640)).unwrap();
    home
}

#[track_caller]
fn expect_unharmed(home: &Home) {
    let victim = home.path("home/victim");
    let content = fs::read_to_string(&victim).unwrap();
    assert_eq!(content, CONTENT, "the file behind the link was written to");
    assert_eq!(fs::metadata(&victim).unwrap().permissions().mode() & 0o777, 0o640);
}

/// A job makes a link and ends.
#[track_caller]
fn ends_unharmed(link: &str, place: &str) {
    let home = with_victim();
    let steps = format!("{}{}", script("link", &format!("{link} {place}")), script("next", "true"));
    let said = home.run(&steps, &[]);
    expect_unharmed(&home);
    said.ok();
    let shown = home.coven(&["show", &home.only(), "--json"]).ok().json();
    assert_eq!(shown["status"], "completed", "{shown}");
    home.kill_daemon();
    let shown = home.coven(&["show", &home.only(), "--json"]).ok().json();
    assert_eq!(shown["status"], "completed", "{shown}");
    expect_unharmed(&home);
}

#[test]
fn the_record_of_an_end_is_not_written_through_a_symbolic_link() {
    ends_unharmed(SYMBOLIC, &format!("{ATTEMPT}/exit.json.new"));
}

#[test]
fn the_record_of_an_end_is_not_written_through_a_hard_link() {
    ends_unharmed(HARD, &format!("{ATTEMPT}/exit.json.new"));
}

#[test]
fn the_view_of_a_session_is_not_written_through_a_symbolic_link() {
    ends_unharmed(SYMBOLIC, &format!("{SESSION}/session.json.new"));
}

#[test]
fn the_view_of_a_session_is_not_written_through_a_hard_link() {
    ends_unharmed(HARD, &format!("{SESSION}/session.json.new"));
}

/// A job makes a link, waits, and is stopped.
#[track_caller]
fn stops_unharmed(link: &str, name: &str) {
    let home = with_victim();
    pipe(&home.path("project/never"));
    let command = format!("{link} {ATTEMPT}/{name}; touch ready; cat never");
    let said = home.run(&script("link", &command), &["--detach"]).ok();
    let session = said.out.trim();
    until("the job to make its link", || home.path("project/ready").exists());
    home.coven(&["stop", &format!("{session}/link")]).ok();
    home.coven(&["wait", session, "--timeout", "60s"]).code(1);
    expect_unharmed(&home);
}

#[test]
fn the_mark_of_a_stop_is_not_written_through_a_symbolic_link() {
    stops_unharmed(SYMBOLIC, "killed");
}

#[test]
fn the_mark_of_a_stop_is_not_written_through_a_hard_link() {
    stops_unharmed(HARD, "killed");
}

/// The files that a job called `second` leaves in its folder, and the drafts of each.
fn files_of_second(home: &Home) -> Vec<String> {
    let session = home.coven(&["ls", "--json"]).ok().json()["workflows"][0]["id"].clone();
    let jobs = home.path("state/coven/jobs").join(session.as_str().unwrap());
    let files = fs::read_dir(jobs.join("second/1")).unwrap().flatten();
    let names = files.map(|file| file.file_name().into_string().unwrap());
    names.flat_map(|name| [format!("{name}.new"), name]).collect()
}

/// A job makes the folder of the job after it, with links in the place of its files. Such a folder
/// may be used or refused; what is behind the links is not to be written to.
#[track_caller]
fn prepares_in_vain(link: &str, second: &str) {
    let home = with_victim();
    home.run(&format!("{}{second}", script("first", "true")), &[]).ok();
    let names = files_of_second(&home);
    assert!(names.iter().any(|name| name == "exit.json.new"), "{names:?}");
    let harmful = |name: &&String| {
        let folder = "\"$XDG_STATE_HOME/coven/jobs/$COVEN_SESSION/second/1\"";
        let command = format!("mkdir -p {folder}; {link} {folder}/{name}");
        home.run(&format!("{}{second}", script("first", &command)), &[]);
        let harmed = fs::read_to_string(home.path("home/victim")).unwrap() != CONTENT;
        fs::remove_file(home.path("home/victim")).unwrap();
        fs::write(home.path("home/victim"), CONTENT).unwrap();
        harmed
    };
    let harmful: Vec<&String> = names.iter().filter(harmful).collect();
    assert!(harmful.is_empty(), "written to through links in the place of: {harmful:?}");
}

#[test]
fn no_file_of_a_later_script_is_written_through_a_symbolic_link() {
    prepares_in_vain(SYMBOLIC, &script("second", "echo said"));
}

#[test]
fn no_file_of_a_later_script_is_written_through_a_hard_link() {
    prepares_in_vain(HARD, &script("second", "echo said"));
}

#[test]
fn no_file_of_a_later_agent_is_written_through_a_symbolic_link() {
    let agent = "  - {name: second, type: agent, mode: headless, prompt: say hello}\n";
    prepares_in_vain(SYMBOLIC, agent);
}
