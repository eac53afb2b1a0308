//! Ending sessions, letting them go on, and removing them.

use coven_api::workflow::{ActionRequest, WorkflowDetails};
use coven_orchestrator::RequestError;
use coven_workflow::state::RefusalReason;

use crate::error::ServiceError;
use crate::service::Service;
use crate::sessions::Sessions;
use crate::show::shown;
use crate::start::environment;

impl Service {
    /// Cancels a session. Cancelling it again changes nothing and is no error.
    pub async fn cancel(
        &self,
        id: &str,
        wish: ActionRequest,
        by: &str,
    ) -> Result<WorkflowDetails, ServiceError> {
        let (orchestrator, id) = self.find_own(id).await?;
        match orchestrator.cancel(&id, by, &wish.why.unwrap_or_default()).await {
            Ok(())
            | Err(RequestError::Refused(RefusalReason::Stopping | RefusalReason::Over(_))) => {}
            Err(error) => return Err(error.into()),
        }
        shown(&Sessions::Open(orchestrator), &id).await
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
        shown(&Sessions::Open(orchestrator), &id).await
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
        if shown(&sessions, &id).await?.item.status.is_final() {
            // What is over goes on in the environment of the caller who tries again.
            orchestrator.resume(&id, Some(env)).await?;
        }
        orchestrator.retry(&id, by, &wish.why.unwrap_or_default()).await?;
        shown(&sessions, &id).await
    }

    /// Deletes a session that is over, with everything it recorded.
    pub async fn purge(&self, id: &str, by: &str) -> Result<(), ServiceError> {
        let (orchestrator, id) = self.find_own(id).await?;
        Ok(orchestrator.purge(&id, by).await?)
    }
}
