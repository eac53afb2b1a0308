//! `coven rm`.

use std::time::Instant;

use insta::assert_snapshot;

use crate::STEP_TIMEOUT;
use crate::home::Home;

#[test]
fn only_what_is_over_is_deleted() {
    let home = Home::new();
    home.run("  - {name: look, type: gate, message: Look at it.}\n", &[]).code(3);
    let name = home.only();
    assert_snapshot!(home.said(&["rm", &name]), @r"
    --- exit 1
    error: NAME is blocked
    hint: coven cancel NAME, then coven rm NAME
    ");
    let refused = home.coven(&["rm", &name, "--json"]).code(1);
    assert!(refused.err.contains(r#""code":"not-now""#), "{}", refused.err);
    let unknown = home.coven(&["answer", &format!("{name}/99"), "approve", "--json"]).code(1);
    assert!(unknown.err.contains(r#""code":"intervention-not-found""#), "{}", unknown.err);
    home.coven(&["cancel", &name]).ok();
    home.coven(&["rm", &name]).ok();
    assert_eq!(home.coven(&["ls", "--json"]).ok().json()["total"], 0);
    home.coven(&["rm", &name]).code(1);
}

/// As many as said stay, the newest among them, and the log names the others.
#[test]
fn old_sessions_go_by_themselves_and_the_log_names_them() {
    let home = Home::new();
    let steps = "  - {name: one, type: script, command: 'true'}\n";
    for _ in 0..4 {
        home.run(steps, &[]).ok();
    }
    let listed = || -> Vec<String> {
        let listed = home.coven(&["ls", "--json"]).ok().json();
        let items = listed["workflows"].as_array().unwrap().iter();
        items.map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    let before = listed();
    home.coven(&["daemon", "stop"]).ok();
    home.write("../home/.config/coven/config.yaml", "retention: {keep: 2}\n");
    home.run(steps, &[]).ok();
    let end = Instant::now() + STEP_TIMEOUT;
    let mut left = listed();
    while left.len() != 2 {
        assert!(Instant::now() < end, "{left:?} of {before:?}");
        left = listed();
    }
    assert_eq!(left[1], before[0], "the newest stay");
    let log = std::fs::read_to_string(home.path("state/coven/daemon.log")).unwrap();
    for name in &before[1..] {
        let line = format!("{name} is deleted: 2 that are over stay (retention in config.yaml)");
        assert!(log.contains(&line), "{line}: {log}");
    }
}
