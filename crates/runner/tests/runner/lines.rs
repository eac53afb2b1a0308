//! Messages to programs that read plain lines.

use coven_model::AgentState;
use coven_runner::{AgentRunner, AgentTask, AnswerAction, AnswerError, DeliveryError, Message};

use crate::support::{Home, printed, question, scripted, state};

const RULES: &str = r#"
  "states": {
    "interaction_idle": { "pattern": "^IDLE>", "region": "cursor:1", "kind": "idle" }
  },
  "keys": { "submit": ["Enter"] }
"#;

/// Notes every line that it reads. One with `reset` in it makes it ask something after a while.
const SCRIPT: &str = r#"
while printf 'IDLE> '; IFS= read -r line; do
  printf 'message %s\n' "$line" >> received
  case $line in
    *reset*) sleep DELAY; printf 'Delete everything? [y/N] '
             IFS= read -r line; printf 'answer %s\n' "$line" >> received ;;
  esac
  echo "done with $line"
done
"#;

fn start(home: &Home, delay: &str) -> AgentRunner {
    let adapter = scripted(home, RULES, &SCRIPT.replace("DELAY", delay));
    let task = AgentTask::interactive(format!("lines-{}", home.path().display()), None);
    AgentRunner::start(adapter, task, &home.local()).unwrap()
}

fn received(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("received")).unwrap_or_default()
}

#[tokio::test]
async fn a_message_behind_one_that_looks_like_a_command_does_not_answer_what_that_leads_to() {
    for (text, delay) in [("!reset", "0.1"), ("/reset", "3"), ("# reset", "0.7")] {
        let home = Home::new();
        let runner = start(&home, delay);
        let mut events = runner.subscribe();
        let send = |text: &str| {
            let (runner, message) = (runner.clone(), Message { waits: true, ..Message::new(text) });
            tokio::spawn(async move { runner.send(message).await })
        };
        let first = send(text);
        tokio::task::yield_now().await;
        let second = send("y");
        let asked = question(&mut events).await;
        first.await.unwrap().unwrap();
        assert_eq!(received(&home), format!("message {text}\n"));
        runner.answer(asked.digest, AnswerAction::Text("n".to_owned())).await.unwrap();
        second.await.unwrap().unwrap();
        printed(&mut events, "done with y").await;
        assert_eq!(received(&home), format!("message {text}\nanswer n\nmessage y\n"));
        runner.stop().await.unwrap();
    }
}

/// Spec: C0.14.2
#[tokio::test]
async fn a_question_with_a_spinner_or_a_clock_in_its_own_line_is_asked_once_and_answered() {
    for paint in [
        "for f in '|' / - '\\'; do printf '\\r%s Delete A? (y/n) ' \"$f\"; sleep 0.1; done",
        "for f in ⠋ ⠙ ⠹; do printf '\\r%s Delete A? [y/N] ' \"$f\"; sleep 0.1; done",
        "printf '\\rDelete A? (y/n) %(%T)T '; sleep 0.2",
        "printf '\\r12:00:0%s Delete A? (y/n) ' $((n = (n + 1) % 10)); sleep 0.2",
    ] {
        let home = Home::new();
        let script = format!(
            "( while :; do {paint}; done ) & IFS= read -r line; kill $!; \
             printf '\\nanswer %s\\n' \"$line\" >> received; printf '\\nIDLE> '; read -r line"
        );
        let adapter = scripted(&home, RULES, &script);
        let task = AgentTask::interactive(format!("lines-{}", home.path().display()), None);
        let runner = AgentRunner::start(adapter, task, &home.held()).unwrap();
        let mut events = runner.subscribe();
        let asked = question(&mut events).await;
        assert_eq!(asked.rule, "generic:yes-no", "{paint}");
        // It is painted on, and stays the same.
        for _ in 0..5 {
            printed(&mut events, "Delete A?").await;
        }
        assert_eq!(runner.verdict().digest.as_ref(), Some(&asked.digest), "{paint}");
        let result = runner.answer(asked.digest, AnswerAction::Text("y".to_owned())).await;
        assert_eq!(result, Ok(()), "{paint}");
        state(&runner, AgentState::Idle).await;
        assert_eq!(received(&home), "\nanswer y\n", "{paint}");
        runner.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_line_that_the_terminal_would_cut_is_refused() {
    let home = Home::new();
    let runner = start(&home, "0");
    let mut events = runner.subscribe();
    let Err(DeliveryError::Untypable(problem)) = runner.send(Message::new("x".repeat(4501))).await
    else {
        panic!("it was typed: {}", received(&home))
    };
    assert!(problem.contains("a line of it has 4501 bytes"), "{problem}");
    runner.send(Message::new("next")).await.unwrap();
    printed(&mut events, "done with next").await;
    assert_eq!(received(&home), "message next\n");
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn a_message_that_says_what_the_prompt_says_arrives_and_so_does_the_next() {
    let home = Home::new();
    let runner = start(&home, "0");
    let mut events = runner.subscribe();
    runner.send(Message::new("IDLE>")).await.unwrap();
    runner.send(Message::new("next")).await.unwrap();
    printed(&mut events, "done with next").await;
    assert_eq!(received(&home), "message IDLE>\nmessage next\n");
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn a_program_that_reads_single_keys_gets_one_key_for_each_question() {
    let home = Home::new();
    let script = "for i in 1 2 3; do read -n1 -p \"Delete file $i? [y/n] \" a; echo; \
        printf '%s:%q\\n' $i \"$a\" >> received; done; printf 'IDLE> '; read -r line";
    let adapter = scripted(&home, RULES, script);
    let task = AgentTask::interactive(format!("keys-{}", home.path().display()), None);
    let runner = AgentRunner::start(adapter, task, &home.local()).unwrap();
    let mut events = runner.subscribe();
    for (number, answer) in ["y", "n", "y"].iter().enumerate() {
        // The one before may come back until this one counts as asked.
        let mut asked = question(&mut events).await;
        while !asked.excerpt.join("\n").contains(&format!("file {}?", number + 1)) {
            asked = question(&mut events).await;
        }
        runner.answer(asked.digest, AnswerAction::Text((*answer).to_owned())).await.unwrap();
    }
    printed(&mut events, "IDLE>").await;
    assert_eq!(received(&home), "1:y\n2:n\n3:y\n");
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn an_answer_whose_question_ran_out_of_time_is_not_given_to_the_next() {
    let home = Home::new();
    let go = home.path().join("go");
    // What it reads next is asked as soon as the answer stands in its line.
    let script = "printf 'Delete file 1? (yes/no) '; until [ -e GO ]; do sleep 0.02; done; \
        printf 'Timed out.\\nDelete file 2? (yes/no) '; IFS= read -r line; \
        printf '2:%s\\n' \"$line\" >> received; printf 'IDLE> '; read -r line";
    let script = script.replace("GO", go.to_str().unwrap());
    let adapter = scripted(&home, RULES, &script);
    let task = AgentTask::interactive(format!("late-{}", home.path().display()), None);
    let runner = AgentRunner::start(adapter, task, &home.local()).unwrap();
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    let answering = {
        let runner = runner.clone();
        let answer = AnswerAction::Text("first".to_owned());
        tokio::spawn(async move { runner.answer(asked.digest, answer).await })
    };
    printed(&mut events, "first").await;
    std::fs::write(&go, "").unwrap();
    let refused = answering.await.unwrap();
    assert!(
        matches!(refused, Err(AnswerError::Text(DeliveryError::QuestionChanged))),
        "{refused:?}"
    );
    // The first may come back until the second counts as asked.
    let mut asked = question(&mut events).await;
    while !asked.excerpt.join("\n").contains("file 2?") {
        asked = question(&mut events).await;
    }
    runner.answer(asked.digest, AnswerAction::Text("second".to_owned())).await.unwrap();
    printed(&mut events, "IDLE>").await;
    assert_eq!(received(&home), "2:second\n");
    runner.stop().await.unwrap();
}
