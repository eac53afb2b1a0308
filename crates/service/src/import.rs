//! Foreign sessions: what importing one would do, and doing it.

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

/// How much of a command is shown.
const MAX_COMMAND_CHARS: usize = 200;

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
            foreign.would = consequences(&snapshot);
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
fn consequences(snapshot: &SessionSnapshot) -> Vec<String> {
    let Some(run) = snapshot.state().run() else {
        return vec!["it has no run, so nothing would happen".to_owned()];
    };
    // These count for a run that is tried again too.
    let mut answers = Vec::new();
    if let Some(auto) = run.identity.auto {
        answers.push(format!(
            "its questions would be answered without you (`--auto {}`)",
            auto.as_str()
        ));
    }
    for rule in &run.rules {
        let (command, adapter) = (printable(&rule.command), printable(&rule.adapter));
        answers.push(format!("{adapter} could run this without asking: {command}"));
    }
    if snapshot.status().is_final() {
        answers.push("its run is over: nothing would be started".to_owned());
        return answers;
    }
    let mut would = Vec::new();
    for (task, _) in run.live_jobs() {
        would.push(format!(
            "`{}` was running: it is not started again, you would be asked whether to retry it",
            task.id
        ));
    }
    for asked in snapshot.interventions() {
        would.push(format!("it waits for you: {}", printable(&asked.reason)));
    }
    let next = run.cursor as usize + usize::from(!would.is_empty());
    for step in run.identity.plan.steps.iter().skip(next) {
        let command = serde_json::to_value(&step.action).ok();
        let command = command.as_ref().and_then(first_command).unwrap_or_default();
        would.push(format!("step `{}` would follow{}", printable(&step.name), command));
    }
    answers.append(&mut would);
    answers
}

/// What a step runs or asks, shortened.
fn first_command(action: &serde_json::Value) -> Option<String> {
    let text = ["command", "prompt", "message"].iter().find_map(|key| find(action, key))?;
    let whole = printable(text);
    let short: String = whole.chars().take(MAX_COMMAND_CHARS).collect();
    let cut = if short.len() < whole.len() { " … (cut: read its journal)" } else { "" };
    Some(format!(": {short}{cut}"))
}

fn find<'a>(value: &'a serde_json::Value, key: &str) -> Option<&'a str> {
    let object = value.as_object()?;
    object
        .get(key)
        .and_then(serde_json::Value::as_str)
        .or_else(|| object.values().find_map(|inner| find(inner, key)))
}
