//! What a session can be called: its name or the beginning of it, `@`, or nothing at all.

use std::fs;
use std::time::Instant;

use crate::STEP_TIMEOUT;
use crate::home::{Home, Said};

const STEPS: &str = "  - {name: one, type: script, command: 'echo first', output: said}\n";

/// A command in another folder of the same user.
fn elsewhere(home: &Home, args: &[&str]) -> Said {
    let folder = home.path("elsewhere");
    fs::create_dir_all(&folder).unwrap();
    Said::of(&home.command(args).current_dir(folder).output().unwrap())
}

#[test]
fn without_a_name_the_newest_session_of_the_folder_is_meant() {
    let home = Home::new();
    let said = home.coven(&["show"]).code(1);
    assert!(said.err.contains("this folder has no sessions"), "{}", said.err);
    home.run(STEPS, &["--goal", "the older"]).ok();
    home.run(STEPS, &["--goal", "the newer"]).ok();
    // A newer one of another folder does not count here.
    home.write("test.yaml", &format!("name: test\ndescription: A test.\nsteps:\n{STEPS}"));
    let file = home.path("project/test.yaml");
    elsewhere(&home, &["run", file.to_str().unwrap(), "--goal", "the newest"]).ok();
    for args in [&["show"][..], &["show", "@"], &["show", "@", "--json"]] {
        let said = home.coven(args).ok().out;
        assert!(said.contains("the newer"), "{said}");
    }
    assert!(elsewhere(&home, &["show"]).ok().out.contains("the newest"));
    assert_eq!(home.coven(&["logs"]).ok().out, "first\n");
    assert_eq!(home.coven(&["logs", "@/one"]).ok().out, "first\n");
    assert_eq!(home.coven(&["output"]).ok().out, "first\n");
    let said = home.coven(&["attach"]).code(2);
    assert!(said.err.contains("this needs a terminal"), "{}", said.err);
}

#[test]
fn the_beginning_of_a_name_is_enough_and_says_so_if_it_is_not() {
    let home = Home::new();
    home.run(STEPS, &[]).ok();
    let name = home.only();
    let short = name.split('-').next().unwrap();
    assert_eq!(home.coven(&["show", short, "--json"]).ok().json()["name"], name.as_str());
    assert_eq!(home.coven(&["output", short, "one"]).ok().out, "first\n");
    for known in [short, "@", name.as_str()] {
        assert!(home.coven(&["audit", known]).ok().out.contains(&name), "{known}");
    }
    assert_eq!(home.coven(&["rm", short]).ok().out, format!("{name} is deleted\n"));
    // All ids of a moment begin alike.
    home.run(STEPS, &[]).ok();
    home.run(STEPS, &[]).ok();
    let said = home.coven(&["show", "01"]).code(2);
    assert!(said.err.contains("`01` could be ") && said.err.contains("/project"), "{}", said.err);
    let said = home.coven(&["show", "no-such", "--json"]).code(1);
    assert!(said.err.contains(r#""code":"workflow-not-found""#), "{}", said.err);
    let said = home.coven(&["show", "@/no-such", "--json"]).code(1);
    assert!(said.err.contains(r#""code":"task-not-found""#), "{}", said.err);
}

#[test]
fn a_list_says_which_workflow_runs_in_which_folder_and_what_started_it() {
    let home = Home::new();
    let grimoires = home.path("home/.config/coven/grimoires");
    fs::create_dir_all(&grimoires).unwrap();
    let after = "name: after\ndescription: After.\n\
                 trigger: {event: workflow.completed, where: \"grimoire == 'test'\"}\n\
                 steps:\n  - {name: note, type: script, command: 'true'}\n";
    fs::write(grimoires.join("after.yaml"), after).unwrap();
    home.run(STEPS, &[]).ok();
    let end = Instant::now() + STEP_TIMEOUT;
    let listed = loop {
        let listed = home.coven(&["ls", "--json"]).ok().json();
        if listed["total"] == 2 {
            break listed;
        }
        assert!(Instant::now() < end, "{listed:#}");
    };
    let (child, parent) = (&listed["workflows"][0], &listed["workflows"][1]);
    assert_eq!((&child["grimoire"], &parent["grimoire"]), (&"after".into(), &"test".into()));
    assert_eq!(child["cause"]["event"], "workflow.completed");
    assert_eq!(child["cause"]["session"], parent["id"]);
    assert_eq!(child["cause"]["name"], parent["name"]);
    let table = home.coven(&["ls"]).ok().out;
    let (head, rows) = table.split_once('\n').unwrap();
    assert!(head.contains("GRIMOIRE") && !head.contains("FOLDER"), "{table}");
    assert!(
        rows.contains("  after  ") && rows.contains("started by workflow.completed"),
        "{table}"
    );
    assert!(!rows.contains(" -\n"), "{table}");
    let table = elsewhere(&home, &["ls"]).ok().out;
    assert!(table.contains("FOLDER") && table.contains("project"), "{table}");
    let name = child["name"].as_str().unwrap();
    let shown = home.coven(&["show", name]).ok().out;
    let parent = parent["name"].as_str().unwrap();
    assert!(shown.contains(&format!("by workflow.completed of {parent}")), "{shown}");
    // The next daemon knows it from the cache and from the journal.
    home.coven(&["daemon", "stop"]).ok();
    assert_eq!(home.coven(&["ls", "--json"]).ok().json()["workflows"][0]["cause"], child["cause"]);
}
