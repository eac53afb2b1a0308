//! The life of the daemon: one for each user, whatever it finds, and how it goes.

use std::os::unix::fs::PermissionsExt;

use coven_api::ProblemCode;
use coven_api::system::ShutdownRequest;
use coven_api::workflow::ListQuery;
use coven_model::WorkflowStatus;
use coven_testkit::nobody::without_root;
use coven_testkit::programs::TestProgram;
use serde_json::json;

use crate::support::{Home, code, until};

#[tokio::test]
async fn there_is_one_daemon_for_each_user_and_a_second_is_told_about_it() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let (status, said) = home.refused(home.command());
    assert!(!status.success());
    assert!(
        said.contains("a daemon runs already") && said.contains(&daemon.pid().to_string()),
        "{said}"
    );
    // The first is not disturbed, and still has its socket.
    assert_eq!(daemon.client.version().await.unwrap().pid, daemon.pid());
}

#[tokio::test]
async fn a_socket_that_was_left_over_does_not_matter() {
    let home = Home::new();
    home.daemon().await.kill();
    assert!(home.socket().exists(), "a killed daemon leaves its socket");
    let daemon = home.daemon().await;
    assert_eq!(daemon.client.version().await.unwrap().pid, daemon.pid());
    assert!(daemon.stop().await.success());
    assert!(!home.socket().exists(), "one that was told to go takes it along");
}

#[tokio::test]
async fn without_a_home_there_is_no_daemon_and_it_says_why() {
    let home = Home::new();
    let mut command = home.command();
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        command.env_remove(name);
    }
    let (status, said) = home.refused(command);
    assert!(!status.success() && said.contains("HOME"), "{said}");
    let mut relative = home.command();
    relative.env("HOME", "relative").env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
    assert!(!home.refused(relative).0.success());
}

#[tokio::test]
async fn a_state_folder_that_cannot_be_written_is_told_by_its_path() {
    let home = Home::new();
    // A file in its place keeps out even root.
    std::fs::write(home.path().join("state/coven"), "in the way").unwrap();
    let (status, said) = home.refused(home.command());
    assert!(!status.success() && said.contains("state/coven"), "{said}");
    // The way to the program that was built may be closed to other users.
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = open.path().join("daemon");
    std::fs::copy(TestProgram::Daemon.path(), &program).unwrap();
    without_root(|| {
        let home = Home::new();
        let state = home.path().join("state");
        std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o500)).unwrap();
        let (status, said) = home.refused(home.command_of(&program));
        std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!status.success() && said.contains("state/coven"), "{said}");
    });
}

#[tokio::test]
async fn a_path_that_is_too_long_for_a_socket_is_told() {
    let home = Home::new();
    let long = home.path().join("x".repeat(120));
    std::fs::create_dir(&long).unwrap();
    let mut command = home.command();
    command.env("XDG_STATE_HOME", &long);
    let (status, said) = home.refused(command);
    assert!(!status.success() && said.contains("too long"), "{said}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_told_and_one_that_is_free_is_used() {
    let home = Home::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    std::fs::write(home.config().join("config.yaml"), format!("port: {port}\n")).unwrap();
    let (status, said) = home.refused(home.command());
    assert!(!status.success() && said.contains(&port.to_string()), "{said}");
    drop(taken);
    let daemon = home.daemon().await;
    assert_eq!(daemon.address().await.port(), port);
}

#[tokio::test]
async fn a_wrong_configuration_is_told_with_its_places() {
    let home = Home::new();
    std::fs::write(home.config().join("config.yaml"), "maxAgents: many\nprot: 80\n").unwrap();
    let (status, said) = home.refused(home.command());
    assert!(!status.success());
    assert!(said.contains("config.yaml") && said.contains("did you mean `port`"), "{said}");
}

#[tokio::test]
async fn agents_go_on_when_the_daemon_goes_and_are_stopped_only_if_that_is_wanted() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = daemon.stage(&[json!({"id": "a", "adapter": "demo", "prompt": "hang"})]).await;
    let id = started.id.to_string();
    daemon.see(&id, |workflow| workflow.tasks.iter().any(|task| task.live)).await;
    let shutdown = ShutdownRequest { stop_agents: false };
    daemon.client.shutdown(shutdown).await.unwrap();
    assert!(daemon.gone().await.success());
    let alive = home.running();
    assert!(!alive.is_empty(), "the agent was to go on");

    let daemon = home.daemon().await;
    daemon.see(&id, |workflow| workflow.tasks.iter().any(|task| task.live)).await;
    assert_eq!(home.running(), alive, "the very same processes");
    daemon.client.shutdown(ShutdownRequest { stop_agents: true }).await.unwrap();
    assert!(daemon.gone().await.success());
    assert_eq!(home.running(), []);
    let daemon = home.daemon().await;
    daemon.ends(&id, WorkflowStatus::Cancelled).await;
}

#[tokio::test]
async fn what_it_does_is_told_in_status_and_metrics() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started =
        daemon.stage(&[json!({"id": "a", "adapter": "demo", "prompt": "say hello"})]).await;
    daemon.asked(started.id.as_str()).await;
    let status = daemon.client.status().await.unwrap();
    assert_eq!(status.pid, daemon.pid());
    assert!(status.memory_bytes > 1 << 20);
    assert_eq!((status.sessions["blocked"], status.agents["idle"], status.waiting), (1, 1, 1));
    assert_eq!((status.slots.running, status.slots.limit), (1, 8));
    assert_eq!(status.base_dirs[0].path, home.base().display().to_string());
    assert_eq!(status.socket, home.socket().display().to_string());
    let response = daemon.raw("GET", "/metrics").send().await.unwrap();
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain"));
    let text = response.text().await.unwrap();
    for line in [
        "coven_agents{state=\"idle\"} 1",
        "coven_sessions{status=\"blocked\"} 1",
        "coven_interventions_waiting 1",
        "coven_jobs{state=\"limit\"} 8",
        "coven_holders 1",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    for name in [
        "coven_facts_total",
        "coven_output_bytes_total",
        "coven_event_lag_seconds",
        "coven_requests_total",
        "coven_memory_bytes",
    ] {
        assert!(text.contains(name), "{name} is not in\n{text}");
    }
    let synced = text.lines().find_map(|line| line.strip_prefix("coven_fsync_seconds_count "));
    assert!(synced.unwrap().parse::<u64>().unwrap() > 0, "{text}");
}

#[tokio::test]
async fn a_folder_that_another_program_keeps_is_told_and_keeps_nobody_else_from_working() {
    let home = Home::new();
    let (one, other) = (Home::new(), Home::new());
    let first = one.daemon().await;
    let mut start = first.definition(
        "name: x\ndescription: x\nsteps:\n  - {name: a, type: script, command: 'true'}\n",
    );
    start.base_dir = Some(home.base().display().to_string());
    first.start(&start).await;
    let second = other.daemon().await;
    let refused = second.client.start(&start, None).await;
    assert_eq!(code(refused), ProblemCode::BaseDirTaken);
    let status = second.client.status().await.unwrap();
    assert!(status.base_dirs.iter().any(|base| base.problem.is_some()), "{status:?}");
    start.base_dir = Some(other.base().display().to_string());
    let started = second.client.start(&start, None).await.unwrap();
    second.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    // Once it is free it is taken over.
    assert!(first.stop().await.success());
    let query =
        ListQuery { base_dir: Some(home.base().display().to_string()), ..ListQuery::default() };
    let page =
        until("the folder is taken over", || async { second.client.workflows(&query).await.ok() })
            .await;
    assert_eq!(page.total, 1);
}

#[tokio::test]
async fn a_folder_that_vanished_is_told_and_not_made_anew() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let gone = home.path().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let mut start = daemon.definition(
        "name: x\ndescription: x\nsteps:\n  - {name: a, type: script, command: 'true'}\n",
    );
    start.base_dir = Some(gone.display().to_string());
    let started = daemon.start(&start).await;
    daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    assert!(daemon.stop().await.success());
    std::fs::remove_dir_all(&gone).unwrap();
    let daemon = home.daemon().await;
    let status = until("the folder was looked at", || async {
        let status = daemon.client.status().await.unwrap();
        status.base_dirs.iter().any(|base| base.problem.is_some()).then_some(status)
    })
    .await;
    assert_eq!(status.base_dirs.len(), 1);
    assert!(!gone.exists());
    assert_eq!(daemon.client.workflows(&ListQuery::default()).await.unwrap().total, 0);
}
