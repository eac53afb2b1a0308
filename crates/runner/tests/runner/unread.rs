//! What stands in the terminal and was not read: keys of an answer to an agent that is busy, a
//! line that a person has not submitted, and a line that must not be shown.

use std::path::PathBuf;
use std::time::Instant;

use coven_model::{AgentState, InterventionChoice};
use coven_runner::{
    AgentRunner, AgentTask, AnswerAction, AnswerError, DeliveryError, Message, RunnerEvent,
    ShownState, TaskPlace,
};
use coven_runtime::processes;
use coven_tape::{TapeEvent, TapeReader};
use coven_testkit::folders::files_with;
use rustix::process::Signal;

use crate::held::adopted;
use crate::support::{DEADLINE, Home, printed, question, scripted, state, wait};

/// Asks for a key or a line.
const RULES: &str = r#"
  "states": {
    "interaction_approval": { "pattern": "^May I\\? *$", "region": "tail:1", "kind": "approval" },
    "interaction_idle": { "pattern": "^> ?", "region": "tail:1", "kind": "idle" }
  },
  "keys": { "approve": ["y", "Enter"], "deny": ["n"], "submit": ["Enter"] }
"#;

fn start(home: &Home, place: &TaskPlace, script: &str) -> (AgentRunner, String) {
    let job = format!("unread-{}", home.path().display());
    let adapter = scripted(home, RULES, script);
    let task = AgentTask::interactive(&*job, None);
    (AgentRunner::start(adapter, task, place).unwrap(), job)
}

/// Waits until the tape has such an input.
async fn typed(place: &TaskPlace, is_wanted: impl Fn(&[u8]) -> bool) {
    let is_typed = || {
        let tape = TapeReader::open(place.folder.as_ref().unwrap()).unwrap();
        tape.records(0).any(
            |record| matches!(record.unwrap().event, TapeEvent::Input(bytes) if is_wanted(&bytes)),
        )
    };
    let deadline = Instant::now() + DEADLINE;
    while !is_typed() {
        assert!(Instant::now() < deadline, "never typed");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_answer_that_a_busy_agent_did_not_read_is_taken_back() {
    for is_held in [false, true] {
        let home = Home::new();
        let place = if is_held { home.held() } else { home.local() };
        let go = home.path().join("go");
        let script = "stty raw -echo; printf 'May I? '; until [ -e GO ]; do sleep 0.05; done; \
            read -rsn1 key; printf '\\r\\ngot <%s>\\r\\n' \"$key\"; \
            read -rsn1 -t 1 more; printf 'more <%s>\\r\\n> ' \"$more\"; read -rsn1 key";
        let (runner, _) = start(&home, &place, &script.replace("GO", go.to_str().unwrap()));
        let mut events = runner.subscribe();
        let asked = question(&mut events).await;
        let deny = AnswerAction::Choose(InterventionChoice::Deny);
        let result = runner.answer(asked.digest, deny.clone()).await;
        assert_eq!(result, Err(AnswerError::NotRead));
        let asked = question(&mut events).await;
        let answer = tokio::spawn({
            let runner = runner.clone();
            async move { runner.answer(asked.digest, deny).await }
        });
        std::fs::write(&go, "").unwrap();
        printed(&mut events, "got <n>").await;
        printed(&mut events, "more <>").await;
        answer.await.unwrap().unwrap();
        runner.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_line_that_a_person_has_not_submitted_is_not_sent_along_with_an_answer() {
    for is_held in [false, true] {
        let home = Home::new();
        let place = if is_held { home.held() } else { home.local() };
        let script =
            "printf 'May I? '; read line; printf 'got <%s>\\n> ' \"$line\"; read -rsn1 key";
        let (runner, _) = start(&home, &place, script);
        let mut events = runner.subscribe();
        let asked = question(&mut events).await;
        runner.write(b"no".to_vec()).await;
        printed(&mut events, "no").await;
        let approve = AnswerAction::Choose(InterventionChoice::Approve);
        let result = runner.answer(asked.digest, approve.clone()).await;
        assert_eq!(result, Err(AnswerError::Draft("no".to_owned())));
        runner.write(vec![0x15]).await;
        while runner.view().await.unwrap().snapshot.text().contains("no") {
            wait(&mut events, "output", |event| {
                matches!(event, RunnerEvent::Output { .. }).then_some(())
            })
            .await;
        }
        let mut verdict = runner.watch();
        let asked = tokio::time::timeout(DEADLINE, verdict.wait_for(|now| now.digest.is_some()));
        let digest = asked.await.unwrap().unwrap().digest.clone().unwrap();
        runner.answer(digest, approve).await.unwrap();
        printed(&mut events, "got <y>").await;
        runner.stop().await.unwrap();
    }
}

/// In a terminal that collects lines, and in one where the program edits them itself.
#[tokio::test]
async fn a_question_is_still_asked_while_a_person_types_at_it() {
    for read in ["printf 'Go on? (y/n) '; read line", "read -e -p 'Go on? (y/n) ' line"] {
        let home = Home::new();
        let script = format!("{read}; printf 'got <%s>\\n> ' \"$line\"; read -rsn1 key");
        let (runner, _) = start(&home, &home.local(), &script);
        let mut events = runner.subscribe();
        let asked = question(&mut events).await;
        assert_eq!(asked.rule, "generic:yes-no");
        runner.write(b"n".to_vec()).await;
        let mut verdict = runner.watch();
        while !runner.view().await.unwrap().snapshot.text().contains("(y/n) n") {
            tokio::task::yield_now().await;
        }
        let answer = || AnswerAction::Text("y".to_owned());
        let result = runner.answer(asked.digest.clone(), answer()).await;
        assert_eq!(result, Err(AnswerError::Draft("n".to_owned())), "{read}");
        let shown = runner.shown().await;
        let Some(ShownState::Asks(again)) = shown else { panic!("{read}: {shown:?}") };
        assert_eq!(again.digest, asked.digest, "{read}");
        // A program that reads keys may have taken them, so that its question is asked anew.
        if read.contains("-e") {
            runner.stop().await.unwrap();
            continue;
        }
        runner.write(vec![0x7f]).await;
        while runner.view().await.unwrap().snapshot.text().contains("(y/n) n") {
            tokio::task::yield_now().await;
        }
        let digest = verdict.wait_for(|now| now.digest.is_some()).await.unwrap().digest.clone();
        runner.answer(digest.unwrap(), answer()).await.unwrap();
        printed(&mut events, "got <y>").await;
        runner.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_draft_at_a_prompt_without_a_known_mark_is_not_sent_along() {
    let home = Home::new();
    let script =
        "while IFS= read -e -r -p 'in [1]>>> ' line; do printf 'got <%s>\\n' \"$line\"; done";
    let rules = RULES.replace("\"^> ?\"", "\"^in .1.>>> ?\"");
    let task = AgentTask::interactive(format!("draft-{}", home.path().display()), None);
    let runner = AgentRunner::start(scripted(&home, &rules, script), task, &home.local()).unwrap();
    let mut events = runner.subscribe();
    state(&runner, AgentState::Idle).await;
    runner.write(b"x = 'draft' #".to_vec()).await;
    printed(&mut events, "#").await;
    let sent = runner.send(Message::new("print(6 * 7)")).await;
    assert_eq!(sent, Err(DeliveryError::Draft("x = 'draft' #".to_owned())));
    runner.write(b"\r".to_vec()).await;
    printed(&mut events, "got <x = 'draft' #>").await;
    runner.send(Message::new("print(6 * 7)")).await.ok();
    printed(&mut events, "got <print(6 * 7)>").await;
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn a_line_that_is_not_shown_is_asked_for_as_a_secret_and_not_recorded() {
    let home = Home::new();
    let script = "printf 'Password for admin: '; stty -echo; read key; stty echo; \
        printf '\\ngot %s characters\\n> ' \"${#key}\"; read -rsn1 key";
    let (runner, _) = start(&home, &home.held(), script);
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    assert_eq!(asked.rule, "generic:hidden-line");
    assert!(asked.action.secret);
    assert!(asked.excerpt.join("\n").contains("Password for admin:"), "{:?}", asked.excerpt);
    // What a person types there is not recorded either.
    runner.write(b"hunter".to_vec()).await;
    let secret = AnswerAction::Secret("swordfish".to_owned());
    let result = runner.answer(asked.digest.clone(), secret.clone()).await;
    assert_eq!(result, Err(AnswerError::Draft("******".to_owned())));
    runner.write(vec![0x15]).await;
    runner.answer(asked.digest, secret).await.unwrap();
    printed(&mut events, "got 9 characters").await;
    assert_eq!(runner.verdict().state, AgentState::Idle);
    runner.stop().await.unwrap();
    let attempt = home.path().join("attempt");
    assert_ne!(files_with(&attempt, b"Password for admin"), [] as [PathBuf; 0]);
    for secret in [&b"swordfish"[..], b"hunter"] {
        assert_eq!(files_with(&attempt, secret), [] as [PathBuf; 0]);
    }
}

/// A program that gives its terminal to another one, as ssh does, hides nothing by itself.
///
/// Spec: C0.4.2
#[tokio::test]
async fn a_password_that_is_asked_for_on_a_raw_terminal_is_a_secret_and_not_recorded() {
    for asked_for in ["admin@host's password: ", "Enter passphrase for key '/k/id': ", "PIN:"] {
        let home = Home::new();
        let script = format!(
            "stty raw -echo; printf \"{asked_for}\"; key=; \
             while IFS= read -rsN1 c && [[ $c != [$'\\r\\n'] ]]; do key+=$c; done; \
             printf '\\r\\ngot %s characters\\r\\n> ' \"${{#key}}\"; read -rsN1 key"
        );
        let (runner, _) = start(&home, &home.held(), &script);
        let mut events = runner.subscribe();
        let asked = question(&mut events).await;
        assert!(asked.action.secret, "{asked:?}");
        assert_eq!(asked.excerpt.last().map(|line| line.trim()), Some(asked_for.trim()));
        let secret = AnswerAction::Secret("swordfish".to_owned());
        runner.answer(asked.digest, secret).await.unwrap();
        printed(&mut events, "got 9 characters").await;
        state(&runner, AgentState::Idle).await;
        runner.stop().await.unwrap();
        let attempt = home.path().join("attempt");
        assert_eq!(files_with(&attempt, b"swordfish"), [] as [PathBuf; 0]);
    }
}

/// A terminal that collects lines shows what is typed by itself, also for an agent that does
/// something else.
#[tokio::test]
async fn a_line_that_a_busy_agent_did_not_read_is_taken_back() {
    let home = Home::new();
    let go = home.path().join("go");
    let script = "printf 'May I? '; until [ -e GO ]; do sleep 0.05; done; read line; \
        printf 'got <%s>\\n> ' \"$line\"; read -rsn1 key";
    let (runner, _) = start(&home, &home.held(), &script.replace("GO", go.to_str().unwrap()));
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    let approve = AnswerAction::Choose(InterventionChoice::Approve);
    let result = runner.answer(asked.digest, approve).await;
    assert_eq!(result, Err(AnswerError::NotRead));
    runner.write(b"later\r".to_vec()).await;
    std::fs::write(&go, "").unwrap();
    printed(&mut events, "got <later>").await;
    runner.stop().await.unwrap();
}

/// Nothing is typed at a process that is stopped: a terminal that collects lines would show it, and
/// it would stand there although nobody has read it.
#[tokio::test]
async fn an_agent_that_is_stopped_is_not_answered_and_asks_on() {
    let home = Home::new();
    let script =
        "printf 'May I? '; kill -STOP $$; read line; printf 'got <%s>\\n> ' \"$line\"; read line";
    let (runner, job) = start(&home, &home.local(), script);
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    let approve = AnswerAction::Choose(InterventionChoice::Approve);
    let refused = runner.answer(asked.digest.clone(), approve.clone()).await.unwrap_err();
    assert!(matches!(refused, AnswerError::Stopped(_)) && !refused.was_pressed(), "{refused}");
    resume(&job);
    runner.answer(asked.digest, approve).await.unwrap();
    printed(&mut events, "got <y>").await;
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn an_agent_that_is_stopped_is_sent_nothing_and_hears_it_later() {
    let home = Home::new();
    let script =
        "printf '> '; kill -STOP $$; read line; printf 'got <%s>\\n> ' \"$line\"; read line";
    let (runner, job) = start(&home, &home.held(), script);
    let mut events = runner.subscribe();
    state(&runner, AgentState::Idle).await;
    let refused = runner.send(Message::new("hello")).await.unwrap_err();
    assert!(matches!(refused, DeliveryError::Stopped(_)) && !refused.was_typed(), "{refused}");
    resume(&job);
    runner.send(Message::new("hello")).await.unwrap();
    printed(&mut events, "got <hello>").await;
    runner.stop().await.unwrap();
}

fn resume(job: &str) {
    for process in processes::of_job(job) {
        process.signal(Signal::CONT).unwrap();
    }
}

/// A program that reads one key has its answer without Enter, which would answer the next question.
#[tokio::test]
async fn an_answer_of_one_key_does_not_answer_the_next_question_too() {
    let home = Home::new();
    let script = "for i in 1 2; do read -rn1 -p \"Delete volume $i? [y/n] \" key; sleep 1; \
        printf '%s<%s>' $i \"$key\" >> got; printf '\\n'; done; printf '> '; read -rsn1 key";
    let (runner, _) = start(&home, &home.held(), script);
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    runner.answer(asked.digest, AnswerAction::Text("n".to_owned())).await.unwrap();
    let asked = wait(&mut events, "the next question", |event| match event {
        RunnerEvent::Awaiting(asked) if asked.excerpt.join(" ").contains("volume 2") => Some(asked),
        _ => None,
    })
    .await;
    runner.answer(asked.digest, AnswerAction::Text("y".to_owned())).await.unwrap();
    state(&runner, AgentState::Idle).await;
    assert_eq!(std::fs::read_to_string(home.path().join("got")).unwrap(), "1<n>2<y>");
    runner.stop().await.unwrap();
}

/// A program that works in silence after an answer has taken it.
#[tokio::test]
async fn a_line_that_was_read_is_taken_though_the_program_says_nothing() {
    for (script, action) in [
        (
            "read -rp 'Press Enter to go on '; : > got; exec sleep 600",
            AnswerAction::Entry { id: "1".to_owned(), text: None },
        ),
        (
            "read -rn1 -p 'Press any key to go on '; : > got; exec sleep 600",
            AnswerAction::Entry { id: "1".to_owned(), text: None },
        ),
        (
            "read -rsp 'Password: ' key; : > got; exec sleep 600",
            AnswerAction::Secret("swordfish".to_owned()),
        ),
    ] {
        let home = Home::new();
        let (runner, _) = start(&home, &home.held(), script);
        let mut events = runner.subscribe();
        let asked = question(&mut events).await;
        assert_eq!(runner.answer(asked.digest, action).await, Ok(()), "{script}");
        assert!(home.path().join("got").exists(), "{script}");
        let mut verdict = runner.watch();
        let quiet = verdict.wait_for(|now| now.state != AgentState::Awaiting);
        tokio::time::timeout(DEADLINE, quiet).await.unwrap().unwrap();
        runner.stop().await.unwrap();
    }
}

/// What a runner typed before it ended is not sent along with what the next one types.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_runner_typed_and_did_not_submit_is_not_sent_along() {
    let home = Home::new();
    let place = home.held();
    let script = "read -rsp 'Password: ' key; printf '\\ngot <%s>\\n> ' \"$key\"; read -rsn1 key";
    let (runner, job) = start(&home, &place, script);
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    let first = tokio::spawn({
        let (runner, digest) = (runner.clone(), asked.digest.clone());
        async move { runner.answer(digest, AnswerAction::Secret("first".to_owned())).await }
    });
    // It is typed, and submitted a moment later by nobody.
    typed(&place, |bytes| bytes.len() == 5).await;
    runner.detach().await;
    assert!(first.await.unwrap().is_err());
    let adapter = scripted(&home, RULES, script);
    let runner = adopted(&place, AgentTask::interactive(&*job, None), adapter);
    let mut events = runner.subscribe();
    state(&runner, AgentState::Awaiting).await;
    let digest = runner.verdict().digest.unwrap();
    runner.answer(digest, AnswerAction::Secret("second".to_owned())).await.unwrap();
    // What is printed of a secret is masked; its length is not.
    printed(&mut events, "got <").await;
    state(&runner, AgentState::Idle).await;
    let text = runner.view().await.unwrap().snapshot.text();
    assert!(text.contains("got <******>"), "{text}");
    runner.stop().await.unwrap();
}

/// The same once more: the line that is deleted before the second is nobody's draft either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_two_runners_typed_and_did_not_submit_is_nobodys_draft() {
    let home = Home::new();
    let place = home.held();
    let script = "read -rsp 'Password: ' key; printf '\\ngot <%s>\\n> ' \"$key\"; read -rsn1 key";
    let (mut runner, job) = start(&home, &place, script);
    for (length, secret) in [(5, "first"), (6, "second")] {
        state(&runner, AgentState::Awaiting).await;
        let digest = runner.verdict().digest.unwrap();
        let answer = tokio::spawn({
            let runner = runner.clone();
            async move { runner.answer(digest, AnswerAction::Secret(secret.to_owned())).await }
        });
        typed(&place, |bytes| bytes.len() == length).await;
        runner.detach().await;
        assert!(answer.await.unwrap().is_err());
        let adapter = scripted(&home, RULES, script);
        runner = adopted(&place, AgentTask::interactive(&*job, None), adapter);
    }
    let mut events = runner.subscribe();
    state(&runner, AgentState::Awaiting).await;
    let digest = runner.verdict().digest.unwrap();
    runner.answer(digest, AnswerAction::Secret("the third".to_owned())).await.unwrap();
    printed(&mut events, "got <").await;
    state(&runner, AgentState::Idle).await;
    let text = runner.view().await.unwrap().snapshot.text();
    assert!(text.contains("got <*********>"), "{text}");
    runner.stop().await.unwrap();
}

/// A message that a runner typed before it ended is submitted by the next one as it stands there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_stands_in_the_line_is_submitted_and_not_deleted() {
    let home = Home::new();
    let place = home.held();
    let script = "printf '> '; read line; printf 'got <%s>\\n> ' \"$line\"; read -rsn1 key";
    let (runner, job) = start(&home, &place, script);
    state(&runner, AgentState::Idle).await;
    let named = |typed: bool| {
        let name = Some(coven_runner::InputName::Message("1".to_owned()));
        Message { name, typed, ..Message::new("hello there") }
    };
    let first = tokio::spawn({
        let (runner, message) = (runner.clone(), named(false));
        async move { runner.send(message).await }
    });
    typed(&place, |bytes| bytes == b"hello there").await;
    runner.detach().await;
    assert!(first.await.unwrap().is_err());
    let adapter = scripted(&home, RULES, script);
    let runner = adopted(&place, AgentTask::interactive(&*job, None), adapter);
    let mut events = runner.subscribe();
    let sent = tokio::spawn({
        let (runner, message) = (runner.clone(), named(true));
        async move { runner.send(message).await }
    });
    printed(&mut events, "got <hello there>").await;
    sent.await.unwrap().unwrap();
    runner.stop().await.unwrap();
}
