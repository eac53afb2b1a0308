//! Google's content generation.

use std::io;

use serde_json::{Value, json};

use super::fitting;
use crate::model::http::HttpResponder;
use crate::model::scene::{MODEL, ModelCall, SpokenText, USED};

pub(super) fn answer(
    body: &Value,
    path: &str,
    speech: &SpokenText,
    call: Option<&ModelCall>,
    responder: &mut HttpResponder,
) -> io::Result<()> {
    let streams = path.ends_with(":streamGenerateContent");
    let named = path.rsplit_once("/models/").map_or(MODEL, |(_, name)| name);
    let model = named.split(':').next().unwrap_or(MODEL);
    let piece = |part: Value, reason: Option<&str>| {
        let mut candidate = json!({"content": {"role": "model", "parts": [part]}, "index": 0});
        if let Some(reason) = reason {
            candidate["finishReason"] = reason.into();
        }
        json!({
            "candidates": [candidate], "modelVersion": model, "responseId": "scripted",
            "usageMetadata": {
                "promptTokenCount": USED.input, "candidatesTokenCount": USED.output,
                "totalTokenCount": USED.input + USED.output,
                "cachedContentTokenCount": USED.cached,
            },
        })
    };
    let schema = ["responseJsonSchema", "responseSchema"]
        .iter()
        .find_map(|name| body["generationConfig"].get(*name));
    if let Some(schema) = schema {
        // A question of the program's own: which model to use, whose turn it is.
        let whole = piece(json!({"text": fitting(schema).to_string()}), Some("STOP"));
        if streams {
            responder.begin_events()?;
            return responder.event(&whole);
        }
        return responder.json(200, &whole);
    }
    let call = call.map(|call| {
        let called = json!({"name": call.name, "args": call.arguments});
        json!({"functionCall": called, "thoughtSignature": "c2NyaXB0"})
    });
    if !streams {
        let mut whole = piece(json!({"text": speech.text}), Some("STOP"));
        if let (Some(call), Some(parts)) =
            (call, whole["candidates"][0]["content"]["parts"].as_array_mut())
        {
            parts.push(call);
        }
        return responder.json(200, &whole);
    }
    responder.begin_events()?;
    responder
        .say(speech, |responder, word| responder.event(&piece(json!({"text": word}), None)))?;
    if let Some(call) = call {
        responder.event(&piece(call, None))?;
    }
    responder.event(&piece(json!({"text": ""}), Some("STOP")))
}
