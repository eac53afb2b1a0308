//! `coven explain`.

use serde_json::Value;

use crate::STEP_TIMEOUT;
use crate::home::Home;

#[test]
fn the_rule_and_the_screen_are_shown() {
    let home = Home::new();
    let name = home.asking("approve echo hi");
    let said = home.coven(&["explain", &name]).ok();
    assert!(said.out.contains("waits for you (approval)"), "{}", said.out);
    assert!(said.out.contains("rule ") && said.out.contains("Run this command?"), "{}", said.out);
    let json = home.coven(&["explain", &format!("{name}/agent"), "--json"]).ok().json();
    assert_eq!(json["verdict"]["state"], "awaiting");
    assert!(json["words"].as_str().unwrap().contains("awaiting"));
}

#[test]
fn what_an_agent_does_it_does_since_then_also_under_another_daemon() {
    let home = Home::new();
    let name = home.asking("approve true; hang");
    let explained = |state: &str| -> Value {
        let end = std::time::Instant::now() + STEP_TIMEOUT;
        loop {
            let json = home.coven(&["explain", &format!("{name}/agent"), "--json"]).ok().json();
            if json["verdict"]["state"] == state {
                return json;
            }
            assert!(std::time::Instant::now() < end, "{json}");
        }
    };
    let asked = explained("awaiting");
    home.kill_daemon();
    assert_eq!(explained("awaiting")["since"], asked["since"]);
    home.coven(&["approve", &name]).ok();
    let working = explained("working");
    assert!(working["since"].as_u64() > asked["since"].as_u64(), "{asked} {working}");
    home.kill_daemon();
    assert_eq!(explained("working")["since"], working["since"]);
}
