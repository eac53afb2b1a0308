//! What the client can ask for, method by method.

use std::io;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::AcpAgent;
use super::message::{RpcError, params};
use super::session::AcpSession;
use super::turn::AcpTurn;
use crate::AGENT_VERSION;
use crate::error::{Error, MAX_PROMPT};
use crate::options::{Options, PermissionMode};
use crate::session::{self, user_message};
use crate::task::PromptTask;

const PROTOCOL_VERSION: u32 = 1;

/// How a request is answered.
enum MethodReply {
    Result(Value),
    /// After the updates of a conversation that took place before.
    Replay {
        session_id: String,
        updates: Vec<Value>,
        result: Value,
    },
    /// At the end of the turn that has begun.
    Later,
}

#[derive(Deserialize)]
struct NewSessionParams {
    cwd: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoadSessionParams {
    session_id: String,
    cwd: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetModeParams {
    session_id: String,
    mode_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptParams {
    session_id: String,
    prompt: Vec<PromptBlock>,
}

/// The parts of a prompt that every agent has to understand.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum PromptBlock {
    Text { text: String },
    ResourceLink { uri: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelParams {
    session_id: String,
}

impl AcpAgent<'_> {
    pub(super) fn answer(&mut self, id: &Value, method: &str, params: Value) -> io::Result<()> {
        match self.reply(id, method, params) {
            Ok(MethodReply::Result(result)) => self.writer.respond(id, &result),
            Ok(MethodReply::Replay { session_id, updates, result }) => {
                for update in updates {
                    self.writer.update(&session_id, &update)?;
                }
                self.writer.respond(id, &result)
            }
            Ok(MethodReply::Later) => Ok(()),
            Err(error) => self.writer.refuse(id, &error),
        }
    }

    /// Notifications that are not known are for other agents.
    pub(super) fn notified(&mut self, method: &str, given: Value) -> io::Result<()> {
        if method != "session/cancel" {
            return Ok(());
        }
        match params::<CancelParams>(given) {
            Ok(CancelParams { session_id }) => {
                if self.turn.as_ref().is_some_and(|turn| turn.session.memory.id == session_id) {
                    self.cancel_turn()?;
                }
            }
            Err(error) => self.writer.note(&format!("session/cancel: {}", error.message)),
        }
        Ok(())
    }

    fn reply(&mut self, id: &Value, method: &str, given: Value) -> Result<MethodReply, RpcError> {
        let known = ["session/new", "session/load", "session/set_mode", "session/prompt"];
        if known.contains(&method) && !self.initialized {
            return Err(RpcError::new(RpcError::INVALID_REQUEST, "initialize comes first"));
        }
        match method {
            "initialize" => {
                self.initialized = true;
                Ok(MethodReply::Result(introduction()))
            }
            "session/new" => self.new_session(params(given)?),
            "session/load" => self.load_session(params(given)?),
            "session/set_mode" => self.set_mode(&params(given)?),
            "session/prompt" => self.prompt(id, params(given)?),
            _ => Err(RpcError::new(
                RpcError::METHOD_NOT_FOUND,
                format!("there is no method {method}"),
            )),
        }
    }

    fn new_session(&mut self, given: NewSessionParams) -> Result<MethodReply, RpcError> {
        let folder = working_folder(given.cwd)?;
        let memory =
            self.store.begin(None, &self.options.model).map_err(|error| internal(&error))?;
        let session_id = memory.id.clone();
        let session = AcpSession::new(memory, self.options.permissions, folder, self.store.clone());
        let result = json!({ "sessionId": session_id, "modes": session.modes() });
        self.sessions.insert(session_id, session);
        Ok(MethodReply::Result(result))
    }

    fn load_session(&mut self, given: LoadSessionParams) -> Result<MethodReply, RpcError> {
        let LoadSessionParams { session_id, cwd } = given;
        let folder = working_folder(cwd)?;
        if self.turn.as_ref().is_some_and(|turn| turn.session.memory.id == session_id) {
            return Err(busy());
        }
        let mut memory = self.store.resume(&session_id).map_err(|error| match error {
            session::Error::Unknown { .. } | session::Error::BadId { .. } => {
                RpcError::new(RpcError::RESOURCE_NOT_FOUND, error.to_string())
            }
            error => internal(&error),
        })?;
        memory.model.clone_from(&self.options.model);
        let updates = self.store.updates(&memory).map_err(|error| internal(&error))?;
        let session = AcpSession::new(memory, self.options.permissions, folder, self.store.clone());
        let result = json!({ "modes": session.modes() });
        self.sessions.insert(session_id.clone(), session);
        Ok(MethodReply::Replay { session_id, updates, result })
    }

    fn set_mode(&mut self, given: &SetModeParams) -> Result<MethodReply, RpcError> {
        let running = self.turn.as_mut().map(|turn| &mut turn.session);
        let session = running
            .filter(|session| session.memory.id == given.session_id)
            .or_else(|| self.sessions.get_mut(&given.session_id))
            .ok_or_else(|| unknown_session(&given.session_id))?;
        let level = given.mode_id.parse::<PermissionMode>();
        session.rules.set_level(level.map_err(|error| invalid(error.to_string()))?);
        Ok(MethodReply::Result(json!({})))
    }

    fn prompt(&mut self, id: &Value, given: PromptParams) -> Result<MethodReply, RpcError> {
        if self.turn.is_some() {
            return Err(busy());
        }
        let text = prompt_text(given.prompt)?;
        if !self.sessions.contains_key(&given.session_id) {
            return Err(unknown_session(&given.session_id));
        }
        let task = self.task(text)?;
        let Some(session) = self.sessions.remove(&given.session_id) else {
            return Err(unknown_session(&given.session_id));
        };
        self.store.begin_turn(&session.memory, &task.prompt);
        session.record(&user_message(&task.prompt));
        self.turn = Some(AcpTurn::new(id.clone(), task, session));
        Ok(MethodReply::Later)
    }

    /// What a prompt says to do; the directives of the command line come with the first.
    fn task(&mut self, prompt: String) -> Result<PromptTask, RpcError> {
        if std::mem::replace(&mut self.prompted, true) {
            return Ok(PromptTask::new(prompt));
        }
        let options = Options { prompt: Some(prompt.into()), ..self.options.clone() };
        let task = PromptTask::read(&options, None).map_err(|error| internal(&error))?;
        task.ok_or_else(|| invalid(Error::NoPrompt.to_string()))
    }
}

fn introduction() -> Value {
    json!({
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": { "loadSession": true },
        "agentInfo": { "name": "coven-demo", "title": "Demo agent", "version": AGENT_VERSION },
        "authMethods": [],
    })
}

fn prompt_text(blocks: Vec<PromptBlock>) -> Result<String, RpcError> {
    let texts: Vec<String> = blocks
        .into_iter()
        .map(|block| match block {
            PromptBlock::Text { text } => text,
            PromptBlock::ResourceLink { uri } => uri,
        })
        .collect();
    let text = texts.join("\n");
    if text.trim().is_empty() {
        return Err(invalid("the prompt is empty"));
    }
    if text.len() > MAX_PROMPT {
        return Err(invalid(Error::PromptTooLong.to_string()));
    }
    Ok(text)
}

fn working_folder(cwd: PathBuf) -> Result<PathBuf, RpcError> {
    if !cwd.is_absolute() || !cwd.is_dir() {
        return Err(invalid(format!(
            "cwd is not the absolute path of a folder: {}",
            cwd.display()
        )));
    }
    Ok(cwd)
}

fn unknown_session(id: &str) -> RpcError {
    RpcError::new(RpcError::RESOURCE_NOT_FOUND, format!("there is no session {id}"))
}

fn busy() -> RpcError {
    RpcError::new(RpcError::INVALID_REQUEST, "a prompt is being worked on")
}

fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(RpcError::INVALID_PARAMS, message)
}

fn internal(error: &dyn std::error::Error) -> RpcError {
    RpcError::new(RpcError::INTERNAL_ERROR, error.to_string())
}
