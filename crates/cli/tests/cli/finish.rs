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
