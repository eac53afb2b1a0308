//! What goes wrong with the disk under a run: full, read-only, deleted, cleaned, damaged, newer,
//! or kept by another process.

pub(crate) mod disk;

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use coven_model::{InterventionChoice, SessionId, WorkflowStatus};
use coven_orchestrator::{EventSubscription, LiveEvent, OpenError, Orchestrator, PublishedEvent};

use coven_testkit::skip::skip;

use self::disk::{Frozen, SmallDisk};
use crate::support::{Base, DEADLINE, decide, delete, end, intervention, nothing_left, state_of};

/// Runs until a file is there, and then goes on.
const WAITS: &str = r"
name: waits
description: Runs until a file is there.
steps:
  - {name: wait, type: script, command: 'echo waited >> log.txt; echo begun; until test -e go.txt; do read -r -t 0.05 _ < <(tail -f /dev/null) || true; done; echo through'}
  - {name: last, type: script, command: echo last >> log.txt}
";

/// What is left of a disk for which a start is let begin, and which is not enough for a long command.
const ROOM_FOR_CHECK: usize = 80 * 1024;

const ASKS: &str = "name: asks\ndescription: Asks.\nsteps:\n  - {name: ask, type: gate, message: Ready?}\n  - {name: last, type: script, command: echo last >> log.txt}\n";

/// Waits for something that is told and not kept.
async fn live<T>(
    events: &mut EventSubscription,
    what: &str,
    mut wanted: impl FnMut(&LiveEvent) -> Option<T>,
) -> T {
    let search = async {
        loop {
            let envelope = events.next().await.unwrap();
            let envelope = envelope.unwrap_or_else(|| panic!("the session closed before: {what}"));
            if let PublishedEvent::Live(live) = &envelope.what
                && let Some(found) = wanted(live)
            {
                return found;
            }
        }
    };
    tokio::time::timeout(DEADLINE, search).await.unwrap_or_else(|_| panic!("never came: {what}"))
}

async fn storage_problem(events: &mut EventSubscription) -> String {
    live(events, "that facts cannot be written down", |live| match live {
        LiveEvent::Storage { problem } => Some(problem.clone()),
        _ => None,
    })
    .await
}

/// Waits until the job under way has printed something, and so runs and is followed.
async fn printed(events: &mut EventSubscription) {
    live(events, "output", |live| matches!(live, LiveEvent::Output { .. }).then_some(())).await;
}

fn log(base: &std::path::Path) -> String {
    std::fs::read_to_string(base.join("log.txt")).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_on_a_full_disk_waits_and_goes_on_when_there_is_room() {
    let base = Base::new();
    let Some(disk) = SmallDisk::mount(base.path()) else {
        return skip("only root may mount a small disk");
    };
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(WAITS)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    printed(&mut events).await;
    std::fs::write(base.path().join("go.txt.new"), "").unwrap();
    let ballast = disk.fill();
    std::fs::rename(base.path().join("go.txt.new"), base.path().join("go.txt")).unwrap();
    let problem = storage_problem(&mut events).await;
    assert!(problem.contains("no room is left on the disk"), "{problem}");
    std::fs::remove_file(ballast).unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(log(base.path()), "waited\nlast\n", "each step once");
    nothing_left(&id, &view);
    orchestrator.close().await;
    drop(orchestrator);
    let again = base.open().await;
    let view = again.view(&id).await.unwrap().unwrap();
    assert_eq!(view.status, WorkflowStatus::Completed, "what was acknowledged is there");
    again.close().await;
    drop((again, disk));
}

/// A step whose command alone takes more room in the state folder than is looked for beforehand.
fn large_step() -> String {
    let comment = "x".repeat(100 * 1024);
    format!(
        "name: large\ndescription: A long command.\nsteps:\n  \
         - {{name: large, type: script, command: 'echo ran >> log.txt # {comment}'}}\n"
    )
}

/// A base directory whose state folder is a small disk.
fn small_state() -> Option<(Base, SmallDisk)> {
    let base = Base::new();
    let state = state_of(base.path());
    std::fs::create_dir_all(&state).unwrap();
    SmallDisk::mount(&state).map(|disk| (base, disk))
}

/// A run whose first job finds no room in the state folder, until the file that fills it is gone.
struct FilledRun {
    base: Base,
    disk: SmallDisk,
    ballast: PathBuf,
    orchestrator: Orchestrator,
    id: SessionId,
    /// What the session says about that.
    problem: String,
}

impl FilledRun {
    async fn begin() -> Option<Self> {
        let (base, disk) = small_state()?;
        let orchestrator = base.open().await;
        let id = orchestrator.create_session(base.definition(&large_step())).await.unwrap();
        let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
        let ballast = disk.fill_up_to(ROOM_FOR_CHECK);
        orchestrator.resume(&id, Some(base.env())).await.unwrap();
        let problem = storage_problem(&mut events).await;
        Some(Self { base, disk, ballast, orchestrator, id, problem })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_start_finds_no_room_waits_and_starts_when_there_is_some() {
    let Some(run) = FilledRun::begin().await else {
        return skip("only root may mount a small disk");
    };
    let FilledRun { base, disk, ballast, orchestrator, id, problem } = run;
    assert!(problem.starts_with("waits for disk space: "), "{problem}");
    let shown = orchestrator.controller(&id).unwrap().storage_problem();
    assert_eq!(shown.as_ref(), Some(&problem), "it is there for everyone who looks");
    assert!(!base.path().join("log.txt").exists());
    std::fs::remove_file(ballast).unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(log(base.path()), "ran\n", "it ran once");
    assert_eq!(orchestrator.controller(&id).unwrap().storage_problem(), None);
    orchestrator.close().await;
    drop((orchestrator, disk));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_waits_for_room_to_start_can_be_cancelled() {
    let Some(run) = FilledRun::begin().await else {
        return skip("only root may mount a small disk");
    };
    let FilledRun { base, disk, ballast, orchestrator, id, .. } = run;
    orchestrator.cancel(&id, "a test", "").await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Cancelled, "{:#?}", view.errors);
    assert!(!base.path().join("log.txt").exists(), "it never ran");
    std::fs::remove_file(ballast).unwrap();
    orchestrator.close().await;
    drop((orchestrator, disk));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_folder_becomes_read_only_waits_and_goes_on_when_it_is_not() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(ASKS)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    let folder = base.path().join(".coven/sessions").join(id.as_str());
    // Root may write whatever a mode says, and a disk with open files cannot be made read-only:
    // what neither may change is a file that is marked so.
    let Some(frozen) = Frozen::freeze(&folder) else {
        return skip("files cannot be made unchangeable here (chattr +i)");
    };
    let answering = tokio::spawn({
        let (orchestrator, asked) = (orchestrator.clone(), asked.clone());
        async move { decide(&orchestrator, &asked, InterventionChoice::Approve).await }
    });
    let problem = storage_problem(&mut events).await;
    assert!(problem.contains("permission denied"), "{problem}");
    assert!(!answering.is_finished(), "an answer is acknowledged when it is written down");
    drop(frozen);
    tokio::time::timeout(DEADLINE, answering).await.unwrap().unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(log(base.path()), "last\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_base_directory_is_deleted_goes_on_when_it_is_back() {
    let parent = tempfile::tempdir().unwrap();
    let base = Base::within(&parent);
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(ASKS)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    delete(base.path());
    let answering = tokio::spawn({
        let (orchestrator, asked) = (orchestrator.clone(), asked.clone());
        async move { decide(&orchestrator, &asked, InterventionChoice::Approve).await }
    });
    storage_problem(&mut events).await;
    std::fs::create_dir(base.path()).unwrap();
    live(&mut events, "that it was restored", |live| {
        matches!(live, LiveEvent::Restored).then_some(())
    })
    .await;
    tokio::time::timeout(DEADLINE, answering).await.unwrap().unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    orchestrator.close().await;
    drop(orchestrator);
    let again = base.open().await;
    let view = again.view(&id).await.unwrap().unwrap();
    assert_eq!(view.status, WorkflowStatus::Completed, "every fact is there again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orchestrator_whose_base_directory_is_gone_can_be_asked_and_closed() {
    let parent = tempfile::tempdir().unwrap();
    let base = Base::within(&parent);
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(ASKS)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    intervention(&mut events).await;
    delete(base.path());
    let cancelling = tokio::spawn({
        let (orchestrator, id) = (orchestrator.clone(), id.clone());
        async move { orchestrator.cancel(&id, "a test", "").await }
    });
    storage_problem(&mut events).await;
    let view = tokio::time::timeout(DEADLINE, orchestrator.view(&id)).await.expect("an answer");
    assert_eq!(view.unwrap().unwrap().status, WorkflowStatus::Blocked);
    tokio::time::timeout(DEADLINE, orchestrator.close()).await.expect("it should close");
    let cancelled = tokio::time::timeout(DEADLINE, cancelling).await.expect("an answer").unwrap();
    assert!(cancelled.is_err(), "nothing was written down, so nothing is promised");
}

fn git(folder: &std::path::Path, line: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.args(line).current_dir(folder).env("HOME", folder);
    command.output().is_ok_and(|output| output.status.success())
}

/// Cleans until nothing of ours is left: a view may be written at that moment.
fn clean(base: &Base) {
    let begun = Instant::now();
    while base.path().join(".coven").exists() {
        git(base.path(), &["clean", "-fdxq"]);
        assert!(begun.elapsed() < DEADLINE, "git cannot clean");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_clean_under_a_run_takes_nothing_from_it_and_that_is_said() {
    let base = Base::new();
    if !git(base.path(), &["init", "-q"]) {
        return skip("there is no git");
    }
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(ASKS)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    clean(&base);
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    live(&mut events, "that it was restored", |live| {
        matches!(live, LiveEvent::Restored).then_some(())
    })
    .await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(log(base.path()), "last\n");
    orchestrator.close().await;
    drop(orchestrator);
    let again = base.open().await;
    assert_eq!(again.list().len(), 1);
    let view = again.view(&id).await.unwrap().unwrap();
    assert_eq!(view.status, WorkflowStatus::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_clean_under_a_running_agent_does_not_lose_its_end() {
    let base = Base::new();
    if !git(base.path(), &["init", "-q"]) {
        return skip("there is no git");
    }
    let orchestrator = base.open().await;
    let outside = tempfile::tempdir().unwrap();
    let waits = WAITS
        .replace("go.txt", &outside.path().join("go.txt").display().to_string())
        .replace("log.txt", &outside.path().join("log.txt").display().to_string());
    let id = orchestrator.execute_workflow(base.definition(&waits)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    printed(&mut events).await;
    clean(&base);
    std::fs::write(outside.path().join("go.txt"), "").unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(log(outside.path()), "waited\nlast\n", "each step once");
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_finds_a_base_directory_taken_is_told_by_whom() {
    let base = Base::new();
    let mut options = base.options();
    options.keeper = "the first keeper".to_owned();
    let first = Orchestrator::open(options).await.unwrap();
    let Err(OpenError::Locked(error)) = Orchestrator::open(base.options()).await else {
        panic!("two keepers")
    };
    let said = error.to_string();
    assert!(said.contains("the first keeper"), "{said}");
    assert!(said.contains(&std::process::id().to_string()), "{said}");
    first.close().await;
}

/// A session that waits for a person, and one beside it, in no process's memory.
async fn two_that_wait(base: &Base) -> [(SessionId, PathBuf); 2] {
    let orchestrator = base.open().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id = orchestrator.execute_workflow(base.definition(ASKS)).await.unwrap();
        let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
        intervention(&mut events).await;
        ids.push(id);
    }
    orchestrator.close().await;
    let with_journal = |id: SessionId| {
        let folder = base.path().join(".coven/sessions").join(id.as_str());
        (id, folder.join("journal.jsonl"))
    };
    let second = ids.pop().unwrap();
    [with_journal(ids.pop().unwrap()), with_journal(second)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_journal_stops_its_session_and_no_other() {
    let base = Base::new();
    let [(damaged, journal), (whole, _)] = two_that_wait(&base).await;
    let mut bytes = std::fs::read(&journal).unwrap();
    let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 30;
    bytes[second] ^= 1;
    std::fs::write(&journal, &bytes).unwrap();

    let orchestrator = base.open().await;
    let error = orchestrator.view(&damaged).await.unwrap_err().to_string();
    assert!(error.contains("is damaged in line 2"), "{error}");
    assert!(orchestrator.controller(&damaged).is_none());
    assert_eq!(std::fs::read(&journal).unwrap(), bytes, "nothing was changed");
    let mut events = orchestrator.subscribe(&whole, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    let view = end(&orchestrator, &whole).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_of_a_newer_version_can_be_looked_at_and_nothing_else() {
    let base = Base::new();
    let [(newer, journal), (whole, _)] = two_that_wait(&base).await;
    let text = std::fs::read_to_string(&journal).unwrap();
    let text = disk::reframed(&text, 0, |header| header.replacen("\"v\":2", "\"v\":3", 1));
    std::fs::write(&journal, &text).unwrap();

    let orchestrator = base.open().await;
    assert!(orchestrator.controller(&newer).is_none(), "it does not go on");
    let view = orchestrator.view(&newer).await.unwrap().unwrap();
    assert_eq!(view.status, WorkflowStatus::Blocked, "it can be looked at");
    let error = orchestrator.resume(&newer, None).await.unwrap_err().to_string();
    assert!(error.contains("has version 3, newer than this program"), "{error}");
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), text, "nothing was changed");
    assert!(orchestrator.controller(&whole).is_some(), "the other goes on");
}
