//! Answers that are more than one key, given to programs that ask one question after the other.

use coven_model::InterventionChoice;
use coven_runner::{AgentRunner, AgentTask, AnswerAction, AnswerError};

use crate::support::{Home, printed, question, scripted};

const RULES: &str = r#"
  "states": {
    "interaction_approval": { "pattern": "^Remove file \\d\\? *y?$", "region": "tail:1", "kind": "approval" },
    "interaction_idle": { "pattern": "^IDLE>", "region": "cursor:1", "kind": "idle" }
  },
  "keys": { "approve": ["y", "Enter"], "deny": ["n"], "submit": ["Enter"] }
"#;

fn start(home: &Home, script: &str) -> AgentRunner {
    let adapter = scripted(home, RULES, script);
    let task = AgentTask::interactive(format!("keys-{}", home.path().display()), None);
    AgentRunner::start(adapter, task, &home.local()).unwrap()
}

/// The program takes the first key for the answer and asks the next question at once.
///
/// Spec: C0.14.2
#[tokio::test]
async fn the_second_key_of_an_approval_does_not_answer_the_next_question() {
    let home = Home::new();
    let script = "stty raw -echo; for i in 1 2; do printf 'Remove file %s? ' $i; \
        IFS= read -rsN1 key; printf '%q %s\r\n' \"$key\" $i; done; printf 'IDLE> '; read -rsN1 key";
    let runner = start(&home, script);
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    let approve = AnswerAction::Choose(InterventionChoice::Approve);
    runner.answer(asked.digest, approve).await.unwrap();
    let asked = question(&mut events).await;
    assert!(asked.excerpt.join("\n").contains("file 2?"), "{asked:?}");
    let deny = AnswerAction::Choose(InterventionChoice::Deny);
    runner.answer(asked.digest, deny).await.unwrap();
    printed(&mut events, "n 2").await;
    runner.stop().await.unwrap();
}

/// The program shows a key where it is typed and asks something else then, with the key in the line
/// of that.
///
/// Spec: C0.14.2
#[tokio::test]
async fn the_second_key_is_not_pressed_where_the_first_stands_behind_another_question() {
    let home = Home::new();
    let script = "stty raw -echo; printf 'Remove file 1? '; IFS= read -rsN1 key; \
        printf '\r\nTimed out.\r\nRemove file 2? y'; IFS= read -rsN1 key; \
        printf '\r\ngot %q\r\nIDLE> ' \"$key\"; read -rsN1 key";
    let runner = start(&home, script);
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    let approve = AnswerAction::Choose(InterventionChoice::Approve);
    let refused = runner.answer(asked.digest, approve).await;
    assert_eq!(refused, Err(AnswerError::MovedOn { number: 1, of: 2 }));
    let asked = question(&mut events).await;
    assert!(asked.excerpt.join("\n").contains("file 2?"), "{asked:?}");
    let deny = AnswerAction::Choose(InterventionChoice::Deny);
    runner.answer(asked.digest, deny).await.unwrap();
    printed(&mut events, "got n").await;
    runner.stop().await.unwrap();
}

/// It reads whole lines and paints its question again and again until one comes, over what is typed.
///
/// Spec: C0.14.2
#[tokio::test]
async fn a_question_that_is_painted_all_the_time_is_answered_with_all_its_keys() {
    let home = Home::new();
    let script = "until IFS= read -r -t 0.2 line; do printf '\\033[2J\\033[HRemove file 1? '; done; \
        printf 'got %q\\r\\nIDLE> ' \"$line\"; read -r line";
    let runner = start(&home, script);
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    let approve = AnswerAction::Choose(InterventionChoice::Approve);
    runner.answer(asked.digest, approve).await.unwrap();
    printed(&mut events, "got y").await;
    runner.stop().await.unwrap();
}
