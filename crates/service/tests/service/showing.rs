//! Looking at a session asks nobody and reads nothing.

use std::time::Duration;

use coven_api::intervention::InterventionQuery;
use coven_api::workflow::{StartWorkflow, WorkflowDefinition};
use coven_model::WorkflowStatus;
use futures_util::FutureExt;

use crate::{folder, service};

/// How long a run may take to ask its question on a busy machine.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(30);

/// Interactive under `defaults`, so that the mode of a task that has not begun is known too.
const ASKS: &str = "name: asks
description: Asks a person.
defaults: {adapter: demo, mode: interactive}
steps:
  - {name: ask, type: gate, message: Go on?}
  - {name: talk, type: agent, prompt: hello}
";

/// How many reads of files this thread has made.
fn reads() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let count = text.lines().find_map(|line| line.strip_prefix("syscr: ")).unwrap();
    count.parse().unwrap()
}

/// The runtime has one thread. So a request that is answered the first time it is polled has waited
/// for no other task, the session's actor among them, and for no thread that reads files; and what
/// this thread reads the system counts.
#[tokio::test]
async fn a_live_session_is_shown_without_a_message_to_its_actor_and_without_a_read() {
    let home = tempfile::tempdir().unwrap();
    let service = service(home.path());
    let start = StartWorkflow {
        definition: Some(WorkflowDefinition {
            name: "asks.yaml".to_owned(),
            text: ASKS.to_owned(),
        }),
        base_dir: Some(folder(home.path(), "project")),
        ..StartWorkflow::default()
    };
    let id = service.start(start, None).await.unwrap().id.to_string();
    let asked = async {
        let query = InterventionQuery::default();
        while service.interventions(&query).await.unwrap().interventions.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(QUESTION_TIMEOUT, asked).await.expect("it should ask");
    let counting = {
        let before = reads();
        reads() - before
    };
    let before = reads();
    let shown = service.show(&id).now_or_never().expect("it waits for nothing").unwrap();
    assert_eq!(reads() - before, counting, "it reads no file");
    assert_eq!(shown.item.status, WorkflowStatus::Blocked);
    assert!(shown.live && shown.last_seq > 0);
    assert_eq!(shown.interventions.len(), 1);
    let talk = shown.tasks.iter().find(|task| task.id.as_str() == "talk").unwrap();
    assert_eq!(talk.mode, coven_model::AgentMode::Interactive, "as its defaults say");
    service.stop(true);
    service.close().await;
}
