//! `coven doctor`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::home::Home;

fn check(json: &Value, name: &str) -> Value {
    json["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap().clone()
}

#[test]
fn everything_is_looked_at_and_each_fault_has_a_remedy() {
    let home = Home::new();
    let bin = home.path("home/bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("claude"), "#!/bin/sh\necho '0.0.1 (Claude Code)'\n").unwrap();
    fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.command(&["doctor", "--json"]);
    let output = command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", crate::stdout(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let claude = check(&json, "claude");
    assert!(claude["what"].as_str().unwrap().starts_with("0.0.1 is older than "), "{claude}");
    assert_eq!(check(&json, "gemini")["what"], "is not installed");
    for name in [
        "landlock",
        "cgroup",
        "/proc",
        "terminals",
        "open files",
        "state",
        "bash",
        "config.yaml",
        "policy.yaml",
        "grimoires",
        "daemon",
    ] {
        check(&json, name);
    }
    let without = |check: &&Value| check["state"] != "ok" && check["mend"].is_null();
    assert_eq!(json["checks"].as_array().unwrap().iter().find(without), None);
    assert!(!home.path("state/coven/run").exists(), "the daemon is not started for this");
    assert!(home.coven(&["doctor"]).ok().out.contains("Coven can work here."));
}

#[test]
fn what_keeps_coven_from_working_is_a_failure() {
    let home = Home::new();
    fs::create_dir_all(home.path("home/.config/coven")).unwrap();
    fs::write(home.path("home/.config/coven/config.yaml"), "maxAgents: many\n").unwrap();
    fs::write(home.path("home/.config/coven/policy.yaml"), "version: 1\nrules: 3\n").unwrap();
    let said = home.coven(&["doctor"]).code(1);
    assert!(
        said.out.contains("✗ config.yaml") && said.out.contains("✗ policy.yaml"),
        "{}",
        said.out
    );
    assert!(said.out.contains("2 things keep Coven from working."), "{}", said.out);
    fs::remove_file(home.path("home/.config/coven/config.yaml")).unwrap();
}

#[test]
fn a_place_for_the_key_or_the_jobs_that_others_or_agents_can_write_is_told() {
    let home = Home::new();
    let open = home.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    fs::create_dir_all(home.path("project/jobs")).unwrap();
    let config = format!(
        "sealKey: {}\njobsFolder: {}\n",
        open.join("seal.key").display(),
        home.path("project/jobs").display()
    );
    home.write("../home/.config/coven/config.yaml", &config);
    let said = home.coven(&["doctor"]).code(1).out;
    assert!(said.contains("open can be written by other users"), "{said}");
    assert!(said.contains("jobs lies in this folder, where agents can write"), "{said}");
    // The daemon does not begin with a key that could be anybody's.
    let said = home.coven(&["ls"]);
    assert_ne!(said.code, 0);
    assert!(said.err.contains("can be written by other users"), "{}", said.err);
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    home.coven(&["ls"]).ok();
}
