//! Loops: what an arbiter is told, and what happens when the rounds are used up.

use coven_model::{InterventionChoice, InterventionKind, WorkflowStatus};
use serde_json::Value;

use crate::support::{Base, decide, end, intervention, nothing_left};

/// A loop whose arbiter is never content.
fn endless(base: &Base, on_max_iterations: &str) -> String {
    let verdict = r#"json {"verdict": "actionable", "reason": "never good enough"}"#;
    std::fs::write(base.path().join("verdict.txt"), verdict).unwrap();
    format!(
        r#"
name: endless
description: Never good enough.
steps:
  - name: polish
    type: agent-loop
    mode: headless
    permissions: all
    prompt: "disobey echo ${{iteration}} >> log.txt; say round ${{iteration}}"
    arbiter: {{prompt: Good?, extra_args: [--script, verdict.txt]}}
    max_iterations: 2
    on_max_iterations: {on_max_iterations}
    output: polished
  - {{name: after, type: script, command: echo after >> log.txt}}
"#
    )
}

/// Two rounds of the demo agent, in one conversation.
fn in_one_conversation(base: &Base) -> String {
    let text = endless(base, "proceed")
        .replace("disobey echo ${iteration} >> log.txt; say round", "round");
    text.replace("max_iterations: 2", "max_iterations: 2\n    context: continue")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_that_continues_the_conversation_knows_of_the_round_before() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let new = base.definition(&in_one_conversation(&base));
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let polished = view.variables["polished"].as_str().unwrap();
    assert!(polished.contains("You said: \"round 2\""), "{polished}");
    assert!(polished.contains("Before that you said: \"round 1\""), "{polished}");
    let continues = "it continues the conversation of the round before";
    assert_eq!(view.history.iter().filter(|entry| entry.text == continues).count(), 1);
    nothing_left(&id, &view);
}

fn log(base: &Base) -> String {
    std::fs::read_to_string(base.path().join("log.txt")).unwrap()
}

/// Spec: GR.4.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_whose_rounds_are_used_up_proceeds_or_fails_as_it_says() {
    for (word, status, lines) in [
        ("proceed", WorkflowStatus::Completed, "1\n2\nafter\n"),
        ("fail", WorkflowStatus::Failed, "1\n2\n"),
    ] {
        let base = Base::new();
        let orchestrator = base.open().await;
        let new = base.definition(&endless(&base, word));
        let id = orchestrator.execute_workflow(new).await.unwrap();
        let view = end(&orchestrator, &id).await;
        assert_eq!(view.status, status, "{word}: {:#?}", view.errors);
        assert_eq!(log(&base), lines, "{word}");
        nothing_left(&id, &view);
    }
}

/// Spec: GR.4.2, GR.6.4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_whose_rounds_are_used_up_blocks_and_a_person_gives_it_more_or_lets_it_go() {
    let base = Base::new();
    let orchestrator = base.open().await;
    let new = base.definition(&endless(&base, "block"));
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::LoopLimit);
    assert_eq!(
        asked.options,
        [InterventionChoice::Proceed, InterventionChoice::Extend, InterventionChoice::Abort]
    );
    assert_eq!(log(&base), "1\n2\n");
    decide(&orchestrator, &asked, InterventionChoice::Extend).await;
    let again = intervention(&mut events).await;
    assert_eq!(again.kind, InterventionKind::LoopLimit);
    let extended = log(&base).lines().count();
    assert!(extended > 2, "it had more rounds");
    decide(&orchestrator, &again, InterventionChoice::Proceed).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(log(&base).lines().count(), extended + 1);
    assert!(log(&base).ends_with("after\n"));
}

/// Spec: GR.4.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_arbiter_is_told_the_work_and_the_rounds_before_and_begins_afresh() {
    let base = Base::new();
    // Where the demo agent keeps what it was told; also an arbiter may write there.
    let home = base.path().join("home");
    let told = home.join(".local/state/coven-demo");
    std::fs::create_dir_all(&told).unwrap();
    let orchestrator = base.open().await;
    let mut new = base.definition(&endless(&base, "proceed"));
    new.env.insert("HOME".into(), home.into());
    new.env.remove(std::ffi::OsStr::new("COVEN_DEMO_HOME"));
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);

    let conversations = std::fs::read_dir(&told).unwrap().map(|entry| {
        let text = std::fs::read(entry.unwrap().path()).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()
    });
    let mut prompts: Vec<String> = Vec::new();
    for conversation in conversations {
        assert_eq!(conversation["turns"], 1, "every one of them is a new conversation");
        prompts.push(conversation["prompts"][0].as_str().unwrap().to_owned());
    }
    let judging: Vec<&String> = prompts.iter().filter(|prompt| prompt.contains("Good?")).collect();
    assert_eq!((prompts.len(), judging.len()), (4, 2));
    let second = judging.iter().find(|prompt| prompt.contains("Round 2")).unwrap();
    assert!(second.contains("> round 2"), "this round's work: {second}");
    assert!(second.contains("> round 1"), "the work before: {second}");
    assert!(second.contains("never good enough"), "the verdict before: {second}");
    let first = judging.iter().find(|prompt| !prompt.contains("Round 2")).unwrap();
    assert!(first.contains("> round 1") && !first.contains("never good enough"), "{first}");
}
