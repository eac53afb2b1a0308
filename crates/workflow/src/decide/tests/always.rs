//! Commands that were approved for always: what they answer, and when not any more.

use coven_model::event::{InterventionDecision, SessionEvent, SessionRule};
use coven_model::{AutoAnswer, InterventionChoice, InterventionKind, JobWork, Timestamp};
use serde_json::json;

use crate::command::Command;
use crate::input::{QuestionRuling, ScreenObservation, SessionInput};
use crate::testing::*;

/// A stage with one interactive task.
fn chat() -> TestRun {
    TestRun::begin(plan(vec![stage("first", &[("a", interactive("hi"))])]), json!({}))
}

/// The question whether a command may run.
fn asks_to_run(seen: u64, screen: &str, command: &str, wrapped: bool) -> SessionInput {
    let SessionInput::Observed { job, what, .. } = asks("a", 1, seen, screen) else {
        panic!("not asked");
    };
    let ScreenObservation::Awaiting { mut question, ruling } = what else { panic!("not asked") };
    question.action.command = Some(command.to_owned());
    question.action.wrapped = wrapped;
    SessionInput::Observed { job, seen, what: ScreenObservation::Awaiting { question, ruling } }
}

/// Rules match the command as it is; a person reads it with a sign for what would not show.
#[test]
fn the_words_of_a_question_have_a_sign_for_everything_that_would_not_show() {
    let mut told = chat();
    let command = "echo \u{202e}hi\u{1b}]0;x\u{7}\r\n\trm\u{200b} -rf .\n";
    told.tell(asks_to_run(1, "Run it?", command, false));
    let open: Vec<_> = told.run().interventions().collect();
    let [asked] = &open[..] else { panic!("{open:?}") };
    assert_eq!(asked.command.as_deref(), Some(command));
    let words = "echo \u{fffd}hi␛]0;x␇␍ ⏎ rm\u{fffd} -rf .";
    assert!(asked.reason.ends_with(words), "{}", asked.reason);
}

fn always(adapter: &str) -> InterventionDecision {
    let rule = SessionRule {
        name: "always-1".to_owned(),
        adapter: adapter.to_owned(),
        command: "cargo test".to_owned(),
    };
    let decision = InterventionDecision::new(InterventionChoice::ApproveAlways, "she");
    InterventionDecision { rule: Some(Box::new(rule)), ..decision }
}

/// A run whose agent was allowed `cargo test` for always.
fn approved_for_always() -> TestRun {
    let mut told = chat();
    told.tell(asks_to_run(1, "Run it?", "cargo test", false));
    let adapter = match &told.spec("a", 1).work {
        JobWork::Agent(agent) => agent.adapter.clone(),
        work @ JobWork::Shell(_) => panic!("{work:?}"),
    };
    told.tell(decide_with(1, always(&adapter)));
    told.tell(SessionInput::Answered { intervention: intervention(1), seen: 2 });
    told
}

#[test]
fn a_command_that_was_approved_for_always_is_not_asked_again() {
    let mut told = approved_for_always();
    // Another process folds the same facts.
    told.state = replay(&told.journal);
    let (events, commands) = told.tell(asks_to_run(3, "Again?", "cargo test", false));
    assert_eq!(events.iter().map(SessionEvent::kind).collect::<Vec<_>>(), ["input.decided"]);
    let [Command::Answer(answer)] = &commands[..] else { panic!("{commands:?}") };
    assert_eq!(
        (answer.decision.choice, answer.decision.by.as_str()),
        (InterventionChoice::Approve, "policy:session:always-1")
    );
    told.tell(SessionInput::Answered { intervention: answer.intervention.clone(), seen: 4 });
    for (seen, command, wrapped) in
        [(5, "cargo test --lib", false), (6, "cargo test ", false), (7, "cargo test", true)]
    {
        told.tell(asks_to_run(seen, &format!("{seen}?"), command, wrapped));
        assert_eq!(told.waiting(), [InterventionKind::Approval], "{command:?}");
    }
}

#[test]
fn what_a_strangers_session_answered_by_itself_is_asked_after_its_import() {
    for vouched in [false, true] {
        let mut told = approved_for_always();
        let SessionEvent::SessionCreated(made) = &mut told.journal[0] else { panic!("not made") };
        made.auto = Some(AutoAnswer::Allow);
        told.state = replay(&told.journal);
        let at = Timestamp::from_millis(told.now);
        told.record(SessionEvent::SessionImported { vouched, repository: None, at });
        assert_eq!(told.run().identity.auto.is_some(), vouched);
        told.tell(asks_to_run(3, "Again?", "cargo test", false));
        assert_eq!(told.waiting().is_empty(), vouched);
        // The facts of before are folded as they were.
        assert_eq!(replay(&told.journal), told.state);
    }
}

#[test]
fn a_session_rule_is_about_one_type_of_agent_and_loses_against_a_denial() {
    let mut told = chat();
    told.tell(asks_to_run(1, "Run it?", "cargo test", false));
    told.tell(decide_with(1, always("another")));
    told.tell(SessionInput::Answered { intervention: intervention(1), seen: 2 });
    told.tell(asks_to_run(3, "Again?", "cargo test", false));
    assert_eq!(told.waiting(), [InterventionKind::Approval]);
    let SessionInput::Observed { job, seen, what: ScreenObservation::Awaiting { question, .. } } =
        asks_to_run(4, "And now?", "cargo test", false)
    else {
        panic!("not asked");
    };
    let denial = InterventionDecision::new(InterventionChoice::Deny, "policy:user:no");
    let what =
        ScreenObservation::Awaiting { question, ruling: QuestionRuling::Decided(Box::new(denial)) };
    let (_, commands) = told.tell(SessionInput::Observed { job, seen, what });
    let answer = commands.iter().find_map(|command| match command {
        Command::Answer(answer) => Some(answer),
        _ => None,
    });
    assert_eq!(answer.unwrap().decision.by, "policy:user:no");
}

#[test]
fn a_session_rule_answers_nothing_while_a_person_is_to_decide() {
    let mut told = chat();
    told.tell(asks_to_run(1, "Run it?", "cargo test", false));
    let JobWork::Agent(agent) = told.spec("a", 1).work.clone() else { panic!("no agent") };
    told.tell(decide_with(1, always(&agent.adapter)));
    told.tell(SessionInput::Answered { intervention: intervention(1), seen: 2 });
    let mut again = asks_to_run(3, "Again?", "cargo test", false);
    if let SessionInput::Observed { what: ScreenObservation::Awaiting { ruling, .. }, .. } =
        &mut again
    {
        *ruling = QuestionRuling::AskPerson;
    }
    told.tell(again);
    assert_eq!(told.waiting(), [InterventionKind::Approval]);
}
