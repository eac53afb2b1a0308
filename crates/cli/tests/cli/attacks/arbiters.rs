//! An arbiter, which may only read, tries to change what later runs believe: the settings of its own
//! program, other processes, and whatever listens on this machine.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use coven_runtime::sandbox::scopes_signals;
use coven_testkit::skip::skip;

use super::folder;
use super::sandboxed::{JUDGED, left_in_scratch};
use crate::home::Home;

/// A user with an adapter `judge`, whose program is this script, and whose settings and credential
/// lie in `~/.judge`.
fn judge(home: &Home, script: &str) {
    let program = folder(home, "bin").join("judge");
    fs::write(&program, format!("#!/bin/bash\n{script}")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = serde_json::json!({
        "schemaVersion": 1,
        "metadata": {"displayName": "Judge"},
        "command": program,
        "modes": {"headless": {"promptPosition": "last", "transcript": "text", "stdin": "null"}},
        "permissions": {"read-only": []},
        "state": {
            "write": ["~/.judge"],
            "copy": ["~/.judge/settings.json", "~/.judge/token.json"],
            "credentials": ["~/.judge/token.json"],
        },
    });
    let place = folder(home, "home/.config/coven/adapters/judge").join("config.json");
    fs::write(place, config.to_string()).unwrap();
    let own = folder(home, "home/.judge");
    fs::write(own.join("settings.json"), "{\"hooks\": {}}").unwrap();
    fs::write(own.join("token.json"), "{\"token\": 1}").unwrap();
    fs::write(folder(home, "home/.ssh").join("id_ed25519"), "PRIVATE").unwrap();
}

/// Runs a loop whose arbiter is the script, and gives what it printed into its report.
pub(super) fn judged(home: &Home, script: &str) -> String {
    let verdict = "echo '{\"verdict\": \"done\", \"reason\": \"fine\"}'";
    judge(home, &format!("{{\n{script}\n}} > \"$TMPDIR/report\" 2>&1\n{verdict}\n"));
    home.run(JUDGED, &[]).ok();
    left_in_scratch(home, "report")
}

#[test]
fn an_arbiter_cannot_plant_a_hook_in_the_settings_of_its_program() {
    let home = Home::new();
    let own = home.path("home/.judge");
    let report = judged(
        &home,
        &format!(
            "cat ~/.judge/settings.json; echo\n\
             echo '{{\"hooks\": \"planted\"}}' > ~/.judge/settings.json && echo own\n\
             echo '{{\"hooks\": \"planted\"}}' > {own}/settings.json && echo planted\n\
             echo planted > {own}/new.json && echo planted\n\
             echo '{{\"token\": 2}}' > ~/.judge/token.json",
            own = own.display()
        ),
    );
    assert!(report.starts_with("{\"hooks\": {}}\nown\n"), "{report}");
    let settings = fs::read_to_string(own.join("settings.json")).unwrap();
    assert_eq!(settings, "{\"hooks\": {}}", "it planted a hook: {report}");
    assert!(!own.join("new.json").exists(), "{report}");
    let token = fs::read_to_string(own.join("token.json")).unwrap();
    assert_eq!(token, "{\"token\": 2}\n", "a renewed credential comes back: {report}");
}

#[test]
fn an_arbiter_does_not_read_keys_nor_the_state_folder() {
    if !scopes_signals() {
        return skip("this kernel has no Landlock that is new enough");
    }
    let home = Home::new();
    let report = judged(
        &home,
        &format!(
            "cat {}/home/.ssh/id_ed25519 && echo read\n\
             cat {}/state/coven/run/daemon.lock && echo read\n\
             cat {}/project/test.yaml > /dev/null && echo project",
            home.root().display(),
            home.root().display(),
            home.root().display()
        ),
    );
    assert!(!report.contains("PRIVATE") && !report.contains("read\n"), "{report}");
    assert_eq!(report.matches("Permission denied").count(), 2, "{report}");
    assert!(report.ends_with("project\n"), "{report}");
}

#[test]
fn an_arbiter_reaches_neither_loopback_nor_the_daemon_by_a_signal() {
    if !scopes_signals() {
        return skip("this kernel has no Landlock that is new enough");
    }
    let home = Home::new();
    home.coven(&["daemon", "start"]).ok();
    let status = home.coven(&["daemon", "status", "--json"]).ok().json();
    let daemon = status["pid"].as_i64().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let report = judged(
        &home,
        &format!(
            "(: < /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected || echo refused\n\
             kill -9 {daemon} 2>/dev/null && echo killed || echo refused"
        ),
    );
    assert_eq!(report, "refused\nrefused\n");
}
