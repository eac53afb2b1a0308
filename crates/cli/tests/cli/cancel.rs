//! `coven cancel`.

use crate::home::Home;

#[test]
fn a_run_is_cancelled_with_its_agents_and_cancelling_again_is_fine() {
    let home = Home::new();
    let name = home.asking("approve ls");
    let said = home.coven(&["cancel", &name, "--why", "the wrong one"]).ok();
    assert_eq!(said.out, format!("{name} is cancelled\n"));
    assert_eq!(home.coven(&["cancel", &name]).ok().out, format!("{name} is cancelled already\n"));
    assert_eq!(home.coven(&["wait", &name]).code(4).out, "cancelled\n");
    home.coven(&["audit", &name]).ok();
}

#[test]
fn nothing_of_what_was_cancelled_is_shown_to_run() {
    let home = Home::new();
    let name = home.asking("approve ls");
    home.coven(&["cancel", &name]).ok();
    let shown = home.coven(&["show", &name]).ok().out;
    let shown = shown.split("\n\n").next().unwrap();
    assert!(shown.contains("  - agent") && !shown.contains('▶') && !shown.contains('?'), "{shown}");
}
