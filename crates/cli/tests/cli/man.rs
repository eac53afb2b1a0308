//! `coven man`, which is for those who package it.

use crate::home::Home;

#[test]
fn every_command_has_a_page() {
    let home = Home::new();
    home.coven(&["man", "pages"]).ok();
    for page in ["coven.1", "coven-run.1", "coven-daemon-start.1"] {
        assert!(home.path("project/pages").join(page).exists(), "{page}");
    }
    assert!(home.coven(&["man"]).ok().out.contains(".TH coven 1"));
}
