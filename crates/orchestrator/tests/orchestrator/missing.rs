//! An agent that is there when the run begins, not when its turn comes, and is again later.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use coven_model::{InterventionChoice, InterventionKind, WorkflowStatus};
use coven_orchestrator::Orchestrator;

use crate::support::{Base, decide, end, intervention, nothing_left};

/// Nine steps, of which the seventh needs a program that the sixth takes away.
fn nine(on_failure: &str) -> String {
    let step = |step: usize| match step {
        7 => format!(
            "  - {{name: s7, type: agent, adapter: seventh, mode: headless, prompt: go, on_failure: {on_failure}, output: said}}\n"
        ),
        6 => "  - {name: s6, type: script, command: echo 6 >> log.txt; mv seventh-agent gone}\n"
            .to_owned(),
        step => format!("  - {{name: s{step}, type: script, command: echo {step} >> log.txt}}\n"),
    };
    let steps: String = (1..=9).map(step).collect();
    format!("name: nine\ndescription: The seventh needs what is not there.\nsteps:\n{steps}")
}

/// An orchestrator that knows an agent, and where its program is.
async fn with_the_seventh(base: &Base) -> (Orchestrator, PathBuf) {
    let program = base.path().join("seventh-agent");
    let config = base.path().join("config");
    let adapter = config.join("adapters/seventh");
    std::fs::create_dir_all(&adapter).unwrap();
    let text = serde_json::json!({
        "schemaVersion": 1,
        "command": program,
        "modes": {"headless": {"baseArgs": [], "promptPosition": "last", "transcript": "text"}},
    });
    std::fs::write(adapter.join("config.json"), text.to_string()).unwrap();
    install(&program);
    let mut options = base.options();
    options.config_dir = Some(config);
    (Orchestrator::open(options).await.unwrap(), program)
}

fn install(program: &Path) {
    let text = "#!/bin/sh\necho 7 >> log.txt\necho seventh here\n";
    std::fs::write(program, text).unwrap();
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn log(base: &Base) -> Vec<String> {
    let text = std::fs::read_to_string(base.path().join("log.txt")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_failed_for_want_of_a_program_goes_on_from_there_once_it_is_installed() {
    let base = Base::new();
    let (orchestrator, program) = with_the_seventh(&base).await;
    let id = orchestrator.execute_workflow(base.definition(&nine("fail"))).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Failed);
    let said = format!("{:?}", view.errors);
    assert!(said.contains("s7") && said.contains("seventh-agent"), "{said}");
    assert_eq!(log(&base), ["1", "2", "3", "4", "5", "6"]);

    install(&program);
    orchestrator.retry(&id, "a test", "installed").await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(view.variables["said"], "seventh here");
    assert_eq!(log(&base), ["1", "2", "3", "4", "5", "6", "7", "8", "9"], "nothing twice");
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_waits_for_a_program_goes_on_from_there_once_it_is_installed() {
    let base = Base::new();
    let (orchestrator, program) = with_the_seventh(&base).await;
    let id = orchestrator.execute_workflow(base.definition(&nine("block"))).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::FailedStep);
    assert!(asked.reason.contains("seventh-agent"), "{}", asked.reason);
    assert!(asked.options.contains(&InterventionChoice::Retry), "{:?}", asked.options);

    install(&program);
    decide(&orchestrator, &asked, InterventionChoice::Retry).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(log(&base), ["1", "2", "3", "4", "5", "6", "7", "8", "9"], "nothing twice");
}
