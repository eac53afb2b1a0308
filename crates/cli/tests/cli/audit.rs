//! `coven audit`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use insta::assert_snapshot;

use crate::home::Home;

fn session(home: &Home) -> PathBuf {
    let mut entries = fs::read_dir(home.path("project/.coven/sessions")).unwrap().flatten();
    entries.find(|entry| entry.path().join("journal.jsonl").exists()).unwrap().path()
}

#[test]
fn a_session_that_is_whole_has_nothing_wrong() {
    let home = Home::new();
    home.coven(&["run", "demo"]).ok();
    let name = home.only();
    let said = home.coven(&["audit", &name, "--json"]).ok();
    assert_eq!(said.json()[0]["ok"], true);
    assert!(said.json()[0]["bytes"].as_u64().unwrap() > 0);
    // It needs no daemon.
    home.coven(&["daemon", "stop"]).ok();
    home.coven(&["audit"]).ok();
}

#[test]
fn a_byte_that_was_changed_is_found() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'echo hello'}\n", &[]).ok();
    home.coven(&["daemon", "stop"]).ok();
    let id = session(&home).file_name().unwrap().to_owned();
    let tape = home.path("state/coven/jobs").join(id).join("one/1");
    let output = fs::read_dir(&tape).unwrap().flatten().map(|entry| entry.path());
    let output = output
        .into_iter()
        .find(|path| fs::read(path).is_ok_and(|bytes| bytes == b"hello\n"))
        .unwrap();
    fs::write(&output, b"jello\n").unwrap();
    let said = home.coven(&["audit"]).code(1);
    assert!(said.out.contains("the checksum does not hold"), "{}", said.out);
}

#[test]
fn a_fact_that_was_changed_or_told_twice_is_found() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    home.coven(&["daemon", "stop"]).ok();
    let journal = session(&home).join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("\"one\"", "\"two\"", 1)).unwrap();
    let said = home.coven(&["audit"]).code(1);
    assert!(said.out.contains("the journal cannot be read"), "{}", said.out);
    let twice: Vec<&str> = text.lines().collect();
    fs::write(&journal, format!("{}\n{}\n", twice.join("\n"), twice[twice.len() - 1])).unwrap();
    home.coven(&["audit"]).code(1);
    fs::write(&journal, &text).unwrap();
    home.coven(&["audit"]).ok();
}

#[test]
fn an_outcome_that_is_missing_or_changed_is_found() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    home.coven(&["daemon", "stop"]).ok();
    let id = session(&home).file_name().unwrap().to_owned();
    let outcome = home.path("state/coven/jobs").join(id).join("one/1/outcome.json");
    let mut text: serde_json::Value = serde_json::from_slice(&fs::read(&outcome).unwrap()).unwrap();
    text["ending"]["code"] = 9.into();
    fs::write(&outcome, text.to_string()).unwrap();
    let said = home.coven(&["audit"]).code(1);
    assert!(said.out.contains("and its outcome on disk with exit code 9"), "{}", said.out);
    fs::remove_file(&outcome).unwrap();
    let said = home.coven(&["audit"]).code(1);
    assert!(said.out.contains("has no outcome on disk"), "{}", said.out);
}

#[test]
fn an_exit_on_disk_that_was_changed_is_found() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    home.coven(&["daemon", "stop"]).ok();
    let id = session(&home).file_name().unwrap().to_owned();
    let exit = home.path("state/coven/jobs").join(id).join("one/1/exit.json");
    let mut text: serde_json::Value = serde_json::from_slice(&fs::read(&exit).unwrap()).unwrap();
    text["status"] = serde_json::json!({"code": 9});
    fs::write(&exit, text.to_string()).unwrap();
    let said = home.coven(&["audit"]).code(1);
    assert!(said.out.contains("and its exit on disk with exit code 9"), "{}", said.out);
}

#[test]
fn what_the_seals_of_a_journal_do_not_cover_is_looked_at() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    home.coven(&["daemon", "stop"]).ok();
    let journal = session(&home).join("journal.jsonl");
    let text = fs::read(&journal).unwrap();
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o666)).unwrap();
    let said = home.coven(&["audit"]).code(1);
    assert!(said.out.contains("can read or write its journal (mode 666)"), "{}", said.out);
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o600)).unwrap();
    home.coven(&["audit"]).ok();
    fs::write(&journal, [&text, &b"{\"seq\":99,"[..]].concat()).unwrap();
    let said = home.coven(&["audit"]).code(1);
    assert!(said.out.contains("10 bytes lie behind the last fact"), "{}", said.out);
}

/// Naive: a session that is half gone while it is deleted counts as damaged.
#[test]
fn sessions_that_are_deleted_meanwhile_are_nothing_wrong() {
    let home = Home::new();
    for _ in 0..6 {
        home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    }
    let ids = home.names().split_off(1);
    assert_eq!(ids.len(), 5);
    std::thread::scope(|scope| {
        let removing = scope.spawn(|| {
            for id in &ids {
                home.coven(&["rm", id]).ok();
            }
        });
        while !removing.is_finished() {
            home.coven(&["audit"]).ok();
        }
    });
}

#[test]
fn a_folder_without_sessions_and_an_unknown_name_are_explained() {
    let home = Home::new();
    assert_snapshot!(home.said(&["audit"]), @r"
    --- exit 1
    error: ~/project has no sessions
    hint: coven audit -C FOLDER; `coven daemon status` lists the folders there are
    ");
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    assert_snapshot!(home.said(&["audit", "no-such"]), @r"
    --- exit 1
    error: no session has the id or name `no-such`; `coven ls` lists them
    hint: looked for in ~/project; another folder with -C
    ");
}
