//! A job that prepares the folders of the jobs after it: nothing there leads them or us elsewhere.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use coven_model::{SessionView, WorkflowStatus};

use crate::support::{Base, end};

const CONTENT: &str = "alias ls='ls --color'\n";

/// The workflow: one job that prepares the folders of the others, a script and two agents.
const PLANTED: &str = "
name: planted
description: The first step prepares the folders of the others.
steps:
  - {name: plant, type: script, command: 'sh \"$PLANT\"'}
  - {name: script, type: script, command: 'cat \"$COVEN_VARS\"', output: shown}
  - {name: agent, type: agent, mode: headless, permissions: all, prompt: say hello, output: said}
  - {name: typed, type: agent, mode: interactive, permissions: all, prompt: say hello; exit 0}
";

/// Where a file that is not ours lies, for each base directory.
fn victim(base: &Base) -> PathBuf {
    base.path().join("victim")
}

/// Runs a definition whose first step runs this script, with a file that is not ours and a folder
/// that is not ours beside it.
async fn run_planted(definition: &str, script: &str) -> (Base, SessionView) {
    let base = Base::new();
    fs::write(victim(&base), CONTENT).unwrap();
    fs::set_permissions(victim(&base), fs::Permissions::from_mode(0o644)).unwrap();
    fs::create_dir(base.path().join("elsewhere")).unwrap();
    fs::write(base.path().join("plant.sh"), script).unwrap();
    let orchestrator = base.open().await;
    let mut new = base.definition(definition);
    new.env.insert("PLANT".into(), base.path().join("plant.sh").into());
    new.env.insert("VICTIM".into(), victim(&base).into());
    new.env.insert("ELSEWHERE".into(), base.path().join("elsewhere").into());
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let view = end(&orchestrator, &id).await;
    orchestrator.close().await;
    (base, view)
}

/// What was done to the file that is not ours.
fn damage(base: &Base) -> Option<String> {
    let mode = fs::metadata(victim(base)).unwrap().permissions().mode() & 0o777;
    let now = String::from_utf8_lossy(&fs::read(victim(base)).unwrap()).into_owned();
    (mode != 0o644 || now != CONTENT).then(|| format!("mode {mode:o}, {now:?}"))
}

/// A script that puts a link with each of these names into the folders of all later jobs.
fn plant(options: &str, names: &[&str]) -> String {
    format!(
        "for task in script agent typed; do
            folder=../state/jobs/$COVEN_SESSION/$task/1
            mkdir -p \"$folder\" || exit 1
            for name in {}; do ln {options} \"$VICTIM\" \"$folder/$name\" || exit 1; done
        done",
        names.join(" ")
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_run_as_ever_and_write_through_no_link_in_their_folders() {
    let names = [
        "variables.json",
        "variables.json.new",
        "conversation.json",
        "conversation.json.new",
        "exit.json",
        "exit.json.new",
        "spawn.json.new",
        "outcome.json.new",
        "screen.snap",
        "screen.snap.new",
        "prompt.md",
        "room",
        "room.new",
        "out.00000000000000000000",
        "out.00000000000000000000.side",
    ];
    let mut found = Vec::new();
    for options in ["-s", ""] {
        for name in names {
            let (base, view) = run_planted(PLANTED, &plant(options, &[name])).await;
            found.extend(damage(&base).map(|damage| format!("ln {options} {name}: {damage}")));
            assert_eq!(view.status, WorkflowStatus::Completed, "{name}: {:#?}", view.errors);
            assert_eq!(view.variables["shown"].as_str().unwrap().chars().next(), Some('{'));
        }
    }
    assert_eq!(found, [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_cannot_start_for_a_link_in_their_folders_write_nothing_through_it() {
    let index = "out.00000000000000000000.idx";
    for options in ["-s", ""] {
        for name in ["spawn.json", "killed", "claim", "sock", "outcome.json", index] {
            let (base, _) = run_planted(PLANTED, &plant(options, &[name])).await;
            assert_eq!(damage(&base), None, "ln {options} {name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confined_job_writes_nothing_where_a_link_in_its_folder_led() {
    let definition = "
name: confined
description: The first step prepares the folder of the other.
steps:
  - {name: plant, type: script, command: 'sh \"$PLANT\"'}
  - {name: agent, type: agent, mode: headless, sandbox: read-only, prompt: 'disobey echo made > \"$TMPDIR/made\"; say done'}
";
    let script = "folder=../state/jobs/$COVEN_SESSION/agent/1
        mkdir -p \"$folder\" && ln -s \"$ELSEWHERE\" \"$folder/scratch\"";
    let (base, view) = run_planted(definition, script).await;
    let written = fs::read_dir(base.path().join("elsewhere")).unwrap().count();
    assert_eq!(written, 0, "it was allowed to write where the link leads");
    assert_eq!(view.status, WorkflowStatus::Failed, "a job does not start with the link");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_task_folder_is_a_link_does_not_start() {
    let script = "ln -s \"$ELSEWHERE\" ../state/jobs/$COVEN_SESSION/script";
    let (base, view) = run_planted(PLANTED, script).await;
    assert_eq!(fs::read_dir(base.path().join("elsewhere")).unwrap().count(), 0);
    assert_eq!(view.status, WorkflowStatus::Failed);
}
