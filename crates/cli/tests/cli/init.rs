//! `coven init`.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn what_is_written_is_trusted_and_runs() {
    let home = Home::new();
    assert_snapshot!(home.said(&["init"]), @r"
    ~/project/.coven/grimoires/hello.yaml
    ~/project/.coven/policy.yaml
    --- exit 0

    Try it: coven run hello  Then change it: .coven/grimoires/hello.yaml
    ");
    assert_eq!(home.coven(&["trust", "--json"]).ok().json()["state"], "trusted");
    home.coven(&["grimoire", "check", "hello"]).ok();
    let said = home.coven(&["run", "hello"]).ok();
    assert!(said.out.contains("I looked at this folder."), "{}", said.out);
    assert_snapshot!(home.said(&["init"]), @r"
    --- exit 1
    ~/project/.coven/grimoires/hello.yaml is there already and stays as it is
    ~/project/.coven/policy.yaml is there already and stays as it is
    error: there was nothing to write
    hint: coven grimoire new NAME writes another workflow
    ");
}

#[test]
fn what_somebody_else_left_there_is_not_trusted_along() {
    let home = Home::new();
    home.write(
        ".coven/grimoires/other.yaml",
        "name: other\ndescription: Other.\nsteps:\n  - {name: a, type: script, command: 'true'}\n",
    );
    let said = home.coven(&["init"]).ok();
    assert!(said.err.contains("coven trust"), "{}", said.err);
    assert_eq!(home.coven(&["trust", "--json"]).ok().json()["state"], "untrusted");
}
