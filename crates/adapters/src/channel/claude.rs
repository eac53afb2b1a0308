//! Claude Code's `stream-json` in both directions, with `--permission-prompt-tool stdio`.
//! Observed with 2.1.325.
//!
//! | | |
//! |---|---|
//! | a turn begins | `system/init`, repeated for every turn; or the `user` message that was written |
//! | it asks | `control_request` `can_use_tool`; a question with answers is the tool `AskUserQuestion` |
//! | deny with text | `behavior: deny, message`: the turn goes on and the model reads the text |
//! | always | `updatedPermissions` is accepted, and the next identical command is asked about all the same: it is never sent |
//! | a turn ends | `result`; `terminal_reason` begins with `aborted` after an interrupt, and `subtype` may be `success` beside `is_error: true` |
//! | a limit | `rate_limit_event` with the time, then an `assistant` message with `error: rate_limit` and the words; with an API key only the latter |
//! | a subagent | what it says and does has `parent_tool_use_id`; its request has `agent_id`, and the id of its call: not observed here, by the types of the Agent SDK |
//!
//! A question is over without an answer when a `tool_result` for its call arrives: that happens
//! when standard input is closed, which Coven does not do while a question is open.
//! `control_cancel_request` is handled as the Agent SDK does; it was not observed.

use std::path::{Component, Path};

use coven_model::{AwaitingKind, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::announced_calls::AnnouncedCalls;
use super::answer::WrittenAnswer;
use super::event::{TurnEnding, UsageLimit};
use super::extras::{is_nothing, told, unknown_members};
use super::fold::{ChannelFold, ChannelSink, RefusedRequest, StepProgress};
use super::json_rpc::json_line;
use super::order::{ChannelDecision, ChannelMessage, ChannelOrder, ChannelRefusal};
use super::plan::ModeStep;
use super::question::{
    AnswerOption, AskedQuestion, ChannelQuestion, KnownDigest, OptionEffect, RequestId, short_id,
};
use super::{ChannelKind, ChannelPlan};
use crate::channel::event::ChannelPhase;
use crate::transcript::claude::{ClaudeReader, ClaudeVariant, wanted};
use crate::transcript::entry::{name, one_line, visible_line};
use crate::transcript::json::JsonNode;
use crate::transcript::run::TurnEnd;

const QUESTION_TOOL: &str = "AskUserQuestion";

/// Longest path of a folder that is remembered.
const MAX_PATH_BYTES: usize = 4096;

/// What a request has, and what it says of what it asks. What may say another thing than the tool
/// and its input, such as the id of a conversation, is compared.
const MESSAGE: [&str; 5] = ["parent_tool_use_id", "request", "request_id", "session_id", "type"];
const REQUEST: [&str; 12] = [
    "agent_id",
    "blocked_path",
    "description",
    "display_name",
    "input",
    "permission_suggestions",
    "requires_user_interaction",
    "server_policy_ask_only",
    "session_id",
    "subtype",
    "tool_name",
    "tool_use_id",
];

/// What the model is told of a denial without a reason.
const DENIED: &str = "The user denied this.";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ClaudeChannel {
    reader: ClaudeReader,
    /// The window that was told to be used up, until the turn ends.
    window: Option<LimitWindow>,
    #[serde(default)]
    calls: AnnouncedCalls,
    /// The folder in which it says it works.
    #[serde(default)]
    folder: Option<String>,
    /// The conversation that it says it has begun or goes on with.
    #[serde(default)]
    session: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct LimitWindow {
    until: Option<Timestamp>,
    scope: Option<String>,
}

impl ClaudeChannel {
    pub(super) fn new() -> Self {
        Self {
            reader: ClaudeReader::new(ClaudeVariant::Claude),
            window: None,
            calls: AnnouncedCalls::default(),
            folder: None,
            session: None,
        }
    }

    /// Folds a message of the agent; false if it was not understood.
    pub(super) fn printed(
        &mut self,
        message: JsonNode<'_>,
        bytes: usize,
        out: &mut ChannelSink<'_>,
    ) -> bool {
        match message.get("type").str() {
            Some("assistant") => return self.said(message, out),
            Some("user") => return self.returned(message, out),
            Some("system") => return self.system(message, out),
            Some("control_request") => return self.asked(message, bytes, out),
            Some("control_response") => return responded(message.get("response"), out),
            Some("control_cancel_request") => {
                let id = RequestId::read(message.get("request_id"));
                out.resolve_where(|question| Some(&question.request) == id.as_ref());
            }
            Some("keep_alive") => {}
            Some("rate_limit_event") => {
                let info = message.get("rate_limit_info");
                if info.get("status").str() == Some("rejected") {
                    self.window = Some(window(info));
                }
            }
            // Another conversation of the same program does not end the turn of ours.
            Some("result") if self.is_other_session(message.get("session_id")) => return false,
            Some("result") => self.ended(message, out),
            _ => return out.items(|items| self.reader.event(message, items)),
        }
        true
    }

    fn system(&mut self, message: JsonNode<'_>, out: &mut ChannelSink<'_>) -> bool {
        let subtype = message.get("subtype").str();
        if let (Some("init" | "status"), Some(mode)) =
            (subtype, message.get("permissionMode").str())
        {
            out.mode(mode);
        }
        if subtype == Some("init") {
            let folder = message.get("cwd").str().filter(|path| path.len() <= MAX_PATH_BYTES);
            self.folder = folder.map(str::to_owned);
            self.session = short_id(message.get("session_id"));
            out.working("system/init");
        }
        out.items(|items| self.reader.event(message, items)) || subtype == Some("status")
    }

    fn said(&mut self, message: JsonNode<'_>, out: &mut ChannelSink<'_>) -> bool {
        let known = out.items(|items| self.reader.event(message, items));
        for part in message.get("message").get("content").items() {
            if part.get("type").str() == Some("tool_use") {
                self.calls.announce(part.get("id"), part.get("name").str(), part.get("input"));
            }
        }
        if message.get("error").str() == Some("rate_limit") {
            let info = message.get("api_error_params").get("rate_limit_info");
            let told = self.window.take().unwrap_or_else(|| window(info));
            let text = one_line(&message.get("message").get("content").readable_text());
            out.limit(UsageLimit { until: told.until, scope: told.scope, text });
        }
        known
    }

    /// A tool returned: a question about its use is over.
    fn returned(&mut self, message: JsonNode<'_>, out: &mut ChannelSink<'_>) -> bool {
        let known = out.items(|items| self.reader.event(message, items));
        for part in message.get("message").get("content").items() {
            let call = part.get("tool_use_id").str();
            self.calls.returned(call);
            if out.fold.has_open() {
                out.resolve_where(|question| call.is_some() && question.call.as_deref() == call);
            }
        }
        known
    }

    fn ended(&mut self, message: JsonNode<'_>, out: &mut ChannelSink<'_>) {
        self.window = None;
        self.calls.clear();
        out.items(|items| self.reader.event(message, items));
        let reason = message.get("terminal_reason").str().unwrap_or_default();
        let ending = match &out.fold.run.end {
            TurnEnd::Succeeded => TurnEnding::Completed,
            _ if reason.starts_with("aborted") => TurnEnding::Interrupted,
            TurnEnd::Failed(Some(error)) => TurnEnding::Failed { error: error.clone() },
            _ => TurnEnding::Failed { error: "it does not say why".to_owned() },
        };
        out.idle("result", ending);
        if message.get("queued_turn_count").count().is_some_and(|queued| queued > 0) {
            out.working("result");
        }
    }

    fn asked(&self, message: JsonNode<'_>, bytes: usize, out: &mut ChannelSink<'_>) -> bool {
        let Some(id) = RequestId::read(message.get("request_id")) else { return false };
        let request = message.get("request");
        let subtype = request.get("subtype").str().unwrap_or_default();
        let tool = request.get("tool_name").str();
        let (Some(tool), "can_use_tool") = (tool, subtype) else {
            out.refuse(id, subtype);
            return false;
        };
        let input = request.get("input");
        let questions = if tool == QUESTION_TOOL { questions(input) } else { Vec::new() };
        let kind =
            if questions.is_empty() { AwaitingKind::Approval } else { AwaitingKind::Question };
        let described = request.get("description").str().filter(|text| !text.is_empty());
        let first = questions.first().map(|question| question.text.as_str());
        let text = first.or(described).map_or_else(|| wanted(input), str::to_owned);
        let command = input.get("command").str().filter(|_| tool == "Bash").map(str::to_owned);
        let option = |id: &str, label: &str, effect| AnswerOption {
            id: id.to_owned(),
            label: label.to_owned(),
            effect,
        };
        out.ask(
            ChannelQuestion {
                channel: ChannelKind::ClaudeStdio,
                request: id,
                message: subtype.to_owned(),
                kind,
                tool: name(tool),
                input: input.to_value().unwrap_or_default(),
                command,
                text: visible_line(&text),
                call: short_id(request.get("tool_use_id")),
                by: self.asker(message),
                options: vec![
                    option("allow", "Allow", OptionEffect::AllowOnce),
                    option("deny", "Deny", OptionEffect::RejectOnce),
                ],
                questions,
                doubts: self.doubts(message, kind),
                place: 0,
                known_digest: KnownDigest::default(),
            },
            bytes,
        );
        true
    }

    /// The subagent that asks, if it is one.
    fn asker(&self, message: JsonNode<'_>) -> Option<String> {
        let request = message.get("request");
        let call = request.get("tool_use_id").str();
        let (parent, agent) = (message.get("parent_tool_use_id"), request.get("agent_id"));
        self.reader.subagents().caller(parent.str(), call, agent.str())
    }

    /// What speaks against a request: it is for a person alone, it is about another call than was
    /// announced, or about a path outside of the folder.
    fn doubts(&self, message: JsonNode<'_>, kind: AwaitingKind) -> Vec<String> {
        let request = message.get("request");
        let (id, tool) = (request.get("tool_use_id"), request.get("tool_name").str());
        let announced = self.calls.disagreements("tool_use_id", id, tool, request.get("input"));
        let blocked = request.get("blocked_path");
        let is_outside = blocked.exists() && !is_within(blocked.str(), self.folder.as_deref());
        let blocked = blocked.to_value().filter(|path| is_outside && !is_nothing(path));
        let blocked = blocked.map(|path| told("blocked_path", &path));
        let mut found = for_person(request, kind);
        found.extend(announced.into_iter().chain(blocked));
        found.extend(unknown_members(message, &MESSAGE));
        found.extend(unknown_members(request, &REQUEST));
        found.extend(self.other_names(message));
        found
    }

    /// What a request calls itself that is not what it is: the conversation, the tool, a helper that
    /// nobody has begun.
    fn other_names(&self, message: JsonNode<'_>) -> Vec<String> {
        let request = message.get("request");
        let tell = |name: &str, node: JsonNode<'_>| {
            let value = node.to_value().filter(|value| !is_nothing(value))?;
            Some(told(name, &value))
        };
        let sessions = [message, request].map(|node| node.get("session_id"));
        let sessions = sessions.into_iter().filter(|id| self.is_other_session(*id));
        let shown = request.get("display_name");
        let is_other_tool = shown.str() != request.get("tool_name").str();
        let (agent, call) = (request.get("agent_id"), request.get("tool_use_id"));
        let parent = message.get("parent_tool_use_id");
        let is_ours = self.reader.subagents().caller(parent.str(), call.str(), None).is_some()
            || agent.str().is_some_and(|agent| self.reader.subagents().is_known(agent));
        let names = sessions.filter_map(|id| tell("session_id", id));
        let tool = Some(shown).filter(|_| is_other_tool);
        let agent = Some(agent).filter(|_| !is_ours);
        names
            .chain(tool.and_then(|tool| tell("display_name", tool)))
            .chain(agent.and_then(|agent| tell("agent_id", agent)))
            .collect()
    }

    /// Whether this is the id of another conversation than the one that was begun.
    fn is_other_session(&self, id: JsonNode<'_>) -> bool {
        id.exists() && self.session.is_some() && id.str() != self.session.as_deref()
    }

    pub(super) fn due(fold: &ChannelFold, plan: &ChannelPlan) -> Option<Vec<u8>> {
        match fold.hello {
            StepProgress::Unsaid => {
                return Some(control(fold, &json!({"subtype": "initialize"})));
            }
            StepProgress::Said => return None,
            StepProgress::Done => {}
        }
        match plan.mode_due(fold) {
            ModeStep::Due(mode) => Some(set_mode(fold, mode)),
            ModeStep::Asked => None,
            ModeStep::Settled => plan.prompt_due(fold).map(prompt),
        }
    }
}

/// Folds a message that was written to the agent; false if it was not understood.
pub(super) fn written(message: JsonNode<'_>, out: &mut ChannelSink<'_>) -> bool {
    match message.get("type").str() {
        Some("user") => {
            out.prompted(&message.get("message").get("content").readable_text(), "user");
        }
        Some("control_request") => {
            let Some(id) = RequestId::read(message.get("request_id")) else { return false };
            let request = message.get("request");
            let subtype = request.get("subtype").str().unwrap_or_default();
            match subtype {
                "initialize" => out.fold.hello = StepProgress::Said,
                "set_permission_mode" => out.asked_for_mode(request.get("mode").str()),
                _ => {}
            }
            out.sent(id, subtype);
        }
        Some("control_response") => {
            let response = message.get("response");
            let id = RequestId::read(response.get("request_id"));
            return id.is_some_and(|id| out.answered(&id, &written_answer(response)));
        }
        _ => return false,
    }
    true
}

pub(super) fn say(
    fold: &ChannelFold,
    order: &ChannelOrder,
) -> Result<ChannelMessage, ChannelRefusal> {
    let bytes = match order {
        ChannelOrder::Prompt { text } => {
            fold.ready_for_prompt()?;
            prompt(text)
        }
        ChannelOrder::Interrupt if fold.phase() != ChannelPhase::Working => {
            return Err(ChannelRefusal::NoTurn);
        }
        ChannelOrder::Interrupt => control(fold, &json!({"subtype": "interrupt"})),
        ChannelOrder::SetMode { mode } => set_mode(fold, mode),
        ChannelOrder::Answer { request, decision } => {
            let question = fold.question(request)?;
            response(request, &answer(question, decision)?)
        }
    };
    Ok(bytes.into())
}

pub(super) fn refusal(refused: &RefusedRequest) -> Vec<u8> {
    let error = refused.words();
    control_response(&refused.id, "error", ("error", &error.into()))
}

fn prompt(text: &str) -> Vec<u8> {
    json_line(&json!({"type": "user", "message": {"role": "user", "content": text}}))
}

fn set_mode(fold: &ChannelFold, mode: &str) -> Vec<u8> {
    control(fold, &json!({"subtype": "set_permission_mode", "mode": mode}))
}

fn control(fold: &ChannelFold, request: &Value) -> Vec<u8> {
    let id = format!("coven-{}", fold.next_number());
    json_line(&json!({"type": "control_request", "request_id": id, "request": request}))
}

fn response(request: &RequestId, response: &Value) -> Vec<u8> {
    control_response(request, "success", ("response", response))
}

/// An answer under the id as the request has it, which may be no value that could be kept as one.
fn control_response(id: &RequestId, subtype: &str, (name, value): (&str, &Value)) -> Vec<u8> {
    let response =
        format!("{{\"request_id\":{},\"{name}\":{value},\"subtype\":\"{subtype}\"}}", id.json());
    format!("{{\"response\":{response},\"type\":\"control_response\"}}\n").into_bytes()
}

fn answer(question: &ChannelQuestion, decision: &ChannelDecision) -> Result<Value, ChannelRefusal> {
    let mut input = question.input.clone();
    match decision {
        ChannelDecision::Deny { text } => {
            let text = text.as_deref().unwrap_or(DENIED);
            return Ok(json!({"behavior": "deny", "message": text}));
        }
        ChannelDecision::Approve if question.questions.is_empty() => {}
        ChannelDecision::Approve => {
            let question = question.questions[0].text.clone();
            return Err(ChannelRefusal::MissingAnswer { question });
        }
        ChannelDecision::Choose { .. } if question.questions.is_empty() => {
            let answer = "an answer in words".to_owned();
            return Err(ChannelRefusal::NotOffered { answer });
        }
        ChannelDecision::Choose { answers } => {
            input["answers"] = Value::Object(question.answered_in_text(answers)?);
        }
    }
    Ok(json!({"behavior": "allow", "updatedInput": input}))
}

/// What was answered, from the message that was written.
fn written_answer(response: JsonNode<'_>) -> WrittenAnswer<'_> {
    if response.get("subtype").str() != Some("success") {
        return WrittenAnswer::Refused;
    }
    let said = response.get("response");
    let answers = said.get("updatedInput").get("answers");
    match said.get("behavior").str() {
        Some("allow") if answers.exists() => WrittenAnswer::Answers(answers),
        Some("allow") => WrittenAnswer::Approved,
        _ => {
            WrittenAnswer::Denied { text: said.get("message").str().filter(|text| *text != DENIED) }
        }
    }
}

/// What Claude says of a request that is for a person alone.
fn for_person(request: JsonNode<'_>, kind: AwaitingKind) -> Vec<String> {
    let only_person: &[&str] = match kind {
        AwaitingKind::Question => &["server_policy_ask_only"],
        _ => &["server_policy_ask_only", "requires_user_interaction"],
    };
    let is_set =
        |field: &&&str| request.get(field).to_value().is_some_and(|value| !is_nothing(&value));
    only_person.iter().filter(is_set).map(|field| format!("{field}: true")).collect()
}

/// Whether a path lies in a folder, as far as their names say.
fn is_within(path: Option<&str>, folder: Option<&str>) -> bool {
    let (Some(path), Some(folder)) = (path, folder) else { return false };
    let (path, folder) = (Path::new(path), Path::new(folder));
    let climbs = path.components().any(|part| part == Component::ParentDir);
    !climbs && (path.is_relative() || path.starts_with(folder))
}

fn questions(input: JsonNode<'_>) -> Vec<AskedQuestion> {
    let read = |question: JsonNode<'_>| {
        let text = question.get("question").str()?.to_owned();
        Some(AskedQuestion::with_labels(text.clone(), text, question))
    };
    input.get("questions").items().filter_map(read).collect()
}

fn responded(response: JsonNode<'_>, out: &mut ChannelSink<'_>) -> bool {
    let id = RequestId::read(response.get("request_id"));
    let Some(message) = id.and_then(|id| out.take_sent(&id)) else { return false };
    let ok = response.get("subtype").str() == Some("success");
    if !ok {
        out.failed(&message, &response.get("error").readable_text());
    }
    match (message.as_str(), ok) {
        ("initialize", true) => {
            out.fold.hello = StepProgress::Done;
            if let Some(mode) = response.get("response").get("current_permission_mode").str() {
                out.mode(mode);
            }
            out.ready("initialize");
        }
        ("initialize", false) => out.give_up(&message),
        ("set_permission_mode", ok) => out.mode_answered(ok, &message),
        _ => {}
    }
    true
}

fn window(info: JsonNode<'_>) -> LimitWindow {
    let seconds = info.get("resetsAt").count();
    LimitWindow {
        until: seconds.map(|seconds| Timestamp::from_millis(seconds.saturating_mul(1000))),
        scope: info.get("rateLimitType").str().map(name),
    }
}
