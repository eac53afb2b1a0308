//! The local domain: the checks every domain must pass, and its own errors.

use std::fs;

use coven_runtime::LocalDomain;
use coven_runtime::domain::{Connection, Domain, ExitStatus, Sandbox, SpawnConfig, SpawnError};
use coven_runtime::processes;
use coven_testkit::panes;

fn check(check: panes::Check) {
    let folder = tempfile::tempdir().unwrap();
    check(&LocalDomain::new(), &|script, connection| {
        panes::shell(script, connection, folder.path())
    });
}

coven_testkit::domain_checks!(check);

#[test]
fn a_dropped_pane_ends_its_processes() {
    let folder = tempfile::tempdir().unwrap();
    let config = panes::shell(panes::HOSTILE, panes::terminal(), folder.path());
    let mut pane = LocalDomain::new().spawn(&config).unwrap();
    let mut printed = panes::PaneOutput::default();
    panes::read_until(&mut *pane, &mut printed, |printed| printed.text().contains("ready"));
    drop(pane);
    assert_eq!(processes::of_job(&config.job), []);
}

fn spawn_error(argv: &[&str], change: impl FnOnce(&mut SpawnConfig)) -> SpawnError {
    let folder = tempfile::tempdir().unwrap();
    let mut config = panes::command(argv, Connection::Pipes, folder.path());
    change(&mut config);
    match LocalDomain::new().spawn(&config) {
        Ok(_) => panic!("{argv:?} was started"),
        Err(error) => error,
    }
}

#[test]
fn what_cannot_be_started_says_why() {
    assert!(matches!(spawn_error(&[], |_| {}), SpawnError::EmptyCommand));
    let error = spawn_error(&["no-such-program"], |config| {
        config.env.insert("PATH".into(), "/one:/two".into());
    });
    assert_eq!(error.to_string(), "`no-such-program` was not found in PATH (/one:/two)");
    let error = spawn_error(&["/no/such/program"], |_| {});
    assert!(matches!(error, SpawnError::NotFound { .. }), "{error}");
    let error = spawn_error(&["/etc/passwd"], |_| {});
    assert_eq!(error.to_string(), "`/etc/passwd` cannot be run: permission denied");
    let error = spawn_error(&["/"], |_| {});
    assert!(matches!(error, SpawnError::NotExecutable { .. }), "{error}");
    let error = spawn_error(&["true"], |config| config.cwd = "/no/such/folder".into());
    assert!(error.to_string().starts_with("the working directory /no/such/folder"), "{error}");
    let long = "x".repeat(200_000);
    let error = spawn_error(&["true", &long], |_| {});
    assert!(matches!(error, SpawnError::TooLong { .. }), "{error}");
}

#[test]
fn a_sandbox_lets_read_everywhere_and_write_where_told() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    let outside = folder.path().join("outside");
    fs::create_dir(&inside).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("old"), "text").unwrap();
    let script = "cat outside/old; echo x >/dev/null && echo null; echo x >inside/new && echo in; \
                  echo x >outside/new || echo kept out; rm outside/old || echo not removed; \
                  mv inside/new outside/ || echo not moved";
    let mut config = panes::shell(script, Connection::Pipes, folder.path());
    config.sandbox = Some(Sandbox { write: vec![inside], ..Sandbox::default() });
    let mut pane = LocalDomain::new().spawn(&config).unwrap();
    let (printed, status) = panes::run_to_end(&mut *pane);
    let enforced = coven_runtime::sandbox::Enforcement::of_this_kernel();
    if enforced == coven_runtime::sandbox::Enforcement::Nothing {
        assert!(printed.text().contains("in\n"), "{}", printed.text());
        return coven_testkit::skip::skip("this kernel confines nothing");
    }
    assert_eq!(printed.text(), "textnull\nin\nkept out\nnot removed\nnot moved\n");
    assert_eq!(status, Some(ExitStatus::Code(0)));
}

#[test]
fn a_sandbox_with_a_path_that_does_not_exist_is_refused() {
    let error = spawn_error(&["true"], |config| {
        config.sandbox =
            Some(Sandbox { write: vec!["/no/such/path".into()], ..Sandbox::default() });
    });
    assert!(error.to_string().contains("/no/such/path"), "{error}");
}
