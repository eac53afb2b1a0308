//! Layers, edits, trust, and what stands where a file should be.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use coven_testkit::files::files_below;

use super::*;

/// A user's folder and a project's, both empty.
struct Place {
    folder: tempfile::TempDir,
    trusted: bool,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), trusted: true }
    }

    fn untrusted() -> Self {
        Self { trusted: false, ..Self::new() }
    }

    fn path(&self, layer: &str, kind: &str) -> PathBuf {
        self.folder.path().join(layer).join(kind).join(CONFIG_FILE)
    }

    fn write(&self, layer: &str, kind: &str, text: &str) -> PathBuf {
        let path = self.path(layer, kind);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// What is in the project now, as the user agrees to it.
    fn agreed(&self) -> Arc<TrustedFiles> {
        let base = self.folder.path();
        Arc::new(TrustedFiles::new(base, "/copy", files_below(base)))
    }

    fn loader(&self) -> AdapterConfigLoader {
        AdapterConfigLoader::new(AdapterFolders {
            user: Some(self.folder.path().join("user")),
            project: Some(self.folder.path().join("project")),
            trusted: self.trusted.then(|| self.agreed()),
            ..AdapterFolders::default()
        })
    }
}

fn command(loaded: &LoadedAdapter) -> &str {
    loaded.config.command.as_deref().unwrap()
}

fn standings(loaded: &LoadedAdapter) -> Vec<(AdapterLayer, OriginStatus)> {
    loaded.origins.iter().map(|origin| (origin.layer, origin.standing.clone())).collect()
}

/// Spec: AD.1.1
#[test]
fn an_edit_counts_for_the_next_start_without_a_restart() {
    let place = Place::new();
    let files = place.loader();
    place.write("user", "claude", r#"{"command": "one"}"#);
    assert_eq!(command(&files.load("claude", None).unwrap()), "one");
    place.write(
        "user",
        "claude",
        r#"{"command": "two", "states": {"mine": {"pattern": "at lunch", "kind": "idle"}}}"#,
    );
    let loaded = files.load("claude", None).unwrap();
    assert_eq!(command(&loaded), "two");
    let mut sniffer = crate::ScreenSniffer::new(loaded.rules);
    sniffer.look_at_text("at lunch", std::time::Duration::ZERO);
    assert_eq!(sniffer.verdict().evidence.rule, "mine");
    fs::remove_file(place.path("user", "claude")).unwrap();
    assert_eq!(command(&files.load("claude", None).unwrap()), "claude", "gone is gone");
}

#[test]
fn agents_of_a_type_have_the_same_patterns_until_a_file_changes() {
    let place = Place::new();
    let files = place.loader();
    let (one, two) = (files.load("claude", None).unwrap(), files.load("claude", None).unwrap());
    assert!(Arc::ptr_eq(&one.rules, &two.rules) && Arc::ptr_eq(&one.config, &two.config));
    place.write("user", "claude", r#"{"command": "other"}"#);
    let three = files.load("claude", None).unwrap();
    assert!(!Arc::ptr_eq(&one.rules, &three.rules));
    assert_eq!((command(&one), command(&three)), ("claude", "other"));
}

#[test]
fn later_layers_change_what_they_name_and_leave_the_rest() {
    let place = Place::new();
    place.write("user", "claude", r#"{"command": "user", "model": ["--user", "${model}"]}"#);
    place.write("project", "claude", r#"{"command": "project"}"#);
    let loaded = place.loader().load("claude", None).unwrap();
    assert_eq!(command(&loaded), "project");
    assert_eq!(loaded.config.model, ["--user", "${model}"]);
    assert_eq!(loaded.config.metadata.display_name.as_deref(), Some("Claude Code"));
    let layers: Vec<AdapterLayer> = loaded.origins.iter().map(|origin| origin.layer).collect();
    assert_eq!(layers, [AdapterLayer::BuiltIn, AdapterLayer::User, AdapterLayer::Project]);
}

/// Spec: AD.4.1
#[test]
fn a_file_named_explicitly_counts_over_every_layer() {
    let place = Place::new();
    place.write("user", "claude", r#"{"command": "user"}"#);
    place.write("project", "claude", r#"{"command": "project"}"#);
    let explicit = place.write("elsewhere", "x", r#"{"command": "explicit"}"#);
    let loaded = place.loader().load("claude", Some(&explicit)).unwrap();
    assert_eq!(command(&loaded), "explicit");
    assert_eq!(loaded.origins.last().unwrap().layer, AdapterLayer::Explicit);
    let missing = Path::new("/no/such/file.json");
    let error = place.loader().load("claude", Some(missing)).unwrap_err();
    assert!(error.to_string().starts_with("the adapter file /no/such/file.json cannot be read"));
}

#[test]
fn a_file_named_explicitly_must_be_right() {
    let place = Place::new();
    let explicit = place.write("elsewhere", "x", r#"{"comand": "explicit"}"#);
    let error = place.loader().load("claude", Some(&explicit)).unwrap_err();
    assert!(matches!(error, LoadError::Broken { .. }), "{error}");
    assert!(error.to_string().contains("did you mean `command`?"), "{error}");
}

/// Spec: AD.4.2
#[test]
fn without_files_the_built_in_ones_are_used_wherever_the_binary_lies() {
    let nowhere = AdapterFolders {
        user: Some("/nonexistent/user".into()),
        project: Some("/nonexistent/project".into()),
        trusted: Some(Arc::default()),
        ..AdapterFolders::default()
    };
    for files in [AdapterConfigLoader::default(), AdapterConfigLoader::new(nowhere)] {
        let loaded = files.load("gemini", None).unwrap();
        assert_eq!(standings(&loaded), [(AdapterLayer::BuiltIn, OriginStatus::Used)]);
    }
}

#[test]
fn a_broken_edit_is_reported_and_the_last_good_content_stays_in_use() {
    let place = Place::new();
    let files = place.loader();
    place.write("user", "claude", r#"{"command": "good"}"#);
    files.load("claude", None).unwrap();
    place.write("user", "claude", r#"{"command": "half writt"#);
    let loaded = files.load("claude", None).unwrap();
    assert_eq!(command(&loaded), "good");
    assert_eq!(loaded.origins[1].standing, OriginStatus::LastGood);
    assert!(loaded.reports[0].render(false).contains("a string is not closed"));
    place.write("user", "claude", r#"{"command": "mended"}"#);
    let loaded = files.load("claude", None).unwrap();
    assert_eq!((command(&loaded), loaded.reports.len()), ("mended", 0));
}

#[test]
fn a_file_that_was_never_right_does_not_count_and_the_layers_below_do() {
    let place = Place::new();
    place.write("user", "claude", "{");
    let loaded = place.loader().load("claude", None).unwrap();
    assert_eq!(command(&loaded), "claude");
    assert_eq!(loaded.origins[1].standing, OriginStatus::Broken);
    place.write("user", "mine", "{");
    let error = place.loader().load("mine", None).unwrap_err();
    assert!(error.to_string().starts_with("the adapter `mine` cannot be used:\n"), "{error}");
}

#[test]
fn an_untrusted_project_is_listed_and_changes_nothing() {
    let place = Place::untrusted();
    place.write("project", "claude", r#"{"command": "evil"}"#);
    place.write("project", "backdoor", r#"{"command": "evil", "modes": {"interactive": {}}}"#);
    let files = place.loader();
    let loaded = files.load("claude", None).unwrap();
    assert_eq!(command(&loaded), "claude");
    assert_eq!(loaded.origins[1].standing, OriginStatus::Untrusted);
    assert!(files.load("backdoor", None).is_err());
    assert!(!files.types().contains("backdoor"));
    assert!(files.load_all()["backdoor"].is_err(), "it is shown, as what cannot be used");
}

#[test]
fn what_changes_in_a_project_after_it_was_trusted_does_not_count() {
    let place = Place::new();
    place.write("project", "claude", r#"{"command": "agreed"}"#);
    let files = place.loader();
    place.write("project", "claude", r#"{"command": "evil"}"#);
    place.write("project", "backdoor", r#"{"command": "evil", "modes": {"interactive": {}}}"#);
    assert_eq!(command(&files.load("claude", None).unwrap()), "agreed");
    assert!(!files.types().contains("backdoor") && files.load("backdoor", None).is_err());
    assert!(files.load_all()["backdoor"].is_err(), "it is shown, as what cannot be used");
    fs::remove_file(place.path("project", "claude")).unwrap();
    assert_eq!(command(&files.load("claude", None).unwrap()), "agreed");
}

#[test]
fn a_trusted_adapter_runs_the_copies_of_the_files_that_it_names() {
    let place = Place::new();
    let text = r#"{"command": "project/mine/run.sh", "modes": {"headless": {"baseArgs": ["./project/mine/lib.sh", "other/file", "--flag"]}}}"#;
    let config = place.write("project", "mine", text);
    for name in ["run.sh", "lib.sh"] {
        fs::write(config.with_file_name(name), "").unwrap();
    }
    let loaded = place.loader().load("mine", None).unwrap();
    assert_eq!(command(&loaded), "/copy/project/mine/run.sh");
    let args = &loaded.config.modes.get(AgentMode::Headless).unwrap().base_args;
    assert_eq!(args.as_slice(), ["/copy/project/mine/lib.sh", "other/file", "--flag"]);
}

#[test]
fn files_with_which_no_run_can_work_are_a_fault_of_the_type() {
    let place = Place::new();
    let codes = |kind: &str| -> Vec<(AgentMode, &'static str)> {
        let able = place.loader().abilities(kind).unwrap();
        able.faults.iter().map(|(mode, fault)| (*mode, fault.code)).collect()
    };
    assert_eq!(codes("claude"), []);
    place.write("user", "claude", r#"{"modes": {"headless": {"baseArgs": ["-p"]}}}"#);
    assert_eq!(codes("claude"), [(AgentMode::Headless, "lost-arguments")]);
    // A stronger layer may say how its output is read.
    place.write("project", "claude", r#"{"modes": {"headless": {"transcript": "text"}}}"#);
    assert_eq!(codes("claude"), []);
    // One that replaces the arguments once more loses them too.
    place.write("project", "claude", r#"{"modes": {"headless": {"baseArgs": ["--print"]}}}"#);
    assert_eq!(codes("claude"), [(AgentMode::Headless, "lost-arguments")]);
    place.write("user", "mine", "{");
    let both = [(AgentMode::Interactive, "bad-adapter"), (AgentMode::Headless, "bad-adapter")];
    let mut found = codes("mine");
    found.sort_by_key(|(mode, _)| *mode != AgentMode::Interactive);
    assert_eq!(found, both);
    assert!(place.loader().abilities("none").is_none());
}

#[test]
fn a_broken_file_of_an_untrusted_project_is_not_even_read() {
    let place = Place::untrusted();
    place.write("project", "claude", "{");
    let loaded = place.loader().load("claude", None).unwrap();
    assert!(loaded.reports.is_empty());
}

#[test]
fn whatever_stands_in_the_place_of_a_file_is_an_error_and_no_hang() {
    let place = Place::new();
    let path = place.path("user", "claude");
    fs::create_dir_all(&path).unwrap();
    let error = place.loader().load("claude", None).unwrap_err();
    assert!(error.to_string().ends_with("cannot be read: it is no regular file"), "{error}");
    fs::remove_dir(&path).unwrap();

    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let error = place.loader().load("claude", None).unwrap_err();
    assert!(error.to_string().ends_with("it is no regular file"), "a pipe: {error}");
    fs::remove_file(&path).unwrap();

    fs::File::create(&path).unwrap().set_len(5 << 20).unwrap();
    let error = place.loader().load("claude", None).unwrap_err();
    assert!(error.to_string().ends_with("it has 5242880 bytes; 4194304 is the limit"), "{error}");
    fs::remove_file(&path).unwrap();

    symlink("/dev/zero", &path).unwrap();
    let error = place.loader().load("claude", None).unwrap_err();
    assert!(error.to_string().ends_with("it is no regular file"), "a device: {error}");
}

#[test]
fn a_file_that_may_not_be_read_is_an_error_that_names_it() {
    coven_testkit::nobody::without_root(|| {
        let place = Place::new();
        let path = place.write("user", "claude", "{}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        let error = place.loader().load("claude", None).unwrap_err();
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    });
}

#[test]
fn a_link_to_a_file_is_as_good_as_the_file() {
    let place = Place::new();
    let target = place.write("elsewhere", "x", r#"{"command": "linked"}"#);
    let path = place.path("user", "claude");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(target, path).unwrap();
    assert_eq!(command(&place.loader().load("claude", None).unwrap()), "linked");
}

#[test]
fn a_file_that_is_no_text_is_reported_like_any_broken_one() {
    let place = Place::new();
    let path = place.write("user", "claude", "");
    fs::write(&path, b"\xff\xfe\x00{").unwrap();
    let loaded = place.loader().load("claude", None).unwrap();
    assert_eq!(loaded.origins[1].standing, OriginStatus::Broken);
    assert_eq!(loaded.reports.len(), 1);
}

#[test]
fn files_that_are_right_alone_and_wrong_together_are_told_as_that() {
    let place = Place::new();
    // Takes away what a rule cannot do without.
    place.write(
        "user",
        "claude",
        r#"{"states": {"error_api": {"pattern": null, "kind": "idle"}}}"#,
    );
    let loaded = place.loader().load("claude", None);
    let told = match loaded {
        Ok(loaded) => loaded.reports[0].render(false),
        Err(error) => error.to_string(),
    };
    assert!(told.contains("pattern"), "{told}");
}

#[test]
fn folders_that_cannot_be_types_are_not_listed() {
    let place = Place::new();
    for name in ["Upper", "-dash", "with space", ".hidden"] {
        place.write("user", name, "{}");
    }
    fs::create_dir_all(place.folder.path().join("user/empty")).unwrap();
    let expected: BTreeSet<String> = builtin::types().map(str::to_owned).collect();
    assert_eq!(place.loader().types(), expected);
}
