//! `coven retry`.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn what_failed_is_tried_again_and_what_was_done_is_not() {
    let home = Home::new();
    home.run("  - {name: once, type: script, command: 'echo once >> count.txt'}\n  - {name: there, type: script, command: test -f there.txt}\n", &[]).code(1);
    let name = home.only();
    home.write("there.txt", "");
    let said = home.coven(&["retry", &name]).ok();
    assert!(said.out.contains("is completed"), "{}", said.out);
    assert_eq!(std::fs::read_to_string(home.path("project/count.txt")).unwrap(), "once\n");
    home.coven(&["audit"]).ok();
    assert_snapshot!(home.said(&["retry", &name]), @r"
    --- exit 1
    error: the run is completed
    ");
}

#[test]
fn what_a_retried_step_asks_at_once_is_not_missed() {
    let home = Home::new();
    home.run("  - {name: ship, type: gate, message: Ship it?}\n", &[]).code(3);
    home.coven(&["deny", "@"]).ok();
    home.coven(&["wait", "@", "--timeout", "60s"]).code(1);
    let said = home.coven(&["retry", "@"]).code(3);
    assert!(said.out.contains("Ship it?") || said.err.contains("Ship it?"), "{}", said.err);
}
