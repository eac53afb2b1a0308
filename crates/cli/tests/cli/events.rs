//! `coven events`.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn what_happened_is_told_as_lines_or_as_json() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'echo hi'}\n", &[]).ok();
    let name = home.only();
    let all = home.coven(&["events", &name, "--json"]).ok().lines();
    assert_eq!(all[0]["type"], "session.created");
    assert!(all.iter().enumerate().all(|(place, line)| line["seq"] == place as u64 + 1));
    let later = home.coven(&["events", &name, "--json", "--after", "3"]).ok().lines();
    assert_eq!(later, all[3..]);
    assert_eq!(home.coven(&["events", &name]).ok().out.lines().count(), all.len());
    assert_eq!(home.coven(&["events", &name, "-f", "--json"]).ok().lines(), all);
    assert_snapshot!(home.said(&["events"]), @r"
    --- exit 2
    error: name a session, or follow all of them
    hint: coven events NAME, or coven events --follow
    ");
    assert_snapshot!(home.said(&["events", "no-such"]), @r"
    --- exit 1
    error: no session has the id or name `no-such`
    hint: `coven ls` lists the sessions
    ");
}

#[test]
fn every_fact_is_told_in_words() {
    let home = Home::new();
    let name = home.asking("say Look here; approve ls");
    home.coven(&["approve", &name]).ok();
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    home.coven(&["send", &name, "say more"]).ok();
    home.coven(&["cancel", &name, "--why", "enough"]).ok();
    let said = home.coven(&["events", &name]).ok().out;
    assert!(said.contains("was made to run agent"), "{said}");
    assert!(said.contains("the run is cancelled by") && said.contains("enough"), "{said}");
    let facts = home.coven(&["events", &name, "--json"]).ok().lines();
    for fact in facts {
        let kind = fact["type"].as_str().unwrap();
        assert!(!said.contains(kind), "{kind} in {said}");
    }
    assert!(!said.contains('{'), "{said}");
}

#[test]
fn what_happened_anywhere_is_told_to_its_end_and_goals_of_files_are_kept() {
    let home = Home::new();
    let stages = r#"{"id": "w", "goal": "Ship it", "stages": [{"id": "s",
        "tasks": [{"id": "t", "adapter": "demo", "executionMode": "headless", "prompt": "say hi"}]}]}"#;
    std::fs::write(home.path("project/w.json"), stages).unwrap();
    home.coven(&["run", "w.json", "--auto", "allow"]).ok();
    let shown = home.coven(&["show", &home.only(), "--json"]).ok().json();
    assert_eq!(shown["goal"], "Ship it", "{shown:#}");
    let all = home.coven(&["events", "--after", "0", "--json"]).ok().lines();
    assert_eq!(all[0]["type"], "session.created");
    let last = all.last().unwrap()["pos"].as_u64().unwrap();
    let none = home.coven(&["events", "--after", &last.to_string(), "--json"]).ok();
    assert_eq!(none.out, "");
}
