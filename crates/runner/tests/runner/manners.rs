//! Bad manners of real programs, each shown by a small script: what they lose, and what they leave
//! in the prompt.

use std::sync::Arc;

use coven_adapters::AgentAdapter;
use coven_model::{AgentState, InterventionChoice};
use coven_runner::{
    AgentRunner, AgentTask, AnswerAction, DeliveryError, Message, RunnerEvent, RunnerUpdate,
};

use crate::support::{Home, question, scripted, state, wait};

/// What the scripts below look like.
const RULES: &str = r#"
  "states": {
    "interaction_approval": { "pattern": "^May I\\?", "region": "tail:2", "kind": "approval" },
    "execution_running": { "pattern": "^busy", "region": "tail:1", "kind": "working" },
    "interaction_idle": { "pattern": "^> ?", "region": "tail:1", "kind": "idle" }
  },
  "keys": { "approve": ["y"], "deny": ["n"], "interrupt": ["x"], "submit": ["Enter"] }
"#;

/// An agent that is this script for bash.
pub(crate) fn agent(home: &Home, script: &str) -> Arc<dyn AgentAdapter> {
    scripted(home, RULES, script)
}

fn start(home: &Home, script: &str) -> AgentRunner {
    // Stopping a job ends every process that carries its name, so each test has its own.
    let job = format!("manners-{}", home.path().display());
    AgentRunner::start(agent(home, script), AgentTask::interactive(job, None), &home.local())
        .unwrap()
}

/// Throws away what is typed in the first moments of its dialog, as Claude Code does.
#[tokio::test]
async fn an_answer_waits_until_the_dialog_takes_keys() {
    let home = Home::new();
    let runner = start(
        &home,
        r#"stty -echo -icanon
        printf 'May I?\r\n'
        while read -rsn1 -t 0.2 lost; do :; done
        read -rsn1 key; printf '\033[2J\033[Hgot %s\r\n> ' "$key"; read -rsn1 key"#,
    );
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    runner.answer(asked.digest, AnswerAction::Choose(InterventionChoice::Approve)).await.unwrap();
    state(&runner, AgentState::Idle).await;
    assert!(runner.view().await.unwrap().snapshot.text().contains("got y"));
    runner.stop().await.unwrap();
}

/// Shows its prompt for a moment before its dialog, as Gemini CLI does.
#[tokio::test]
async fn nothing_is_typed_into_a_prompt_that_gives_way_to_a_dialog() {
    let home = Home::new();
    let runner = start(
        &home,
        r#"stty -echo -icanon
        printf '> '; read -rsn1 -t 0.3 typed
        printf '\033[2J\033[HMay I? %s\r\n' "$typed"; read -rsn1 key"#,
    );
    state(&runner, AgentState::Idle).await;
    assert_eq!(runner.send(Message::new("hello")).await, Err(DeliveryError::Awaiting));
    assert!(!runner.view().await.unwrap().snapshot.text().contains('h'));
    runner.stop().await.unwrap();
}

/// Puts the message back into its prompt when it is interrupted, as Qwen Code does.
#[tokio::test]
async fn a_message_that_came_back_by_an_interrupt_is_not_sent_again() {
    let home = Home::new();
    let runner = start(
        &home,
        r#"stty -echo -icanon
        line=
        while :; do
            printf '\033[2J\033[H> %s' "$line"
            IFS= read -rsn1 key
            case "$key" in
                $'\177') line=${line%?} ;;
                '') printf '%s\n' "$line" >> said; sent=$line; line=
                    printf '\033[2J\033[Hbusy'
                    while IFS= read -rsn1 key && [ "$key" != x ]; do :; done
                    line=$sent ;;
                *) line+=$key ;;
            esac
        done"#,
    );
    let mut events = runner.subscribe();
    for message in ["the first one", "another"] {
        let sent = runner.send(Message::new(message)).await;
        assert_eq!(sent, Ok(()), "{:?}", runner.verdict());
        runner.interrupt().await.unwrap();
        wait(&mut events, "the end of the turn", |event| {
            matches!(event, RunnerEvent::TurnEnded { .. }).then_some(())
        })
        .await;
    }
    let said = std::fs::read_to_string(home.path().join("said")).unwrap();
    assert_eq!(said, "the first one\nanother\n");
    runner.stop().await.unwrap();
}

/// Is busy while it starts, as Codex is for a moment. That is no turn: it was given nothing.
#[tokio::test]
async fn work_before_anything_was_given_is_no_turn() {
    let home = Home::new();
    let runner = start(
        &home,
        r"stty -echo -icanon
        printf 'busy\r\n'; sleep 0.5; printf '\033[2J\033[H> '; read -rsn1 key",
    );
    let mut events = runner.subscribe();
    state(&runner, AgentState::Working).await;
    state(&runner, AgentState::Idle).await;
    runner.stop().await.unwrap();
    while let Some(update) = events.next().await {
        let RunnerUpdate::Event(event) = update else { panic!("an event was lost") };
        assert!(!matches!(event, RunnerEvent::TurnEnded { .. }));
    }
}
