//! Agents without a terminal.

use std::sync::{Arc, Mutex};

use coven_adapters::launch::{LaunchError, LaunchRequest, LaunchSpec};
use coven_adapters::transcript::TranscriptItem;
use coven_adapters::{AgentAdapter, Config, Options, OutputChunk, default_registry};
use coven_model::{AgentMode, JobOutcome, PermissionLevel, ProcessEnding, TokenUsage, UsDollars};
use coven_runner::{AgentTask, HeadlessRunner, OkCodes, RunnerEvent, StartError};
use coven_runtime::domain::PaneStream;
use coven_runtime::processes;

use crate::support::{Home, demo, wait};

fn start(home: &Home, task: AgentTask) -> HeadlessRunner {
    HeadlessRunner::start(demo(), task, &home.local(), TokenUsage::default()).unwrap()
}

async fn outcome(home: &Home, task: AgentTask) -> JobOutcome {
    start(home, task).done().await.unwrap()
}

/// Spec: C1.2.1
#[tokio::test]
async fn a_headless_run_tells_its_output_and_its_result() {
    let home = Home::new();
    let runner = start(&home, AgentTask::headless("headless", "say forty two; cost 0.25"));
    let mut events = runner.subscribe();
    let (mut output, mut said, mut usage) = (false, false, None);
    let outcome = wait(&mut events, "the end", |event| {
        match event {
            RunnerEvent::Output { raw, clean, .. } => output |= !raw.is_empty() && !clean.is_empty(),
            RunnerEvent::Entry(entry) => {
                said |= matches!(&*entry, TranscriptItem::Text { text, .. } if text.text == "forty two");
            }
            RunnerEvent::Usage(told) => usage = Some(told),
            RunnerEvent::Done(outcome) => return Some(outcome),
            _ => {}
        }
        None
    })
    .await;
    assert!(output && said && usage.is_some());
    assert!(outcome.ok, "{outcome:?}");
    assert_eq!(outcome.output.as_deref(), Some("forty two"));
    assert_eq!(outcome.ending, ProcessEnding::Exited { code: 0 });
    assert_eq!(outcome.usage.cost_usd, UsDollars::new(0.25));
    assert!(outcome.agent_session.is_some());
}

/// What an adapter was told: the stream and the text.
type Heard = Arc<Mutex<Vec<(bool, String)>>>;

struct Listener {
    config: Config,
    script: &'static str,
    heard: Heard,
}

impl AgentAdapter for Listener {
    fn kind(&self) -> &'static str {
        "listener"
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Result<LaunchSpec, LaunchError> {
        let shell = default_registry().create("shell", Options::default()).unwrap();
        let extra: Vec<String> = ["sh", "-c"].map(str::to_owned).to_vec();
        shell.launch(&LaunchRequest {
            prompt: Some(self.script),
            extra_args: &extra,
            ..request.clone()
        })
    }

    fn observe(&self, output: OutputChunk<'_>) {
        self.heard.lock().unwrap().push((output.on_stderr, output.clean.to_owned()));
    }

    fn config(&self) -> &Config {
        &self.config
    }
}

fn listener(script: &'static str) -> (Arc<dyn AgentAdapter>, Heard) {
    let heard = Heard::default();
    let shell = default_registry().create("shell", Options::default()).unwrap();
    let config = shell.config().clone();
    (Arc::new(Listener { config, script, heard: heard.clone() }), heard)
}

/// Spec: C1.2.1
#[tokio::test]
async fn both_streams_are_told_apart_raw_and_clean_and_the_adapter_hears_the_same() {
    let home = Home::new();
    let (adapter, heard) = listener("printf '\\033[1mout\\033[0m'; printf err >&2");
    let task = AgentTask::headless("streams", "-");
    let runner =
        HeadlessRunner::start(adapter, task, &home.local(), TokenUsage::default()).unwrap();
    let mut events = runner.subscribe();
    let mut told = Vec::new();
    let mut raw_out = Vec::new();
    wait(&mut events, "the end", |event| match event {
        RunnerEvent::Output { stream, raw, clean, .. } => {
            if stream == PaneStream::Output {
                raw_out.extend_from_slice(&raw);
            }
            told.push((stream == PaneStream::Error, clean.to_string()));
            None
        }
        RunnerEvent::Done(_) => Some(()),
        _ => None,
    })
    .await;
    let of = |list: &[(bool, String)], errors: bool| -> String {
        list.iter().filter(|(error, _)| *error == errors).map(|(_, text)| text.as_str()).collect()
    };
    assert_eq!(of(&told, false), "out");
    assert_eq!(of(&told, true), "err");
    assert_eq!(raw_out, b"\x1b[1mout\x1b[0m");
    assert_eq!(*heard.lock().unwrap(), told);
}

/// Spec: C1.2.2
#[tokio::test]
async fn text_that_is_sent_arrives_on_standard_input() {
    let home = Home::new();
    let adapter: Arc<dyn AgentAdapter> = {
        let path = home.path().join("reader.json");
        let file = r#"{"command": "sh", "modes": {"headless": {"baseArgs": ["-c"], "stdin": "pipe", "transcript": "text"}}}"#;
        std::fs::write(&path, file).unwrap();
        let options = Options { config_path: Some(path), ..Options::default() };
        default_registry().create("reader", options).unwrap().into()
    };
    let task = AgentTask::headless("stdin", "read line; echo got:$line; read line || echo closed");
    let runner =
        HeadlessRunner::start(adapter, task, &home.local(), TokenUsage::default()).unwrap();
    runner.send("hello there\n").await;
    runner.close_input().await;
    let outcome = runner.done().await.unwrap();
    assert!(outcome.ok, "{outcome:?}");
    assert_eq!(outcome.output.as_deref(), Some("got:hello there\nclosed"));
}

#[tokio::test]
async fn exit_0_without_a_result_is_no_success() {
    let home = Home::new();
    let outcome = outcome(&home, AgentTask::headless("no-result", "exit 0 now")).await;
    assert_eq!(outcome.ending, ProcessEnding::Exited { code: 0 });
    assert!(!outcome.ok, "{outcome:?}");
}

#[tokio::test]
async fn a_failed_turn_a_bad_code_a_signal_and_a_timeout_each_say_so() {
    let home = Home::new();
    let failed = outcome(&home, AgentTask::headless("fail", "fail out of luck")).await;
    assert!(!failed.ok && failed.reason.contains("out of luck"), "{failed:?}");
    let code = outcome(&home, AgentTask::headless("code", "exit 7")).await;
    assert!(!code.ok && code.ending == ProcessEnding::Exited { code: 7 }, "{code:?}");
    let signal = outcome(&home, AgentTask::headless("signal", "die KILL")).await;
    assert!(!signal.ok && signal.ending == ProcessEnding::Signalled { signal: 9 }, "{signal:?}");
    let mut task = AgentTask::headless("timeout", "hang");
    task.timeout = Some(std::time::Duration::from_millis(300));
    let late = outcome(&home, task).await;
    assert!(!late.ok && late.ending == ProcessEnding::TimedOut, "{late:?}");
}

#[tokio::test]
async fn denials_are_listed_and_the_answer_still_counts() {
    let home = Home::new();
    let mut task = AgentTask::headless("denied", "approve touch made.txt; say still answered");
    task.permission = Some(PermissionLevel::ReadOnly);
    let outcome = outcome(&home, task).await;
    assert!(!home.path().join("made.txt").exists());
    assert!(outcome.ok, "{outcome:?}");
    assert_eq!(outcome.denials.len(), 1, "{outcome:?}");
}

#[tokio::test]
async fn codes_that_the_task_accepts_are_as_good_as_0() {
    let home = Home::new();
    let (adapter, _) = listener("exit 3");
    for (codes, ok) in
        [(OkCodes::These(vec![0, 3]), true), (OkCodes::Any, true), (OkCodes::default(), false)]
    {
        let mut task = AgentTask::headless("codes", "-");
        task.ok_codes = codes;
        let place = home.local();
        let runner =
            HeadlessRunner::start(adapter.clone(), task, &place, TokenUsage::default()).unwrap();
        assert_eq!(runner.done().await.unwrap().ok, ok);
    }
}

#[tokio::test]
async fn a_conversation_is_continued_by_its_id() {
    let home = Home::new();
    let first = outcome(&home, AgentTask::headless("first", "say hello; cost 0.5")).await;
    let mut task = AgentTask::headless("second", "say again; cost 0.25");
    task.resume = first.agent_session.clone();
    let place = home.local();
    let second = HeadlessRunner::start(demo(), task, &place, first.usage).unwrap();
    let second = second.done().await.unwrap();
    assert!(second.ok, "{second:?}");
    assert_eq!(second.agent_session, first.agent_session);
    assert_eq!(second.usage.cost_usd, UsDollars::new(0.25), "only what this run cost");
}

#[tokio::test]
async fn what_a_stopped_run_left_behind_is_ended_too() {
    let home = Home::new();
    let job = format!("leaves-{}", std::process::id());
    let runner =
        start(&home, AgentTask::headless(&*job, "ignore-signals; double-fork 300; say up; hang"));
    let mut events = runner.subscribe();
    wait(&mut events, "its word", |event| match event {
        RunnerEvent::Entry(entry) => {
            matches!(&*entry, TranscriptItem::Text { text, .. } if text.text == "up").then_some(())
        }
        _ => None,
    })
    .await;
    assert!(processes::of_job(&job).len() >= 2);
    let outcome = runner.stop().await.unwrap();
    assert_eq!(outcome.ending, ProcessEnding::Stopped);
    assert_eq!(processes::of_job(&job), []);
}

/// Spec: C1.6.1
#[tokio::test]
async fn each_runner_takes_only_tasks_of_its_mode() {
    let home = Home::new();
    let task = AgentTask::interactive("wrong", None);
    let refused = HeadlessRunner::start(demo(), task, &home.local(), TokenUsage::default());
    assert!(matches!(refused, Err(StartError::Mode { wanted: AgentMode::Headless })));
}
