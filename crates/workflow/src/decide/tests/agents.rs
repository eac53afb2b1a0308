//! Agents that ask, turn idle, and are told more than once.

use coven_model::event::{InterventionDecision, JobConfinement, SessionEvent, StopCause};
use coven_model::{
    ContentDigest, HandlerName, InterventionChoice, InterventionKind, JobOutcome, ProcessEnding,
    TaskStatus, WorkflowStatus,
};
use serde_json::json;

use crate::command::Command;
use crate::input::{QuestionRuling, ScreenObservation, SessionInput};
use crate::plan::{OnLimit, StepAction};
use crate::testing::*;

fn working(task: &str, attempt: u32, seen: u64) -> SessionInput {
    SessionInput::Observed { job: job(task, attempt), seen, what: ScreenObservation::Working }
}

/// A stage with one interactive task.
fn chat() -> TestRun {
    TestRun::begin(plan(vec![stage("first", &[("a", interactive("hi"))])]), json!({}))
}

fn queue(inputs: &[&str], keep_alive: bool, prompt: bool) -> TestRun {
    let mut agent = interactive("hi");
    agent.pending_inputs = inputs.iter().map(|text| template(text)).collect();
    agent.keep_alive = keep_alive;
    if !prompt {
        agent.prompt = None;
    }
    TestRun::begin(plan(vec![stage("first", &[("a", agent)])]), json!({}))
}

fn sends(commands: &[Command]) -> Vec<(u32, String)> {
    let sent = commands.iter().filter_map(|command| match command {
        Command::Send { text, .. } => Some((text.number, text.text.clone())),
        _ => None,
    });
    sent.collect()
}

/// Spec: GR.6.4
#[test]
fn a_question_blocks_the_run_and_its_answer_is_bound_to_what_was_seen() {
    let mut told = chat();
    assert_eq!(
        told.kinds(asks("a", 1, 1, "Allow rm?")),
        ["workflow.intervention.required", "task.status", "workflow.blocked"]
    );
    assert_eq!(told.task_status("a"), TaskStatus::WaitingForUser);
    let digest = ContentDigest::of_bytes(b"Allow rm?");
    assert_eq!(told.run().interventions().next().unwrap().digest.as_ref(), Some(&digest));
    let (_, commands) = told.tell(resolve(1, InterventionChoice::Approve));
    let [Command::Answer(answer)] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!((&answer.digest, &answer.job), (&digest, &job("a", 1)));
    assert_eq!(told.task_status("a"), TaskStatus::Running);
    // Until it is known to be given, it is given again after a restart.
    assert!(told.state.outstanding().contains(&commands[0]));
    told.tell(SessionInput::Answered { intervention: intervention(1), seen: 2 });
    assert!(!told.state.outstanding().contains(&commands[0]));
}

#[test]
fn the_same_question_told_twice_is_one_question_and_is_answered_once() {
    let mut told = chat();
    told.tell(asks("a", 1, 1, "Allow rm?"));
    assert_eq!(told.kinds(asks("a", 1, 1, "Allow rm?")), [] as [&str; 0]);
    assert_eq!(told.kinds(asks("a", 1, 2, "Allow rm?")), [] as [&str; 0]);
    told.tell(resolve(1, InterventionChoice::Approve));
    assert_eq!(told.kinds(resolve(1, InterventionChoice::Deny)), [] as [&str; 0]);
    assert_eq!(told.kinds(asks("a", 1, 3, "Allow rm?")), [] as [&str; 0]);
}

#[test]
fn an_answer_that_comes_too_late_is_void_and_the_question_can_be_asked_again() {
    let mut told = chat();
    told.tell(asks("a", 1, 1, "Allow rm?"));
    told.tell(resolve(1, InterventionChoice::Approve));
    let reason = "the screen changed".to_owned();
    told.tell(SessionInput::Stale { intervention: intervention(1), reason, pressed: false });
    assert!(!told.state.outstanding().iter().any(|order| matches!(order, Command::Answer(_))));
    told.tell(asks("a", 1, 5, "Allow rm?"));
    assert_eq!(told.waiting(), [InterventionKind::Approval]);
}

#[test]
fn answers_that_are_not_taken_are_counted_by_the_words_of_the_question_until_one_is_taken() {
    let mut told = chat();
    let refuse = |told: &mut TestRun, number| {
        told.tell(resolve(number, InterventionChoice::Approve));
        let (intervention, reason) = (intervention(number), "nothing changed".to_owned());
        told.tell(SessionInput::Stale { intervention, reason, pressed: false });
    };
    let count = |told: &TestRun| {
        let asked = told.run().interventions().next().unwrap();
        let refused = told.run().live(&job("a", 1)).unwrap().refused(asked);
        assert_eq!(refused.map(|refused| &refused.reason), asked.refused.as_ref());
        refused.map_or(0, |refused| refused.answers)
    };
    for number in 1..=3 {
        told.tell(asks("a", 1, number, "Allow rm?"));
        assert_eq!(u64::from(count(&told)), number - 1);
        refuse(&mut told, number);
    }
    told.tell(asks("a", 1, 4, "Allow ls?"));
    assert_eq!(count(&told), 0, "another question");
    told.tell(asks("a", 1, 5, "> Allow rm?"));
    assert_eq!(count(&told), 3, "the mark of a menu may stand elsewhere");
    told.tell(asks("a", 1, 6, "Allow ls?"));
    told.tell(resolve(6, InterventionChoice::Approve));
    told.tell(SessionInput::Answered { intervention: intervention(6), seen: 7 });
    told.tell(asks("a", 1, 8, "Allow rm?"));
    assert_eq!(count(&told), 0, "the agent has taken an answer since");
}

#[test]
fn a_question_that_is_not_asked_any_more_does_not_block() {
    let mut told = chat();
    told.tell(asks("a", 1, 1, "Allow rm?"));
    // A screen shows one question: another one takes its place.
    told.tell(asks("a", 1, 2, "Allow ls?"));
    assert_eq!(told.run().interventions().next().unwrap().excerpt, "Allow ls?");
    assert_eq!(
        told.kinds(working("a", 1, 3)),
        ["workflow.intervention.withdrawn", "task.status", "workflow.resumed"]
    );
    assert_eq!(told.status(), WorkflowStatus::Running);
    // What was seen before that is no news.
    assert_eq!(told.kinds(asks("a", 1, 2, "Allow ls?")), [] as [&str; 0]);
}

#[test]
fn an_answer_for_another_screen_is_refused() {
    let mut told = chat();
    told.tell(asks("a", 1, 1, "Allow rm?"));
    let with = |text: &str| SessionInput::Resolve {
        intervention: intervention(1),
        decision: Box::new(InterventionDecision::new(InterventionChoice::Approve, "she")),
        digest: Some(ContentDigest::of_bytes(text.as_bytes())),
    };
    assert_eq!(
        told.state.admits(&with("Allow ls?")).unwrap_err().to_string(),
        "what is asked has changed since it was shown; look at it again"
    );
    assert_eq!(told.kinds(with("Allow ls?")), [] as [&str; 0]);
    assert!(told.state.admits(&with("Allow rm?")).is_ok());
}

#[test]
fn what_a_policy_decides_is_a_fact_and_asks_nobody() {
    let mut told = chat();
    let SessionInput::Observed { job, seen, what: ScreenObservation::Awaiting { question, .. } } =
        asks("a", 1, 1, "Allow ls?")
    else {
        panic!("not asked");
    };
    let handler = Some(HandlerName::PressEnter);
    let decision = InterventionDecision {
        handler,
        ..InterventionDecision::new(InterventionChoice::Approve, "policy: reads")
    };
    let what = ScreenObservation::Awaiting {
        question,
        ruling: QuestionRuling::Decided(Box::new(decision)),
    };
    let (events, commands) = told.tell(SessionInput::Observed { job, seen, what });
    assert_eq!(events.iter().map(SessionEvent::kind).collect::<Vec<_>>(), ["input.decided"]);
    assert!(
        matches!(&commands[..], [Command::Answer(answer)] if answer.decision.by == "policy: reads")
    );
    assert_eq!(told.status(), WorkflowStatus::Running);
}

#[test]
fn other_tasks_go_on_while_one_waits() {
    let stages = vec![stage("first", &[("a", interactive("x")), ("b", agent("y"))])];
    let mut told = TestRun::begin(plan(stages), json!({}));
    told.tell(asks("a", 1, 1, "Allow rm?"));
    told.succeed("b", 1, "done");
    assert_eq!((told.task_status("b"), told.status()), (TaskStatus::Done, WorkflowStatus::Blocked));
}

/// Spec: C1.10.2
#[test]
fn a_stage_task_that_turned_idle_waits_for_a_person_to_complete_it() {
    let mut told = chat();
    assert_eq!(told.kinds(idle("a", 1, 1, false)), [] as [&str; 0]);
    told.tell(idle("a", 1, 2, true));
    assert_eq!(told.waiting(), [InterventionKind::EndedTurn]);
    let send = InterventionDecision::new(InterventionChoice::Send, "she").with_text("and now?");
    let (_, commands) = told.tell(decide_with(1, send));
    assert_eq!(sends(&commands), [(1, "and now?".to_owned())]);
    told.tell(SessionInput::Delivered { job: job("a", 1), number: 1, seen: 3 });
    // An idle that was seen before the text was taken is no news.
    assert_eq!(told.kinds(idle("a", 1, 3, true)), [] as [&str; 0]);
    told.tell(idle("a", 1, 4, true));
    let (_, commands) = told.tell(resolve(2, InterventionChoice::Complete));
    assert_eq!(commands, [Command::Stop(job("a", 1))]);
    told.tell(ended("a", 1, stopped()));
    assert_eq!(
        (told.task_status("a"), told.status()),
        (TaskStatus::Done, WorkflowStatus::Completed)
    );
}

#[test]
fn a_turn_can_be_ended_by_stopping_the_agent_and_then_the_task_has_failed() {
    let mut told = chat();
    told.tell(idle("a", 1, 1, true));
    told.tell(resolve(1, InterventionChoice::Stop));
    told.tell(ended("a", 1, stopped()));
    assert_eq!(told.task_status("a"), TaskStatus::Error);
}

/// Spec: C1.10.2
#[test]
fn completing_a_task_stops_its_agent_and_the_next_stage_begins() {
    let stages = vec![
        stage("first", &[("a", interactive("x"))]),
        stage("second", &[("b", interactive("y"))]),
    ];
    let mut told = TestRun::begin(plan(stages), json!({}));
    let complete = SessionInput::Complete { task: job("a", 1).task, by: "she".to_owned() };
    let (_, commands) = told.tell(complete.clone());
    assert_eq!(commands, [Command::Stop(job("a", 1))]);
    assert_eq!(
        told.run().live(&job("a", 1)).unwrap().stop,
        Some((StopCause::Completed, "she".to_owned()))
    );
    // The agent is told to stop, and a signal ends it: that is no failure here.
    let ending = JobOutcome { ending: ProcessEnding::Signalled { signal: 15 }, ..stopped() };
    assert_eq!(told.starts(ended("a", 1, ending)), ["b/1"]);
    assert_eq!(told.task_status("a"), TaskStatus::Done);
    assert_eq!(told.kinds(complete), [] as [&str; 0]);
}

/// Spec: C1.10.3
#[test]
fn completing_what_does_not_exist_or_is_over_is_an_error_and_changes_nothing() {
    let stages = vec![stage("first", &[("a", interactive("x")), ("b", agent("y"))])];
    let mut told = TestRun::begin(plan(stages), json!({}));
    told.tell(SessionInput::Complete { task: job("a", 1).task, by: "she".to_owned() });
    told.tell(ended("a", 1, stopped()));
    let mut refused = |task: &str| {
        let input = SessionInput::Complete { task: job(task, 1).task, by: "she".to_owned() };
        let refused = told.state.admits(&input).unwrap_err().to_string();
        assert_eq!(told.kinds(input), [] as [&str; 0]);
        refused
    };
    assert_eq!(refused("nobody"), "there is no task `nobody` that was started");
    assert_eq!(refused("a"), "task `a` is DONE, so there is nothing to do about it");
    assert_eq!(refused("b"), "task `b` is not interactive; it is done when its process ends");
}

/// Spec: C0.11.1, C0.11.2
#[test]
fn queued_inputs_are_typed_one_at_a_time_when_the_agent_is_idle_and_then_the_task_is_done() {
    let mut told = queue(&["one", "two"], false, true);
    // Idle before it has taken the prompt: nothing to do yet.
    assert_eq!(told.kinds(idle("a", 1, 1, false)), [] as [&str; 0]);
    let (_, commands) = told.tell(idle("a", 1, 2, true));
    assert_eq!(sends(&commands), [(1, "one".to_owned())]);
    assert_eq!(told.kinds(idle("a", 1, 3, true)), [] as [&str; 0]);
    told.tell(SessionInput::Delivered { job: job("a", 1), number: 1, seen: 4 });
    assert_eq!(told.kinds(idle("a", 1, 4, true)), [] as [&str; 0]);
    let (_, commands) = told.tell(idle("a", 1, 5, true));
    assert_eq!(sends(&commands), [(2, "two".to_owned())]);
    told.tell(SessionInput::Delivered { job: job("a", 1), number: 2, seen: 6 });
    let (_, commands) = told.tell(idle("a", 1, 7, true));
    assert_eq!(commands, [Command::Stop(job("a", 1))]);
    told.tell(ended("a", 1, stopped()));
    assert_eq!(
        (told.task_status("a"), told.status()),
        (TaskStatus::Done, WorkflowStatus::Completed)
    );
}

/// Spec: C0.11.1
#[test]
fn without_a_prompt_the_first_input_is_typed_as_soon_as_the_agent_is_ready() {
    let mut told = queue(&["one"], false, false);
    let (_, commands) = told.tell(idle("a", 1, 1, false));
    assert_eq!(sends(&commands), [(1, "one".to_owned())]);
}

/// Spec: C0.11.2, C0.11.3
#[test]
fn an_agent_that_is_to_be_kept_lives_on_when_its_task_is_done() {
    let mut told = queue(&["one"], true, true);
    told.tell(idle("a", 1, 1, true));
    told.tell(SessionInput::Delivered { job: job("a", 1), number: 1, seen: 2 });
    let (events, commands) = told.tell(idle("a", 1, 3, true));
    assert_eq!(commands, [Command::Observe(job("a", 1))], "what it shows is told anew");
    assert_eq!(
        events.iter().map(SessionEvent::kind).collect::<Vec<_>>(),
        ["task.ended", "workflow.step.completed", "workflow.completed"]
    );
    assert_eq!(told.run().kept.get(&job("a", 1).task), Some(&1));
    // What a person types into it is still recorded, as long as the process lives.
    let typed = || {
        let (text, by) = ("more".to_owned(), "she".to_owned());
        SessionInput::Typed { job: job("a", 1), text, by }
    };
    assert_eq!(told.kinds(typed()), ["input.delivered"]);
    // It ends much later; that is noted and changes nothing else.
    assert_eq!(told.kinds(ended("a", 1, stopped())), ["task.released"]);
    assert!(told.run().kept.is_empty());
    assert_eq!(told.kinds(typed()), [] as [&str; 0]);
}

#[test]
fn a_kept_agent_of_a_run_that_is_cancelled_is_stopped_first() {
    let mut agent = interactive("hi");
    agent.keep_alive = true;
    let stages = vec![stage("first", &[("a", agent)]), stage("second", &[("b", interactive("y"))])];
    let mut told = TestRun::begin(plan(stages), json!({}));
    told.tell(idle("a", 1, 1, true));
    assert_eq!(told.starts(resolve(1, InterventionChoice::Complete)), ["b/1"]);
    let (_, commands) =
        told.tell(SessionInput::Cancel { by: "she".to_owned(), why: String::new() });
    assert_eq!(commands, [Command::Stop(job("b", 1)), Command::Stop(job("a", 1))]);
    told.tell(ended("b", 1, stopped()));
    assert_eq!(told.status(), WorkflowStatus::Running);
    told.tell(ended("a", 1, stopped()));
    assert_eq!(told.status(), WorkflowStatus::Cancelled);
}

#[test]
fn what_an_agent_used_is_counted_once_however_often_it_is_told() {
    let mut steps = vec![agent_step("do", "go").retries(2, 0)];
    steps[0].output = None;
    let mut told = TestRun::begin(plan(steps), json!({}));
    let usage =
        |tokens| coven_model::TokenUsage { input_tokens: Some(tokens), ..Default::default() };
    let used = |tokens| SessionInput::Used { job: job("do", 1), usage: usage(tokens) };
    told.tell(used(5));
    told.tell(used(9));
    assert_eq!(told.kinds(used(9)), [] as [&str; 0]);
    assert_eq!(told.run().usage(), usage(9));
    told.tell(ended("do", 1, JobOutcome { usage: usage(12), ..exited(1) }));
    told.tell(ended("do", 2, JobOutcome { usage: usage(3), ..exited(0) }));
    assert_eq!(told.run().usage(), usage(15));
}

fn no(number: u64, text: &str) -> SessionInput {
    decide_with(number, InterventionDecision::new(InterventionChoice::Deny, "she").with_text(text))
}

#[test]
fn whoever_says_no_may_say_why_and_it_is_told_once_when_the_agent_is_idle() {
    let mut told = queue(&["one"], false, true);
    told.tell(asks("a", 1, 1, "Allow rm?"));
    let (_, commands) = told.tell(no(1, "use git rm"));
    assert_eq!(sends(&commands), []);
    // It may be idle before it is known that the answer was given.
    let (events, commands) = told.tell(idle("a", 1, 3, true));
    assert_eq!(events.iter().map(SessionEvent::kind).collect::<Vec<_>>(), ["input.queued"]);
    assert_eq!(sends(&commands), [(1, "use git rm".to_owned())]);
    told.tell(SessionInput::Answered { intervention: intervention(1), seen: 2 });
    assert_eq!(sends(&told.state.outstanding()), [(1, "use git rm".to_owned())]);
    told.tell(SessionInput::Delivered { job: job("a", 1), number: 1, seen: 4 });
    // Then what was queued before goes on.
    let (_, commands) = told.tell(idle("a", 1, 5, true));
    assert_eq!(sends(&commands), [(2, "one".to_owned())]);
}

#[test]
fn words_for_what_only_wants_leave_are_told_where_the_protocol_has_no_place_for_them() {
    for (channel, sent) in [(Some("acp"), true), (Some("claude-stdio"), false), (None, false)] {
        let mut told = queue(&["one"], false, true);
        if let Some(channel) = channel {
            let channel = channel.to_owned();
            told.tell(SessionInput::Speaks { job: job("a", 1), channel, fallback: None });
        }
        told.tell(asks("a", 1, 1, "Allow rm?"));
        let words = InterventionDecision::new(InterventionChoice::Answer, "she");
        told.tell(decide_with(1, words.with_text("repeat words")));
        told.tell(SessionInput::Answered { intervention: intervention(1), seen: 2 });
        let (_, commands) = told.tell(idle("a", 1, 3, true));
        let expected = if sent { "repeat words" } else { "one" };
        assert_eq!(sends(&commands), [(1, expected.to_owned())], "{channel:?}");
    }
}

#[test]
fn reasons_of_several_denials_are_one_line_and_each_is_said_once() {
    let mut told = queue(&["one"], false, true);
    for (number, reason) in [(1, "use git rm"), (2, "use git rm"), (3, "leave dist alone")] {
        told.tell(asks("a", 1, number * 2, &format!("Allow {number}?")));
        told.tell(no(number, reason));
        let intervention = intervention(number);
        told.tell(SessionInput::Answered { intervention, seen: number * 2 + 1 });
    }
    let (_, commands) = told.tell(idle("a", 1, 9, true));
    assert_eq!(sends(&commands), [(1, "use git rm leave dist alone".to_owned())]);
    told.tell(SessionInput::Delivered { job: job("a", 1), number: 1, seen: 10 });
    let (_, commands) = told.tell(idle("a", 1, 11, true));
    assert_eq!(sends(&commands), [(2, "one".to_owned())]);
}

#[test]
fn a_no_keeps_a_turn_from_being_the_last_one_and_a_late_no_says_nothing() {
    let begin = || {
        let steps = vec![step("do", StepAction::Agent { agent: interactive("go") })];
        let mut told = TestRun::begin(plan(steps), json!({}));
        told.tell(asks("do", 1, 1, "Allow rm?"));
        told.tell(no(1, "not that"));
        told
    };
    let mut told = begin();
    assert_eq!(told.kinds(idle("do", 1, 3, true)), ["input.queued"]);
    told.tell(SessionInput::Delivered { job: job("do", 1), number: 1, seen: 4 });
    assert_eq!(told.kinds(idle("do", 1, 5, true)), ["task.stopping"]);
    let mut told = begin();
    let reason = "it changed".to_owned();
    told.tell(SessionInput::Stale { intervention: intervention(1), reason, pressed: false });
    assert_eq!(told.kinds(idle("do", 1, 3, true)), ["task.stopping"]);
}

#[test]
fn that_a_job_is_not_confined_is_told_once() {
    let mut told = TestRun::begin(plan(vec![agent_loop("review", 1, OnLimit::Block)]), json!({}));
    told.succeed("review.r1", 1, "x");
    let exposed = || {
        let job = job("review.r1.arbiter", 1);
        SessionInput::Exposed { job, reason: "no Landlock".to_owned() }
    };
    assert_eq!(told.kinds(exposed()), ["task.exposed"]);
    assert_eq!(told.kinds(exposed()), [] as [&str; 0]);
    told.succeed("review.r1.arbiter", 1, r#"{"verdict": "done", "reason": "clean"}"#);
    assert_eq!(told.kinds(exposed()), [] as [&str; 0]);
}

#[test]
fn what_stays_open_to_a_confined_job_is_told_once() {
    let mut told = TestRun::begin(plan(vec![agent_loop("review", 1, OnLimit::Block)]), json!({}));
    told.succeed("review.r1", 1, "x");
    let confined = || SessionInput::Confined {
        job: job("review.r1.arbiter", 1),
        confinement: Box::new(JobConfinement {
            by: "Landlock 7".to_owned(),
            open: vec!["UDP".to_owned()],
            compared: None,
        }),
    };
    assert_eq!(told.kinds(confined()), ["task.confined"]);
    assert_eq!(told.kinds(confined()), [] as [&str; 0]);
}

#[test]
fn a_text_that_somebody_types_is_on_record() {
    let mut told = chat();
    let typed = |attempt| SessionInput::Typed {
        job: job("a", attempt),
        text: "hm".to_owned(),
        by: "she".to_owned(),
    };
    assert_eq!(told.kinds(typed(1)), ["input.delivered"]);
    assert_eq!(told.kinds(typed(2)), [] as [&str; 0]);
}

#[test]
fn an_interactive_agent_that_exits_by_itself_is_done_too() {
    let told = |code| {
        let mut told = TestRun::begin(
            plan(vec![step("do", StepAction::Agent { agent: interactive("go") })]),
            json!({}),
        );
        told.tell(ended("do", 1, exited(code)));
        told.status()
    };
    assert_eq!((told(0), told(1)), (WorkflowStatus::Completed, WorkflowStatus::Failed));
}

#[test]
fn what_shows_while_an_answer_is_on_its_way_is_asked_about_when_it_has_arrived() {
    let mut told = chat();
    told.tell(asks("a", 1, 1, "Your name?"));
    let (_, commands) =
        told.tell(decide_with(1, InterventionDecision::new(InterventionChoice::Approve, "she")));
    assert!(matches!(&commands[..], [Command::Answer(_)]), "{commands:?}");
    // What was typed shows behind the question, which makes it look like another one.
    let (events, _) = told.tell(asks("a", 1, 2, "Your name? Mira"));
    assert_eq!(events, []);
    assert_eq!(told.waiting(), []);
    let (_, commands) =
        told.tell(SessionInput::Answered { intervention: intervention(1), seen: 3 });
    assert!(matches!(&commands[..], [Command::Observe(_)]), "{commands:?}");
    told.tell(asks("a", 1, 4, "Your age?"));
    assert_eq!(told.waiting(), [InterventionKind::Approval]);
}
