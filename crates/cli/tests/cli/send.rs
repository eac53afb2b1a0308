//! `coven send`.

use insta::assert_snapshot;

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
fn a_message_to_an_agent_that_is_just_started_waits_for_it() {
    let home = Home::new();
    let name = home.agent("say hello");
    let said = home.coven(&["send", &name, "say again"]).ok();
    assert!(said.out.contains("sent to"), "{}", said.out);
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    let shown = home.coven(&["inbox"]).out;
    assert!(shown.contains("● again"), "{shown}");
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
