//! Prompts that an agent does not know as such, because its version renamed the message.

use super::*;

const KINDS: [ChannelKind; 2] = [ChannelKind::CodexAppServer, ChannelKind::Acp];

/// How the programs say that they know no such message.
const UNKNOWN: [(i64, &str); 4] = [
    (-32601, "Method not found"),
    (-32601, ""),
    (-32600, "Invalid request: unknown variant `turn/start`, expected one of `turn/begin`"),
    (-32602, "Invalid params: missing field `prompt`"),
];

/// Says a prompt, and gives the id of its request.
fn prompt(codec: &mut ChannelCodec, text: &str) -> Value {
    let said = codec.say(&ChannelOrder::Prompt { text: text.to_owned() }).unwrap();
    written(codec, &said.bytes);
    serde_json::from_slice::<Value>(&said.bytes).unwrap()["id"].clone()
}

fn error(id: &Value, (code, message): (i64, &str)) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn untaken(events: &[ChannelEvent]) -> &UntakenPrompt {
    let [ChannelEvent::NotTaken(untaken)] = events else { panic!("{events:?}") };
    untaken
}

/// One that has done its first turn, and is told its next prompt.
fn second_turn(kind: ChannelKind) -> (ChannelCodec, Value) {
    let mut codec = working(kind);
    printed(&mut codec, &end_of_turn(kind));
    let id = prompt(&mut codec, "and more\u{202e}");
    (codec, id)
}

#[test]
fn a_later_prompt_that_is_not_known_leaves_the_agent_as_it_was() {
    for kind in KINDS {
        for unknown in UNKNOWN {
            let (mut codec, id) = second_turn(kind);
            let events = printed(&mut codec, &error(&id, unknown));
            let told = untaken(&events);
            assert_eq!(told.text, "and more\u{fffd}");
            assert_eq!((told.error.as_str(), told.is_first), (unknown.1, false), "{kind}");
            assert!(["turn/start", "session/prompt"].contains(&told.message.as_str()));
            assert_eq!(codec.state().phase, ChannelPhase::Idle);
            assert_eq!(codec.due(&ChannelPlan::default()), None);
            prompt(&mut codec, "again");
            assert_eq!(codec.state().phase, ChannelPhase::Working, "{kind}: it can be told more");
        }
    }
}

#[test]
fn an_agent_that_does_not_know_its_first_prompt_is_not_spoken_to() {
    for kind in KINDS {
        let mut codec = codec(kind);
        let params = json!({
            "threadId": "T", "input": [{"type": "text", "text": "do it"}],
            "sessionId": "S", "prompt": [{"type": "text", "text": "do it"}],
        });
        let method = if kind == ChannelKind::Acp { "session/prompt" } else { "turn/start" };
        let prompt = json!({"id": 3, "method": method, "params": params});
        written(&mut codec, &json_rpc::json_line(&prompt));
        let events = printed(&mut codec, &error(&json!(3), UNKNOWN[0]));
        assert!(untaken(&events).is_first, "{kind}");
        assert_eq!(codec.state().phase, ChannelPhase::Failed);
        let more = ChannelOrder::Prompt { text: "more".to_owned() };
        assert_eq!(codec.say(&more), Err(ChannelRefusal::NotReady));
    }
}

/// What was begun may have been done in part: that the turn failed is all that is known.
#[test]
fn an_error_in_a_turn_that_has_begun_fails_it() {
    for kind in KINDS {
        let (mut codec, id) = second_turn(kind);
        let work = match kind {
            ChannelKind::CodexAppServer => {
                json!({"method": "turn/started", "params": {"threadId": "T", "turn": {"id": "V"}}})
            }
            _ => json!({"method": "session/update", "params": {"sessionId": "S", "update": {
                "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"},
            }}}),
        };
        printed(&mut codec, &work);
        let events = printed(&mut codec, &error(&id, UNKNOWN[0]));
        let failed = |event: &ChannelEvent| {
            matches!(event, ChannelEvent::Idle(turn)
                if matches!(turn.ending, TurnEnding::Failed { .. }))
        };
        assert!(events.iter().any(failed), "{kind}: {events:?}");
    }
}

/// The same codes are used for faults of what is asked for.
#[test]
fn an_error_that_is_not_about_the_message_fails_the_turn() {
    for kind in KINDS {
        for other in [(-32600, "thread not found"), (-32603, "Method not found"), (-32602, "")] {
            let (mut codec, id) = second_turn(kind);
            let events = printed(&mut codec, &error(&id, other));
            assert!(matches!(&events[0], ChannelEvent::Failed { .. }), "{kind}: {events:?}");
        }
    }
}
