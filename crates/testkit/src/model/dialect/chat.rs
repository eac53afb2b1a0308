//! `OpenAI`'s chat completions.

use std::io;

use serde_json::{Value, json};

use super::{id, streams};
use crate::model::http::HttpResponder;
use crate::model::scene::{MODEL, ModelCall, SpokenText, USED};

pub(super) fn answer(
    body: &Value,
    speech: &SpokenText,
    call: Option<&ModelCall>,
    responder: &mut HttpResponder,
) -> io::Result<()> {
    let (completion, model) = (id("chatcmpl-"), body["model"].as_str().unwrap_or(MODEL));
    let usage = json!({
        "prompt_tokens": USED.input, "completion_tokens": USED.output,
        "total_tokens": USED.input + USED.output,
        "prompt_tokens_details": {"cached_tokens": USED.cached},
    });
    let calls = call.map(|call| {
        let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
        json!([{"index": 0, "id": id("call_"), "type": "function", "function": function}])
    });
    let reason = if calls.is_some() { "tool_calls" } else { "stop" };
    if !streams(body) {
        let mut message = json!({"role": "assistant", "content": speech.text});
        if let Some(calls) = calls {
            message["tool_calls"] = calls;
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        return responder.json(
            200,
            &json!({
                "id": completion, "object": "chat.completion", "created": 1, "model": model,
                "choices": [choice], "usage": usage,
            }),
        );
    }
    let chunk = |choices: Value| {
        json!({
            "id": completion, "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": choices,
        })
    };
    let delta = |delta: Value, reason: Option<&str>| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": reason}]))
    };
    responder.begin_events()?;
    responder.event(&delta(json!({"role": "assistant", "content": ""}), None))?;
    responder
        .say(speech, |responder, word| responder.event(&delta(json!({"content": word}), None)))?;
    if let Some(calls) = calls {
        responder.event(&delta(json!({"tool_calls": calls}), None))?;
    }
    responder.event(&delta(json!({}), Some(reason)))?;
    let mut last = chunk(json!([]));
    last["usage"] = usage;
    responder.event(&last)?;
    responder.word("[DONE]")
}
