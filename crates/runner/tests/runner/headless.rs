//! Agents without a terminal.

use coven_model::{Ending, Usage};
use coven_runner::{Event, HeadlessRunner, Task};

use crate::support::{Home, demo, wait};

/// Spec: C1.2.1
#[tokio::test]
async fn a_headless_run_tells_its_output_and_its_result() {
    let home = Home::new();
    let task = Task::headless("headless", "say forty two");
    let runner = HeadlessRunner::start(demo(), task, &home.local(), Usage::default()).unwrap();
    let mut events = runner.subscribe();
    let mut output = false;
    let outcome = wait(&mut events, "the end", |event| match event {
        Event::Output { raw, clean, .. } => {
            output |= !raw.is_empty() && !clean.is_empty();
            None
        }
        Event::Done(outcome) => Some(outcome),
        _ => None,
    })
    .await;
    assert!(output);
    assert!(outcome.ok, "{outcome:?}");
    assert_eq!(outcome.output.as_deref(), Some("forty two"));
    assert_eq!(outcome.ending, Ending::Exited { code: 0 });
    assert!(outcome.agent_session.is_some());
}
