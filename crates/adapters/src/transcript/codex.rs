//! What `codex exec --json` prints. Tokens are counted over the whole thread, cost is not told.

use coven_model::{ModelRetry, TokenUsage};

use super::announced;
use super::codex_items::CodexTools;
use super::json::{JsonNode, message};
use super::run::{EntrySink, RunStats};

/// Reads the lines of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct CodexReader {
    tools: CodexTools,
}

impl CodexReader {
    /// Reads one event; false if it was not understood.
    pub(super) fn event(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        match event.get("type").str() {
            Some("thread.started") => out.session(event.get("thread_id").str(), None),
            Some("turn.started") => out.reopen_turn(),
            Some("turn.completed") => {
                let total = tokens(event.get("usage"));
                out.set_total_usage(total.since(out.run.previous));
                out.succeed(None, RunStats::default());
            }
            Some("turn.failed") => {
                let error = event.get("error");
                let why = message(
                    &error
                        .get("message")
                        .str()
                        .map_or_else(|| error.readable_text(), str::to_owned),
                );
                out.error(&why, true);
                out.fail(&why, RunStats::default());
            }
            Some("error") => error(event, out),
            Some("item.started") => return self.started(event.get("item"), out),
            Some("item.completed") => return self.completed(event.get("item"), out),
            Some("item.updated") => {
                todo_list(event.get("item"), out);
            }
            _ => return false,
        }
        true
    }

    /// A line of its log on standard error. A command that its rules forbid leaves no event.
    pub(super) fn log_line(line: &str, out: &mut EntrySink<'_>) -> bool {
        let Some((_, error)) = line.split_once("codex_core::tools::router: error=") else {
            return false;
        };
        let rejected = error
            .split_once("Rejected(\\\"")
            .map(|(_, why)| why.split("\\\")").next().unwrap_or(why).replace("\\\\\\\"", "\""));
        match rejected {
            Some(why) => out.deny("shell", &why),
            None if error.starts_with("approval policy is ") => out.deny("shell", error),
            None => return false,
        }
        true
    }

    fn started(&mut self, item: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        self.tools.started(item, out)
            || todo_list(item, out)
            || matches!(item.get("type").str(), Some("agent_message" | "reasoning"))
    }

    fn completed(&mut self, item: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let text = item.get("text").str();
        match (item.get("type").str(), text) {
            (Some("agent_message"), Some(text)) => out.say(text),
            (Some("reasoning"), Some(text)) => out.add_thought(text),
            // Not the end of anything: an unknown model is told like this.
            (Some("error"), _) => out.warn(&message(&item.get("message").readable_text())),
            _ => return self.tools.returned(item, out) || todo_list(item, out),
        }
        true
    }
}

/// The plan, which is told anew whenever it changes.
fn todo_list(item: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
    let is_list = item.get("type").str() == Some("todo_list");
    if is_list && let Some(plan) = announced::plan(item.get("items")) {
        out.note(plan);
    }
    is_list
}

/// An error is not the end of the turn: codex tries again by itself, and tells it like this.
fn error(event: JsonNode<'_>, out: &mut EntrySink<'_>) {
    let text = message(&event.get("message").readable_text());
    if let Some(rest) = text.strip_prefix("Reconnecting... ") {
        let numbers = rest.split([' ', '(']).next().unwrap_or_default();
        let why = rest.split_once('(').and_then(|(_, why)| why.strip_suffix(')'));
        if let Some((attempt, max)) = numbers.split_once('/')
            && let (Ok(attempt), Ok(max)) = (attempt.parse(), max.parse())
        {
            let (attempt, max) = (Some(attempt), Some(max));
            let reason = why.map(str::to_owned);
            out.retry(ModelRetry { attempt, max, reason, ..ModelRetry::default() });
            return;
        }
    }
    out.error(&text, false);
}

fn tokens(usage: JsonNode<'_>) -> TokenUsage {
    TokenUsage {
        input_tokens: usage.get("input_tokens").count(),
        cached_tokens: usage.get("cached_input_tokens").count(),
        output_tokens: usage.get("output_tokens").count(),
        reasoning_tokens: usage.get("reasoning_output_tokens").count(),
        cost_usd: None,
    }
}
