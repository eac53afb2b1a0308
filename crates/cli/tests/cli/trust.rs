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
      .coven/grimoires/mine.yaml (new)
        name: mine
        description: Mine.
        steps:
          - {name: a, type: script, command: 'true'}
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

#[test]
fn what_changed_since_is_shown_as_a_difference_that_cannot_act_on_the_terminal() {
    let home = Home::new();
    home.write(".coven/grimoires/mine.yaml", MINE);
    home.write(".coven/adapters/mine/notes", "kept\n");
    home.coven(&["trust", "--yes"]).ok();
    home.write(".coven/grimoires/mine.yaml", &MINE.replace("true", "\x1b[2Jfalse\u{202e}"));
    home.write(".coven/adapters/mine/run\n\x1b[31m.sh", "echo hello\n");
    assert_snapshot!(home.said(&["trust", "--show"]), @r"
      .coven/adapters/mine/run␊␛[31m.sh (new)
        echo hello
      .coven/grimoires/mine.yaml (changed)
        @@ -1,4 +1,4 @@
         name: mine
         description: Mine.
         steps:
        -  - {name: a, type: script, command: 'true'}
        +  - {name: a, type: script, command: '␛[2Jfalse�'}
      1 other files are as they were
    --- exit 0
    ");
    // Looking agrees to nothing.
    assert_eq!(home.coven(&["trust", "--json"]).ok().json()["state"], "changed");
}

#[test]
fn what_changed_while_it_was_looked_at_is_to_be_looked_at_again() {
    let home = Home::new();
    home.write(".coven/grimoires/mine.yaml", MINE);
    let mut terminal = home.terminal(&["trust"]);
    terminal.until_shows("trust them? [y/N]");
    home.write(".coven/grimoires/mine.yaml", &MINE.replace("true", "false"));
    terminal.send("y");
    assert_eq!(terminal.finish().code(), Some(1));
    assert!(terminal.text().contains("look again: coven trust"), "{}", terminal.text());
    assert_eq!(home.coven(&["trust", "--json"]).ok().json()["state"], "untrusted");
}

#[test]
fn only_copies_that_are_in_use_are_kept() {
    let home = Home::new();
    let kept = || {
        let copies = std::fs::read_dir(home.path("state/coven/trusted")).into_iter().flatten();
        copies.map(|copy| copy.unwrap().file_name()).collect::<Vec<_>>()
    };
    home.write(".coven/grimoires/mine.yaml", MINE);
    home.coven(&["trust", "--yes"]).ok();
    let first = kept();
    home.write(".coven/grimoires/mine.yaml", &MINE.replace("true", "false"));
    assert_eq!(kept(), first);
    home.coven(&["trust", "--yes"]).ok();
    assert!(kept().len() == 1 && kept() != first, "{:?}", kept());
    home.coven(&["trust", "--revoke"]).ok();
    assert_eq!(kept().len(), 0);
}

#[test]
fn a_folder_whose_files_are_gone_asks_before_they_are_forgotten() {
    let home = Home::new();
    let policy = home.write(".coven/policy.yaml", "version: 1\nrules: []\n");
    home.coven(&["trust", "--yes"]).ok();
    std::fs::remove_file(policy).unwrap();
    assert_eq!(home.coven(&["trust", "--json"]).ok().json()["state"], "changed");
    home.coven(&["trust", "--yes"]).ok();
    assert_eq!(home.coven(&["trust", "--json"]).ok().json()["state"], "nothing");
}
