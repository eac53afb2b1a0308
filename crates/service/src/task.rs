//! Doing something to a task: typing, resizing, interrupting, finishing, stopping.

use coven_api::task::{ScreenSize, TypeRequest, TypeResponse};
use coven_model::{SessionId, TaskId};
use coven_orchestrator::{Orchestrator, RequestError};
use coven_runner::AgentRunner;
use coven_terminal::keys::KeyPress;

use crate::error::ServiceError;
use crate::find::task_id;
use crate::service::Service;
use crate::terminal::check_size;

/// The most keys of one request.
const MAX_KEYS: usize = 1000;

/// A task of a session whose base directory is open.
struct NamedTask {
    orchestrator: Orchestrator,
    session: SessionId,
    task: TaskId,
}

impl NamedTask {
    /// Its agent, if it runs on a terminal.
    async fn agent(&self) -> Result<AgentRunner, ServiceError> {
        match self.orchestrator.agent(&self.session, &self.task) {
            Ok(agent) => Ok(agent),
            Err(RequestError::NotLive(id)) => {
                // That there is no such task at all is the better answer.
                self.orchestrator.task(&self.session, &self.task).await?;
                Err(RequestError::NotLive(id).into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Service {
    async fn named_task(&self, id: &str, task: &str) -> Result<NamedTask, ServiceError> {
        let (orchestrator, session) = self.find_own(id).await?;
        Ok(NamedTask { orchestrator, session, task: task_id(task)? })
    }

    /// Types a message, a text or keys into the terminal of a task. Says whether it arrived; a
    /// message that did not yet is typed as soon as the agent takes it.
    pub async fn input(
        &self,
        id: &str,
        task: &str,
        typing: TypeRequest,
        by: &str,
    ) -> Result<TypeResponse, ServiceError> {
        let named = self.named_task(id, task).await?;
        match (typing.message, typing.paste, typing.keys) {
            (Some(message), None, None) => {
                let NamedTask { orchestrator, session, task } = named;
                let delivered = orchestrator.send(&session, &task, &message, by).await?;
                let queued = !delivered && orchestrator.is_queued(&session, &task);
                return Ok(TypeResponse { delivered, queued });
            }
            (None, Some(text), None) => {
                let pasted = named.agent().await?.paste(text).await;
                pasted.map_err(|error| ServiceError::NotTyped(error.to_string()))?;
            }
            (None, None, Some(list)) => {
                let keys = keys(&list)?;
                named.agent().await?.keys(keys).await;
            }
            _ => {
                let detail = "exactly one of `message`, `paste` and `keys` says what is typed";
                return Err(ServiceError::BadRequest(detail.to_owned()));
            }
        }
        Ok(TypeResponse { delivered: true, queued: false })
    }

    /// Gives the terminal of a task another size.
    pub async fn resize(&self, id: &str, task: &str, size: ScreenSize) -> Result<(), ServiceError> {
        let size = check_size(size.cols, size.rows)?;
        self.named_task(id, task).await?.agent().await?.resize(size).await;
        Ok(())
    }

    /// Interrupts what the agent of a task is doing. One that is starting is waited for.
    pub async fn interrupt(&self, id: &str, task: &str) -> Result<(), ServiceError> {
        let interrupted = self.named_task(id, task).await?.agent().await?.interrupt().await;
        interrupted.map_err(|error| ServiceError::NotTyped(error.to_string()))
    }

    /// Declares a task done whose agent would go on.
    pub async fn complete(&self, id: &str, task: &str, by: &str) -> Result<(), ServiceError> {
        let NamedTask { orchestrator, session, task } = self.named_task(id, task).await?;
        Ok(orchestrator.complete_task(&session, &task, by).await?)
    }

    /// Stops the process of a task.
    pub async fn stop_task(&self, id: &str, task: &str, by: &str) -> Result<(), ServiceError> {
        let NamedTask { orchestrator, session, task } = self.named_task(id, task).await?;
        Ok(orchestrator.stop_task(&session, &task, by).await?)
    }
}

fn keys(names: &[String]) -> Result<Vec<KeyPress>, ServiceError> {
    if names.is_empty() || names.len() > MAX_KEYS {
        return Err(ServiceError::BadRequest(format!("`keys` has 1 to {MAX_KEYS} names")));
    }
    let key = |name: &String| {
        name.parse::<KeyPress>().map_err(|error| ServiceError::BadInput(error.to_string()))
    };
    names.iter().map(key).collect()
}
