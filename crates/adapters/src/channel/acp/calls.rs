//! Tool calls, which agents announce before they know what the tool is given. A call is told once
//! and whole: when it is asked about, when it runs, or when the turn ends without it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::channel::fold::ChannelSink;
use crate::transcript::entry;
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
}

impl ToolCalls {
    pub(super) fn begun(&mut self, call: JsonNode<'_>, out: &mut ChannelSink<'_>) {
        self.learn(call);
        self.progress(call, out);
    }

    pub(super) fn updated(&mut self, call: JsonNode<'_>, out: &mut ChannelSink<'_>) {
        self.learn(call);
        self.progress(call, out);
    }

    /// The call is asked about, so what it is given is known.
    pub(super) fn asked(&mut self, call: JsonNode<'_>, out: &mut ChannelSink<'_>) {
        self.learn(call);
        self.tell(call.get("toolCallId").str(), out);
    }

    /// The agent's name for the tool of a call.
    pub(super) fn tool(&self, call: JsonNode<'_>) -> String {
        let id = call.get("toolCallId").str().map(entry::name);
        let known = self.0.iter().find(|known| Some(&known.id) == id.as_ref());
        known.map_or_else(|| tool(call).unwrap_or_default(), |known| known.tool.clone())
    }

    pub(super) fn turn_ended(&mut self, out: &mut ChannelSink<'_>) {
        for call in std::mem::take(&mut self.0) {
            if !call.told {
                out.items(|items| items.tool_call(Some(&call.id), &call.tool, Some(&call.input)));
            }
        }
    }

    fn learn(&mut self, call: JsonNode<'_>) {
        let Some(id) = call.get("toolCallId").str().map(entry::name) else { return };
        let input = input(call);
        if let Some(known) = self.0.iter_mut().find(|known| known.id == id) {
            if let Some(input) = input {
                known.input = entry::input(Some(&input));
            }
            return;
        }
        if self.0.len() >= MAX_CALLS {
            self.0.remove(0);
        }
        let input = entry::input(input.as_ref());
        self.0.push(ToolCall { id, tool: tool(call).unwrap_or_default(), input, told: false });
    }

    fn progress(&mut self, call: JsonNode<'_>, out: &mut ChannelSink<'_>) {
        let id = call.get("toolCallId").str();
        let status = call.get("status").str();
        if matches!(status, Some("in_progress" | "completed" | "failed")) {
            self.tell(id, out);
        }
        if let Some(status @ ("completed" | "failed")) = status {
            out.items(|items| items.tool_result(id, status == "completed", &output(call)));
            let id = id.map(entry::name);
            self.0.retain(|known| Some(&known.id) != id.as_ref());
        }
    }

    fn tell(&mut self, id: Option<&str>, out: &mut ChannelSink<'_>) {
        let id = id.map(entry::name);
        let known = self.0.iter_mut().find(|known| Some(&known.id) == id.as_ref());
        if let Some(call) = known.filter(|call| !call.told) {
            call.told = true;
            out.items(|items| items.tool_call(Some(&call.id), &call.tool, Some(&call.input)));
        }
    }
}

/// The agent's name for the tool, where told; else what kind of tool it is.
fn tool(call: JsonNode<'_>) -> Option<String> {
    let meta = call.get("_meta");
    let names = [meta.get("toolName"), meta.get("claudeCode").get("toolName"), call.get("kind")];
    names.into_iter().find_map(JsonNode::str).map(entry::name)
}

/// What the tool is given; the title, which is the command, where nothing else is told.
pub(super) fn input(call: JsonNode<'_>) -> Option<Value> {
    let raw = call
        .get("rawInput")
        .0
        .filter(|raw| !raw.is_null() && raw.as_object().is_none_or(|fields| !fields.is_empty()));
    raw.cloned().or_else(|| {
        let told = ["title", "content", "locations"];
        let fields = told.into_iter().filter_map(|field| {
            let value = call.get(field).0?;
            let empty = value.as_array().is_some_and(Vec::is_empty);
            (!empty && !value.is_null()).then(|| (field.to_owned(), value.clone()))
        });
        let fields: serde_json::Map<_, _> = fields.collect();
        // Before the input is known the title is only the name of the tool.
        (call.get("rawInput").0.is_none() && !fields.is_empty()).then(|| fields.into())
    })
}

fn output(call: JsonNode<'_>) -> String {
    let parts = call.get("content").items().map(|part| part.get("content").get("text"));
    let texts: Vec<&str> = parts.filter_map(JsonNode::str).collect();
    if !texts.is_empty() {
        return texts.join("\n");
    }
    let raw = call.get("rawOutput");
    let told = ["output", "content", "message", "error"];
    let found = told.into_iter().find_map(|field| raw.get(field).str());
    found.map_or_else(|| raw.readable_text(), str::to_owned)
}
