//! Commands that people want run when something happens to a run.

use coven_model::WorkflowStatus;

use crate::support::{Home, until};

#[tokio::test]
async fn a_hook_runs_when_a_run_is_blocked_fails_or_is_done_and_knows_which() {
    let home = Home::new();
    let log = home.path().join("hooks.txt");
    let line = format!("echo \"$COVEN_STATUS $COVEN_NAME $COVEN_WORKFLOW\" >> '{}'", log.display());
    let config = format!(
        "on:\n  blocked: |\n    {line}\n  failed: |\n    {line}\n  completed: |\n    {line}\n"
    );
    std::fs::write(home.config().join("config.yaml"), config).unwrap();
    let daemon = home.daemon().await;
    let run = |command: &str| {
        daemon.definition(&format!(
            "name: x\ndescription: x\nsteps:\n  - {{name: a, type: script, command: '{command}'}}\n"
        ))
    };
    let done = daemon.start(&run("true")).await;
    daemon.ends(done.id.as_str(), WorkflowStatus::Completed).await;
    let failed = daemon.start(&run("false")).await;
    daemon.ends(failed.id.as_str(), WorkflowStatus::Failed).await;
    let gate = "name: x\ndescription: x\nsteps:\n  - {name: a, type: gate, message: well?}\n";
    let blocked = daemon.start(&daemon.definition(gate)).await;
    daemon.asked(blocked.id.as_str()).await;
    for (status, started) in [("completed", &done), ("failed", &failed), ("blocked", &blocked)] {
        let wanted = format!("{status} {} {}", started.name, started.id);
        until(&wanted, || async {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            said.lines().any(|line| line == wanted).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_hook_that_hangs_holds_up_nothing_and_ends_with_the_daemon() {
    let home = Home::new();
    let mark = home.path().join("hook-pid");
    let config = format!("on:\n  completed: 'echo $$ > \"{}\"; exec sleep 1000'\n", mark.display());
    std::fs::write(home.config().join("config.yaml"), config).unwrap();
    let daemon = home.daemon().await;
    let text = "name: x\ndescription: x\nsteps:\n  - {name: a, type: script, command: 'true'}\n";
    for _ in 0..3 {
        let started = daemon.start(&daemon.definition(text)).await;
        daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    }
    let pid: i32 = until("the hook runs", || async {
        std::fs::read_to_string(&mark).ok()?.trim().parse().ok()
    })
    .await;
    assert!(daemon.stop().await.success());
    until("the hook is gone", || async {
        (!std::path::Path::new(&format!("/proc/{pid}")).exists()).then_some(())
    })
    .await;
}
