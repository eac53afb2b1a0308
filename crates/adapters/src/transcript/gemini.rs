//! Gemini's `stream-json`, and the one document of its `json`. Cost is not told.

use coven_model::TokenUsage;

use super::json::{JsonNode, message};
use super::run::{EntrySink, RunStats};

/// Reads one event, or the document; false if it was not understood.
pub(super) fn event(event: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
    match event.get("type").str() {
        Some("init") => out.session(event.get("session_id").str(), event.get("model").str()),
        Some("message") => return read_message(event, out),
        Some("tool_use") => {
            let Some(name) = event.get("tool_name").str() else { return false };
            out.tool_call(event.get("tool_id").str(), name, event.get("parameters").0);
        }
        Some("tool_result") => {
            let ok = event.get("status").str() == Some("success");
            let error = event.get("error");
            let output = event.get("output").str().or(error.get("message").str());
            let output = output.map_or_else(|| error.readable_text(), str::to_owned);
            out.tool_result(event.get("tool_id").str(), ok, &output);
        }
        Some("error") => {
            let text = message(&event.get("message").readable_text());
            match event.get("severity").str() {
                Some("warning") => out.warn(&text),
                _ => out.error(&text, false),
            }
        }
        Some("result") => result(event, out),
        None => return document(event, out),
        Some(_) => return false,
    }
    true
}

fn read_message(event: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
    let delta = event.get("delta").bool().unwrap_or(false);
    match (event.get("role").str(), event.get("content").str()) {
        (Some("assistant"), Some(piece)) if delta => out.say_piece(piece),
        (Some("assistant"), Some(text)) => out.say(text),
        // What the agent was asked is not news.
        (Some("user"), _) => {}
        _ => return false,
    }
    true
}

fn result(event: JsonNode<'_>, out: &mut EntrySink<'_>) {
    let stats = event.get("stats");
    out.set_total_usage(TokenUsage {
        input_tokens: stats.get("input_tokens").count(),
        cached_tokens: stats.get("cached").count(),
        output_tokens: stats.get("output_tokens").count(),
        ..TokenUsage::default()
    });
    let took = RunStats { turns: None, millis: stats.get("duration_ms").count() };
    let error = event.get("error");
    match event.get("status").str() {
        Some("success") if !error.exists() => out.succeed(None, took),
        Some(_) => out.fail(&why(error), took),
        None => out.fail("its result could not be read", took),
    }
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
    match answer.str() {
        _ if error.exists() => {
            out.error(&why(error), true);
            out.fail(&why(error), RunStats::default());
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
