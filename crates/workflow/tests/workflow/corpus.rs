//! Broken definitions, one file each, and the message that a person sees for it.
//!
//! A new way to be wrong is a new file in `tests/corpus`; its message is written beside it by
//! `INSTA_UPDATE=always cargo test -p coven-workflow corpus`, and then read.

use std::path::{Path, PathBuf};

use coven_notation::{ProblemReport, SourceFile};
use coven_workflow::check::{CheckEnvironment, check};

fn known() -> CheckEnvironment {
    CheckEnvironment::new([
        "aider", "claude", "codex", "copilot", "demo", "gemini", "opencode", "qwen", "shell",
    ])
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending != "snap"))
        .collect();
    files.sort();
    files
}

/// What a person sees, and what a program does: the codes.
fn message(path: &Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let source = SourceFile::from_bytes(name, std::fs::read(path).unwrap()).unwrap();
    let checked = check(&source, &known());
    let report = ProblemReport::new(source, checked.problems);
    assert!(report.has_errors() && checked.plan.is_none(), "{} is accepted", path.display());
    for problem in &report.problems {
        assert!(!problem.message.is_empty());
    }
    report.render(false)
}

fn check_folder(folder: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(format!("../corpus/{folder}"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for path in files(folder) {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            insta::assert_snapshot!(name, message(&path));
        }
    });
}

#[test]
fn every_broken_grimoire_is_told_what_is_wrong_with_it() {
    check_folder("grimoires");
}

#[test]
fn every_broken_workflow_is_told_what_is_wrong_with_it() {
    check_folder("workflows");
}

#[test]
fn there_are_enough_of_them() {
    assert!(files("grimoires").len() + files("workflows").len() >= 60);
}
