//! Exactly which program is started with which arguments.

mod built_in;
mod hooks;
mod prompts;
mod versions;

use std::fmt::Write as _;

use coven_model::{AgentMode, PermissionLevel};
use coven_notation::SourceFile;

use super::*;
use crate::registry::default_registry;

/// The configuration in a text.
fn config(text: &str) -> Config {
    Config::read(&SourceFile::new("test", text)).value.unwrap()
}

/// A launch of a built-in adapter.
fn built_in(kind: &str, request: &LaunchRequest<'_>) -> Result<LaunchSpec, LaunchError> {
    default_registry().create(kind, crate::Options::default()).unwrap().launch(request)
}

fn args(kind: &str, request: &LaunchRequest<'_>) -> Vec<String> {
    built_in(kind, request).unwrap().args
}

const HEADLESS: LaunchRequest<'static> = LaunchRequest {
    mode: AgentMode::Headless,
    prompt: Some("do it"),
    extra_args: &[],
    permission: None,
    model: None,
    version: None,
    auto_approve: false,
    conversation: LaunchConversation::New,
    prompt_folder: None,
    channel: false,
    channel_refused: None,
    hooks: None,
};

const INTERACTIVE: LaunchRequest<'static> =
    LaunchRequest { mode: AgentMode::Interactive, ..HEADLESS };

/// Spec: AD.3.1
#[test]
fn interactive_gemini_gets_its_prompt_right_behind_i() {
    let extra = ["--debug".to_owned()];
    let request = LaunchRequest { extra_args: &extra, model: Some("pro"), ..INTERACTIVE };
    let asks = ["--approval-mode", "default"];
    let expected = [&asks[..], &["-m", "pro", "--debug", "-i", "do it"]].concat();
    assert_eq!(args("gemini", &request), expected);
}

/// Spec: AD.3.2
#[test]
fn headless_gemini_approves_everything_and_takes_a_plain_prompt() {
    let launch = built_in("gemini", &HEADLESS).unwrap();
    assert_eq!(launch.args, ["-o", "stream-json", "--approval-mode", "yolo", "do it"]);
    assert!(!launch.args.iter().any(|arg| arg == "-p" || arg == "--prompt"));
    assert_eq!((launch.permission, launch.terminal), (Some(PermissionLevel::All), false));
    let less = LaunchRequest { permission: Some(PermissionLevel::ReadOnly), ..HEADLESS };
    assert_eq!(args("gemini", &less), ["-o", "stream-json", "--approval-mode", "plan", "do it"]);
}

/// Spec: C1.3.1, AD.9.2
#[test]
fn the_mode_that_was_asked_for_gives_the_arguments() {
    let config = config(
        r#"{"command": "tool", "modes": {"interactive": {"baseArgs": ["chat"]},
            "headless": {"baseArgs": ["run", "--json"]}}}"#,
    );
    let extra = ["-x".to_owned()];
    let chat =
        launch("tool", &config, &LaunchRequest { extra_args: &extra, ..INTERACTIVE }).unwrap();
    let run = launch("tool", &config, &LaunchRequest { extra_args: &extra, ..HEADLESS }).unwrap();
    assert_eq!((chat.command.as_str(), chat.args), ("tool", vec_of(&["chat", "-x", "do it"])));
    assert_eq!(run.args, ["run", "--json", "-x", "do it"]);
    assert!(chat.terminal && !run.terminal);
}

fn vec_of(args: &[&str]) -> Vec<String> {
    args.iter().map(|&arg| arg.to_owned()).collect()
}

/// Spec: AD.9.3
#[test]
fn the_file_decides_whether_the_prompt_is_last_or_behind_an_option() {
    let last = config(r#"{"modes": {"headless": {"promptPosition": "last"}}}"#);
    let flag =
        config(r#"{"modes": {"headless": {"promptPosition": "flag", "promptFlag": "--say"}}}"#);
    let typed = config(r#"{"modes": {"headless": {"promptPosition": "typed"}}}"#);
    assert_eq!(launch("t", &last, &HEADLESS).unwrap().args, ["do it"]);
    assert_eq!(launch("t", &flag, &HEADLESS).unwrap().args, ["--say", "do it"]);
    let typed = launch("t", &typed, &HEADLESS).unwrap();
    assert_eq!((typed.args, typed.typed_prompt), (Vec::new(), Some("do it".to_owned())));
}

#[test]
fn a_prompt_on_the_input_or_in_a_file_is_in_no_argument() {
    let request = LaunchRequest { prompt_folder: Some("/inputs"), ..HEADLESS };
    let stdin =
        config(r#"{"modes": {"headless": {"promptPosition": "stdin", "promptFlag": "-"}}}"#);
    let read = launch("t", &stdin, &request).unwrap();
    assert_eq!((read.args, read.input), (vec_of(&["-"]), Some("do it".to_owned())));
    let file = config(r#"{"modes": {"headless": {"promptPosition": "file"}}}"#);
    let read = launch("t", &file, &request).unwrap();
    assert!(!read.args.concat().contains("do it"), "{:?}", read.args);
    assert_eq!(read.prompt_file.map(|(_, text)| text).as_deref(), Some("do it"));
}

/// Spec: AD.10.1
#[test]
fn asking_for_interactive_gives_a_terminal_and_the_prompt_in_its_place() {
    for kind in crate::builtin::types() {
        let launch = built_in(kind, &INTERACTIVE).unwrap();
        assert!(launch.terminal, "{kind}");
        let last = launch.args.last().or(launch.typed_prompt.as_ref());
        let prompt = launch.typed_prompt.as_ref().or(last);
        assert_eq!(prompt.map(String::as_str), Some("do it"), "{kind}");
    }
}

/// Spec: AD.10.2
#[test]
fn asking_for_headless_gives_a_run_that_asks_nobody() {
    for kind in crate::builtin::types().filter(|kind| *kind != "shell") {
        let launch = built_in(kind, &HEADLESS).unwrap();
        assert_eq!(launch.permission, Some(PermissionLevel::All), "{kind}");
        assert_eq!(launch.args.last().map(String::as_str), Some("do it"), "{kind}");
        assert_eq!((launch.terminal, launch.stdin), (false, StdinSource::Null), "{kind}");
    }
}

/// Spec: AD.10.3
#[test]
fn extra_arguments_stand_behind_mode_and_permission_and_before_the_prompt() {
    let extra = ["--extra".to_owned(), "value with spaces".to_owned()];
    for kind in crate::builtin::types() {
        for request in [INTERACTIVE, HEADLESS] {
            let without = built_in(kind, &request).unwrap();
            let with = built_in(kind, &LaunchRequest { extra_args: &extra, ..request }).unwrap();
            let prompt = match (with.typed_prompt.is_some(), kind, request.mode) {
                (true, ..) => 0,
                (_, "gemini" | "qwen" | "opencode" | "copilot", AgentMode::Interactive)
                | (_, "copilot" | "aider", AgentMode::Headless) => 2,
                _ => 1,
            };
            let at = without.args.len() - prompt;
            let mut expected = without.args.clone();
            expected.splice(at..at, extra.iter().cloned());
            assert_eq!(with.args, expected, "{kind}");
        }
    }
}

/// Spec: C0.2.1
#[test]
fn program_arguments_and_environment_are_said_exactly() {
    let launch = built_in("gemini", &INTERACTIVE).unwrap();
    assert_eq!(launch.command, "gemini");
    assert_eq!(launch.env["GEMINI_CLI_NO_RELAUNCH"], "true");
    assert_eq!(launch.unset, ["CI", "GITHUB_ACTIONS", "CLAUDECODE"]);
    let unnamed = config(r#"{"modes": {"interactive": {}}}"#);
    assert_eq!(super::launch("my-cli", &unnamed, &INTERACTIVE).unwrap().command, "my-cli");
}

#[test]
fn a_level_can_be_granted_by_a_variable() {
    let request = LaunchRequest { permission: Some(PermissionLevel::Ask), ..INTERACTIVE };
    let launch = built_in("opencode", &request).unwrap();
    assert_eq!(launch.env["OPENCODE_PERMISSION"], r#"{"bash":"ask","edit":"ask"}"#);
    assert_eq!(launch.args, ["--prompt", "do it"]);
}

#[test]
fn a_variable_of_the_task_counts_over_one_that_the_adapter_takes_away() {
    let env = [("CI".to_owned(), "1".to_owned())].into();
    let options = crate::Options { env, ..crate::Options::default() };
    let adapter = default_registry().create("gemini", options).unwrap();
    let launch = adapter.launch(&INTERACTIVE).unwrap();
    assert_eq!(launch.env["CI"], "1");
    assert!(!launch.unset.contains(&"CI".to_owned()));
}

/// Spec: C0.4.3
#[test]
fn a_task_that_asks_for_automatic_approval_gets_the_arguments_for_it() {
    let request = LaunchRequest { auto_approve: true, ..INTERACTIVE };
    assert_eq!(args("gemini", &request), ["--approval-mode", "yolo", "-i", "do it"]);
    let both = LaunchRequest { permission: Some(PermissionLevel::Ask), ..request.clone() };
    assert_eq!(
        args("gemini", &both),
        ["--approval-mode", "yolo", "-i", "do it"],
        "no option twice"
    );
    let codex = ["--no-daemon", "-s", "workspace-write", "-a", "on-request", "do it"];
    assert_eq!(args("codex", &request), codex);
    let without = config(r#"{"modes": {"interactive": {}}}"#);
    let launch = launch("t", &without, &request).unwrap();
    assert_eq!(launch.args, ["do it"], "an adapter without a policy adds nothing");
}

#[test]
fn a_conversation_is_continued_or_begun_with_an_id_of_ours() {
    let id = "0190b0f0-0000-7000-8000-000000000000";
    let resume = LaunchRequest { conversation: LaunchConversation::Resume(id), ..HEADLESS };
    let claude = built_in("claude", &resume).unwrap();
    assert!(claude.args.windows(2).any(|pair| pair == ["--resume", id]), "{:?}", claude.args);
    assert_eq!(claude.agent_session.as_deref(), Some(id));
    let new = LaunchRequest { conversation: LaunchConversation::NewWithId(id), ..HEADLESS };
    let claude = built_in("claude", &new).unwrap();
    assert!(claude.args.windows(2).any(|pair| pair == ["--session-id", id]), "{:?}", claude.args);
    let codex = built_in("codex", &new).unwrap();
    assert_eq!(codex.agent_session, None, "it names its conversations itself");
    let error = built_in("aider", &resume).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the adapter `aider` does not say how to continue a conversation (key `resume`)"
    );
}

#[test]
fn what_a_program_does_not_have_is_told_with_what_it_has() {
    let chat = config(r#"{"modes": {"interactive": {}}, "permissions": {"ask": []}}"#);
    let error =
        |request: &LaunchRequest<'_>| launch("mine", &chat, request).unwrap_err().to_string();
    assert_eq!(
        error(&HEADLESS),
        "the adapter `mine` has no headless mode; its modes are: interactive"
    );
    assert_eq!(
        error(&LaunchRequest { permission: Some(PermissionLevel::All), ..INTERACTIVE }),
        "the adapter `mine` does not say how to grant `all`; it knows: ask"
    );
    assert_eq!(
        error(&LaunchRequest { model: Some("x"), ..INTERACTIVE }),
        "the adapter `mine` does not say how to choose a model (key `model`)"
    );
    let nothing = launch("mine", &Config::default(), &INTERACTIVE).unwrap_err();
    assert_eq!(
        nothing.to_string(),
        "the adapter `mine` has no interactive mode; its modes are: none"
    );
}

/// An agent on a terminal asks, unless somebody wants it otherwise.
#[test]
fn every_built_in_asks_by_default_on_a_terminal() {
    let registry = default_registry();
    for name in registry.registered_types() {
        let adapter = registry.create(&name, crate::Options::default()).unwrap();
        let config = adapter.config();
        let Some(mode) = config.modes.get(AgentMode::Interactive) else { continue };
        if config.permissions.is_empty() && mode.permissions.is_empty() {
            continue;
        }
        assert_eq!(mode.default_permission, Some(PermissionLevel::Ask), "{name}");
    }
}

#[test]
fn a_level_that_a_protocol_does_not_grant_is_refused_and_not_replaced_by_questions() {
    let config = config(
        r#"{"modes": {"headless": {"transcript": "text"}},
            "permissions": {"read-only": ["-r"], "edits": ["-e"], "all": ["-a"]},
            "channel": {"kind": "acp", "always": true, "permissions": {"edits": ["--edits"]},
                "mode": {"all": "yolo"}}}"#,
    );
    let spoken = |level| {
        let request = LaunchRequest { permission: level, channel: true, ..HEADLESS };
        launch("t", &config, &request)
    };
    assert_eq!(spoken(Some(PermissionLevel::Edits)).unwrap().args, ["--edits"]);
    let all = spoken(Some(PermissionLevel::All)).unwrap();
    assert_eq!(all.channel.unwrap().mode.as_deref(), Some("yolo"));
    for level in [None, Some(PermissionLevel::Ask)] {
        assert_eq!(spoken(level).unwrap().permission, Some(PermissionLevel::Ask));
    }
    let refused = spoken(Some(PermissionLevel::ReadOnly)).unwrap_err();
    assert!(refused.to_string().contains("ask, edits, all"), "{refused}");
}
