//! What an agent receives is exactly the answers that were given to it: for programs that are made
//! up, some of whose questions are lines and some menus, each answered once, on real terminals.

use std::fmt::Write as _;

use coven_model::AwaitingKind;
use coven_runner::{AgentRunner, AgentTask, AnswerAction, GivenAnswer, RunnerEvent};
use coven_terminal::keys::KeyPress;
use coven_testkit::random::Random;

use crate::support::{Home, scripted, wait};

/// How many programs are made up by the test command; the variable asks for more.
const PROGRAMS: u64 = 6;
const PROGRAMS_VARIABLE: &str = "COVEN_SOAK_PROGRAMS";
/// What the programs are made from; the variable asks for others.
const SEED_VARIABLE: &str = "COVEN_SOAK_SEED";

/// How many programs run at the same time.
const PROGRAMS_AT_ONCE: u64 = 6;

/// How the questions of the programs look.
const RULES: &str = r#"
  "states": {
    "interaction_menu": { "pattern": "^pick one of [0-9]+ in [0-9]+:\\n[\\s\\S]*\\z", "begins": "^pick one of", "kind": "choice" },
    "interaction_line": { "pattern": "^line [0-9]+\\?", "region": "cursor:1", "kind": "question" },
    "execution_running": { "pattern": "^working", "region": "tail:1", "kind": "working" }
  },
  "keys": { "submit": ["Enter"] }
"#;

/// What every program begins with: each byte that it reads is noted, and at the end whatever is left
/// to read.
const PRELUDE: &str = r#"
note() { od -An -v -tx1 | tr -d ' \n' >> received; }
line() {
  stty sane; printf '\033[2J\033[Hline %s? ' "$1"
  IFS= read -r text; printf '%s\n' "$text" | note; echo; printf '\033[2J\033[Hworking\r\n'
}
plain() {
  stty sane; printf 'line %s? ' "$1"; IFS= read -r text; printf '%s\n' "$text" | note
}
menu() {
  stty raw -echo; at=0
  while :; do
    printf '\033[2J\033[Hpick one of %s in %s:\r\n' "$1" "$2"
    row=0
    while [ $row -lt $1 ]; do
      if [ $row -eq $at ]; then printf '> '; else printf '  '; fi
      printf 'entry %s\r\n' $row; row=$((row + 1))
    done
    key=$(dd bs=1 count=1 2>/dev/null | od -An -v -tx1 | tr -d ' \n'); printf '%s' "$key" >> received
    case $key in
      1b) rest=$(dd bs=1 count=2 2>/dev/null | od -An -v -tx1 | tr -d ' \n')
          printf '%s' "$rest" >> received
          [ "$rest" = 5b42 ] && at=$(((at + 1) % $1)) ;;
      0d) break ;;
    esac
  done
  printf '\033[2J\033[Hworking\r\n'
}
finish() {
  stty raw -echo min 0 time 15; dd bs=1000 count=1 2>/dev/null | note
  touch finished; stty sane; exit 0
}
"#;

/// One question of a program and the answer to it.
#[derive(Clone, Debug)]
enum Asked {
    /// A line on a screen of its own, after which the program works.
    Line {
        answer: String,
    },
    /// A line right below the one before it.
    Plain {
        answer: String,
    },
    Menu {
        entries: usize,
        chosen: usize,
    },
}

impl Asked {
    fn random(random: &mut Random) -> Self {
        let form = random.below(3);
        if form > 0 {
            let words =
                ["yes", "n", "blue green", "a;b|c", "$HOME `x`", "naïve 漢字", "--flag", "y"];
            let answer = format!("{} {}", random.pick(&words), random.below(1000));
            return if form == 1 { Self::Line { answer } } else { Self::Plain { answer } };
        }
        let entries = 2 + random.below(5);
        Self::Menu { entries, chosen: random.below(entries) }
    }

    fn script(&self, number: usize) -> String {
        match self {
            Self::Line { .. } => format!("line {number}\n"),
            Self::Plain { .. } => format!("plain {number}\n"),
            // Of two that look the same nobody can tell whether the first was answered.
            Self::Menu { entries, .. } => format!("menu {entries} {number}\n"),
        }
    }

    fn kind(&self) -> AwaitingKind {
        match self {
            Self::Line { .. } | Self::Plain { .. } => AwaitingKind::Question,
            Self::Menu { .. } => AwaitingKind::Choice,
        }
    }

    fn action(&self) -> AnswerAction {
        match self {
            Self::Line { answer } | Self::Plain { answer } => AnswerAction::Text(answer.clone()),
            Self::Menu { chosen, .. } => {
                let keys = std::iter::repeat_n("Down", *chosen).chain(["Enter"]);
                AnswerAction::Keys(keys.map(|key| key.parse::<KeyPress>().unwrap()).collect())
            }
        }
    }

    /// What the program must read, and nothing else.
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Line { answer } | Self::Plain { answer } => format!("{answer}\n").into_bytes(),
            Self::Menu { chosen, .. } => [&b"\x1b[B".repeat(*chosen)[..], b"\r"].concat(),
        }
    }
}

/// Runs one program that is made up from a seed, and answers each of its questions once.
async fn answer_all(seed: u64) {
    let home = Home::new();
    let mut random = Random::new(seed);
    let asked: Vec<Asked> = (0..3 + random.below(4)).map(|_| Asked::random(&mut random)).collect();
    let mut script = PRELUDE.to_owned();
    for (number, question) in asked.iter().enumerate() {
        script += &question.script(number);
    }
    script += "finish\n";
    let task = AgentTask::interactive(format!("received-{}", home.path().display()), None);
    let runner = AgentRunner::start(scripted(&home, RULES, &script), task, &home.local()).unwrap();
    let mut events = runner.subscribe();
    for (number, question) in asked.iter().enumerate() {
        let what = format!("seed {seed}: question {number} of {asked:?}");
        let shown = wait(&mut events, &what, |event| match event {
            RunnerEvent::Awaiting(shown) => Some(shown),
            _ => None,
        })
        .await;
        assert_eq!(shown.kind, question.kind(), "{what}: {shown:?}");
        let answered = runner.answer(shown.digest, question.action()).await;
        assert_eq!(answered, Ok(()), "{what}");
    }
    wait(&mut events, &format!("seed {seed}: its end"), |event| {
        matches!(event, RunnerEvent::Done(_)).then_some(())
    })
    .await;
    assert!(home.path().join("finished").exists(), "seed {seed}");
    let received = std::fs::read_to_string(home.path().join("received")).unwrap();
    let expected = asked.iter().flat_map(Asked::bytes).fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    });
    assert_eq!(received, expected, "seed {seed}: {asked:?}");
}

/// A process that dies between a text or a key and Enter leaves it in the line. The next one goes
/// on behind it.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_typed_in_part_is_finished_and_not_typed_again() {
    let (text, yes) = ("blue".to_owned(), ["y", "Enter"].map(|key| key.parse().unwrap()).to_vec());
    for (action, begun, expected) in
        [(AnswerAction::Text(text), "blue", "blue\n"), (AnswerAction::Keys(yes), "y", "y\n")]
    {
        let home = Home::new();
        let script = [PRELUDE, "line 1; finish\n"].concat();
        let task = AgentTask::interactive(format!("begun-{}", home.path().display()), None);
        let adapter = scripted(&home, RULES, &script);
        let runner = AgentRunner::start(adapter, task, &home.local()).unwrap();
        let mut events = runner.subscribe();
        let asked = |event| match event {
            RunnerEvent::Awaiting(shown) => Some(shown),
            _ => None,
        };
        let shown = wait(&mut events, "its question", asked).await;
        // What the process before this one has typed.
        runner.paste(begun).await.unwrap();
        let changed = wait(&mut events, "what was typed", asked).await;
        assert_ne!(changed.digest, shown.digest);
        let given = GivenAnswer { digest: shown.digest, action, name: None, typed: 1 };
        assert_eq!(runner.give(given).await, Ok(()), "{begun}");
        wait(&mut events, "its end", |event| matches!(event, RunnerEvent::Done(_)).then_some(()))
            .await;
        let received = std::fs::read_to_string(home.path().join("received")).unwrap();
        let expected: String = expected.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(received, expected);
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_an_agent_receives_are_exactly_the_answers_given_once_each_in_order() {
    let (programs, first) = (number(PROGRAMS_VARIABLE, PROGRAMS), number(SEED_VARIABLE, 1));
    let mut begin = 0;
    while begin < programs {
        let end = programs.min(begin + PROGRAMS_AT_ONCE);
        let running: Vec<_> =
            (begin..end).map(|number| tokio::spawn(answer_all(first + number))).collect();
        for one in running {
            one.await.unwrap();
        }
        begin = end;
    }
}
