//! `coven send`.

use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::json;

use crate::demo_agent::eventually;
use crate::home::Home;

#[test]
fn a_message_is_typed_to_the_agent_and_arrives() {
    let home = Home::new();
    let name = home.agent("");
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    home.coven(&["send", &name, "approve echo sent > sent.txt"]).ok();
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    home.coven(&["send", &format!("{name}/agent"), "--key", "1"]).ok();
    eventually("the command", || home.path("project/sent.txt").exists().then_some(()));
}

#[test]
fn each_message_is_shown_with_the_time_at_which_it_was_sent() {
    let home = Home::new();
    let name = home.agent("");
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    for text in ["say one", "say two", "say three"] {
        home.coven(&["send", &name, text]).ok();
    }
    let of = |list: &serde_json::Value, kind: &str, key: &str, time: &str| -> Vec<String> {
        let list = list.as_array().unwrap().iter().filter(|entry| entry[key] == kind);
        list.map(|entry| entry[time].to_string()).collect()
    };
    let events = json!(home.coven(&["events", &name, "--json"]).ok().lines());
    let shown = home.coven(&["show", &name, "--json"]).ok().json();
    let times = of(&shown["session"]["history"], "input", "what", "at");
    assert_eq!(times, of(&events, "input.queued", "type", "time"), "{shown:#}");
    assert!(times.len() == 3 && times.is_sorted() && times[0] < times[2], "{times:?}");
}

#[test]
fn a_message_to_an_agent_that_is_just_started_waits_for_it() {
    let home = Home::new();
    let name = home.agent("say hello");
    let said = home.coven(&["send", &name, "say again"]).ok();
    assert!(said.out.contains("sent to"), "{}", said.out);
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    let shown = home.coven(&["inbox"]).out;
    assert!(shown.contains("│ again\n"), "{shown}");
}

#[test]
fn an_agent_without_a_terminal_reads_lines_where_its_adapter_leaves_its_input_open() {
    let home = Home::new();
    for (adapter, stdin) in [("reader", "pipe"), ("deaf", "null")] {
        let config = json!({
            "schemaVersion": 1,
            "command": "/bin/sh",
            "modes": {"headless": {"baseArgs": ["-c"], "stdin": stdin, "transcript": "text"}},
        });
        let file = format!("../home/.config/coven/adapters/{adapter}/config.json");
        home.write(&file, &config.to_string());
    }
    let started = |adapter: &str, command: &str| {
        let arguments = ["new", adapter, command, "--mode", "headless", "--detach", "--json"];
        home.coven(&arguments).ok().json()["name"].as_str().unwrap().to_owned()
    };
    let name = started("reader", "read first; read second; echo \"$first and $second\" > got.txt");
    for (target, line) in [(name.clone(), "one thing"), (format!("{name}/agent"), "another")] {
        let said = home.coven(&["send", &target, line]).ok().out;
        assert_eq!(said, format!("sent to {name}/agent\n"));
    }
    home.coven(&["wait", &name, "--timeout", "60s"]).ok();
    let got = std::fs::read_to_string(home.path("project/got.txt")).unwrap();
    assert_eq!(got, "one thing and another\n");

    let name = started("deaf", "exec tail -f /dev/null");
    let refused = home.coven(&["send", &name, "hello"]).code(1).err;
    assert!(refused.contains("is not interactive, so nothing can be said to it"), "{refused}");
    home.coven(&["cancel", &name]).ok();
}

#[test]
fn an_agent_that_waits_for_a_slot_is_shown_so_and_its_message_is_kept() {
    let home = Home::new();
    home.write("../home/.config/coven/config.yaml", "maxAgents: 1\n");
    let first = home.agent("");
    home.coven(&["wait", &first, "--until", "idle", "--timeout", "60s"]).ok();
    let second = home.agent("");
    let listed = home.coven(&["ls"]).ok().out;
    let line = listed.lines().find(|line| line.starts_with(&second)).unwrap();
    assert!(line.contains("waits for a slot") && !line.contains("(1)"), "{listed}");
    let item = home.coven(&["show", &second, "--json"]).ok().json();
    assert_eq!((&item["running"], &item["queued"]), (&json!(0), &json!(1)), "{item}");
    let task = &item["tasks"][0];
    assert_eq!((&task["live"], &task["queued"]), (&json!(false), &json!(true)), "{task}");
    for shown in [second.clone(), format!("{second}/agent")] {
        let shown = home.coven(&["show", &shown]).ok().out;
        assert!(shown.contains("waits for a slot"), "{shown}");
    }
    let began = Instant::now();
    let said = home.coven(&["send", &second, "say it came"]).ok().out;
    assert!(said.contains("the agent waits for a slot"), "{said}");
    // Without this it takes as long as a message may take to arrive, which is 50 seconds.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    for more in [["--key", "Enter"], ["--paste", "text"]] {
        let refused = home.coven(&["send", &second, more[0], more[1]]).code(1).err;
        assert!(refused.contains("has not started yet: it waits for a slot"), "{refused}");
    }
    let refused = home.coven(&["interrupt", &format!("{second}/agent")]).code(1).err;
    assert!(refused.contains("has not started yet: it waits for a slot"), "{refused}");

    home.coven(&["cancel", &first]).ok();
    eventually("the message", || {
        let shown = home.coven(&["show", &format!("{second}/agent")]).out;
        (shown.contains("it came") && !shown.contains("waits for a slot")).then_some(())
    });
    let item = home.coven(&["show", &second, "--json"]).ok().json();
    assert_eq!((&item["running"], &item["queued"]), (&json!(1), &json!(null)), "{item}");
}

/// A program that reads plain lines, which takes neither two of them nor one that is too long.
#[test]
fn a_message_that_cannot_be_typed_is_told_why_each_time_and_not_offered_to_be_sent_anyway() {
    let home = Home::new();
    let script = "while printf 'IDLE> '; IFS= read -r line; do echo \"$line\" >> got.txt; done";
    let config = json!({
        "schemaVersion": 1,
        "command": "bash",
        "modes": {"interactive": {"baseArgs": ["-c", script]}},
        "states": {
            "interaction_idle": {"pattern": "^IDLE>", "region": "cursor:1", "kind": "idle"}
        },
        "keys": {"submit": ["Enter"]},
    });
    home.write("../home/.config/coven/adapters/lines/config.json", &config.to_string());
    let started = home.coven(&["new", "lines", "--detach", "--json"]).ok().json();
    let name = started["name"].as_str().unwrap();
    let long = "x".repeat(4501);
    for (text, reason) in [("one\ntwo", "it has several lines"), (&*long, "4501 bytes")] {
        let refused = home.coven(&["send", name, text]).code(1).err;
        assert!(refused.contains(reason), "{refused}");
        let retried = home.coven(&["answer", name, "retry"]).code(1).err;
        assert!(retried.contains(reason) && !retried.contains("decided it before"), "{retried}");
        let anyway = home.coven(&["answer", name, "send-anyway"]).code(2).err;
        assert!(anyway.contains("it can be retry, drop"), "{anyway}");
        home.coven(&["answer", name, "drop"]).ok();
    }
    home.coven(&["send", name, "three"]).ok();
    eventually("the line", || {
        let got = std::fs::read_to_string(home.path("project/got.txt")).unwrap_or_default();
        (got == "three\n").then_some(())
    });
    home.coven(&["cancel", name]).ok();
}

#[test]
fn what_cannot_be_sent_is_explained() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    let name = home.only();
    assert_snapshot!(home.said(&["send", &name, "hello"]), @r"
    --- exit 1
    error: NAME has no agent on a terminal now
    hint: `coven show NAME` says how it stands
    ");
    assert_snapshot!(home.said(&["send", &name, ""]), @r#"
    --- exit 2
    error: there is nothing to send
    hint: coven send NAME "TEXT"
    "#);
}
