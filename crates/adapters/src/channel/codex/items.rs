//! The items of a Codex thread as entries of a transcript.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::channel::fold::ChannelSink;
use crate::channel::question::short_id;
use crate::transcript::entry::{TEXT_LIMIT, TextExcerpt};
use crate::transcript::json::JsonNode;
use crate::transcript::limits::LINE_LIMIT;
use crate::transcript::recent::RecentKeys;
use crate::transcript::run::EntrySink;

/// Most bytes of changes that are kept for requests about them.
const CHANGES_LIMIT: usize = LINE_LIMIT;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ThreadItems {
    /// `initialized` was written.
    pub(super) initialized: bool,
    /// Items whose beginning was told.
    started: RecentKeys<()>,
    /// The message that comes in pieces.
    streaming: Option<String>,
    /// File changes that have begun, with what they change.
    changes: Vec<BegunChange>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct BegunChange {
    item: String,
    changes: Value,
    bytes: usize,
}

impl ThreadItems {
    pub(super) fn notified(
        &mut self,
        method: &str,
        params: JsonNode<'_>,
        bytes: usize,
        aside: bool,
        out: &mut ChannelSink<'_>,
    ) -> bool {
        let item = params.get("item");
        out.items(|entries| {
            entries.aside = aside;
            let known = match method {
                "item/agentMessage/delta" => self.piece(params, entries),
                "item/started" => self.started(item, bytes, entries),
                "item/completed" => self.completed(item, entries),
                _ => false,
            };
            entries.aside = false;
            known
        })
    }

    pub(super) fn changes(&self, item: &str) -> Option<&Value> {
        self.changes.iter().find(|begun| begun.item == item).map(|begun| &begun.changes)
    }

    pub(super) fn buffered(&self) -> usize {
        self.changes.iter().map(|begun| begun.bytes).sum()
    }

    pub(super) fn turn_ended(&mut self) {
        self.changes.clear();
        self.streaming = None;
    }

    fn piece(&mut self, params: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let (Some(item), Some(piece)) = (short_id(params.get("itemId")), params.get("delta").str())
        else {
            return false;
        };
        if self.streaming.as_ref() != Some(&item) {
            self.streaming = Some(item);
            out.end_message();
        }
        if !out.aside {
            out.say_piece(piece);
        }
        true
    }

    fn started(&mut self, item: JsonNode<'_>, bytes: usize, out: &mut EntrySink<'_>) -> bool {
        let id = item.get("id").str();
        if item.get("type").str() == Some("fileChange")
            && let Some(item_id) = short_id(item.get("id"))
        {
            let held: usize = self.changes.iter().map(|begun| begun.bytes).sum();
            if held + bytes <= CHANGES_LIMIT {
                let changes = item.get("changes").0.cloned().unwrap_or_default();
                self.changes.push(BegunChange { item: item_id, changes, bytes });
            }
        }
        match tool(item) {
            Some((tool, input)) => {
                if let Some(id) = id {
                    self.started.put(id, ());
                }
                out.tool_call(id, &tool, Some(&input));
                true
            }
            None => is_quiet(item),
        }
    }

    fn completed(&mut self, item: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let id = item.get("id").str();
        self.changes.retain(|begun| Some(begun.item.as_str()) != id);
        match item.get("type").str() {
            Some("agentMessage") => {
                let text = item.get("text").readable_text();
                if id.is_some() && self.streaming.as_deref() == id && !out.aside {
                    // It was told in pieces, of which some may have been lost.
                    self.streaming = None;
                    out.run.answer.text = Some(TextExcerpt::of(&text, TEXT_LIMIT));
                    out.end_message();
                } else {
                    out.say(&text);
                }
            }
            Some("reasoning") => {
                let parts = [item.get("summary"), item.get("content")];
                let texts =
                    parts.into_iter().flat_map(JsonNode::items).map(JsonNode::readable_text);
                let text = texts.collect::<Vec<_>>().join("\n");
                if !text.is_empty() {
                    out.add_thought(&text);
                }
            }
            Some("plan") => out.say(&item.get("text").readable_text()),
            _ => return self.tool_returned(item, out) || is_quiet(item),
        }
        true
    }

    fn tool_returned(&mut self, item: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let Some((tool, input)) = tool(item) else { return false };
        let id = item.get("id").str();
        if id.is_none_or(|id| self.started.take(id).is_none()) {
            out.tool_call(id, &tool, Some(&input));
        }
        let status = item.get("status").str();
        if status == Some("declined") {
            out.deny(&tool, &item.get("command").readable_text());
        }
        let code = item.get("exitCode");
        let ok = status.is_none_or(|status| status == "completed")
            && !item.get("error").exists()
            && (!code.exists() || code.count() == Some(0));
        let told = [item.get("aggregatedOutput"), item.get("error").get("message")];
        let output = told.into_iter().find_map(JsonNode::str).map(str::to_owned);
        let content = item.get("result").get("content");
        out.tool_result(id, ok, &output.unwrap_or_else(|| content.readable_text()));
        true
    }
}

/// The tool an item is a use of, and what it was given.
fn tool(item: JsonNode<'_>) -> Option<(String, Value)> {
    let given = |name: &str| item.get(name).0.cloned().unwrap_or_default();
    match item.get("type").str()? {
        "commandExecution" => Some(("shell".to_owned(), json!({ "command": given("command") }))),
        "fileChange" => Some(("file_change".to_owned(), json!({ "changes": given("changes") }))),
        "webSearch" => Some(("web_search".to_owned(), json!({ "query": given("query") }))),
        "mcpToolCall" => {
            let names = [item.get("server").str()?, item.get("tool").str()?];
            Some((names.join("."), given("arguments")))
        }
        "dynamicToolCall" => Some((item.get("tool").str()?.to_owned(), given("arguments"))),
        "collabAgentToolCall" => {
            Some((item.get("tool").str()?.to_owned(), json!({ "prompt": given("prompt") })))
        }
        _ => None,
    }
}

/// Items that are no news, or told otherwise.
fn is_quiet(item: JsonNode<'_>) -> bool {
    let known = ["userMessage", "agentMessage", "reasoning", "plan", "contextCompaction"];
    item.get("type").str().is_some_and(|kind| known.contains(&kind))
}
