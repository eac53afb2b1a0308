//! Many agents in one step: hundreds in the test command, ten thousand in `cargo xtask soak`.

use std::fmt::Write;
use std::time::Instant;

use coven_model::WorkflowStatus;
use coven_model::event::SessionEvent;
use coven_orchestrator::Orchestrator;
use serde_json::json;

use crate::support::{Base, end, fact, processes_of};

/// How many there are, if not a few hundred.
const ITEMS_VARIABLE: &str = "COVEN_TEST_ITEMS";

fn is_last(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::WorkflowCompleted { .. } | SessionEvent::WorkflowFailed { .. })
}

/// Spec: GR.3.1, GR.3.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fan_out_over_hundreds_of_items_gives_a_result_for_each_in_order() {
    let items: usize = std::env::var(ITEMS_VARIABLE).map_or(300, |items| items.parse().unwrap());
    let base = Base::new();
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let mut list = String::new();
    for item in 0..items {
        write!(list, "{}{item}", if item == 0 { "" } else { ", " }).unwrap();
    }
    let text = format!(
        "name: many\ndescription: Many at once.\nsteps:\n  - name: work\n    type: parallel-agents\n    adapter: shell\n    mode: headless\n    max_concurrent: 8\n    for_each: [{list}]\n    extra_args: [echo]\n    prompt: did ${{item}}\n    output: results\n"
    );
    let begun = Instant::now();
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    // So many may take as long as they take, as long as something happens.
    while !fact(&mut events, "another fact", |event| Some(is_last(event))).await {}
    eprintln!("{items} items took {:.1?}", begun.elapsed());
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(view.task_status.len(), items);
    // A large value is kept aside, and the view only names it.
    let results = match view.variables["results"].get("$value") {
        Some(digest) => {
            let folder = base.path().join(".coven/sessions").join(id.as_str()).join("values");
            let file = folder.join(digest.as_str().unwrap().trim_start_matches("sha256:"));
            serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
        }
        None => view.variables["results"].clone(),
    };
    let results = results.as_array().unwrap();
    assert_eq!(results.len(), items);
    for (index, result) in results.iter().enumerate() {
        assert_eq!(result["ok"], true);
        assert_eq!(result["output"], json!(format!("did {index}")));
    }
    assert_eq!(processes_of(&id), []);
}
