//! `coven stop`.

use crate::home::Home;

#[test]
fn an_agent_is_ended_with_everything_it_started() {
    let home = Home::new();
    let name = home.agent("hang");
    home.coven(&["events", &name]).ok();
    let task = format!("{name}/agent");
    loop {
        if home.coven(&["show", &name, "--json"]).ok().json()["tasks"][0]["live"] == true {
            break;
        }
    }
    home.coven(&["stop", &task]).ok();
    // A session of one agent is over with it.
    assert_eq!(home.coven(&["wait", &name, "--timeout", "60s"]).code(1).out, "failed\n");
    assert_eq!(home.coven(&["show", &name, "--json"]).ok().json()["tasks"][0]["status"], "ERROR");
    home.coven(&["stop", &task]).code(1);
}
