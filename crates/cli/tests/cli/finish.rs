//! `coven finish` and `coven interrupt`.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn a_person_says_that_a_task_is_done() {
    let home = Home::new();
    let name = home.agent("");
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    home.coven(&["finish", &name]).ok();
    assert_eq!(home.coven(&["wait", &name, "--timeout", "60s"]).ok().out, "completed\n");
    assert_snapshot!(home.said(&["finish", &name]), @r"
    --- exit 1
    error: NAME has no running agent now
    hint: `coven show NAME` says how it stands
    ");
}

#[test]
fn an_agent_that_is_interrupted_stays() {
    let home = Home::new();
    let name = home.agent("hang");
    let task = format!("{name}/agent");
    loop {
        let json = home.coven(&["show", &name, "--json"]).ok().json();
        if json["tasks"][0]["verdict"]["state"] == "working" {
            break;
        }
    }
    home.coven(&["interrupt", &task]).ok();
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    assert_eq!(home.coven(&["show", &name, "--json"]).ok().json()["tasks"][0]["live"], true);
}

/// One without a terminal, that is spoken to in its own protocol, named by its session alone.
#[test]
fn a_headless_agent_is_interrupted_by_a_message() {
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_coven");
    let config = format!(
        r#"{{"schemaVersion": 1, "command": {program:?}, "permissions": {{"all": []}},
            "modes": {{"headless": {{"transcript": "text"}}}},
            "channel": {{"kind": "acp", "baseArgs": ["demo-agent", "--acp"],
                "permissions": {{"all": ["--permissions", "all"]}}}}}}"#
    );
    let folder = home.path("home/.config/coven/adapters/talker");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), config).unwrap();
    let task = r#"{"id": "talk", "adapter": "talker", "executionMode": "headless",
        "permissions": "all", "prompt": "disobey echo begun > begun.txt; hang; say never",
        "pendingInputs": ["disobey echo told > told.txt; say heard"]}"#;
    let definition = format!(r#"{{"id": "talks", "stages": [{{"id": "s", "tasks": [{task}]}}]}}"#);
    home.write("talks.json", &definition);
    home.coven(&["run", "./talks.json", "--detach"]).ok();
    let name = home.only();
    let end = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !home.path("project/begun.txt").exists() {
        assert!(std::time::Instant::now() < end, "it never began");
    }
    home.coven(&["interrupt", &name]).ok();
    // What it should do now, a person says; its process waits for that.
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    assert_eq!(home.coven(&["show", &name, "--json"]).ok().json()["tasks"][0]["live"], true);
    let asked = home.coven(&["inbox", "--json"]).ok().json();
    let asked = &asked["interventions"][0];
    assert_eq!(asked["kind"], "ended-turn");
    assert!(asked["reason"].as_str().unwrap().contains("was interrupted"), "{asked}");
    home.coven(&["answer", &name, "complete"]).ok();
    assert_eq!(home.coven(&["wait", &name, "--timeout", "60s"]).ok().out, "completed\n");
    assert!(!home.path("project/told.txt").exists());
}
