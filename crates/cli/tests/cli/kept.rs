//! Agents that were left alive when their task was done.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::home::Home;

/// Longer than anything here takes on a loaded machine; only a failure waits for it.
const DEADLINE: Duration = Duration::from_mins(2);

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
    }
}

fn inbox(home: &Home, name: &str) -> Vec<Value> {
    let json = home.coven(&["inbox", name, "--json"]).ok().json();
    json["interventions"].as_array().unwrap().clone()
}

/// The agent asks, dies with nothing and goes with nothing left: each of it seen by the commands
/// that people have.
///
/// Spec: C0.11.3
#[test]
fn a_kept_agent_is_answered_told_and_audited_when_its_run_is_over() {
    let home = Home::new();
    let task = json!({
        "id": "talk", "adapter": "demo", "permissions": "ask", "keepAlive": true,
        "prompt": "say hello"
    });
    let definition = json!({"id": "kept", "stages": [{"id": "s", "tasks": [task]}]});
    home.write("kept.json", &definition.to_string());
    let name = home.coven(&["run", "./kept.json", "--detach"]).ok().out.trim().to_owned();
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    let agent = format!("{name}/talk");
    home.coven(&["finish", &agent]).ok();
    assert_eq!(home.coven(&["wait", &name, "--timeout", "60s"]).ok().out, "completed\n");
    home.coven(&["audit", &name]).ok();

    home.coven(&["send", &agent, "approve touch X"]).ok();
    until("it asks", || inbox(&home, &name).len() == 1);
    let listed = home.coven(&["ls", "--json"]).ok().json();
    let listed = &listed["workflows"][0];
    assert_eq!((&listed["status"], &listed["waiting"]), (&json!("completed"), &json!(1)));
    let shown = home.coven(&["show", &name]).ok().out;
    assert!(shown.contains("touch X") && shown.contains("coven approve"), "{shown}");
    assert!(home.coven(&[]).ok().out.contains("1 question waits for you"));
    home.coven(&["audit", &name]).ok();

    home.kill_daemon();
    let asked = inbox(&home, &name);
    assert_eq!((asked.len(), &asked[0]["command"]), (1, &json!("touch X")));
    // A message is no answer, and is refused as for every agent that asks.
    home.coven(&["send", &agent, "yes"]).code(1);
    home.coven(&["approve", &name]).ok();
    until("it does it", || home.path("project/X").exists());
    assert_eq!(inbox(&home, &name).len(), 0);
    home.coven(&["approve", &name]).code(1);

    home.coven(&["send", &agent, "approve touch Y"]).ok();
    until("it asks again", || inbox(&home, &name).len() == 1);
    home.coven(&["stop", &agent]).ok();
    let released = || home.coven(&["events", &name, "--json"]).ok().out.contains("task.released");
    until("it ends", released);
    assert_eq!(inbox(&home, &name).len(), 0);
    assert!(!home.path("project/Y").exists());
    let details = home.coven(&["show", &name, "--json"]).ok().json();
    assert_eq!(
        (&details["status"], &details["tasks"][0]["status"]),
        (&json!("completed"), &json!("DONE"))
    );
    let said = home.coven(&["audit", &name]).code(0);
    assert!(said.out.contains("nothing wrong"), "{}", said.out);
    home.coven(&["daemon", "stop"]).ok();
    home.coven(&["audit", &name]).ok();
}
