//! `coven trust`.

use insta::assert_snapshot;

use crate::home::Home;

const MINE: &str =
    "name: mine\ndescription: Mine.\nsteps:\n  - {name: a, type: script, command: 'true'}\n";

/// Spec: GR.1.2
#[test]
fn a_folder_is_used_only_as_it_was_agreed_to() {
    let home = Home::new();
    assert_snapshot!(home.said(&["trust"]), @r"
    ~/project brings nothing along that would need trust
    --- exit 0
    ");
    home.write(".coven/grimoires/mine.yaml", MINE);
    assert_snapshot!(home.said(&["trust"]), @r"
    --- exit 1
    What ~/project brings along is not trusted:
      .coven/grimoires/mine.yaml
    error: there is no terminal to ask on
    hint: coven trust --yes
    ");
    assert_eq!(home.coven(&["trust", "--json"]).ok().json()["state"], "untrusted");
    home.coven(&["trust", "--yes"]).ok();
    home.coven(&["run", "mine"]).ok();
    let listed = home.coven(&["grimoire", "ls"]).ok().out;
    assert!(listed.contains("mine") && !listed.contains("not trusted"), "{listed}");
    home.write(".coven/grimoires/mine.yaml", &MINE.replace("true", "false"));
    let said = home.coven(&["run", "mine"]).code(1);
    assert!(said.err.contains("coven trust"), "{}", said.err);
    home.coven(&["trust", "--yes"]).ok();
    home.coven(&["trust", "--revoke"]).ok();
    assert_eq!(home.coven(&["trust", "--json"]).ok().json()["state"], "untrusted");
}
