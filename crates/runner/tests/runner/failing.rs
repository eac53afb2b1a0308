//! Mistakes in our own code: a panic of the task that follows an agent is told as the outcome of
//! the agent's task, and no process is left without an owner.

use std::sync::Arc;

use coven_adapters::config::Config;
use coven_adapters::launch::{LaunchError, LaunchRequest, LaunchSpec};
use coven_adapters::{AgentAdapter, OutputChunk, ScreenRules};
use coven_model::{AgentState, ProcessEnding, TokenUsage};
use coven_runner::{
    AgentRunner, AgentTask, DeliveryError, HeadlessRunner, Message, RunnerEvent, TaskPlace,
};
use coven_runtime::processes;

use crate::support::{DEADLINE, Home, demo, state, wait};

/// What the adapter below fails at.
const WORD: &str = "calamity";

/// The demo agent's adapter, with a mistake.
struct PanickingAdapter(Arc<dyn AgentAdapter>);

impl AgentAdapter for PanickingAdapter {
    fn kind(&self) -> &str {
        self.0.kind()
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Result<LaunchSpec, LaunchError> {
        self.0.launch(request)
    }

    fn rules(&self) -> Arc<ScreenRules> {
        self.0.rules()
    }

    fn observe(&self, output: OutputChunk<'_>) {
        assert!(!output.clean.contains(WORD), "the adapter cannot read this");
    }

    fn config(&self) -> &Config {
        self.0.config()
    }
}

fn adapter() -> Arc<dyn AgentAdapter> {
    Arc::new(PanickingAdapter(demo()))
}

async fn a_panic_is_the_outcome(job: &str, place: &TaskPlace) {
    let task = AgentTask::interactive(job, Some("say ready; hang"));
    let runner = AgentRunner::start(adapter(), task, place).unwrap();
    let mut events = runner.subscribe();
    state(&runner, AgentState::Working).await;
    assert!(!processes::of_job(job).is_empty());
    let waiting = {
        let runner = runner.clone();
        tokio::spawn(async move { runner.send(Message::new(WORD)).await })
    };
    let outcome = wait(&mut events, "the end", |event| match event {
        RunnerEvent::Done(outcome) => Some(outcome),
        _ => None,
    })
    .await;
    assert!(!outcome.ok && outcome.ending == ProcessEnding::Stopped, "{outcome:?}");
    assert!(outcome.reason.contains("the adapter cannot read this"), "{outcome:?}");
    assert_eq!(processes::of_job(job), [], "nothing runs without an owner");
    let waited = tokio::time::timeout(DEADLINE, waiting).await.unwrap().unwrap();
    assert_eq!(waited, Err(DeliveryError::Ended));
    assert_eq!(runner.verdict().state, AgentState::Exited);
    assert_eq!(runner.done().await.as_ref(), Some(&*outcome));
    assert_eq!(runner.stop().await, Ok(*outcome));
    assert!(runner.view().await.is_none());
}

#[tokio::test]
async fn a_panic_of_the_actor_is_the_outcome_of_its_task() {
    let home = Home::new();
    let job = format!("panic-{}", home.path().display());
    a_panic_is_the_outcome(&job, &home.local()).await;
}

#[tokio::test]
async fn a_held_process_does_not_outlive_the_panic_of_its_actor() {
    let home = Home::new();
    let job = format!("panic-held-{}", home.path().display());
    a_panic_is_the_outcome(&job, &home.held()).await;
}

#[tokio::test]
async fn a_panic_of_a_headless_run_is_its_outcome() {
    let home = Home::new();
    let job = format!("panic-headless-{}", home.path().display());
    let task = AgentTask::headless(&*job, &format!("say {WORD}; hang"));
    let place = home.local();
    let runner = HeadlessRunner::start(adapter(), task, &place, TokenUsage::default()).unwrap();
    let outcome = tokio::time::timeout(DEADLINE, runner.done()).await.unwrap().unwrap();
    assert!(outcome.reason.contains("the adapter cannot read this"), "{outcome:?}");
    assert_eq!(processes::of_job(&job), []);
}
