//! What interfaces can ask for. Each command does what a route does, under another name.

use coven_api::catalogue::BaseDirQuery;
use coven_api::device::DeviceRole;
use coven_api::ipc::{COMMANDS, IpcAnswer, IpcCommand};
use coven_api::task::{ScreenSize, TypeRequest};
use coven_api::workflow::{ActionRequest, ListQuery, StartWorkflow};
use coven_api::{ApiProblem, ProblemCode};
use coven_service::Service;
use coven_service::text::{excerpt, near};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::answer::HttpFailure;
use crate::peer::Caller;

/// Which session is meant, and why something is wished.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfSession {
    session_id: String,
    #[serde(default)]
    why: Option<String>,
}

/// Which task is meant.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfTask {
    session_id: String,
    task_id: String,
}

/// What is typed, and to whom. Exactly one of the three.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InteractCommand {
    session_id: String,
    task_id: String,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    paste: Option<String>,
    #[serde(default)]
    keys: Option<Vec<String>>,
}

/// A new size, and of whose terminal.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResizeCommand {
    session_id: String,
    task_id: String,
    cols: u16,
    rows: u16,
}

/// Does what a command says, and answers it.
pub(super) async fn answer(service: Service, caller: Caller, command: IpcCommand) -> IpcAnswer {
    let IpcCommand { id, command, args } = command;
    match carry_out(&service, &caller, &command, args).await {
        Ok(result) => IpcAnswer { id, result: Some(result), error: None },
        Err(HttpFailure(problem)) => IpcAnswer { id, result: None, error: Some(*problem) },
    }
}

async fn carry_out(
    service: &Service,
    caller: &Caller,
    command: &str,
    args: Value,
) -> Result<Value, HttpFailure> {
    caller.may(match command {
        "adapter:list" | "session:list" | "session:load" => DeviceRole::Look,
        "task:interact" | "task:resize" => DeviceRole::Answer,
        _ => DeviceRole::Full,
    })?;
    let by = caller.name();
    match command {
        "workflow:execute" => {
            let start: StartWorkflow = read(args)?;
            let started = service.start(start, None).await?;
            Ok(json!({
                "sessionId": started.id, "name": started.name, "baseDir": started.base_dir,
            }))
        }
        "workflow:stop" => {
            let OfSession { session_id, why } = read(args)?;
            value(&service.cancel(&session_id, wish(why), &by).await?)
        }
        "task:interact" => {
            let InteractCommand { session_id, task_id, message, paste, keys } = read(args)?;
            let typing = TypeRequest { message, paste, keys };
            value(&service.input(&session_id, &task_id, typing, &by).await?)
        }
        "task:resize" => {
            let ResizeCommand { session_id, task_id, cols, rows } = read(args)?;
            service.resize(&session_id, &task_id, ScreenSize { cols, rows }).await?;
            Ok(nothing())
        }
        "task:complete" => {
            let OfTask { session_id, task_id } = read(args)?;
            service.complete(&session_id, &task_id, &by).await?;
            Ok(nothing())
        }
        "adapter:list" => {
            let query: BaseDirQuery = read(args)?;
            value(&service.adapters(query.base_dir).await?)
        }
        "session:list" => {
            let query: ListQuery = read(args)?;
            value(&service.list(&query).await?)
        }
        "session:load" => {
            let OfSession { session_id, .. } = read(args)?;
            value(&service.show(&session_id).await?)
        }
        "session:resume" => {
            let OfSession { session_id, why } = read(args)?;
            value(&service.resume(&session_id, wish(why)).await?)
        }
        "session:delete" => {
            let OfSession { session_id, .. } = read(args)?;
            service.purge(&session_id, &by).await?;
            Ok(nothing())
        }
        other => Err(unknown(other).into()),
    }
}

fn wish(why: Option<String>) -> ActionRequest {
    ActionRequest { why, ..ActionRequest::default() }
}

/// The arguments of a command. No arguments are an empty object.
fn read<T: DeserializeOwned>(args: Value) -> Result<T, ApiProblem> {
    let args = if args.is_null() { nothing() } else { args };
    serde_path_to_error::deserialize(args).map_err(|error| {
        let path = match error.path().to_string() {
            path if path == "." => String::new(),
            path => format!(" at `{path}`"),
        };
        let words = error.inner();
        ApiProblem::new(ProblemCode::BadRequest, format!("the arguments do not fit{path}: {words}"))
    })
}

fn value(answer: &impl Serialize) -> Result<Value, HttpFailure> {
    let value = serde_json::to_value(answer);
    value.map_err(|error| ApiProblem::new(ProblemCode::Internal, error.to_string()).into())
}

fn nothing() -> Value {
    Value::Object(Map::new())
}

fn unknown(command: &str) -> ApiProblem {
    let hint = match near(command, COMMANDS).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", COMMANDS.join(", ")),
    };
    ApiProblem::new(
        ProblemCode::BadRequest,
        format!("there is no command `{}`", excerpt(command, 80)),
    )
    .with_hint(hint)
}
