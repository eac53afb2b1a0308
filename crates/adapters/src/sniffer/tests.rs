//! The sniffer alone: no adapter, no process, no clock.

mod answered;
mod generic;
mod left_lines;
mod own_lines;
mod prompts;
mod reports;
mod stillness;
mod typed_lines;

use std::sync::Arc;
use std::time::Duration;

use coven_model::AwaitingKind;
use coven_notation::SourceFile;
use proptest::prelude::*;

use super::*;
use crate::config::Config;
use crate::rules::TypedText;

const RULES: &str = r#"{
  "states": {
    "interaction_handler": { "pattern": "^Run (.*)\\?", "region": "tail:4" },
    "execution_running": { "pattern": "esc to interrupt", "region": "tail:1" },
    "error": { "pattern": "^ERROR", "kind": "error" },
    "interaction_idle": { "pattern": "^>", "region": "tail:1" }
  },
  "signals": {
    "osc7501": true,
    "title": [
      { "pattern": "^work", "kind": "working" },
      { "pattern": "^ready", "kind": "idle" },
      { "pattern": "^ask", "kind": "approval" },
      { "pattern": "^rest", "kind": "rest" }
    ]
  },
  "volatile": ["\\d+s", "[*+]"]
}"#;

fn compiled(text: &str) -> Arc<ScreenRules> {
    let config = Config::read(&SourceFile::new("test", text)).value.unwrap();
    Arc::new(ScreenRules::new(&config).unwrap())
}

fn sniffer() -> ScreenSniffer {
    ScreenSniffer::new(compiled(RULES))
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn title(text: &str) -> TerminalSignal {
    TerminalSignal::Title(text.to_owned())
}

fn status(state: ProgramState) -> TerminalSignal {
    TerminalSignal::Status(ProgramStatus {
        state,
        app: None,
        id: None,
        kind: None,
        progress: None,
        title: None,
        message: None,
    })
}

/// Looks, and lets what was seen settle.
fn settled(sniffer: &mut ScreenSniffer, text: &str, now: u64) -> AgentState {
    sniffer.look_at_text(text, ms(now));
    sniffer.tick(ms(now + 700));
    sniffer.verdict().state
}

/// Spec: AD.8.1
#[test]
fn rules_and_text_are_enough_to_find_a_state() {
    let mut sniffer = sniffer();
    assert_eq!(sniffer.verdict().state, AgentState::Starting);
    assert!(sniffer.look_at_text("hello\nRun rm?", ms(100)));
    let verdict = sniffer.verdict();
    assert_eq!((verdict.state, verdict.kind), (AgentState::Awaiting, Some(AwaitingKind::Approval)));
    assert_eq!(verdict.evidence.rule, "interaction_handler");
    assert_eq!(verdict.evidence.region, "tail:4");
    assert_eq!(verdict.evidence.text, "Run rm?");
    assert_eq!(verdict.evidence.since, 100);
    assert_eq!(sniffer.excerpt(), ["hello", "Run rm?"]);
}

#[test]
fn a_verdict_that_stays_is_told_once() {
    let mut sniffer = sniffer();
    assert!(sniffer.look_at_text("Run rm?", ms(0)));
    assert!(!sniffer.look_at_text("Run rm?", ms(100)));
    assert!(!sniffer.tick(ms(60_000)));
    assert_eq!(sniffer.deadline(), None);
}

#[test]
fn what_an_agent_does_again_it_does_since_then_whatever_it_says_all_the_time() {
    let rules =
        RULES.replace(r#""region": "tail:4" }"#, r#""region": "tail:4", "despiteSignal": true }"#);
    let mut sniffer = ScreenSniffer::new(compiled(&rules));
    sniffer.signal(&status(ProgramState::Idle), ms(100));
    assert_eq!(settled(&mut sniffer, ">", 150), AgentState::Idle);
    assert_eq!(sniffer.verdict().evidence.since, 100);
    assert_eq!(settled(&mut sniffer, "Run rm?", 2_000), AgentState::Awaiting);
    assert_eq!(sniffer.verdict().evidence.since, 2_000);
    sniffer.typed(ms(8_000));
    assert_eq!(settled(&mut sniffer, ">", 9_000), AgentState::Idle);
    assert!(sniffer.verdict().evidence.since >= 9_000, "{:?}", sniffer.verdict());
}

#[test]
fn the_next_question_is_asked_since_it_is_there() {
    let mut sniffer = sniffer();
    sniffer.look_at_text("Run rm?", ms(1_000));
    sniffer.typed(ms(8_000));
    sniffer.look_at_text("Run ls?", ms(9_000));
    sniffer.tick(ms(12_000));
    assert_eq!(sniffer.questions_asked(), 2);
    assert!(sniffer.verdict().evidence.since >= 9_000, "{:?}", sniffer.verdict());
}

#[test]
fn idle_counts_only_after_it_lasted_and_working_at_once() {
    let mut sniffer = sniffer();
    sniffer.look_at_text("esc to interrupt", ms(0));
    assert_eq!(sniffer.verdict().state, AgentState::Working);
    assert!(!sniffer.look_at_text(">", ms(100)));
    assert_eq!(sniffer.verdict().state, AgentState::Working);
    let due = sniffer.deadline().unwrap();
    assert!(due > ms(100) && due <= ms(400), "{due:?}");
    assert!(sniffer.tick(due));
    assert_eq!(sniffer.verdict().state, AgentState::Idle);
}

#[test]
fn idle_that_did_not_last_is_forgotten() {
    let mut sniffer = sniffer();
    sniffer.look_at_text("esc to interrupt", ms(0));
    sniffer.look_at_text(">", ms(100));
    sniffer.look_at_text("esc to interrupt", ms(150));
    assert!(!sniffer.tick(ms(5000)));
    assert_eq!(sniffer.verdict().state, AgentState::Working);
}

#[test]
fn what_nothing_explains_is_unknown_and_no_guess() {
    let mut sniffer = sniffer();
    assert_eq!(settled(&mut sniffer, ">", 0), AgentState::Idle);
    assert_eq!(settled(&mut sniffer, "something else", 1000), AgentState::Unknown);
}

#[test]
fn an_agent_that_shows_nothing_yet_is_starting_for_a_while() {
    let mut sniffer = sniffer();
    sniffer.look_at_text("loading", ms(100));
    sniffer.tick(ms(5000));
    assert_eq!(sniffer.verdict().state, AgentState::Starting);
    sniffer.tick(sniffer.deadline().unwrap());
    assert_eq!(sniffer.verdict().state, AgentState::Unknown);
}

/// On a busy machine programs paint nothing for longer than it takes to doubt what they show.
///
/// Spec: C0.4.2
#[test]
fn an_agent_whose_screen_is_blank_is_starting_until_its_time_is_up() {
    let mut sniffer = sniffer();
    sniffer.look_at_text("", ms(0));
    sniffer.look_at_text("  \n\n   ", ms(30_000));
    sniffer.tick(ms(59_000));
    assert_eq!(sniffer.verdict().state, AgentState::Starting);
    assert!(!sniffer.take_unexplained(ms(59_999)));
    assert_eq!(sniffer.deadline(), Some(ms(60_000)));
    sniffer.tick(ms(60_000));
    assert!(sniffer.take_unexplained(ms(60_000)), "a person is told");
    assert_eq!(sniffer.verdict().state, AgentState::Starting);
    assert_eq!(settled(&mut sniffer, ">", 61_000), AgentState::Idle);
    assert_eq!(settled(&mut sniffer, "", 62_000), AgentState::Unknown);
}

#[test]
fn a_question_keeps_its_digest_while_marks_blink_and_seconds_pass() {
    let mut sniffer = sniffer();
    sniffer.look_at_text("Run rm? * 1s", ms(0));
    let digest = sniffer.verdict().digest.clone();
    assert!(digest.is_some());
    assert!(!sniffer.look_at_text("Run   rm? + 2s", ms(600)));
    assert_eq!(sniffer.verdict().digest, digest);
    sniffer.look_at_text("Run ls? + 2s", ms(900));
    assert_ne!(sniffer.verdict().digest, digest);
}

#[test]
fn the_same_question_after_an_answer_is_the_next_one() {
    let mut sniffer = sniffer();
    sniffer.look_at_text("Run rm?", ms(0));
    let first = sniffer.verdict().digest.clone();
    sniffer.typed(ms(500));
    assert!(!sniffer.look_at_text("Run rm?", ms(520)), "the program has not taken the key yet");
    assert!(sniffer.tick(sniffer.deadline().unwrap()));
    assert_ne!(sniffer.verdict().digest, first);
    assert_eq!(sniffer.questions_asked(), 2);
}

#[test]
fn a_question_that_was_not_answered_survives_a_missing_frame() {
    let mut sniffer = sniffer();
    sniffer.look_at_text("Run rm?", ms(0));
    let first = sniffer.verdict().clone();
    sniffer.look_at_text(">", ms(100));
    sniffer.look_at_text("Run rm?", ms(150));
    assert_eq!(sniffer.verdict(), &first);
}

#[test]
fn a_sniffer_that_takes_over_gives_the_open_question_its_old_digest() {
    let mut before = sniffer();
    before.look_at_text("Run rm?", ms(0));
    let mut after = ScreenSniffer::resumed(compiled(RULES), &[], None, before.questions_asked());
    after.look_at_text("Run rm?", ms(9));
    assert_eq!(before.verdict().digest, after.verdict().digest);
}

#[test]
fn an_error_is_told_until_somebody_types() {
    let mut sniffer = sniffer();
    settled(&mut sniffer, "esc to interrupt", 0);
    assert_eq!(settled(&mut sniffer, "ERROR 400\n>", 1000), AgentState::Error);
    sniffer.typed(ms(2000));
    assert_eq!(settled(&mut sniffer, "ERROR 400\n>x", 2100), AgentState::Idle);
    assert_eq!(settled(&mut sniffer, "esc to interrupt", 4000), AgentState::Working);
    assert_eq!(settled(&mut sniffer, "ERROR 400\n>", 6000), AgentState::Error, "it came again");
}

#[test]
fn an_error_that_a_person_interrupted_work_in_front_of_is_no_news() {
    let mut sniffer = sniffer();
    settled(&mut sniffer, "ERROR 400\nesc to interrupt", 0);
    sniffer.typed(ms(1000));
    sniffer.look_at_text("ERROR 400\nesc to interrupt", ms(1010));
    assert_eq!(settled(&mut sniffer, "ERROR 400\n>", 1100), AgentState::Idle);
}

#[test]
fn a_title_counts_over_the_screen_except_over_a_question_or_work() {
    let mut sniffer = sniffer();
    sniffer.signal(&title("working on it"), ms(0));
    assert_eq!(settled(&mut sniffer, ">", 0), AgentState::Working);
    sniffer.signal(&title("ready"), ms(1000));
    assert_eq!(settled(&mut sniffer, ">", 1000), AgentState::Idle);
    // Whoever can write to the terminal can set its title.
    assert_eq!(settled(&mut sniffer, "esc to interrupt", 1500), AgentState::Working);
    let told = &sniffer.verdict().evidence.conflicts;
    assert_eq!((told[0].source, told[0].state), (EvidenceSource::Title, AgentState::Idle));
    assert_eq!(settled(&mut sniffer, "Run rm?", 2000), AgentState::Awaiting);
    sniffer.signal(&title("rest"), ms(3000));
    assert_eq!(settled(&mut sniffer, ">", 3000), AgentState::Idle, "the screen chooses");
}

#[test]
fn an_agent_that_rests_is_idle_only_if_no_question_follows() {
    let mut sniffer = sniffer();
    sniffer.signal(&title("work"), ms(0));
    sniffer.look_at_text(">", ms(0));
    sniffer.signal(&title("rest"), ms(1000));
    sniffer.look_at_text(">", ms(1010));
    sniffer.tick(ms(1500));
    assert_eq!(sniffer.verdict().state, AgentState::Working);
    assert!(sniffer.look_at_text("Run rm?", ms(1510)));
    assert_eq!(sniffer.verdict().state, AgentState::Awaiting);
}

#[test]
fn a_question_painted_in_two_pieces_is_one_question_with_the_digest_of_the_whole() {
    let mut sniffer = sniffer();
    sniffer.look_at_text("Run rm?", ms(0));
    let half = sniffer.verdict().digest.clone();
    sniffer.look_at_text("Run rm?\n1. Yes\n2. No", ms(40));
    assert_ne!(sniffer.verdict().digest, half);
    assert_eq!(sniffer.questions_asked(), 1);
    sniffer.look_at_text("Run ls?\n1. Yes\n2. No", ms(2000));
    assert_eq!(sniffer.questions_asked(), 2, "later it is another one");
}

#[test]
fn a_status_counts_over_the_title() {
    let mut sniffer = sniffer();
    sniffer.signal(&title("ready"), ms(0));
    sniffer.signal(&status(ProgramState::Working), ms(0));
    assert_eq!(settled(&mut sniffer, "Run rm?", 0), AgentState::Working);
    assert_eq!(sniffer.verdict().evidence.source, EvidenceSource::Signal);
    sniffer.signal(&status(ProgramState::Clear), ms(1000));
    assert_eq!(settled(&mut sniffer, ">", 1000), AgentState::Idle);
    assert_eq!(sniffer.verdict().evidence.source, EvidenceSource::Title);
}

#[test]
fn a_status_is_ignored_where_the_adapter_knows_of_none() {
    let rules = RULES.replace("\"osc7501\": true", "\"osc7501\": false");
    let mut sniffer = ScreenSniffer::new(compiled(&rules));
    sniffer.signal(&status(ProgramState::Working), ms(0));
    assert_eq!(settled(&mut sniffer, ">", 0), AgentState::Idle);
}

#[test]
fn a_rule_that_says_so_counts_over_an_idle_status() {
    let rules =
        RULES.replace(r#""region": "tail:4" }"#, r#""region": "tail:4", "despiteSignal": true }"#);
    let mut sniffer = ScreenSniffer::new(compiled(&rules));
    sniffer.signal(&status(ProgramState::Idle), ms(0));
    assert_eq!(settled(&mut sniffer, "Run rm?", 0), AgentState::Awaiting);
    sniffer.signal(&status(ProgramState::Working), ms(2000));
    assert_eq!(settled(&mut sniffer, "Run rm?", 2000), AgentState::Working, "not over working");
}

#[test]
fn an_announced_question_has_a_digest_only_once_it_is_shown() {
    let mut sniffer = sniffer();
    sniffer.signal(&status(ProgramState::Blocked), ms(0));
    assert!(sniffer.look_at_text(">", ms(10)));
    assert_eq!((sniffer.verdict().state, &sniffer.verdict().digest), (AgentState::Awaiting, &None));
    assert!(sniffer.look_at_text("Run rm?", ms(900)));
    assert!(sniffer.verdict().digest.is_some());
    assert_eq!(sniffer.questions_asked(), 1);
}

#[test]
fn an_announced_question_that_is_never_shown_is_whatever_is_there() {
    let mut sniffer = sniffer();
    sniffer.signal(&title("ask"), ms(0));
    sniffer.look_at_text("a dialog that no rule knows", ms(10));
    sniffer.tick(sniffer.deadline().unwrap());
    assert!(sniffer.verdict().digest.is_some());
    assert_eq!(sniffer.excerpt(), ["a dialog that no rule knows"]);
}

#[test]
fn silence_speaks_only_where_nothing_else_does() {
    let quiet = r#"{"signals": {"quiet": {"after": "2s", "kind": "idle"}}}"#;
    let mut sniffer = ScreenSniffer::new(compiled(quiet));
    sniffer.printed(ms(500));
    sniffer.look_at_text("$ ", ms(520));
    assert_eq!(sniffer.deadline(), Some(ms(2500)));
    assert!(!sniffer.tick(ms(2400)));
    assert!(sniffer.tick(ms(2500)));
    assert_eq!(sniffer.verdict().state, AgentState::Idle);
    assert_eq!(sniffer.verdict().evidence.source, EvidenceSource::Quiet);
}

#[test]
fn what_has_ended_stays_ended() {
    let mut sniffer = sniffer();
    assert!(sniffer.exited("exit code 0", ms(100)));
    assert!(!sniffer.look_at_text("Run rm?", ms(200)));
    sniffer.signal(&status(ProgramState::Working), ms(300));
    assert!(!sniffer.tick(ms(9999)));
    assert_eq!(sniffer.verdict().state, AgentState::Exited);
    assert_eq!((sniffer.deadline(), sniffer.excerpt().len()), (None, 0));
}

#[test]
fn work_that_was_over_before_anybody_looked_is_remembered() {
    let mut sniffer = sniffer();
    assert!(!sniffer.take_worked());
    sniffer.signal(&status(ProgramState::Working), ms(0));
    sniffer.signal(&status(ProgramState::Done), ms(1));
    sniffer.look_at_text(">", ms(20));
    assert!(sniffer.take_worked());
    assert!(!sniffer.take_worked());
}

#[derive(Clone, Debug)]
enum Step {
    Look(usize),
    Title(usize),
    Status(usize),
    Typed,
    Resized,
    Printed,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..5_usize).prop_map(Step::Look),
        1 => (0..5_usize).prop_map(Step::Title),
        1 => (0..6_usize).prop_map(Step::Status),
        1 => Just(Step::Typed),
        1 => Just(Step::Resized),
        1 => Just(Step::Printed),
    ]
}

proptest! {
    /// A deadline that stays where it is keeps its owner busy for ever.
    #[test]
    fn whatever_happens_the_next_deadline_lies_ahead(
        quiet in prop::sample::select(vec!["idle", "rest", "starting", "approval"]),
        steps in prop::collection::vec((step(), 0..3000_u64), 1..60)
    ) {
        let quiet = format!(r#""quiet": {{"after": "2s", "kind": "{quiet}"}}, "osc7501""#);
        let rules = RULES.replace("\"osc7501\"", &quiet);
        let mut sniffer = ScreenSniffer::new(compiled(&rules));
        let mut now = Duration::ZERO;
        for (step, wait) in steps {
            // Each tick may leave one more thing to do at the same time, but not for ever.
            for _ in 0..4 {
                if sniffer.deadline().is_some_and(|due| due <= now) {
                    sniffer.tick(now);
                    sniffer.take_unexplained(now);
                }
            }
            let next = sniffer.deadline();
            prop_assert!(next.is_none_or(|next| next > now), "{next:?} at {now:?}");
            match step {
                Step::Look(which) => {
                    let text = ["Run rm?", ">", "esc to interrupt", "ERROR\n>", "?"][which];
                    sniffer.look_at_text(text, now);
                }
                Step::Title(which) => {
                    sniffer.signal(&title(["work", "ready", "ask", "rest", "x"][which]), now);
                }
                Step::Status(which) => {
                    let states = [
                        ProgramState::Idle,
                        ProgramState::Working,
                        ProgramState::Blocked,
                        ProgramState::Done,
                        ProgramState::Error,
                        ProgramState::Clear,
                    ];
                    sniffer.signal(&status(states[which]), now);
                }
                Step::Typed => sniffer.typed(now),
                Step::Resized => sniffer.resized(now),
                Step::Printed => sniffer.printed(now),
            }
            let verdict = sniffer.verdict();
            prop_assert_eq!(verdict.kind.is_some(), verdict.state == AgentState::Awaiting);
            prop_assert!(verdict.digest.is_none() || verdict.state == AgentState::Awaiting);
            now += ms(wait);
        }
    }
}

#[test]
fn a_program_that_calls_itself_ready_before_it_shows_a_prompt_is_still_starting() {
    for ready in [title("ready"), status(ProgramState::Idle)] {
        let mut sniffer = sniffer();
        sniffer.signal(&ready, ms(0));
        assert_eq!(settled(&mut sniffer, "loading", 0), AgentState::Starting);
        assert_eq!(settled(&mut sniffer, "hello\n>", 1000), AgentState::Idle);

        // One whose prompt no rule finds is believed in the end.
        let mut sniffer = ScreenSniffer::new(compiled(RULES));
        sniffer.signal(&ready, ms(0));
        sniffer.look_at_text("something else", ms(0));
        sniffer.tick(ms(30_000));
        assert_eq!(sniffer.verdict().state, AgentState::Idle);
    }
}
