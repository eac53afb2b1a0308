//! Clocks that are set while sessions run: time limits are about time that passes, and nothing else
//! is thrown off either.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use coven_model::event::SessionEvent;
use coven_model::{ProcessEnding, Timestamp, WorkflowStatus};
use coven_orchestrator::{Clock, Orchestrator};

use crate::support::{Base, end, fact, nothing_left};

const HOURS: i64 = 3600 * 1000;

/// A clock that can be set, in milliseconds from the real time.
#[derive(Clone, Default)]
struct Settable(Arc<AtomicI64>);

impl Settable {
    fn clock(&self) -> Clock {
        let off = self.0.clone();
        Clock::new(move || {
            let real = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
            let real = u64::try_from(real).unwrap();
            Timestamp::from_millis(real.saturating_add_signed(off.load(Ordering::SeqCst)))
        })
    }

    fn set(&self, off: i64) {
        self.0.store(off, Ordering::SeqCst);
    }
}

async fn open(base: &Base, clock: &Settable) -> Orchestrator {
    let mut options = base.options();
    options.clock = clock.clock();
    Orchestrator::open(options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_limit_ends_a_job_although_the_clock_is_set_back() {
    let (base, clock) = (Base::new(), Settable::default());
    let orchestrator = open(&base, &clock).await;
    let new = base.definition(
        "name: limited\ndescription: Never ends.\nsteps:\n  - {name: wait, type: agent, mode: headless, timeout: 1s, prompt: hang}\n",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    fact(&mut events, "the limit", |event| {
        matches!(event, SessionEvent::TimerSet { .. }).then_some(())
    })
    .await;
    clock.set(-5 * HOURS);
    let ending = fact(&mut events, "the end of the job", |event| match event {
        SessionEvent::TaskEnded(ended) => Some(ended.outcome.ending.clone()),
        _ => None,
    })
    .await;
    assert_eq!(ending, ProcessEnding::TimedOut);
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Failed);
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_keeps_its_time_although_the_clock_is_set_forward() {
    let (base, clock) = (Base::new(), Settable::default());
    let orchestrator = open(&base, &clock).await;
    // Something happens in the session while the job runs, so that its timers are looked at.
    let new = base.definition(
        r#"
name: patient
description: Has an hour.
steps:
  - name: work
    type: parallel-agents
    mode: headless
    timeout: 1h
    for_each: [0.5, 1, 1.5]
    prompt: "think ${item}; say done"
"#,
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    for _ in 0..3 {
        fact(&mut events, "the limit", |event| {
            matches!(event, SessionEvent::TimerSet { .. }).then_some(())
        })
        .await;
    }
    clock.set(2 * HOURS);
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_before_another_attempt_ends_although_the_clock_is_set_back() {
    let (base, clock) = (Base::new(), Settable::default());
    let orchestrator = open(&base, &clock).await;
    let new = base.definition(
        "name: again\ndescription: Fails once.\nsteps:\n  - name: try\n    type: script\n    retry: {attempts: 2, delay: 500ms}\n    command: test -e ready.txt || { touch ready.txt; exit 1; }\n",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    fact(&mut events, "the pause", |event| {
        matches!(event, SessionEvent::TimerSet { .. }).then_some(())
    })
    .await;
    clock.set(-5 * HOURS);
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restart_what_is_due_by_the_clock_is_due() {
    let (base, clock) = (Base::new(), Settable::default());
    let orchestrator = open(&base, &clock).await;
    let new = base.definition(
        "name: overdue\ndescription: Has an hour.\nsteps:\n  - {name: wait, type: agent, mode: headless, timeout: 1h, prompt: hang}\n",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    fact(&mut events, "the limit", |event| {
        matches!(event, SessionEvent::TimerSet { .. }).then_some(())
    })
    .await;
    orchestrator.close().await;
    drop(orchestrator);
    clock.set(2 * HOURS);
    let orchestrator = open(&base, &clock).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Failed);
    assert!(format!("{:?}", view.errors).contains("longer than"), "{:?}", view.errors);
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_made_after_the_clock_was_set_back_are_like_any_other() {
    let (base, clock) = (Base::new(), Settable::default());
    let orchestrator = open(&base, &clock).await;
    let echo = "name: echo\ndescription: Says it.\nsteps:\n  - {name: say, type: script, command: echo hi}\n";
    let before = orchestrator.execute_workflow(base.definition(echo)).await.unwrap();
    let early = end(&orchestrator, &before).await;
    clock.set(-5 * HOURS);
    let after = orchestrator.execute_workflow(base.definition(echo)).await.unwrap();
    let late = end(&orchestrator, &after).await;
    assert!(late.created_at < early.created_at.after(Duration::from_secs(1)), "it was set back");
    assert_eq!(late.status, WorkflowStatus::Completed);
    orchestrator.close().await;
    drop(orchestrator);
    let orchestrator = open(&base, &clock).await;
    assert_eq!(orchestrator.list().len(), 2);
}
