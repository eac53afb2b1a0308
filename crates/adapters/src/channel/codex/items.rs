//! The items of a Codex thread as entries of a transcript.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::channel::announced_calls::AnnouncedCalls;
use crate::channel::fold::ChannelSink;
use crate::channel::question::short_id;
use crate::transcript::codex_items::CodexTools;
use crate::transcript::entry::{TEXT_LIMIT, TextExcerpt};
use crate::transcript::json::JsonNode;
use crate::transcript::limits::LINE_LIMIT;
use crate::transcript::run::EntrySink;

/// Most bytes of changes that are kept for requests about them.
const CHANGES_LIMIT: usize = LINE_LIMIT;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ThreadItems {
    /// `initialized` was written.
    pub(super) initialized: bool,
    tools: CodexTools,
    /// The message that comes in pieces.
    streaming: Option<String>,
    /// File changes that have begun, with what they change.
    changes: Vec<BegunChange>,
    /// Commands and file changes that have begun.
    #[serde(default)]
    pub(super) calls: AnnouncedCalls,
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
        self.calls.clear();
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
        if item.get("type").str() == Some("fileChange")
            && let Some(item_id) = short_id(item.get("id"))
        {
            let held: usize = self.changes.iter().map(|begun| begun.bytes).sum();
            if held + bytes <= CHANGES_LIMIT {
                let changes = item.get("changes").to_value().unwrap_or_default();
                self.changes.push(BegunChange { item: item_id, changes, bytes });
            }
        }
        if matches!(item.get("type").str(), Some("commandExecution" | "fileChange")) {
            self.calls.announce(item.get("id"), None, item);
        }
        self.tools.started(item, out) || is_quiet(item)
    }

    fn completed(&mut self, item: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let id = item.get("id").str();
        self.changes.retain(|begun| Some(begun.item.as_str()) != id);
        self.calls.returned(id);
        match item.get("type").str() {
            Some("agentMessage") => {
                let text = item.get("text").readable();
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
            Some("plan") => out.say(&item.get("text").readable()),
            _ => return self.tools.returned(item, out) || is_quiet(item),
        }
        true
    }
}

/// Items that are no news, or told otherwise.
fn is_quiet(item: JsonNode<'_>) -> bool {
    let known = ["userMessage", "agentMessage", "reasoning", "plan", "contextCompaction"];
    item.get("type").str().is_some_and(|kind| known.contains(&kind))
}
