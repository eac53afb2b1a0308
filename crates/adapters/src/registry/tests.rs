//! Types by name: registered, made, listed, unknown.

use std::fs;

use super::*;
use crate::launch::{LaunchError, LaunchRequest, LaunchSpec};
use crate::loader::CONFIG_FILE;

/// An adapter made by code.
struct Fixed(Options, Config);

impl AgentAdapter for Fixed {
    fn kind(&self) -> &'static str {
        "fixed"
    }

    fn name(&self) -> &str {
        self.0.name.as_deref().unwrap_or("fixed")
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Result<LaunchSpec, LaunchError> {
        crate::launch::launch("fixed", &self.1, request)
    }

    fn config(&self) -> &Config {
        &self.1
    }
}

fn fixed() -> (AdapterRegistry, AdapterMetadata) {
    let config: Config = serde_json::from_str(r#"{"modes": {"interactive": {}}}"#).unwrap();
    let metadata = AdapterMetadata::new("fixed", &config);
    let mut registry = AdapterRegistry::default();
    let make = move |options| Box::new(Fixed(options, config.clone())) as Box<dyn AgentAdapter>;
    registry.register("fixed", metadata.clone(), make).unwrap();
    (registry, metadata)
}

/// Spec: AD.6.1
#[test]
fn a_registered_type_can_be_made_by_its_name() {
    let (registry, metadata) = fixed();
    let adapter = registry.create("fixed", Options::default()).unwrap();
    assert_eq!(adapter.launch(&LaunchRequest::default()).unwrap().command, "fixed");
    assert_eq!(registry.metadata("fixed"), Some(metadata));
    assert!(adapter.auto_policy().is_none());
    assert!(adapter.rules().is_empty());
}

#[test]
fn a_type_made_by_code_counts_over_a_file_of_the_same_name() {
    let (mut registry, metadata) = fixed();
    let config = Config::default();
    let make = move |options| Box::new(Fixed(options, config.clone())) as Box<dyn AgentAdapter>;
    registry.register("gemini", metadata, make).unwrap();
    assert_eq!(registry.create("gemini", Options::default()).unwrap().kind(), "fixed");
}

#[test]
fn a_name_that_could_leave_its_folder_is_no_type() {
    let (mut registry, metadata) = fixed();
    for name in ["../x", "", "A", "a b", "-a", "a/b", "\u{e4}", &"a".repeat(65)] {
        let make = |options| Box::new(Fixed(options, Config::default())) as Box<dyn AgentAdapter>;
        let refused = registry.register(name, metadata.clone(), make).unwrap_err();
        assert!(matches!(refused, LoadError::Name(_)), "{name}: {refused}");
        assert!(registry.create(name, Options::default()).is_err(), "{name}");
        assert_eq!(registry.metadata(name), None, "{name}");
    }
}

/// Spec: C1.6.5, AD.6.2
#[test]
fn each_adapter_is_made_anew_with_its_own_options() {
    let options = |name: &str| Options {
        cwd: Some(format!("/work/{name}").into()),
        env: [("TASK".to_owned(), name.to_owned())].into(),
        name: Some(name.to_owned()),
        config_path: None,
    };
    let registry = default_registry();
    let one = registry.create_from_files("claude", options("one")).unwrap();
    let two = registry.create_from_files("claude", options("two")).unwrap();
    let request = LaunchRequest { prompt: Some("p"), ..LaunchRequest::default() };
    let (first, second) = (one.launch(&request).unwrap(), two.launch(&request).unwrap());
    assert_eq!((first.env["TASK"].as_str(), second.env["TASK"].as_str()), ("one", "two"));
    assert_eq!((one.name(), two.name()), ("one", "two"));
    assert_ne!(one.options().cwd, two.options().cwd);
    let (mut sniffer, other) = (one.sniffer(), two.sniffer());
    sniffer.exited("gone", std::time::Duration::ZERO);
    assert_ne!(sniffer.verdict(), other.verdict());
}

/// Spec: C1.6.6
#[test]
fn an_adapter_carries_the_name_it_was_given_or_that_of_its_type() {
    let named = Options { name: Some("reviewer".to_owned()), ..Options::default() };
    assert_eq!(default_registry().create("codex", named).unwrap().name(), "reviewer");
    assert_eq!(default_registry().create("codex", Options::default()).unwrap().name(), "codex");
}

/// Spec: C1.8.2, AD.6.3
#[test]
fn an_unknown_type_is_an_error_that_names_near_ones() {
    let error = |kind: &str| {
        let made = default_registry().create(kind, Options::default());
        made.err().unwrap().to_string()
    };
    assert_eq!(error("gemni"), "there is no adapter `gemni`; did you mean `gemini`?");
    assert_eq!(error("cladue"), "there is no adapter `cladue`; did you mean `claude`?");
    assert_eq!(
        error("nothing-like-it"),
        "there is no adapter `nothing-like-it`; `coven adapter ls` shows what there is"
    );
}

/// Spec: AD.7.1, AD.12.1, C1.8.1
#[test]
fn every_built_in_type_is_there_from_the_start() {
    let types = default_registry().registered_types();
    let expected =
        ["aider", "claude", "codex", "copilot", "demo", "gemini", "opencode", "qwen", "shell"];
    assert_eq!(types.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    for kind in types {
        assert_eq!(default_registry().create(&kind, Options::default()).unwrap().kind(), kind);
    }
}

/// Spec: AD.12.2
#[test]
fn a_type_tells_its_name_its_icon_and_its_modes() {
    let gemini = default_registry().metadata("gemini").unwrap();
    assert_eq!((gemini.display_name.as_str(), gemini.icon.as_str()), ("Gemini CLI", "gemini"));
    assert_eq!(
        gemini.modes,
        [
            (AgentMode::Interactive, Some(PermissionLevel::Ask)),
            (AgentMode::Headless, Some(PermissionLevel::All)),
        ]
        .into()
    );
    assert_eq!(gemini.tested_version.as_deref(), Some("0.61.0"));
}

/// Spec: AD.12.3
#[test]
fn an_unknown_type_has_no_metadata_and_is_no_error() {
    assert_eq!(default_registry().metadata("gemni"), None);
}

/// Spec: AD.11.1
#[test]
fn a_type_without_a_name_and_an_icon_is_shown_by_its_type() {
    let metadata = AdapterMetadata::new("my-cli", &Config::default());
    assert_eq!((metadata.display_name.as_str(), metadata.icon.as_str()), ("my-cli", "agent"));
    assert!(metadata.modes.is_empty());
}

/// Spec: AD.5.1
#[test]
fn a_file_alone_adds_a_type_to_a_registry_that_is_already_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let folders =
        AdapterFolders { user: Some(folder.path().to_owned()), ..AdapterFolders::default() };
    let registry = AdapterRegistry::new(folders);
    assert_eq!(registry.metadata("goose"), None);
    fs::create_dir(folder.path().join("goose")).unwrap();
    let text = r#"{
        "modes": {"interactive": {"baseArgs": ["session"]}},
        "states": {"interaction_idle": {"pattern": "^goose>"}}
    }"#;
    fs::write(folder.path().join("goose").join(CONFIG_FILE), text).unwrap();
    assert!(registry.registered_types().contains("goose"));
    let goose = registry.create_from_files("goose", Options::default()).unwrap();
    let launch =
        goose.launch(&LaunchRequest { prompt: Some("hi"), ..LaunchRequest::default() }).unwrap();
    assert_eq!((launch.command.as_str(), launch.args.join(" ").as_str()), ("goose", "session hi"));
    let mut sniffer = goose.sniffer();
    sniffer.look_at_text("welcome\ngoose> ", std::time::Duration::from_secs(1));
    assert_eq!(sniffer.verdict().state.as_str(), "idle");
}

/// Spec: C0.2.2
#[test]
fn an_adapter_may_bring_a_policy_and_need_not() {
    let gemini = default_registry().create("gemini", Options::default()).unwrap();
    let policy = gemini.auto_policy().unwrap();
    assert_eq!(policy.inject_args, ["--approval-mode", "yolo"]);
    assert_eq!(policy.handlers.len(), 1);
    assert!(
        default_registry().create("shell", Options::default()).unwrap().auto_policy().is_none()
    );
}
