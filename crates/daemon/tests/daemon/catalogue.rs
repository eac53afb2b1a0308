//! What can be run: grimoires and adapters, over the wire.

use std::os::unix::fs::PermissionsExt;

use coven_api::ProblemCode;
use coven_api::catalogue::{BaseDirQuery, CheckRequest, TextDiagnostic};

use crate::support::{Home, code};

/// Spec: GR.1.1, GR.1.2
#[tokio::test]
async fn grimoires_of_all_layers_are_listed_and_the_users_own_counts_more_than_ours() {
    let home = Home::new();
    let folder = home.config().join("grimoires");
    std::fs::create_dir_all(&folder).unwrap();
    let own = "name: review-loop\ndescription: My own.\nsteps:\n  - {name: a, type: script, command: 'true'}\n";
    std::fs::write(folder.join("mine.yaml"), own).unwrap();
    std::fs::write(folder.join("broken.yaml"), "name: broken\nsteps: 7\n").unwrap();
    let daemon = home.daemon().await;
    let all = daemon.client.grimoires(&BaseDirQuery::default()).await.unwrap().grimoires;
    let find = |name: &str| all.iter().find(|item| item.name == name).unwrap();
    for name in ["demo", "implement-bead", "prepare-pr", "spec-to-beads"] {
        assert_eq!(find(name).layer, "built-in", "{name}");
    }
    assert!(find("demo").usable);
    assert_eq!((find("review-loop").layer.as_str(), find("review-loop").usable), ("user", true));
    assert!(!find("broken").usable && find("broken").why_not.is_some());
    let broken = daemon.client.grimoire("broken", &BaseDirQuery::default()).await.unwrap();
    assert!(broken.problems.iter().any(|found| found.line == 2), "{broken:?}");
    let shown = daemon.client.grimoire("demo", &BaseDirQuery::default()).await.unwrap();
    assert!(shown.plan.unwrap().rows.len() > 1 && shown.text.contains("name: demo"));
    let near = daemon.client.grimoire("dmo", &BaseDirQuery::default()).await;
    assert_eq!(code(near), ProblemCode::GrimoireNotFound);
}

#[tokio::test]
async fn a_definition_is_checked_without_being_run() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let check = |text: &str| {
        let check = CheckRequest { text: text.to_owned(), name: None, base_dir: None };
        let client = daemon.client.clone();
        async move { client.check(&check).await.unwrap() }
    };
    let good = check("name: good\ndescription: x\ninputs:\n  n: {description: How many, type: number, default: 3}\nsteps:\n  - {name: a, type: script, command: 'touch made'}\n").await;
    assert!(good.ok && good.problems.is_empty(), "{good:?}");
    assert_eq!((good.inputs[0].name.as_str(), good.inputs[0].kind.as_str()), ("n", "number"));
    assert_eq!(good.plan.unwrap().rows.len(), 1);
    let bad = check("name: bad\ndescription: x\nsteps:\n  - {name: a, type: script, command: 'echo ${nobody}'}\n").await;
    assert!(!bad.ok && bad.problems[0].line == 4 && bad.problems[0].severity == "error", "{bad:?}");
    let stages = check(
        r#"{"id": "s", "stages": [{"id": "one", "tasks": [{"id": "a", "adapter": "demo"}]}]}"#,
    )
    .await;
    assert!(stages.ok, "{stages:?}");
    for nonsense in ["", "\u{0}", "[", "a: &a [*a]"] {
        assert!(!check(nonsense).await.ok, "{nonsense:?}");
    }
    assert!(!home.base().join("made").exists());
}

/// Holds a definition against what its adapters can do, as `coven grimoire check` does.
#[tokio::test]
async fn a_definition_is_held_against_what_its_adapters_can_do() {
    let home = Home::new();
    let folder = home.config().join("adapters/limited");
    std::fs::create_dir_all(&folder).unwrap();
    let config = r#"{"schemaVersion": 1, "command": "no-such-program-anywhere", "modes": {"interactive": {}}}"#;
    std::fs::write(folder.join("config.json"), config).unwrap();
    let text = |more: &str| {
        format!(
            "name: limits\ndescription: x\nsteps:\n  - {{name: a, type: agent, adapter: limited, prompt: hi, mode: interactive{more}}}\n"
        )
    };
    let grimoires = home.config().join("grimoires");
    std::fs::create_dir_all(&grimoires).unwrap();
    std::fs::write(grimoires.join("limits.yaml"), text(", permissions: all")).unwrap();
    let daemon = home.daemon().await;
    let check = |text: String| {
        let check = CheckRequest { text, name: None, base_dir: None };
        let client = daemon.client.clone();
        async move { client.check(&check).await.unwrap() }
    };
    let refused = check(text(", permissions: all")).await;
    let told = |found: &[TextDiagnostic]| {
        let one = |found: &TextDiagnostic| {
            format!("{}, line {}: {}", found.severity, found.line, found.message)
        };
        found.iter().map(one).collect::<Vec<_>>()
    };
    let expected = [
        "warning, line 4: step `a`: the program `no-such-program-anywhere` of `limited` was not found",
        "error, line 4: step `a`: the adapter `limited` does not say how to grant `all`",
    ]
    .map(str::to_owned);
    assert_eq!((refused.ok, told(&refused.problems)), (false, expected.to_vec()), "{refused:?}");
    assert!(refused.plan.is_some(), "what it would do is shown all the same");
    let shown = daemon.client.grimoire("limits", &BaseDirQuery::default()).await.unwrap();
    assert_eq!(told(&shown.problems), expected);
    // A program may be there where the definition will run.
    let warned = check(text("")).await;
    assert_eq!((warned.ok, told(&warned.problems)), (true, expected[..1].to_vec()), "{warned:?}");
}

#[tokio::test]
async fn adapters_are_listed_with_what_is_installed_and_a_slow_one_is_not_waited_for() {
    let home = Home::new();
    let bin = home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for (name, text) in [
        ("claude", "#!/bin/sh\nprintf '\\033[31m9.8.7 (Claude)\\n'"),
        ("codex", "#!/bin/sh\nexec sleep 1000"),
    ] {
        std::fs::write(bin.join(name), text).unwrap();
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let broken = home.config().join("adapters/strange");
    std::fs::create_dir_all(&broken).unwrap();
    std::fs::write(broken.join("config.json"), "{\"schemaVersion\": 1, \"nonsense\": true}")
        .unwrap();
    let mut command = home.command();
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let daemon = home.daemon_as(command).await;
    let all = daemon.client.adapters(&BaseDirQuery::default()).await.unwrap().adapters;
    let find = |kind: &str| all.iter().find(|item| item.kind == kind).unwrap();
    assert_eq!(find("claude").installed_version.as_deref(), Some("9.8.7 (Claude)"));
    assert_eq!(find("claude").found.as_deref(), Some(bin.join("claude").to_str().unwrap()));
    assert!(find("codex").found.is_some() && find("codex").installed_version.is_none());
    assert!(find("aider").found.is_none());
    assert!(find("demo").found.is_some() && find("demo").problem.is_none());
    assert!(find("strange").problem.is_some(), "{:?}", find("strange"));
    assert_eq!(find("gemini").display_name, "Gemini CLI");
}
