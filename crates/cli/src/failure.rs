//! How a command fails: what went wrong, what to do about it, and the exit code.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use coven_api::{ApiProblem, ClientError, ProblemCode};
use coven_notation::printable;
use serde_json::json;

use crate::output;

/// The exit codes, as documented in `docs/reference/exit-codes.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureCode {
    /// What was asked for failed.
    Failed = 1,
    /// It was asked for wrongly.
    Usage = 2,
    /// The run waits for a person, and the command may not ask one.
    Blocked = 3,
    Cancelled = 4,
    /// The daemon cannot be reached.
    Unreachable = 5,
    /// The time that was given is over.
    TimedOut = 124,
    /// The command was interrupted; what it followed goes on.
    Interrupted = 130,
}

impl FailureCode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
            Self::Unreachable => "daemon-unreachable",
            Self::TimedOut => "timed-out",
            Self::Interrupted => "interrupted",
        }
    }
}

#[derive(Debug)]
pub(crate) struct CommandFailure {
    code: FailureCode,
    message: String,
    hint: Option<String>,
    /// The problem it is, where this program found it and not the daemon.
    found: Option<ProblemCode>,
    problem: Option<Box<ApiProblem>>,
}

pub(crate) type Result<T = ()> = std::result::Result<T, CommandFailure>;

impl CommandFailure {
    pub(crate) fn new(code: FailureCode, message: impl Display) -> Self {
        Self { code, message: message.to_string(), hint: None, found: None, problem: None }
    }

    pub(crate) fn failed(message: impl Display) -> Self {
        Self::new(FailureCode::Failed, message)
    }

    /// What was named is not there: the same problem that the daemon would tell.
    pub(crate) fn not_found(what: ProblemCode, message: impl Display) -> Self {
        Self { found: Some(what), ..Self::failed(message) }
    }

    /// No daemon drives the session: the same problem that the daemon would tell.
    pub(crate) fn not_live(message: impl Display) -> Self {
        Self { found: Some(ProblemCode::NotLive), ..Self::failed(message) }
    }

    /// It cannot be done as things stand: the same problem that the daemon would tell.
    pub(crate) fn not_now(message: impl Display) -> Self {
        Self { found: Some(ProblemCode::NotNow), ..Self::failed(message) }
    }

    /// A file could not be read; one that is not there is told as what is not found.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        let message = format!("could not read {}: {error}", path.display());
        match error.kind() {
            io::ErrorKind::NotFound => Self::not_found(ProblemCode::NotFound, message),
            _ => Self::failed(message),
        }
    }

    /// A folder that a command is about is none: the same problem that the daemon would tell.
    pub(crate) fn bad_folder(message: impl Display) -> Self {
        Self { found: Some(ProblemCode::BadBaseDir), ..Self::usage(message) }
    }

    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(FailureCode::Usage, message)
    }

    /// Says what to do next.
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// The same; if what was looked at has changed meanwhile, this command looks at it again.
    pub(crate) fn look_again(self, command: &str) -> Self {
        if self.is(ProblemCode::StaleDigest) {
            return self.hint(format!("look again: {command}"));
        }
        self
    }

    /// The same where the daemon may have done what it was asked, though nobody heard that it did.
    pub(crate) fn may_be_done(self, look: &str) -> Self {
        match self.code {
            FailureCode::Unreachable => {
                self.hint(format!("it may have been taken; look before you repeat it: {look}"))
            }
            _ => self,
        }
    }

    /// A failure that was already told in full.
    pub(crate) fn told() -> Self {
        Self::silent(FailureCode::Failed)
    }

    /// Only an exit code; what there is to say was said.
    pub(crate) fn silent(code: FailureCode) -> Self {
        Self::new(code, "")
    }

    /// What the daemon says is wrong, if it said something.
    pub(crate) fn problem(&self) -> Option<&ApiProblem> {
        self.problem.as_deref()
    }

    /// Whether the daemon says exactly this.
    pub(crate) fn is(&self, code: ProblemCode) -> bool {
        self.problem().map(|problem| problem.code).or(self.found) == Some(code)
    }

    /// Whether the daemon cannot be reached.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.code == FailureCode::Unreachable
    }

    /// Whether it will be told as JSON.
    pub(crate) fn wants_json() -> bool {
        as_json()
    }

    fn to_json(&self) -> serde_json::Value {
        let told = self.problem().map(|problem| problem.code).or(self.found);
        let code = told.map_or(self.code.as_str(), ProblemCode::as_str);
        let mut error = json!({"code": code, "message": self.message, "exit": self.code as u8});
        if let Some(hint) = &self.hint {
            error["hint"] = json!(hint);
        }
        if let Some(problem) = self.problem().filter(|problem| !problem.problems.is_empty()) {
            error["problems"] = json!(problem.problems);
        }
        json!({ "error": error })
    }
}

impl From<io::Error> for CommandFailure {
    fn from(error: io::Error) -> Self {
        Self::failed(format!("could not write to stdout: {error}"))
    }
}

impl From<ClientError> for CommandFailure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Problem(problem) => (*problem).into(),
            ClientError::Unreachable(_) => {
                Self::new(FailureCode::Unreachable, printable(&error.to_string()))
                    .hint("`coven daemon status` looks for it, `coven daemon start` starts it")
            }
            ClientError::Unreadable(_) => {
                Self::new(FailureCode::Unreachable, printable(&error.to_string()))
                    .hint("the daemon may be of another version: coven daemon stop, then try again")
            }
        }
    }
}

impl From<ApiProblem> for CommandFailure {
    fn from(problem: ApiProblem) -> Self {
        let code = match problem.code {
            ProblemCode::BadRequest
            | ProblemCode::BadInput
            | ProblemCode::BadDecision
            | ProblemCode::BadBaseDir => FailureCode::Usage,
            ProblemCode::Stopping => FailureCode::Unreachable,
            _ => FailureCode::Failed,
        };
        let hint = hint(&problem).map(str::to_owned).or_else(|| problem.hint.clone());
        let message = printable(&problem.detail);
        let hint = hint.map(|hint| printable(&hint));
        Self { code, message, hint, found: None, problem: Some(Box::new(problem)) }
    }
}

/// What to do, in the words of the command line; the daemon speaks of its routes.
fn hint(problem: &ApiProblem) -> Option<&'static str> {
    Some(match problem.code {
        ProblemCode::NotLive => "`coven resume NAME` lets it go on",
        ProblemCode::NoAgent => {
            "`coven logs NAME/TASK` shows what it printed, `coven play` plays it"
        }
        ProblemCode::NotTrusted => "`coven trust` shows what the folder brings along, and asks",
        ProblemCode::WorkflowNotFound => "`coven ls` lists the sessions",
        ProblemCode::GrimoireNotFound => "to run a file, write its ending (.yaml, .json) or a `/`",
        ProblemCode::BadAdapter => "`coven adapter ls` lists them",
        ProblemCode::NoTree => "`coven trees NAME --all` lists the trees of a session",
        ProblemCode::FileNotChanged => "`coven diff NAME/TASK --stat` lists the files that differ",
        ProblemCode::CheckpointNotFound => "`coven diff NAME/TASK --json` lists its checkpoints",
        ProblemCode::BranchNotFound => "`git branch` lists the branches; make it first",
        ProblemCode::AlreadyDecided => "`coven inbox` shows what waits",
        ProblemCode::StaleDigest => "look again: coven inbox",
        ProblemCode::Stopping => "try again in a moment; a new daemon starts by itself",
        _ => return None,
    })
}

/// Whether errors are printed as JSON: a program that passes `--json` parses nothing else.
pub(crate) fn as_json() -> bool {
    std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

/// Reports how a command ended. A reader that closed our output, as `head` does, is no failure.
pub(crate) fn exit(result: Result) -> ExitCode {
    let Err(mut failure) = result else { return ExitCode::SUCCESS };
    if failure.message.is_empty() {
        failure.message = output::take_report().unwrap_or_default();
    }
    if !failure.message.is_empty() {
        tell(&failure);
    }
    ExitCode::from(failure.code as u8)
}

fn tell(failure: &CommandFailure) {
    if as_json() {
        output::say_json(&failure.to_json());
        return;
    }
    let paint = output::paint_stderr();
    // Without a terminal there is no width to wrap for.
    let columns = output::columns_of_stderr().unwrap_or(usize::MAX);
    let message = output::wrapped(&failure.message, columns, "error: ".len());
    output::say!("{} {message}", paint.red("error:"));
    let places = failure.problem().map(|problem| problem.problems.as_slice()).unwrap_or_default();
    for place in places {
        output::say!("  {}:{}: {}", place.line, place.column, printable(&place.message));
        if let Some(help) = &place.help {
            output::say!("      {}", printable(help));
        }
    }
    if let Some(hint) = &failure.hint {
        let hint = output::wrapped(hint, columns, "hint: ".len());
        output::say!("{} {hint}", paint.bold("hint:"));
    }
}

/// A command line that cannot be understood. Help and the version are not failures.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind;
    let help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if help {
        error.exit();
    }
    let text = error.render().to_string();
    if !as_json() {
        let paint = output::paint_stderr();
        match text.strip_prefix("error:") {
            Some(text) => output::ask!("{}{text}", paint.red("error:")),
            None => output::ask!("{text}"),
        }
        return ExitCode::from(FailureCode::Usage as u8);
    }
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let message =
        lines.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    exit(Err(CommandFailure::usage(message).hint("coven --help")))
}
