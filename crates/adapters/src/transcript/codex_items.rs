//! The items of a Codex thread that are uses of tools. `codex exec --json` and `codex app-server`
//! tell the same items, the one with `snake_case` names, the other with `camelCase`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::json::JsonNode;
use super::recent::RecentKeys;
use super::run::EntrySink;

/// Which items have begun.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CodexTools {
    started: RecentKeys<()>,
}

impl CodexTools {
    /// An item begins; false if it is not the use of a tool.
    pub(crate) fn started(&mut self, item: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let Some((tool, input)) = tool(item) else { return false };
        let id = item.get("id").str();
        if let Some(id) = id {
            self.started.put(id, ());
        }
        out.tool_call(id, &tool, JsonNode::Kept(&input));
        true
    }

    /// An item is over; false if it is not the use of a tool.
    pub(crate) fn returned(&mut self, item: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let Some((tool, input)) = tool(item) else { return false };
        let id = item.get("id").str();
        if id.is_none_or(|id| self.started.take(id).is_none()) {
            out.tool_call(id, &tool, JsonNode::Kept(&input));
        }
        let status = item.get("status").str();
        if status == Some("declined") {
            out.deny(&tool, &item.get("command").readable_text());
        }
        let (code, error) = (either(item, "exitCode", "exit_code"), item.get("error"));
        let ok = status.is_none_or(|status| status == "completed")
            && !error.exists()
            && (!code.exists() || code.count() == Some(0));
        let printed = either(item, "aggregatedOutput", "aggregated_output");
        let output = printed.str().or(error.get("message").str()).map(str::to_owned);
        let content = item.get("result").get("content");
        out.tool_result(id, ok, &output.unwrap_or_else(|| content.readable_text()));
        true
    }
}

fn either<'a>(item: JsonNode<'a>, camel: &str, snake: &str) -> JsonNode<'a> {
    let found = item.get(camel);
    if found.is_given() { found } else { item.get(snake) }
}

/// The tool an item is a use of, and what it was given.
fn tool(item: JsonNode<'_>) -> Option<(String, Value)> {
    let given = |name: &str| item.get(name).to_value().unwrap_or_default();
    match item.get("type").str()? {
        "commandExecution" | "command_execution" => {
            Some(("shell".to_owned(), json!({ "command": given("command") })))
        }
        "fileChange" | "file_change" => {
            Some(("file_change".to_owned(), json!({ "changes": given("changes") })))
        }
        "webSearch" | "web_search" => {
            Some(("web_search".to_owned(), json!({ "query": given("query") })))
        }
        "mcpToolCall" | "mcp_tool_call" => {
            let names = [item.get("server").str()?, item.get("tool").str()?];
            Some((names.join("."), given("arguments")))
        }
        "dynamicToolCall" => Some((item.get("tool").str()?.to_owned(), given("arguments"))),
        "collabAgentToolCall" | "collab_tool_call" => {
            Some((item.get("tool").str()?.to_owned(), json!({ "prompt": given("prompt") })))
        }
        _ => None,
    }
}
