//! What `opencode run --format json` prints. There is no last word: a run has succeeded when its
//! last step stopped by itself, no error was told and nothing had to be asked.

use coven_model::{TokenUsage, UsDollars};

use super::json::{JsonNode, message};
use super::recent::RecentKeys;
use super::run::{EntrySink, RunStats};

/// Reads the lines of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct OpencodeReader {
    /// Tools whose rejection was told by the line on standard error, and not yet by an event.
    asked: RecentKeys<u64>,
    /// The other way round: the two streams come in any order.
    rejected: RecentKeys<u64>,
}

impl OpencodeReader {
    /// Reads one event; false if it was not understood.
    pub(super) fn event(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let session = event.get("sessionID").str();
        if out.run.session.is_none() {
            out.session(session, None);
        }
        out.aside = session.is_some() && session != out.run.session.as_deref();
        let part = event.get("part");
        let known = match (event.get("type").str(), part.get("text").str()) {
            (Some("step_start"), _) => {
                if !out.aside {
                    out.reopen_turn();
                }
                true
            }
            (Some("text"), Some(text)) => {
                out.say(text);
                true
            }
            (Some("reasoning"), Some(text)) => {
                out.add_thought(text);
                true
            }
            (Some("tool_use"), _) => self.tool(part, out),
            (Some("step_finish"), _) => {
                finished(part, out);
                true
            }
            (Some("error"), _) => {
                failed(event.get("error"), out);
                true
            }
            _ => false,
        };
        out.aside = false;
        known
    }

    /// A line that is no event. This one matters: without a person to ask, a tool call is refused
    /// and the turn ends there, with exit code 0.
    pub(super) fn line(&mut self, line: &str, out: &mut EntrySink<'_>) -> bool {
        let asked = line.trim().strip_prefix("! permission requested: ");
        let Some(asked) = asked.and_then(|rest| rest.strip_suffix("; auto-rejecting")) else {
            return false;
        };
        let (tool, detail) = asked.split_once(' ').unwrap_or((asked, ""));
        let detail =
            detail.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(detail);
        out.mark_failed(&format!(
            "stopped: it asked for a permission, which a headless run cannot give: {asked}"
        ));
        if !is_repeated_rejection(&mut self.rejected, tool) {
            let count = self.asked.get(tool).copied().unwrap_or(0);
            self.asked.put(tool, count + 1);
            out.deny(tool, detail);
        }
        true
    }

    fn tool(&mut self, part: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let Some(tool) = part.get("tool").str() else { return false };
        let (id, state) = (part.get("callID").str(), part.get("state"));
        out.tool_call(id, tool, state.get("input"));
        let error = state.get("error").str();
        if error.is_some_and(|error| error.contains("rejected permission")) {
            if !is_repeated_rejection(&mut self.asked, tool) {
                let count = self.rejected.get(tool).copied().unwrap_or(0);
                self.rejected.put(tool, count + 1);
                out.deny(tool, &super::claude::wanted(state.get("input")));
            }
        } else if let Some(rule) = error.filter(|error| error.contains("specified a rule")) {
            out.deny(tool, rule);
        }
        let ok = state.get("status").str() == Some("completed");
        let output = error.map_or_else(|| state.get("output").readable_text(), str::to_owned);
        out.tool_result(id, ok, &output);
        true
    }
}

/// Whether this is the second telling of a rejection that the other stream told first.
fn is_repeated_rejection(told: &mut RecentKeys<u64>, tool: &str) -> bool {
    match told.take(tool) {
        None | Some(0) => false,
        Some(count) => {
            told.put(tool, count - 1);
            true
        }
    }
}

fn finished(part: JsonNode<'_>, out: &mut EntrySink<'_>) {
    out.add_usage(usage_of(part));
    match part.get("reason").str() {
        _ if out.aside => {}
        // Some models name no reason that opencode knows; their turn is over all the same.
        Some("stop" | "other") => out.succeed(None, RunStats::default()),
        // The next step follows.
        Some("tool-calls") => {}
        reason => {
            let reason = reason.unwrap_or("for an unknown reason");
            out.fail(&format!("its last step stopped: {reason}"), RunStats::default());
        }
    }
}

fn failed(error: JsonNode<'_>, out: &mut EntrySink<'_>) {
    let told = error.get("data").get("message").str().or(error.get("message").str());
    let told = told.or(error.get("name").str());
    let mut why = message(&told.map_or_else(|| error.readable_text(), str::to_owned));
    if let Some(status) = error.get("data").get("statusCode").count() {
        why = format!("{status} {why}");
    }
    out.error(&why, true);
    out.mark_failed(&why);
}

/// Tokens from the cache come on top of the input; thoughts are on top of the output where the
/// total says so. A cost of 0 for tokens that were used is a price that opencode does not know.
fn usage_of(part: JsonNode<'_>) -> TokenUsage {
    let tokens = part.get("tokens");
    let cache = tokens.get("cache");
    let (read, written) = (cache.get("read").count(), cache.get("write").count());
    let sum = |first: Option<u64>, more: &[Option<u64>]| {
        first.map(|first| more.iter().flatten().fold(first, |sum, more| sum.saturating_add(*more)))
    };
    let input = sum(tokens.get("input").count(), &[read, written]);
    let (output, thought) = (tokens.get("output").count(), tokens.get("reasoning").count());
    let all = sum(output, &[thought]);
    let apart = tokens.get("total").exists() && tokens.get("total").count() == sum(input, &[all]);
    let cost = part.get("cost").float().and_then(UsDollars::new);
    let free = input.unwrap_or(0) == 0 && output.unwrap_or(0) == 0;
    TokenUsage {
        input_tokens: input,
        cached_tokens: read,
        output_tokens: if apart { all } else { output },
        reasoning_tokens: thought,
        cost_usd: cost.filter(|cost| free || *cost != UsDollars::default()),
    }
}
