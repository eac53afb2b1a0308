//! Which session is meant, over all base directories: to look at it, or to do something with it.
//!
//! Only the base directory of the session itself is waited for. One that is being opened is read
//! from the disk to find out whether the session is there.

use std::path::Path;
use std::sync::Arc;

use coven_api::ProblemCode;
use coven_model::{InterventionId, SessionId, TaskId};
use coven_orchestrator::{Orchestrator, RequestError};
use coven_store::index::ResolveError;
use futures_util::future::join_all;

use crate::base_dir::BaseDirectory;
use crate::error::ServiceError;
use crate::service::Service;
use crate::sessions::Sessions;
use crate::text::excerpt;

/// A session that was found.
#[derive(Debug)]
pub(crate) struct FoundSession {
    base: Arc<BaseDirectory>,
    /// The sessions it is among.
    pub(crate) sessions: Sessions,
    pub(crate) id: SessionId,
    /// Whether it was not made by this user in its folder.
    foreign: bool,
}

impl Service {
    /// The sessions of all base directories that are known. Opens none, and has what is on the disk
    /// of those that take long to open.
    pub(crate) async fn sessions(&self) -> Vec<Sessions> {
        let context = self.context();
        let each = self.base_dirs().into_iter().map(|base| async move {
            base.wait_while_opening().await;
            base.sessions_without_waiting(context).await
        });
        join_all(each).await.into_iter().filter_map(|sessions| sessions.ok()?).collect()
    }

    /// The orchestrators of all base directories that are open. Opens none.
    pub(crate) async fn orchestrators(&self) -> Vec<Orchestrator> {
        let each = self.base_dirs().into_iter().map(|base| async move {
            base.wait_while_opening().await;
            base.now()
        });
        join_all(each).await.into_iter().flatten().collect()
    }

    /// The session that an id, the beginning of an id, or a name means; with `@` and a folder behind
    /// it, the one of that folder and no other. Opens nothing. A foreign session never takes the
    /// place of one of this user.
    pub(crate) async fn find(&self, text: &str) -> Result<FoundSession, ServiceError> {
        let mut found = match address(text) {
            (text, Some(folder)) => self.find_in(text, folder).await?,
            (text, None) => match self.find_open(text) {
                Some(found) => return Ok(found),
                None => self.find_everywhere(text).await?,
            },
        };
        let is_open = || found.base.now().is_some() || found.base.is_opening();
        if matches!(found.sessions, Sessions::Closed(_)) && is_open() {
            // A client that looks right after a restart sees the session as it runs.
            let sessions = found.base.sessions(self.context()).await?;
            found.sessions = sessions.ok_or_else(|| ServiceError::SessionGone(found.id.clone()))?;
        }
        Ok(found)
    }

    /// The user's own session with exactly this id, if its base directory is open: then no other
    /// can be meant, and no disk is read.
    fn find_open(&self, text: &str) -> Option<FoundSession> {
        let id = SessionId::new(text).ok()?;
        self.base_dirs().into_iter().find_map(|base| {
            let orchestrator = base.now()?;
            let foreign = orchestrator.entry(&id)?.foreign;
            let (sessions, id) = (Sessions::Open(orchestrator), id.clone());
            (!foreign).then_some(FoundSession { base, sessions, id, foreign })
        })
    }

    /// The session of one folder. A copy of a folder has the ids of the original, and a request that
    /// names the folder must not reach the sessions of the other.
    async fn find_in(&self, text: &str, folder: &Path) -> Result<FoundSession, ServiceError> {
        let path = self.owned(folder.to_owned()).await?;
        // One that is not known is not remembered because somebody looked at it.
        let base = self.known_base_dir(&path).unwrap_or_else(|| self.unknown_base_dir(&path));
        let unknown =
            || ServiceError::UnknownSession { text: excerpt(text, 80), closed: Vec::new() };
        let sessions = base.sessions(self.context()).await?.ok_or_else(unknown)?;
        let id = sessions.resolve(text)?;
        let foreign = sessions.entry(&id).is_none_or(|entry| entry.foreign);
        Ok(FoundSession { base, sessions, id, foreign })
    }

    async fn find_everywhere(&self, text: &str) -> Result<FoundSession, ServiceError> {
        let context = self.context();
        let each = self.base_dirs().into_iter().map(|base| async move {
            let sessions = base.sessions_without_waiting(context).await.ok()??;
            Some((base, sessions))
        });
        let mut found = Vec::new();
        for (base, sessions) in join_all(each).await.into_iter().flatten() {
            match sessions.resolve(text) {
                Ok(id) => {
                    let foreign = sessions.entry(&id).is_none_or(|entry| entry.foreign);
                    found.push(FoundSession { base, sessions, id, foreign });
                }
                Err(RequestError::Unknown(ResolveError::Unknown { .. })) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if found.iter().any(|found| !found.foreign) {
            found.retain(|found| !found.foreign);
        }
        if found.len() > 1 {
            // A whole id is never meant as the beginning of another.
            if let Some(exact) = found.iter().position(|found| found.id.as_str() == text) {
                found = vec![found.swap_remove(exact)];
            }
        }
        match found.len() {
            0 => Err(self.unknown_session(text).await),
            1 => Ok(found.swap_remove(0)),
            _ => {
                let each = found.iter().map(|found| (found.id.clone(), found.base.path().into()));
                let (text, candidates) = (excerpt(text, 80), each.collect());
                Err(ServiceError::AmbiguousSession { text, candidates })
            }
        }
    }

    /// The same to do something with it: its base directory is opened. A foreign session is
    /// refused.
    pub(crate) async fn find_own(
        &self,
        text: &str,
    ) -> Result<(Orchestrator, SessionId), ServiceError> {
        let found = self.find(text).await?;
        if found.foreign {
            return Err(RequestError::Foreign(found.id).into());
        }
        Ok((self.orchestrator(found.base.path()).await?, found.id))
    }

    /// The same to let it run more: its folder must be the user's own, as it is now. Ending and
    /// answering what runs is possible also if the folder belongs to another user by now.
    pub(crate) async fn find_to_run(
        &self,
        text: &str,
    ) -> Result<(Orchestrator, SessionId), ServiceError> {
        let (orchestrator, id) = self.find_own(text).await?;
        if let Some(entry) = orchestrator.entry(&id) {
            self.owned(entry.base_dir.to_path_buf()).await?;
        }
        Ok((orchestrator, id))
    }

    async fn unknown_session(&self, text: &str) -> ServiceError {
        let each = self.base_dirs().into_iter().map(|base| async move {
            let problem = base.problem().await;
            problem.map(|_| base.path().to_owned())
        });
        let closed = join_all(each).await.into_iter().flatten().collect();
        ServiceError::UnknownSession { text: excerpt(text, 80), closed }
    }

    /// The orchestrator that keeps the session of an intervention.
    pub(crate) async fn find_intervention(
        &self,
        id: &InterventionId,
    ) -> Result<Orchestrator, ServiceError> {
        match self.find_own(id.session().as_str()).await {
            Ok((orchestrator, _)) => Ok(orchestrator),
            Err(error) if error.code() == ProblemCode::WorkflowNotFound => {
                Err(ServiceError::InterventionOfNoSession(id.clone()))
            }
            Err(error) => Err(error),
        }
    }
}

impl FoundSession {
    /// By what it is found again, and no other.
    pub(crate) fn address(&self) -> String {
        if self.foreign {
            format!("{}@{}", self.id, self.base.path().display())
        } else {
            self.id.to_string()
        }
    }
}

/// What a request names, and the folder that it is to be in, if it says one: `ID@/FOLDER`.
fn address(text: &str) -> (&str, Option<&Path>) {
    match text.split_once("@/") {
        Some((session, folder)) => {
            (session, Some(Path::new(&text[text.len() - folder.len() - 1..])))
        }
        None => (text, None),
    }
}

/// The id of a task in a request.
pub(crate) fn task_id(task: &str) -> Result<TaskId, ServiceError> {
    TaskId::new(task).map_err(|_| ServiceError::UnknownTask(excerpt(task, 100)))
}
