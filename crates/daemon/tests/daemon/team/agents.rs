//! Agents of five kinds: menus, yes or no in a line, boxes, the demo agent, and questions in plain
//! lines. Each asks, is told something, asks again, and writes down whatever it reads.

use std::fmt;

use coven_model::InterventionChoice;
use serde_json::{Value, json};

/// What every program begins with. What it reads and what is left to read at its end is noted, so
/// that a byte too many shows up.
const PRELUDE: &str = r#"
me=$1; rounds=$2
note() { printf '%s\n' "$1" >> "log.$me"; }
clear() { printf '\033[2J\033[H'; }
work() { clear; printf 'working\r\n'; sleep 0.3; }
told() { stty sane; clear; printf 'say> '; IFS= read -r text; note "told $text"; work; }
finish() {
  stty raw -echo min 0 time 15; left=$(dd bs=1000 count=1 2>/dev/null | od -An -v -tx1)
  [ -z "$left" ] || note "left $left"; stty sane; exit 0
}
"#;

const MENU: &str = r#"
ask() {
  stty raw -echo; at=0
  while :; do
    clear; printf 'Pick one for ask %s.%s:\r\n' "$me" "$1"
    for row in 0 1 2 3; do
      if [ $row -eq $at ]; then printf '> '; else printf '  '; fi
      printf 'entry %s\r\n' $row
    done
    IFS= read -rsN1 key
    case $key in
      $'\033') IFS= read -rsN2 rest
               case $rest in
                 '[B') at=$(((at + 1) % 4)) ;; '[A') at=$(((at + 3) % 4)) ;; *) note "odd $rest" ;;
               esac ;;
      $'\r' | $'\n') break ;;
      *) note "odd $key" ;;
    esac
  done
  note "entry $at"; work
}
"#;

const YES_NO: &str = r#"
ask() {
  stty sane; clear; printf 'ask %s.%s: proceed? (y/n) ' "$me" "$1"
  IFS= read -r text; note "said $text"; work
}
"#;

const BOX: &str = r#"
ask() {
  stty raw -echo; clear; word=asked; [ $((($me + $1) % 2)) -eq 1 ] || word=allowed
  printf '+----------------------------------------+\r\n| ask %s.%s\r\n' "$me" "$1"
  printf '| Run this?\r\n|   touch %s-%s-%s\r\n| (a) allow  (d) deny\r\n' $word "$me" "$1"
  printf '+----------------------------------------+\r\n'
  IFS= read -rsN1 key; note "key $key"; work
}
"#;

const LINES: &str = r#"
clear() { :; }
ask() {
  stty sane; printf 'line ask %s.%s? ' "$me" "$1"; IFS= read -r text; note "said $text"; work
}
"#;

const ROUNDS: &str = r"
round=0; while [ $round -lt $rounds ]; do ask $round; told; round=$((round + 1)); done; finish
";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Menu,
    YesNo,
    /// As [`Self::YesNo`], with a handler that says yes.
    Handled,
    Box,
    Demo,
    Lines,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Agent {
    number: u32,
    kind: Kind,
}

impl Agent {
    pub(super) fn new(number: u32) -> Self {
        let kind = match number % 5 {
            0 => Kind::Menu,
            1 if number.is_multiple_of(2) => Kind::Handled,
            1 => Kind::YesNo,
            2 => Kind::Box,
            3 => Kind::Demo,
            _ => Kind::Lines,
        };
        Self { number, kind }
    }

    pub(super) fn task_id(self) -> String {
        format!("a{}", self.number)
    }

    pub(super) fn log_file(self) -> String {
        format!("log.{}", self.number)
    }

    pub(super) fn task(self) -> Value {
        let id = self.task_id();
        match self.kind {
            Kind::Demo => {
                json!({"id": id, "adapter": "demo", "permissions": "ask", "prompt": "say ready"})
            }
            kind => json!({"id": id, "adapter": id, "autoApprove": kind == Kind::Handled}),
        }
    }

    /// The adapter of the program, unless there is one for it.
    pub(super) fn adapter(self, rounds: u32) -> Option<Value> {
        let (ask, question) = match self.kind {
            Kind::Demo => return None,
            Kind::Menu => (
                MENU,
                json!({"pattern": "^Pick one for ask [0-9.]+:\\n[\\s\\S]*\\z", "begins": "^Pick one", "kind": "choice"}),
            ),
            Kind::YesNo | Kind::Handled => (
                YES_NO,
                json!({"pattern": "^ask [0-9.]+: proceed\\? \\(y/n\\)", "region": "cursor:1", "kind": "approval"}),
            ),
            Kind::Box => (
                BOX,
                json!({"pattern": "\\(a\\) allow", "region": "tail:6", "begins": "^\\+-", "kind": "approval"}),
            ),
            Kind::Lines => (
                LINES,
                json!({"pattern": "^line ask [0-9.]+\\?", "region": "cursor:1", "kind": "question"}),
            ),
        };
        let (approve, deny) = match self.kind {
            Kind::Box => (json!(["a"]), json!(["d"])),
            _ => (json!(["y", "Enter"]), json!(["n", "Enter"])),
        };
        let program = [PRELUDE, ask, ROUNDS].concat();
        let arguments = ["-c", &program, "agent", &self.number.to_string(), &rounds.to_string()];
        Some(json!({
            "schemaVersion": 1,
            "command": "/bin/bash",
            "modes": {"interactive": {"baseArgs": arguments}},
            "states": {
                "interaction_question": question,
                "interaction_idle": {"pattern": "^say>", "region": "cursor:1", "kind": "idle"},
                "execution_running": {"pattern": "^working", "region": "tail:1", "kind": "working"},
            },
            "approvals": [{
                "tool": "shell",
                "command": "\\A\\+-+\\+\\n\\| ask .*\\n\\| Run this\\?\\n(?P<command>(?:\\|   .*\\n)+)\\| \\(a\\) allow.*\\n\\+-+\\+\\z",
                "line": "^\\|   (.*)$",
            }],
            "keys": {"submit": ["Enter"], "approve": approve, "deny": deny},
            "autoPolicy": {"handlers": ["confirmYes"]},
        }))
    }

    pub(super) fn question(self, round: u32) -> Question {
        Question { agent: self.number, round }
    }

    /// How the line begins with which it notes that a round is over.
    pub(super) fn marks_round(self) -> &'static str {
        if self.kind == Kind::Demo { "ask" } else { "told" }
    }

    /// What it is told in a round, which begins with 0.
    pub(super) fn message(self, round: u32) -> String {
        let Self { number, kind } = self;
        match kind {
            Kind::Demo => format!("approve echo ask {number}.{round} >> log.{number}"),
            _ => format!("message {number}.{round}"),
        }
    }

    /// Whether a message is among what it has written down.
    pub(super) fn has_heard(self, log: &str, message: &str) -> bool {
        let noted = match self.kind {
            Kind::Demo => Question::read(message).map(|question| question.to_string()),
            _ => Some(format!("told {message}")),
        };
        noted.is_some_and(|noted| log.lines().any(|line| line == noted))
    }

    /// What ends it, if it does not end by itself.
    pub(super) fn last_message(self) -> Option<String> {
        (self.kind == Kind::Demo).then(|| "exit 0".to_owned())
    }

    /// What it has written down if each answer and each message was read once and in order.
    pub(super) fn expected(self, rounds: u32) -> String {
        let round = |round| match self.kind {
            Kind::Demo => format!("ask {}.{round}\n", self.number),
            _ => format!("{}\ntold {}\n", self.heard(round), self.message(round)),
        };
        (0..rounds).map(round).collect()
    }

    /// What it notes of an answer.
    fn heard(self, round: u32) -> String {
        match (self.kind, self.question(round).reply(self)) {
            (Kind::Menu, Reply::Entry(entry)) => format!("entry {}", entry - 1),
            (Kind::Box, Reply::Choice(InterventionChoice::Approve)) => "key a".to_owned(),
            (Kind::Box, _) => "key d".to_owned(),
            (_, Reply::Choice(InterventionChoice::Approve)) => "said y".to_owned(),
            (_, Reply::Choice(_)) => "said n".to_owned(),
            (_, Reply::Text(text)) => format!("said {text}"),
            (kind, Reply::Entry(entry)) => panic!("{kind:?}: entry {entry}"),
        }
    }
}

/// One question, which every program shows by the number of its agent and of its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Question {
    pub(super) agent: u32,
    pub(super) round: u32,
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ask {}.{}", self.agent, self.round)
    }
}

/// The one right answer to a question.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// An entry of a menu, from 1.
    Entry(u32),
    Text(String),
    Choice(InterventionChoice),
}

impl Question {
    /// The question that a text shows; the last one, if it shows several.
    pub(super) fn read(text: &str) -> Option<Self> {
        text.rmatch_indices("ask ").find_map(|(at, mark)| {
            let digits =
                |text: &str| -> String { text.chars().take_while(char::is_ascii_digit).collect() };
            let rest = &text[at + mark.len()..];
            let agent = digits(rest);
            let round = digits(rest[agent.len()..].strip_prefix('.')?);
            Some(Self { agent: agent.parse().ok()?, round: round.parse().ok()? })
        })
    }

    /// Whether a person answers it: the others are answered by a handler or the policy.
    pub(super) fn is_for_person(self, agent: Agent) -> bool {
        match agent.kind {
            Kind::Handled => false,
            Kind::Box => (self.agent + self.round) % 2 == 1,
            _ => true,
        }
    }

    pub(super) fn reply(self, agent: Agent) -> Reply {
        let choice = |yes: bool| {
            Reply::Choice(if yes { InterventionChoice::Approve } else { InterventionChoice::Deny })
        };
        match agent.kind {
            Kind::Menu => Reply::Entry(1 + (self.agent + self.round) % 4),
            Kind::YesNo => choice(self.round.is_multiple_of(2)),
            Kind::Box => choice(!self.is_for_person(agent) || self.round.is_multiple_of(3)),
            Kind::Demo | Kind::Handled => choice(true),
            Kind::Lines => Reply::Text(format!("answer {}.{}", self.agent, self.round)),
        }
    }
}
