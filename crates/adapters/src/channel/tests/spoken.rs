//! What a codec says is what was said to the real CLIs.

use super::*;

/// What was said in the recordings to see what happens, and is never said by a codec.
fn is_probe(message: &Value) -> bool {
    let answer = &message["response"]["response"];
    // "Always", and a denial that ends the turn and the process with it.
    !answer["updatedPermissions"].is_null()
        || !answer["interrupt"].is_null()
        || message["result"]["decision"] == "acceptForSession"
        // An interrupt of a turn that was over.
        || message["params"]["turnId"] == "01a1e50a-10e4-7011-a8dd-bc068b19f301"
}

/// The order that a recorded message stands for; nothing for what is due by itself.
fn order(message: &Value) -> Option<ChannelOrder> {
    let record = Record::new(ChannelDirection::In, message.clone());
    let method = message["method"].as_str().or(message["request"]["subtype"].as_str());
    match method {
        Some("turn/interrupt" | "session/cancel" | "interrupt") => {
            return Some(ChannelOrder::Interrupt);
        }
        Some("set_permission_mode") => {
            let mode = message["request"]["mode"].as_str()?.to_owned();
            return Some(ChannelOrder::SetMode { mode });
        }
        _ => {}
    }
    let request = record.answers()?;
    let response = &message["response"]["response"];
    let chosen = response["updatedInput"]["answers"].as_object();
    let option = message["result"]["outcome"]["optionId"].as_str().unwrap_or_default();
    let denied = response["behavior"] == "deny"
        || message["result"]["decision"] == "decline"
        || ["cancel", "reject", "reject_once"].contains(&option);
    let decision = if let Some(chosen) = chosen {
        let answer = |(question, value): (&String, &Value)| QuestionAnswer {
            question: question.clone(),
            values: vec![value.as_str().unwrap().to_owned()],
        };
        ChannelDecision::Choose { answers: chosen.iter().map(answer).collect() }
    } else if denied {
        ChannelDecision::Deny { text: response["message"].as_str().map(str::to_owned) }
    } else {
        ChannelDecision::Approve
    };
    Some(ChannelOrder::Answer { request, decision })
}

fn plan(records: &[Record]) -> ChannelPlan {
    let written = || records.iter().filter(|record| record.direction == ChannelDirection::In);
    let resumed = written().find_map(|record| {
        let method = record.message["method"].as_str()?;
        let id = match method {
            "thread/resume" => &record.message["params"]["threadId"],
            "session/load" => &record.message["params"]["sessionId"],
            _ => return None,
        };
        Some(id.as_str()?.to_owned())
    });
    let prompt = |record: &Record| {
        let message = &record.message;
        let parts = [&message["params"]["prompt"], &message["params"]["input"]];
        let text = parts.into_iter().find_map(|part| part[0]["text"].as_str());
        text.or(message["message"]["content"].as_str()).map(str::to_owned)
    };
    let prompts = written().filter_map(prompt).collect();
    let codex = written().any(|record| record.message["method"] == "thread/start");
    let resumes_codex = written().any(|record| record.message["method"] == "thread/resume");
    ChannelPlan {
        cwd: Some("/tmp/demo".to_owned()).filter(|_| !resumes_codex),
        resume: resumed,
        mode: codex.then(|| "read-only".to_owned()),
        model: None,
        prompts,
        client_version: "0".to_owned(),
    }
}

/// A message without what may differ: our own ids and our name.
fn comparable(mut message: Value) -> Value {
    let ours = !message["method"].is_null() || message["type"] == "control_request";
    if let Some(fields) = message.as_object_mut().filter(|_| ours) {
        fields.remove("id");
        fields.remove("request_id");
    }
    if message["params"]["clientInfo"].is_object() {
        message["params"]["clientInfo"] = Value::Null;
    }
    message
}

fn messages(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| comparable(serde_json::from_slice(line).unwrap())).collect()
}

/// The hello to Claude is optional and was left out of some recordings, and the answer to it, which
/// is long, out of others.
fn with_hello(mut records: Vec<Record>) -> Vec<Record> {
    let hello = json!({
        "type": "control_request", "request_id": "hello", "request": {"subtype": "initialize"},
    });
    if records[0].message["request"]["subtype"] != "initialize" {
        records.insert(0, Record::new(ChannelDirection::In, hello));
    }
    if records[1].direction == ChannelDirection::In {
        let id = &records[0].message["request_id"];
        let response = json!({"subtype": "success", "request_id": id, "response": {}});
        let answer = json!({"type": "control_response", "response": response});
        records.insert(1, Record::new(ChannelDirection::Out, answer));
    }
    records
}

/// What the codec says where a recorded message was written.
fn said(codec: &ChannelCodec, message: &Value, plan: &ChannelPlan) -> Vec<u8> {
    if let Some(order) = order(message) {
        return codec.say(&order).unwrap().bytes;
    }
    codec.due(plan).unwrap_or_else(|| {
        // After a turn that failed only a person goes on.
        let text = codec.fold.next_prompt(&plan.prompts).unwrap().to_owned();
        codec.say(&ChannelOrder::Prompt { text }).unwrap().bytes
    })
}

#[test]
fn a_codec_says_what_was_said_to_the_real_programs() {
    let (mut compared, mut probes) = (0, 0);
    for (name, kind) in TRANSCRIPTS {
        let mut records = records(name);
        if kind == ChannelKind::ClaudeStdio {
            records = with_hello(records);
        }
        let plan = plan(&records);
        let mut codec = codec(kind);
        for (at, record) in records.iter().enumerate() {
            let message = &record.message;
            let mut expected = vec![comparable(message.clone())];
            if message["method"] == "session/cancel" && codec.open().next().is_some() {
                expected.push(records[at + 1].message.clone());
            }
            if record.direction == ChannelDirection::In {
                // The second half of an interrupt was said with its first.
                let half = message["result"]["outcome"]["outcome"] == "cancelled";
                if is_probe(message) {
                    probes += 1;
                } else if !half {
                    assert_eq!(messages(&said(&codec, message, &plan)), expected, "{name}");
                    compared += expected.len();
                }
            }
            feed(&mut codec, record.direction, &record.bytes);
            // Qwen was not answered when this was recorded, as it must be.
            while codec.fold.refused().is_some() {
                let refusal = codec.due(&plan).unwrap();
                written(&mut codec, &refusal);
            }
        }
    }
    assert_eq!((compared, probes), (134, 6));
}

#[test]
fn what_is_due_is_not_due_again_when_it_stands_on_the_tape() {
    for (name, kind) in TRANSCRIPTS {
        let records = records(name);
        let plan = plan(&records);
        let mut codec = codec(kind);
        feed_all(&mut codec, &records);
        while codec.fold.refused().is_some() {
            let refusal = codec.due(&plan).unwrap();
            written(&mut codec, &refusal);
        }
        assert_eq!(codec.due(&plan), None, "{name}");
    }
}

/// Qwen 0.24.4 asks its questions as a permission, and takes the answers beside the outcome.
#[test]
fn a_question_of_qwen_is_answered_by_its_place() {
    let mut codec = ChannelCodec::new(ChannelKind::Acp, ChannelOptions::default());
    let options = json!([
        {"optionId": "proceed_once", "name": "Submit", "kind": "allow_once"},
        {"optionId": "cancel", "name": "Cancel", "kind": "reject_once"},
    ]);
    let choices = json!([{"label": "Red", "description": "Red"}, {"label": "Blue"}]);
    let asked = json!([
        {"question": "Which?", "header": "Colour", "options": choices, "multiSelect": false},
    ]);
    let call = json!({
        "toolCallId": "call", "status": "pending", "title": "Ask user 1 question", "kind": "think",
        "rawInput": {"questions": asked},
        "_meta": {"toolName": "ask_user_question", "qwenInteractionKind": "user_question"},
    });
    let params = json!({"sessionId": "s", "options": options, "toolCall": call});
    let message = json!({
        "jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": params,
    });
    codec.feed(ChannelDirection::Out, &json_rpc::json_line(&message), &mut |_| {});
    let question = codec.open().next().unwrap().clone();
    assert_eq!(question.kind, coven_model::AwaitingKind::Question);
    assert_eq!(question.questions[0].choices, ["Red", "Blue"]);
    let say =
        |decision| codec.say(&ChannelOrder::Answer { request: question.request.clone(), decision });
    assert!(say(ChannelDecision::Approve).is_err(), "there is nothing to approve");
    let values = vec!["Blue".to_owned()];
    let answers = vec![QuestionAnswer { question: "0".to_owned(), values }];
    let said = say(ChannelDecision::Choose { answers }).unwrap().bytes;
    let said: Value = serde_json::from_slice(&said).unwrap();
    let outcome = json!({"outcome": "selected", "optionId": "proceed_once"});
    assert_eq!(said["result"], json!({"outcome": outcome, "answers": {"0": "Blue"}}));
}
