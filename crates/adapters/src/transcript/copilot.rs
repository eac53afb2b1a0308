//! What `copilot --output-format json` prints: events with their contents in `data`, and a result
//! with the exit code. What it calls cost counts requests, not dollars, so the cost stays unknown.

use coven_model::TokenUsage;

use super::json::{JsonNode, message};
use super::recent::RecentKeys;
use super::run::{EntrySink, RunStats};

/// Reads the lines of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct CopilotReader {
    /// The tools of calls, to name what was denied.
    tools: RecentKeys<String>,
}

impl CopilotReader {
    /// Reads one event; false if it was not understood.
    pub(super) fn event(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let data = event.get("data");
        let content = data.get("content").str();
        out.aside = data.get("parentToolCallId").exists();
        match (event.get("type").str(), content) {
            (Some("session.start" | "session.resume"), _) => {
                out.session(data.get("sessionId").str(), data.get("selectedModel").str());
            }
            // A message that only asks for tools says nothing; the tools follow.
            (Some("assistant.message"), Some("")) => {}
            (Some("assistant.message"), Some(text)) => out.say(text),
            (Some("assistant.reasoning"), Some(text)) => out.add_thought(text),
            (Some("assistant.usage"), _) => out.add_usage(tokens(data)),
            (Some("tool.execution_start"), _) => self.started(data, out),
            (Some("tool.execution_complete"), _) => tool_returned(data, out),
            (Some("permission.completed"), _) => self.permission(data, out),
            (Some("session.warning"), _) => out.warn(&data.get("message").readable_text()),
            (Some("session.error"), _) => {
                out.error(&message(&data.get("message").readable_text()), false);
            }
            (Some("abort"), _) => {
                out.error(&format!("aborted: {}", data.get("reason").readable_text()), true);
            }
            (Some("result"), _) => result(event, out),
            (Some(kind), _) if is_ignored_event(kind) => {}
            _ => {
                out.aside = false;
                return false;
            }
        }
        out.aside = false;
        true
    }

    fn started(&mut self, data: JsonNode<'_>, out: &mut EntrySink<'_>) {
        let (id, name) = (data.get("toolCallId").str(), data.get("toolName").str());
        let name = name.unwrap_or("a tool");
        if let Some(id) = id {
            self.tools.put(id, super::entry::name(name));
        }
        out.tool_call(id, name, data.get("arguments").0);
    }

    fn permission(&self, data: JsonNode<'_>, out: &mut EntrySink<'_>) {
        let kind = data.get("result").get("kind").str().unwrap_or_default();
        if kind.starts_with("denied") {
            let tool = data.get("toolCallId").str().and_then(|id| self.tools.get(id));
            out.deny(tool.map_or("a tool", String::as_str), kind);
        }
    }
}

fn tool_returned(data: JsonNode<'_>, out: &mut EntrySink<'_>) {
    let ok = data.get("success").bool() == Some(true);
    let (result, error) = (data.get("result"), data.get("error"));
    let told = [result.get("content"), result, error.get("message"), error];
    let output = told.into_iter().find(|told| told.exists()).map(JsonNode::readable_text);
    out.tool_result(data.get("toolCallId").str(), ok, &output.unwrap_or_default());
}

fn result(event: JsonNode<'_>, out: &mut EntrySink<'_>) {
    out.session(event.get("sessionId").str(), None);
    let took =
        RunStats { turns: None, millis: event.get("usage").get("totalApiDurationMs").count() };
    let code = event.get("exitCode");
    match code.count() {
        Some(0) => out.succeed(None, took),
        _ if code.float().is_some() => {
            let told = out.run.error.clone();
            out.fail(&told.unwrap_or_else(|| format!("exit code {}", code.readable_text())), took);
        }
        _ => out.fail("its result could not be read", took),
    }
}

/// Events that say nothing a transcript needs: pieces of what follows whole, and bookkeeping.
fn is_ignored_event(kind: &str) -> bool {
    let pieces =
        ["_delta", ".message_start", ".turn_start", ".turn_end", ".call_start", ".call_end"];
    pieces.iter().any(|end| kind.ends_with(end))
        || matches!(kind, "user.message" | "session.idle" | "permission.requested")
}

fn tokens(data: JsonNode<'_>) -> TokenUsage {
    TokenUsage {
        input_tokens: data.get("inputTokens").count(),
        cached_tokens: data.get("cacheReadTokens").count(),
        output_tokens: data.get("outputTokens").count(),
        reasoning_tokens: data.get("reasoningTokens").count(),
        cost_usd: None,
    }
}
