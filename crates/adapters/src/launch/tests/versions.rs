//! Other versions of a program are started as they want it.

use super::*;

const ASK: LaunchRequest<'static> =
    LaunchRequest { permission: Some(PermissionLevel::Ask), ..INTERACTIVE };

fn version(text: &str) -> ProgramVersion {
    text.parse().unwrap()
}

/// The arguments of a built-in adapter for one version.
fn args_of(kind: &str, installed: &str, request: &LaunchRequest<'_>) -> Vec<String> {
    let version = version(installed);
    args(kind, &LaunchRequest { version: Some(&version), ..request.clone() })
}

#[test]
fn claude_before_2_1_200_is_asked_for_its_default_mode() {
    for (installed, mode) in [
        ("2.0.55", "default"),
        ("2.1.197", "default"),
        ("2.1.199", "default"),
        ("2.1.200", "manual"),
        ("2.1.325", "manual"),
        ("3.0.0", "manual"),
    ] {
        assert_eq!(
            args_of("claude", installed, &ASK)[..2],
            ["--permission-mode", mode],
            "{installed}"
        );
    }
    assert_eq!(args("claude", &ASK)[..2], ["--permission-mode", "manual"], "not known: the newest");
}

#[test]
fn only_a_codex_that_has_a_daemon_is_told_not_to_start_it() {
    let told = |installed| args_of("codex", installed, &ASK).contains(&"--no-daemon".to_owned());
    assert!(told("0.166.0") && told("0.156.0"));
    assert!(!told("0.155.1") && !told("0.77.0"));
    assert!(args("codex", &ASK).contains(&"--no-daemon".to_owned()), "not known: the newest");
}

const DIFFERENT: &str = r#"{
  "command": "agent",
  "modes": {
    "interactive": { "baseArgs": ["--new"], "defaultPermission": "ask" },
    "headless": { "baseArgs": ["run"], "promptPosition": "flag", "promptFlag": "-p" }
  },
  "permissions": { "ask": ["--ask"], "read-only": ["--plan"] },
  "env": { "set": { "A": "1" } },
  "versions": [
    { "until": "2.0.0", "modes": { "interactive": { "baseArgs": [] } },
      "permissions": { "read-only": null }, "env": { "set": { "A": "old" } } },
    { "until": "1.0.0", "modes": { "headless": { "promptPosition": "last" } } },
    { "since": "3.0.0", "permissions": { "ask": ["--ask=always"] } }
  ]
}"#;

#[test]
fn an_entry_counts_from_its_first_version_to_before_its_last() {
    let config = config(DIFFERENT);
    let launch = |installed: Option<&str>, request: &LaunchRequest<'_>| {
        let version = installed.map(version);
        launch("agent", &config, &LaunchRequest { version: version.as_ref(), ..request.clone() })
    };
    let interactive = |installed| launch(Some(installed), &INTERACTIVE).unwrap();
    assert_eq!(interactive("1.9.9").args, ["--ask", "do it"]);
    assert_eq!(interactive("1.9.9").env["A"], "old");
    assert_eq!(interactive("2.0.0").args, ["--new", "--ask", "do it"]);
    assert_eq!(interactive("2.0.0").env["A"], "1");
    assert_eq!(interactive("3.0.0").args, ["--new", "--ask=always", "do it"]);
    assert_eq!(launch(None, &INTERACTIVE).unwrap().args, ["--new", "--ask=always", "do it"]);
    let headless = LaunchRequest { permission: Some(PermissionLevel::Ask), ..HEADLESS };
    assert_eq!(launch(Some("0.9"), &headless).unwrap().args, ["run", "--ask", "do it"]);
    assert_eq!(launch(Some("1.0"), &headless).unwrap().args, ["run", "--ask", "-p", "do it"]);
    let plan = LaunchRequest { permission: Some(PermissionLevel::ReadOnly), ..INTERACTIVE };
    assert_eq!(
        launch(Some("1.0"), &plan).unwrap_err().to_string(),
        "the adapter `agent` does not say how to grant `read-only`; it knows: ask"
    );
    assert!(launch(Some("2.0"), &plan).is_ok());
}
