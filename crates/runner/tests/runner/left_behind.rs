//! Answers to questions that a program gives up: it asks something else before it has read them.

use coven_model::AgentState;
use coven_runner::{
    AgentRunner, AgentTask, AnswerAction, AnswerError, DeliveryError, RunnerSubscription,
    ScreenQuestion,
};

use crate::support::{DEADLINE, Home, printed, question, scripted, state, until};

const RULES: &str = r#"
  "states": { "interaction_idle": { "pattern": "^IDLE>", "region": "cursor:1", "kind": "idle" } },
  "keys": { "submit": ["Enter"], "interrupt": ["Ctrl+C"] }
"#;

/// Waits for GO in a way that nobody knows from waiting for what is typed, and reads nothing: until
/// somebody opens the other end.
const WAITS: &str = r#"
mkfifo other; exec 3<>other
wait_for() { mkfifo "$1" 2>/dev/null; : < "$1"; }
note() { printf '%s:%q\n' "$1" "$2" >> received; }
finish() { printf 'IDLE> '; IFS= read -r line; note idle "$line"; }
"#;

fn start(home: &Home, script: &str) -> (AgentRunner, RunnerSubscription) {
    let adapter = scripted(home, RULES, &[WAITS, script].concat());
    let task = AgentTask::interactive(format!("left-{}", home.path().display()), None);
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

/// The next question about this.
async fn about(events: &mut RunnerSubscription, what: &str) -> ScreenQuestion {
    loop {
        let asked = question(events).await;
        if asked.excerpt.join("\n").lines().last().is_some_and(|line| line.contains(what)) {
            return asked;
        }
    }
}

#[tokio::test]
async fn a_line_that_lies_unread_when_the_next_question_comes_is_taken_back() {
    for (keys, action) in [
        ("y", text("y")),
        ("y", AnswerAction::Keys(vec!["y".parse().unwrap(), "Enter".parse().unwrap()])),
    ] {
        let home = Home::new();
        let script = "printf 'Delete A? (y/n) '; wait_for go; printf 'Too late.\\nDelete B? (y/n) '; \
            wait_for go-on; IFS= read -r line; note B \"$line\"; finish";
        let (runner, mut events) = start(&home, script);
        let asked = question(&mut events).await;
        let answer = {
            let runner = runner.clone();
            tokio::spawn(async move { runner.answer(asked.digest, action).await })
        };
        printed(&mut events, &format!("{keys}\r\n")).await;
        std::fs::write(home.path().join("go"), "").unwrap();
        let refused = answer.await.unwrap().unwrap_err();
        assert_eq!(refused, AnswerError::Text(DeliveryError::TakenBack));
        assert!(!refused.was_pressed());
        let asked = about(&mut events, "Delete B?").await;
        std::fs::write(home.path().join("go-on"), "").unwrap();
        runner.answer(asked.digest, text("n")).await.unwrap();
        state(&runner, AgentState::Idle).await;
        assert_eq!(received(&home), "B:n\n");
        runner.stop().await.unwrap();
    }
}

/// What it asks next it reads at once, so nothing may lie in its terminal then.
#[tokio::test]
async fn nothing_is_typed_at_a_program_that_does_something_else_until_it_asks_the_next() {
    for mode in ["", "stty -icanon;"] {
        let home = Home::new();
        let script = format!(
            "{mode} printf 'Delete A? (y/n) '; sleep 6; printf 'Too late.\\nDelete B? (y/n) '; \
             IFS= read -r line; note B \"$line\"; finish"
        );
        let (runner, mut events) = start(&home, &script);
        let asked = question(&mut events).await;
        let refused = runner.answer(asked.digest, text("y")).await.unwrap_err();
        assert!(matches!(refused, AnswerError::Stale), "{mode} {refused:?}");
        let asked = about(&mut events, "Delete B?").await;
        runner.answer(asked.digest, text("n")).await.unwrap();
        state(&runner, AgentState::Idle).await;
        assert_eq!(received(&home), "B:n\n", "{mode}");
        runner.stop().await.unwrap();
    }
}

#[tokio::test]
async fn an_answer_waits_for_a_program_that_will_read_it() {
    let home = Home::new();
    let script = "printf 'Delete A? (y/n) '; sleep 4; IFS= read -r line; note A \"$line\"; finish";
    let (runner, mut events) = start(&home, script);
    let asked = question(&mut events).await;
    runner.answer(asked.digest, text("y")).await.unwrap();
    state(&runner, AgentState::Idle).await;
    assert_eq!(received(&home), "A:y\n");
    runner.stop().await.unwrap();
}

/// It shows the key and pauses before it asks the same once more: Enter would answer that.
#[tokio::test]
async fn a_program_that_pauses_between_questions_for_one_key_gets_no_enter() {
    for next in ["\\r\\033[K", "\\r\\n", "\\033[H\\033[2J"] {
        let home = Home::new();
        let script = format!(
            "stty raw -echo; for i in 1 2 3; do printf '{next}Delete it? [y/n] '; \
             key=$(dd bs=1 count=1 2>/dev/null | od -An -tx1); printf \"\\\\x${{key# }}\"; \
             note $i \"${{key# }}\"; sleep 1.5; done; stty sane; printf '\\n'; finish"
        );
        let (runner, mut events) = start(&home, &script);
        let mut before = String::new();
        for (number, answer, hex) in [(1, "y", "79"), (2, "n", "6e"), (3, "y", "79")] {
            let asked = question(&mut events).await;
            runner.answer(asked.digest, text(answer)).await.unwrap();
            before.push_str(&format!("{number}:{hex}\n"));
            assert_eq!(received(&home), before, "{next}");
        }
        state(&runner, AgentState::Idle).await;
        assert_eq!(received(&home), before, "{next}");
        runner.stop().await.unwrap();
    }
}

/// Spec: C0.4.2
#[tokio::test]
async fn a_secret_whose_question_is_given_up_is_not_submitted_to_the_next() {
    let home = Home::new();
    let script = "stty -echo; printf 'Password: '; wait_for go; stty echo; \
        printf '\\nName of the public list: '; IFS= read -r line; note list \"$line\"; finish";
    let (runner, mut events) = start(&home, script);
    let asked = question(&mut events).await;
    let answer = {
        let (runner, secret) = (runner.clone(), AnswerAction::Secret("swordfish".to_owned()));
        tokio::spawn(async move { runner.answer(asked.digest, secret).await })
    };
    until(|| typed_secret(&home)).await;
    std::fs::write(home.path().join("go"), "").unwrap();
    let refused = answer.await.unwrap().unwrap_err();
    assert!(!refused.was_pressed(), "{refused:?}");
    printed(&mut events, "public list").await;
    runner.write(b"friends\r".to_vec()).await;
    state(&runner, AgentState::Idle).await;
    assert_eq!(received(&home), "list:friends\n");
    runner.stop().await.unwrap();
}

/// Whether something as long as the secret was typed.
fn typed_secret(home: &Home) -> bool {
    use coven_tape::{TapeEvent, TapeReader};
    let tape = TapeReader::open(&home.path().join("attempt")).unwrap();
    tape.records(0)
        .any(|record| matches!(record.unwrap().event, TapeEvent::Input(bytes) if bytes.len() == 9))
}

/// A key that ends no line stands in the terminal, and would be a part of the next answer.
#[tokio::test]
async fn keys_that_end_no_line_do_not_stay_in_it() {
    let home = Home::new();
    let script = "printf 'Delete A? (y/n) '; IFS= read -r line; note A \"$line\"; finish";
    let (runner, mut events) = start(&home, script);
    let asked = question(&mut events).await;
    let key = AnswerAction::Keys(vec!["n".parse().unwrap()]);
    assert_eq!(runner.answer(asked.digest, key).await, Err(AnswerError::NotSubmitted));
    runner.write(b"yes\r".to_vec()).await;
    state(&runner, AgentState::Idle).await;
    assert_eq!(received(&home), "A:yes\n");
    runner.stop().await.unwrap();
}

/// Ctrl+C ends a program that does not handle it yet.
#[tokio::test]
async fn an_agent_that_is_starting_is_interrupted_once_it_has_started() {
    let home = Home::new();
    let script = "sleep 3; trap 'echo caught' INT; printf 'IDLE> '; \
        while :; do IFS= read -r line && note line \"$line\"; printf 'IDLE> '; done";
    let (runner, mut events) = start(&home, script);
    runner.interrupt().await.unwrap();
    printed(&mut events, "caught").await;
    tokio::time::timeout(DEADLINE, runner.stop()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_question_keeps_its_number_after_a_refusal() {
    let home = Home::new();
    // It reads no line that is given to it before the file is there.
    let script = "printf 'Delete A? (y/n) '; wait_for go; IFS= read -r line; finish";
    let (runner, mut events) = start(&home, script);
    let asked = question(&mut events).await;
    let key = AnswerAction::Keys(vec!["n".parse().unwrap()]);
    runner.answer(asked.digest, key).await.unwrap_err();
    let again = question(&mut events).await;
    let quiet = tokio::time::timeout(std::time::Duration::from_secs(9), question(&mut events));
    assert!(quiet.await.is_err(), "asked again by itself");
    assert_eq!(runner.verdict().digest, Some(again.digest));
    runner.stop().await.unwrap();
}

/// A part of it has asked and has given up, and its words stay. What is typed then waits for whatever
/// the program asks next.
///
/// Spec: C0.14.2
#[tokio::test]
async fn nothing_is_typed_where_nobody_reads() {
    for mode in ["", "stty -icanon;"] {
        let home = Home::new();
        // Then it waits for a line in a pipe.
        let script = format!(
            "{mode} bash -c 'echo $$ > asks; read -p \"Delete A? (y/n) \" line'; echo > gone; \
             read -r told <&3; printf '\\nDelete B? (y/n) '; \
             IFS= read -r line; note B \"$line\"; finish"
        );
        let (runner, mut events) = start(&home, &script);
        let asked = question(&mut events).await;
        end(&home.path().join("asks"));
        until(|| home.path().join("gone").exists()).await;
        let refused = runner.answer(asked.digest, text("y")).await.unwrap_err();
        assert_eq!(refused, AnswerError::Unattended, "{mode}");
        assert!(!refused.was_pressed());
        std::fs::write(home.path().join("other"), "go on\n").unwrap();
        let asked = about(&mut events, "Delete B?").await;
        runner.answer(asked.digest, text("n")).await.unwrap();
        state(&runner, AgentState::Idle).await;
        assert_eq!(received(&home), "B:n\n", "{mode}");
        runner.stop().await.unwrap();
    }
}

/// Ends the process whose number is in a file.
fn end(file: &std::path::Path) {
    let text = std::fs::read_to_string(file).unwrap();
    let pid = rustix::process::Pid::from_raw(text.trim().parse().unwrap()).unwrap();
    // bash says nothing of a command that this one ends.
    rustix::process::kill_process(pid, rustix::process::Signal::PIPE).unwrap();
}

/// What is not pressed is not reported as an interrupt.
#[tokio::test]
async fn an_agent_whose_adapter_has_no_key_for_it_is_not_interrupted() {
    let home = Home::new();
    let rules = r#""states": {}"#;
    let adapter = scripted(&home, rules, "printf 'Name: '; read -r line");
    let task = AgentTask::interactive(format!("left-{}", home.path().display()), None);
    let runner = AgentRunner::start(adapter, task, &home.held()).unwrap();
    assert_eq!(runner.interrupt().await, Err(DeliveryError::NoInterrupt));
    runner.stop().await.unwrap();
}
