//! What is said to agents: conversations that go on after a crash, a no with its reason, and
//! secrets that are shown in no view, event or error.

use std::path::PathBuf;

use coven_model::event::{DeliveredInput, InterventionDecision, SessionEvent};
use coven_model::{AgentState, InterventionChoice, InterventionKind, SessionId, WorkflowStatus};
use coven_orchestrator::{EventSubscription, LiveEvent, Orchestrator, PublishedEvent};
use coven_runtime::hold::{HolderFolder, SpawnRecord};
use serde_json::{Value, json};

use crate::support::{Base, DEADLINE, decide, end, fact, intervention, nothing_left, run, until};

/// A grimoire of one agent that is tried twice.
fn twice(mode: &str, prompt: &str) -> String {
    format!(
        "
name: twice
description: An agent that is tried twice.
steps:
  - name: work
    type: agent
    mode: {mode}
    permissions: all
    prompt: \"{prompt}\"
    retry: {{attempts: 2}}
    output: said
"
    )
}

fn attempt(base: &Base, id: &SessionId, task: &str, number: u32) -> PathBuf {
    base.attempt(id, task, number)
}

fn record(base: &Base, id: &SessionId, task: &str, number: u32) -> SpawnRecord {
    HolderFolder::new(attempt(base, id, task, number)).spawn_record().unwrap().unwrap()
}

/// The value of an option in the arguments of an attempt.
fn option(base: &Base, id: &SessionId, task: &str, number: u32, name: &str) -> Option<String> {
    let argv = record(base, id, task, number).argv;
    let place = argv.iter().position(|arg| arg == name)?;
    argv.get(place + 1).cloned()
}

/// Waits for something that is told and not kept.
async fn live(events: &mut EventSubscription, what: &str, wanted: impl Fn(&LiveEvent) -> bool) {
    let search = async {
        loop {
            let envelope = events.next().await.unwrap().unwrap();
            if matches!(&envelope.what, PublishedEvent::Live(live) if wanted(live)) {
                return;
            }
        }
    };
    tokio::time::timeout(DEADLINE, search).await.unwrap_or_else(|_| panic!("never came: {what}"));
}

fn kill(pid: i32) {
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(killed.unwrap().success());
}

/// Kills an attempt's agent, and before it the holder that would have seen it end.
fn lose(base: &Base, id: &SessionId, task: &str, number: u32) {
    let record = record(base, id, task, number);
    kill(record.holder.unwrap().pid);
    kill(record.process.unwrap().pid);
}

/// What the demo agent was told in a conversation.
fn prompts(base: &Base, conversation: &str) -> Vec<String> {
    let path = base.path().join("demo-state").join(format!("{conversation}.json"));
    let session: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    serde_json::from_value(session["prompts"].clone()).unwrap()
}

async fn begin(base: &Base, text: &str) -> (Orchestrator, SessionId, EventSubscription) {
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(text)).await.unwrap();
    let events = orchestrator.subscribe(&id, 0).await.unwrap();
    (orchestrator, id, events)
}

/// The second attempt went on with the conversation of the first, and was not told the same again.
fn went_on(base: &Base, id: &SessionId, prompt: &str) {
    let conversation = option(base, id, "work", 1, "--session-id").unwrap();
    assert_eq!(option(base, id, "work", 2, "--resume").as_ref(), Some(&conversation));
    let told = prompts(base, &conversation);
    assert_eq!((told.len(), told[0].as_str()), (2, prompt));
    assert!(told[1].contains("go on from there"), "{told:?}");
    let runs = std::fs::read_to_string(base.path().join("runs.txt")).unwrap();
    assert_eq!(runs, "run\n");
}

const WORKS: &str = "disobey echo run >> runs.txt; hang";

/// Spec: C0.8.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_headless_agent_that_is_lost_goes_on_in_its_own_conversation() {
    let base = Base::new();
    let (orchestrator, id, mut events) = begin(&base, &twice("headless", WORKS)).await;
    live(&mut events, "its first words", |live| matches!(live, LiveEvent::Output { .. })).await;
    until("its work", || base.path().join("runs.txt").exists()).await;
    lose(&base, &id, "work", 1);
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    went_on(&base, &id, WORKS);
    nothing_left(&id, &view);
}

/// Spec: C0.8.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_on_a_terminal_that_is_killed_goes_on_in_its_own_conversation() {
    let base = Base::new();
    let (orchestrator, id, mut events) = begin(&base, &twice("interactive", WORKS)).await;
    live(
        &mut events,
        "that it works",
        |live| matches!(live, LiveEvent::State { verdict, .. } if verdict.state == AgentState::Working),
    )
    .await;
    until("its work", || base.path().join("runs.txt").exists()).await;
    kill(record(&base, &id, "work", 1).process.unwrap().pid);
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    went_on(&base, &id, WORKS);
    nothing_left(&id, &view);
}

/// Spec: C0.8.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_was_lost_while_nobody_looked_goes_on_in_its_own_conversation() {
    let base = Base::new();
    let (orchestrator, id, mut events) = begin(&base, &twice("headless", WORKS)).await;
    live(&mut events, "its first words", |live| matches!(live, LiveEvent::Output { .. })).await;
    until("its work", || base.path().join("runs.txt").exists()).await;
    orchestrator.close().await;
    drop((orchestrator, events));
    lose(&base, &id, "work", 1);
    let orchestrator = base.open().await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    went_on(&base, &id, WORKS);
    nothing_left(&id, &view);
}

/// Loses the job of a script while no process of ours looks, as a power cut does, and takes the
/// session up again.
async fn after_power_cut(base: &Base, on_lost: &str) -> (Orchestrator, SessionId) {
    let script = "echo run >> runs.txt; test -e again.txt || exec tail -f /dev/null";
    let text = format!(
        "name: lost\ndescription: x\nsteps:\n  - {{name: work, type: script, command: '{script}', \
         on_lost: {on_lost}}}\n"
    );
    let (orchestrator, id, events) = begin(base, &text).await;
    until("its work", || base.path().join("runs.txt").exists()).await;
    orchestrator.close().await;
    drop((orchestrator, events));
    lose(base, &id, "work", 1);
    std::fs::write(base.path().join("again.txt"), "").unwrap();
    (base.open().await, id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_lost_follows_what_its_step_says() {
    let runs = |base: &Base| std::fs::read_to_string(base.path().join("runs.txt")).unwrap();
    let base = Base::new();
    let (orchestrator, id) = after_power_cut(&base, "retry").await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(runs(&base), "run\nrun\n");

    let base = Base::new();
    let (orchestrator, id) = after_power_cut(&base, "fail").await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Failed);
    assert_eq!(runs(&base), "run\n");

    let base = Base::new();
    let (orchestrator, id) = after_power_cut(&base, "ask").await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::LostJob);
    assert_eq!(runs(&base), "run\n");
    decide(&orchestrator, &asked, InterventionChoice::Retry).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_failed_by_itself_begins_afresh() {
    let base = Base::new();
    let text = twice("headless", "disobey echo run >> runs.txt; fail on purpose");
    let (_, id, view) = run(&base, &text).await;
    assert_eq!(view.status, WorkflowStatus::Failed);
    let first = option(&base, &id, "work", 1, "--session-id").unwrap();
    let second = option(&base, &id, "work", 2, "--session-id").unwrap();
    assert_ne!(first, second);
    assert_eq!(prompts(&base, &first), prompts(&base, &second));
    let runs = std::fs::read_to_string(base.path().join("runs.txt")).unwrap();
    assert_eq!(runs, "run\nrun\n");
    nothing_left(&id, &view);
}

/// Spec: C0.11.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_was_told_texts_of_its_queue_begins_afresh() {
    let base = Base::new();
    let definition = json!({"id": "queued", "stages": [{"id": "s", "tasks": [{
        "id": "talk", "adapter": "demo", "prompt": "say hello",
        "pendingInputs": ["disobey echo one >> log.txt; hang"]
    }]}]});
    let (orchestrator, id, mut events) = begin(&base, &definition.to_string()).await;
    let log = || std::fs::read_to_string(base.path().join("log.txt")).unwrap_or_default();
    until("the first text", || log() == "one\n").await;
    kill(record(&base, &id, "talk", 1).process.unwrap().pid);
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::PartialFailure);
    decide(&orchestrator, &asked, InterventionChoice::RetryFailed).await;
    until("the first text again", || log() == "one\none\n").await;
    assert_eq!(option(&base, &id, "talk", 2, "--resume"), None);
    let second = option(&base, &id, "talk", 2, "--session-id").unwrap();
    assert_ne!(option(&base, &id, "talk", 1, "--session-id"), Some(second));
    orchestrator.cancel(&id, "a test", "enough").await.unwrap();
    let view = end(&orchestrator, &id).await;
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_cannot_resume_is_told_its_prompt_again() {
    let base = Base::new();
    let adapter = base.path().join("config/adapters/plain");
    std::fs::create_dir_all(&adapter).unwrap();
    let program = "printf '%s|' \"$@\" >> argv.txt; [ -e dead ] || { touch dead; kill -9 $$; }";
    let config = json!({
        "schemaVersion": 1,
        "command": "/bin/sh",
        "modes": {"headless": {
            "baseArgs": ["-c", program, "plain", "--fixed"],
            "promptPosition": "last", "transcript": "text", "stdin": "null"
        }}
    });
    std::fs::write(adapter.join("config.json"), config.to_string()).unwrap();
    let mut options = base.options();
    options.config_dir = Some(base.path().join("config"));
    let orchestrator = Orchestrator::open(options).await.unwrap();
    let text = twice("headless", "do it").replace("permissions: all", "adapter: plain");
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let argv = std::fs::read_to_string(base.path().join("argv.txt")).unwrap();
    assert_eq!(argv, "--fixed|do it|--fixed|do it|");
}

/// Spec: C0.14.2, GR.6.4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_says_no_may_say_more_and_the_agent_is_told_once() {
    let base = Base::new();
    let (orchestrator, id, mut events) = begin(
        &base,
        "
name: denied
description: An agent that asks.
steps:
  - name: ask
    type: agent
    mode: interactive
    permissions: ask
    prompt: approve touch made.txt; say tried
",
    )
    .await;
    let asked = intervention(&mut events).await;
    let decision = InterventionDecision::new(InterventionChoice::Deny, "a test");
    let decision = decision.with_text("disobey echo told >> told.txt; say understood");
    orchestrator.answer(&asked.id, decision, asked.digest.clone()).await.unwrap();
    fact(&mut events, "that the text arrived", |event| {
        let arrived =
            matches!(event, SessionEvent::InputDelivered { input: DeliveredInput::Queued(1), .. });
        arrived.then_some(())
    })
    .await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert!(!base.path().join("made.txt").exists());
    assert_eq!(std::fs::read_to_string(base.path().join("told.txt")).unwrap(), "told\n");
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_of_the_environment_are_shown_nowhere() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let mut new = base.definition(
        r#"
name: secretive
description: Prints what it must not.
steps:
  - {name: script, type: script, command: 'echo "caller $CALLER_TOKEN step $STEP_API_KEY"', env: {STEP_API_KEY: step-s3cret-0002}, output: printed}
  - {name: agent, type: agent, mode: headless, permissions: all, prompt: 'disobey cat answer.txt; say caller-s3cret-0001', output: said}
  - {name: broken, type: script, command: 'echo "no $CALLER_TOKEN" >&2; exit 3'}
"#,
    );
    let secret = "caller-s3cret-0001";
    new.env.insert("CALLER_TOKEN".into(), secret.into());
    std::fs::write(base.path().join("answer.txt"), secret).unwrap();
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Failed);
    assert_eq!(view.variables["printed"], "caller [redacted] step [redacted]");
    assert_eq!(view.variables["said"], "[redacted]");
    assert!(view.errors[0].error.contains("no [redacted]"), "{:?}", view.errors);
    // Only the prompt has it, because the definition itself contains it.
    let told = |text: &str| text.matches(secret).count();
    let mut live = String::new();
    loop {
        let envelope = events.next().await.unwrap().unwrap();
        match &envelope.what {
            PublishedEvent::Live(LiveEvent::Output { clean, .. }) => live.push_str(clean),
            PublishedEvent::Fact { event, .. } if event.kind() == "workflow.failed" => break,
            PublishedEvent::Fact { event, .. } if event.kind() == "task.ended" => {
                assert_eq!(told(&serde_json::to_string(&**event).unwrap()), 0, "{event:?}");
            }
            _ => {}
        }
    }
    assert_eq!(told(&live), 0, "{live}");
}
