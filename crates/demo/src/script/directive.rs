//! The directives and how each is read.

use std::path::PathBuf;
use std::time::Duration;

use super::Problem;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Directive {
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
        tool: Tool,
        asks: bool,
    },
    Cost(f64),
    Fail(String),
    Repeat(u32),
    Trick(Trick),
    End(End),
}

/// What changes something outside of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tool {
    Command(String),
    Write { path: PathBuf, text: String },
}

/// What an agent does that nobody asked for, and then goes on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Trick {
    IgnoreSignals,
    DoubleFork { time: Duration, pid_file: Option<PathBuf> },
    Flood(u64),
    LateWriter(Duration),
}

/// What ends the process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
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
pub(super) const NAMES: &[&str] = &[
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
const LONGEST: f64 = 365.0 * 24.0 * 3600.0;

/// How long after the agent's end a late writer writes, if nothing is said: well after whoever
/// waits for the agent has seen it end.
const LATE: Duration = Duration::from_millis(200);

/// How often a part may be repeated. More is `hang`.
const MOST_REPEATS: u32 = 100_000;

/// Cuts the first word off.
pub(super) fn split(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

pub(super) fn read(text: &str) -> Result<Directive, Problem> {
    let (word, rest) = split(text);
    let Some(name) = NAMES.iter().copied().find(|name| *name == word) else {
        return Err(Problem::Unknown { name: word.to_owned() });
    };
    arguments(name, rest).map_err(|reason| Problem::Arguments { name, reason })
}

fn arguments(name: &str, rest: &str) -> Result<Directive, String> {
    Ok(match name {
        "say" => Directive::Say(prose(rest)?),
        "json" => Directive::Json(json(rest)?),
        "think" => Directive::Think(seconds(rest)?),
        "approve" => Directive::Use { tool: Tool::Command(some(rest)?.to_owned()), asks: true },
        "disobey" => Directive::Use { tool: Tool::Command(some(rest)?.to_owned()), asks: false },
        "write" => Directive::Use { tool: write(rest)?, asks: true },
        "ask" => Directive::Ask(prose(rest)?),
        "choose" => choose(rest)?,
        "cost" => Directive::Cost(amount(rest)?),
        "fail" => Directive::Fail(prose(rest)?),
        "exit" => Directive::End(exit(rest)?),
        "repeat" => Directive::Repeat(repeats(rest)?),
        "ignore-signals" => nothing(rest).map(|()| Directive::Trick(Trick::IgnoreSignals))?,
        "double-fork" => Directive::Trick(double_fork(rest)?),
        "flood" => Directive::Trick(Trick::Flood(number(rest, "bytes")?)),
        "late-writer" if rest.is_empty() => Directive::Trick(Trick::LateWriter(LATE)),
        "late-writer" => Directive::Trick(Trick::LateWriter(seconds(rest)?)),
        "close-tty" => Directive::End(End::CloseTty(seconds(rest)?)),
        "split-utf8" => nothing(rest).map(|()| Directive::End(End::SplitUtf8))?,
        "die" => Directive::End(End::Die(signal(rest)?)),
        _ => nothing(rest).map(|()| Directive::Hang)?,
    })
}

fn nothing(rest: &str) -> Result<(), String> {
    if rest.is_empty() { Ok(()) } else { Err(format!("takes nothing, but got {rest:?}")) }
}

fn some(rest: &str) -> Result<&str, String> {
    if rest.is_empty() { Err("needs something to work with".to_owned()) } else { Ok(rest) }
}

/// Text for people, in which `\n` stands for a new line.
fn prose(rest: &str) -> Result<String, String> {
    Ok(some(rest)?.replace("\\n", "\n"))
}

fn json(rest: &str) -> Result<String, String> {
    match serde_json::from_str::<serde::de::IgnoredAny>(some(rest)?) {
        Ok(_) => Ok(rest.to_owned()),
        Err(error) => Err(format!("not JSON: {error}")),
    }
}

fn seconds(rest: &str) -> Result<Duration, String> {
    // People write `2s` as well.
    let number = some(rest)?;
    match number.strip_suffix('s').unwrap_or(number).trim_end().parse::<f64>() {
        Ok(seconds) if (0.0..=LONGEST).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("{rest:?} is not a number of seconds")),
    }
}

fn amount(rest: &str) -> Result<f64, String> {
    match some(rest)?.trim_start_matches('$').parse::<f64>() {
        Ok(usd) if usd >= 0.0 && usd.is_finite() => Ok(usd),
        _ => Err(format!("{rest:?} is not an amount of dollars")),
    }
}

fn number(rest: &str, what: &str) -> Result<u64, String> {
    let error = |_| format!("{rest:?} is not a number of {what}");
    some(rest)?.replace('_', "").parse().map_err(error)
}

fn repeats(rest: &str) -> Result<u32, String> {
    match number(rest, "times")?.try_into() {
        Ok(times @ 1..=MOST_REPEATS) => Ok(times),
        _ => Err(format!("can be done 1 to {MOST_REPEATS} times")),
    }
}

fn exit(rest: &str) -> Result<End, String> {
    let (code, how) = split(some(rest)?);
    let code = code.parse().map_err(|_| format!("{code:?} is not a code from 0 to 255"))?;
    match how {
        "" => Ok(End::Exit { code, now: false }),
        "now" => Ok(End::Exit { code, now: true }),
        _ => Err(format!("only \"now\" can follow the code, not {how:?}")),
    }
}

fn write(rest: &str) -> Result<Tool, String> {
    let (path, text) = split(some(rest)?);
    // `write a poem` is prose, not a request to write a file called `a`.
    if !path.contains(['.', '/']) {
        return Err(format!("{path:?} does not look like a path; write it as \"./{path}\""));
    }
    Ok(Tool::Write { path: path.into(), text: prose(text)? })
}

fn choose(rest: &str) -> Result<Directive, String> {
    let (question, options) = match some(rest)?.split_once("? ") {
        Some((question, options)) => (format!("{question}?"), options),
        None => ("Choose one:".to_owned(), rest),
    };
    let options: Vec<String> = options.split('|').map(|text| text.trim().to_owned()).collect();
    if !(2..=9).contains(&options.len()) || options.iter().any(String::is_empty) {
        return Err("needs two to nine options, separated by |".to_owned());
    }
    Ok(Directive::Choose { question, options })
}

fn double_fork(rest: &str) -> Result<Trick, String> {
    let (time, file) = split(some(rest)?);
    let pid_file = (!file.is_empty()).then(|| PathBuf::from(file));
    Ok(Trick::DoubleFork { time: seconds(time)?, pid_file })
}

/// A signal that ends a process, by name or number.
fn signal(rest: &str) -> Result<i32, String> {
    const LAST: i32 = 31;
    let wanted = some(rest)?.to_ascii_uppercase();
    let wanted = wanted.trim_start_matches("SIG");
    let named = |number: &i32| {
        signal_hook::low_level::signal_name(*number).is_some_and(|name| &name[3..] == wanted)
    };
    let number = wanted.parse().ok().or_else(|| (1..=LAST).find(named));
    let deadly = |number: &i32| {
        let name = signal_hook::low_level::signal_name(*number);
        name.is_some_and(|name| !HARMLESS.contains(&name))
    };
    number.filter(deadly).ok_or_else(|| format!("{rest:?} is not a signal to die by"))
}

/// Signals that do not end a process unless it wants to.
const HARMLESS: [&str; 9] = [
    "SIGCHLD", "SIGCONT", "SIGIO", "SIGURG", "SIGWINCH", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU",
];
