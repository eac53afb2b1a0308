//! `coven daemon`.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn the_daemon_is_started_looked_at_and_stopped() {
    let home = Home::new();
    assert_snapshot!(home.said(&["daemon", "status"]), @r"
    --- exit 5
    error: the daemon does not run
    hint: it starts by itself when a command needs it; or: coven daemon start
    ");
    assert_snapshot!(home.said(&["daemon", "logs"]), @r"
    --- exit 1
    error: there is no log yet, as the daemon has never run
    hint: coven daemon start
    ");
    assert_snapshot!(home.said(&["daemon", "stop"]), @r"
    --- exit 0
    The daemon does not run.
    ");
    assert_snapshot!(home.said(&["daemon", "stop", "--agents"]), @r"
    --- exit 0
    The daemon does not run.
    ");
    assert_snapshot!(home.said(&["daemon", "start"]), @r"
    the daemon is started (process PID)
    --- exit 0
    ");
    assert_snapshot!(home.said(&["daemon", "start"]), @r"
    the daemon runs already (process PID)
    --- exit 0
    ");
    let status = home.coven(&["daemon", "status", "--json"]).ok().json();
    assert_eq!(status["running"], true);
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert!(home.coven(&["daemon", "status"]).ok().out.contains("waiting for you"));
    assert!(!home.coven(&["daemon", "logs"]).ok().out.is_empty());
    let said = home.coven(&["daemon", "run"]).code(1);
    assert!(said.err.contains("coven daemon status"), "{}", said.err);
    assert_snapshot!(home.said(&["daemon", "stop"]), @r"
    the daemon is stopped
    --- exit 0
    ");
    assert_eq!(home.coven(&["daemon", "status", "--json"]).code(5).json()["running"], false);
}

#[test]
fn agents_go_on_without_the_daemon_and_are_taken_up_by_the_next() {
    let home = Home::new();
    let name = home.asking("approve echo yes > yes.txt");
    let said = home.coven(&["daemon", "stop"]).ok();
    assert!(said.err.contains("1 job goes on"), "{}", said.err);
    home.coven(&["approve", &name]).ok();
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    assert!(home.path("project/yes.txt").exists());
}

#[test]
fn a_folder_that_is_trusted_is_said_to_be_after_a_restart_too() {
    let home = Home::new();
    home.coven(&["init"]).ok();
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    let trusted = || {
        let status = home.coven(&["daemon", "status", "--json"]).ok().json();
        status["baseDirs"][0]["trusted"].clone()
    };
    assert_eq!(trusted(), true);
    home.kill_daemon();
    home.coven(&["daemon", "start"]).ok();
    assert_eq!(trusted(), true);
}

#[test]
fn a_daemon_that_cannot_start_says_why() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.config/coven")).unwrap();
    std::fs::write(home.path("home/.config/coven/config.yaml"), "maxAgents: many\n").unwrap();
    let said = home.coven(&["ls"]).code(5);
    assert!(said.err.contains("config.yaml") && said.err.contains("maxAgents"), "{}", said.err);
    std::fs::remove_file(home.path("home/.config/coven/config.yaml")).unwrap();
    let mut command = home.command(&["ls"]);
    let output = command.env_remove("HOME").env_remove("XDG_STATE_HOME").output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(crate::stderr(&output).contains("HOME"));
}

#[test]
fn an_agent_may_not_start_the_daemon() {
    let home = Home::new();
    let mut command = home.command(&["ls"]);
    let output = command.env("COVEN_JOB", "x/y/1").output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(
        crate::stderr(&output).contains("an agent may not start it"),
        "{}",
        crate::stderr(&output)
    );
}

#[test]
fn many_commands_at_once_start_one_daemon() {
    let home = Home::new();
    let children: Vec<_> = (0..5)
        .map(|_| {
            home.command(&["ls", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
}

#[test]
fn a_state_folder_with_a_long_path_has_its_socket_in_the_runtime_folder() {
    let home = Home::new();
    let (state, runtime) = (home.path(&"long".repeat(30)), home.path("runtime"));
    std::fs::create_dir(&runtime).unwrap();
    let coven = |args: &[&str], with_runtime: bool| {
        let mut command = home.command(args);
        command.env("XDG_STATE_HOME", &state);
        if with_runtime {
            command.env("XDG_RUNTIME_DIR", &runtime);
        }
        crate::home::Said::of(&command.output().unwrap())
    };
    let said = coven(&["ls"], false).code(5);
    assert!(said.err.contains("too long") && said.err.contains("XDG_RUNTIME_DIR"), "{}", said.err);
    home.write(
        "test.yaml",
        "name: test\ndescription: A test.\nsteps:\n  - {name: one, type: agent, adapter: demo, prompt: say hello}\n",
    );
    coven(&["run", "./test.yaml"], true).ok();
    let status = coven(&["daemon", "status", "--json"], true).ok().json();
    let socket = std::path::PathBuf::from(status["socket"].as_str().unwrap());
    assert!(socket.starts_with(runtime.join("coven")), "{socket:?}");
    let mode = |path: &std::path::Path| {
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions())
    };
    assert_eq!(mode(&socket) & 0o777, 0o600);
    assert_eq!(mode(socket.parent().unwrap()) & 0o777, 0o700);
    coven(&["daemon", "stop"], true).ok();
    assert!(!socket.exists());
}
