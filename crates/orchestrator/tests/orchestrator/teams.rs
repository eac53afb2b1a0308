//! The built-in workflows that people use daily, end to end in a real git repository, with the demo
//! agent. `cargo xtask real-agents` runs the same with the real CLIs.

use std::path::Path;

use coven_model::event::{LoopVerdict, SessionEvent};
use coven_model::{SessionId, WorkflowStatus};
use coven_orchestrator::{NewSession, Orchestrator, PublishedEvent};
use coven_testkit::git::git;
use serde_json::json;

use crate::support::{Base, end, nothing_left};

/// A repository with one commit on its main branch, and a folder beside it for what only the test
/// needs: an arbiter of the demo agent says what the file `verdict` there says.
struct Project {
    base: Base,
    beside: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { base: Base::new(), beside: tempfile::tempdir().unwrap() };
        git(project.path(), &["init", "-q", "-b", "main"]);
        project.write("greeting.txt", "Hello.\n");
        git(project.path(), &["add", "greeting.txt"]);
        git(project.path(), &["commit", "-q", "-m", "Greet"]);
        project.verdict("verdict", "actionable", "it should be louder");
        project.verdict("content", "done", "it is loud enough");
        let adapter = project.beside.path().join("config/adapters/demo");
        std::fs::create_dir_all(&adapter).unwrap();
        let script = project.beside.path().join("verdict");
        let arguments = json!(["--permissions", "read-only", "--script", script]);
        let config = json!({"schemaVersion": 1, "permissions": {"read-only": arguments}});
        std::fs::write(adapter.join("config.json"), config.to_string()).unwrap();
        project
    }

    fn path(&self) -> &Path {
        self.base.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    fn verdict(&self, file: &str, verdict: &str, reason: &str) {
        let answer = json!({"verdict": verdict, "reason": reason});
        std::fs::write(self.beside.path().join(file), format!("json {answer}\n")).unwrap();
    }

    /// What an agent does so that the arbiter is content from the second round on.
    fn second_round(&self) -> String {
        let beside = self.beside.path().display();
        format!(
            "disobey if test -e {beside}/once\\; then cp {beside}/content {beside}/verdict\\; else touch {beside}/once\\; fi"
        )
    }

    async fn open(&self) -> Orchestrator {
        let mut options = self.base.options();
        options.config_dir = Some(self.beside.path().join("config"));
        Orchestrator::open(options).await.unwrap()
    }

    fn session(&self, grimoire: &str, input: &serde_json::Value) -> NewSession {
        let mut new = self.base.grimoire(grimoire);
        // Nothing that is installed on this machine may change what is shown.
        new.env.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        new.env.insert("COVEN_DEMO_HOME".into(), self.beside.path().join("demo-state").into());
        new.env.insert("GIT_CONFIG_GLOBAL".into(), "/dev/null".into());
        new.input.clone_from(input.as_object().unwrap());
        new
    }
}

/// The verdicts of a session's arbiters, in order.
async fn verdicts(orchestrator: &Orchestrator, id: &SessionId) -> Vec<(LoopVerdict, String)> {
    let mut events = orchestrator.subscribe(id, 0).await.unwrap();
    let mut verdicts = Vec::new();
    loop {
        let envelope = events.next().await.unwrap().unwrap();
        let PublishedEvent::Fact { event, .. } = &envelope.what else { continue };
        match &**event {
            SessionEvent::LoopJudged { verdict, reason, .. } => {
                verdicts.push((*verdict, reason.clone()));
            }
            SessionEvent::WorkflowCompleted { .. } => return verdicts,
            _ => {}
        }
    }
}

/// Spec: GR.4.1, GR.2.1, GR.2.2, GR.6.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_review_loop_mends_a_branch_until_its_arbiter_is_content() {
    let project = Project::new();
    git(project.path(), &["checkout", "-q", "-b", "louder"]);
    project.write("greeting.txt", "Hello!\n");
    git(project.path(), &["commit", "-q", "-a", "-m", "Louder"]);
    let commit = git(project.path(), &["rev-parse", "HEAD"]);
    let orchestrator = project.open().await;
    let focus = format!(
        "loudness\n{}\ndisobey echo mended >> greeting.txt\nsay greeting.txt: too quiet, mended",
        project.second_round()
    );
    let new = project.session("review-loop", &json!({"base": "main", "focus": focus}));
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(
        verdicts(&orchestrator, &id).await,
        [
            (LoopVerdict::Actionable, "it should be louder".to_owned()),
            (LoopVerdict::Done, "it is loud enough".to_owned())
        ]
    );
    assert_eq!(project.read("greeting.txt"), "Hello!\nmended\nmended\n", "once in each round");
    assert_eq!(view.variables["base"], git(project.path(), &["rev-parse", "main"]));
    let summary = view.variables["summary"].as_str().unwrap();
    assert!(summary.contains("greeting.txt"), "{summary}");
    assert_eq!(git(project.path(), &["rev-parse", "HEAD"]), commit, "nothing was committed");
    nothing_left(&id, &view);
}

/// Spec: GR.6.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_review_loop_asks_no_agent_when_nothing_has_changed() {
    let project = Project::new();
    // What we write ourselves is no change of the project.
    let orchestrator = project.open().await;
    let new = project.session("review-loop", &json!({"base": "main", "focus": "say never"}));
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let summary = view.variables["summary"].as_str().unwrap();
    assert!(summary.contains("nothing has changed"), "{summary}");
    assert!(!project.beside.path().join("demo-state").exists(), "no agent was started");
}

/// Spec: GR.2.1, GR.2.3, GR.4.1, GR.5.2, GR.6.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn implement_bead_takes_the_next_bead_from_open_to_closed() {
    let project = Project::new();
    let bead = |status: &str, needs: &str, task: &str| {
        format!("# A bead\n\nstatus: {status}\ndepends_on: {needs}\n\n{task}\n")
    };
    project
        .write(".coven/beads/a-later.md", &bead("open", "b-farewell", "disobey touch wrong.txt"));
    let task =
        format!("{}\nwrite farewell.txt Goodbye.\nsay Wrote the farewell.", project.second_round());
    project.write(".coven/beads/b-farewell.md", &bead("open", "", &task));
    let commit = git(project.path(), &["rev-parse", "HEAD"]);
    let orchestrator = project.open().await;
    let checks = "echo checked >> .git/checks; test -s farewell.txt";
    let new = project.session("implement-bead", &json!({"checks": checks}));
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(view.variables["bead"], "b-farewell", "the first that is ready");
    assert_eq!(project.read("farewell.txt").trim(), "Goodbye.");
    assert!(project.read(".coven/beads/b-farewell.md").contains("status: closed"));
    assert!(project.read(".coven/beads/a-later.md").contains("status: open"));
    assert!(!project.path().join("wrong.txt").exists());
    assert_eq!(project.read(".git/checks"), "checked\nchecked\n", "before and after the review");
    // The agent that implements it is the first that runs the task, so the first review is the
    // second time.
    let reasons: Vec<_> = verdicts(&orchestrator, &id).await;
    assert_eq!(reasons, [(LoopVerdict::Done, "it is loud enough".to_owned())]);
    assert_eq!(git(project.path(), &["rev-parse", "HEAD"]), commit, "nothing was committed");
    nothing_left(&id, &view);

    let new = project.session("implement-bead", &json!({"checks": "true"}));
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.variables["bead"], "a-later", "what it needed is closed now");
    assert!(project.path().join("wrong.txt").exists());
}

/// Spec: GR.2.3, GR.6.4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn implement_bead_blocks_when_its_checks_fail_and_closes_nothing() {
    let project = Project::new();
    project.write(".coven/beads/one.md", "status: open\n\nsay I did nothing.\n");
    let orchestrator = project.open().await;
    let new = project.session("implement-bead", &json!({"bead": "one", "checks": "false"}));
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = crate::support::intervention(&mut events).await;
    assert!(asked.reason.contains("checks"), "{}", asked.reason);
    crate::support::decide(&orchestrator, &asked, coven_model::InterventionChoice::Abort).await;
    let view = end(&orchestrator, &id).await;
    assert_ne!(view.status, WorkflowStatus::Completed);
    assert!(project.read(".coven/beads/one.md").contains("status: in_progress"));
    nothing_left(&id, &view);
}
