//! Messages for agents: their order, and those that do not arrive.

use coven_model::event::InterventionDecision;
use coven_model::{
    AskedAction, ContentDigest, InterventionChoice, InterventionKind, MenuEntry, TaskId,
    TaskStatus, WorkflowStatus,
};
use serde_json::json;

use crate::command::Command;
use crate::input::{QuestionRuling, ScreenObservation, SessionInput};
use crate::state::RefusalReason;
use crate::testing::*;

/// An interactive agent that works.
fn chat() -> TestRun {
    TestRun::begin(plan(vec![stage("first", &[("a", interactive("hi"))])]), json!({}))
}

fn task(name: &str) -> TaskId {
    TaskId::new(name).unwrap()
}

fn working(task: &str, attempt: u32, seen: u64) -> SessionInput {
    SessionInput::Observed { job: job(task, attempt), seen, what: ScreenObservation::Working }
}

fn message(text: &str) -> SessionInput {
    SessionInput::Message { task: task("a"), text: text.to_owned(), by: "she".to_owned() }
}

fn delivered(number: u32, seen: u64) -> SessionInput {
    SessionInput::Delivered { job: job("a", 1), number, seen }
}

fn undelivered(number: u32, attempt: u32) -> SessionInput {
    let reason = "nothing showed that it was submitted".to_owned();
    SessionInput::Undelivered { job: job("a", 1), number, attempt, reason, typable: true }
}

/// The texts that are to be typed now: number, try, text, and whether nobody looks.
fn sends(commands: &[Command]) -> Vec<(u32, u32, &str, bool)> {
    let sent = commands.iter().filter_map(|command| match command {
        Command::Send { text, .. } => {
            Some((text.number, text.attempt, text.text.as_str(), text.unverified))
        }
        _ => None,
    });
    sent.collect()
}

#[test]
fn messages_are_typed_in_the_order_they_were_sent_one_at_a_time() {
    let mut told = chat();
    assert_eq!(sends(&told.tell(message("one")).1), [(1, 1, "one", false)]);
    assert_eq!(sends(&told.tell(message("two")).1), []);
    assert_eq!(sends(&told.tell(message("three")).1), []);
    assert_eq!(sends(&told.state.outstanding()), [(1, 1, "one", false)], "also after a restart");
    assert_eq!(sends(&told.tell(delivered(1, 1)).1), [(2, 1, "two", false)]);
    assert_eq!(sends(&told.tell(delivered(1, 1)).1), [], "told twice");
    assert_eq!(sends(&told.tell(delivered(2, 2)).1), [(3, 1, "three", false)]);
    told.tell(delivered(3, 3));
    assert_eq!(sends(&told.state.outstanding()), []);
}

#[test]
fn a_message_to_an_agent_whose_turn_is_over_is_the_decision_to_send() {
    let mut told = chat();
    told.tell(idle("a", 1, 1, true));
    assert_eq!(told.waiting(), [InterventionKind::EndedTurn]);
    assert_eq!(sends(&told.tell(message("more")).1), [(1, 1, "more", false)]);
    assert_eq!(sends(&told.tell(message("and more")).1), []);
    assert_eq!(sends(&told.tell(delivered(1, 2)).1), [(2, 1, "and more", false)]);
    assert_eq!(told.waiting(), []);
}

#[test]
fn an_agent_that_asks_or_has_ended_takes_no_message() {
    let mut told = chat();
    told.tell(asks("a", 1, 1, "Allow rm?"));
    let refused = told.state.admits(&message("yes")).unwrap_err();
    assert_eq!(refused, RefusalReason::Awaiting(task("a")));
    assert_eq!(told.kinds(message("yes")), [] as [&str; 0]);
    told.tell(resolve(1, InterventionChoice::Deny));
    assert!(told.state.admits(&message("yes")).is_err(), "the answer is on its way");
    told.tell(SessionInput::Answered { intervention: intervention(1), seen: 2 });
    assert!(told.state.admits(&message("  ")).is_err(), "nothing to send");
    assert!(told.state.admits(&message("now")).is_ok());
    assert!(
        told.state
            .admits(&SessionInput::Message {
                task: task("nobody"),
                text: "hello".to_owned(),
                by: "she".to_owned(),
            })
            .is_err()
    );
}

#[test]
fn a_message_that_does_not_arrive_waits_for_a_person_and_its_agent_is_left_alone() {
    let mut told = chat();
    told.tell(message("one"));
    told.tell(message("two"));
    let (_, commands) = told.tell(undelivered(1, 1));
    assert_eq!(commands, [], "nothing is stopped");
    assert_eq!(told.waiting(), [InterventionKind::UndeliveredMessage]);
    assert_eq!(told.task_status("a"), TaskStatus::WaitingForUser);
    assert_eq!(told.status(), WorkflowStatus::Blocked);
    let asked = told.run().interventions().next().unwrap().clone();
    assert_eq!(asked.excerpt, "one");
    assert!(asked.reason.contains("nothing showed that it was submitted"), "{}", asked.reason);
    assert_eq!(sends(&told.state.outstanding()), [], "neither it nor those behind it");
    assert_eq!(told.kinds(undelivered(1, 1)), [] as [&str; 0], "told twice");

    let (_, commands) = told.tell(resolve(1, InterventionChoice::Retry));
    assert_eq!(sends(&commands), [(1, 2, "one", false)]);
    assert_eq!(told.kinds(undelivered(1, 1)), [] as [&str; 0], "of the first try");
    told.tell(undelivered(1, 2));
    let (_, commands) = told.tell(resolve(2, InterventionChoice::SendAnyway));
    assert_eq!(sends(&commands), [(1, 3, "one", true)]);
    assert_eq!(sends(&told.tell(delivered(1, 1)).1), [(2, 1, "two", false)]);
}

#[test]
fn what_cannot_be_typed_cannot_be_sent_anyway() {
    let options = [InterventionChoice::Retry, InterventionChoice::Drop];
    let reason = || "the message cannot be typed: it has several lines".to_owned();
    let mut told = chat();
    told.tell(message("two\nlines"));
    let (job, reason, typable) = (job("a", 1), reason(), false);
    let prompt =
        SessionInput::PromptUndelivered { job: job.clone(), reason: reason.clone(), typable };
    told.tell(SessionInput::Undelivered { job, number: 1, attempt: 1, reason, typable });
    assert_eq!(told.run().interventions().next().unwrap().options, options);
    let anyway = resolve(1, InterventionChoice::SendAnyway);
    assert!(told.state.admits(&anyway).is_err());
    let mut told = chat();
    told.tell(prompt);
    assert_eq!(told.run().interventions().next().unwrap().options, options);
}

#[test]
fn a_message_that_is_given_up_lets_the_next_one_through_and_the_agent_is_looked_at_again() {
    let mut told = chat();
    told.tell(message("one"));
    told.tell(message("two"));
    told.tell(undelivered(1, 1));
    // Neither work nor a question of the agent decides about the message.
    told.tell(working("a", 1, 1));
    told.tell(asks("a", 1, 2, "Allow rm?"));
    told.tell(working("a", 1, 3));
    assert_eq!(told.waiting(), [InterventionKind::UndeliveredMessage]);
    let (_, commands) = told.tell(resolve(1, InterventionChoice::Drop));
    assert_eq!(sends(&commands), [(2, 1, "two", false)]);
    assert!(commands.contains(&Command::Observe(job("a", 1))));
    assert_eq!(told.waiting(), []);
}

#[test]
fn a_prompt_that_does_not_arrive_can_be_sent_again_before_everything_else() {
    let mut told = chat();
    told.tell(message("later"));
    let reason = "the agent was not ready".to_owned();
    let undelivered = || SessionInput::PromptUndelivered {
        job: job("a", 1),
        reason: reason.clone(),
        typable: true,
    };
    told.tell(undelivered());
    assert_eq!(told.waiting(), [InterventionKind::UndeliveredMessage]);
    assert_eq!(told.run().interventions().next().unwrap().excerpt, "hi");
    assert_eq!(told.kinds(undelivered()), [] as [&str; 0]);
    let (_, commands) = told.tell(resolve(1, InterventionChoice::Retry));
    assert_eq!(sends(&commands), [(2, 2, "hi", false)]);
    assert_eq!(sends(&told.tell(delivered(2, 1)).1), [(1, 1, "later", false)]);
}

#[test]
fn an_agent_that_waits_has_somebody_until_it_goes_on() {
    use coven_model::AgentState::{Awaiting, Unknown};
    let mut told = chat();
    let is_attended = |told: &TestRun, state| {
        let (_, live) = told.run().live_jobs().next().unwrap();
        live.is_attended(state)
    };
    assert!(!is_attended(&told, Awaiting), "nobody was asked");
    let (events, commands) = told.tell(SessionInput::Unheard { job: job("a", 1) });
    assert_eq!((events.len(), commands), (0, vec![Command::Observe(job("a", 1))]));
    told.tell(asks("a", 1, 1, "Allow rm?"));
    assert!(is_attended(&told, Awaiting), "a person is asked");
    told.tell(resolve(1, InterventionChoice::Approve));
    assert!(is_attended(&told, Awaiting), "an answer is on its way");
    told.tell(SessionInput::Answered { intervention: intervention(1), seen: 2 });
    assert!(!is_attended(&told, Awaiting), "the next question is another");
    let excerpt = "Sign in".to_owned();
    let what = ScreenObservation::Unexplained { excerpt };
    told.tell(SessionInput::Observed { job: job("a", 1), seen: 3, what });
    assert!(is_attended(&told, Unknown), "a person is told");
    assert!(!is_attended(&told, Awaiting), "which is no question");
}

#[test]
fn a_refused_answer_brings_the_question_back_with_the_reason() {
    let mut told = chat();
    told.tell(asks("a", 1, 1, "Allow rm?"));
    told.tell(resolve(1, InterventionChoice::Approve));
    let reason = "the agent did not take key 1 of 1".to_owned();
    let (_, commands) = told.tell(SessionInput::Stale {
        intervention: intervention(1),
        reason: reason.clone(),
        pressed: true,
    });
    assert_eq!(commands, [Command::Observe(job("a", 1))]);
    told.tell(asks("a", 1, 2, "Allow rm?"));
    let asked = told.run().interventions().next().unwrap();
    assert_eq!((asked.kind, asked.refused.as_ref()), (InterventionKind::Approval, Some(&reason)));
}

/// The same words, of which more is known later.
///
/// Spec: C0.4.2
#[test]
fn a_question_that_was_told_without_its_entries_is_told_again_with_them() {
    let entries = |labels: &[&str]| -> Vec<MenuEntry> {
        let entry =
            |(at, label): (usize, &&str)| MenuEntry::new((at + 1).to_string(), (*label).to_owned());
        labels.iter().enumerate().map(entry).collect()
    };
    let shown = |seen: u64, known: &dyn Fn(&mut AskedAction)| {
        let mut input = asks("a", 1, seen, "Pick one:");
        if let SessionInput::Observed {
            what: ScreenObservation::Awaiting { question, .. }, ..
        } = &mut input
        {
            known(&mut question.action);
        }
        input
    };
    let mut told = chat();
    told.tell(shown(1, &|_| {}));
    assert_eq!(told.kinds(shown(2, &|_| {})), [] as [&str; 0], "nothing new");
    let both = |action: &mut AskedAction| action.entries = entries(&["Red", "Blue"]);
    let again = ["workflow.intervention.withdrawn", "workflow.intervention.required"];
    assert_eq!(told.kinds(shown(3, &both))[..2], again);
    let open: Vec<_> = told.run().interventions().cloned().collect();
    let [asked] = &open[..] else { panic!("{open:?}") };
    assert_eq!((asked.id.clone(), asked.entries.len()), (intervention(2), 2));
    // The first is over; the second can be answered with an entry.
    assert!(told.state.admits(&resolve(1, InterventionChoice::Answer)).is_err());
    // A menu whose marks move, or that cannot be read in one look, is no other.
    let marked = |action: &mut AskedAction| action.entries = entries(&["* Red", "Blue (default)"]);
    assert_eq!(told.kinds(shown(4, &marked)), [] as [&str; 0]);
    // Other entries, a secret, or a part that is not to be seen are told.
    let changes: [&dyn Fn(&mut AskedAction); 3] = [
        &|action| action.entries = entries(&["Red", "Green"]),
        &|action| (action.entries, action.secret) = (entries(&["Red", "Green"]), true),
        &|action| {
            (action.entries, action.truncated) = (entries(&["Red", "Green"]), true);
        },
    ];
    for (seen, change) in (5..).zip(changes) {
        assert_eq!(told.kinds(shown(seen, change))[..2], again);
        assert_eq!(told.run().interventions().count(), 1);
    }
    // While an answer is on its way what it shows may be the answer.
    told.tell(decide_with(5, InterventionDecision::new(InterventionChoice::Deny, "she")));
    assert_eq!(told.kinds(shown(9, &both)), [] as [&str; 0]);
}

#[test]
fn what_the_agent_takes_no_approval_of_is_not_offered_to_be_approved() {
    for only_denied in [false, true] {
        let mut told = chat();
        let SessionInput::Observed { job, seen, what } = asks("a", 1, 1, "Allow rm?") else {
            panic!("it is an observation")
        };
        let ScreenObservation::Awaiting { mut question, ruling } = what else {
            panic!("it is a question")
        };
        question.action.no_approval = only_denied.then(|| "it takes none".to_owned());
        let what = ScreenObservation::Awaiting { question, ruling };
        told.tell(SessionInput::Observed { job, seen, what });
        let asked = told.run().interventions().next().expect("nothing is asked").clone();
        let approvals = [InterventionChoice::Approve, InterventionChoice::ApproveAlways];
        for approval in approvals {
            assert_eq!(asked.options.contains(&approval), !only_denied, "{approval}");
        }
        assert!(asked.options.contains(&InterventionChoice::Deny));
    }
}

/// A question with a decision of a rule.
fn ruled(seen: u64, choice: InterventionChoice, repeated: bool) -> SessionInput {
    let SessionInput::Observed { job, what, .. } = asks("a", 1, seen, "Allow rm?") else {
        panic!("it is an observation")
    };
    let ScreenObservation::Awaiting { mut question, .. } = what else { panic!("it is a question") };
    question.digest = ContentDigest::of_bytes(&seen.to_le_bytes());
    question.repeated = repeated;
    let decision = InterventionDecision::new(choice, "policy:user:it");
    let ruling = QuestionRuling::Decided(Box::new(decision));
    let what = ScreenObservation::Awaiting { question, ruling };
    SessionInput::Observed { job, seen, what }
}

#[test]
fn nothing_answers_by_itself_what_may_have_been_answered() {
    let mut told = chat();
    let approve = InterventionChoice::Approve;
    assert_eq!(told.kinds(ruled(1, approve, false)), ["input.decided"]);
    told.tell(SessionInput::Answered { intervention: intervention(1), seen: 2 });
    told.tell(ruled(3, approve, true));
    let asked = told.run().interventions().next().unwrap();
    assert!(asked.refused.as_ref().unwrap().contains("still asks"), "{asked:?}");

    // The same where keys were pressed and not taken; not where nothing was.
    for (pressed, kinds) in [(false, "input.decided"), (true, "workflow.intervention.required")] {
        let mut told = chat();
        told.tell(ruled(1, approve, false));
        let reason = "why".to_owned();
        told.tell(SessionInput::Stale { intervention: intervention(1), reason, pressed });
        assert_eq!(told.kinds(ruled(2, approve, false))[0], kinds);
    }
}

#[test]
fn an_answer_of_a_rule_that_is_never_taken_goes_to_a_person() {
    let mut told = chat();
    for round in 1..=3 {
        let kinds = told.kinds(ruled(round * 10, InterventionChoice::Approve, false));
        assert_eq!(kinds, ["input.decided"], "round {round}");
        let reason = "something was painted over it".to_owned();
        let intervention = intervention(round);
        told.tell(SessionInput::Stale { intervention, reason, pressed: false });
    }
    told.tell(ruled(40, InterventionChoice::Approve, false));
    let asked = told.run().interventions().next().unwrap();
    assert_eq!(asked.refused.as_deref(), Some("something was painted over it"));
}

#[test]
fn what_rules_deny_again_and_again_goes_to_a_person() {
    let mut told = chat();
    // Where a rule names no region, the conversation above the question is in the excerpt too.
    let denied = |round: u64| {
        let mut input = ruled(round * 10, InterventionChoice::Deny, false);
        if let SessionInput::Observed {
            what: ScreenObservation::Awaiting { question, .. }, ..
        } = &mut input
        {
            question.excerpt = format!("try {round}\nAllow rm?");
        }
        input
    };
    for round in 1..=5 {
        assert_eq!(told.kinds(denied(round)), ["input.decided"]);
        told.tell(SessionInput::Answered {
            intervention: intervention(round),
            seen: round * 10 + 1,
        });
    }
    told.tell(denied(6));
    let asked = told.run().interventions().next().unwrap();
    let said = "rules denied this 5 times and it is asked again: Allow rm?";
    assert_eq!(asked.refused.as_deref(), Some(said));
    // Something else is denied as before.
    let mut told = chat();
    for round in 1..=6 {
        let mut input = denied(round);
        if let SessionInput::Observed {
            what: ScreenObservation::Awaiting { question, .. }, ..
        } = &mut input
        {
            question.excerpt = format!("Allow rm {round}?");
        }
        assert_eq!(told.kinds(input), ["input.decided"]);
        told.tell(SessionInput::Answered {
            intervention: intervention(round),
            seen: round * 10 + 1,
        });
    }
}

#[test]
fn an_agent_that_nobody_understands_waits_for_a_person_until_it_shows_what_is_known() {
    let unexplained = |seen| SessionInput::Observed {
        job: job("a", 1),
        seen,
        what: ScreenObservation::Unexplained { excerpt: "sign in at …".to_owned() },
    };
    let mut told = chat();
    told.tell(unexplained(1));
    assert_eq!(told.waiting(), [InterventionKind::UnknownState]);
    assert_eq!(told.run().interventions().next().unwrap().excerpt, "sign in at …");
    assert_eq!(told.kinds(unexplained(2)), [] as [&str; 0], "told once");
    told.tell(working("a", 1, 3));
    assert_eq!(told.waiting(), []);
    told.tell(unexplained(4));
    told.tell(idle("a", 1, 5, false));
    assert_eq!((told.waiting(), told.task_status("a")), (vec![], TaskStatus::Running));
    told.tell(unexplained(6));
    told.tell(asks("a", 1, 7, "Allow rm?"));
    assert_eq!(told.waiting(), [InterventionKind::Approval]);
    // What is asked is not what it shows any more.
    told.tell(unexplained(8));
    assert_eq!(told.waiting(), [InterventionKind::UnknownState]);
    // Whether an answer on its way was taken shows by itself.
    told.tell(asks("a", 1, 9, "Allow rm?"));
    told.tell(resolve(6, InterventionChoice::Approve));
    assert_eq!(told.kinds(unexplained(10)), [] as [&str; 0]);
}

#[test]
fn what_a_person_sends_to_an_agent_that_nobody_understands_is_typed_and_a_message_leaves_it_asked()
{
    let mut told = chat();
    let what = ScreenObservation::Unexplained { excerpt: "What is your name?".to_owned() };
    told.tell(SessionInput::Observed { job: job("a", 1), seen: 1, what });
    // Whoever sends a message has not seen what the agent shows.
    told.tell(message("do this"));
    assert_eq!(told.waiting(), [InterventionKind::UnknownState]);
    let decision =
        InterventionDecision::new(InterventionChoice::Send, "she").with_text("Bob".to_owned());
    let mut answered = chat();
    let what = ScreenObservation::Unexplained { excerpt: "What is your name?".to_owned() };
    answered.tell(SessionInput::Observed { job: job("a", 1), seen: 1, what });
    let (_, commands) = answered.tell(decide_with(1, decision));
    let [Command::Send { text, .. }] = &commands[..] else { panic!("{commands:?}") };
    assert_eq!((text.text.as_str(), text.unverified), ("Bob", true));
}

/// An agent that goes from a question to its prompt was answered at its terminal, or went on.
#[test]
fn an_idle_agent_asks_nothing_any_more() {
    for worked in [false, true] {
        let mut told = chat();
        told.tell(asks("a", 1, 1, "Allow rm?"));
        assert_eq!(told.run().interventions().count(), 1);
        told.tell(idle("a", 1, 2, worked));
        let kinds: Vec<_> = told.run().interventions().map(|asked| asked.kind).collect();
        let ended = [InterventionKind::EndedTurn];
        assert_eq!(kinds, if worked { &ended[..] } else { &[] }, "worked: {worked}");
        let withdrawn = |fact: &&coven_model::event::SessionEvent| {
            fact.kind() == "workflow.intervention.withdrawn"
        };
        assert_eq!(told.journal.iter().filter(withdrawn).count(), 1);
    }
}
