//! What was agreed to is what runs: a job that may only edit the project cannot exchange an
//! adapter, a script beside it, a grimoire or the policy for what runs after it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use coven_runtime::sandbox::scopes_signals;
use serde_json::json;

use super::sandboxed::{JUDGED, left_in_scratch};
use super::{coven_in, folder, listed, pipe, release, script, until};
use crate::home::Home;

/// A step whose agent is the project's own.
const USES: &str = "  - {name: use, type: agent, adapter: mine, mode: headless, prompt: go}\n";

/// What the adapter of the project begins with, and what an attacker exchanges it for.
const GOOD: &str = "#!/bin/sh\necho good >> ran.txt\n";
const EVIL: &str = "#!/bin/sh\necho evil >> ran.txt\n";

/// An adapter that starts this, as its JSON.
fn adapter(command: &str, args: &[&str]) -> String {
    let headless = serde_json::json!({"baseArgs": args, "promptPosition": "last", "usePty": false});
    serde_json::json!({"command": command, "modes": {"headless": headless}}).to_string()
}

/// Writes a program of the project.
fn program(home: &Home, name: &str, text: &str) {
    let path = home.write(name, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A command that writes a file of the project, as an agent with leave to edit would.
fn writes(file: &str, text: &str) -> String {
    let text = text.replace('\n', "\\n").replace('\'', "'\\''");
    format!("printf '{text}' > {file}")
}

fn ran(home: &Home) -> String {
    fs::read_to_string(home.path("project/ran.txt")).unwrap_or_default()
}

/// Runs a step that writes a file and a step that uses the adapter; what ran.
fn exchanged(home: &Home, file: &str, text: &str) -> String {
    home.coven(&["trust", "--yes"]).ok();
    let steps = format!("{}{USES}", script("edit", &writes(file, text)));
    let said = home.run(&steps, &[]);
    assert!(fs::read_to_string(home.path("project").join(file)).unwrap().contains("evil"));
    assert_eq!(ran(home), "good\n", "{} {}", said.out, said.err);
    said.ok();
    ran(home)
}

#[test]
fn a_step_cannot_exchange_an_adapter_for_a_later_step() {
    let home = Home::new();
    home.write(".coven/adapters/mine/config.json", &adapter("sh", &["-c", "echo good >> ran.txt"]));
    let evil = adapter("sh", &["-c", "echo evil >> ran.txt"]);
    exchanged(&home, ".coven/adapters/mine/config.json", &evil);
}

#[test]
fn a_step_cannot_exchange_the_script_beside_an_adapter() {
    let home = Home::new();
    let command = ".coven/adapters/mine/run.sh";
    home.write(".coven/adapters/mine/config.json", &adapter(&format!("./{command}"), &[]));
    program(&home, command, GOOD);
    exchanged(&home, command, EVIL);
}

#[test]
fn a_step_cannot_exchange_a_script_that_an_adapter_gives_to_an_interpreter() {
    let home = Home::new();
    let file = ".coven/adapters/mine/run.sh";
    home.write(".coven/adapters/mine/config.json", &adapter("sh", &[file]));
    home.write(file, GOOD);
    exchanged(&home, file, EVIL);
}

#[test]
fn a_step_cannot_exchange_the_program_of_an_adapter_elsewhere_in_the_project() {
    let home = Home::new();
    let absolute = home.path("project/bin/agent").canonicalize().unwrap_or_else(|_| {
        program(&home, "bin/agent", GOOD);
        home.path("project/bin/agent").canonicalize().unwrap()
    });
    let config = adapter(absolute.to_str().unwrap(), &[]);
    home.write(".coven/adapters/mine/config.json", &config);
    exchanged(&home, "bin/agent", EVIL);
}

#[test]
fn a_step_cannot_exchange_a_script_elsewhere_in_the_project_that_an_adapter_names() {
    for arguments in [&["tools/run.sh"][..], &["./tools/run.sh"], &["--", "run.sh"]] {
        let home = Home::new();
        let file = arguments.last().unwrap();
        home.write(".coven/adapters/mine/config.json", &adapter("sh", arguments));
        home.write(file, GOOD);
        exchanged(&home, file, EVIL);
    }
}

/// An option letter with the path of a file behind it names the file as well.
#[test]
fn a_step_cannot_exchange_a_file_that_an_adapter_names_behind_an_option_letter() {
    let program = |word: &str| format!("BEGIN {{ print \"{word}\" >> \"ran.txt\"; exit }}\n");
    for argument in ["-f./tools/p.awk", "-ftools/p.awk"] {
        let home = Home::new();
        home.write(".coven/adapters/mine/config.json", &adapter("awk", &[argument]));
        home.write("tools/p.awk", &program("good"));
        exchanged(&home, "tools/p.awk", &program("evil"));
    }
}

/// A byte order mark is no reason to read an adapter in another way than the loader does.
#[test]
fn a_step_cannot_exchange_a_script_that_an_adapter_names_behind_a_byte_order_mark() {
    let home = Home::new();
    let config = format!("\u{feff}{}", adapter("sh", &["tools/run.sh"]));
    home.write(".coven/adapters/mine/config.json", &config);
    home.write("tools/run.sh", GOOD);
    exchanged(&home, "tools/run.sh", EVIL);
}

#[test]
fn a_step_cannot_exchange_a_file_that_a_variable_of_an_adapter_names() {
    let home = Home::new();
    let mut config: serde_json::Value =
        serde_json::from_str(&adapter("bash", &["-c", "true"])).unwrap();
    config["env"] = json!({"set": {"BASH_ENV": "tools/env.sh"}});
    home.write(".coven/adapters/mine/config.json", &config.to_string());
    home.write("tools/env.sh", GOOD);
    exchanged(&home, "tools/env.sh", EVIL);
}

#[test]
fn what_a_command_for_a_shell_in_an_adapter_names_is_told_before_a_person_agrees() {
    let home = Home::new();
    let config = adapter("sh", &["-c", ". tools/run.sh", "tools/later.sh"]);
    home.write(".coven/adapters/mine/config.json", &config);
    home.write("tools/run.sh", GOOD);
    for said in [home.coven(&["trust"]).code(1).err, home.coven(&["trust", "--show"]).ok().out] {
        for file in ["tools/run.sh", "tools/later.sh"] {
            assert!(
                said.contains(&format!("{file} is used by an adapter and not covered")),
                "{said}"
            );
        }
    }
}

#[test]
fn a_script_beside_an_adapter_that_changed_after_it_was_trusted_does_not_run() {
    let home = Home::new();
    let command = ".coven/adapters/mine/run.sh";
    home.write(".coven/adapters/mine/config.json", &adapter(&format!("./{command}"), &[]));
    program(&home, command, GOOD);
    home.coven(&["trust", "--yes"]).ok();
    program(&home, command, EVIL);
    assert_eq!(home.coven(&["trust", "--json"]).ok().json()["state"], "changed");
    home.run(USES, &[]);
    assert!(!ran(&home).contains("evil"), "{}", ran(&home));
    home.kill_daemon();
    home.run(USES, &[]);
    assert!(!ran(&home).contains("evil"), "{}", ran(&home));
}

/// The copy lies in the state folder, which is hidden from confined jobs but for this.
#[test]
fn a_confined_job_reads_and_runs_the_copy_of_its_adapter_and_of_no_other_project() {
    let home = Home::new();
    let other = folder(&home, "other/.coven/adapters/mine");
    fs::write(other.join("config.json"), adapter("sh", &["-c", "echo other-secret"])).unwrap();
    coven_in(&home, &home.path("other"), &["trust", "--yes"]).ok();
    let headless = json!({"promptPosition": "last", "transcript": "text", "stdin": "null"});
    let config = json!({
        "schemaVersion": 1,
        "command": "./.coven/adapters/judge/run.sh",
        "modes": {"headless": headless},
        "permissions": {"read-only": []},
    });
    home.write(".coven/adapters/judge/config.json", &config.to_string());
    // The pattern is not what it finds, because the script has a copy too.
    let seen = format!("grep -rhos other-secre[t] {}/state/coven/trusted", home.root().display());
    let run =
        format!("#!/bin/sh\n{seen} > \"$TMPDIR/report\"\n. \"$(dirname \"$0\")/verdict.sh\"\n");
    program(&home, ".coven/adapters/judge/run.sh", &run);
    let verdict = "echo '{\"verdict\": \"done\", \"reason\": \"fine\"}'\n";
    home.write(".coven/adapters/judge/verdict.sh", verdict);
    home.coven(&["trust", "--yes"]).ok();
    home.run(JUDGED, &[]).ok();
    if scopes_signals() {
        assert_eq!(left_in_scratch(&home, "report"), "", "it read the copy of another project");
    }
}

/// A grimoire that events start.
fn follower(name: &str) -> String {
    format!(
        "name: {name}\ndescription: Follows.\n\
         trigger: {{event: workflow.completed, where: \"grimoire == 'test'\"}}\n\
         steps:\n  - {{name: note, type: script, command: touch did-{name}}}\n"
    )
}

#[test]
fn a_grimoire_that_a_step_drops_is_started_by_no_event() {
    let home = Home::new();
    home.write(".coven/grimoires/good.yaml", &follower("good"));
    home.write("dropped", &follower("evil"));
    home.coven(&["trust", "--yes"]).ok();
    home.run(&script("drop", "mv dropped .coven/grimoires/evil.yaml"), &[]).ok();
    until("what the trusted grimoire does", || home.path("project/did-good").exists());
    // Sessions that one event starts are made together, in the order of their names.
    let page = listed(&home, &home.path("project"));
    assert_eq!(page["workflows"].as_array().unwrap().len(), 2, "{page:#}");
    assert!(!home.path("project/did-evil").exists());
}

#[test]
fn a_step_cannot_take_away_what_the_policy_of_the_project_denies() {
    let home = Home::new();
    let config = folder(&home, "home/.config/coven");
    let allow = "version: 2\nrules:\n  - {command: touch said.txt, decision: allow}\n";
    fs::write(config.join("policy.yaml"), allow).unwrap();
    home.coven(&["policy", "accept", "--yes"]).ok();
    home.write(".coven/policy.yaml", "version: 2\nrules:\n  - {matches: said, decision: deny}\n");
    home.coven(&["trust", "--yes"]).ok();
    let go = home.path("project/go");
    pipe(&go);
    let asks = "  - {name: ask, type: agent, mode: interactive, permissions: ask, prompt: \"approve touch said.txt; exit 0\"}\n";
    let removes = script("remove", "rm .coven/policy.yaml; cat go");
    let started = home.run(&format!("{removes}{asks}"), &["--detach"]).ok();
    until("the policy to be gone", || !home.path("project/.coven/policy.yaml").exists());
    // Whoever asks makes the daemon look at the folder anew.
    home.coven(&["trust", "--json"]).ok();
    release(&go);
    let name = started.out.trim();
    home.coven(&["wait", name, "--until", "blocked", "--timeout", "60s"]);
    assert!(!home.path("project/said.txt").exists());
}
