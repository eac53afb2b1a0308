//! The journal of a session of ours is changed in the project, where an agent can write: nothing
//! follows from what was put there, and what happened is told.

use std::fs;
use std::path::PathBuf;

use super::journal::{Stage, framed};
use super::plant::Planted;
use super::{script, until};
use crate::home::Home;

fn id(home: &Home) -> String {
    let page = home.coven(&["ls", "--json"]).ok().json();
    page["workflows"][0]["id"].as_str().unwrap().to_owned()
}

fn journal(home: &Home, id: &str) -> PathBuf {
    home.path("project/.coven/sessions").join(id).join("journal.jsonl")
}

/// A run that waits at a gate before a script that leaves a file, with the daemon gone.
fn waiting(home: &Home, first: &str) -> String {
    let gate = "  - {name: ask, type: gate, message: Go on?}\n";
    let steps = format!("{}{gate}{}", script("first", first), script("last", "touch last"));
    home.run(&steps, &[]).code(3);
    let id = id(home);
    home.kill_daemon();
    id
}

#[test]
fn a_changed_command_is_not_run_and_the_session_says_what_is_wrong() {
    let home = Home::new();
    let id = waiting(&home, "true");
    let path = journal(&home, &id);
    // The checksums fit what a forger wrote; the seals cannot.
    let text = fs::read_to_string(&path).unwrap();
    let line = |line: &str| {
        let (json, trailer) = line.split_once('\t').unwrap();
        let json = json.replace("touch last", "touch evil");
        let crc = framed(std::slice::from_ref(&json));
        format!("{}{}\n", crc.trim_end(), &trailer[8..])
    };
    let forged: String = text.lines().map(line).collect();
    assert!(forged.contains("touch evil"));
    fs::write(&path, &forged).unwrap();
    let said = home.coven(&["resume", &id]);
    assert_ne!(said.code, 0, "{}{}", said.out, said.err);
    let told = format!("{}{}", said.out, said.err);
    assert!(told.contains("changed by another program"), "{told}");
    assert_eq!(fs::read_to_string(&path).unwrap(), forged, "nothing was changed");
    let said = home.coven(&["audit"]).code(1);
    assert!(said.out.contains("seal does not fit"), "{}", said.out);
    assert!(!home.path("project/evil").exists() && !home.path("project/last").exists());
    // Once the journal is put back, the run goes on.
    fs::write(&path, &text).unwrap();
    home.coven(&["audit"]).ok();
    home.coven(&["resume", &id]).ok();
    home.coven(&["approve", &id]).ok();
    home.coven(&["wait", &id, "--timeout", "60s"]).ok();
    assert!(home.path("project/last").exists());
}

#[test]
fn a_job_that_ran_is_not_run_again_when_the_journal_is_cut() {
    let home = Home::new();
    let id = waiting(&home, "echo ran >> count");
    let path = journal(&home, &id);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let started = lines.iter().position(|line| line.contains("\"task.started\"")).unwrap();
    for kept in [started, started + 1] {
        fs::write(&path, lines[..kept].join("\n") + "\n").unwrap();
        let said = home.coven(&["resume", &id]);
        let told = format!("{}{}", said.out, said.err);
        assert!(told.contains("its end was cut off"), "{kept}: {told}");
        home.run(&script("barrier", "true"), &[]).ok();
        home.kill_daemon();
    }
    // Not even if what says how far it reached is gone too: the job's folder is there.
    fs::write(&path, lines[..started].join("\n") + "\n").unwrap();
    fs::remove_file(home.path("state/coven/jobs").join(&id).join(".checkpoint")).unwrap();
    home.coven(&["resume", &id]).ok();
    until("the run to wait at its gate again", || {
        home.coven(&["show", &id, "--json"]).ok().json()["status"] == "blocked"
    });
    assert_eq!(fs::read_to_string(home.path("project/count")).unwrap(), "ran\n");
}

#[test]
fn a_planted_session_can_be_imported_after_looking_and_runs_no_job_again() {
    let home = Home::new();
    let planted = Planted::new(&home, &home.path("project"), Stage::Running);
    let shown = home.coven(&["import", "--json"]).ok().json();
    assert_eq!(shown[0]["id"], planted.id.as_str(), "{shown}");
    assert_eq!(shown[0]["seal"], "other", "{shown}");
    let would = shown[0]["would"].to_string();
    assert!(would.contains("was running: it is not started again"), "{would}");
    // Without a terminal and without a key nothing is imported, and an agent may not either.
    home.coven(&["import"]).code(1);
    planted.expect_not_run(&home);
    let said =
        home.run(&script("inside", "coven import --key \"$XDG_STATE_HOME/coven/seal.key\""), &[]);
    assert_ne!(said.code, 0);
    // The wrong key imports nothing.
    let key = home.path("state/coven/seal.key");
    let said = home.coven(&["import", "--key", key.to_str().unwrap()]).code(1);
    assert!(said.err.contains("was not sealed with the key"), "{}", said.err);
    planted.expect_not_run(&home);
}

#[test]
fn a_moved_folder_is_imported_with_the_key_and_goes_on() {
    let home = Home::new();
    let id = waiting(&home, "true");
    fs::rename(home.path("project"), home.path("moved")).unwrap();
    fs::create_dir(home.path("project")).unwrap();
    let moved = home.path("moved");
    let moved = moved.to_str().unwrap();
    let key = home.path("state/coven/seal.key");
    let shown = home.coven(&["import", moved, "--json"]).ok().json();
    assert_eq!(shown[0]["seal"], "yours", "{shown}");
    home.coven(&["import", moved, "--key", key.to_str().unwrap()]).ok();
    home.coven(&["approve", &id]).ok();
    home.coven(&["wait", &id, "--timeout", "60s"]).ok();
    assert!(home.path("moved/last").exists());
    home.coven(&["audit", "-C", moved]).ok();
}

#[test]
fn a_session_without_a_seal_is_listed_read_and_exported_as_foreign() {
    let home = Home::new();
    let folder = home.path("project/.coven/sessions/01a1e7da-6cd1-77ef-8675-3b02dfa09f42");
    fs::create_dir_all(&folder).unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/session-0.1");
    let copied = std::process::Command::new("cp")
        .args(["-R", &format!("{fixture}/."), folder.to_str().unwrap()])
        .status();
    assert!(copied.unwrap().success());
    let row = home.coven(&["ls", "-C", ".", "--json"]).ok().json()["workflows"][0].clone();
    assert_eq!(row["foreign"], true, "{row}");
    let id = row["id"].as_str().unwrap().to_owned();
    home.coven(&["open", "."]).ok();
    let shown = home.coven(&["show", &id, "--json"]).ok().json();
    assert_eq!(shown["status"], "completed", "{shown}");
    assert!(home.coven(&["logs", &format!("{id}/one")]).ok().out.contains("hello from 0.1"));
    assert!(home.coven(&["events", &id]).ok().out.contains("the run is completed"));
    home.coven(&["resume", &id]).code(1);
    let said = home.coven(&["audit", "--json"]).ok().json();
    assert_eq!(said[0]["foreign"], true);
}

#[test]
fn what_an_imported_session_would_answer_by_itself_is_told_first() {
    let home = Home::new();
    let name = home.asking("approve echo first; approve echo second");
    home.coven(&["approve", &name, "--always"]).ok();
    home.coven(&["cancel", &name]).ok();
    home.run(&script("last", "true"), &["--auto", "allow"]).ok();
    fs::rename(home.path("project"), home.path("moved")).unwrap();
    fs::create_dir(home.path("project")).unwrap();
    let moved = home.path("moved");
    let shown = home.coven(&["import", moved.to_str().unwrap(), "--json"]).ok().json();
    let would = shown.as_array().unwrap().iter().map(|one| one["would"].to_string());
    let would = would.collect::<Vec<_>>().join("\n");
    assert!(would.contains("demo may run this without asking: echo first"), "{would}");
    assert!(would.contains("answered without you (`--auto allow`)"), "{would}");
}

#[test]
fn a_strangers_session_answers_nothing_by_itself_after_its_import() {
    let stranger = Home::new();
    // A session that was started with automatic answers, whose job was running.
    let steps = [script("first", "true"), script("last", "exec sleep 600")].concat();
    stranger.run(&steps, &["--auto", "allow", "--detach"]).ok();
    until("the job to run", || {
        stranger.coven(&["ls", "--json"]).ok().json()["workflows"][0]["running"] == 1
    });
    let id = id(&stranger);
    let text = fs::read_to_string(journal(&stranger, &id)).unwrap();
    stranger.coven(&["cancel", &id]).ok();
    let home = Home::new();
    let place = journal(&home, &id);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    let marker = home.path("ran");
    let text = text.replace("exec sleep 600", &format!("touch {}", marker.display()));
    let lines: Vec<String> =
        text.lines().map(|line| line.split_once('\t').unwrap().0.to_owned()).collect();
    fs::write(&place, framed(&lines)).unwrap();

    let shown = home.coven(&["import", "--json"]).ok().json();
    let would = shown[0]["would"].to_string();
    assert!(would.contains("not any more, you would be asked"), "{would}");
    let mut terminal = home.terminal(&["import"]);
    terminal.until_shows("Make it yours?");
    terminal.send("y\n");
    terminal.until_shows("is yours now");
    assert!(terminal.finish().success());
    until("the run to ask what became of its job", || {
        home.coven(&["show", &id, "--json"]).ok().json()["status"] == "blocked"
    });
    // The next question, and every one after it, is for a person.
    home.run(&script("barrier", "true"), &[]).ok();
    assert!(!marker.exists(), "it was retried by itself");
    let facts = home.coven(&["events", &id]).ok().out;
    assert!(facts.contains("made your own"), "{facts}");
    let waiting = home.coven(&["inbox", "--json"]).ok().out;
    assert!(waiting.contains(&id), "{waiting}");
    home.coven(&["cancel", &id]).ok();
}

#[test]
fn everything_a_step_of_a_foreign_session_would_do_is_shown() {
    let home = Home::new();
    let step = "  - {name: find, type: script, command: echo it, output: found}\n  \
                - {name: look, type: gate, message: Look.}\n  - {name: work, type: agent, \
                prompt: Do it., permissions: all, cwd: sub, env: {EVIL: one}, extra_args: [--two]}\n\
                inputs:\n  what: {description: x, default: rm -rf}\n";
    home.run(step, &[]).code(3);
    home.kill_daemon();
    fs::rename(home.path("project"), home.path("moved")).unwrap();
    fs::create_dir(home.path("project")).unwrap();
    let moved = home.path("moved");
    let shown = home.coven(&["import", moved.to_str().unwrap(), "--json"]).ok().json();
    let would = shown[0]["would"].to_string();
    for part in ["Do it.", "sub", "EVIL: one", "--two", "all", "input.what: rm -rf", "found: it"] {
        assert!(would.contains(part), "{part}: {would}");
    }
}

#[test]
fn a_journal_whose_signatures_were_taken_off_is_not_vouched_for() {
    let home = Home::new();
    home.run(&[script("first", "true"), script("last", "true")].concat(), &[]).ok();
    let id = home.coven(&["ls", "--json"]).ok().json()["workflows"][0]["id"].clone();
    let journal = home.path("project/.coven/sessions").join(id.as_str().unwrap());
    let journal = journal.join("journal.jsonl");
    let key = home.coven(&["key"]).ok().out.trim().to_owned();
    let audit = || home.coven(&["audit", "--public-key", &key]);
    audit().ok();
    let text = fs::read_to_string(&journal).unwrap();
    let unsigned = |line: &str| {
        let (fact, seal) = line.rsplit_once('\t').unwrap();
        let parts: Vec<&str> = seal.splitn(3, ':').collect();
        format!("{fact}\t{}\n", parts[..parts.len().min(2)].join(":"))
    };
    let lines: Vec<&str> = text.lines().collect();
    let all: String = lines.iter().map(|line| unsigned(line)).collect();
    assert_ne!(all, text, "nothing was signed");
    fs::write(&journal, all).unwrap();
    let said = audit().code(1);
    assert!(said.out.contains("nothing of it is signed"), "{}{}", said.out, said.err);
    // The same for the last signature alone.
    let (last, before) = lines.split_last().unwrap();
    let before: String = before.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&journal, before + &unsigned(last)).unwrap();
    let said = audit().code(1);
    assert!(said.out.contains("its run is over, and only"), "{}{}", said.out, said.err);
}

#[test]
fn with_another_key_the_sessions_are_foreign_and_the_old_key_imports_them() {
    let home = Home::new();
    let id = waiting(&home, "true");
    let (key, old) = (home.path("state/coven/seal.key"), home.path("old.key"));
    fs::rename(&key, &old).unwrap();
    let row = home.coven(&["ls", "-C", ".", "--json"]).ok().json()["workflows"][0].clone();
    assert_eq!(row["foreign"], true, "{row}");
    let said = home.coven(&["resume", &id]).code(1);
    assert!(said.err.contains("foreign"), "{}", said.err);
    let shown = home.coven(&["import", "--json"]).ok().json();
    assert_eq!((&shown[0]["id"], &shown[0]["seal"]), (&id.as_str().into(), &"other".into()));
    home.coven(&["import", "--key", old.to_str().unwrap()]).ok();
    home.coven(&["approve", &id]).ok();
    home.coven(&["wait", &id, "--timeout", "60s"]).ok();
    assert!(home.path("project/last").exists());
    home.coven(&["audit"]).ok();
}

#[test]
fn a_key_that_is_deleted_while_the_daemon_runs_is_put_back() {
    let home = Home::new();
    home.run(&script("first", "true"), &[]).ok();
    let key = home.path("state/coven/seal.key");
    let before = fs::read_to_string(&key).unwrap();
    fs::remove_file(&key).unwrap();
    until("the key to be put back", || fs::read_to_string(&key).is_ok_and(|now| now == before));
}
