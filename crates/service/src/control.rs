//! Ending sessions, letting them go on, and removing them.

use coven_api::workflow::{ActionRequest, WorkflowDetails};
use coven_model::WorkflowStatus;
use coven_orchestrator::RequestError;
use coven_workflow::state::RefusalReason;

use crate::error::ServiceError;
use crate::service::Service;
use crate::sessions::Sessions;
use crate::show::shown;
use crate::start::environment;
use crate::text::printable;

/// What is said of a session that ended without its folder.
const FOLDER_GONE: &str =
    "another folder has taken the place of its own, so nothing of its end is recorded";

impl Service {
    /// Cancels a session. Cancelling it again changes nothing and is no error. One that cannot
    /// record anything at the moment is told to stop its agents, and is cancelled when it can.
    pub async fn cancel(
        &self,
        id: &str,
        wish: ActionRequest,
        by: &str,
    ) -> Result<WorkflowDetails, ServiceError> {
        let (orchestrator, id) = match self.find_own(id).await {
            Err(ServiceError::BaseDirReplaced(_)) => return self.cancel_without_folder(id).await,
            found => found?,
        };
        let waits = match orchestrator.cancel(&id, by, &wish.why.unwrap_or_default()).await {
            Ok(())
            | Err(RequestError::Refused(RefusalReason::Stopping | RefusalReason::Over(_))) => None,
            Err(RequestError::NotWritten { problem }) => Some(printable(&problem)),
            Err(error) => return Err(error.into()),
        };
        let mut details = shown(self.context(), &Sessions::Open(orchestrator), &id).await?;
        if !details.item.status.is_final() {
            details.item.waits_for_disk = details.item.waits_for_disk.or(waits);
        }
        Ok(details)
    }

    /// Cancels a session in the place of whose folder another has come, so that nothing of it can
    /// be recorded: its agents are ended, and it is forgotten.
    async fn cancel_without_folder(&self, id: &str) -> Result<WorkflowDetails, ServiceError> {
        let found = self.find(id).await?;
        let mut details = shown(self.context(), &found.sessions, &found.id).await?;
        if let Sessions::Open(orchestrator) = &found.sessions {
            orchestrator.abandon(&found.id).await;
        }
        details.item.status = WorkflowStatus::Cancelled;
        details.item.state = WorkflowStatus::Cancelled.into();
        details.live = false;
        details.item.problem = Some(FOLDER_GONE.to_owned());
        Ok(details)
    }

    /// Lets a session go on from where its journal ends.
    pub async fn resume(
        &self,
        id: &str,
        wish: ActionRequest,
    ) -> Result<WorkflowDetails, ServiceError> {
        let (orchestrator, id) = self.find_to_run(id).await?;
        let env = wish.env.map(|env| environment(Some(env))).transpose()?;
        orchestrator.resume(&id, env).await?;
        shown(self.context(), &Sessions::Open(orchestrator), &id).await
    }

    /// Tries again what failed in a session.
    pub async fn retry(
        &self,
        id: &str,
        wish: ActionRequest,
        by: &str,
    ) -> Result<WorkflowDetails, ServiceError> {
        let (orchestrator, id) = self.find_to_run(id).await?;
        let env = environment(wish.env)?;
        let sessions = Sessions::Open(orchestrator.clone());
        if shown(self.context(), &sessions, &id).await?.item.status.is_final() {
            // What is over goes on in the environment of the caller who tries again.
            orchestrator.resume(&id, Some(env)).await?;
        }
        orchestrator.retry(&id, by, &wish.why.unwrap_or_default()).await?;
        shown(self.context(), &sessions, &id).await
    }

    /// Deletes a session that is over, with everything it recorded.
    pub async fn purge(&self, id: &str, by: &str) -> Result<(), ServiceError> {
        let (orchestrator, id) = self.find_own(id).await?;
        Ok(orchestrator.purge(&id, by).await?)
    }
}
