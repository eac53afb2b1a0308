//! Gemini's `stream-json`, and the one document of its `json`. Cost is not told.

use coven_model::TokenUsage;

use super::claude::wanted;
use super::entry;
use super::json::{JsonNode, message};
use super::recent::RecentKeys;
use super::run::{EntrySink, RunStats};

/// Warnings after which Gemini stops, although it calls its result a success.
const STOPPING_WARNINGS: [&str; 3] =
    ["Loop detected", "Maximum session turns exceeded", "Agent execution "];

/// Reads the lines of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct GeminiReader {
    /// The tools of calls and what they were wanted for, to name what was denied.
    calls: RecentKeys<(String, String)>,
    /// An error after which nothing came yet. If the result comes next, it was the end.
    stopped: Option<String>,
}

impl GeminiReader {
    /// Reads one event, or the document; false if it was not understood.
    pub(super) fn event(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        match event.get("type").str() {
            Some("init") => out.session(event.get("session_id").str(), event.get("model").str()),
            Some("message") => return self.read_message(event, out),
            Some("tool_use") => {
                let Some(name) = event.get("tool_name").str() else { return false };
                self.stopped = None;
                let (id, input) = (event.get("tool_id").str(), event.get("parameters"));
                if let Some(id) = id {
                    self.calls.put(id, (entry::name(name), entry::visible_line(&wanted(input))));
                }
                out.tool_call(id, name, input);
            }
            Some("tool_result") => self.tool_returned(event, out),
            Some("error") => {
                let text = message(&event.get("message").readable_text());
                let warning = event.get("severity").str() == Some("warning");
                if !warning || is_stopping(&text) {
                    self.stopped = Some(entry::one_line(&text));
                }
                if warning { out.warn(&text) } else { out.error(&text, false) }
            }
            Some("result") => self.result(event, out),
            None => return document(event, out),
            Some(_) => return false,
        }
        true
    }

    fn read_message(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        let delta = event.get("delta").bool().unwrap_or(false);
        match (event.get("role").str(), event.get("content").str()) {
            (Some("assistant"), Some(piece)) if delta => out.say_piece(piece),
            (Some("assistant"), Some(text)) => out.say(text),
            // What the agent was asked is not news.
            (Some("user"), _) => return true,
            _ => return false,
        }
        self.stopped = None;
        true
    }

    fn tool_returned(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) {
        let (id, error) = (event.get("tool_id").str(), event.get("error"));
        if error.get("type").str() == Some("policy_violation") {
            let call = id.and_then(|id| self.calls.get(id));
            let (tool, detail) =
                call.map_or(("a tool", ""), |(tool, detail)| (tool.as_str(), detail.as_str()));
            out.deny(tool, detail);
        }
        let ok = event.get("status").str() == Some("success");
        let output = event.get("output").str().or(error.get("message").str());
        let output = output.map_or_else(|| error.readable_text(), str::to_owned);
        out.tool_result(id, ok, &output);
    }

    fn result(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) {
        let stats = event.get("stats");
        out.set_total_usage(TokenUsage {
            input_tokens: stats.get("input_tokens").count(),
            cached_tokens: stats.get("cached").count(),
            output_tokens: stats.get("output_tokens").count(),
            ..TokenUsage::default()
        });
        let took = RunStats { turns: None, millis: stats.get("duration_ms").count() };
        let error = event.get("error");
        match (event.get("status").str(), self.stopped.take()) {
            (Some("success"), None) if !error.exists() => out.succeed(None, took),
            (Some("success"), Some(stopped)) if !error.exists() => out.fail(&stopped, took),
            (Some(_), _) => out.fail(&why(error), took),
            (None, _) => out.fail("its result could not be read", took),
        }
    }
}

fn is_stopping(warning: &str) -> bool {
    STOPPING_WARNINGS.iter().any(|known| warning.starts_with(known))
}

/// The document is the result: it has an answer, or an error. On standard error, where Gemini
/// prints it when it failed, it is only told: what any program may print there decides nothing.
fn document(event: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
    let (answer, error) = (event.get("response"), event.get("error"));
    if !answer.exists() && !error.exists() {
        return false;
    }
    out.session(event.get("session_id").str(), None);
    let models =
        event.get("stats").get("models").fields().map(|(_, model)| tokens(model.get("tokens")));
    out.set_total_usage(models.fold(TokenUsage::default(), TokenUsage::plus));
    let stopped =
        event.get("warnings").items().filter_map(JsonNode::str).find(|text| is_stopping(text));
    match answer.str() {
        _ if error.exists() => {
            out.error(&why(error), true);
            out.fail(&why(error), RunStats::default());
        }
        Some(_) if stopped.is_some() => {
            out.fail(stopped.unwrap_or_default(), RunStats::default());
        }
        Some(answer) => out.succeed(Some(answer), RunStats::default()),
        None => out.fail("its result could not be read", RunStats::default()),
    }
    true
}

/// A document on standard error: what went wrong, if that is what it tells.
pub(super) fn complaint(document: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
    let error = document.get("error");
    if !error.get("message").exists() {
        return false;
    }
    out.session(document.get("session_id").str(), None);
    out.error(&why(error), true);
    true
}

fn why(error: JsonNode<'_>) -> String {
    if !error.exists() {
        return String::new();
    }
    let told = error.get("message").str().map_or_else(|| error.readable_text(), str::to_owned);
    message(&told)
}

/// Here thoughts come on top of what was written.
fn tokens(tokens: JsonNode<'_>) -> TokenUsage {
    let (written, thought) = (tokens.get("candidates").count(), tokens.get("thoughts").count());
    TokenUsage {
        input_tokens: tokens.get("prompt").count(),
        cached_tokens: tokens.get("cached").count(),
        output_tokens: written.map(|written| written.saturating_add(thought.unwrap_or(0))),
        reasoning_tokens: thought,
        cost_usd: None,
    }
}
