//! The facts of a planted session start no grimoire, not even one of the user's own, and a planted
//! register of what is to be started starts nothing.

use std::fs;

use serde_json::json;

use super::journal::Stage;
use super::plant::{Planted, now};
use super::{folder, listed, row, run_in, until};
use crate::home::Home;

/// A grimoire of the user that notes which sessions completed.
fn note_completed(home: &Home) {
    let grimoires = folder(home, "home/.config/coven/grimoires");
    let text = format!(
        "name: after\ndescription: Notes what completed.\n\
         trigger: {{event: workflow.completed, where: \"grimoire != 'after'\"}}\n\
         inputs: {{workflowId: {{required: true, description: Which session}}}}\n\
         steps:\n  - {{name: note, type: script, command: 'echo \"${{input.workflowId}}\" >> {}'}}\n",
        home.path("completed").display()
    );
    fs::write(grimoires.join("after.yaml"), text).unwrap();
}

/// The ids of the sessions that were noted.
fn noted(home: &Home) -> Vec<String> {
    let text = fs::read_to_string(home.path("completed")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Works in a folder with a planted session, and says which sessions started the grimoire.
fn triggered_by(stage: Stage, claim: impl Fn(&Planted)) -> (Planted, Vec<String>) {
    let home = Home::new();
    note_completed(&home);
    let cloned = folder(&home, "cloned");
    let planted = Planted::new(&home, &cloned, stage);
    claim(&planted);
    listed(&home, &cloned);
    run_in(&home, &cloned, "true").ok();
    home.kill_daemon();
    run_in(&home, &cloned, "true").ok();
    let page = listed(&home, &cloned);
    let rows = page["workflows"].as_array().unwrap().iter();
    let ours = rows.filter(|row| row["goal"] == "./test.yaml" && row["id"] != planted.id.as_str());
    let ours: Vec<&str> = ours.filter_map(|row| row["id"].as_str()).collect();
    until("what our own runs start", || {
        let noted = noted(&home);
        ours.len() == 2 && ours.iter().all(|id| noted.iter().any(|noted| noted == id))
    });
    let noted = noted(&home);
    planted.expect(!noted.contains(&planted.id), &format!("it starts nothing: {noted:?}"));
    planted.expect_foreign(&row(&listed(&home, &cloned), &planted.id));
    (planted, noted)
}

#[test]
fn a_planted_session_that_completed_starts_no_grimoire_of_the_user() {
    triggered_by(Stage::Completed, |_| {});
}

#[test]
fn a_planted_register_of_unseen_facts_starts_no_grimoire_of_the_user() {
    triggered_by(Stage::Completed, |planted| {
        planted.write_claims(&json!({"line": "looked", "session": planted.id, "seq": 0}));
    });
}

#[test]
fn a_planted_session_that_would_complete_starts_no_grimoire_of_the_user() {
    let (planted, _) = triggered_by(Stage::Running, |_| {});
    assert!(!planted.marker.exists(), "the planted command ran");
}

#[test]
fn a_planted_register_of_what_is_to_begin_begins_no_planted_session() {
    let home = Home::new();
    let cloned = folder(&home, "cloned");
    let planted = Planted::new(&home, &cloned, Stage::Pending);
    planted.write_claims(&json!({
        "line": "claim",
        "key": "planted",
        "session": planted.id,
        "at": now(),
        "begins": true,
        "made": true,
    }));
    planted.expect_foreign(&row(&listed(&home, &cloned), &planted.id));
    run_in(&home, &cloned, "true").ok();
    planted.expect_not_run(&home);
    home.kill_daemon();
    planted.expect_foreign(&row(&listed(&home, &cloned), &planted.id));
    planted.expect_not_run(&home);
}
