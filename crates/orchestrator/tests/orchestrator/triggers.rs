//! Sessions that are made once: grimoires that events start, and requests with a key.

use std::path::Path;
use std::sync::Arc;

use coven_model::event::SessionEvent;
use coven_model::{SessionId, WorkflowStatus};
use coven_orchestrator::{
    ExecuteError, FeedItem, LiveEvent, NewSession, Options, Orchestrator, PostedEvent,
    PublishedEvent,
};
use serde_json::{Map, Value, json};

use crate::support::{Base, DEADLINE, end, fact, intervention};

/// What is started: it leaves a line with what it was told.
fn follower(name: &str, trigger: &str) -> String {
    format!(
        r#"
name: {name}
description: Leaves a line for every event.
trigger: {trigger}
inputs:
  grimoire: {{description: Whose event it was}}
steps:
  - name: note
    type: script
    command: echo "{name} after ${{input.grimoire}} for ${{WHO:-nobody}}" >> log.txt
"#
    )
}

const FIRST: &str = "name: first\ndescription: Ends.\nsteps:\n  - {name: say, type: script, command: echo hello, output: said}\n";

fn write(base: &Base, name: &str, text: &str) {
    let folder = base.path().join(".coven/grimoires");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.yaml")), text).unwrap();
}

fn trusted(base: &Base) -> Options {
    let mut options = base.options();
    options.trust = crate::support::agreed(base.path());
    options
}

async fn open(base: &Base) -> Orchestrator {
    Orchestrator::open(trusted(base)).await.unwrap()
}

fn first(base: &Base) -> NewSession {
    let mut new = base.definition(FIRST);
    new.env.insert("WHO".into(), "the caller".into());
    new
}

fn posted(base: &Base, id: Option<&str>, kind: &str, data: &Value) -> PostedEvent {
    let mut env = base.env();
    env.insert("WHO".into(), "the poster".into());
    let data: Map<String, Value> = data.as_object().unwrap().clone();
    PostedEvent { id: id.map(str::to_owned), kind: kind.to_owned(), data, env }
}

fn log(base: &Base) -> Vec<String> {
    let text = std::fs::read_to_string(base.path().join("log.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits until so many sessions there are, and all are over.
async fn all_over(orchestrator: &Orchestrator, count: usize) {
    let waited = async {
        loop {
            let entries = orchestrator.list();
            if entries.len() >= count && entries.iter().all(|entry| entry.status.is_final()) {
                return;
            }
            for entry in entries {
                orchestrator.wait(&entry.id, false).await.ok();
            }
            tokio::task::yield_now().await;
        }
    };
    let over = tokio::time::timeout(DEADLINE, waited).await;
    assert!(over.is_ok(), "never over: {:#?}", orchestrator.list());
    assert_eq!(orchestrator.list().len(), count);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grimoire_starts_once_for_a_matching_event_in_the_environment_of_its_cause() {
    let base = Base::new();
    let when = "{event: workflow.completed, where: \"grimoire == 'first' and status == 'completed' and variables.said == 'hello'\"}";
    write(&base, "after", &follower("after", when));
    let never = "{event: workflow.completed, where: \"grimoire == 'other'\"}";
    write(&base, "never", &follower("never", never));
    write(
        &base,
        "failed",
        &follower("failed", "{event: workflow.failed, where: \"grimoire == 'first'\"}"),
    );
    let orchestrator = open(&base).await;
    let id = orchestrator.execute_workflow(first(&base)).await.unwrap();
    end(&orchestrator, &id).await;
    all_over(&orchestrator, 2).await;
    assert_eq!(log(&base), ["after after first for the caller"]);
    orchestrator.close().await;
    drop(orchestrator);
    let orchestrator = open(&base).await;
    all_over(&orchestrator, 2).await;
    assert_eq!(log(&base).len(), 1, "not again after a restart");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_untrusted_project_brings_along_starts_nothing_until_it_is_trusted() {
    let base = Base::new();
    let when = "{event: workflow.completed, where: \"grimoire == 'first'\"}";
    write(&base, "after", &follower("after", when));
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(first(&base)).await.unwrap();
    end(&orchestrator, &id).await;
    all_over(&orchestrator, 1).await;
    orchestrator.set_trust(crate::support::agreed(base.path()));
    let id = orchestrator.execute_workflow(first(&base)).await.unwrap();
    end(&orchestrator, &id).await;
    all_over(&orchestrator, 3).await;
    assert_eq!(log(&base).len(), 1, "only for what happened since");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_posted_event_with_an_id_starts_once_however_often_it_is_posted() {
    let base = Base::new();
    write(
        &base,
        "deploy",
        &follower("deploy", "{event: deploy.finished, where: \"stage == 'live'\"}"),
    );
    let orchestrator = open(&base).await;
    let live = json!({"stage": "live", "grimoire": "a robot"});
    let post = |id| posted(&base, id, "deploy.finished", &live);
    let started = orchestrator.post_event(post(Some("7"))).await.unwrap().started;
    assert_eq!(started.len(), 1);
    write(&base, "late", &follower("late", "{event: deploy.finished}"));
    orchestrator.set_trust(crate::support::agreed(base.path()));
    assert_eq!(orchestrator.post_event(post(Some("7"))).await.unwrap().started, started);
    all_over(&orchestrator, 1).await;
    orchestrator.close().await;
    drop(orchestrator);
    let orchestrator = open(&base).await;
    assert_eq!(orchestrator.post_event(post(Some("7"))).await.unwrap().started, started);
    assert_eq!(orchestrator.list().len(), 1);
    let other = orchestrator.post_event(post(Some("8"))).await.unwrap().started;
    assert_eq!(other.len(), 2, "another id is another event, for all that wait for it");
    let new = orchestrator.post_event(post(None)).await.unwrap().started;
    let newer = orchestrator.post_event(post(None)).await.unwrap().started;
    assert_ne!(new, newer, "without an id every post is an event");
    all_over(&orchestrator, 7).await;
    assert!(log(&base).iter().all(|line| line.ends_with("after a robot for the poster")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_from_outside_are_held_against_what_is_asked_of_them() {
    let base = Base::new();
    let strict = "name: strict\ndescription: Wants a spec.\ntrigger: {event: spec.written}\ninputs: {spec: {description: Which, required: true}}\nsteps:\n  - {name: note, type: script, command: date}\n";
    write(&base, "strict", strict);
    let orchestrator = open(&base).await;
    let ours = orchestrator.post_event(posted(&base, None, "workflow.completed", &json!({}))).await;
    assert!(matches!(ours, Err(ExecuteError::Reserved { .. })), "{ours:?}");
    let nobody = orchestrator.post_event(posted(&base, None, "x", &json!({}))).await.unwrap();
    assert_eq!((nobody.started.len(), nobody.problems.len()), (0, 0));
    let lacking = orchestrator.post_event(posted(&base, None, "spec.written", &json!({}))).await;
    assert_eq!(
        lacking.unwrap().problems,
        ["`strict` was not started: the input `spec` is missing"]
    );
    assert_eq!(orchestrator.list().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_was_purged_is_not_started_again() {
    let base = Base::new();
    let when = "{event: workflow.completed, where: \"grimoire == 'first'\"}";
    write(&base, "after", &follower("after", when));
    let orchestrator = open(&base).await;
    let id = orchestrator.execute_workflow(first(&base)).await.unwrap();
    end(&orchestrator, &id).await;
    all_over(&orchestrator, 2).await;
    let started = orchestrator.list().into_iter().find(|entry| entry.id != id).unwrap().id;
    orchestrator.purge(&started, "a test").await.unwrap();
    orchestrator.close().await;
    drop(orchestrator);
    // As if the process had died before it had noted that the fact was looked at.
    forget_looking(&base, &id);
    let orchestrator = open(&base).await;
    looked_through(&orchestrator, &base, &id).await;
    all_over(&orchestrator, 1).await;
    assert_eq!(log(&base).len(), 1);
}

fn claims(base: &Base) -> std::path::PathBuf {
    base.state().join("claims.jsonl")
}

/// Takes back that the facts of a session were looked at: leaves out every line that says so.
fn forget_looking(base: &Base, id: &SessionId) {
    let text = std::fs::read_to_string(claims(base)).unwrap();
    let says = |line: &&str| {
        let about = line.contains(id.as_str());
        !(about && (line.contains("\"line\":\"over\"") || line.contains("\"line\":\"looked\"")))
    };
    let first = text
        .lines()
        .find(|line| line.contains("\"line\":\"looked\"") && line.contains(id.as_str()));
    let kept: Vec<&str> = text.lines().filter(says).chain(first).collect();
    std::fs::write(claims(base), kept.join("\n") + "\n").unwrap();
}

/// Waits until it is noted again that all facts of a session were looked at.
async fn looked_through(orchestrator: &Orchestrator, base: &Base, id: &SessionId) {
    let noted = || {
        let text = std::fs::read_to_string(claims(base)).unwrap();
        text.lines().any(|line| line.contains("\"line\":\"over\"") && line.contains(id.as_str()))
    };
    let waited = async {
        while !noted() {
            tokio::task::yield_now().await;
        }
    };
    let looked = tokio::time::timeout(DEADLINE, waited).await;
    assert!(looked.is_ok(), "it was never looked through");
    assert!(orchestrator.list().iter().any(|entry| entry.id == *id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn facts_that_nobody_looked_at_before_the_end_are_looked_at_by_the_next_process() {
    let base = Base::new();
    let when = "{event: workflow.completed, where: \"grimoire == 'first'\"}";
    write(&base, "after", &follower("after", when));
    // Without trust nothing starts; then it is as if the process had died right after the fact.
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(first(&base)).await.unwrap();
    end(&orchestrator, &id).await;
    orchestrator.close().await;
    drop(orchestrator);
    forget_looking(&base, &id);
    let orchestrator = open(&base).await;
    all_over(&orchestrator, 2).await;
    assert_eq!(log(&base).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_session_that_is_tried_again_starts_others_again() {
    let base = Base::new();
    write(
        &base,
        "sorry",
        &follower("sorry", "{event: workflow.failed, where: \"grimoire == 'second'\"}"),
    );
    write(
        &base,
        "after",
        &follower("after", "{event: workflow.completed, where: \"grimoire == 'second'\"}"),
    );
    let orchestrator = open(&base).await;
    let new = base.definition(
        "name: second\ndescription: Fails first.\nsteps:\n  - {name: check, type: script, command: test -e ready.txt}\n",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    assert_eq!(end(&orchestrator, &id).await.status, WorkflowStatus::Failed);
    all_over(&orchestrator, 2).await;
    std::fs::write(base.path().join("ready.txt"), "").unwrap();
    orchestrator.retry(&id, "a test", "").await.unwrap();
    all_over(&orchestrator, 3).await;
    let mut names: Vec<String> = log(&base);
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[0].starts_with("after after second") && names[1].starts_with("sorry after"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_start_one_another_come_to_an_end_and_that_is_told() {
    let base = Base::new();
    // That it is a circle cannot be known before: it depends on more than the name.
    let own = "{event: workflow.completed, where: \"input.on == 'yes'\"}";
    let text = format!(
        "name: circle\ndescription: Starts itself.\ntrigger: {own}\ninputs: {{on: {{description: Go on, default: 'yes'}}}}\nsteps:\n  - {{name: say, type: script, command: echo round >> log.txt}}\n"
    );
    write(&base, "circle", &text);
    let orchestrator = open(&base).await;
    let mut feed = orchestrator.feed().subscribe(None);
    let new = NewSession { env: base.env(), ..NewSession::of_grimoire("circle") };
    orchestrator.execute_workflow(new).await.unwrap();
    let told = async {
        loop {
            if let Some(FeedItem::Event(envelope)) = feed.next().await
                && let PublishedEvent::Live(LiveEvent::Trigger { problem }) = envelope.what
            {
                return problem;
            }
        }
    };
    let problem = tokio::time::timeout(DEADLINE, told).await.unwrap();
    assert!(problem.contains("`circle` was not started: 16 sessions"), "{problem}");
    all_over(&orchestrator, 17).await;
    assert_eq!(log(&base).len(), 17);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_and_questions_start_grimoires_too() {
    let base = Base::new();
    let asked =
        "{event: workflow.intervention.required, where: \"intervention.kind == 'human-gate'\"}";
    write(&base, "asked", &follower("asked", asked));
    write(
        &base,
        "step",
        &follower("step", "{event: workflow.step.completed, where: \"step == 'ask'\"}"),
    );
    let orchestrator = open(&base).await;
    let new = base.definition(
        "name: gated\ndescription: Asks.\nsteps:\n  - {name: ask, type: gate, message: Ready?}\n",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let question = intervention(&mut events).await;
    crate::support::decide(&orchestrator, &question, coven_model::InterventionChoice::Approve)
        .await;
    fact(&mut events, "the end", |event| {
        matches!(event, SessionEvent::WorkflowCompleted { .. }).then_some(())
    })
    .await;
    all_over(&orchestrator, 3).await;
    assert_eq!(log(&base).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_with_a_key_makes_one_session_however_often_it_comes() {
    let base = Base::new();
    let orchestrator = Arc::new(base.open().await);
    let new = || NewSession { key: Some("abc".to_owned()), ..first(&base) };
    let mut same = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (orchestrator, new) = (orchestrator.clone(), new());
        same.spawn(async move { orchestrator.execute(new).await.unwrap() });
    }
    let made = same.join_all().await;
    assert!(made.iter().all(|(id, _)| *id == made[0].0), "{made:?}");
    assert_eq!(made.iter().filter(|(_, existed)| !existed).count(), 1);
    let id = made[0].0.clone();
    end(&orchestrator, &id).await;
    let other = NewSession { goal: Some("other".to_owned()), ..new() };
    let reused = orchestrator.execute_workflow(other).await;
    assert!(matches!(&reused, Err(ExecuteError::KeyReused { key }) if key == "abc"), "{reused:?}");
    let wrong = NewSession { key: Some("x".to_owned()), ..base.definition("name: x\n") };
    assert!(orchestrator.execute_workflow(wrong).await.is_err());
    let mended = NewSession { key: Some("x".to_owned()), ..first(&base) };
    assert!(orchestrator.execute_workflow(mended).await.is_ok(), "a mistake uses up no key");
    all_over(&orchestrator, 2).await;
    orchestrator.close().await;
    drop(orchestrator);
    let orchestrator = base.open().await;
    assert_eq!(orchestrator.execute(new()).await.unwrap(), (id.clone(), true));
    orchestrator.purge(&id, "a test").await.unwrap();
    assert_eq!(orchestrator.execute(new()).await.unwrap(), (id, true), "not made again");
    assert_eq!(orchestrator.list().len(), 1);
}

/// Tells the child which base directory to keep.
const BASE_VARIABLE: &str = "COVEN_TEST_TRIGGER_BASE";

/// Every moment is tried if this is set, and a few if it is not.
const EVERY_MOMENT_VARIABLE: &str = "COVEN_TEST_EVERY_RECORD";

/// The process that is killed: asks for a session with a key, and waits until that is over and so
/// is what its end starts.
#[test]
#[ignore = "started by the test below, to be killed"]
fn keeps_a_session_and_what_it_starts_until_it_is_killed() {
    let Some(kept) = std::env::var_os(BASE_VARIABLE) else { return };
    let reactor = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    reactor.block_on(async {
        let state = crate::support::state_of(Path::new(&kept));
        let mut options = Options::new(&kept, state, crate::support::program());
        options.trust = crate::support::agreed(Path::new(&kept));
        let orchestrator = Orchestrator::open(options).await.unwrap();
        let mut new = NewSession::of_definition("first.yaml", FIRST);
        new.key = Some("once".to_owned());
        orchestrator.execute_workflow(new).await.unwrap();
        all_over(&orchestrator, 2).await;
        orchestrator.close().await;
    });
}

/// How many lines there are in all journals and among the claims.
fn lines(base: &Path) -> usize {
    let sessions = base.join(".coven/sessions");
    let entries = std::fs::read_dir(&sessions).into_iter().flatten().flatten();
    let journals = entries.map(|entry| entry.path().join("journal.jsonl"));
    let bases = std::fs::read_dir(crate::support::state_of(base).join("bases"));
    let bases = bases.into_iter().flatten().flatten();
    let files = journals.chain(bases.map(|entry| entry.path().join("claims.jsonl")));
    let texts = files.filter_map(|file| std::fs::read(file).ok());
    texts.map(|text| text.split(|byte| *byte == b'\n').count() - 1).sum()
}

/// A process that does not outlive the test, however that ends.
struct Keeper(std::process::Child);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn keeper(base: &Path) -> Keeper {
    let test = "triggers::keeps_a_session_and_what_it_starts_until_it_is_killed";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .env(BASE_VARIABLE, base)
        .env("HOME", base)
        .env("TMPDIR", base)
        .env("WHO", "the caller")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    Keeper(child.unwrap())
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !done() {
        assert!(begun.elapsed() < DEADLINE, "never came: {what}");
        std::thread::park_timeout(std::time::Duration::from_micros(200));
    }
}

/// Kills a keeper as soon as there are so many lines on the disk, and lets another one go on. Says
/// whether there was something to kill.
fn kill_at(count: usize) -> bool {
    let base = Base::new();
    let when = "{event: workflow.completed, where: \"grimoire == 'first'\"}";
    write(&base, "after", &follower("after", when));
    let mut first = keeper(base.path());
    let mut ended = false;
    wait_until("the line to be killed at", || {
        ended = first.0.try_wait().unwrap().is_some();
        ended || lines(base.path()) >= count
    });
    drop(first);
    let mut second = keeper(base.path());
    wait_until(&format!("the end after a kill at line {count}"), || {
        second.0.try_wait().unwrap().is_some()
    });
    assert!(second.0.wait().unwrap().success(), "killed at line {count}");
    assert_eq!(log(&base), ["after after first for the caller"], "killed at line {count}");
    !ended
}

#[test]
fn a_process_that_is_killed_at_any_line_starts_everything_once() {
    let step = if std::env::var_os(EVERY_MOMENT_VARIABLE).is_some() { 1 } else { 3 };
    let (mut at, mut kills) = (2, 0);
    while kill_at(at) {
        kills += 1;
        at += step;
    }
    eprintln!("{kills} kills, up to line {at}");
    assert!(kills > 3, "it was hardly killed at all");
}
