//! Layers of grimoires on a real disk.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use coven_notation::TrustedFiles;
use coven_testkit::files::files_below;
use coven_workflow::catalogue::{CataloguePaths, EntryStatus, GrimoireCatalogue, GrimoireLayer};
use tempfile::TempDir;

use crate::known;

fn write(folder: &Path, file: &str, name: &str, description: &str) {
    let text = format!(
        "name: {name}\ndescription: {description}\nsteps:\n  - {{name: a, type: script, command: date}}\n"
    );
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(file), text).unwrap();
}

struct Disk {
    root: TempDir,
    places: CataloguePaths,
    /// Whether the user agrees to what is in the project whenever it is looked at.
    trusted: bool,
}

impl Disk {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let places = CataloguePaths {
            user: Some(root.path().join("user")),
            project: Some(root.path().join("project/.coven/grimoires")),
            trusted: None,
        };
        Self { root, places, trusted: true }
    }

    fn user(&self) -> &Path {
        self.places.user.as_ref().unwrap()
    }

    fn project(&self) -> &Path {
        self.places.project.as_ref().unwrap()
    }

    fn load(&self) -> GrimoireCatalogue {
        let base = self.root.path().join("project");
        let agreed = || Arc::new(TrustedFiles::new(&base, "/copy", files_below(&base)));
        let places = CataloguePaths { trusted: self.trusted.then(agreed), ..self.places.clone() };
        GrimoireCatalogue::load(&places, &known())
    }
}

/// One line for each entry of a name: its layer, its standing, the codes of its problems.
fn about(catalogue: &GrimoireCatalogue, name: &str) -> Vec<String> {
    let entries = catalogue.entries().filter(|entry| entry.name == name);
    let line = |entry: &coven_workflow::catalogue::CatalogueEntry| {
        let codes: Vec<&str> = entry.problems.iter().map(|problem| problem.code).collect();
        format!("{} {:?} {codes:?}", entry.layer, entry.standing)
    };
    entries.map(line).collect()
}

/// Spec: GR.1.2
#[test]
fn a_file_in_a_trusted_project_adds_a_grimoire_or_replaces_one_of_the_same_name() {
    let disk = Disk::new();
    write(disk.project(), "own.yaml", "own", "Ours.");
    write(disk.user(), "review.yaml", "review-loop", "The user's.");
    write(disk.project(), "review.yml", "review-loop", "The project's.");
    let catalogue = disk.load();
    assert_eq!(catalogue.plan("own").unwrap().description, "Ours.");
    assert_eq!(catalogue.plan("review-loop").unwrap().description, "The project's.");
    assert_eq!(
        about(&catalogue, "review-loop"),
        ["built-in Overridden(Project) []", "user Overridden(Project) []", "project Current []"]
    );
    assert!(catalogue.plan("demo").is_ok(), "the others stay");
}

#[test]
fn a_project_that_is_not_trusted_is_listed_and_changes_nothing() {
    let mut disk = Disk::new();
    disk.trusted = false;
    write(disk.project(), "own.yaml", "own", "Ours.");
    write(disk.project(), "demo.yaml", "demo", "Not what you think.");
    let catalogue = disk.load();
    let refused = catalogue.plan("own").unwrap_err().to_string();
    insta::assert_snapshot!(refused, @"the grimoire `own` comes with this project, which is not trusted; look at it with `coven grimoire show own`, then `coven trust`");
    assert_eq!(about(&catalogue, "demo"), ["built-in Current []", "project Inert []"]);
    assert_ne!(catalogue.plan("demo").unwrap().description, "Not what you think.");
    let inert = catalogue.get("own").unwrap();
    assert_eq!(inert.standing, EntryStatus::Inert);
    assert!(inert.plan.is_some() && !inert.is_usable(), "it can be looked at");
}

#[test]
fn what_is_wrong_with_one_file_never_hides_another() {
    let disk = Disk::new();
    write(disk.user(), "good.yaml", "good", "Fine.");
    fs::write(disk.user().join("broken.yaml"), "name: broken\nsteps: [\n").unwrap();
    fs::write(disk.user().join("binary.yaml"), [0xff, 0xfe, 0x00, 0x41]).unwrap();
    fs::write(disk.user().join("empty.yaml"), "").unwrap();
    fs::write(disk.user().join("notes.txt"), "no grimoire").unwrap();
    fs::write(disk.user().join(".hidden.yaml"), "x").unwrap();
    fs::create_dir(disk.user().join("folder.yaml")).unwrap();
    fs::write(
        disk.user().join("stages.json"),
        r#"{"id": "stages", "stages": [{"id": "s", "tasks": [{"id": "t", "adapter": "demo"}]}]}"#,
    )
    .unwrap();
    let catalogue = disk.load();
    assert!(catalogue.plan("good").is_ok());
    let broken: Vec<String> = catalogue
        .entries()
        .filter(|entry| entry.layer == GrimoireLayer::User && entry.plan.is_none())
        .map(|entry| format!("{}: {}", entry.name, entry.problems[0].code))
        .collect();
    assert_eq!(
        broken,
        [
            "binary: not-utf8",
            "broken: syntax",
            "empty: empty-file",
            "folder: unreadable",
            "stages: not-a-grimoire",
        ]
    );
    for entry in catalogue.entries().filter(|entry| entry.plan.is_none()) {
        assert!(entry.report().render(false).contains(&entry.name));
    }
    assert!(
        catalogue.plan("broken").unwrap_err().to_string().contains("coven grimoire check broken")
    );
}

#[test]
fn two_files_of_one_name_in_one_layer_are_both_refused_and_name_each_other() {
    let disk = Disk::new();
    write(disk.project(), "a.yaml", "twice", "One.");
    write(disk.project(), "b.yaml", "twice", "Two.");
    let catalogue = disk.load();
    assert_eq!(
        about(&catalogue, "twice"),
        ["project Current [\"duplicate-grimoire\"]", "project Current [\"duplicate-grimoire\"]"]
    );
    let first = catalogue.entries().find(|entry| entry.name == "twice").unwrap();
    assert!(first.problems[0].message.contains("b.yaml"));
    assert!(catalogue.plan("twice").is_err());
}

#[test]
fn grimoires_that_start_each_other_for_ever_are_refused() {
    let disk = Disk::new();
    fs::create_dir_all(disk.project()).unwrap();
    for (name, after) in [("one", "three"), ("two", "one"), ("three", "two"), ("four", "three")] {
        let text = format!(
            "name: {name}\ndescription: X.\ntrigger: {{event: workflow.completed, where: \"grimoire == '{after}'\"}}\n\
             steps:\n  - {{name: a, type: script, command: date}}\n"
        );
        fs::write(disk.project().join(format!("{name}.yaml")), text).unwrap();
    }
    let catalogue = disk.load();
    for name in ["one", "two", "three"] {
        assert_eq!(about(&catalogue, name), ["project Current [\"trigger-loop\"]"]);
    }
    assert!(catalogue.plan("four").is_ok(), "it only follows the circle");
    let message = &catalogue.get("one").unwrap().problems[0].message;
    assert_eq!(message, "it would be started again for ever: one → two → three → one");
}

#[test]
fn an_unknown_name_suggests_a_near_one() {
    let catalogue = Disk::new().load();
    assert_eq!(
        catalogue.plan("reviewloop").unwrap_err().to_string(),
        "there is no grimoire `reviewloop`; did you mean `review-loop`?"
    );
    assert_eq!(
        catalogue.plan("zebra").unwrap_err().to_string(),
        "there is no grimoire `zebra`; `coven grimoire ls` lists them"
    );
}

#[cfg(unix)]
#[test]
fn files_that_cannot_be_read_are_reported_and_pipes_are_not_opened() {
    use std::os::unix::fs::symlink;
    let disk = Disk::new();
    write(disk.user(), "good.yaml", "good", "Fine.");
    symlink("/nowhere/at/all.yaml", disk.user().join("gone.yaml")).unwrap();
    symlink("/dev/zero", disk.user().join("endless.yaml")).unwrap();
    symlink(disk.user().join("loop.yaml"), disk.user().join("loop.yaml")).unwrap();
    let catalogue = disk.load();
    for name in ["gone", "endless", "loop"] {
        assert_eq!(about(&catalogue, name), ["user Current [\"unreadable\"]"], "{name}");
    }
    assert!(catalogue.plan("good").is_ok());
    let _ = &disk.root;
}
