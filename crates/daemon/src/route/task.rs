//! Doing something to a task: typing, resizing, interrupting, finishing, stopping.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use coven_api::task::{ScreenSize, Typing};
use coven_api::{Code, Problem};
use coven_model::{SessionId, TaskId};
use coven_orchestrator::{Orchestrator, RequestError};
use coven_runner::AgentRunner;
use coven_terminal::keys::Key;

use crate::answer::{Done, Path, Read};
use crate::house::House;
use crate::peer::Caller;
use crate::problems;

/// The most keys of one request.
const KEYS: usize = 1000;

/// A task of a session.
struct Named {
    orchestrator: Orchestrator,
    session: SessionId,
    task: TaskId,
}

/// The task that a path names, to do something with it.
async fn named(house: &House, id: &str, task: &str) -> Result<Named, Problem> {
    let (orchestrator, session) = house.find_own(id).await?;
    Ok(Named { orchestrator, session, task: task_id(task)? })
}

/// The id of a task in a path.
pub(super) fn task_id(task: &str) -> Result<TaskId, Problem> {
    TaskId::new(task).map_err(|_| {
        let shown: String = task.chars().take(100).collect();
        let detail = format!("there is no task `{}`", coven_notation::printable(&shown));
        Problem::new(Code::TaskNotFound, detail)
    })
}

impl Named {
    /// Its agent, if it runs on a terminal.
    async fn agent(&self) -> Result<AgentRunner, Problem> {
        let asked = self.orchestrator.agent(&self.session, &self.task).await;
        match asked {
            Ok(agent) => Ok(agent),
            // Whether there is such a task at all is the better answer.
            Err(RequestError::NotLive(id)) => {
                let found = self.orchestrator.task(&self.session, &self.task).await;
                Err(match found {
                    Ok(_) => problems::request(&RequestError::NotLive(id)),
                    Err(error) => problems::request(&error),
                })
            }
            Err(error) => Err(problems::request(&error)),
        }
    }
}

/// `POST …/input`.
pub(crate) async fn input(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Path((id, task)): Path<(String, String)>,
    Read(typing): Read<Typing>,
) -> Done {
    let named = named(&house, &id, &task).await?;
    match (typing.message, typing.paste, typing.keys) {
        (Some(message), None, None) => {
            named.agent().await?;
            let sent = named
                .orchestrator
                .send(&named.session, &named.task, &message, &caller.name())
                .await;
            sent.map_err(|error| problems::request(&error))?;
        }
        (None, Some(text), None) => {
            let pasted = named.agent().await?.paste(text).await;
            pasted.map_err(|error| Problem::new(Code::NotNow, error.to_string()))?;
        }
        (None, None, Some(list)) => {
            let keys = keys(&list)?;
            named.agent().await?.keys(keys).await;
        }
        _ => {
            let detail = "exactly one of `message`, `paste` and `keys` says what is typed";
            return Err(Problem::new(Code::BadRequest, detail).into());
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Keys by name.
pub(crate) fn keys(names: &[String]) -> Result<Vec<Key>, Problem> {
    if names.is_empty() || names.len() > KEYS {
        return Err(Problem::new(Code::BadRequest, format!("`keys` has 1 to {KEYS} names")));
    }
    let key = |name: &String| {
        name.parse().map_err(|error| Problem::new(Code::BadInput, format!("{error}")))
    };
    names.iter().map(key).collect()
}

/// A size that a terminal can have.
pub(crate) fn size(size: ScreenSize) -> Result<coven_terminal::screen::Size, Problem> {
    if (2..=1000).contains(&size.cols) && (1..=1000).contains(&size.rows) {
        return Ok(coven_terminal::screen::Size::new(size.cols, size.rows));
    }
    let detail = "a terminal has 2 to 1,000 columns and 1 to 1,000 rows";
    Err(Problem::new(Code::BadRequest, detail))
}

/// `POST …/resize`.
pub(crate) async fn resize(
    State(house): State<House>,
    Path((id, task)): Path<(String, String)>,
    Read(wanted): Read<ScreenSize>,
) -> Done {
    let size = size(wanted)?;
    named(&house, &id, &task).await?.agent().await?.resize(size).await;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST …/interrupt`.
pub(super) async fn interrupt(
    State(house): State<House>,
    Path((id, task)): Path<(String, String)>,
) -> Done {
    named(&house, &id, &task).await?.agent().await?.interrupt().await;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST …/complete`.
pub(crate) async fn complete(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Path((id, task)): Path<(String, String)>,
) -> Done {
    let Named { orchestrator, session, task } = named(&house, &id, &task).await?;
    let completed = orchestrator.complete_task(&session, &task, &caller.name()).await;
    completed.map_err(|error| problems::request(&error))?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST …/stop`.
pub(super) async fn stop(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Path((id, task)): Path<(String, String)>,
) -> Done {
    let Named { orchestrator, session, task } = named(&house, &id, &task).await?;
    let stopped = orchestrator.stop_task(&session, &task, &caller.name()).await;
    stopped.map_err(|error| problems::request(&error))?;
    Ok(StatusCode::NO_CONTENT)
}
