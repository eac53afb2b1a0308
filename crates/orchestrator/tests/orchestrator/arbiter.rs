//! Arbiters: they judge the work and cannot change it. What the kernel does not prevent is seen.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use coven_model::event::SessionEvent;
use coven_model::view::{HistoryEntry, HistoryKind};
use coven_model::{JobOutcome, SessionView, WorkflowStatus};
use coven_orchestrator::Orchestrator;
use coven_runtime::sandbox::Enforcement;

use crate::support::{Base, end, fact, nothing_left};

/// Whether this kernel confines at all. If not, there is nothing to show but that it is said.
fn confines() -> bool {
    let confines = Enforcement::of_this_kernel() != Enforcement::Nothing;
    if !confines {
        coven_testkit::skip::skip("this kernel confines nothing");
    }
    confines
}

/// A loop of one round whose arbiter follows the script `judge.txt`.
fn judged() -> &'static str {
    "
name: judged
description: Work and judgement.
steps:
  - name: polish
    type: agent-loop
    mode: headless
    prompt: say worked
    arbiter:
      prompt: Is it good?
      extra_args: [--script, judge.txt]
    max_iterations: 1
    output: polished
"
}

/// A folder with work in it, and an arbiter that does these things and is content then.
fn work(base: &Base, does: &[&str]) {
    let path = |name: &str| base.path().join(name);
    for name in ["work.txt", "other.txt"] {
        fs::write(path(name), "the work\n").unwrap();
        fs::set_permissions(path(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let mut script: String = does.iter().map(|line| format!("disobey {line}\n")).collect();
    script.push_str("json {\"verdict\": \"done\", \"reason\": \"fine\"}\n");
    fs::write(path("judge.txt"), script).unwrap();
}

/// What every file and link below a folder holds, but for the sessions and what the agent that
/// works keeps for itself.
fn contents(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for child in fs::read_dir(&folder).unwrap() {
            let path = child.unwrap().path();
            if path.ends_with(".coven") || path.ends_with("demo-state") {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).unwrap();
            let held = if metadata.is_dir() {
                folders.push(path.clone());
                "a folder".to_owned()
            } else if metadata.is_file() {
                fs::read_to_string(&path).unwrap()
            } else {
                format!("{:?} {:?}", metadata.file_type(), fs::read_link(&path).ok())
            };
            found.insert(path, held);
        }
    }
    found
}

/// Runs it and says how the arbiter ended.
async fn run(orchestrator: &Orchestrator, base: &Base) -> (SessionView, JobOutcome) {
    let id = orchestrator.execute_workflow(base.definition(judged())).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let outcome = fact(&mut events, "the end of the arbiter", |event| match event {
        SessionEvent::TaskEnded(ended) if ended.job.task.as_str() == "polish.r1.arbiter" => {
            Some(ended.outcome.clone())
        }
        _ => None,
    })
    .await;
    let view = end(orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    nothing_left(&id, &view);
    (view, outcome)
}

/// What an arbiter tries that means no good. Each changes something where nothing prevents it.
const HOSTILE: [&str; 20] = [
    "echo x > created.txt",
    "mkdir folder",
    "mkfifo pipe",
    "mv work.txt renamed.txt",
    "mv -f other.txt work.txt",
    "rm -f work.txt",
    "truncate -s 0 work.txt",
    ": > work.txt",
    "echo x >> work.txt",
    "dd if=/dev/zero of=work.txt bs=1 count=1 conv=notrunc",
    "ln work.txt linked.txt",
    "ln -s work.txt soft.txt",
    "python3 -c \"import mmap, os\\; f = os.open('work.txt', os.O_RDWR)\\; \
        m = mmap.mmap(f, 0)\\; m[0:3] = b'bad'\"",
    "sh -c 'sh -c \"echo x > child.txt\" & wait'",
    "setsid -w sh -c 'echo x > session.txt'",
    "echo x > way-out/escaped.txt",
    "cp work.txt way-out/copied.txt",
    // What we write down about it is not the arbiter's either.
    "echo x > \"$TMPDIR/../outcome.json\"",
    "echo x > \"$TMPDIR/../metadata\"",
    "touch \"$TMPDIR/../killed\"",
];

/// A folder outside, with a link to it in the base directory.
fn way_out(base: &Base) -> tempfile::TempDir {
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), base.path().join("way-out")).unwrap();
    outside
}

#[test]
fn what_is_tried_would_do_harm() {
    for line in HOSTILE {
        let program = line.split(' ').next().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let known = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
        if program == "python3" && !known {
            continue;
        }
        let base = Base::new();
        let outside = way_out(&base);
        work(&base, &[]);
        fs::create_dir(base.path().join("scratch")).unwrap();
        let before = (contents(base.path()), contents(outside.path()));
        let done = std::process::Command::new("sh")
            .args(["-c", &line.replace("\\;", ";")])
            .current_dir(base.path())
            .env("TMPDIR", base.path().join("scratch"))
            .stderr(std::process::Stdio::null())
            .status();
        assert!(done.unwrap().success(), "{line}");
        assert_ne!((contents(base.path()), contents(outside.path())), before, "{line}");
    }
}

/// Spec: GR.4.1, GR.4.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_arbiter_cannot_change_anything_however_it_tries() {
    if !confines() {
        return;
    }
    let base = Base::new();
    let outside = way_out(&base);
    let mut does = HOSTILE.to_vec();
    // This it may.
    does.push("echo mine > \"$TMPDIR/mine.txt\"");
    work(&base, &does);
    let orchestrator = base.open().await;
    let before = (contents(base.path()), contents(outside.path()));
    let (view, outcome) = run(&orchestrator, &base).await;
    assert_eq!((contents(base.path()), contents(outside.path())), before);
    assert!(outcome.ok, "{outcome:?}");
    assert_eq!(outcome.touched, [] as [&str; 0]);
    let attempt = base.attempt(&view.session_id, "polish.r1.arbiter", 1);
    assert_eq!(fs::read_to_string(attempt.join("scratch/mine.txt")).unwrap(), "mine\n");
    assert!(!attempt.join("killed").exists());
}

/// Spec: GR.4.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_arbiter_does_to_modes_and_times_is_told() {
    if !confines() {
        return;
    }
    let base = Base::new();
    work(&base, &["chmod 777 work.txt", "touch -d @9 other.txt"]);
    let orchestrator = base.open().await;
    let (view, outcome) = run(&orchestrator, &base).await;
    assert_eq!(outcome.touched, ["other.txt (times)", "work.txt (mode 644 to 777)"]);
    let shown = view.history.iter().any(|entry| {
        entry.what == HistoryKind::Progress
            && entry.task.as_ref().is_some_and(|task| task.as_str() == "polish.r1.arbiter")
            && entry.text.contains("work.txt (mode 644 to 777)")
    });
    assert!(shown, "{:#?}", view.history);
}

/// Spec: GR.4.3, C0.8.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_arbiter_did_is_told_by_whoever_sees_its_end() {
    if !confines() {
        return;
    }
    let base = Base::new();
    let wait = "until [ -e go.txt ]\\; do read -t 0.05 x < /dev/zero || true\\; done";
    work(&base, &["chmod 600 work.txt", wait]);
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(judged())).await.unwrap();
    let mode = || fs::metadata(base.path().join("work.txt")).unwrap().permissions().mode() & 0o777;
    let changed = async {
        while mode() != 0o600 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::support::DEADLINE, changed).await.expect("it was never changed");
    orchestrator.close().await;
    drop(orchestrator);
    fs::write(base.path().join("go.txt"), "").unwrap();
    let orchestrator = base.open().await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let mut told = view.history.iter().filter(|entry| entry.text.contains("(mode 644 to 600)"));
    assert!(told.next().is_some(), "{:#?}", view.history);
    nothing_left(&id, &view);
}

/// Spec: GR.4.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_arbiter_that_only_looks_has_touched_nothing() {
    let base = Base::new();
    work(&base, &["cat work.txt", "ls -la"]);
    let orchestrator = base.open().await;
    let (view, outcome) = run(&orchestrator, &base).await;
    assert_eq!(outcome.touched, [] as [&str; 0]);
    let exposed = view.history.iter().any(|entry| entry.text.contains("was to be confined"));
    assert_eq!(exposed, !confines(), "{:#?}", view.history);
    let told = |entry: &&HistoryEntry| {
        ["confined by Landlock", "sockets that are files", "UDP", "modes, owners and times of"]
            .iter()
            .all(|part| entry.text.contains(part))
    };
    assert_eq!(view.history.iter().filter(told).count(), usize::from(confines()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_asks_for_confined_signals_tells_what_stays_open() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let definition = "name: confined\ndescription: One script.\nsteps:\n  - {name: one, type: script, \
                      command: 'true', confine: signals}\n  - {name: two, type: script, command: 'true'}\n";
    let id = orchestrator.execute_workflow(base.definition(definition)).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let of = |task: &str, text: &str| {
        let is = |entry: &&HistoryEntry| {
            entry.task.as_ref().is_some_and(|of| of.as_str() == task) && entry.text.contains(text)
        };
        view.history.iter().filter(is).count()
    };
    let scopes = coven_runtime::sandbox::scopes_signals();
    assert_eq!(of("one", "signals and abstract sockets alone"), usize::from(scopes));
    assert_eq!(of("one", "files, connections"), usize::from(scopes), "{:#?}", view.history);
    assert_eq!(of("one", "was to be confined"), usize::from(!scopes));
    assert_eq!(of("two", "confined"), 0);
}
