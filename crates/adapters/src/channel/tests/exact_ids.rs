//! Ids of requests, which are given back as they were written.

use super::*;

/// Ids that are another text when they are read as numbers and written again.
const IDS: [&str; 10] = [
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "123456789012345678901234567890",
    "9007199254740993.0",
    "1.0",
    "1e2",
    "-0",
    "[1E3, \"a\"]",
    "\"\\ud800\"",
];

/// A message in which the place of the id has this text.
fn with_id(message: &Value, id: &str) -> Vec<u8> {
    let line = message.to_string();
    let (text, number) = ("\"question-7777\"", "7777");
    let place = if line.contains(text) { text } else { number };
    assert_eq!(line.matches(place).count(), 1, "{line}");
    format!("{}\n", line.replace(place, id)).into_bytes()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// A request for permission under this id.
fn request(kind: ChannelKind, id: &str, command: &str) -> Vec<u8> {
    let mut request = permission(kind, 7777, command);
    // The id of the call has the same digits.
    for call in ["/request/tool_use_id", "/params/toolCall/toolCallId"] {
        if let Some(call) = request.pointer_mut(call) {
            *call = command.into();
        }
    }
    with_id(&request, id)
}

fn asked(kind: ChannelKind, id: &str) -> ChannelCodec {
    let mut codec = working(kind);
    feed(&mut codec, ChannelDirection::Out, &request(kind, id, "ls"));
    assert_eq!(codec.open().count(), 1, "{kind}: {id}");
    codec
}

#[test]
fn a_request_is_answered_under_its_id_as_it_was_written() {
    for kind in ChannelKind::ALL {
        for id in IDS {
            let codec = asked(kind, id);
            let saved = serde_json::to_string(&codec).unwrap();
            let mut codec: ChannelCodec = serde_json::from_str(&saved).unwrap();
            let request = codec.open().next().unwrap().request.clone();
            for order in [approve(request.clone()), deny(request, "no")] {
                let said = codec.say(&order).unwrap();
                let line = text(&said.bytes).lines().next().unwrap();
                let name = if kind == ChannelKind::ClaudeStdio { "request_id" } else { "id" };
                assert!(line.contains(&format!("\"{name}\":{id},")), "{kind}: {id}: {line}");
            }
            let request = codec.open().next().unwrap().request.clone();
            let said = codec.say(&approve(request)).unwrap();
            written(&mut codec, &said.bytes);
            assert_eq!(open(&codec), [], "{kind}: {id}: its answer is known as one");
        }
    }
}

#[test]
fn a_request_that_is_not_known_is_refused_under_its_id_as_it_was_written() {
    for kind in ChannelKind::ALL {
        for id in IDS {
            let request = match kind {
                ChannelKind::ClaudeStdio => json!({
                    "type": "control_request", "request_id": 7777,
                    "request": {"subtype": "hook_callback"},
                }),
                _ => json!({"id": 7777, "method": "no/such/method", "params": {}}),
            };
            let mut codec = working(kind);
            feed(&mut codec, ChannelDirection::Out, &with_id(&request, id));
            let due = codec.due(&ChannelPlan::default()).unwrap();
            assert!(text(&due).contains(&format!("id\":{id},")), "{kind}: {id}: {}", text(&due));
            written(&mut codec, &due);
            assert_eq!(codec.due(&ChannelPlan::default()), None, "{kind}: {id}: once");
        }
    }
}

#[test]
fn a_request_that_is_taken_back_is_found_by_its_id_as_it_was_written() {
    for kind in [ChannelKind::ClaudeStdio, ChannelKind::CodexAppServer] {
        for id in IDS {
            let mut codec = asked(kind, id);
            let taken_back = match kind {
                ChannelKind::ClaudeStdio => {
                    json!({"type": "control_cancel_request", "request_id": 7777})
                }
                _ => json!({"method": "serverRequest/resolved", "params": {"requestId": 7777}}),
            };
            feed(&mut codec, ChannelDirection::Out, &with_id(&taken_back, id));
            assert_eq!(open(&codec), [], "{kind}: {id}");
        }
    }
}

/// Two ids that are one number to a program that reads numbers as fractions.
#[test]
fn ids_that_differ_in_their_last_digit_are_two() {
    for kind in [ChannelKind::CodexAppServer, ChannelKind::Acp] {
        let mut codec = asked(kind, "18446744073709551616");
        let second = request(kind, "18446744073709551617", "ls");
        feed(&mut codec, ChannelDirection::Out, &second);
        let open: Vec<_> = codec.open().collect();
        assert_eq!(open.len(), 2, "{kind}");
        assert_ne!(open[0].digest(), open[1].digest());
    }
}
