//! Tool calls, which agents announce before they know what the tool is given. A call is told once
//! and whole: when it is asked about, when it runs, or when the turn ends without it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::facts::AnnouncedFacts;
use crate::channel::extras::told;
use crate::channel::fold::ChannelSink;
use crate::channel::question::short_id;
use crate::transcript::entry::{self, TOOL_LIMIT};
use crate::transcript::file_diff::{FileDiff, MAX_DIFFS};
use crate::transcript::json::JsonNode;

/// How many calls are remembered. Agents run a few side by side.
const MAX_CALLS: usize = 64;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ToolCalls(Vec<ToolCall>);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ToolCall {
    id: String,
    tool: String,
    input: Value,
    told: bool,
    /// How it changes files was told.
    #[serde(default)]
    shown: bool,
    /// What was said of it, but for what it was asked about with.
    #[serde(default)]
    said: AnnouncedFacts,
}

impl ToolCalls {
    /// A call is announced, or news of it is told.
    pub(super) fn told(&mut self, call: JsonNode<'_>, bytes: usize, out: &mut ChannelSink<'_>) {
        self.learn(call, given(call), bytes);
        let id = short_id(call.get("toolCallId"));
        if let Some(known) = self.0.iter_mut().find(|known| Some(&known.id) == id.as_ref()) {
            known.said.learn(call);
        }
        self.progress(call, out);
        self.forget_ended(call);
    }

    /// The call is asked about, so what it is given is known.
    pub(super) fn asked(&mut self, call: JsonNode<'_>, bytes: usize, out: &mut ChannelSink<'_>) {
        self.learn(call, Some(input(call)), bytes);
        let id = short_id(call.get("toolCallId"));
        self.tell(id.as_deref(), out);
        self.show(id.as_deref(), call, out);
    }

    /// What a call that is asked about has other than the call that was announced under its id. An
    /// agent that announces its calls asks about one of them.
    pub(super) fn disagreements(&self, call: JsonNode<'_>) -> Vec<String> {
        let id = short_id(call.get("toolCallId"));
        let Some(known) = self.0.iter().find(|known| Some(&known.id) == id.as_ref()) else {
            let waits = self.0.iter().any(|known| !known.told);
            let other = call.get("toolCallId").to_value().filter(|_| waits);
            return other.map(|id| told("toolCallId", &id)).into_iter().collect();
        };
        let other =
            tool_name(call).filter(|name| *name != known.tool && !is_kind(call, &known.tool));
        other.map(|_| told("announced tool", &known.tool.as_str().into())).into_iter().collect()
    }

    /// What was said of a call before it is asked about.
    pub(super) fn announced(&self, call: JsonNode<'_>) -> Option<&AnnouncedFacts> {
        let id = short_id(call.get("toolCallId"));
        Some(&self.0.iter().find(|known| Some(&known.id) == id.as_ref())?.said)
    }

    /// The agent's name for the tool of a call.
    pub(super) fn tool(&self, call: JsonNode<'_>) -> String {
        let id = short_id(call.get("toolCallId"));
        let known = self.0.iter().find(|known| Some(&known.id) == id.as_ref());
        known.map_or_else(|| tool(call).unwrap_or_default(), |known| known.tool.clone())
    }

    pub(super) fn turn_ended(&mut self, out: &mut ChannelSink<'_>) {
        for call in std::mem::take(&mut self.0) {
            if !call.told {
                out.items(|items| {
                    items.tool_call(Some(&call.id), &call.tool, JsonNode::Kept(&call.input))
                });
            }
        }
    }

    fn learn(&mut self, call: JsonNode<'_>, input: Option<Value>, bytes: usize) {
        let Some(id) = short_id(call.get("toolCallId")) else { return };
        // A short message needs no look at how long its input is.
        let shorten = |input: Value| {
            if bytes > TOOL_LIMIT { entry::input(JsonNode::Kept(&input)) } else { input }
        };
        let input = input.map(shorten);
        if let Some(known) = self.0.iter_mut().find(|known| known.id == id) {
            known.input = input.unwrap_or_else(|| known.input.take());
            return;
        }
        if self.0.len() >= MAX_CALLS {
            self.0.remove(0);
        }
        let (tool, input) = (tool(call).unwrap_or_default(), input.unwrap_or_default());
        self.0.push(ToolCall {
            id,
            tool,
            input,
            told: false,
            shown: false,
            said: AnnouncedFacts::default(),
        });
    }

    fn progress(&mut self, call: JsonNode<'_>, out: &mut ChannelSink<'_>) {
        let id = short_id(call.get("toolCallId"));
        let id = id.as_deref();
        let status = call.get("status").str();
        if matches!(status, Some("in_progress" | "completed" | "failed")) {
            self.tell(id, out);
        }
        self.show(id, call, out);
        if let Some(status @ ("completed" | "failed")) = status {
            out.items(|items| items.tool_result(id, status == "completed", &output(call)));
        }
    }

    /// Tells how the call changes files, once it is told itself.
    fn show(&mut self, id: Option<&str>, call: JsonNode<'_>, out: &mut ChannelSink<'_>) {
        let known = self.0.iter_mut().find(|known| Some(known.id.as_str()) == id);
        let Some(known) = known.filter(|known| known.told && !known.shown) else { return };
        let is_diff = |part: &JsonNode<'_>| part.get("type").str() == Some("diff");
        for part in call.get("content").items().filter(is_diff).take(MAX_DIFFS) {
            let Some(after) = part.get("newText").str() else { continue };
            known.shown = true;
            let (path, before) = (part.get("path").str(), part.get("oldText").str());
            let diff = FileDiff::between(path, before.unwrap_or_default(), after).item(id);
            out.items(|items| items.note(diff));
        }
    }

    fn forget_ended(&mut self, call: JsonNode<'_>) {
        if matches!(call.get("status").str(), Some("completed" | "failed")) {
            let id = short_id(call.get("toolCallId"));
            self.0.retain(|known| Some(known.id.as_str()) != id.as_deref());
        }
    }

    fn tell(&mut self, id: Option<&str>, out: &mut ChannelSink<'_>) {
        let known = self.0.iter_mut().find(|known| Some(known.id.as_str()) == id);
        if let Some(call) = known.filter(|call| !call.told) {
            call.told = true;
            call.shown = out.items(|items| {
                items.tool_call(Some(&call.id), &call.tool, JsonNode::Kept(&call.input))
            });
        }
    }
}

/// The agent's name for the tool, where told; else what kind of tool it is.
fn tool(call: JsonNode<'_>) -> Option<String> {
    tool_name(call).or_else(|| call.get("kind").str().map(entry::name))
}

/// The agent's name for the tool, where told.
fn tool_name(call: JsonNode<'_>) -> Option<String> {
    let meta = call.get("_meta");
    let names = [meta.get("toolName"), meta.get("claudeCode").get("toolName")];
    names.into_iter().find_map(JsonNode::str).map(entry::name)
}

/// Whether this is what kind of tool a call is for, and no name of one.
fn is_kind(call: JsonNode<'_>, tool: &str) -> bool {
    tool.is_empty() || call.get("kind").str() == Some(tool)
}

/// What the tool is given, where told. It is empty when a call is announced early.
fn given(call: JsonNode<'_>) -> Option<Value> {
    let raw = call.get("rawInput");
    let is_empty = raw.is_object() && raw.fields().next().is_none();
    raw.to_value().filter(|raw| !raw.is_null() && !is_empty)
}

/// What the tool of a question is given. Gemini tells it only by the words of its question.
pub(super) fn input(call: JsonNode<'_>) -> Value {
    given(call).unwrap_or_else(|| {
        let words = ["title", "content", "locations"].into_iter();
        let told = words.filter_map(|field| Some((field.to_owned(), call.get(field).to_value()?)));
        let fields: Map<String, Value> = told
            .filter(|(_, value)| value.as_array().is_none_or(|list| !list.is_empty()))
            .collect();
        fields.into()
    })
}

fn output(call: JsonNode<'_>) -> Cow<'_, str> {
    let parts = call.get("content").items().map(|part| part.get("content").get("text"));
    let mut texts = parts.filter_map(JsonNode::str);
    if let Some(first) = texts.next() {
        return texts.fold(Cow::Borrowed(first), |all, text| all + "\n" + text);
    }
    let raw = call.get("rawOutput");
    let told = ["output", "content", "message", "error"];
    let found = told.into_iter().find_map(|field| raw.get(field).str());
    found.map_or_else(|| raw.readable(), Cow::Borrowed)
}
