//! `coven rm`.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn only_what_is_over_is_deleted() {
    let home = Home::new();
    home.run("  - {name: look, type: gate, message: Look at it.}\n", &[]).code(3);
    let name = home.only();
    assert_snapshot!(home.said(&["rm", &name]), @r"
    --- exit 1
    error: NAME is blocked
    hint: coven cancel NAME, then coven rm NAME
    ");
    let refused = home.coven(&["rm", &name, "--json"]).code(1);
    assert!(refused.err.contains(r#""code":"not-now""#), "{}", refused.err);
    let unknown = home.coven(&["answer", &format!("{name}/99"), "approve", "--json"]).code(1);
    assert!(unknown.err.contains(r#""code":"intervention-not-found""#), "{}", unknown.err);
    home.coven(&["cancel", &name]).ok();
    home.coven(&["rm", &name]).ok();
    assert_eq!(home.coven(&["ls", "--json"]).ok().json()["total"], 0);
    home.coven(&["rm", &name]).code(1);
}
