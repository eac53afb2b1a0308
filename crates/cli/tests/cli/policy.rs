//! `coven policy test`.

use insta::assert_snapshot;

use crate::home::{Home, Said};

#[test]
fn a_policy_is_edited_on_a_terminal_or_not_at_all() {
    let home = Home::new();
    let mut command = home.command(&["policy", "edit"]);
    command.env("EDITOR", "touch edited; cat");
    let said = Said::of(&command.output().unwrap()).code(1);
    let path = home.path("home/.config/coven/policy.yaml");
    assert!(said.err.contains("there is no terminal to edit it on"), "{}", said.err);
    assert!(said.err.contains("policy.yaml, then: coven policy accept"), "{}", said.err);
    assert!(!path.exists() && !home.path("project/edited").exists());
}

#[test]
fn a_policy_is_held_against_what_was_asked() {
    let home = Home::new();
    assert_snapshot!(home.said(&["policy", "test"]), @r"
    --- exit 1
    error: there is no policy, so every question is asked
    hint: write one, then: coven policy test FILE  (its form: coven schema policy)
    ");
    let name = home.asking("approve cargo test; approve git push --force");
    home.coven(&["approve", &name]).ok();
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    let draft = "version: 1\nrules:\n  - {name: tests, kind: approval, matches: cargo test, decision: deny}\n  - {name: force, kind: approval, matches: git push --force, decision: deny}\n  - {name: never, kind: choice, decision: ask}\n";
    home.write("draft.yaml", draft);
    let said = home.coven(&["policy", "test", "draft.yaml"]).ok();
    assert!(
        said.out.contains("deny !") && said.err.contains("1 would be decided otherwise"),
        "{}{}",
        said.out,
        said.err
    );
    assert!(said.err.contains("`never` (line 5) decided nothing"), "{}", said.err);
    let json =
        home.coven(&["policy", "test", "draft.yaml", "--session", &name, "--json"]).ok().json();
    assert_eq!(json["rows"][0]["agrees"], false);
    let then = |name: &str| {
        let out = home.coven(&["policy", "test", "draft.yaml", "--session", name]).ok().out;
        let rows = out.lines().filter(|line| line.starts_with(name));
        rows.map(|row| row.split_whitespace().nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(then(&name)[..2], ["approve", "open"]);
    home.coven(&["cancel", &name]).ok();
    assert_eq!(then(&name)[..2], ["approve", "withdrawn"]);
    home.write("wrong.yaml", "version: 1\nrules:\n  - {decision: maybe}\n");
    let said = home.coven(&["policy", "test", "wrong.yaml"]).code(1);
    assert!(said.err.contains("wrong.yaml"), "{}", said.err);
}
