//! Questions that a program has left behind without an answer.

use coven_model::ContentDigest;
use coven_terminal::screen::{GridSize, Screen};

use super::*;

/// The idle rule of the built-in adapter for a shell.
const SHELL: &str = r#"{"states": {"interaction_idle":
    {"pattern": "(?:^|[^0-9])% ?$|[$#>❯»] ?$", "kind": "idle", "region": "cursor:1"}}}"#;

/// A program, and what is known of it as time passes.
struct Program {
    screen: Screen,
    sniffer: ScreenSniffer,
    now: u64,
}

impl Program {
    fn new(config: &str, columns: u16) -> Self {
        let screen = Screen::new(GridSize::new(columns, 12));
        Self { screen, sniffer: ScreenSniffer::new(compiled(config)), now: 0 }
    }

    /// Prints this and waits. Says what is asked then.
    fn prints(&mut self, text: &str, then_waits: u64) -> Option<ContentDigest> {
        self.screen.feed(text.as_bytes());
        self.sniffer.printed(ms(self.now));
        self.sniffer.read_screen(&self.screen.snapshot(), ms(self.now));
        self.now += then_waits;
        while let Some(due) = self.sniffer.deadline().filter(|due| *due <= ms(self.now)) {
            self.sniffer.tick(due);
            self.sniffer.take_unexplained(due);
        }
        self.sniffer.verdict().digest.clone()
    }
}

const CONFIGS: [&str; 2] = [r#"{"states": {}}"#, SHELL];

const PROMPTS: [&str; 4] = ["> ", "$ ", ">>> ", "\u{276f} "];

/// Spec: AD.2.1
#[test]
fn a_question_that_was_seen_in_its_own_line_is_not_that_of_the_prompt_below_it() {
    for config in CONFIGS {
        for (prompt, columns) in PROMPTS.into_iter().flat_map(|prompt| [(prompt, 60), (prompt, 12)])
        {
            let mut program = Program::new(config, columns);
            let asked = program.prints("Continue? (y/n) ", 5000);
            assert!(asked.is_some(), "{prompt}");
            // Nobody answers, and the program goes on by itself.
            assert_eq!(program.prints(&format!("\r\n{prompt}"), 60_000), None, "{prompt}");
            let is_idle = config == SHELL;
            let state = program.sniffer.verdict().state;
            assert_eq!(state == AgentState::Idle, is_idle, "{prompt} {state:?}");
            assert_eq!(program.prints("\x1b[0m", 60_000), None, "it is painted again");
            // The same question is asked again further down.
            let again = program.prints("\r\nContinue? (y/n) ", 5000);
            assert!(again.is_some() && again != asked, "{prompt}");
        }
    }
}

/// A program that prints its prompt below the question asks there, however long it stands.
#[test]
fn a_question_with_its_prompt_in_the_line_below_is_asked_until_it_is_answered() {
    for config in CONFIGS {
        let mut program = Program::new(config, 60);
        let asked = program.prints("Continue? (y/n)\r\n> ", 5000);
        assert!(asked.is_some());
        assert_eq!(program.prints("\x1b[0m", 60_000), asked);
        // In two pieces, as a slow program prints them.
        let mut program = Program::new(config, 60);
        assert_eq!(program.prints("Continue? (y/n)", 300), None);
        assert!(program.prints("\r\n> ", 5000).is_some());
    }
}

/// What has scrolled stands in another row, and is the same line.
#[test]
fn a_question_that_was_left_is_over_wherever_it_has_scrolled_to() {
    let mut program = Program::new(CONFIGS[0], 60);
    program.prints(&"a line\r\n".repeat(11), 0);
    assert!(program.prints("Continue? (y/n) ", 5000).is_some());
    assert_eq!(program.prints("\r\n> ", 30_000), None);
}
