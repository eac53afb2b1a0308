//! What `copilot --output-format json` prints: events with their contents in `data`, and a result
//! with the exit code. What it calls cost counts requests, not dollars, so the cost stays unknown.

use coven_model::{ModelRetry, TokenUsage};

use super::json::{JsonNode, message};
use super::recent::RecentKeys;
use super::run::{EntrySink, RunStats};

/// Reads the lines of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct CopilotReader {
    /// The tools of calls, to name what was denied.
    tools: RecentKeys<String>,
    /// Calls whose denial was told already.
    denied: RecentKeys<()>,
    /// What its events about usage add up to.
    told: TokenUsage,
    /// Output tokens by its messages; they count where its events about usage have none.
    written: u64,
}

impl CopilotReader {
    /// Reads one event; false if it was not understood.
    pub(super) fn event(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let data = event.get("data");
        let content = data.get("content").str();
        out.aside = data.get("parentToolCallId").exists();
        if event.get("type").str() == Some("assistant.message") {
            self.message_used(data, out);
        }
        match (event.get("type").str(), content) {
            (Some("session.start" | "session.resume"), _) => {
                out.session(data.get("sessionId").str(), data.get("selectedModel").str());
            }
            // A message that only asks for tools says nothing; the tools follow.
            (Some("assistant.message"), Some("")) => {}
            (Some("assistant.message"), Some(text)) => out.say(text),
            (Some("assistant.reasoning"), Some(text)) => out.add_thought(text),
            (Some("assistant.usage"), _) => self.used(tokens(data), out),
            (Some("model.call_failure"), _) => call_failed(data, out),
            (Some("tool.execution_start"), _) => self.started(data, out),
            (Some("tool.execution_complete"), _) => self.tool_returned(data, out),
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
            // It keeps such events out of its own record of the conversation.
            (Some(_), _) if event.get("ephemeral").bool() == Some(true) => {}
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
        out.tool_call(id, name, data.get("arguments"));
    }

    fn permission(&mut self, data: JsonNode<'_>, out: &mut EntrySink<'_>) {
        let kind = data.get("result").get("kind").str().unwrap_or_default();
        if kind.starts_with("denied") {
            self.deny(data.get("toolCallId").str(), kind, out);
        }
    }

    fn tool_returned(&mut self, data: JsonNode<'_>, out: &mut EntrySink<'_>) {
        let ok = data.get("success").bool() == Some(true);
        let (id, result, error) =
            (data.get("toolCallId").str(), data.get("result"), data.get("error"));
        if error.get("code").str() == Some("denied") {
            self.deny(id, &error.get("message").readable_text(), out);
        }
        let told = [result.get("content"), result, error.get("message"), error];
        let output = told.into_iter().find(|told| told.exists()).map(JsonNode::readable_text);
        out.tool_result(id, ok, &output.unwrap_or_default());
    }

    /// Tells a denial, unless it was told already.
    fn deny(&mut self, id: Option<&str>, detail: &str, out: &mut EntrySink<'_>) {
        if id.is_some_and(|id| self.denied.put(id, ()).is_some()) {
            return;
        }
        let tool = id.and_then(|id| self.tools.get(id));
        out.deny(tool.map_or("a tool", String::as_str), detail);
    }

    fn message_used(&mut self, data: JsonNode<'_>, out: &mut EntrySink<'_>) {
        let Some(written) = data.get("outputTokens").count() else { return };
        self.written = self.written.saturating_add(written);
        if self.told.output_tokens.is_none() {
            let output_tokens = Some(self.written);
            out.set_total_usage(TokenUsage { output_tokens, ..self.told });
        }
    }

    fn used(&mut self, more: TokenUsage, out: &mut EntrySink<'_>) {
        self.told = self.told.plus(more);
        if self.written == 0 {
            return out.add_usage(more);
        }
        let output_tokens = self.told.output_tokens.or(Some(self.written));
        out.set_total_usage(TokenUsage { output_tokens, ..self.told });
    }
}

/// A request to its model failed. It tries again, or ends with an error that is told by itself.
fn call_failed(data: JsonNode<'_>, out: &mut EntrySink<'_>) {
    let reason = data.get("errorMessage").str().map(message);
    out.retry(ModelRetry {
        attempt: data.get("retryAttempt").count().map(|before| before.saturating_add(1)),
        status: data.get("statusCode").count(),
        reason,
        ..ModelRetry::default()
    });
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
