//! The built-in grimoires, run whole over the wire with the demo agent: with beads in files and in
//! a tracker that stands in for `bd`, and with a pull request to a repository beside.

use std::os::unix::fs::PermissionsExt;

use coven_api::intervention::DecideRequest;
use coven_api::workflow::{StartWorkflow, WorkflowDetails};
use coven_model::{InterventionChoice, InterventionKind, WorkflowStatus};
use coven_testkit::beads::{add_bead, bead_field, install_bd};
use coven_testkit::git::git;
use serde_json::{Value, json};

use crate::support::{Daemon, Home};

/// What an agent says that may only read: the one that plans or describes, and every arbiter.
fn readers_answer(home: &Home, answer: &Value) {
    let script = home.path().join("answer");
    std::fs::write(&script, format!("json {answer}\n")).unwrap();
    let adapter = home.config().join("adapters/demo");
    std::fs::create_dir_all(&adapter).unwrap();
    let arguments = json!(["--permissions", "read-only", "--script", script]);
    let config = json!({"schemaVersion": 1, "permissions": {"read-only": arguments}});
    std::fs::write(adapter.join("config.json"), config.to_string()).unwrap();
}

/// A built-in grimoire with its input, for the demo agent. Programs in `bin` of the home come first.
fn start(daemon: &Daemon<'_>, grimoire: &str, input: &Value) -> StartWorkflow {
    let mut start = daemon.grimoire(grimoire);
    start.input.clone_from(input.as_object().unwrap());
    start.input.insert("adapter".to_owned(), json!("demo"));
    let env = start.env.as_mut().unwrap();
    let path = format!("{}:{}", daemon.home.path().join("bin").display(), env["PATH"]);
    env.insert("PATH".to_owned(), path);
    env.insert("GIT_CONFIG_GLOBAL".to_owned(), "/dev/null".to_owned());
    start
}

async fn run(daemon: &Daemon<'_>, grimoire: &str, input: &Value) -> String {
    daemon.start(&start(daemon, grimoire, input)).await.id.to_string()
}

/// Answers what a run asks.
async fn decide(daemon: &Daemon<'_>, id: &str, choice: InterventionChoice) -> InterventionKind {
    let asked = daemon.asked(id).await.intervention;
    let request = DecideRequest::new(choice, asked.digest.clone());
    daemon.client.decide(&asked.id, &request).await.unwrap();
    asked.kind
}

fn error(run: &WorkflowDetails) -> &str {
    &run.session.errors.last().unwrap().error
}

/// Spec: GR.1.1
#[tokio::test]
async fn spec_to_beads_splits_a_spec_lets_a_person_look_and_files_the_beads() {
    let beads = json!([
        {"id": "add-form", "title": "Add the form", "body": "With a button.", "depends_on": ["add-table"]},
        {"id": "add-table", "title": "Add the table", "body": "With two columns.", "depends_on": []},
    ]);
    for tracker in ["files", "bd"] {
        let home = Home::new();
        readers_answer(&home, &beads);
        std::fs::write(home.base().join("spec.md"), "A form that fills a table.\n").unwrap();
        install_bd(&home.path().join("bin"));
        if tracker == "bd" {
            std::fs::create_dir(home.base().join(".beads")).unwrap();
        }
        let daemon = home.daemon().await;
        let id = run(&daemon, "spec-to-beads", &json!({"spec": "spec.md"})).await;
        let looked = daemon.asked(&id).await.intervention;
        assert!(looked.reason.contains("add-table"), "what is to be filed is shown: {looked:#?}");
        let kind = decide(&daemon, &id, InterventionChoice::Approve).await;
        assert_eq!(kind, InterventionKind::HumanGate);
        let done = daemon.ends(&id, WorkflowStatus::Completed).await;
        assert_eq!(done.session.variables["tracker"], tracker);
        let steps: Vec<&str> = done.plan.rows.iter().map(|row| row.status.as_str()).collect();
        assert_eq!(steps, ["completed"; 4], "{:#?}", done.plan);
        let filed = &done.session.variables["filed"];
        if tracker == "bd" {
            assert_eq!(filed, "bd-1 Add the form\nbd-2 Add the table");
            assert_eq!(bead_field(&home.base(), "bd-1", "needs").trim(), "bd-2");
            assert_eq!(bead_field(&home.base(), "bd-2", "description"), "With two columns.");
            assert!(!home.base().join(".coven/beads/add-form.md").exists());
        } else {
            assert_eq!(filed, "add-form Add the form\nadd-table Add the table");
            let form = std::fs::read_to_string(home.base().join(".coven/beads/add-form.md"));
            let form = form.unwrap();
            assert!(form.contains("status: open\ndepends_on: add-table\n"), "{form}");
        }
    }
}

/// Spec: GR.1.1
#[tokio::test]
async fn prepare_pr_checks_the_branch_describes_it_and_opens_the_request_after_asking() {
    let home = Home::new();
    let base = home.base();
    readers_answer(&home, &json!({"title": "Greet louder", "body": "Because of the wind."}));
    let bin = home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let gh = "#!/bin/sh\nprintf '%s|' \"$@\" > gh.args\necho https://example.invalid/pull/7\n";
    std::fs::write(bin.join("gh"), gh).unwrap();
    std::fs::set_permissions(bin.join("gh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let remote = home.path().join("remote.git");
    git(home.path(), &["init", "-q", "--bare", "-b", "main", "remote.git"]);
    git(&base, &["init", "-q", "-b", "main"]);
    git(&base, &["remote", "add", "origin", remote.to_str().unwrap()]);
    std::fs::write(base.join("greeting.txt"), "Hello.\n").unwrap();
    git(&base, &["add", "greeting.txt"]);
    git(&base, &["commit", "-q", "-m", "Greet"]);
    git(&base, &["push", "-q", "origin", "main"]);
    git(&base, &["checkout", "-q", "-b", "louder"]);
    std::fs::write(base.join("greeting.txt"), "Hello!\n").unwrap();
    git(&base, &["commit", "-q", "-a", "-m", "Greet louder"]);

    let daemon = home.daemon().await;
    let checks = "echo checked >> .git/checks; grep -q '!' greeting.txt";
    let only_text = run(&daemon, "prepare-pr", &json!({"checks": checks})).await;
    let done = daemon.ends(&only_text, WorkflowStatus::Completed).await;
    assert_eq!(done.session.variables["base"], "main");
    let text = std::fs::read_to_string(base.join(".coven/pull-request.md")).unwrap();
    assert_eq!(text, "# Greet louder\n\nBecause of the wind.\n");
    assert!(!base.join("gh.args").exists(), "nobody asked for it");

    let id = run(&daemon, "prepare-pr", &json!({"checks": checks, "publish": true})).await;
    let asked = daemon.asked(&id).await.intervention;
    assert!(asked.reason.contains("Because of the wind."), "{}", asked.reason);
    assert_eq!(git(&remote, &["branch", "--list", "louder"]), "", "not before a person agreed");
    assert_eq!(
        decide(&daemon, &id, InterventionChoice::Approve).await,
        InterventionKind::HumanGate
    );
    let done = daemon.ends(&id, WorkflowStatus::Completed).await;
    let url = done.session.variables["url"].as_str().unwrap();
    assert!(url.ends_with("https://example.invalid/pull/7"), "{url}");
    let given = std::fs::read_to_string(base.join("gh.args")).unwrap();
    assert_eq!(given, "pr|create|--base|main|--title|Greet louder|--body|Because of the wind.|");
    let pushed = git(&remote, &["rev-parse", "louder"]);
    assert_eq!(pushed, git(&base, &["rev-parse", "HEAD"]));
    let checked = std::fs::read_to_string(base.join(".git/checks")).unwrap();
    assert_eq!(checked, "checked\nchecked\n", "once in each run");
}

/// Puts a bead where a run finds it.
fn file_bead(home: &Home, tracker: &str, id: &str, task: &str) {
    if tracker == "bd" {
        return add_bead(&home.base(), id, task);
    }
    let folder = home.base().join(".coven/beads");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{id}.md")), format!("status: open\n\n{task}\n")).unwrap();
}

/// The status of a bead, and who has claimed it.
fn standing(home: &Home, tracker: &str, id: &str) -> (String, String) {
    if tracker == "bd" {
        let field = |field| bead_field(&home.base(), id, field);
        return (field("status"), field("assignee"));
    }
    let path = home.base().join(format!(".coven/beads/{id}.md"));
    let text = std::fs::read_to_string(path).unwrap();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim().to_owned()
    };
    (field("status:"), field("claimed_by:"))
}

/// A home whose arbiters are content, with a tracker of this kind.
fn with_tracker(tracker: &str) -> Home {
    let home = Home::new();
    readers_answer(&home, &json!({"verdict": "done", "reason": "it is fine"}));
    git(&home.base(), &["init", "-q", "-b", "main"]);
    if tracker == "bd" {
        install_bd(&home.path().join("bin"));
    }
    home
}

/// Spec: GR.1.1
#[tokio::test]
async fn two_runs_at_once_implement_two_beads_and_a_third_finds_none() {
    for tracker in ["files", "bd"] {
        let home = with_tracker(tracker);
        file_bead(&home, tracker, "a", "write a.txt Hello.\nsay Wrote a.");
        file_bead(&home, tracker, "b", "write b.txt Hello.\nsay Wrote b.");
        let daemon = home.daemon().await;
        let input = json!({"checks": "true"});
        let (first, second) = tokio::join!(
            run(&daemon, "implement-bead", &input),
            run(&daemon, "implement-bead", &input)
        );
        let mut taken = Vec::new();
        for id in [&first, &second] {
            let done = daemon.ends(id, WorkflowStatus::Completed).await;
            let bead = done.session.variables["bead"].as_str().unwrap().to_owned();
            let expected = ("closed".to_owned(), format!("coven-{id}"));
            assert_eq!(standing(&home, tracker, &bead), expected);
            assert!(home.base().join(format!("{bead}.txt")).exists());
            taken.push(bead);
        }
        taken.sort();
        assert_eq!(taken, ["a", "b"], "{tracker}");
        let third = run(&daemon, "implement-bead", &input).await;
        let failed = daemon.ends(&third, WorkflowStatus::Failed).await;
        assert!(error(&failed).contains("no bead is ready"), "{}", error(&failed));
    }
}

#[tokio::test]
async fn a_bead_is_given_back_when_its_agent_fails_and_is_free_when_its_run_is_over() {
    for tracker in ["files", "bd"] {
        let home = with_tracker(tracker);
        file_bead(&home, tracker, "hard", "fail the model is away");
        let daemon = home.daemon().await;
        let id = run(&daemon, "implement-bead", &json!({"checks": "true"})).await;
        let failed = daemon.ends(&id, WorkflowStatus::Failed).await;
        assert!(error(&failed).contains("bead hard is open again"), "{}", error(&failed));
        assert_eq!(standing(&home, tracker, "hard"), ("open".to_owned(), String::new()));

        // A person ends a run whose checks fail. It could still be retried, so the bead is its own
        // until another run asks for one.
        file_bead(&home, tracker, "hard", "say I did nothing.");
        let id = run(&daemon, "implement-bead", &json!({"checks": "test -e fine"})).await;
        let kind = decide(&daemon, &id, InterventionChoice::Abort).await;
        assert_eq!(kind, InterventionKind::FailedGate);
        daemon.ends(&id, WorkflowStatus::Failed).await;
        let held = ("in_progress".to_owned(), format!("coven-{id}"));
        assert_eq!(standing(&home, tracker, "hard"), held);
        std::fs::write(home.base().join("fine"), "").unwrap();
        let next = run(&daemon, "implement-bead", &json!({"checks": "test -e fine"})).await;
        let done = daemon.ends(&next, WorkflowStatus::Completed).await;
        assert_eq!(done.session.variables["bead"], "hard", "{tracker}");
        let closed = ("closed".to_owned(), format!("coven-{next}"));
        assert_eq!(standing(&home, tracker, "hard"), closed);
    }
}
