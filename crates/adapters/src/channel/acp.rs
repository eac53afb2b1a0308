//! The Agent Client Protocol, version 1. Observed with gemini 0.61.0, qwen 0.24.4, copilot
//! 1.0.102, opencode 1.18.33 and claude-agent-acp 0.49.0.
//!
//! | | |
//! |---|---|
//! | the handshake | `initialize`, `session/new` or `session/load`, the mode, `session/prompt` |
//! | a turn | from `session/prompt` to its response, whose `stopReason` says how it ended |
//! | it asks | `session/request_permission`; the options are the agent's own |
//! | deny with text | an option has no text: it is the next prompt, if the turn ends |
//! | interrupt | `session/cancel`, and every open request is answered with `cancelled` |
//! | other requests | qwen asks `craft/drainMidTurnQueue`; they get an error |
//! | a limit | claude-agent-acp: `errorKind: rate_limit`; copilot: the words `Error: 429 …` and `end_turn`; the others are silent |
//!
//! While a conversation is loaded the agent tells it again. Gemini goes on with that after the
//! response to `session/load`, and even after the next prompt: there a `user_message_chunk`, which
//! no agent sends for what it was just asked, begins the rest of the history, and
//! `available_commands_update` ends it.

mod calls;
mod disagreement;
mod facts;
mod permission;
mod usage;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::WrittenAnswer;
use super::event::{ChannelPhase, TurnEnding, UsageLimit};
use super::extras::{told, unknown_members};
use super::fold::{ChannelFold, ChannelSink, RefusedRequest, StepProgress, error_text};
use super::json_rpc::{MESSAGE, RpcDialect, RpcMessage, is_not_understood};
use super::order::{ChannelDecision, ChannelMessage, ChannelOrder, ChannelRefusal};
use super::plan::ModeStep;
use super::question::{RequestId, short_id};
use super::{ChannelOptions, ChannelPlan};
use crate::transcript::announced;
use crate::transcript::entry::{name, one_line};
use crate::transcript::json::JsonNode;
use crate::transcript::run::RunProgress;
use calls::ToolCalls;
use permission::AnnouncedCall;
use usage::SessionUsage;

const RPC: RpcDialect = RpcDialect::Standard;

const PROTOCOL_VERSION: u32 = 1;

/// Updates that show that an agent is at work.
const WORK: [&str; 5] =
    ["agent_message_chunk", "agent_thought_chunk", "plan", "tool_call", "tool_call_update"];

/// What copilot 1.0.102 answers at a limit, instead of an error.
const LIMIT_WORDS: &str = "Error: 429 ";

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct AcpChannel {
    session: Option<String>,
    /// The prompt whose turn runs.
    prompt: Option<RequestId>,
    /// The agent has said or done something in the turn that runs.
    #[serde(default)]
    has_begun: bool,
    /// Which setting of the session is its mode, where the agent has settings.
    mode_setting: Option<String>,
    history: HistoryReplay,
    /// The message that comes in pieces, where told.
    message: Option<String>,
    calls: ToolCalls,
    usage: SessionUsage,
}

/// Whether the agent tells what was before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum HistoryReplay {
    /// The conversation is new.
    #[default]
    None,
    /// A conversation was loaded, of which more may follow.
    Loaded,
}

impl AcpChannel {
    pub(super) fn printed(
        &mut self,
        message: JsonNode<'_>,
        bytes: usize,
        out: &mut ChannelSink<'_>,
    ) -> bool {
        match RpcMessage::read(message) {
            RpcMessage::Request { id, method: permission::METHOD, params } => {
                out.fold.replaying = false;
                self.has_begun = true;
                let call = params.get("toolCall");
                let mut question = permission::question(&id, params, self.announced(params));
                question.doubts.extend(unknown_members(message, &MESSAGE));
                self.calls.asked(call, bytes, out);
                out.ask(question, bytes);
                true
            }
            RpcMessage::Request { id, method, .. } => {
                out.refuse(id, method);
                false
            }
            RpcMessage::Notification { method: "session/update", params } => {
                let session = params.get("sessionId").str();
                // Another session of the same process is none of ours.
                let ours = self.session.is_none() || session == self.session.as_deref();
                ours && self.updated(params.get("update"), bytes, out)
            }
            RpcMessage::Result { id, result } => {
                let Some(sent) = out.take_sent(&id) else { return false };
                self.succeeded(&id, &sent, result, out);
                true
            }
            RpcMessage::Error { id, error } => {
                let Some(sent) = out.take_sent(&id) else { return false };
                self.failed(&id, &sent, error, out);
                true
            }
            RpcMessage::Notification { .. } | RpcMessage::Other => false,
        }
    }

    /// What the conversation has told of the call that a request is about.
    fn announced(&self, params: JsonNode<'_>) -> AnnouncedCall<'_> {
        let (call, session) = (params.get("toolCall"), params.get("sessionId"));
        let mut doubts = self.calls.disagreements(call);
        if self.session.is_some() && session.str() != self.session.as_deref() {
            doubts.push(told("sessionId", &session.to_value().unwrap_or_default()));
        }
        AnnouncedCall { tool: self.calls.tool(call), said: self.calls.announced(call), doubts }
    }

    fn succeeded(
        &mut self,
        id: &RequestId,
        sent: &str,
        result: JsonNode<'_>,
        out: &mut ChannelSink<'_>,
    ) {
        match sent {
            "initialize" => {
                // The version is a number that a program answers with if it does not speak ours.
                if let Some(version) = other_version(result) {
                    let what = format!(
                        "it speaks version {version} of the protocol, and Coven {PROTOCOL_VERSION}"
                    );
                    out.failed(sent, &what);
                    out.give_up(sent);
                } else {
                    out.fold.hello = StepProgress::Done;
                    self.usage.agent(result.get("agentInfo"));
                }
            }
            "session/new" | "session/load" => {
                self.calls.turn_ended(out);
                out.fold.replaying = false;
                out.fold.session = StepProgress::Done;
                self.session = short_id(result.get("sessionId")).or(self.session.take());
                self.settings(result, out);
                let session = self.session.clone();
                out.items(|items| items.session(session.as_deref(), None));
                match session {
                    Some(_) => out.ready(sent),
                    None => out.give_up(sent),
                }
            }
            "session/set_mode" | "session/set_config_option" => out.mode_answered(true, sent),
            "session/prompt" if self.prompt.as_ref() == Some(id) => self.ended(result, out),
            _ => {}
        }
    }

    /// Reads which modes there are, and which one is set.
    fn settings(&mut self, result: JsonNode<'_>, out: &mut ChannelSink<'_>) {
        let mut settings = result.get("configOptions").items();
        let setting = settings.find(|setting| setting.get("category").str() == Some("mode"));
        if let Some(setting) = setting {
            self.mode_setting = short_id(setting.get("id"));
        }
        let current = setting.and_then(|setting| setting.get("currentValue").str());
        if let Some(mode) = current.or(result.get("modes").get("currentModeId").str()) {
            out.mode(mode);
        }
    }

    fn ended(&mut self, result: JsonNode<'_>, out: &mut ChannelSink<'_>) {
        self.prompt = None;
        self.calls.turn_ended(out);
        if std::mem::take(&mut out.fold.replaying) {
            // The end of the history was not told: what followed the last question is the answer.
            out.fold.run.answer = std::mem::take(&mut out.fold.history.answer);
        }
        self.usage.turn_ended(result, out);
        let answer = out.fold.run.answer.text.as_ref().map_or("", |answer| &answer.text);
        let ending = match result.get("stopReason").str() {
            Some("end_turn") if answer.starts_with(LIMIT_WORDS) => {
                let text = one_line(answer);
                out.limit(UsageLimit { until: None, scope: None, text: text.clone() });
                TurnEnding::Failed { error: text }
            }
            Some("end_turn") => TurnEnding::Completed,
            Some("cancelled") => TurnEnding::Interrupted,
            Some(reason) => TurnEnding::Failed { error: one_line(reason) },
            None => TurnEnding::Failed { error: "its end could not be read".to_owned() },
        };
        out.idle("session/prompt", ending);
    }

    fn failed(
        &mut self,
        id: &RequestId,
        sent: &str,
        error: JsonNode<'_>,
        out: &mut ChannelSink<'_>,
    ) {
        let text = error_text(error);
        let is_prompt = sent == "session/prompt" && self.prompt.as_ref() == Some(id);
        if is_prompt && !self.has_begun && is_not_understood(error) {
            self.prompt = None;
            return out.not_taken(sent, &text);
        }
        if error.get("data").get("errorKind").str() == Some("rate_limit") {
            out.limit(UsageLimit { until: None, scope: None, text: text.clone() });
        }
        out.failed(sent, &text);
        match sent {
            "initialize" | "session/new" | "session/load" => out.give_up(sent),
            "session/set_mode" | "session/set_config_option" => out.mode_answered(false, sent),
            "session/prompt" if is_prompt => {
                self.prompt = None;
                self.calls.turn_ended(out);
                out.idle(sent, TurnEnding::Failed { error: text });
            }
            _ => {}
        }
    }

    fn updated(&mut self, update: JsonNode<'_>, bytes: usize, out: &mut ChannelSink<'_>) -> bool {
        let text = update.get("content").get("text").str();
        let told = update.get("sessionUpdate").str();
        self.has_begun |= !out.fold.replaying && told.is_some_and(|told| WORK.contains(&told));
        match told {
            Some("agent_message_chunk") => {
                self.usage.piece(update, out);
                let Some(text) = text else { return false };
                let message = update.get("messageId").str().map(name);
                let continues = self.message == message;
                self.message = message;
                out.items(|items| {
                    if !continues {
                        items.end_message();
                    }
                    if !text.is_empty() {
                        items.say_piece(text);
                    }
                });
            }
            Some("agent_thought_chunk") => match text {
                Some(text) => out.items(|items| items.add_thought_piece(text)),
                None => return false,
            },
            // What was asked is not news. After a load it is the history.
            Some("user_message_chunk") => {
                if self.history == HistoryReplay::Loaded {
                    out.fold.replaying = true;
                    out.fold.history = RunProgress::default();
                }
            }
            Some("available_commands_update") => {
                if out.fold.session == StepProgress::Done {
                    out.fold.replaying = false;
                }
            }
            Some("tool_call" | "tool_call_update") => self.calls.told(update, bytes, out),
            Some("plan") => match announced::plan(update.get("entries")) {
                Some(plan) => out.items(|items| items.note(plan)),
                None => return update.get("entries").exists(),
            },
            Some("usage_update") => self.usage.updated(update),
            Some("current_mode_update") => match update.get("currentModeId").str() {
                Some(mode) => out.mode(mode),
                None => return false,
            },
            Some("config_option_update") => self.settings(update, out),
            Some("session_info_update") => {}
            _ => return false,
        }
        true
    }

    /// Folds a message that was written to the agent.
    pub(super) fn written(&mut self, message: JsonNode<'_>, out: &mut ChannelSink<'_>) -> bool {
        match RpcMessage::read(message) {
            RpcMessage::Request { id, method, params } => {
                match method {
                    "initialize" => out.fold.hello = StepProgress::Said,
                    "session/new" | "session/load" => {
                        out.fold.hello = StepProgress::Done;
                        out.fold.session = StepProgress::Said;
                        self.session = short_id(params.get("sessionId"));
                        if method == "session/load" {
                            self.history = HistoryReplay::Loaded;
                            out.fold.replaying = true;
                        }
                    }
                    "session/set_mode" => out.asked_for_mode(params.get("modeId").str()),
                    "session/set_config_option" => out.asked_for_mode(params.get("value").str()),
                    "session/prompt" => {
                        out.prompted(&params.get("prompt").readable_text(), method);
                        self.session = short_id(params.get("sessionId"));
                        self.prompt = Some(id.clone());
                        self.has_begun = false;
                        self.message = None;
                    }
                    _ => {}
                }
                out.sent(id, method);
                true
            }
            RpcMessage::Notification { method, .. } => method == "session/cancel",
            RpcMessage::Result { id, result } => {
                out.answered(&id, &permission::written_answer(result))
            }
            RpcMessage::Error { id, .. } => out.answered(&id, &WrittenAnswer::Refused),
            RpcMessage::Other => false,
        }
    }

    pub(super) fn due(&self, fold: &ChannelFold, plan: &ChannelPlan) -> Option<Vec<u8>> {
        let number = fold.next_number();
        match (fold.hello, fold.session) {
            (StepProgress::Unsaid, _) => {
                let params = json!({
                    "protocolVersion": PROTOCOL_VERSION,
                    // The agent works on files and runs commands itself.
                    "clientCapabilities": {
                        "fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false,
                    },
                    "clientInfo": {"name": "coven", "version": plan.client_version},
                });
                Some(RPC.request(number, "initialize", &params))
            }
            (StepProgress::Said, _) | (_, StepProgress::Said) => None,
            (StepProgress::Done, StepProgress::Unsaid) => {
                let mut params = json!({"cwd": plan.cwd, "mcpServers": []});
                let method = match &plan.resume {
                    Some(session) => {
                        params["sessionId"] = session.as_str().into();
                        "session/load"
                    }
                    None => "session/new",
                };
                Some(RPC.request(number, method, &params))
            }
            (StepProgress::Done, StepProgress::Done) => match plan.mode_due(fold) {
                ModeStep::Due(mode) => self.set_mode(number, mode).ok(),
                ModeStep::Asked => None,
                ModeStep::Settled => self.turn_start(number, plan.prompt_due(fold)?).ok(),
            },
        }
    }

    pub(super) fn say(
        &self,
        fold: &ChannelFold,
        order: &ChannelOrder,
        options: &ChannelOptions,
    ) -> Result<ChannelMessage, ChannelRefusal> {
        let number = fold.next_number();
        match order {
            ChannelOrder::Prompt { text } => {
                fold.ready_for_prompt()?;
                Ok(self.turn_start(number, text)?.into())
            }
            ChannelOrder::Interrupt if fold.phase() != ChannelPhase::Working => {
                Err(ChannelRefusal::NoTurn)
            }
            ChannelOrder::Interrupt => {
                let params = json!({"sessionId": self.session()?});
                let mut bytes = RPC.notification("session/cancel", Some(&params));
                for question in fold.open() {
                    let cancelled = json!({"outcome": {"outcome": "cancelled"}});
                    bytes.extend(RPC.result(&question.request, &cancelled));
                }
                Ok(bytes.into())
            }
            ChannelOrder::SetMode { mode } => Ok(self.set_mode(number, mode)?.into()),
            ChannelOrder::Answer { request, decision } => {
                let question = fold.question(request)?;
                let answer = permission::answer(question, decision, options)?;
                let next_prompt = match decision {
                    ChannelDecision::Deny { text } => text.clone(),
                    _ => None,
                };
                Ok(ChannelMessage { bytes: RPC.result(request, &answer), next_prompt })
            }
        }
    }

    fn session(&self) -> Result<&str, ChannelRefusal> {
        self.session.as_deref().ok_or(ChannelRefusal::NotReady)
    }

    fn turn_start(&self, number: u64, text: &str) -> Result<Vec<u8>, ChannelRefusal> {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": self.session()?, "prompt": prompt});
        Ok(RPC.request(number, "session/prompt", &params))
    }

    fn set_mode(&self, number: u64, mode: &str) -> Result<Vec<u8>, ChannelRefusal> {
        let session = self.session()?;
        let (method, params): (_, Value) = match &self.mode_setting {
            Some(setting) => (
                "session/set_config_option",
                json!({"sessionId": session, "configId": setting, "value": mode}),
            ),
            None => ("session/set_mode", json!({"sessionId": session, "modeId": mode})),
        };
        Ok(RPC.request(number, method, &params))
    }
}

/// The version that an agent wants to speak, if it is another than ours.
fn other_version(result: JsonNode<'_>) -> Option<String> {
    let version = result.get("protocolVersion").to_value().filter(|version| !version.is_null())?;
    (version != json!(PROTOCOL_VERSION)).then(|| version.to_string())
}

pub(super) fn refusal(refused: &RefusedRequest) -> Vec<u8> {
    RPC.error(&refused.id, &refused.words())
}
