//! `coven init`.

use std::fs;
use std::os::unix::fs::symlink;

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
fn what_is_written_names_a_schema_that_is_there() {
    let home = Home::new();
    home.coven(&["init"]).ok();
    home.coven(&["grimoire", "new", "mine"]).ok();
    home.coven(&["grimoire", "new", "copied", "--from", "mine"]).ok();
    home.coven(&["grimoire", "new", "own", "--user"]).ok();
    for (file, kind) in [
        ("project/.coven/grimoires/hello.yaml", "grimoire"),
        ("project/.coven/policy.yaml", "policy"),
        ("project/.coven/grimoires/mine.yaml", "grimoire"),
        ("project/.coven/grimoires/copied.yaml", "grimoire"),
        ("home/.config/coven/grimoires/own.yaml", "grimoire"),
    ] {
        let path = home.path(file);
        let text = fs::read_to_string(&path).unwrap();
        let (first, rest) = text.split_once('\n').unwrap();
        let way = first.strip_prefix("# yaml-language-server: $schema=").expect(first);
        assert!(!rest.contains("yaml-language-server"), "{file}");
        let schema = fs::read_to_string(path.parent().unwrap().join(way)).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
        assert_eq!(schema, home.coven(&["schema", kind]).ok().json(), "{file}");
    }
    // What was made here is agreed to, and the schemas need no agreement.
    assert_eq!(home.coven(&["trust", "--json"]).ok().json()["state"], "trusted");
    home.coven(&["grimoire", "check", "mine", "copied", "own", "hello"]).ok();
}

#[test]
fn nothing_is_written_through_a_link() {
    for (name, command) in [
        (".coven", &["init"][..]),
        (".coven/grimoires", &["init"]),
        (".coven/grimoires", &["grimoire", "new", "mine"]),
        (".coven/adapters", &["adapter", "new", "mine"]),
        (".coven/schemas", &["init"]),
        (".coven/schemas", &["grimoire", "new", "mine"]),
    ] {
        let home = Home::new();
        let elsewhere = home.path("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let link = home.path("project").join(name);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&elsewhere, &link).unwrap();
        let said = home.coven(command).code(1);
        assert!(said.err.contains(&format!("{name} is a link to")), "{command:?}: {}", said.err);
        assert!(said.err.contains("put a folder in its place"), "{command:?}: {}", said.err);
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "{command:?}");
        assert!(!home.path("project/.coven/policy.yaml").exists(), "{command:?}");
    }
}

#[test]
fn a_link_that_leads_nowhere_readable_is_named() {
    let home = Home::new();
    fs::create_dir(home.path("project/.coven")).unwrap();
    // It leads to itself, which no user can read.
    symlink("grimoires", home.path("project/.coven/grimoires")).unwrap();
    let said = home.coven(&["trust"]).code(2);
    assert!(said.err.contains("`.coven/grimoires` is a link to `grimoires`"), "{}", said.err);
    assert!(said.err.contains("remove it, or put a copy in its place"), "{}", said.err);
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
