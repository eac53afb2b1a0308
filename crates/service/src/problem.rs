//! Errors as the problems that clients see: the one place where a [`ServiceError`] gets its stable
//! code and its hint.

use std::path::Path;

use coven_api::catalogue::TextDiagnostic;
use coven_api::{ApiProblem, ProblemCode};
use coven_notation::{ProblemReport, ProblemSeverity, printable};
use coven_orchestrator::{ClaimError, ExecuteError, OpenError, RequestError, TreeRequestError};
use coven_policy::AddRuleError;
use coven_store::NotOwned;
use coven_store::index::ResolveError;
use coven_store::journal::{OpenError as JournalError, ReadError};
use coven_workflow::catalogue::UnusableGrimoire;
use coven_workflow::state::RefusalReason;

use crate::error::{ServiceError, StaleTrust};

impl ServiceError {
    /// The stable code that clients tell problems apart by.
    pub fn code(&self) -> ProblemCode {
        match self {
            Self::BadRequest(_) | Self::UnknownStatus(_) | Self::AmbiguousSession { .. } => {
                ProblemCode::BadRequest
            }
            Self::BadInput(_) | Self::NoSessionNamed | Self::WhichTree(_) | Self::WhichTask(_) => {
                ProblemCode::BadInput
            }
            Self::CheckTimeout(_) | Self::ProjectConfig(_) => ProblemCode::BadDefinition,
            Self::BadBaseDir(_) => ProblemCode::BadBaseDir,
            Self::NotOwned(_) => ProblemCode::NotOwned,
            Self::Open(error) => open(error),
            Self::BaseDirReplaced(_) | Self::NotTyped(_) | Self::PolicyNotAccepted => {
                ProblemCode::NotNow
            }
            Self::StaleTrust(_) | Self::StaleImport(_) | Self::OtherRule => {
                ProblemCode::StaleDigest
            }
            Self::NotImportable(_) => ProblemCode::NotImportable,
            Self::UnknownSession { .. } | Self::SessionGone(_) => ProblemCode::WorkflowNotFound,
            Self::KeyOfDeleted(_) => ProblemCode::KeyReused,
            Self::UnknownTask(_) | Self::UnknownAttempt { .. } | Self::NothingRecorded => {
                ProblemCode::TaskNotFound
            }
            Self::NoTerminal(_) | Self::NotRunning(_) => ProblemCode::NoAgent,
            Self::UnknownIntervention(_) | Self::InterventionOfNoSession(_) => {
                ProblemCode::InterventionNotFound
            }
            Self::AlreadyDecided { .. } | Self::NotAsked => ProblemCode::AlreadyDecided,
            Self::NoDigest
            | Self::NotShownWhole
            | Self::NotShownAnywhere
            | Self::NoAlways(_)
            | Self::NoRule
            | Self::NothingToSave
            | Self::NotSaved(_) => ProblemCode::BadDecision,
            Self::UnknownGrimoire { .. } => ProblemCode::GrimoireNotFound,
            Self::UnknownAdapter(_) => ProblemCode::BadAdapter,
            Self::Grimoire(unusable) => grimoire(unusable),
            Self::Execute(error) => execute(error),
            Self::Request(error) => request(error),
            Self::Tree(error) => tree(error),
            Self::Storage { .. } | Self::UnreadableOutput(_) => ProblemCode::Storage,
            Self::Stopping => ProblemCode::Stopping,
            Self::Internal(_) => ProblemCode::Internal,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::UnknownStatus(_) => {
                "there are pending, running, blocked, completed, failed, cancelled and foreign"
            }
            Self::NoSessionNamed => "name it with `workflow=`",
            Self::NotOwned(error) => return Some(hint_for_owners(error)),
            Self::BaseDirReplaced(_) => {
                "put that folder back in its place, or end its runs: `coven ls`, `coven cancel NAME`"
            }
            Self::StaleTrust(StaleTrust::NothingSeen) => "send the `digest` of `GET /trust` along",
            Self::StaleTrust(StaleTrust::Policy) => "look again with `GET /policy`",
            Self::StaleTrust(_) => "look again with `GET /trust`, then agree to that",
            Self::StaleImport(_) => "look again with `GET /import`, then import that",
            Self::UnknownSession { closed, .. } if closed.is_empty() => {
                "`GET /workflows` lists them"
            }
            Self::UnknownSession { closed, .. } => {
                let closed: Vec<_> = closed.iter().map(|path| path.display().to_string()).collect();
                return Some(format!("these folders could not be opened: {}", closed.join(", ")));
            }
            Self::AmbiguousSession { .. } => "give the whole id",
            Self::KeyOfDeleted(_) => "use a new key",
            Self::NoTerminal(_) => "`…/output` and `…/transcript` tell what it does",
            Self::NotRunning(_) => "`…/screen`, `…/output` and `…/recording` tell what it did",
            Self::NotShownWhole => "look at it in the agent's terminal, and answer there",
            Self::NotShownAnywhere => {
                "the agent has no terminal: deny it, and say that it should be done in smaller parts"
            }
            Self::NoDigest => "send the intervention's `digest` along",
            Self::NoAlways(_) => "it can be approved once",
            Self::NoRule => "send the intervention's `always` along, as `rule`",
            Self::OtherRule => "look at it again with `GET /interventions`",
            Self::NotSaved(AddRuleError::Wrong(_)) => {
                "mend it with `coven policy edit`, or approve without saving"
            }
            Self::NotSaved(AddRuleError::OldVersion) => {
                "write `version: 2` with `coven policy edit`, or approve without saving"
            }
            Self::NotSaved(AddRuleError::Layout) => {
                "add the rule with `coven policy edit`, or approve without saving"
            }
            Self::PolicyNotAccepted => {
                "look at it with `coven policy accept`, or approve without saving"
            }
            Self::UnknownGrimoire { near: Some(near), .. } => {
                return Some(format!("did you mean `{near}`?"));
            }
            Self::UnknownGrimoire { near: None, .. } => "`GET /grimoires` lists them",
            Self::UnknownAdapter(_) => "`GET /adapters` lists them",
            Self::Request(error) => hint_for_request(error)?,
            Self::Tree(error) => hint_for_tree(error)?,
            Self::ProjectConfig(report) => {
                let file = printable(report.source.name());
                return Some(format!("mend {file}, then `coven trust`"));
            }
            Self::WhichTree(_) => "name one of them as `task`",
            Self::WhichTask(_) => "name one of them in the path",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// The whole answer to a client.
    pub fn problem(&self) -> ApiProblem {
        let problems = match self {
            Self::Execute(ExecuteError::Definition(report)) | Self::ProjectConfig(report) => {
                diagnostics(report)
            }
            _ => Vec::new(),
        };
        let problem = ApiProblem::new(self.code(), self.to_string()).with_problems(problems);
        match self.hint() {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        }
    }
}

/// A definition with errors, as a client is told that it cannot be run.
pub fn definition_problem(report: ProblemReport) -> ApiProblem {
    ServiceError::from(ExecuteError::Definition(Box::new(report))).problem()
}

/// What is wrong in a text, at its places.
pub(crate) fn diagnostics(report: &ProblemReport) -> Vec<TextDiagnostic> {
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

fn open(error: &OpenError) -> ProblemCode {
    match error {
        OpenError::Locked(coven_store::lock::LockError::Held { .. }) => ProblemCode::BaseDirTaken,
        OpenError::Folder(_) | OpenError::Locked(_) => ProblemCode::BadBaseDir,
        OpenError::NotOwned(_) => ProblemCode::NotOwned,
        OpenError::Registry(_) | OpenError::Key(_) => ProblemCode::Storage,
    }
}

fn hint_for_owners(error: &NotOwned) -> String {
    // The user agrees to the folder, whichever part of it belongs to others.
    let folder = match error.path.ancestors().find(|path| path.ends_with(".coven")) {
        Some(coven) => coven.parent().unwrap_or(coven),
        None => &error.path,
    };
    let shown = |path: &Path| printable(&path.display().to_string());
    let mend = if error.owners.uids.is_empty() {
        format!("take the permission away (chmod o-w {}), or if", shown(&error.path))
    } else {
        "if".to_owned()
    };
    format!(
        "whoever can write there can run programs as you; {mend} you want that: \
         coven trust --owner {}",
        shown(folder)
    )
}

fn execute(error: &ExecuteError) -> ProblemCode {
    match error {
        ExecuteError::Grimoire(unusable) => grimoire(unusable),
        ExecuteError::Definition(_) => ProblemCode::BadDefinition,
        ExecuteError::BaseDir(error) => open(error),
        ExecuteError::Inputs(_) => ProblemCode::BadInput,
        ExecuteError::Unable(_) => ProblemCode::BadAdapter,
        ExecuteError::Trees(_) => ProblemCode::BadBaseDir,
        ExecuteError::KeyReused { .. } | ExecuteError::Claim(ClaimError::Reused { .. }) => {
            ProblemCode::KeyReused
        }
        ExecuteError::Reserved { .. } => ProblemCode::BadRequest,
        ExecuteError::Request(error) => request(error),
        _ => ProblemCode::Storage,
    }
}

fn grimoire(unusable: &UnusableGrimoire) -> ProblemCode {
    match unusable {
        UnusableGrimoire::Unknown { .. } => ProblemCode::GrimoireNotFound,
        UnusableGrimoire::Broken { .. } => ProblemCode::BadDefinition,
        UnusableGrimoire::Inert { .. } => ProblemCode::NotTrusted,
    }
}

fn request(error: &RequestError) -> ProblemCode {
    match error {
        RequestError::Unknown(ResolveError::Unknown { .. }) => ProblemCode::WorkflowNotFound,
        RequestError::Unknown(ResolveError::Ambiguous { .. }) => ProblemCode::BadRequest,
        RequestError::Foreign(_) => ProblemCode::ForeignSession,
        RequestError::Refused(refused) => self::refused(refused),
        RequestError::NotLive(_) => ProblemCode::NotLive,
        RequestError::NoAgent(_) | RequestError::Queued(_) | RequestError::NotInteractive(_) => {
            ProblemCode::NoAgent
        }
        RequestError::NoTask { .. } | RequestError::NotStarted(_) => ProblemCode::TaskNotFound,
        RequestError::NotDelivered(_)
        | RequestError::MessageHeld { .. }
        | RequestError::AnswerNotTaken { .. }
        | RequestError::NotRemoved(_) => ProblemCode::NotNow,
        RequestError::Closing => ProblemCode::Stopping,
        RequestError::Journal(JournalError::Damaged(_) | JournalError::Missing { .. })
        | RequestError::Facts(ReadError::Damaged(_)) => ProblemCode::DamagedSession,
        _ => ProblemCode::Storage,
    }
}

fn tree(error: &TreeRequestError) -> ProblemCode {
    match error {
        TreeRequestError::Request(error) => request(error),
        TreeRequestError::NoTree(_)
        | TreeRequestError::NotInTree(_)
        | TreeRequestError::NothingHeld(_) => ProblemCode::NoTree,
        TreeRequestError::NoCheckpoint { .. } => ProblemCode::CheckpointNotFound,
        TreeRequestError::NotChanged(_) => ProblemCode::FileNotChanged,
        TreeRequestError::NoBranch(_) => ProblemCode::BranchNotFound,
        TreeRequestError::NoTarget | TreeRequestError::NoReviewer(_) => ProblemCode::BadInput,
        TreeRequestError::NotNow(_) => ProblemCode::NotNow,
        TreeRequestError::Commit(_) | TreeRequestError::Git(_) | TreeRequestError::Failed(_) => {
            ProblemCode::GitFailed
        }
    }
}

fn hint_for_tree(error: &TreeRequestError) -> Option<&'static str> {
    Some(match error {
        TreeRequestError::NoTree(_) => "`GET /workflows/{id}/trees` lists its trees",
        TreeRequestError::NotInTree(_) => {
            "it works in the session's folder: use git there, or give agents trees with `isolation`"
        }
        TreeRequestError::NoCheckpoint { .. } => "`…/changes` lists its checkpoints",
        TreeRequestError::NotChanged(_) => "`…/changes` lists the files that differ",
        TreeRequestError::NoTarget => "name a branch with `--into`; in a request, as `into`",
        TreeRequestError::Commit(_) => "mend it in the tree, then try again",
        _ => return None,
    })
}

fn refused(refused: &RefusalReason) -> ProblemCode {
    match refused {
        RefusalReason::NoSession => ProblemCode::WorkflowNotFound,
        RefusalReason::NoIntervention(_) => ProblemCode::AlreadyDecided,
        RefusalReason::NotAnOption { .. }
        | RefusalReason::NeedsText(_)
        | RefusalReason::Entry(_) => ProblemCode::BadDecision,
        RefusalReason::OtherDigest => ProblemCode::StaleDigest,
        RefusalReason::NoTask(_) => ProblemCode::TaskNotFound,
        _ => ProblemCode::NotNow,
    }
}

/// What to do about an agent that waits for a slot.
const QUEUED_HINT: &str = "it starts as soon as another agent ends; `coven daemon status` says how \
                           many run, and `maxAgents` in config.yaml how many may";

fn hint_for_request(error: &RequestError) -> Option<&'static str> {
    match request(error) {
        ProblemCode::Storage if matches!(error, RequestError::NotWritten { .. }) => {
            Some("`coven daemon stop --agents` ends its agents all the same")
        }
        ProblemCode::NotLive => Some("`POST /workflows/{id}/resume` lets it go on"),
        ProblemCode::ForeignSession => {
            Some("it can be read: `coven show`, `coven logs`, `coven output`, `coven events`")
        }
        ProblemCode::NoAgent if matches!(error, RequestError::Queued(_)) => Some(QUEUED_HINT),
        ProblemCode::NoAgent => Some("its output and recording can still be read"),
        _ if matches!(error, RequestError::MessageHeld { .. }) => {
            Some("`coven inbox` shows it and what can be decided about it")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use coven_model::{SessionId, TaskId};

    use super::*;

    #[test]
    fn an_error_keeps_its_text_and_gets_its_code_and_its_hint() {
        let error = ServiceError::UnknownSession { text: "x".to_owned(), closed: Vec::new() };
        let problem = error.problem();
        assert_eq!(problem.code, ProblemCode::WorkflowNotFound);
        assert_eq!(problem.detail, "no session has the id or name `x`");
        assert_eq!(problem.hint.as_deref(), Some("`GET /workflows` lists them"));
        let id = SessionId::new("0199a2b4-0000-7000-8000-000000000001").unwrap();
        let error = ServiceError::from(RequestError::Foreign(id));
        assert_eq!(error.problem().code, ProblemCode::ForeignSession);
        assert!(error.hint().is_some_and(|hint| hint.contains("coven show")));
        let task = TaskId::new("build.1").unwrap();
        let not_live = ServiceError::from(RequestError::NoAgent(task));
        assert_eq!(not_live.code(), ProblemCode::NoAgent);
    }

    #[test]
    fn text_from_outside_cannot_act_on_a_terminal() {
        let error = ServiceError::from(ExecuteError::Inputs(vec!["\u{1b}[31m".to_owned()]));
        assert!(!error.problem().detail.contains('\u{1b}'));
    }
}
