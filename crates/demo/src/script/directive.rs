//! The directives and how each is read.

use std::path::PathBuf;
use std::time::Duration;

use super::DirectiveProblem;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScriptDirective {
    /// Answer the prompt. Not for writing: it is what a prompt without directives means.
    Echo,
    Say(String),
    /// JSON as it was written, known to be valid.
    Json(String),
    Think(Duration),
    Hang,
    Ask(String),
    Choose {
        question: String,
        options: Vec<String>,
    },
    /// Use a tool, as far as the permissions allow it; `disobey` does not care.
    Use {
        tool: ToolUse,
        asks: bool,
    },
    Cost(f64),
    Fail(String),
    Repeat(u32),
    Trick(AgentMisbehaviour),
    End(ProcessExit),
}

/// What changes something outside of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ToolUse {
    Command(String),
    Write { path: PathBuf, text: String },
}

/// A misbehaviour after which the agent goes on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AgentMisbehaviour {
    IgnoreSignals,
    DoubleFork { time: Duration, pid_file: Option<PathBuf> },
    Flood(u64),
    LateWriter(Duration),
}

/// What ends the process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ProcessExit {
    Exit {
        code: u8,
        /// Without telling the result.
        now: bool,
    },
    Die(i32),
    SplitUtf8,
    CloseTty(Duration),
}

/// All directives, by name.
pub(super) const DIRECTIVE_NAMES: &[&str] = &[
    "say",
    "json",
    "think",
    "approve",
    "disobey",
    "write",
    "ask",
    "choose",
    "cost",
    "fail",
    "exit",
    "repeat",
    "ignore-signals",
    "double-fork",
    "flood",
    "late-writer",
    "close-tty",
    "split-utf8",
    "die",
    "hang",
];

/// How the directive is written.
pub(super) fn usage(name: &str) -> &'static str {
    match name {
        "say" => "say TEXT",
        "json" => "json VALUE",
        "think" => "think SECONDS",
        "approve" => "approve COMMAND",
        "disobey" => "disobey COMMAND",
        "write" => "write PATH TEXT",
        "ask" => "ask QUESTION",
        "choose" => "choose [QUESTION?] A|B|C",
        "cost" => "cost USD",
        "fail" => "fail MESSAGE",
        "exit" => "exit CODE [now]",
        "repeat" => "repeat N",
        "double-fork" => "double-fork SECONDS [PIDFILE]",
        "flood" => "flood BYTES",
        "late-writer" => "late-writer [SECONDS]",
        "close-tty" => "close-tty SECONDS",
        "die" => "die SIGNAL",
        "ignore-signals" => "ignore-signals",
        "split-utf8" => "split-utf8",
        _ => "hang",
    }
}

/// The longest time a directive takes: a year, so that adding it to a clock is always fine.
const MAX_DIRECTIVE_SECONDS: f64 = 365.0 * 24.0 * 3600.0;

/// How long after the agent's end a late writer writes, if nothing is said: well after the
/// process that waits for the agent has seen it end.
const LATE_WRITE_DELAY: Duration = Duration::from_millis(200);

/// How often a part may be repeated. More is `hang`.
const MAX_REPEATS: u32 = 100_000;

/// Cuts the first word off.
pub(super) fn split(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

pub(super) fn read(text: &str) -> Result<ScriptDirective, DirectiveProblem> {
    let (word, rest) = split(text);
    let Some(name) = DIRECTIVE_NAMES.iter().copied().find(|name| *name == word) else {
        return Err(DirectiveProblem::Unknown { name: word.to_owned() });
    };
    arguments(name, rest).map_err(|reason| DirectiveProblem::Arguments { name, reason })
}

fn arguments(name: &str, rest: &str) -> Result<ScriptDirective, String> {
    Ok(match name {
        "say" => ScriptDirective::Say(prose(rest)?),
        "json" => ScriptDirective::Json(json(rest)?),
        "think" => ScriptDirective::Think(seconds(rest)?),
        "approve" => ScriptDirective::Use {
            tool: ToolUse::Command(expect_argument(rest)?.to_owned()),
            asks: true,
        },
        "disobey" => ScriptDirective::Use {
            tool: ToolUse::Command(expect_argument(rest)?.to_owned()),
            asks: false,
        },
        "write" => ScriptDirective::Use { tool: write(rest)?, asks: true },
        "ask" => ScriptDirective::Ask(prose(rest)?),
        "choose" => choose(rest)?,
        "cost" => ScriptDirective::Cost(amount(rest)?),
        "fail" => ScriptDirective::Fail(prose(rest)?),
        "exit" => ScriptDirective::End(exit(rest)?),
        "repeat" => ScriptDirective::Repeat(repeats(rest)?),
        "ignore-signals" => expect_nothing(rest)
            .map(|()| ScriptDirective::Trick(AgentMisbehaviour::IgnoreSignals))?,
        "double-fork" => ScriptDirective::Trick(double_fork(rest)?),
        "flood" => ScriptDirective::Trick(AgentMisbehaviour::Flood(number(rest, "bytes")?)),
        "late-writer" if rest.is_empty() => {
            ScriptDirective::Trick(AgentMisbehaviour::LateWriter(LATE_WRITE_DELAY))
        }
        "late-writer" => ScriptDirective::Trick(AgentMisbehaviour::LateWriter(seconds(rest)?)),
        "close-tty" => ScriptDirective::End(ProcessExit::CloseTty(seconds(rest)?)),
        "split-utf8" => {
            expect_nothing(rest).map(|()| ScriptDirective::End(ProcessExit::SplitUtf8))?
        }
        "die" => ScriptDirective::End(ProcessExit::Die(signal(rest)?)),
        _ => expect_nothing(rest).map(|()| ScriptDirective::Hang)?,
    })
}

fn expect_nothing(rest: &str) -> Result<(), String> {
    if rest.is_empty() { Ok(()) } else { Err(format!("takes nothing, but got {rest:?}")) }
}

fn expect_argument(rest: &str) -> Result<&str, String> {
    if rest.is_empty() { Err("needs something to work with".to_owned()) } else { Ok(rest) }
}

/// Text for people, in which `\n` stands for a new line.
fn prose(rest: &str) -> Result<String, String> {
    Ok(expect_argument(rest)?.replace("\\n", "\n"))
}

fn json(rest: &str) -> Result<String, String> {
    match serde_json::from_str::<serde::de::IgnoredAny>(expect_argument(rest)?) {
        Ok(_) => Ok(rest.to_owned()),
        Err(error) => Err(format!("not JSON: {error}")),
    }
}

fn seconds(rest: &str) -> Result<Duration, String> {
    // People write `2s` as well.
    let number = expect_argument(rest)?;
    match number.strip_suffix('s').unwrap_or(number).trim_end().parse::<f64>() {
        Ok(seconds) if (0.0..=MAX_DIRECTIVE_SECONDS).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(format!("{rest:?} is not a number of seconds")),
    }
}

fn amount(rest: &str) -> Result<f64, String> {
    match expect_argument(rest)?.trim_start_matches('$').parse::<f64>() {
        Ok(usd) if usd >= 0.0 && usd.is_finite() => Ok(usd),
        _ => Err(format!("{rest:?} is not an amount of dollars")),
    }
}

fn number(rest: &str, what: &str) -> Result<u64, String> {
    let error = |_| format!("{rest:?} is not a number of {what}");
    expect_argument(rest)?.replace('_', "").parse().map_err(error)
}

fn repeats(rest: &str) -> Result<u32, String> {
    match number(rest, "times")?.try_into() {
        Ok(times @ 1..=MAX_REPEATS) => Ok(times),
        _ => Err(format!("can be done 1 to {MAX_REPEATS} times")),
    }
}

fn exit(rest: &str) -> Result<ProcessExit, String> {
    let (code, how) = split(expect_argument(rest)?);
    let code = code.parse().map_err(|_| format!("{code:?} is not a code from 0 to 255"))?;
    match how {
        "" => Ok(ProcessExit::Exit { code, now: false }),
        "now" => Ok(ProcessExit::Exit { code, now: true }),
        _ => Err(format!("only \"now\" can follow the code, not {how:?}")),
    }
}

fn write(rest: &str) -> Result<ToolUse, String> {
    let (path, text) = split(expect_argument(rest)?);
    // `write a poem` is prose, not a request to write a file called `a`.
    if !path.contains(['.', '/']) {
        return Err(format!("{path:?} does not look like a path; write it as \"./{path}\""));
    }
    Ok(ToolUse::Write { path: path.into(), text: prose(text)? })
}

fn choose(rest: &str) -> Result<ScriptDirective, String> {
    let (question, options) = match expect_argument(rest)?.split_once("? ") {
        Some((question, options)) => (format!("{question}?"), options),
        None => ("Choose one:".to_owned(), rest),
    };
    let options: Vec<String> = options.split('|').map(|text| text.trim().to_owned()).collect();
    if !(2..=9).contains(&options.len()) || options.iter().any(String::is_empty) {
        return Err("needs two to nine options, separated by |".to_owned());
    }
    Ok(ScriptDirective::Choose { question, options })
}

fn double_fork(rest: &str) -> Result<AgentMisbehaviour, String> {
    let (time, file) = split(expect_argument(rest)?);
    let pid_file = (!file.is_empty()).then(|| PathBuf::from(file));
    Ok(AgentMisbehaviour::DoubleFork { time: seconds(time)?, pid_file })
}

/// A signal that ends a process, by name or number.
fn signal(rest: &str) -> Result<i32, String> {
    const LAST_SIGNAL: i32 = 31;
    let wanted = expect_argument(rest)?.to_ascii_uppercase();
    let wanted = wanted.trim_start_matches("SIG");
    let named = |number: &i32| {
        signal_hook::low_level::signal_name(*number).is_some_and(|name| &name[3..] == wanted)
    };
    let number = wanted.parse().ok().or_else(|| (1..=LAST_SIGNAL).find(named));
    let deadly = |number: &i32| {
        let name = signal_hook::low_level::signal_name(*number);
        name.is_some_and(|name| !HARMLESS_SIGNALS.contains(&name))
    };
    number.filter(deadly).ok_or_else(|| format!("{rest:?} is not a signal to die by"))
}

/// Signals that do not end a process unless it wants to.
const HARMLESS_SIGNALS: [&str; 9] = [
    "SIGCHLD", "SIGCONT", "SIGIO", "SIGURG", "SIGWINCH", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU",
];
