//! `OpenAI`'s responses.

use std::io;

use serde_json::{Value, json};

use super::{id, streams};
use crate::model::http::HttpResponder;
use crate::model::scene::{ModelCall, SpokenText, USED};

pub(super) fn answer(
    body: &Value,
    speech: &SpokenText,
    call: Option<&ModelCall>,
    responder: &mut HttpResponder,
) -> io::Result<()> {
    let mut response = json!({
        "id": id("resp_"), "object": "response", "created_at": 1, "status": "in_progress",
        "model": body["model"], "output": [], "usage": null,
    });
    let message = id("msg_");
    let mut finish = |text: &str| {
        let mut output = vec![spoken(&message, text)];
        output.extend(call.map(called));
        response["status"] = "completed".into();
        response["output"] = output.clone().into();
        response["usage"] = usage();
        (output, response.clone())
    };
    if !streams(body) {
        return responder.json(200, &finish(&speech.text).1);
    }
    responder.begin_events()?;
    let mut events = NumberedEvents { responder, sequence: 0 };
    let begun =
        json!({"id": id("resp_"), "object": "response", "status": "in_progress", "output": []});
    events.send(json!({"type": "response.created", "response": begun}))?;
    let empty = json!({
        "type": "message", "id": message, "role": "assistant", "status": "in_progress", "content": [],
    });
    events.send(json!({"type": "response.output_item.added", "output_index": 0, "item": empty}))?;
    let part = json!({"type": "output_text", "text": "", "annotations": []});
    events.send(place(&message, json!({"type": "response.content_part.added", "part": part})))?;
    let text = events.say(speech, &message)?;
    events.send(place(&message, json!({"type": "response.output_text.done", "text": text})))?;
    let (output, response) = finish(&text);
    for (index, item) in output.iter().enumerate() {
        if index > 0 {
            let added = "response.output_item.added";
            events.send(json!({"type": added, "output_index": index, "item": item}))?;
            let arguments = json!({
                "type": "response.function_call_arguments.done", "item_id": item["id"],
                "output_index": index, "arguments": item["arguments"],
            });
            events.send(arguments)?;
        }
        let done = "response.output_item.done";
        events.send(json!({"type": done, "output_index": index, "item": item}))?;
    }
    events.send(json!({"type": "response.completed", "response": response}))
}

/// Events with their numbers.
struct NumberedEvents<'a> {
    responder: &'a mut HttpResponder,
    sequence: u64,
}

impl NumberedEvents<'_> {
    fn send(&mut self, mut event: Value) -> io::Result<()> {
        event["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        self.responder.event(&event)
    }

    fn say(&mut self, speech: &SpokenText, message: &str) -> io::Result<String> {
        let sequence = &mut self.sequence;
        self.responder.say(speech, |responder, word| {
            let delta = json!({"type": "response.output_text.delta", "delta": word});
            let mut delta = place(message, delta);
            delta["sequence_number"] = (*sequence).into();
            *sequence += 1;
            responder.event(&delta)
        })
    }
}

/// Says which text of the response an event is about.
fn place(message: &str, mut event: Value) -> Value {
    event["item_id"] = message.into();
    event["output_index"] = 0.into();
    event["content_index"] = 0.into();
    event
}

fn spoken(message: &str, text: &str) -> Value {
    json!({
        "type": "message", "id": message, "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

fn called(call: &ModelCall) -> Value {
    json!({
        "type": "function_call", "id": id("fc_"), "call_id": id("call_"), "name": call.name,
        "arguments": call.arguments.to_string(), "status": "completed",
    })
}

fn usage() -> Value {
    json!({
        "input_tokens": USED.input, "input_tokens_details": {"cached_tokens": USED.cached},
        "output_tokens": USED.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": USED.input + USED.output,
    })
}
