//! Claude Code's lines, and those of agents that took over their shape.
//!
//! On `--resume` the cost is that of the whole conversation, the tokens are those of this turn;
//! Qwen's tokens are those of the whole conversation as well.

use coven_model::{ModelRetry, TokenUsage, UsDollars};
use serde::{Deserialize, Serialize};

use super::json::JsonNode;
use super::recent::RecentKeys;
use super::run::{EntrySink, RunStats};
use super::subagents::Subagents;

/// Whose lines they are, which matters where tokens are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ClaudeVariant {
    /// Tokens from the cache come on top of `input_tokens`.
    Claude,
    /// Tokens from the cache are a part of `input_tokens`.
    Qwen,
}

/// Reads the lines of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ClaudeReader {
    kind: ClaudeVariant,
    /// What each message was last said to have used: a message comes in several lines, and each
    /// repeats it.
    messages: RecentKeys<TokenUsage>,
    /// Calls whose denial was told already.
    denied: RecentKeys<()>,
    /// Tokens of all results so far: there is one for every turn in this process.
    turns: TokenUsage,
    /// The id of the last result, which may be repeated.
    last_result: Option<String>,
    #[serde(default)]
    subagents: Subagents,
}

impl ClaudeReader {
    pub(crate) fn new(kind: ClaudeVariant) -> Self {
        Self {
            kind,
            messages: RecentKeys::default(),
            denied: RecentKeys::default(),
            turns: TokenUsage::default(),
            last_result: None,
            subagents: Subagents::default(),
        }
    }

    pub(crate) const fn subagents(&self) -> &Subagents {
        &self.subagents
    }

    /// Reads one event; false if it was not understood, or only in part.
    pub(crate) fn event(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let parent = event.get("parent_tool_use_id");
        out.aside = parent.exists();
        out.by = parent.str().map(|parent| self.subagents.name(parent));
        let known = match event.get("type").str() {
            Some("system") => self.system(event, out),
            Some("assistant") => self.assistant(event.get("message"), parent.str(), out),
            Some("user") => user(event.get("message"), out),
            // Pieces of messages that follow whole.
            Some("stream_event") => true,
            Some("result") => {
                (out.aside, out.by) = (false, None);
                self.result(event, out);
                true
            }
            _ => false,
        };
        (out.aside, out.by) = (false, None);
        known
    }

    fn system(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        match event.get("subtype").str() {
            Some("init" | "session_start") => {
                out.session(event.get("session_id").str(), event.get("model").str());
                true
            }
            Some("task_started") => {
                self.subagents.started(event);
                true
            }
            Some("permission_denied") => {
                self.deny(event, &event.get("message").readable_text(), out);
                true
            }
            Some("api_retry") => {
                out.retry(ModelRetry {
                    attempt: event.get("attempt").count(),
                    max: event.get("max_retries").count(),
                    delay_ms: event
                        .get("retry_delay_ms")
                        .float()
                        .map(|delay| delay.max(0.0) as u64),
                    status: event.get("error_status").count(),
                    reason: event.get("error").str().map(str::to_owned),
                });
                true
            }
            _ => false,
        }
    }

    fn assistant(
        &mut self,
        message: JsonNode<'_>,
        parent: Option<&str>,
        out: &mut EntrySink<'_>,
    ) -> bool {
        let content = message.get("content");
        let mut known = content.str().is_some() || content.items().next().is_some();
        if let Some(text) = content.str() {
            out.say(text);
        }
        for part in content.items() {
            match (part.get("type").str(), part.get("text").str(), part.get("name").str()) {
                (Some("text"), Some(text), _) => out.say(text),
                (Some("tool_use"), _, Some(name)) => {
                    self.subagents.called(part, parent);
                    out.tool_call(part.get("id").str(), name, part.get("input"));
                }
                (Some("thinking"), ..) => out.add_thought(&part.get("thinking").readable_text()),
                _ => known = false,
            }
        }
        self.message_used(message, out);
        known
    }

    /// Counts a message once, however many lines it has.
    fn message_used(&mut self, message: JsonNode<'_>, out: &mut EntrySink<'_>) {
        let usage = self.tokens(message.get("usage"));
        let Some(id) = message.get("id").str() else { return };
        let before = self.messages.put(id, usage).unwrap_or_default();
        let more = usage.since(before);
        if usage != before && more != TokenUsage::default() {
            out.add_usage(more);
        }
    }

    fn result(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) {
        out.session(event.get("session_id").str(), None);
        for denial in event.get("permission_denials").items() {
            self.deny(denial, &wanted(denial.get("tool_input")), out);
        }
        self.result_used(event, out);
        let took = RunStats {
            turns: event.get("num_turns").count(),
            millis: event.get("duration_ms").count(),
        };
        let structured = event.get("structured_output");
        let text = match event.get("result").str() {
            Some("") | None if structured.exists() => Some(structured.readable_text()),
            text => text.map(str::to_owned),
        };
        match (event.get("is_error").bool(), event.get("subtype").str(), text) {
            (Some(false), Some("success"), Some(answer)) => out.succeed(Some(&answer), took),
            (Some(false), Some("success"), None) => out.fail("its result has no answer", took),
            (Some(false), None, _) | (None, ..) => out.fail("its result could not be read", took),
            (_, _, Some(text)) if !text.is_empty() => out.fail(&text, took),
            (_, subtype, _) => {
                let told = event.get("errors").items().find_map(JsonNode::str);
                let told = told.or(event.get("error").get("message").str());
                // The usual kind says nothing that the failure does not.
                let kind = subtype.filter(|kind| *kind != "success");
                out.fail(told.or(kind).unwrap_or_default(), took);
            }
        }
    }

    fn result_used(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) {
        let again = event.get("uuid").str().map(str::to_owned);
        if again.is_some() && again == self.last_result {
            return;
        }
        self.last_result = again;
        let turn = self.tokens(event.get("usage"));
        if turn.is_unknown() {
            // Per model everything counts over the whole conversation.
            let models =
                event.get("modelUsage").fields().map(|(_, model)| self.model_tokens(model));
            let total = models.fold(TokenUsage::default(), TokenUsage::plus);
            self.turns = total.since(out.run.previous);
        } else if self.kind == ClaudeVariant::Qwen {
            self.turns = turn.since(out.run.previous);
        } else {
            self.turns = self.turns.plus(turn);
        }
        let total = event.get("total_cost_usd").float().and_then(UsDollars::new);
        let cost = TokenUsage { cost_usd: total, ..TokenUsage::default() };
        let cost_usd = cost.since(out.run.previous).cost_usd;
        out.set_total_usage(TokenUsage { cost_usd, ..self.turns });
    }

    fn tokens(&self, usage: JsonNode<'_>) -> TokenUsage {
        let cached = usage.get("cache_read_input_tokens").count();
        let written = usage.get("cache_creation_input_tokens").count();
        TokenUsage {
            input_tokens: self.input(usage.get("input_tokens").count(), cached, written),
            cached_tokens: cached,
            output_tokens: usage.get("output_tokens").count(),
            reasoning_tokens: usage.get("output_tokens_details").get("thinking_tokens").count(),
            cost_usd: None,
        }
    }

    fn model_tokens(&self, model: JsonNode<'_>) -> TokenUsage {
        let cached = model.get("cacheReadInputTokens").count();
        let written = model.get("cacheCreationInputTokens").count();
        TokenUsage {
            input_tokens: self.input(model.get("inputTokens").count(), cached, written),
            cached_tokens: cached,
            output_tokens: model.get("outputTokens").count(),
            reasoning_tokens: model.get("thinkingTokens").count(),
            cost_usd: None,
        }
    }

    /// Tokens read, those from the cache included.
    fn input(&self, fresh: Option<u64>, cached: Option<u64>, written: Option<u64>) -> Option<u64> {
        match self.kind {
            ClaudeVariant::Qwen => fresh,
            ClaudeVariant::Claude => fresh.map(|fresh| {
                fresh.saturating_add(cached.unwrap_or(0)).saturating_add(written.unwrap_or(0))
            }),
        }
    }

    /// Tells a denial, unless it was told already.
    fn deny(&mut self, denial: JsonNode<'_>, detail: &str, out: &mut EntrySink<'_>) {
        let told =
            denial.get("tool_use_id").str().is_some_and(|id| self.denied.put(id, ()).is_some());
        if !told {
            out.deny(denial.get("tool_name").str().unwrap_or("a tool"), detail);
        }
    }
}

fn user(message: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
    let mut known = true;
    for part in message.get("content").items() {
        match part.get("type").str() {
            Some("tool_result") => {
                let failed = part.get("is_error").bool().unwrap_or(false);
                let output = part.get("content").readable_text();
                out.tool_result(part.get("tool_use_id").str(), !failed, &output);
            }
            // What the agent was asked is not news.
            Some("text") => {}
            _ => known = false,
        }
    }
    known
}

/// What a tool was wanted for, in short.
pub(crate) fn wanted(input: JsonNode<'_>) -> String {
    let usual = ["command", "file_path", "path", "url", "query"];
    let found = usual.into_iter().find_map(|name| input.get(name).str());
    found.map_or_else(|| input.readable_text(), str::to_owned)
}
