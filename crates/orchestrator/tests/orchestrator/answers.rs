//! The output of an agent on a terminal is its answer.

use coven_model::event::SessionEvent;
use coven_model::{InterventionChoice, InterventionKind, JobOutcome, WorkflowStatus};
use serde_json::json;

use crate::support::{Base, decide, end, fact, intervention, nothing_left, run};

/// A grimoire with one agent on a terminal, whose output is `said`.
fn one(prompt: &str, more: &str) -> String {
    let prompt = json!(prompt);
    format!(
        "name: one\ndescription: A test.\ndefaults: {{adapter: demo, mode: interactive}}\n\
         steps:\n  - {{name: one, type: agent, output: said, prompt: {prompt}{more}}}\n"
    )
}

/// What is said before a tool is used is not the answer, nor is anything that the screen shows
/// beside it; what the screen shows in another form is as it was said.
///
/// Spec: GR.2.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_output_of_an_agent_on_a_terminal_is_what_it_answered_last() {
    let base = Base::new();
    let words = "word ".repeat(200);
    let prompt = format!("say I will look.; disobey echo seen; say {}", words.trim());
    let (_, id, view) = run(&base, &one(&prompt, "")).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(view.variables["said"], words.trim());
    nothing_left(&id, &view);
}

/// Spec: GR.2.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_on_a_terminal_can_be_asked_for_json() {
    let long = "a reason that is longer than the row of a terminal ".repeat(6);
    let value = json!({"verdict": "pass", "file": "src/__init__.py", "why": long.trim()});
    let schema = ", expect: {type: object, required: [verdict]}";
    for expect in [", expect: json", schema] {
        let (_, _, view) = run(&Base::new(), &one(&format!("json {value}"), expect)).await;
        assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
        assert_eq!(view.variables["said"], value, "{expect}");
    }
    let (_, _, view) = run(&Base::new(), &one("json {\"other\": 1}", schema)).await;
    assert_eq!(view.status, WorkflowStatus::Failed);
    assert!(view.errors[0].error.contains("does not fit the schema"), "{:#?}", view.errors);
}

/// There may be JSON on a screen that is not the answer, so a screen in its place is said to be one,
/// and is never read as data.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_without_an_answer_says_so_in_its_output_and_is_never_json() {
    let prompt = "json {\"verdict\": \"pass\"}; fail the model is gone";
    let (_, _, view) = run(&Base::new(), &one(prompt, "")).await;
    let said = view.variables["said"].as_str().unwrap();
    let note =
        "[Its answer could not be found: the turn ended without an answer. The screen shows:]\n";
    assert!(said.starts_with(note) && said.contains("the model is gone"), "{said}");
    let (_, _, view) = run(&Base::new(), &one(prompt, ", expect: json")).await;
    assert_eq!(view.status, WorkflowStatus::Failed);
    let reason = "its answer could not be found: the turn ended without an answer";
    assert!(view.errors[0].error.contains(reason), "{:#?}", view.errors);
}

/// A task of a stage that is finished by hand has the answer of its last turn, and each turn that
/// ended shows its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_a_person_finishes_has_the_answer_of_its_last_turn() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let task = json!({"id": "talk", "adapter": "demo", "prompt": "say first"});
    let definition = json!({"id": "by-hand", "stages": [{"id": "s", "tasks": [task]}]});
    let id = orchestrator.execute_workflow(base.definition(&definition.to_string())).await.unwrap();
    let mut events = orchestrator.controller(&id).unwrap().subscribe(0).unwrap();
    let first = intervention(&mut events).await;
    assert_eq!((first.kind, &*first.excerpt), (InterventionKind::EndedTurn, "first"));
    let send = coven_model::InterventionDecision::new(InterventionChoice::Send, "a test");
    orchestrator.answer(&first.id, send.with_text("say second"), None).await.unwrap();
    let second = intervention(&mut events).await;
    assert_eq!((second.kind, &*second.excerpt), (InterventionKind::EndedTurn, "second"));
    decide(&orchestrator, &second, InterventionChoice::Complete).await;
    let outcome: JobOutcome = fact(&mut events, "the end of the task", |event| match event {
        SessionEvent::TaskEnded(ended) => Some(ended.outcome.clone()),
        _ => None,
    })
    .await;
    assert_eq!((outcome.ok, outcome.output.as_deref()), (true, Some("second")), "{outcome:?}");
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
}
