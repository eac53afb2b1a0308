//! The scripts of the shipped grimoires, run by a real shell in a real repository.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use coven_testkit::git::git;
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
            .env("COVEN_SESSION", "session")
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

    fn git(&self, line: &[&str]) {
        git(self.path(), line);
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

    let claim = |run: &str, bead: &str| folder.ok("implement-bead", "claim", files(run, bead));
    let fails = |run: &str, bead: &str| folder.fails("implement-bead", "claim", files(run, bead));
    assert_eq!(claim("one", ""), "add-table", "the form depends on it");
    assert_eq!(claim("one", ""), "add-table", "a run that asks again gets what it has");
    let bead = folder.read(".coven/beads/add-table.md");
    assert!(bead.contains("\nstatus: in_progress\nclaimed_by: coven-one\n"), "{bead}");
    assert_eq!(fails("two", ""), "no bead is ready in .coven/beads");
    assert_eq!(fails("two", "add-table"), "bead add-table is in_progress, claimed by coven-one");
    assert_eq!(claim("two", "add-form"), "add-form", "it is asked for, whatever it needs");
    let (one, two) = (held("one", "files", "add-table"), held("two", "files", "add-form"));
    assert_eq!(
        folder.fails("implement-bead", "close", held("two", "files", "add-table")),
        "bead add-table is claimed by coven-one now, so it is not closed by this run"
    );
    assert!(folder.ok("implement-bead", "read", one.clone()).contains("claimed_by: coven-one"));
    folder.ok("implement-bead", "close", one);
    assert!(folder.read(".coven/beads/add-table.md").contains("status: closed"));
    assert_eq!(
        folder.fails("implement-bead", "give-back", two),
        "an agent failed; bead add-form is open again"
    );
    let bead = folder.read(".coven/beads/add-form.md");
    assert!(bead.contains("\nstatus: open\n") && !bead.contains("claimed_by"), "{bead}");
    assert_eq!(claim("three", ""), "add-form");
    assert_eq!(fails("four", "add-table"), "bead add-table is closed, claimed by coven-one");
    assert_eq!(fails("four", "../../x"), "this is no bead's id: ../../x");
    assert_eq!(fails("four", "zebra"), "there is no bead zebra");
    assert!(!folder.path().join(".coven/beads.lock").exists());
    let filed =
        folder.fails("spec-to-beads", "file", json!({"beads": beads(), "tracker": "files"}));
    assert!(filed.contains("there is a bead add-form already, and it is in_progress"), "{filed}");
}

/// What the step `claim` of a run knows, with beads in files.
fn files(run: &str, bead: &str) -> Value {
    json!({"input": {"bead": bead}, "tracker": "files", "workflow": {"id": run}})
}

/// What the steps after `claim` know.
fn held(run: &str, tracker: &str, bead: &str) -> Value {
    json!({"bead": bead, "tracker": tracker, "workflow": {"id": run}})
}

/// Many runs claim at once, and what each gets.
fn claim_at_once(folder: &Folder, tracker: &str, runs: usize) -> Vec<Result<String, String>> {
    std::thread::scope(|scope| {
        let claim = |run: usize| {
            let run = format!("run-{run}");
            let names = json!({"input": {"bead": ""}, "tracker": tracker, "workflow": {"id": run}});
            let output = folder.step("implement-bead", "claim", names);
            let said = |bytes: &[u8]| text(bytes).trim_end().to_owned();
            if output.status.success() {
                Ok(said(&output.stdout))
            } else {
                Err(said(&output.stderr))
            }
        };
        let threads: Vec<_> = (0..runs).map(|run| scope.spawn(move || claim(run))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn runs_at_the_same_time_take_different_beads() {
    let by_files = Folder::new();
    let by_bd = Folder::new();
    coven_testkit::beads::install_bd(&by_bd.path().join("bin"));
    for id in ["a", "b", "c"] {
        by_files.write(&format!(".coven/beads/{id}.md"), "status: open\n\nDo it.\n");
        coven_testkit::beads::add_bead(by_bd.path(), id, "Do it.");
    }
    for (folder, tracker, none) in [
        (&by_files, "files", "no bead is ready in .coven/beads"),
        (&by_bd, "bd", "no bead is ready"),
    ] {
        let claims = claim_at_once(folder, tracker, 6);
        let mut taken: Vec<&str> = claims.iter().flatten().map(String::as_str).collect();
        taken.sort_unstable();
        assert_eq!(taken, ["a", "b", "c"], "{tracker}: {claims:?}");
        let others = claims.iter().filter_map(|claim| claim.as_ref().err());
        assert!(others.clone().all(|error| error == none), "{tracker}: {claims:?}");
        assert_eq!(others.count(), 3);
    }
}

#[test]
fn what_a_run_that_is_over_still_holds_is_free_again() {
    let folder = Folder::new();
    coven_testkit::beads::install_bd(&folder.path().join("bin"));
    coven_testkit::beads::add_bead(folder.path(), "bd-1", "Do it.");
    folder.write(".coven/beads/one.md", "status: open\n\nDo it.\n");
    let bd = |run: &str| json!({"input": {"bead": ""}, "tracker": "bd", "workflow": {"id": run}});
    assert_eq!(folder.ok("implement-bead", "claim", files("first", "")), "one");
    assert_eq!(folder.ok("implement-bead", "claim", bd("first")), "bd-1");
    for status in ["running", "blocked", "completed"] {
        let view = format!("{{\n  \"version\": 1,\n  \"status\": \"{status}\"\n}}\n");
        folder.write(".coven/sessions/first/session.json", &view);
        folder.fails("implement-bead", "claim", files("second", ""));
        assert_eq!(folder.fails("implement-bead", "claim", bd("second")), "no bead is ready");
    }
    let view = "{\n  \"version\": 1,\n  \"status\": \"cancelled\"\n}\n";
    folder.write(".coven/sessions/first/session.json", view);
    assert_eq!(folder.ok("implement-bead", "claim", files("second", "")), "one");
    assert_eq!(folder.ok("implement-bead", "claim", bd("second")), "bd-1");
    let gone = folder.fails("implement-bead", "close", held("first", "bd", "bd-1"));
    assert_eq!(gone, "bead bd-1 is claimed by coven-second now, so it is not closed by this run");
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

#[cfg(unix)]
#[test]
fn beads_go_through_bd_where_it_is_installed() {
    use coven_testkit::beads::{bead_field, install_bd};
    let folder = Folder::new();
    let project = folder.path();
    folder.write("spec.md", "Build it.");
    // A bead of this name in a file must not be mistaken for the tracker's.
    folder.write(".coven/beads/bd-2.md", "status: open\n");
    install_bd(&project.join("bin"));
    let input = json!({"input": {"spec": "spec.md", "bead": ""}});
    for grimoire in ["spec-to-beads", "implement-bead"] {
        assert_eq!(folder.ok(grimoire, "find-tracker", input.clone()), "files", "not set up here");
    }
    fs::create_dir(project.join(".beads")).unwrap();
    for grimoire in ["spec-to-beads", "implement-bead"] {
        assert_eq!(folder.ok(grimoire, "find-tracker", input.clone()), "bd");
    }
    let filed = folder.ok("spec-to-beads", "file", json!({"beads": beads(), "tracker": "bd"}));
    assert_eq!(filed, "bd-1 Add the form\nbd-2 Add `touch x` the table");
    assert_eq!(bead_field(project, "bd-1", "needs").trim(), "bd-2");
    assert!(bead_field(project, "bd-1", "description").ends_with("it $(touch x) is there"));

    let claim = |run: &str, bead: &str| json!({"input": {"bead": bead}, "tracker": "bd", "workflow": {"id": run}});
    assert_eq!(folder.ok("implement-bead", "claim", claim("one", "")), "bd-2");
    assert_eq!(folder.ok("implement-bead", "claim", claim("one", "")), "bd-2", "it has one");
    assert_eq!(bead_field(project, "bd-2", "assignee"), "coven-one");
    assert_eq!(folder.fails("implement-bead", "claim", claim("two", "")), "no bead is ready");
    assert_eq!(
        folder.fails("implement-bead", "claim", claim("two", "bd-2")),
        "Error claiming bd-2: issue already claimed by coven-one"
    );
    let task = folder.ok("implement-bead", "read", held("one", "bd", "bd-2"));
    assert!(task.starts_with("bd-2: Add `touch x` the table"), "{task}");
    folder.fails("implement-bead", "give-back", held("two", "bd", "bd-2"));
    assert_eq!(bead_field(project, "bd-2", "status"), "in_progress", "it is another's");
    folder.fails("implement-bead", "give-back", held("one", "bd", "bd-2"));
    assert_eq!(bead_field(project, "bd-2", "status"), "open");
    assert_eq!(bead_field(project, "bd-2", "assignee"), "");
    assert_eq!(folder.ok("implement-bead", "claim", claim("three", "bd-2")), "bd-2");
    folder.ok("implement-bead", "close", held("three", "bd", "bd-2"));
    assert_eq!(bead_field(project, "bd-2", "status"), "closed");
    assert_eq!(folder.read(".coven/beads/bd-2.md"), "status: open\n", "untouched");
    assert_eq!(folder.ok("implement-bead", "claim", claim("two", "")), "bd-1");
    assert!(!project.join("x").exists());
}

#[test]
fn a_branch_is_compared_with_what_it_grew_from() {
    let folder = Folder::new();
    folder.git(&["init", "-q"]);
    folder.write("a.txt", "a\n");
    folder.write(".coven/beads/one.md", "status: open\n");
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
    // What Coven and its trackers write is no change of the project, also where it is committed.
    folder.write(".coven/beads/one.md", "status: closed\n");
    folder.write(".coven/new.txt", "new\n");
    assert_eq!(folder.ok("review-loop", "changes", json!({"base": base})), "");
    folder.ok("prepare-pr", "clean", json!({}));
    folder.write("a.txt", "b\n");
    folder.write("new.txt", "new\n");
    let changes = folder.ok("review-loop", "changes", json!({"base": base}));
    assert!(changes.contains("a.txt") && changes.contains("new.txt"), "{changes}");
    assert!(!changes.contains(".coven"), "{changes}");
    let summary = folder.ok("review-loop", "summary", json!({"base": base, "changes": changes}));
    assert!(summary.contains("a.txt") && !summary.contains(".coven"), "{summary}");
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
