//! Questions on real terminals: with lists above them, with something that moves beside them, and
//! with viewers that come and go.

use coven_model::ContentDigest;
use coven_runner::{AgentRunner, AgentTask, AnswerAction, RunnerEvent, RunnerSubscription};
use coven_terminal::screen::GridSize;

use crate::support::{Home, question, scripted, wait};

/// Knows nothing but the question of one program, by the line of the cursor.
const RULES: &str = r#"
  "states": {
    "asks": { "pattern": "^Proceed\\? \\(y/n\\)", "region": "cursor:1", "kind": "approval", "begins": "^Run this" }
  },
  "keys": { "approve": ["y", "Enter"], "deny": ["n", "Enter"], "submit": ["Enter"] }
"#;

fn start(home: &Home, script: &str) -> (AgentRunner, RunnerSubscription) {
    let adapter = scripted(home, RULES, script);
    let job = format!("questions-{}", home.path().display());
    let runner = AgentRunner::start(adapter, AgentTask::interactive(&*job, None), &home.local());
    let runner = runner.unwrap();
    let events = runner.subscribe();
    (runner, events)
}

/// Waits until a text is printed. Gives the questions that were told meanwhile.
async fn printed(events: &mut RunnerSubscription, text: &str) -> Vec<ContentDigest> {
    let (mut all, mut asked) = (String::new(), Vec::new());
    wait(events, text, |event| match event {
        RunnerEvent::Output { clean, .. } => {
            all.push_str(&clean);
            all.contains(text).then_some(())
        }
        RunnerEvent::Awaiting(question) => {
            asked.push(question.digest);
            None
        }
        _ => None,
    })
    .await;
    asked
}

#[tokio::test]
async fn a_list_above_a_prompt_for_a_line_is_answered_with_that_line() {
    let home = Home::new();
    let script = "printf 'Which version?\n> 1. patch\n  2. minor\n  3. major\nEnter a number: '; \
        read -r line; printf 'got <%q>\n' \"$line\"; sleep 60";
    let (runner, mut events) = start(&home, script);
    let asked = question(&mut events).await;
    assert_eq!(asked.rule, "generic:menu");
    assert!(asked.action.entries.is_empty(), "{:?}", asked.action.entries);
    runner.answer(asked.digest, AnswerAction::Text("2".to_owned())).await.unwrap();
    printed(&mut events, "got <2>").await;
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn a_question_below_something_that_moves_is_told_once_and_can_be_answered() {
    let home = Home::new();
    let script = "printf '\\033[2J\\033[3;1HOverwrite config? (y/n) '; \
        ( for i in {1..999}; do printf '\\0337\\033[1;50H\\033[Kfetched item %d\\0338' $i; sleep 0.1; done ) & \
        read -r line; kill $!; printf 'got <%s>\n' \"$line\"; sleep 60";
    let (runner, mut events) = start(&home, script);
    let asked = question(&mut events).await;
    assert_eq!(asked.rule, "generic:yes-no");
    assert_eq!(printed(&mut events, "fetched item 40").await, [] as [ContentDigest; 0]);
    runner.answer(asked.digest, AnswerAction::Text("y".to_owned())).await.unwrap();
    printed(&mut events, "got <y>").await;
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn a_question_is_whole_again_when_a_small_viewer_has_left() {
    let rows: String = (1..=12).map(|row| format!("  step {row}\n")).collect();
    for question_line in ["Proceed? (y/n) ", "Go on? (y/n) "] {
        let home = Home::new();
        let script = format!("printf 'Run this?\n{rows}{question_line}'; read -r line; sleep 60");
        let (runner, mut events) = start(&home, &script);
        let asked = question(&mut events).await;
        assert!(!asked.action.truncated, "{asked:#?}");
        for size in [GridSize::new(50, 10), GridSize::new(20, 4)] {
            runner.resize_for_viewer(Some(size)).await;
            while !question(&mut events).await.action.truncated {}
            runner.resize_for_viewer(None).await;
            while question(&mut events).await.action.truncated {}
        }
        runner.stop().await.unwrap();
    }
}
