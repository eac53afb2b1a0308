//! `coven ui`.

use crate::home::Home;

#[test]
fn without_a_display_the_address_is_printed() {
    let home = Home::new();
    let said = home.coven(&["ui"]).ok();
    assert!(said.out.starts_with("http://127.0.0.1:") && said.out.contains('#'), "{}", said.out);
    assert_ne!(home.coven(&["ui", "--print"]).ok().out, said.out);
}
