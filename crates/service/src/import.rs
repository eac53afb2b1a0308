//! Foreign sessions: what importing one would do, and doing it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_api::system::{ForeignSession, ForeignSessions, ImportSession, ImportedSession};
use coven_model::SessionId;
use coven_orchestrator::{ImportFailed, SessionSnapshot};
use coven_store::import::{self, ImportError};
use coven_store::journal::JournalSeal;
use coven_store::{BaseDir, SealKey, SessionEntry};

use crate::base_dir::archive;
use crate::blocking::blocking;
use crate::error::ServiceError;
use crate::folder;
use crate::service::Service;
use crate::sessions::Sessions;
use crate::text::printable;
use coven_workflow::plan::PlanStep;
use coven_workflow::state::WorkflowRun;
use serde_json::Value;

/// How much of one value of a step is shown.
const MAX_VALUE_CHARS: usize = 2000;

/// How many values of one step, or of what steps are given, are shown.
const MAX_STEP_VALUES: usize = 200;

impl Service {
    /// The sessions of a folder that are not the user's own, and what importing each would do.
    /// Opens nothing.
    pub async fn foreign_sessions(
        &self,
        base_dir: Option<String>,
    ) -> Result<ForeignSessions, ServiceError> {
        let service = self.clone();
        let path =
            blocking(move || folder::to_read(service.context(), base_dir.as_deref())).await?;
        let mut found = Vec::new();
        if let Some(sessions) = self.sessions_in(&path).await? {
            for entry in sessions.list().into_iter().filter(|entry| entry.foreign) {
                let snapshot = sessions.snapshot(&entry.id).await;
                found.push(self.foreign_session(&path, entry, snapshot.ok()).await);
            }
        }
        Ok(ForeignSessions { base_dir: path.display().to_string(), sessions: found })
    }

    /// The sessions of a folder, whether it is known or not. Opens nothing.
    async fn sessions_in(&self, path: &Path) -> Result<Option<Sessions>, ServiceError> {
        match self.known_base_dir(path) {
            Some(base) => base.sessions(self.context()).await,
            None => archive(self.context(), path).await,
        }
    }

    async fn foreign_session(
        &self,
        path: &Path,
        entry: SessionEntry,
        snapshot: Option<Arc<SessionSnapshot>>,
    ) -> ForeignSession {
        let (authority, path, id) =
            (self.context().authority.clone(), path.to_owned(), entry.id.clone());
        let examined = blocking(move || {
            let base = BaseDir::find(&path).ok().flatten();
            let base = base.ok_or_else(|| "its folder is gone".to_owned());
            Ok(base.and_then(|base| {
                import::examine(&base, &authority, &id).map_err(|error| error.to_string())
            }))
        });
        let examined = examined.await.unwrap_or_else(|error: ServiceError| Err(error.to_string()));
        let mut foreign = ForeignSession {
            id: entry.id.to_string(),
            name: entry.name,
            status: entry.status.to_string(),
            seal: "none".to_owned(),
            facts: 0,
            digest: None,
            would: Vec::new(),
            problem: None,
        };
        match examined {
            Ok(journal) => {
                foreign.facts = journal.facts;
                let seal = match journal.seal {
                    JournalSeal::None => "none",
                    JournalSeal::Ours => "yours",
                    JournalSeal::Given | JournalSeal::Unknown => "other",
                };
                seal.clone_into(&mut foreign.seal);
                foreign.digest = Some(journal.digest.to_string());
            }
            Err(problem) => foreign.problem = Some(printable(&problem)),
        }
        if let Some(snapshot) = snapshot {
            foreign.status = snapshot.status().to_string();
            // Only a key that the user has vouches for what a session answers by itself.
            foreign.would = consequences(&snapshot, foreign.seal == "yours");
        }
        foreign
    }

    /// Makes a foreign session the user's own.
    pub async fn import(&self, request: ImportSession) -> Result<ImportedSession, ServiceError> {
        let unknown = || ServiceError::BadRequest("`session` is not the id of a session".into());
        let id = SessionId::new(request.session.as_str()).map_err(|_| unknown())?;
        let key = match request.key {
            Some(path) => {
                let read = blocking(move || Ok(SealKey::read(Path::new(&path)))).await?;
                Some(Arc::new(read.map_err(|error| ServiceError::BadRequest(error.to_string()))?))
            }
            None => None,
        };
        let path = self.owned(PathBuf::from(&request.base_dir)).await?;
        let orchestrator = self.orchestrator(&path).await?;
        let status =
            orchestrator.import(&id, &request.digest, key).await.map_err(|error| match error {
                ImportFailed::Journal(ImportError::Changed { .. }) => {
                    ServiceError::StaleImport(id.clone())
                }
                error => ServiceError::NotImportable(error.to_string()),
            })?;
        Ok(ImportedSession { id: id.to_string(), status: status.to_string() })
    }
}

/// What would happen if a session were the user's own.
fn consequences(snapshot: &SessionSnapshot, vouched: bool) -> Vec<String> {
    let Some(run) = snapshot.state().run() else {
        return vec!["it has no run, so nothing would happen".to_owned()];
    };
    let mut would = answers(run, vouched);
    if snapshot.status().is_final() {
        would.push("its run is over: nothing would be started".to_owned());
        return would;
    }
    for (task, _) in run.live_jobs() {
        would.push(format!(
            "`{}` was running: it is not started again, you would be asked whether to retry it",
            task.id
        ));
    }
    for asked in snapshot.interventions() {
        would.push(format!("it waits for you: {}", printable(&asked.reason)));
    }
    would.extend(given(snapshot));
    let current: BTreeSet<usize> = run.active().map(|(index, ..)| index as usize).collect();
    let steps = run.identity.plan.steps.iter().zip(run.steps.iter()).enumerate();
    for (index, (step, _)) in steps.filter(|(_, (_, state))| !state.is_over()) {
        let name = printable(&step.name);
        let verb = if current.contains(&index) { "go on" } else { "follow" };
        would.push(format!("step `{name}` would {verb}:"));
        would.extend(values(step));
    }
    would
}

/// What would be answered without a person, also in a run that is tried again.
fn answers(run: &WorkflowRun, vouched: bool) -> Vec<String> {
    let mut answers = Vec::new();
    if let Some(auto) = run.identity.auto {
        answers
            .push(format!("its questions are answered without you (`--auto {}`)", auto.as_str()));
    }
    for rule in &run.rules {
        let (command, adapter) = (printable(&rule.command), printable(&rule.adapter));
        answers.push(format!("{adapter} may run this without asking: {command}"));
    }
    if !vouched {
        for answer in &mut answers {
            answer
                .push_str(": not any more, you would be asked, unless you give its key (`--key`)");
        }
    }
    answers
}

/// What its steps would be given: the goal, the inputs and what steps before them put out.
fn given(snapshot: &SessionSnapshot) -> Vec<String> {
    let Some(view) = snapshot.view() else { return Vec::new() };
    let mut lines = Vec::new();
    flatten("goal", &view.goal.clone().into(), &mut lines);
    for (name, value) in &view.variables {
        flatten(name, value, &mut lines);
    }
    if !lines.is_empty() {
        lines.insert(0, "its steps would be given:".to_owned());
    }
    bounded(lines)
}

/// Everything that a step says, a line for each value.
fn values(step: &PlanStep) -> Vec<String> {
    let mut lines = Vec::new();
    if let Ok(value) = serde_json::to_value(step) {
        flatten("", &value, &mut lines);
    }
    bounded(lines)
}

fn bounded(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MAX_STEP_VALUES);
    lines.truncate(MAX_STEP_VALUES);
    if more > 0 {
        lines.push(format!("  and {more} more values: read its journal"));
    }
    lines
}

fn flatten(path: &str, value: &Value, lines: &mut Vec<String>) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    match value {
        Value::Null | Value::Bool(false) => {}
        // Where things stand in the definition, for messages.
        Value::Object(fields) => {
            let is_step = path.is_empty() || path.starts_with("action.steps.");
            let shown = fields.iter().filter(|(key, _)| !(is_step && *key == "places"));
            shown.for_each(|(key, value)| flatten(&below(key), value, lines));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                flatten(&below(&index.to_string()), item, lines);
            }
        }
        Value::String(text) => lines.push(format!("  {}: {}", printable(path), shortened(text))),
        other => lines.push(format!("  {}: {other}", printable(path))),
    }
}

fn shortened(text: &str) -> String {
    let short: String = text.chars().take(MAX_VALUE_CHARS).collect();
    let cut = if short.len() < text.len() { " … (cut: read its journal)" } else { "" };
    format!("{}{cut}", printable(&short))
}
