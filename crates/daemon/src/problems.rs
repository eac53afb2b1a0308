//! What goes wrong below, in the words of the API.

use coven_api::catalogue::TextDiagnostic;
use coven_api::{Code, Problem};
use coven_notation::{ProblemSeverity, Report, printable};
use coven_orchestrator::{ClaimError, ExecuteError, OpenError, RequestError};
use coven_store::NotOwned;
use coven_store::index::ResolveError;
use coven_workflow::catalogue::UnusableGrimoire;
use coven_workflow::state::Refused;

/// Something about a text, at its places.
pub(crate) fn diagnostics(report: &Report) -> Vec<TextDiagnostic> {
    let source = &report.source;
    let one = |problem: &coven_notation::FileProblem| {
        let (start, end) = (source.position(problem.span.start), source.position(problem.span.end));
        let severity = match problem.severity {
            ProblemSeverity::Error => "error",
            ProblemSeverity::Warning => "warning",
        };
        TextDiagnostic {
            severity: severity.to_owned(),
            message: printable(&problem.message),
            help: problem.help.as_deref().map(printable),
            line: start.line as u32,
            column: start.column as u32,
            end_line: end.line as u32,
            end_column: end.column as u32,
        }
    };
    report.problems.iter().map(one).collect()
}

pub(crate) fn open(error: &OpenError) -> Problem {
    let code = match error {
        OpenError::Locked(coven_store::lock::LockError::Held { .. }) => Code::BaseDirTaken,
        OpenError::Folder(_) | OpenError::Locked(_) => Code::BadBaseDir,
        OpenError::NotOwned(error) => return not_owned(error),
        OpenError::Registry(_) => Code::Storage,
        OpenError::Slots(_) => Code::Internal,
    };
    Problem::new(code, error.to_string())
}

/// A folder that belongs to another user, or that every user may write to.
pub(crate) fn not_owned(error: &NotOwned) -> Problem {
    // What a person agrees to is the folder, whichever part of it is somebody else's.
    let folder = match error.path.ancestors().find(|path| path.ends_with(".coven")) {
        Some(coven) => coven.parent().unwrap_or(coven),
        None => &error.path,
    };
    let folder = printable(&folder.display().to_string());
    let mend = if error.owners.uids.is_empty() {
        format!("take the permission away (chmod o-w {}), or if", error.path.display())
    } else {
        "if".to_owned()
    };
    let hint = format!(
        "whoever can write there can run programs as you; {} you want that: \
         coven trust --owner {folder}",
        printable(&mend)
    );
    Problem::new(Code::NotOwned, printable(&error.to_string())).with_hint(hint)
}

pub(crate) fn execute(error: ExecuteError) -> Problem {
    let text = printable(&error.to_string());
    match error {
        ExecuteError::Grimoire(unusable) => grimoire(&unusable),
        ExecuteError::Definition(report) => {
            let found = diagnostics(&report);
            let first = found.first().map(|first| format!(": {}", first.message));
            let detail = format!("the definition has errors{}", first.unwrap_or_default());
            Problem::new(Code::BadDefinition, detail).with_problems(found)
        }
        ExecuteError::BaseDir(error) => open(&error),
        ExecuteError::Inputs(_) => Problem::new(Code::BadInput, text),
        ExecuteError::KeyReused { .. } | ExecuteError::Claim(ClaimError::Reused { .. }) => {
            Problem::new(Code::KeyReused, text)
        }
        ExecuteError::Reserved { .. } => Problem::new(Code::BadRequest, text),
        ExecuteError::Request(error) => request(&error),
        _ => Problem::new(Code::Storage, text),
    }
}

pub(crate) fn grimoire(unusable: &UnusableGrimoire) -> Problem {
    let code = match unusable {
        UnusableGrimoire::Unknown { .. } => Code::GrimoireNotFound,
        UnusableGrimoire::Broken { .. } => Code::BadDefinition,
        UnusableGrimoire::Inert { .. } => Code::NotTrusted,
    };
    Problem::new(code, printable(&unusable.to_string()))
}

pub(crate) fn request(error: &RequestError) -> Problem {
    let code = match error {
        RequestError::Unknown(ResolveError::Unknown { .. }) => Code::WorkflowNotFound,
        RequestError::Unknown(ResolveError::Ambiguous { .. }) => Code::BadRequest,
        RequestError::Foreign(_) => Code::ForeignSession,
        RequestError::Refused(refused) => self::refused(refused),
        RequestError::NotLive(_) => Code::NotLive,
        RequestError::NoAgent(_) | RequestError::NotInteractive(_) => Code::NoAgent,
        RequestError::NoTask { .. } | RequestError::NotStarted(_) => Code::TaskNotFound,
        RequestError::NotDelivered(_) | RequestError::NotRemoved(_) => Code::NotNow,
        RequestError::Closing => Code::Stopping,
        _ => Code::Storage,
    };
    let problem = Problem::new(code, printable(&error.to_string()));
    match code {
        Code::Storage if matches!(error, RequestError::NotWritten { .. }) => {
            problem.with_hint("`coven daemon stop --agents` ends its agents all the same")
        }
        Code::NotLive => problem.with_hint("`POST /workflows/{id}/resume` lets it go on"),
        Code::ForeignSession => {
            problem.with_hint("it can be read: `coven show`, `coven logs`, `coven play`")
        }
        Code::NoAgent => problem.with_hint("its output and recording can still be read"),
        _ => problem,
    }
}

fn refused(refused: &Refused) -> Code {
    match refused {
        Refused::NoSession => Code::WorkflowNotFound,
        Refused::NoIntervention(_) => Code::AlreadyDecided,
        Refused::NotAnOption { .. } | Refused::NeedsText(_) => Code::BadDecision,
        Refused::OtherDigest => Code::StaleDigest,
        Refused::NoTask(_) => Code::TaskNotFound,
        _ => Code::NotNow,
    }
}
