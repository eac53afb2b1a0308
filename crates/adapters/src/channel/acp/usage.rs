//! What a conversation over ACP used up. Every agent counts in its own way.

use coven_model::{TokenUsage, UsDollars};
use serde::{Deserialize, Serialize};

use crate::channel::fold::ChannelSink;
use crate::transcript::json::JsonNode;

/// The agents that count over the whole process, by the names they give themselves.
const COUNT_EVERYTHING: [&str; 1] = ["Copilot"];

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SessionUsage {
    counts_everything: bool,
    /// All tokens of this process so far.
    tokens: TokenUsage,
    /// The cost of the whole conversation.
    cost: Option<UsDollars>,
    told: TokenUsage,
}

impl SessionUsage {
    pub(super) fn agent(&mut self, info: JsonNode<'_>) {
        self.counts_everything =
            info.get("name").str().is_some_and(|name| COUNT_EVERYTHING.contains(&name));
    }

    /// opencode and claude-agent-acp tell the cost besides.
    pub(super) fn updated(&mut self, update: JsonNode<'_>) {
        let cost = update.get("cost");
        if cost.get("currency").str() == Some("USD") {
            self.cost = cost.get("amount").float().and_then(UsDollars::new).or(self.cost);
        }
    }

    /// Qwen tells the usage of every request to its model with an empty piece of text.
    pub(super) fn piece(&mut self, update: JsonNode<'_>, out: &ChannelSink<'_>) {
        let usage = update.get("_meta").get("usage");
        if usage.exists() && !out.fold.replaying {
            self.tokens = self.tokens.plus(tokens(usage));
        }
    }

    pub(super) fn turn_ended(&mut self, result: JsonNode<'_>, out: &mut ChannelSink<'_>) {
        let turn = tokens(result.get("usage"));
        let gemini = result.get("_meta").get("quota").get("token_count");
        if self.counts_everything && !turn.is_unknown() {
            self.tokens = turn;
        } else {
            self.tokens = self.tokens.plus(turn).plus(TokenUsage {
                input_tokens: gemini.get("input_tokens").count(),
                output_tokens: gemini.get("output_tokens").count(),
                ..TokenUsage::default()
            });
        }
        let cost = TokenUsage { cost_usd: self.cost, ..TokenUsage::default() };
        let cost_usd = cost.since(out.fold.run.previous).cost_usd;
        let total = TokenUsage { cost_usd, ..self.tokens };
        if total != self.told {
            self.told = total;
            out.items(|items| items.set_total_usage(total));
        }
    }
}

fn tokens(usage: JsonNode<'_>) -> TokenUsage {
    let input = usage.get("inputTokens").count();
    let output = usage.get("outputTokens").count();
    let cached = usage.get("cachedReadTokens").count();
    let written = usage.get("cachedWriteTokens").count();
    let cache = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let fresh = input.unwrap_or(0).saturating_add(output.unwrap_or(0));
    // Some count what came from the cache on top; the total tells.
    let on_top = usage.get("totalTokens").count() == Some(fresh.saturating_add(cache));
    TokenUsage {
        input_tokens: input.map(|input| if on_top { input.saturating_add(cache) } else { input }),
        cached_tokens: cached,
        output_tokens: output,
        reasoning_tokens: usage.get("thoughtTokens").count(),
        cost_usd: None,
    }
}
