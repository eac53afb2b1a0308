//! `coven` as an agent runs it: it may look, and neither start a daemon nor decide anything.

use std::fs;

use crate::home::Home;

/// What a script of a workflow gets when it runs a command of ours: its exit code, and what it said.
fn inside(home: &Home, command: &str) -> (String, String) {
    let program = env!("CARGO_BIN_EXE_coven");
    let command = command.replace("coven", program);
    let steps = format!(
        "  - name: inside\n    type: script\n    command: |\n      {command} > said.txt 2>&1 || code=$?\n      echo \"$${{code:-0}}\" > code.txt\n"
    );
    home.run(&steps, &[]).ok();
    let read = |name: &str| fs::read_to_string(home.path("project").join(name)).unwrap();
    (read("code.txt").trim().to_owned(), read("said.txt"))
}

#[test]
fn an_agent_starts_no_daemon_whatever_it_does_to_its_environment() {
    let home = Home::new();
    let other = home.path("other");
    for before in ["", "-u COVEN_JOB", "-i HOME=/nowhere", "-u COVEN_JOB setsid --wait"] {
        for verb in ["ls", "daemon start", "daemon run", "run demo"] {
            let words = format!("env {before} XDG_STATE_HOME={} coven {verb}", other.display());
            // The variable comes before the program that makes the session.
            let words = match before.strip_suffix(" setsid --wait") {
                Some(start) => format!(
                    "env {start} XDG_STATE_HOME={} setsid --wait coven {verb}",
                    other.display()
                ),
                None => words,
            };
            let (code, said) = inside(&home, &words);
            assert_eq!(code, "5", "{words}: {said}");
            assert!(said.contains("an agent may not start it"), "{words}: {said}");
            assert!(said.contains("ask the person who runs you"), "{words}: {said}");
        }
    }
    assert!(!other.join("coven/run/daemon.json").exists(), "{:?}", fs::read_dir(&other));
}

#[test]
fn an_agent_edits_no_policy_and_leaves_none() {
    let home = Home::new();
    let (code, said) = inside(&home, "env EDITOR='touch edited; cat' coven policy edit");
    assert_eq!(code, "1", "{said}");
    assert!(said.contains("an agent may not change the policy"), "{said}");
    assert!(!home.path("home/.config/coven/policy.yaml").exists());
    assert!(!home.path("project/edited").exists());
}

#[test]
fn an_agent_looks_and_does_not_decide() {
    let home = Home::new();
    let name = home.asking("approve echo yes > yes.txt");
    let (code, said) = inside(&home, "coven ls");
    assert!(code == "0" && said.contains(&name), "{code} {said}");
    for command in [
        format!("coven approve {name}"),
        format!("coven approve {name} --always --save"),
        "coven run demo --detach".to_owned(),
    ] {
        let (code, said) = inside(&home, &command);
        assert_eq!(code, "1", "{said}");
        assert!(said.contains("ask the person who runs you"), "{said}");
    }
    assert!(!home.path("project/yes.txt").exists());
    assert!(!home.path("home/.config/coven/policy.yaml").exists());
}
