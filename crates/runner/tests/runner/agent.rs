//! Agents on a terminal.

use coven_model::{AgentState, AwaitingKind, InterventionChoice, ProcessEnding};
use coven_runner::{
    AgentRunner, AgentTask, AnswerAction, AnswerError, DeliveryError, DeliveryStage, Message,
    RunnerEvent,
};

use crate::support::{Home, demo, question, state, wait};

fn start(home: &Home, task: AgentTask) -> AgentRunner {
    AgentRunner::start(demo(), task, &home.local()).unwrap()
}

/// Spec: C0.1.1, C1.1.1, C1.6.1
#[tokio::test]
async fn an_agent_keeps_its_terminal_through_any_number_of_messages() {
    let home = Home::new();
    let runner = start(&home, AgentTask::interactive("keep", None));
    state(&runner, AgentState::Idle).await;
    for message in ["say first", "say second", "say third"] {
        runner.send(Message::new(message)).await.unwrap();
        state(&runner, AgentState::Idle).await;
    }
    let screen = runner.view().await.unwrap().snapshot.text();
    for word in ["first", "second", "third"] {
        assert!(screen.contains(word), "{word} is missing from\n{screen}");
    }
    let outcome = runner.stop().await.unwrap();
    assert_eq!(outcome.ending, ProcessEnding::Stopped);
    assert!(!outcome.ok);
    assert_eq!(runner.verdict().state, AgentState::Exited);
}

/// Spec: C0.1.2, C1.1.2
#[tokio::test]
async fn what_is_sent_arrives_and_what_is_printed_is_told() {
    let home = Home::new();
    let runner = start(&home, AgentTask::interactive("both-ways", None));
    let mut events = runner.subscribe();
    state(&runner, AgentState::Idle).await;
    runner.send(Message::new("say purple elephants")).await.unwrap();
    let mut offsets = Vec::new();
    let mut text = String::new();
    wait(&mut events, "the answer", |event| match event {
        RunnerEvent::Output { offset, raw, clean, .. } => {
            offsets.push((offset, raw.len() as u64));
            text.push_str(&clean);
            (text.matches("purple elephants").count() >= 2).then_some(())
        }
        _ => None,
    })
    .await;
    assert!(!text.contains('\x1b'), "clean text has no sequences");
    for pair in offsets.windows(2) {
        assert_eq!(pair[0].0 + pair[0].1, pair[1].0, "offsets leave nothing out");
    }
    runner.stop().await.unwrap();
}

/// Spec: C1.6.3
#[tokio::test]
async fn a_prompt_is_an_argument_and_is_worked_on_at_once() {
    let home = Home::new();
    let runner = start(&home, AgentTask::interactive("prompt", Some("say straight away")));
    let mut events = runner.subscribe();
    wait(&mut events, "the end of the turn", |event| match event {
        RunnerEvent::TurnEnded { error } => {
            assert!(!error);
            Some(())
        }
        RunnerEvent::Delivery { .. } => panic!("a prompt is not typed"),
        _ => None,
    })
    .await;
    let screen = runner.view().await.unwrap().snapshot.text();
    assert!(screen.contains("straight away"), "{screen}");
    runner.stop().await.unwrap();
}

/// Spec: C0.10.1, C1.9.1, AD.2.1
#[tokio::test]
async fn a_question_is_reported_with_what_is_on_the_screen_and_answered_by_its_digest() {
    let home = Home::new();
    let runner =
        start(&home, AgentTask::interactive("asks", Some("approve touch made.txt; say done")));
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    assert_eq!(asked.kind, AwaitingKind::Approval);
    assert!(asked.excerpt.iter().any(|line| line.contains("touch made.txt")), "{asked:?}");
    assert!(!home.path().join("made.txt").exists());
    runner.answer(asked.digest, AnswerAction::Choose(InterventionChoice::Approve)).await.unwrap();
    state(&runner, AgentState::Idle).await;
    assert!(home.path().join("made.txt").exists());
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn a_denied_command_is_not_run() {
    let home = Home::new();
    let runner =
        start(&home, AgentTask::interactive("denies", Some("approve touch made.txt; say on")));
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    runner.answer(asked.digest, AnswerAction::Choose(InterventionChoice::Deny)).await.unwrap();
    state(&runner, AgentState::Idle).await;
    assert!(!home.path().join("made.txt").exists());
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn two_questions_with_the_same_words_are_two_questions() {
    let home = Home::new();
    let prompt = "approve echo x >> made.txt; approve echo x >> made.txt; say done";
    let runner = start(&home, AgentTask::interactive("twice", Some(prompt)));
    let mut events = runner.subscribe();
    let first = question(&mut events).await;
    runner
        .answer(first.digest.clone(), AnswerAction::Choose(InterventionChoice::Approve))
        .await
        .unwrap();
    let second = question(&mut events).await;
    assert_eq!(first.excerpt, second.excerpt);
    assert_ne!(first.digest, second.digest);
    assert_eq!(
        runner.answer(first.digest, AnswerAction::Choose(InterventionChoice::Approve)).await,
        Err(AnswerError::Stale),
        "an answer counts for the question it was given for"
    );
    runner.answer(second.digest, AnswerAction::Choose(InterventionChoice::Approve)).await.unwrap();
    state(&runner, AgentState::Idle).await;
    assert_eq!(std::fs::read_to_string(home.path().join("made.txt")).unwrap(), "x\nx\n");
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn a_message_is_not_typed_into_a_question() {
    let home = Home::new();
    let runner = start(&home, AgentTask::interactive("not-typed", Some("approve touch made.txt")));
    let mut events = runner.subscribe();
    question(&mut events).await;
    assert_eq!(runner.send(Message::new("yes please")).await, Err(DeliveryError::Awaiting));
    assert!(!home.path().join("made.txt").exists());
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn a_delivery_goes_through_every_stage_in_order() {
    let home = Home::new();
    let runner = start(&home, AgentTask::interactive("stages", None));
    let mut events = runner.subscribe();
    runner.send(Message::new("say one\nsay two\nsay three")).await.unwrap();
    let mut stages = Vec::new();
    wait(&mut events, "the last stage", |event| match event {
        RunnerEvent::Delivery { stage, .. } => {
            stages.push(stage);
            (stage == DeliveryStage::TurnStarted).then_some(())
        }
        _ => None,
    })
    .await;
    let all = [
        DeliveryStage::Typed,
        DeliveryStage::Echoed,
        DeliveryStage::Submitted,
        DeliveryStage::TurnStarted,
    ];
    assert_eq!(stages, all);
    runner.stop().await.unwrap();
}

/// Spec: C0.11.1, C0.11.2
#[tokio::test]
async fn queued_inputs_go_out_at_idle_and_then_the_task_is_done() {
    let home = Home::new();
    let mut task = AgentTask::interactive("queue", Some("say zero"));
    task.pending_inputs = vec!["say one".to_owned(), "say two".to_owned()];
    let runner = start(&home, task);
    let mut events = runner.subscribe();
    let mut turns = 0;
    let outcome = wait(&mut events, "the end of the task", |event| match event {
        RunnerEvent::TurnEnded { .. } => {
            turns += 1;
            None
        }
        RunnerEvent::Done(outcome) => Some(outcome),
        _ => None,
    })
    .await;
    assert!(outcome.ok, "{outcome:?}");
    assert_eq!(turns, 3);
    assert_eq!(outcome.ending, ProcessEnding::Stopped, "the process does not stay behind");
}

/// Spec: C0.11.3
#[tokio::test]
async fn a_kept_agent_lives_on_after_its_task() {
    let home = Home::new();
    let mut task = AgentTask::interactive("kept", None);
    task.pending_inputs = vec!["say one".to_owned()];
    task.keep_alive = true;
    let runner = start(&home, task);
    let outcome = runner.done().await.unwrap();
    assert!(outcome.ok);
    assert_eq!(outcome.ending, ProcessEnding::Alive);
    runner.send(Message::new("say still here")).await.unwrap();
    state(&runner, AgentState::Idle).await;
    assert!(runner.view().await.unwrap().snapshot.text().contains("still here"));
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_not_the_agent() {
    let home = Home::new();
    let runner = start(&home, AgentTask::interactive("interrupt", Some("think 600; say never")));
    let mut events = runner.subscribe();
    state(&runner, AgentState::Working).await;
    runner.interrupt().await.unwrap();
    wait(&mut events, "the end of the turn", |event| match event {
        RunnerEvent::TurnEnded { .. } => Some(()),
        _ => None,
    })
    .await;
    state(&runner, AgentState::Idle).await;
    runner.send(Message::new("say alive")).await.unwrap();
    state(&runner, AgentState::Idle).await;
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn an_agent_that_ends_by_itself_says_how() {
    let home = Home::new();
    for (prompt, ok, ending) in [
        ("exit 0", true, ProcessEnding::Exited { code: 0 }),
        ("exit 3", false, ProcessEnding::Exited { code: 3 }),
        ("die TERM", false, ProcessEnding::Signalled { signal: 15 }),
    ] {
        let outcome =
            start(&home, AgentTask::interactive("ends", Some(prompt))).done().await.unwrap();
        assert_eq!((outcome.ok, &outcome.ending), (ok, &ending), "{prompt}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_task_that_takes_too_long_is_stopped_and_says_so() {
    let home = Home::new();
    let mut task = AgentTask::interactive("late", Some("hang"));
    task.timeout = Some(std::time::Duration::from_millis(400));
    let outcome = start(&home, task).done().await.unwrap();
    assert_eq!(outcome.ending, ProcessEnding::TimedOut);
    assert_eq!(outcome.reason, "its time was up");
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_an_error_at_the_start() {
    let home = Home::new();
    let mut place = home.local();
    place.programs.clear();
    place.env.insert("PATH".into(), home.path().into());
    let error =
        AgentRunner::start(demo(), AgentTask::interactive("none", None), &place).unwrap_err();
    assert!(error.to_string().starts_with("`coven` was not found"), "{error}");
}

#[tokio::test]
async fn secrets_are_neither_in_clean_text_nor_in_a_question() {
    let home = Home::new();
    let mut task = AgentTask::interactive(
        "secret",
        Some("say key hunter2hunter2; approve echo hunter2hunter2"),
    );
    task.secrets = vec!["hunter2hunter2".to_owned()];
    let runner = start(&home, task);
    let mut events = runner.subscribe();
    let mut clean = String::new();
    let asked = wait(&mut events, "the question", |event| match event {
        RunnerEvent::Output { clean: text, .. } => {
            clean.push_str(&text);
            None
        }
        RunnerEvent::Awaiting(question) => Some(question),
        _ => None,
    })
    .await;
    assert!(clean.contains("[redacted]") && !clean.contains("hunter2"), "{clean}");
    assert!(asked.excerpt.iter().any(|line| line.contains("echo [redacted]")), "{asked:?}");
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn a_question_is_answered_with_text_and_a_choice_with_keys() {
    let home = Home::new();
    let runner = start(
        &home,
        AgentTask::interactive("text", Some("ask Which colour?; choose What? red|blue; say done")),
    );
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    assert_eq!(asked.kind, AwaitingKind::Question);
    runner.answer(asked.digest, AnswerAction::Text("mauve".to_owned())).await.unwrap();
    let asked = question(&mut events).await;
    assert_eq!(asked.kind, AwaitingKind::Choice);
    let keys = ["Down", "Enter"].map(|key| key.parse().unwrap()).to_vec();
    runner.answer(asked.digest, AnswerAction::Keys(keys)).await.unwrap();
    state(&runner, AgentState::Idle).await;
    let screen = runner.view().await.unwrap().snapshot.text();
    assert!(screen.contains("mauve") && screen.contains("blue"), "{screen}");
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn a_view_paints_the_same_screen_elsewhere_and_a_new_size_arrives() {
    use coven_terminal::screen::{GridSize, Screen};
    let home = Home::new();
    let runner = start(&home, AgentTask::interactive("view", Some("say hello")));
    state(&runner, AgentState::Idle).await;
    let view = runner.view().await.unwrap();
    let mut other = Screen::new(view.snapshot.size());
    other.feed(&view.dump);
    assert_eq!(other.snapshot().text(), view.snapshot.text());
    runner.resize(GridSize::new(50, 12)).await;
    runner.send(Message::new("say resized")).await.unwrap();
    state(&runner, AgentState::Idle).await;
    assert_eq!(runner.view().await.unwrap().snapshot.size(), GridSize::new(50, 12));
    runner.stop().await.unwrap();
}
