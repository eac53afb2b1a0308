//! Looking at a folder that brings sessions along: they are listed as foreign, nothing of them
//! runs, and the folder stays as it is.

use std::fs;

use serde_json::Value;

use super::journal::Stage;
use super::plant::Planted;
use super::{assert_untouched, folder, http, listed, row, run_in, script, tree};
use crate::home::Home;

#[test]
fn listing_a_cloned_repository_runs_and_writes_nothing() {
    let home = Home::new();
    let cloned = folder(&home, "cloned");
    let planted = Planted::new(&home, &cloned, Stage::Running);
    let before = tree(&cloned);
    planted.expect_foreign(&row(&listed(&home, &cloned), &planted.id));
    let said = home.coven(&["ls", "-C", cloned.to_str().unwrap()]).ok();
    let line = said.out.lines().nth(1).unwrap_or_default();
    planted.expect(line.contains("foreign"), &format!("its line says foreign: {}", said.out));
    planted.expect_not_run(&home);
    assert_untouched(&cloned, &before);
}

#[test]
fn a_planted_session_is_foreign_wherever_it_stands() {
    let home = Home::new();
    let cloned = folder(&home, "cloned");
    let planted = Stage::ALL.map(|stage| Planted::new(&home, &cloned, stage));
    let before = tree(&cloned);
    let page = listed(&home, &cloned);
    for planted in &planted {
        planted.expect_foreign(&row(&page, &planted.id));
    }
    for planted in &planted {
        planted.expect_not_run(&home);
    }
    assert_untouched(&cloned, &before);
}

#[test]
fn asking_the_daemon_for_the_sessions_of_a_folder_runs_and_writes_nothing() {
    let home = Home::new();
    let cloned = folder(&home, "cloned");
    let planted = Planted::new(&home, &cloned, Stage::Running);
    let before = tree(&cloned);
    planted.expect_foreign(&row(&http::workflows(&home, &cloned), &planted.id));
    planted.expect_not_run(&home);
    assert_untouched(&cloned, &before);
}

#[test]
fn an_agent_that_lists_a_folder_runs_and_writes_nothing_there() {
    let home = Home::new();
    let cloned = folder(&home, "cloned");
    let planted = Planted::new(&home, &cloned, Stage::Running);
    let before = tree(&cloned);
    let program = env!("CARGO_BIN_EXE_coven");
    let look = format!("{program} ls -C {} --json > said.json", cloned.display());
    home.run(&script("look", &look), &[]).ok();
    let said = fs::read_to_string(home.path("project/said.json")).unwrap();
    let page: Value = serde_json::from_str(&said).unwrap();
    planted.expect_foreign(&row(&page, &planted.id));
    planted.expect_not_run(&home);
    assert_untouched(&cloned, &before);
}

#[test]
fn a_planted_question_waits_for_no_person() {
    let home = Home::new();
    let cloned = folder(&home, "cloned");
    let planted = Planted::new(&home, &cloned, Stage::Blocked);
    let mut page = listed(&home, &cloned);
    // Once as the folder is found, and once when it is open.
    for _ in 0..2 {
        let inbox = home.coven(&["inbox", "--json"]).ok().out;
        let absent = !inbox.contains(&planted.id) && !inbox.contains(&planted.name);
        planted.expect(absent, &format!("it is not in the inbox: {inbox}"));
        let open = http::request(&home, "GET", "/interventions", None).body;
        assert_eq!(open["interventions"], serde_json::json!([]));
        let summary = home.coven(&[]).ok().out;
        planted.expect(
            !summary.contains("for you:"),
            &format!("the summary counts no question: {summary}"),
        );
        planted.expect_foreign(&row(&page, &planted.id));
        run_in(&home, &cloned, "true").ok();
        page = listed(&home, &cloned);
    }
    planted.expect_not_run(&home);
}

/// The file that once said how the questions of a session are answered.
#[test]
fn a_planted_session_does_not_answer_its_own_questions() {
    let home = Home::new();
    let cloned = folder(&home, "cloned");
    let planted = Planted::new(&home, &cloned, Stage::Blocked);
    fs::write(planted.folder.join("auto"), "allow").unwrap();
    planted.expect_foreign(&row(&listed(&home, &cloned), &planted.id));
    run_in(&home, &cloned, "true").ok();
    planted.expect_not_run(&home);
}
