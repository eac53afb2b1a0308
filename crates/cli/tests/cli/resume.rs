//! `coven resume`.

use crate::home::Home;

#[test]
fn a_run_goes_on_after_the_daemon_was_stopped() {
    let home = Home::new();
    home.run("  - {name: look, type: gate, message: Look at it.}\n", &[]).code(3);
    let name = home.only();
    home.coven(&["daemon", "stop"]).ok();
    let said = home.coven(&["resume", &name]).ok();
    assert_eq!(said.out, format!("{name} is blocked\n"));
    home.coven(&["approve", &name]).ok();
    home.coven(&["wait", &name, "--timeout", "60s"]).ok();
}

#[test]
fn a_run_that_is_over_says_so() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    let said = home.coven(&["resume", "@"]).code(1);
    assert!(said.err.contains("is completed and does not go on"), "{}", said.err);
    home.run("  - {name: one, type: script, command: 'exit 1'}\n", &[]).code(1);
    let said = home.coven(&["resume", "@"]).code(1);
    assert!(said.err.contains("is failed and") && said.err.contains("coven retry"), "{}", said.err);
}
