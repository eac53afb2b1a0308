//! Anthropic's messages.

use std::io;

use serde_json::{Value, json};

use super::{fitting, id, streams};
use crate::model::http::HttpResponder;
use crate::model::scene::{MODEL, ModelCall, SpokenText, USED};

pub(super) fn answer(
    body: &Value,
    speech: &SpokenText,
    call: Option<&ModelCall>,
    responder: &mut HttpResponder,
) -> io::Result<()> {
    let usage = |output: u64| {
        json!({
            "input_tokens": USED.input - USED.cached, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": USED.cached, "output_tokens": output,
        })
    };
    let stop = if call.is_some() { "tool_use" } else { "end_turn" };
    let model = body["model"].as_str().unwrap_or(MODEL);
    let mut message = json!({
        "id": id("msg_"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage(1),
    });
    let tool = call.map(|call| json!({"type": "tool_use", "id": id("toolu_"), "name": call.name}));
    let text = match wanted(body) {
        Some(schema) => fitting(schema).to_string(),
        None => speech.text.clone(),
    };
    if !streams(body) {
        let mut content = vec![json!({"type": "text", "text": text})];
        if let (Some(mut tool), Some(call)) = (tool, call) {
            tool["input"] = call.arguments.clone();
            content.push(tool);
        }
        message["content"] = content.into();
        message["stop_reason"] = stop.into();
        message["usage"] = usage(USED.output);
        return responder.json(200, &message);
    }
    responder.begin_events()?;
    responder.event(&json!({"type": "message_start", "message": message}))?;
    responder.event(&started(0, &json!({"type": "text", "text": ""})))?;
    let speech = SpokenText { text, ..speech.clone() };
    responder.say(&speech, |responder, word| {
        responder.event(&delta(0, &json!({"type": "text_delta", "text": word})))
    })?;
    responder.event(&json!({"type": "content_block_stop", "index": 0}))?;
    if let (Some(mut tool), Some(call)) = (tool, call) {
        tool["input"] = json!({});
        let input = call.arguments.to_string();
        responder.event(&started(1, &tool))?;
        responder.event(&delta(1, &json!({"type": "input_json_delta", "partial_json": input})))?;
        responder.event(&json!({"type": "content_block_stop", "index": 1}))?;
    }
    responder.event(&json!({
        "type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
        "usage": {"output_tokens": USED.output},
    }))?;
    responder.event(&json!({"type": "message_stop"}))
}

/// The schema of an answer that is to be JSON.
fn wanted(body: &Value) -> Option<&Value> {
    let format = body.pointer("/output_config/format").or(body.get("output_format"))?;
    format.get("schema")
}

fn started(index: u32, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u32, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}
