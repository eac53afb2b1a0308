//! `coven schema`.

use crate::home::Home;

#[test]
fn every_file_that_people_write_has_a_schema() {
    let home = Home::new();
    for file in ["adapter", "comments", "config", "grimoire", "policy", "workflow"] {
        let schema = home.coven(&["schema", file]).ok().json();
        assert!(
            schema["properties"].is_object()
                || schema["$defs"].is_object()
                || schema["definitions"].is_object(),
            "{file}"
        );
    }
}
