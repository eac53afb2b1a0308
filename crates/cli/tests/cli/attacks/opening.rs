//! Working in a folder that brings sessions along: our own run, the others stay foreign, for this
//! daemon and for the next.

use std::path::Path;

use super::journal::Stage;
use super::plant::Planted;
use super::{coven_in, folder, listed, row, run_in};
use crate::home::Home;

/// Works in a folder with a planted session, and again after the daemon was killed.
#[track_caller]
fn stays_foreign(works: impl Fn(&Home, &Path)) {
    let home = Home::new();
    let cloned = folder(&home, "cloned");
    let planted = Planted::new(&home, &cloned, Stage::Running);
    for round in 1..=2 {
        works(&home, &cloned);
        let page = listed(&home, &cloned);
        planted.expect_foreign(&row(&page, &planted.id));
        let own = page["workflows"].as_array().unwrap().iter();
        let own: Vec<_> = own.filter(|row| row["id"] != planted.id.as_str()).collect();
        assert_eq!(own.len(), round, "{page}");
        let ours = own.iter().all(|row| row["status"] == "completed" && row["foreign"] != true);
        planted.expect(ours, &format!("what was run here is ours: {page}"));
        planted.expect_not_run(&home);
        // The next daemon goes on with what it knows of without being asked.
        home.kill_daemon();
        planted.expect_foreign(&row(&listed(&home, &cloned), &planted.id));
        planted.expect_not_run(&home);
    }
}

#[test]
fn a_run_in_a_cloned_repository_runs_nothing_that_was_planted_there() {
    stays_foreign(|home, cloned| _ = run_in(home, cloned, "true").ok());
}

#[test]
fn an_agent_in_a_cloned_repository_runs_nothing_that_was_planted_there() {
    stays_foreign(|home, cloned| {
        coven_in(home, cloned, &["new", "demo", "say hello", "--mode", "headless"]).ok();
    });
}

#[test]
fn a_session_that_is_planted_into_an_open_folder_stays_foreign() {
    let home = Home::new();
    let project = home.path("project");
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    let planted = Planted::new(&home, &project, Stage::Running);
    home.kill_daemon();
    planted.expect_foreign(&row(&listed(&home, &project), &planted.id));
    planted.expect_not_run(&home);
}
