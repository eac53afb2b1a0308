//! `codex app-server` on standard input and output. Observed with 0.166.0; requests and fields
//! that were not observed are those of its published schema.
//!
//! | | |
//! |---|---|
//! | the handshake | `initialize`, `initialized`, `thread/start` or `thread/resume`, `turn/start` |
//! | a turn | `turn/started` to `turn/completed`; its id is the newest one, which an interrupt must name |
//! | it asks | `item/…/requestApproval`, `item/tool/requestUserInput`, `mcpServer/elicitation/request` |
//! | deny with text | `decline` has no text; the turn goes on, and `turn/steer` adds the text to it |
//! | always | `acceptForSession` works though it is not offered: it is never sent |
//! | a question is over | our answer, `serverRequest/resolved`, or the end of the turn |
//! | a limit | `codexErrorInfo: usageLimitExceeded`; the time is in `account/rateLimits/updated` before it |
//!
//! After a kill the thread can be resumed, and the question is not asked again. A mode is the
//! sandbox with the approval policy, `workspace-write/on-request`; it is chosen when a thread
//! begins and cannot be changed here later.

mod approval;
mod items;

use coven_model::{Timestamp, TokenUsage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ChannelPlan;
use super::answer::WrittenAnswer;
use super::event::{ChannelPhase, TurnEnding, UsageLimit};
use super::extras::unknown_members;
use super::fold::{ChannelFold, ChannelSink, RefusedRequest, StepProgress, error_text};
use super::json_rpc::{MESSAGE, RpcDialect, RpcMessage, is_not_understood};
use super::order::{ChannelDecision, ChannelMessage, ChannelOrder, ChannelRefusal};
use super::question::{RequestId, short_id};
use crate::transcript::TranscriptItem;
use crate::transcript::announced;
use crate::transcript::entry::{name, one_line};
use crate::transcript::file_diff::FileDiff;
use crate::transcript::json::JsonNode;
use items::ThreadItems;

const RPC: RpcDialect = RpcDialect::Bare;

/// Asks before anything that the sandbox does not allow.
const DEFAULT_APPROVAL_POLICY: &str = "on-request";

/// Notifications that say nothing which is not told by others.
const QUIET: [&str; 20] = [
    "account/updated",
    "app/list/updated",
    "configWarning",
    "deprecationNotice",
    "item/commandExecution/outputDelta",
    "item/commandExecution/terminalInteraction",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/mcpToolCall/progress",
    "item/plan/delta",
    "item/reasoning/summaryPartAdded",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/textDelta",
    "mcpServer/startupStatus/updated",
    "remoteControl/status/changed",
    "skills/changed",
    "thread/goal/cleared",
    "thread/name/updated",
    "thread/started",
    "thread/status/changed",
];

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct CodexChannel {
    thread: Option<String>,
    /// The turn that runs.
    turn: Option<String>,
    /// The turn that ended last: what is told of it later does not begin it again.
    ended: Option<String>,
    items: ThreadItems,
    /// The window that is used up.
    window: Option<(Option<Timestamp>, Option<String>)>,
    usage: TokenUsage,
    /// What was said within a turn and has no answer yet: its request and its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steered: Option<(RequestId, String)>,
    /// Everything that the turn has changed so far.
    #[serde(default)]
    diff: Option<TranscriptItem>,
}

impl CodexChannel {
    pub(super) fn printed(
        &mut self,
        message: JsonNode<'_>,
        bytes: usize,
        out: &mut ChannelSink<'_>,
    ) -> bool {
        match RpcMessage::read(message) {
            RpcMessage::Request { id, method, params } => {
                let changes = params.get("itemId").str().and_then(|item| self.items.changes(item));
                let running = approval::RunningTurn {
                    thread: self.thread.as_deref(),
                    turn: self.turn.as_deref(),
                    calls: &self.items.calls,
                };
                let question = approval::question(&id, method, params, changes, &running);
                let known = question.is_some();
                match question {
                    Some(mut question) => {
                        question.doubts.extend(unknown_members(message, &MESSAGE));
                        out.ask(question, bytes);
                    }
                    None => out.refuse(id, method),
                }
                known
            }
            RpcMessage::Notification { method, params } => {
                self.notified(method, params, bytes, out)
            }
            RpcMessage::Result { id, result } => {
                let Some(sent) = out.take_sent(&id) else { return false };
                self.steered.take_if(|(steered, _)| *steered == id);
                self.succeeded(&sent, result, out);
                true
            }
            RpcMessage::Error { id, error } => {
                let Some(sent) = out.take_sent(&id) else { return false };
                if let Some((_, text)) = self.steered.take_if(|(steered, _)| *steered == id) {
                    out.unheard(text);
                    return true;
                }
                let text = error_text(error);
                if sent == "turn/start" && self.turn.is_none() && is_not_understood(error) {
                    out.not_taken(&sent, &text);
                    return true;
                }
                out.failed(&sent, &text);
                match sent.as_str() {
                    "initialize" | "thread/start" | "thread/resume" => out.give_up(&sent),
                    "turn/start" => out.idle(&sent, TurnEnding::Failed { error: text }),
                    _ => {}
                }
                true
            }
            RpcMessage::Other => false,
        }
    }

    pub(super) fn buffered(&self) -> usize {
        self.items.buffered()
    }

    fn succeeded(&mut self, sent: &str, result: JsonNode<'_>, out: &mut ChannelSink<'_>) {
        match sent {
            "initialize" => out.fold.hello = StepProgress::Done,
            "thread/start" | "thread/resume" => {
                out.fold.session = StepProgress::Done;
                self.thread = short_id(result.get("thread").get("id"));
                let (thread, model) = (self.thread.as_deref(), result.get("model").str());
                out.items(|items| items.session(thread, model));
                match thread {
                    Some(_) => out.ready(sent),
                    None => out.give_up(sent),
                }
            }
            "turn/start" => self.turn_begins(short_id(result.get("turn").get("id"))),
            _ => {}
        }
    }

    fn turn_begins(&mut self, turn: Option<String>) {
        if turn.is_some() && turn != self.ended {
            self.turn = turn;
        }
    }

    fn notified(
        &mut self,
        method: &str,
        params: JsonNode<'_>,
        bytes: usize,
        out: &mut ChannelSink<'_>,
    ) -> bool {
        // A thread that the agent started beside its own does not begin or end our turns.
        let thread = params.get("threadId").str();
        let aside = thread.is_some() && self.thread.is_some() && thread != self.thread.as_deref();
        match method {
            "item/agentMessage/delta" | "item/started" | "item/completed" => {
                return self.items.notified(method, params, bytes, aside, out);
            }
            "turn/started" | "turn/completed" if aside => {}
            "turn/started" => {
                let id = short_id(params.get("turn").get("id"));
                self.turn_begins(id.clone());
                if id.is_some() && self.turn == id {
                    out.working(method);
                }
            }
            "turn/completed" => self.completed(params.get("turn"), out),
            "serverRequest/resolved" => {
                let id = RequestId::read(params.get("requestId"));
                out.resolve_where(|question| Some(&question.request) == id.as_ref());
            }
            "thread/tokenUsage/updated" if !aside => {
                let total = tokens(params.get("tokenUsage").get("total"));
                let total = total.since(out.fold.run.previous);
                if total != self.usage {
                    self.usage = total;
                    out.items(|items| items.set_total_usage(total));
                }
            }
            "turn/plan/updated" if !aside => {
                if let Some(plan) = announced::plan(params.get("plan")) {
                    out.items(|items| items.note(plan));
                }
            }
            // It grows with every change, so it is told when the turn is over.
            "turn/diff/updated" if !aside => {
                let diff = params.get("diff").str().filter(|diff| !diff.is_empty());
                self.diff = diff.map(|diff| FileDiff::of_unified(None, diff).item(None));
            }
            "thread/tokenUsage/updated" | "turn/plan/updated" | "turn/diff/updated" => {}
            "account/rateLimits/updated" => self.window = used_up(params.get("rateLimits")),
            "error" => error(params, out),
            "warning" | "guardianWarning" => {
                out.items(|items| items.warn(&params.get("message").readable_text()));
            }
            _ => return QUIET.contains(&method),
        }
        true
    }

    fn completed(&mut self, turn: JsonNode<'_>, out: &mut ChannelSink<'_>) {
        let id = short_id(turn.get("id"));
        if self.turn.is_some() && self.turn != id {
            return;
        }
        self.turn = None;
        self.ended = id;
        self.items.turn_ended();
        if let Some(diff) = self.diff.take() {
            out.items(|items| items.note(diff));
        }
        let error = turn.get("error");
        let ending = match turn.get("status").str() {
            Some("completed") => TurnEnding::Completed,
            Some("interrupted") => TurnEnding::Interrupted,
            status => {
                let told = error_text(error);
                let status = status.unwrap_or("its end could not be read");
                let error = if told.is_empty() { one_line(status) } else { told };
                TurnEnding::Failed { error }
            }
        };
        if error.get("codexErrorInfo").str() == Some("usageLimitExceeded") {
            let (until, scope) = self.window.clone().unwrap_or_default();
            out.limit(UsageLimit { until, scope, text: error_text(error) });
        }
        out.idle("turn/completed", ending);
    }

    /// Folds a message that was written to the agent.
    pub(super) fn written(&mut self, message: JsonNode<'_>, out: &mut ChannelSink<'_>) -> bool {
        match RpcMessage::read(message) {
            RpcMessage::Request { id, method, params } => {
                match method {
                    "initialize" => out.fold.hello = StepProgress::Said,
                    "thread/start" | "thread/resume" => {
                        out.fold.hello = StepProgress::Done;
                        out.fold.session = StepProgress::Said;
                    }
                    "turn/start" => {
                        self.thread = short_id(params.get("threadId"));
                        out.prompted(&params.get("input").readable_text(), method);
                    }
                    "turn/steer" => {
                        let text =
                            params.get("input").items().find_map(|part| part.get("text").str());
                        out.steered(text.unwrap_or_default());
                        self.steered = text.map(|text| (id.clone(), text.to_owned()));
                    }
                    _ => {}
                }
                out.sent(id, method);
                true
            }
            RpcMessage::Notification { method: "initialized", .. } => {
                self.items.initialized = true;
                true
            }
            RpcMessage::Result { id, result } => {
                out.answered(&id, &approval::written_answer(result))
            }
            RpcMessage::Error { id, .. } => out.answered(&id, &WrittenAnswer::Refused),
            RpcMessage::Notification { .. } | RpcMessage::Other => false,
        }
    }

    pub(super) fn due(&self, fold: &ChannelFold, plan: &ChannelPlan) -> Option<Vec<u8>> {
        let number = fold.next_number();
        match (fold.hello, fold.session) {
            (StepProgress::Unsaid, _) => {
                let client =
                    json!({"name": "coven", "title": "Coven", "version": plan.client_version});
                Some(RPC.request(number, "initialize", &json!({ "clientInfo": client })))
            }
            (StepProgress::Said, _) | (_, StepProgress::Said) => None,
            (StepProgress::Done, StepProgress::Unsaid) if !self.items.initialized => {
                Some(RPC.notification("initialized", None))
            }
            (StepProgress::Done, StepProgress::Unsaid) => {
                let (method, params) = thread(plan);
                Some(RPC.request(number, method, &params))
            }
            (StepProgress::Done, StepProgress::Done) => {
                let prompt = plan.prompt_due(fold)?;
                self.turn_start(number, prompt).ok()
            }
        }
    }

    pub(super) fn say(
        &self,
        fold: &ChannelFold,
        order: &ChannelOrder,
    ) -> Result<ChannelMessage, ChannelRefusal> {
        match order {
            ChannelOrder::Prompt { text } => {
                fold.ready_for_prompt()?;
                Ok(self.turn_start(fold.next_number(), text)?.into())
            }
            ChannelOrder::Interrupt => {
                if fold.phase() != ChannelPhase::Working {
                    return Err(ChannelRefusal::NoTurn);
                }
                let (thread, turn) = self.running()?;
                let params = json!({"threadId": thread, "turnId": turn});
                Ok(RPC.request(fold.next_number(), "turn/interrupt", &params).into())
            }
            ChannelOrder::SetMode { .. } => {
                Err(ChannelRefusal::NotSupported { what: "another mode".to_owned() })
            }
            ChannelOrder::Answer { request, decision } => {
                let question = fold.question(request)?;
                let answer = approval::answer(question, decision)?;
                let mut said = ChannelMessage::from(RPC.result(request, &answer));
                if let ChannelDecision::Deny { text: Some(text) } = decision {
                    match self.running() {
                        Ok((thread, turn)) => {
                            let params = json!({
                                "threadId": thread, "expectedTurnId": turn, "input": input(text),
                            });
                            let number = fold.next_number();
                            said.bytes.extend(RPC.request(number, "turn/steer", &params));
                        }
                        Err(_) => said.next_prompt = Some(text.clone()),
                    }
                }
                Ok(said)
            }
        }
    }

    fn turn_start(&self, number: u64, text: &str) -> Result<Vec<u8>, ChannelRefusal> {
        let thread = self.thread.as_deref().ok_or(ChannelRefusal::NotReady)?;
        let params = json!({"threadId": thread, "input": input(text)});
        Ok(RPC.request(number, "turn/start", &params))
    }

    fn running(&self) -> Result<(&str, &str), ChannelRefusal> {
        let running = self.thread.as_deref().zip(self.turn.as_deref());
        running.ok_or(ChannelRefusal::NotReady)
    }
}

pub(super) fn refusal(refused: &RefusedRequest) -> Vec<u8> {
    RPC.error(&refused.id, &refused.words())
}

fn input(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn thread(plan: &ChannelPlan) -> (&'static str, Value) {
    let mut params = Map::new();
    if let Some(thread) = &plan.resume {
        params.insert("threadId".to_owned(), thread.as_str().into());
    }
    if let Some(cwd) = &plan.cwd {
        params.insert("cwd".to_owned(), cwd.as_str().into());
    }
    if let Some(model) = &plan.model {
        params.insert("model".to_owned(), model.as_str().into());
    }
    if let Some(mode) = &plan.mode {
        let (sandbox, policy) = mode.split_once('/').unwrap_or((mode, DEFAULT_APPROVAL_POLICY));
        params.insert("sandbox".to_owned(), sandbox.into());
        params.insert("approvalPolicy".to_owned(), policy.into());
    }
    let method = if plan.resume.is_some() { "thread/resume" } else { "thread/start" };
    (method, params.into())
}

/// An error is not the end of a turn, which is told as such.
fn error(params: JsonNode<'_>, out: &mut ChannelSink<'_>) {
    let fatal = params.get("willRetry").bool() == Some(false);
    let text = error_text(params.get("error"));
    out.items(|items| items.error(&text, fatal));
}

fn tokens(total: JsonNode<'_>) -> TokenUsage {
    TokenUsage {
        input_tokens: total.get("inputTokens").count(),
        cached_tokens: total.get("cachedInputTokens").count(),
        output_tokens: total.get("outputTokens").count(),
        reasoning_tokens: total.get("reasoningOutputTokens").count(),
        cost_usd: None,
    }
}

/// The window that is used up; the one that ends last, if both are.
fn used_up(limits: JsonNode<'_>) -> Option<(Option<Timestamp>, Option<String>)> {
    let windows = [limits.get("primary"), limits.get("secondary")];
    let full = windows
        .into_iter()
        .filter(|window| window.get("usedPercent").float().is_some_and(|percent| percent >= 100.0));
    let window = full.max_by_key(|window| window.get("resetsAt").count())?;
    let until = window.get("resetsAt").count();
    let minutes = window.get("windowDurationMins").count();
    Some((
        until.map(|seconds| Timestamp::from_millis(seconds.saturating_mul(1000))),
        minutes.map(|minutes| name(&format!("{minutes}m"))),
    ))
}
