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

#[test]
fn an_agent_that_was_just_started_is_waited_for() {
    let home = Home::new();
    for verb in [&["interrupt"][..], &["send", "--key", "Esc"], &["stop"]] {
        let name = home.agent("hang");
        let mut arguments = verb.to_vec();
        arguments.push(&name);
        home.coven(&arguments).ok();
        // Nothing is waited for where no agent will be.
        home.coven(&["cancel", &name]);
        home.coven(&["wait", &name, "--timeout", "60s"]);
        let said = home.coven(&arguments).code(1);
        assert!(said.err.contains(&name), "{}", said.err);
    }
}
