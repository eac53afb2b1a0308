//! A project whose `.coven` or whole folder is deleted while the daemon runs.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::home::Home;

const STEPS: &str = "  - {name: one, type: script, command: echo done}\n";
const GATE: &str = "  - {name: look, type: gate, message: Look at it.}\n";

fn sessions(home: &Home) -> Vec<Value> {
    home.coven(&["ls", "--json"]).ok().json()["workflows"].as_array().unwrap().clone()
}

#[test]
fn a_deleted_coven_folder_is_made_anew_and_its_dead_entries_are_gone() {
    let home = Home::new();
    home.run(STEPS, &[]).ok();
    assert_eq!(sessions(&home).len(), 1);
    fs::remove_dir_all(home.path("project/.coven")).unwrap();
    assert_eq!(sessions(&home), [] as [Value; 0], "what is gone is not listed");
    let again = home.run(STEPS, &[]).ok();
    let note = "the .coven of this folder was deleted and is made anew; 1 session that was over is \
                gone";
    assert!(again.err.contains(note), "{again:?}");
    assert_eq!(sessions(&home).len(), 1);
    let log = fs::read_to_string(home.path("state/coven/daemon.log")).unwrap();
    assert!(log.contains(note), "{log}");
    let third = home.run(STEPS, &[]).ok();
    assert!(!third.err.contains("deleted"), "it is said once: {third:?}");
}

#[test]
fn a_run_that_waits_outlives_its_deleted_folder_beside_new_ones() {
    let home = Home::new();
    home.run(GATE, &[]).code(3);
    let name = home.only();
    fs::remove_dir_all(home.path("project/.coven")).unwrap();
    assert_eq!(sessions(&home).len(), 1, "it is under way");
    home.run(STEPS, &[]).ok();
    home.coven(&["approve", &name]).ok();
    assert_eq!(home.coven(&["wait", &name, "--timeout", "60s"]).ok().out, "completed\n");
    assert_eq!(sessions(&home).len(), 2);
    home.coven(&["audit"]).ok();
}

#[test]
fn a_project_that_was_cloned_again_runs_once_its_old_runs_are_cancelled() {
    let home = Home::new();
    home.run(GATE, &[]).code(3);
    let name = home.only();
    fs::rename(home.path("project"), home.path("old")).unwrap();
    fs::create_dir(home.path("project")).unwrap();
    let refused = home.run(STEPS, &[]).code(1);
    assert!(refused.err.contains("coven cancel NAME"), "{refused:?}");
    let cancelled = home.coven(&["cancel", &name]).ok();
    assert_eq!(cancelled.out, format!("{name} is cancelled\n"));
    home.run(STEPS, &[]).ok();
    assert_eq!(sessions(&home).len(), 1);
    assert_eq!(sessions(&home)[0]["status"], "completed");
}

#[test]
fn when_a_run_returns_everything_of_it_is_written() {
    let home = Home::new();
    for _ in 0..5 {
        home.run(STEPS, &[]).ok();
        let view = home.path("project/.coven/sessions").join(home_id(&home)).join("session.json");
        let view: Value = serde_json::from_slice(&fs::read(view).unwrap()).unwrap();
        assert_eq!(view["status"], "completed", "{view:#}");
        fs::remove_dir_all(home.path("project/.coven")).unwrap();
        // A request that the daemon has answered came after whatever it still had to write.
        home.coven(&["ls"]).ok();
        assert!(!home.path("project/.coven").exists(), "nothing is written afterwards");
    }
}

#[test]
fn a_run_that_is_refused_leaves_nothing_in_its_folder() {
    let home = Home::new();
    let agent = "name: t\ndescription: A test.\nsteps:\n  - {name: a, type: agent, adapter: claude, prompt: hi}\n";
    let refused = [
        ("bad.yaml", "name: [bad\n", 1),
        ("missing.yaml", agent, 1),
        ("unknown.yaml", &agent.replace("claude", "nope"), 1),
        (
            "input.yaml",
            "name: t\ndescription: A test.\ninputs: {a: {required: true}}\nsteps:\n  \
             - {name: a, type: script, command: 'true'}\n",
            2,
        ),
        (
            "tree.yaml",
            "name: t\ndescription: A test.\nisolation: run\nsteps:\n  \
             - {name: a, type: agent, adapter: demo, prompt: hi}\n",
            1,
        ),
    ];
    for (file, text, code) in refused {
        home.write(file, text);
        for _ in 0..2 {
            home.coven(&["run", &format!("./{file}")]).code(code);
            assert!(!home.path("project/.coven").exists(), "{file}");
        }
    }
    home.coven(&["run", "no-such-grimoire"]).code(1);
    home.coven(&["new", "no-such-agent", "--detach"]).code(1);
    assert!(!home.path("project/.coven").exists());
    // The next run makes it as the first would have, and says nothing of it.
    let said = home.run(STEPS, &[]).ok();
    assert!(!said.err.contains("deleted"), "{said:?}");
    assert_eq!(sessions(&home).len(), 1);
    // What is there already stays, whatever is refused.
    home.coven(&["run", "./bad.yaml"]).code(1);
    assert_eq!(sessions(&home).len(), 1);
    home.coven(&["audit"]).ok();
}

/// One that is refused removes nothing under another that is being made at the same moment.
#[test]
fn runs_that_are_refused_leave_those_alone_that_begin_meanwhile() {
    let home = Home::new();
    home.write("bad.yaml", "name: [bad\n");
    for _ in 0..5 {
        let refused: Vec<_> = (0..4)
            .map(|_| home.command(&["run", "./bad.yaml"]).stderr(Stdio::null()).spawn().unwrap())
            .collect();
        home.run(STEPS, &[]).ok();
        for mut child in refused {
            assert_eq!(child.wait().unwrap().code(), Some(1));
        }
        assert_eq!(sessions(&home).len(), 1);
        home.coven(&["rm", "@"]).ok();
        home.coven(&["run", "./bad.yaml"]).code(1);
        assert!(!home.path("project/.coven").exists(), "nothing is left of either");
    }
}

/// The id of the only session on the disk.
fn home_id(home: &Home) -> String {
    let mut names = fs::read_dir(home.path("project/.coven/sessions")).unwrap().flatten();
    names.next().unwrap().file_name().into_string().unwrap()
}
