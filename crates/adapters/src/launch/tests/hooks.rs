//! When a program is asked to report what it does.

use super::*;
use crate::hook::HookTarget;

const URL: &str = "http://127.0.0.1:7717/hook/s/t/1";
const TARGET: HookTarget<'static> = HookTarget { url: URL, token: "sesame" };

const INTERACTIVE: LaunchRequest<'static> =
    LaunchRequest { mode: AgentMode::Interactive, hooks: Some(TARGET), ..HEADLESS };

/// The settings that a launch gives.
fn settings(launch: &LaunchSpec) -> Vec<&str> {
    let pairs = launch.args.windows(2).filter(|pair| pair[0] == "--settings");
    pairs.map(|pair| &*pair[1]).collect()
}

#[test]
fn claude_on_a_terminal_is_asked_to_report_to_the_daemon() {
    let launch = built_in("claude", &INTERACTIVE).unwrap();
    assert!(launch.reports);
    assert_eq!(launch.env["COVEN_HOOK_TOKEN"], "sesame");
    let settings: serde_json::Value = serde_json::from_str(settings(&launch)[0]).unwrap();
    let expected = serde_json::json!({
        "type": "http", "url": URL, "timeout": 5,
        "headers": {"authorization": "Bearer ${COVEN_HOOK_TOKEN}"},
        "allowedEnvVars": ["COVEN_HOOK_TOKEN"],
    });
    for event in ["UserPromptSubmit", "PostToolUse", "Stop", "StopFailure"] {
        assert_eq!(settings["hooks"][event], serde_json::json!([{"hooks": [expected]}]), "{event}");
    }
    assert_eq!(launch.args.last().unwrap(), "do it");
    // Other users of the machine can read arguments.
    assert!(!launch.args.iter().any(|arg| arg.contains("sesame")));
}

#[test]
fn without_an_address_nothing_is_added() {
    let launch = built_in("claude", &LaunchRequest { hooks: None, ..INTERACTIVE }).unwrap();
    assert_eq!(launch.args, ["--permission-mode", "manual", "do it"]);
    assert!(!launch.reports && !launch.env.contains_key("COVEN_HOOK_TOKEN"));
}

#[test]
fn only_programs_that_report_are_asked_to() {
    let old: ProgramVersion = "2.1.324".parse().unwrap();
    let older = LaunchRequest { version: Some(&old), ..INTERACTIVE };
    let headless = LaunchRequest { hooks: Some(TARGET), ..HEADLESS };
    for (kind, request) in [("claude", &older), ("claude", &headless), ("codex", &INTERACTIVE)] {
        let launch = built_in(kind, request).unwrap();
        let asks = |arg: &String| arg.contains("hooks");
        assert!(!launch.reports && !launch.args.iter().any(asks), "{kind} {:?}", launch.args);
        assert!(!launch.env.contains_key("COVEN_HOOK_TOKEN"), "{kind}");
    }
}

#[test]
fn settings_of_the_task_or_of_its_level_are_left_as_they_are() {
    let mine = ["--settings".to_owned(), "{}".to_owned()];
    let joined = ["--settings=mine.json".to_owned()];
    for extra_args in [&mine[..], &joined[..]] {
        let launch = built_in("claude", &LaunchRequest { extra_args, ..INTERACTIVE }).unwrap();
        let mut expected = vec!["--permission-mode".to_owned(), "manual".to_owned()];
        expected.extend_from_slice(extra_args);
        expected.push("do it".to_owned());
        assert_eq!(launch.args, expected);
        assert!(!launch.reports);
    }
    let all = LaunchRequest { permission: Some(PermissionLevel::All), ..INTERACTIVE };
    let launch = built_in("claude", &all).unwrap();
    assert_eq!(settings(&launch), ["{\"skipDangerousModePermissionPrompt\":true}"]);
    assert!(!launch.reports);
}
