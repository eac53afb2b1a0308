//! Grimoires: every type of step on real processes.

use coven_model::event::SessionEvent;
use coven_model::{InterventionChoice, InterventionKind, WorkflowStatus};
use serde_json::json;

use crate::support::{Base, decide, end, fact, intervention, kinds, nothing_left, run};

/// Spec: GR.2.1, GR.2.2, GR.5.1, GR.5.2, GR.6.1, GR.6.2, GR.8.1, GR.8.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_and_an_agent_hand_their_output_on() {
    let base = Base::new();
    let (orchestrator, id, view) = run(
        &base,
        r#"
name: hand-over
description: A script, an agent, a script.
steps:
  - name: first
    type: script
    command: echo "one; two"; echo noise >&2
    output: words
  - name: second
    type: agent
    mode: headless
    prompt: "say I was given ${words} and ${steps.first.stderr}"
    output: said
  - name: third
    type: script
    command: printf '%s' "${said}" > said.txt; cat said.txt
    output: read
"#,
    )
    .await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(view.variables["words"], json!("one; two"));
    assert_eq!(view.variables["read"], json!("I was given one; two and noise"));
    let facts = kinds(&orchestrator, &id).await;
    assert_eq!(facts.iter().filter(|kind| *kind == "workflow.step.started").count(), 3);
    assert_eq!(facts.iter().filter(|kind| *kind == "workflow.step.completed").count(), 3);
    nothing_left(&id, &view);
}

/// Spec: GR.2.3, GR.6.4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_that_fails_blocks_and_goes_on_when_it_is_retried() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let new = base.definition(
        "name: gated\ndescription: A gate.\nsteps:\n  - {name: ready, type: gate, command: test -e ready.txt, message: Make ready.txt}\n  - {name: after, type: script, command: echo through}\n",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::FailedGate);
    assert_eq!(
        asked.options,
        [InterventionChoice::Retry, InterventionChoice::Skip, InterventionChoice::Abort]
    );
    let controller = orchestrator.controller(&id).unwrap();
    assert_eq!(controller.wait(true).await, WorkflowStatus::Blocked);
    std::fs::write(base.path().join("ready.txt"), "").unwrap();
    decide(&orchestrator, &asked, InterventionChoice::Retry).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
}

/// Spec: GR.3.1, GR.3.2, GR.5.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fan_out_gives_results_in_the_order_of_its_items() {
    let base = Base::new();
    let (_, id, view) = run(
        &base,
        r#"
name: fan-out
description: Several agents at once.
steps:
  - name: list
    type: script
    command: echo '["slow", "quick", "middling"]'
    expect: json
    output: items
  - name: work
    type: parallel-agents
    mode: headless
    for_each: ${items}
    prompt: "say did ${item} as ${index}"
    output: results
"#,
    )
    .await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let results = view.variables["results"].as_array().unwrap().clone();
    let outputs: Vec<_> = results.iter().map(|result| result["output"].clone()).collect();
    assert_eq!(
        outputs,
        [json!("did slow as 0"), json!("did quick as 1"), json!("did middling as 2")]
    );
    nothing_left(&id, &view);
}

/// Spec: GR.3.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_in_a_fan_out_lets_the_others_finish_and_asks() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let new = base.definition(
        r#"
name: partial
description: One of three fails.
steps:
  - name: list
    type: script
    command: echo '["say a", "fail b", "say c"]'
    expect: json
    output: items
  - name: work
    type: parallel-agents
    mode: headless
    for_each: ${items}
    prompt: ${item}
    output: results
"#,
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::PartialFailure);
    decide(&orchestrator, &asked, InterventionChoice::Proceed).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed);
    let oks: Vec<bool> = view.variables["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["ok"].as_bool().unwrap())
        .collect();
    assert_eq!(oks, [true, false, true]);
}

/// Spec: GR.4.1, GR.4.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_goes_on_until_its_arbiter_is_content() {
    let base = Base::new();
    for (round, verdict) in [(1, "actionable"), (2, "done")] {
        let answer = format!("json {{\"verdict\": \"{verdict}\", \"reason\": \"round {round}\"}}");
        std::fs::write(base.path().join(format!("verdict-{round}.txt")), answer).unwrap();
    }
    let (orchestrator, id, view) = run(
        &base,
        r#"
name: looped
description: Work and judgement in turns.
steps:
  - name: polish
    type: agent-loop
    mode: headless
    prompt: "say round ${iteration} after ${verdict.reason}"
    arbiter:
      prompt: Is it good?
      extra_args: [--script, "verdict-${iteration}.txt"]
    max_iterations: 5
    output: polished
"#,
    )
    .await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let facts = kinds(&orchestrator, &id).await;
    assert_eq!(facts.iter().filter(|kind| *kind == "workflow.loop.judged").count(), 2);
    nothing_left(&id, &view);
}

/// Spec: GR.6.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_fails_ends_the_run_and_says_why() {
    let base = Base::new();
    let (orchestrator, id, view) = run(
        &base,
        "name: failing\ndescription: Fails.\nsteps:\n  - {name: bad, type: script, command: echo details >&2; exit 4}\n  - {name: never, type: script, command: touch never.txt}\n",
    )
    .await;
    assert_eq!(view.status, WorkflowStatus::Failed);
    let error = format!("{:?}", view.errors);
    assert!(error.contains("bad") && error.contains("details"), "{error}");
    assert!(!base.path().join("never.txt").exists());
    assert_eq!(kinds(&orchestrator, &id).await.last().unwrap(), "workflow.failed");
}

/// Spec: C0.10.1, C1.9.1, C0.4.2, GR.8.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_of_an_agent_blocks_the_run_until_it_is_answered() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let new = base.definition(
        r"
name: asking
description: An agent that asks.
steps:
  - name: ask
    type: agent
    mode: interactive
    permissions: ask
    prompt: approve touch made.txt; say done
",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::Approval);
    assert!(asked.excerpt.contains("touch made.txt"), "{}", asked.excerpt);
    assert!(!base.path().join("made.txt").exists());
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    let by = fact(&mut events, "that it was answered", |event| match event {
        SessionEvent::InterventionResolved { decision, .. } => Some(decision.by.clone()),
        _ => None,
    })
    .await;
    assert_eq!(by, "a test");
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert!(base.path().join("made.txt").exists());
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_runs_to_its_end_with_one_answer() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.grimoire("demo")).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::Approval);
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let greeting = view.variables["greeting"].as_str().unwrap();
    assert!(greeting.contains("Hello, world."), "{greeting}");
    nothing_left(&id, &view);
}
