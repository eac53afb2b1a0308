//! `coven explain`.

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
