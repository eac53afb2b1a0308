//! A project whose `.coven` or whole folder is deleted while the daemon runs.

use std::fs;

use serde_json::Value;

use crate::home::Home;

const STEPS: &str = "  - {name: one, type: script, command: echo done}\n";
const GATE: &str = "  - {name: look, type: gate, message: Look at it.}\n";

fn sessions(home: &Home) -> Vec<Value> {
    home.coven(&["ls", "--json"]).ok().json()["workflows"].as_array().unwrap().clone()
}

#[test]
fn a_deleted_coven_folder_is_made_anew_and_its_dead_entries_are_gone() {
    let home = Home::new();
    home.run(STEPS, &[]).ok();
    assert_eq!(sessions(&home).len(), 1);
    fs::remove_dir_all(home.path("project/.coven")).unwrap();
    assert_eq!(sessions(&home), [] as [Value; 0], "what is gone is not listed");
    let again = home.run(STEPS, &[]).ok();
    let note = "the .coven of this folder was deleted and is made anew; 1 session that was over is \
                gone";
    assert!(again.err.contains(note), "{again:?}");
    assert_eq!(sessions(&home).len(), 1);
    let log = fs::read_to_string(home.path("state/coven/daemon.log")).unwrap();
    assert!(log.contains(note), "{log}");
    let third = home.run(STEPS, &[]).ok();
    assert!(!third.err.contains("deleted"), "it is said once: {third:?}");
}

#[test]
fn a_run_that_waits_outlives_its_deleted_folder_beside_new_ones() {
    let home = Home::new();
    home.run(GATE, &[]).code(3);
    let name = home.only();
    fs::remove_dir_all(home.path("project/.coven")).unwrap();
    assert_eq!(sessions(&home).len(), 1, "it is under way");
    home.run(STEPS, &[]).ok();
    home.coven(&["approve", &name]).ok();
    assert_eq!(home.coven(&["wait", &name, "--timeout", "60s"]).ok().out, "completed\n");
    assert_eq!(sessions(&home).len(), 2);
    home.coven(&["audit"]).ok();
}

#[test]
fn a_project_that_was_cloned_again_runs_once_its_old_runs_are_cancelled() {
    let home = Home::new();
    home.run(GATE, &[]).code(3);
    let name = home.only();
    fs::rename(home.path("project"), home.path("old")).unwrap();
    fs::create_dir(home.path("project")).unwrap();
    let refused = home.run(STEPS, &[]).code(1);
    assert!(refused.err.contains("coven cancel NAME"), "{refused:?}");
    let cancelled = home.coven(&["cancel", &name]).ok();
    assert_eq!(cancelled.out, format!("{name} is cancelled\n"));
    home.run(STEPS, &[]).ok();
    assert_eq!(sessions(&home).len(), 1);
    assert_eq!(sessions(&home)[0]["status"], "completed");
}

#[test]
fn when_a_run_returns_everything_of_it_is_written() {
    let home = Home::new();
    for _ in 0..5 {
        home.run(STEPS, &[]).ok();
        let view = home.path("project/.coven/sessions").join(home_id(&home)).join("session.json");
        let view: Value = serde_json::from_slice(&fs::read(view).unwrap()).unwrap();
        assert_eq!(view["status"], "completed", "{view:#}");
        fs::remove_dir_all(home.path("project/.coven")).unwrap();
        // A request that the daemon has answered came after whatever it still had to write.
        home.coven(&["ls"]).ok();
        assert!(!home.path("project/.coven").exists(), "nothing is written afterwards");
    }
}

/// The id of the only session on the disk.
fn home_id(home: &Home) -> String {
    let mut names = fs::read_dir(home.path("project/.coven/sessions")).unwrap().flatten();
    names.next().unwrap().file_name().into_string().unwrap()
}
