//! Questions on screens of which a rule of the adapter says something else: that the program works, or
//! that it shows its prompt.

use std::sync::Arc;
use std::time::Duration;

use coven_adapters::sniffer::UNEXPLAINED_AFTER;
use coven_adapters::{Config, ScreenRules, ScreenSniffer};
use coven_model::{AgentState, EvidenceSource};
use coven_notation::SourceFile;
use coven_terminal::screen::{GridSize, Screen};

/// Everything but the prompt is work.
const PYTHON: &str = r#"{"states": {
    "idle": {"pattern": "^>>>", "kind": "idle", "region": "cursor:1"},
    "run": {"pattern": "(?s).", "kind": "working", "region": "screen"}}}"#;

const ASKS: &str = ">>> a = input(q)\r\nReally delete everything? [y/N] ";

/// A sniffer and its screen.
struct Agent {
    sniffer: ScreenSniffer,
    screen: Screen,
}

impl Agent {
    fn new(config: &str) -> Self {
        let config = Config::read(&SourceFile::new("test", config)).value.unwrap();
        let rules = Arc::new(ScreenRules::new(&config).unwrap());
        let screen = Screen::new(GridSize::new(60, 10));
        Self { sniffer: ScreenSniffer::new(rules), screen }
    }

    fn prints(&mut self, text: &str, at: Duration) -> AgentState {
        self.screen.feed(text.as_bytes());
        self.sniffer.printed(at);
        self.sniffer.read_screen(&self.screen.snapshot(), at);
        self.sniffer.verdict().state
    }

    fn waits(&mut self, until: Duration) -> AgentState {
        while let Some(due) = self.sniffer.deadline().filter(|due| *due <= until) {
            let before = self.sniffer.deadline();
            self.sniffer.tick(due);
            if self.sniffer.deadline() == before {
                break;
            }
        }
        self.sniffer.tick(until);
        self.sniffer.verdict().state
    }
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_question_that_a_rule_calls_work_is_asked_once_the_screen_is_quiet() {
    let mut agent = Agent::new(PYTHON);
    assert_eq!(agent.prints(ASKS, s(1)), AgentState::Working);
    assert_eq!(agent.waits(s(20)), AgentState::Working);
    assert_eq!(agent.waits(s(1) + UNEXPLAINED_AFTER), AgentState::Awaiting);
    let verdict = agent.sniffer.verdict().clone();
    assert_eq!(verdict.evidence.source, EvidenceSource::Generic);
    assert_eq!(agent.prints("\x1b[0m", s(30)), AgentState::Awaiting, "it stands there");
    assert_eq!(agent.sniffer.verdict().digest, verdict.digest);
    agent.sniffer.typed(s(31));
    assert_eq!(agent.prints("y\r\n", s(31)), AgentState::Working);
}

#[test]
fn words_like_a_question_of_a_program_that_goes_on_are_work() {
    let mut agent = Agent::new(PYTHON);
    agent.prints("Pick one?\r\n> 1. Yes\r\n  2. No\r\n\r\n", s(1));
    for second in 2..90 {
        let turning = ["|", "/", "-", "+"][second as usize % 4];
        agent.prints(&format!("\r{turning} thinking"), s(second));
        assert_eq!(agent.waits(s(second)), AgentState::Working, "{second}");
    }
}

#[test]
fn a_question_that_was_answered_is_not_asked_again_above_the_next_prompt() {
    for asked_for in [5, 60] {
        let mut agent = Agent::new(PYTHON);
        agent.prints(ASKS, s(1));
        let state = agent.waits(s(asked_for));
        assert_eq!(state == AgentState::Awaiting, asked_for == 60, "{state}");
        // Enter in the attached terminal.
        agent.sniffer.typed(s(asked_for));
        agent.prints("\r\n>>> ", s(asked_for));
        assert_eq!(agent.waits(s(asked_for + 60)), AgentState::Idle, "{asked_for}");
        agent.sniffer.typed(s(asked_for + 61));
        agent.prints("x\r\n", s(asked_for + 61));
        agent.prints(">>> ", s(asked_for + 62));
        assert_eq!(agent.waits(s(asked_for + 90)), AgentState::Idle, "{asked_for}");
    }
}

#[test]
fn the_line_that_asks_for_leave_is_about_what_stands_above_it() {
    let mut agent = Agent::new(
        r#"{"states": {"ask": {"pattern": "^Proceed\\?", "kind": "approval",
            "region": "cursor:1", "begins": "^Run:$"}}}"#,
    );
    let asks = |command: &str| format!("\x1b[2J\x1b[HRun:\r\n  {command}\r\nProceed? ");
    agent.prints(&asks("rm a"), s(1));
    let first = agent.sniffer.verdict().digest.clone();
    agent.prints(&asks("rm a"), s(2));
    assert_eq!(agent.sniffer.verdict().digest, first, "it was painted anew");
    agent.sniffer.typed(s(3));
    agent.prints(&asks("rm b"), s(4));
    assert_ne!(agent.sniffer.verdict().digest, first);
    assert!(!agent.sniffer.question_is_repeated());
}

#[test]
fn a_rule_that_calls_any_text_work_is_warned_of() {
    let warns = |pattern: &str, kind: &str| {
        let rule = serde_json::json!({"states": {"a": {"pattern": pattern, "kind": kind}}});
        let said = Config::read(&SourceFile::new("test", rule.to_string()));
        format!("{:?}", said.problems).contains("working-anywhere")
    };
    for pattern in ["(?s).", ".+", r"\S"] {
        assert!(warns(pattern, "working"), "{pattern}");
        assert!(!warns(pattern, "idle"), "{pattern}");
    }
    assert!(!warns(r"\S\n\z", "working") && !warns("esc to interrupt", "working"));
}
