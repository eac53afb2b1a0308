//! What a program does about an input, seen after that input: the end of its turn, the key that it
//! took, and the question that it shows instead.

use coven_adapters::{Options, default_registry};
use coven_model::{AgentState, InterventionChoice};
use coven_runner::{
    AgentRunner, AgentTask, AnswerAction, DeliveryError, DeliveryProof, Message, RunnerEvent,
    RunnerSubscription,
};

use crate::support::{Home, printed, question, scripted, state, until, wait};

/// Writes down each piece that it reads, in hexadecimal digits.
const KEYS: &str = r#"stty raw -echo
key() { dd bs=99 count=1 2>/dev/null | od -An -tx1 | tr -d ' \n'; }
note() { printf '%s:%s\n' "$1" "$2" >> received; }
"#;

const RULES: &str = r#"
  "states": { "interaction_idle": { "pattern": "^IDLE>", "region": "cursor:1", "kind": "idle" } },
  "keys": { "submit": ["Enter"] }
"#;

/// Asks for leave for a command, which stands above the line that asks.
const APPROVALS: &str = r#"
  "states": {
    "ask": { "pattern": "^Proceed\\? \\(y/n\\)", "kind": "approval", "region": "cursor:1",
      "begins": "^Tool wants to run:$" },
    "interaction_idle": { "pattern": "^IDLE>", "region": "cursor:1", "kind": "idle" }
  },
  "keys": { "approve": ["y"], "deny": ["n"], "submit": ["Enter"] }
"#;

fn start(home: &Home, rules: &str, script: &str) -> (AgentRunner, RunnerSubscription) {
    let adapter = scripted(home, rules, &[KEYS, script].concat());
    let task = AgentTask::interactive(format!("turns-{}", home.path().display()), None);
    let runner = AgentRunner::start(adapter, task, &home.held()).unwrap();
    let events = runner.subscribe();
    (runner, events)
}

fn received(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("received")).unwrap_or_default()
}

fn text(text: &str) -> AnswerAction {
    AnswerAction::Text(text.to_owned())
}

/// The prompt from before still counts while the question has not stood for long enough.
#[tokio::test]
async fn a_prompt_from_before_the_message_is_no_end_of_its_turn() {
    let home = Home::new();
    let path = home.path().join("shell.json");
    let file = r#"{ "command": "bash", "env": { "set": { "PS1": "$ " } },
        "modes": { "interactive": { "baseArgs": ["--norc", "--noprofile", "-i"], "promptPosition": "typed" } },
        "states": { "idle": { "pattern": "^\\$ ?$", "kind": "idle", "region": "cursor:1" } },
        "keys": { "submit": ["Enter"] } }"#;
    std::fs::write(&path, file).unwrap();
    let options = Options { config_path: Some(path), ..Options::default() };
    let adapter = default_registry().create("shell-prompt", options).unwrap().into();
    let prompt = "read -p \"Delete everything? [y/N] \" b; echo got";
    let mut task = AgentTask::interactive(format!("turns-{}", home.path().display()), Some(prompt));
    task.keep_alive = true;
    let runner = AgentRunner::start(adapter, task, &home.held()).unwrap();
    let mut events = runner.subscribe();
    let asked = wait(&mut events, "a question", |event| match event {
        RunnerEvent::Awaiting(question) => Some(question),
        RunnerEvent::TurnEnded { .. } | RunnerEvent::Done(_) => panic!("{event:?}"),
        _ => None,
    })
    .await;
    assert_eq!(asked.rule, "generic:yes-no");
    runner.answer(asked.digest, text("y")).await.unwrap();
    wait(&mut events, "the end of its turn", |event| {
        matches!(event, RunnerEvent::TurnEnded { .. } | RunnerEvent::Done(_)).then_some(())
    })
    .await;
    runner.stop().await.unwrap();
}

/// The program takes the key and shows what it asks next, so that nothing stands there to be erased
/// or submitted.
#[tokio::test]
async fn a_key_that_a_program_took_is_neither_erased_nor_submitted() {
    for title in ["Merge conflict $i of 4", "Merge conflict"] {
        let home = Home::new();
        let script = format!(
            "for i in 1 2 3; do printf \"\\033[2J\\033[H{title}\\r\\nKeep ours? (y/n) \"; \
             note $i $(key); done; printf '\\r\\nIDLE> '; note idle $(key)"
        );
        let (runner, mut events) = start(&home, RULES, &script);
        let mut before = String::new();
        for (number, answer, hex) in [(1, "y", "79"), (2, "n", "6e"), (3, "y", "79")] {
            let asked = question(&mut events).await;
            runner.answer(asked.digest, text(answer)).await.unwrap();
            before.push_str(&format!("{number}:{hex}\n"));
            assert_eq!(received(&home), before, "{title}");
        }
        state(&runner, AgentState::Idle).await;
        assert_eq!(received(&home), before, "{title}");
        runner.stop().await.unwrap();
    }
}

/// What was sent without looking is submitted only where it still stands. Where the next question has
/// the same letter somewhere, nobody can tell whether the key was taken.
#[tokio::test]
async fn a_key_that_was_sent_unseen_and_taken_is_not_submitted_to_the_next_question() {
    let moved_on = Err(DeliveryError::MovedOn);
    for (shown, next, result) in [
        (
            "\\033[?25lInstall dependencies:\\r\\n|  Yes or No\\r\\n|\\r\\n",
            "\\033[3A\\033[JDelete all data?",
            Ok(()),
        ),
        ("Commands: s)kip  r)etry ", "\\r\\nDelete every yard?", moved_on.clone()),
        (
            "\\033[2J\\033[HInstaller\\r\\n F1 help   Q quit\\r\\n",
            "\\033[2J\\033[HDelete it all?",
            Ok(()),
        ),
    ] {
        let home = Home::new();
        let script = format!(
            "printf '{shown}'; note first $(key); printf '{next}\\r\\n'; \
             note second $(key); printf '\\r\\nend'; key"
        );
        let (runner, mut events) = start(&home, RULES, &script);
        state(&runner, AgentState::Unknown).await;
        let unseen = Message { proof: DeliveryProof::None, ..Message::new("y") };
        assert_eq!(runner.send(unseen).await, result, "{shown}");
        printed(&mut events, "Delete").await;
        runner.write(b"n".to_vec()).await;
        until(|| received(&home).contains("second")).await;
        assert_eq!(received(&home), "first:79\nsecond:6e\n", "{shown}");
        runner.stop().await.unwrap();
    }
}

/// Another command at the same place, under the same line that asks.
#[tokio::test]
async fn another_command_at_the_same_place_is_another_question() {
    let home = Home::new();
    let script = "for i in a b c; do \
        printf \"\\033[2J\\033[HTool wants to run:\\r\\n  rm $i.txt\\r\\nProceed? (y/n) \"; \
        note $i $(key); done; printf '\\r\\nIDLE> '; key";
    let (runner, mut events) = start(&home, APPROVALS, script);
    for command in ["rm a.txt", "rm b.txt", "rm c.txt"] {
        let asked = question(&mut events).await;
        assert!(asked.excerpt.join("\n").contains(command), "{asked:?}");
        let approve = AnswerAction::Choose(InterventionChoice::Approve);
        runner.answer(asked.digest, approve).await.unwrap();
    }
    state(&runner, AgentState::Idle).await;
    assert_eq!(received(&home), "a:79\nb:79\nc:79\n");
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn the_last_answer_of_a_program_that_ends_upon_it_was_taken() {
    let home = Home::new();
    let script = "printf 'Really quit? (y/n) '; note quit $(key)";
    let (runner, mut events) = start(&home, RULES, script);
    let asked = question(&mut events).await;
    runner.answer(asked.digest, text("y")).await.unwrap();
    until(|| !received(&home).is_empty()).await;
    assert_eq!(received(&home), "quit:79\n");
}
