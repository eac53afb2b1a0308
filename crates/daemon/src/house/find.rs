//! Which session is meant, over all base directories: to look at it, or to do something with it.

use std::sync::Arc;

use coven_api::{Code, Problem};
use coven_model::{InterventionId, SessionId};
use coven_orchestrator::{Orchestrator, RequestError};
use coven_store::index::ResolveError;

use super::{Base, House, Sessions, short};
use crate::problems;

/// A session that was found.
pub(crate) struct Found {
    base: Arc<Base>,
    /// The sessions it is among.
    pub(crate) sessions: Sessions,
    /// Its id.
    pub(crate) id: SessionId,
    /// Whether it was not made by this user in its folder.
    foreign: bool,
}

impl House {
    /// The session that an id, the beginning of an id, or a name means. Opens nothing. A foreign
    /// session never takes the place of one of this user.
    pub(crate) async fn find(&self, text: &str) -> Result<Found, Problem> {
        let mut found = Vec::new();
        for (base, sessions) in self.sessions().await {
            match sessions.resolve(text) {
                Ok(id) => {
                    let foreign = sessions.entry(&id).is_none_or(|entry| entry.foreign);
                    found.push(Found { base, sessions, id, foreign });
                }
                Err(RequestError::Unknown(ResolveError::Unknown { .. })) => {}
                Err(error) => return Err(problems::request(&error)),
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
            0 => Err(self.no_session(text)),
            1 => Ok(found.swap_remove(0)),
            _ => {
                let all: Vec<String> = found
                    .iter()
                    .map(|found| format!("{} in {}", found.id, found.base.path().display()))
                    .collect();
                let detail = format!("`{}` could be {}", short(text), all.join(", "));
                Err(Problem::new(Code::BadRequest, detail).with_hint("give the whole id"))
            }
        }
    }

    /// The same to do something with it: its base directory is opened. A foreign session is
    /// refused.
    pub(crate) async fn find_own(&self, text: &str) -> Result<(Orchestrator, SessionId), Problem> {
        let found = self.find(text).await?;
        if found.foreign {
            return Err(problems::request(&RequestError::Foreign(found.id)));
        }
        Ok((found.base.orchestrator(self).await?, found.id))
    }

    /// The same to let it run more: its folder must be the user's own, as it is now. Ending and
    /// answering what runs is possible whoever the folder belongs to by now.
    pub(crate) async fn find_to_run(
        &self,
        text: &str,
    ) -> Result<(Orchestrator, SessionId), Problem> {
        let (orchestrator, id) = self.find_own(text).await?;
        if let Some(entry) = orchestrator.entry(&id) {
            self.owned(&entry.base_dir)?;
        }
        Ok((orchestrator, id))
    }

    fn no_session(&self, text: &str) -> Problem {
        let text = short(text);
        let problem =
            Problem::new(Code::WorkflowNotFound, format!("no session has the id or name `{text}`"));
        let shut: Vec<String> = self
            .bases()
            .iter()
            .filter(|base| base.problem().is_some())
            .map(|base| base.path().display().to_string())
            .collect();
        if shut.is_empty() {
            problem.with_hint("`GET /workflows` lists them")
        } else {
            problem.with_hint(format!("these folders could not be opened: {}", shut.join(", ")))
        }
    }

    /// The orchestrator that keeps the session of an intervention.
    pub(crate) async fn asked(&self, id: &InterventionId) -> Result<Orchestrator, Problem> {
        match self.find_own(id.session().as_str()).await {
            Ok((orchestrator, _)) => Ok(orchestrator),
            Err(problem) if problem.code == Code::WorkflowNotFound => {
                let detail = format!("there is no intervention {id}: its session does not exist");
                Err(Problem::new(Code::InterventionNotFound, detail))
            }
            Err(problem) => Err(problem),
        }
    }
}
