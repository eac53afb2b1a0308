//! The scripts of the shipped grimoires, run by a real shell in a real repository.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use coven_workflow::VariableScope;
use coven_workflow::catalogue::{CataloguePaths, GrimoireCatalogue};
use coven_workflow::plan::{StepAction, WorkflowPlan};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::known;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs one script step of a shipped grimoire.
    fn step(&self, grimoire: &str, step: &str, variables: Value) -> Output {
        let catalogue = GrimoireCatalogue::load(&CataloguePaths::default(), &known());
        let plan: &WorkflowPlan = catalogue.plan(grimoire).unwrap();
        let step = plan.steps.iter().find(|one| one.name == step).unwrap();
        let script = match &step.action {
            StepAction::Script { script, .. } | StepAction::Gate { script: Some(script), .. } => {
                script
            }
            other => panic!("no script but {}", other.kind()),
        };
        let Value::Object(variables) = variables else { panic!("variables have names") };
        let scope = VariableScope::new(variables);
        let prepared = script.command.prepare(&scope).unwrap();
        let mut path = self.path().join("bin").display().to_string();
        if !self.path().join("bin/only").exists() {
            path = format!("{path}:{}", std::env::var("PATH").unwrap());
        }
        Command::new("bash")
            .args(["-euo", "pipefail", "-c", &prepared.text])
            .envs(prepared.env)
            .env("PATH", path)
            .current_dir(self.path())
            .output()
            .unwrap()
    }

    fn ok(&self, grimoire: &str, step: &str, variables: Value) -> String {
        let output = self.step(grimoire, step, variables);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{grimoire}/{step}: {out}{err}");
        out.trim_end().to_owned()
    }

    fn fails(&self, grimoire: &str, step: &str, variables: Value) -> String {
        let output = self.step(grimoire, step, variables);
        assert!(!output.status.success(), "{grimoire}/{step} succeeded");
        text(&output.stderr).trim_end().to_owned()
    }

    fn git(&self, arguments: &[&str]) {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=T",
                "-c",
                "user.email=t@example.com",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(arguments)
            .current_dir(self.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", text(&output.stderr));
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap()
    }

    fn write(&self, file: &str, content: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn beads() -> Value {
    json!([
        {"id": "add-form", "title": "Add the form", "body": "Do it.\n\nAcceptance:\n- it $(touch x) is there", "depends_on": ["add-table"]},
        {"id": "add-table", "title": "Add `touch x` the\ntable", "body": "'quotes' \"and\" \\n", "depends_on": []}
    ])
}

#[test]
fn beads_are_filed_chosen_in_order_claimed_and_closed_as_files() {
    let folder = Folder::new();
    folder.write("spec.md", "Build it.");
    let tracker = folder.ok("spec-to-beads", "find-tracker", json!({"input": {"spec": "spec.md"}}));
    assert_eq!(tracker, "files");
    let missing = folder.fails("spec-to-beads", "find-tracker", json!({"input": {"spec": "-n"}}));
    assert_eq!(missing, "there is no spec at this path, or it is empty");
    let filed = folder.ok("spec-to-beads", "file", json!({"beads": beads(), "tracker": "files"}));
    assert_eq!(filed, "add-form Add the form\nadd-table Add `touch x` the table");
    insta::assert_snapshot!(folder.read(".coven/beads/add-form.md"), @"
    ---
    id: add-form
    title: Add the form
    status: open
    depends_on: add-table
    ---
    Do it.

    Acceptance:
    - it $(touch x) is there
    ");
    assert!(folder.read(".coven/beads/add-table.md").contains("'quotes' \"and\" \\n"));
    assert!(!folder.path().join("x").exists(), "nothing in a bead is executed");

    let choose =
        |bead: &str| folder.ok("implement-bead", "choose", json!({"input": {"bead": bead}}));
    assert_eq!(choose(""), "add-table", "the form depends on it");
    assert_eq!(choose("add-form"), "add-form", "unless it is asked for");
    let claimed = folder.ok("implement-bead", "claim", json!({"bead": "add-table"}));
    assert!(claimed.contains("status: in_progress"));
    folder.ok("implement-bead", "close", json!({"bead": "add-table"}));
    assert!(folder.read(".coven/beads/add-table.md").contains("status: closed"));
    assert_eq!(choose(""), "add-form");
    folder.ok("implement-bead", "close", json!({"bead": "add-form"}));
    let input = |bead: &str| json!({"input": {"bead": bead}});
    assert_eq!(
        folder.fails("implement-bead", "choose", input("")),
        "no bead is ready in .coven/beads"
    );
    assert_eq!(
        folder.fails("implement-bead", "choose", input("../../x")),
        "this is no bead's id: ../../x"
    );
    assert_eq!(folder.fails("implement-bead", "choose", input("zebra")), "there is no bead zebra");
}

#[test]
fn a_bead_whose_id_would_leave_its_folder_is_refused() {
    let folder = Folder::new();
    for id in ["../x", "a b", "-rf", "A"] {
        let beads = json!([{"id": id, "title": "t", "body": "b", "depends_on": []}]);
        let error =
            folder.fails("spec-to-beads", "file", json!({"beads": beads, "tracker": "files"}));
        assert!(error.ends_with(id), "{error}");
    }
    let none = folder.fails("spec-to-beads", "file", json!({"beads": [], "tracker": "files"}));
    assert_eq!(none, "no bead was filed");
}

#[cfg(unix)]
#[test]
fn one_of_three_programs_is_enough_to_read_json() {
    // Not by PATH: what stands in for a program there may need another one to find it.
    let folders = ["/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin"];
    let find = |name: &str| {
        folders.iter().map(|folder| Path::new(folder).join(name)).find(|file| file.exists())
    };
    for reader in ["jq", "python3", "node"] {
        let Some(program) = find(reader) else { continue };
        let folder = Folder::new();
        folder.write("bin/only", "");
        for tool in ["bash", "mktemp", "mkdir", "sed", "head", "tr", "awk", "rm", "cat"] {
            let place = folder.path().join("bin").join(tool);
            std::os::unix::fs::symlink(find(tool).unwrap(), place).unwrap();
        }
        let none =
            folder.fails("spec-to-beads", "file", json!({"beads": beads(), "tracker": "files"}));
        assert!(none.starts_with("reading JSON needs jq, python3 or node"), "{none}");
        std::os::unix::fs::symlink(program, folder.path().join("bin").join(reader)).unwrap();
        let filed =
            folder.ok("spec-to-beads", "file", json!({"beads": beads(), "tracker": "files"}));
        assert_eq!(filed, "add-form Add the form\nadd-table Add `touch x` the table", "{reader}");
        assert!(folder.read(".coven/beads/add-form.md").contains("depends_on: add-table\n"));
        assert!(folder.read(".coven/beads/add-table.md").ends_with("'quotes' \"and\" \\n\n"));
    }
}

/// A stand-in that remembers how it was called.
const BD: &str = r#"#!/bin/sh
printf '%s|' "$@" >> bd.log
echo >> bd.log
case $1 in
  create) echo "{\"id\": \"bd-$(grep -c '^create' bd.log)\", \"title\": \"x\"}" ;;
  ready) echo '[{"id": "bd-7", "title": "y"}]' ;;
  show) echo "bead $2" ;;
esac
"#;

#[cfg(unix)]
#[test]
fn beads_go_through_bd_where_it_is_installed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("spec.md", "Build it.");
    folder.write("bin/bd", BD);
    fs::set_permissions(folder.path().join("bin/bd"), fs::Permissions::from_mode(0o755)).unwrap();
    let input = json!({"input": {"spec": "spec.md", "bead": ""}});
    assert_eq!(
        folder.ok("spec-to-beads", "find-tracker", input.clone()),
        "files",
        "not set up here"
    );
    fs::create_dir(folder.path().join(".beads")).unwrap();
    assert_eq!(folder.ok("spec-to-beads", "find-tracker", input.clone()), "bd");
    let filed = folder.ok("spec-to-beads", "file", json!({"beads": beads(), "tracker": "bd"}));
    assert_eq!(filed, "bd-1 Add the form\nbd-2 Add `touch x` the table");
    assert_eq!(folder.ok("implement-bead", "choose", input), "bd-7");
    assert_eq!(folder.ok("implement-bead", "claim", json!({"bead": "bd-7"})), "bead bd-7");
    folder.ok("implement-bead", "close", json!({"bead": "bd-7"}));
    let calls = folder.read("bd.log");
    assert!(calls.contains("create|Add the form|--description|Do it."), "{calls}");
    assert!(calls.contains("dep|add|bd-1|bd-2|"), "{calls}");
    assert!(calls.contains("update|bd-7|--status|in_progress|"), "{calls}");
    assert!(calls.contains("close|bd-7|"), "{calls}");
    assert!(!folder.path().join("x").exists());
}

#[test]
fn a_branch_is_compared_with_what_it_grew_from() {
    let folder = Folder::new();
    folder.git(&["init", "-q"]);
    folder.write("a.txt", "a\n");
    folder.git(&["add", "."]);
    folder.git(&["commit", "-qm", "First"]);
    let no_base = json!({"input": {"base": ""}});
    assert_eq!(
        folder.fails("prepare-pr", "find-base", no_base.clone()),
        "this is main itself; make a branch first"
    );
    folder.git(&["checkout", "-qb", "feature"]);
    let base = folder.ok("review-loop", "find-base", no_base.clone());
    assert_eq!(folder.ok("review-loop", "changes", json!({"base": base})), "");
    let summary = folder.ok("review-loop", "summary", json!({"base": base, "changes": ""}));
    assert!(summary.starts_with("nothing has changed since "));
    folder.write("a.txt", "b\n");
    folder.write("new.txt", "new\n");
    let changes = folder.ok("review-loop", "changes", json!({"base": base}));
    assert!(changes.contains("a.txt") && changes.contains("new.txt"), "{changes}");
    assert!(
        folder
            .fails("review-loop", "find-base", json!({"input": {"base": "--help"}}))
            .contains("--help")
    );

    assert_eq!(folder.ok("prepare-pr", "find-base", no_base), "main");
    folder.fails("prepare-pr", "clean", json!({}));
    folder.git(&["commit", "-qam", "Second"]);
    folder.ok("prepare-pr", "clean", json!({}));
    let commits = folder.ok("prepare-pr", "commits", json!({"base": "main"}));
    assert!(commits.contains("Second") && !commits.contains("First"));
    folder.ok("prepare-pr", "something-to-merge", json!({"commits": commits}));
    folder.fails("prepare-pr", "something-to-merge", json!({"commits": ""}));
    let request = json!({"request": {"title": "It's $(touch x)", "body": "Line\n`touch x`"}});
    folder.ok("prepare-pr", "write", request);
    assert_eq!(folder.read(".coven/pull-request.md"), "# It's $(touch x)\n\nLine\n`touch x`\n");
    assert!(!folder.path().join("x").exists());
}

#[test]
fn checks_are_found_by_what_lies_there_and_really_run() {
    let folder = Folder::new();
    let find = || folder.ok("implement-bead", "find-checks", json!({"input": {"checks": ""}}));
    assert_eq!(find(), "true");
    folder.write("Makefile", "test:\n\techo tested > made\n");
    assert_eq!(find(), "make test");
    folder.write("package.json", r#"{"scripts": {"test": "jest"}}"#);
    assert_eq!(find(), "npm test");
    folder.write("Cargo.toml", "");
    assert_eq!(find(), "cargo test");
    let given =
        folder.ok("implement-bead", "find-checks", json!({"input": {"checks": "echo a; exit 3"}}));
    assert_eq!(given, "echo a; exit 3");
    folder.ok("implement-bead", "checks", json!({"checks": "touch done && test -f done"}));
    assert_eq!(
        folder.step("implement-bead", "checks", json!({"checks": given})).status.code(),
        Some(3)
    );
    folder.ok("prepare-pr", "checks", json!({"input": {"checks": "true"}}));
}

#[test]
fn the_demo_needs_nothing_but_a_shell() {
    let folder = Folder::new();
    let made = folder.ok("demo", "prepare", json!({}));
    assert!(Path::new(&made).join("verdict-2.txt").exists());
    let there = json!({"folder": made});
    folder.fails("demo", "complete", there.clone());
    assert_eq!(folder.ok("demo", "show", there.clone()), "No greeting this time.");
    fs::write(Path::new(&made).join("greeting.txt"), "Hello.\n").unwrap();
    folder.ok("demo", "complete", there.clone());
    assert_eq!(folder.ok("demo", "show", there.clone()), "Hello.");
    folder.ok("demo", "tidy", there);
    assert!(!Path::new(&made).exists());
}
