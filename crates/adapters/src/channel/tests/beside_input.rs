//! What a request says beside the input of its tool: in the message, in its parameters, in its call.

use super::*;

fn asked_by(
    mut codec: ChannelCodec,
    kind: ChannelKind,
    change: impl FnOnce(&mut Value),
) -> Vec<String> {
    let mut request = permission(kind, 1, "make");
    change(&mut request);
    printed(&mut codec, &request);
    codec.open().next().unwrap().extras(Some("/work"))
}

fn asked(kind: ChannelKind, change: impl FnOnce(&mut Value)) -> Vec<String> {
    asked_by(working(kind), kind, change)
}

fn places(kind: ChannelKind) -> &'static [&'static str] {
    match kind {
        ChannelKind::ClaudeStdio => &["", "/request"],
        ChannelKind::CodexAppServer => &["", "/params"],
        ChannelKind::Acp => &["", "/params", "/params/toolCall", "/params/toolCall/_meta"],
    }
}

#[test]
fn a_member_that_is_not_known_is_told() {
    for kind in ChannelKind::ALL {
        for place in places(kind) {
            for name in ["cwd", "command", "path", "env", "sandbox", "title", "raw_input", "pad"] {
                if *place == "/params/toolCall" && name == "title" {
                    continue;
                }
                let is_codex_input = *place == "/params" && kind == ChannelKind::CodexAppServer;
                if is_codex_input && name == "command" {
                    continue;
                }
                let told = asked(kind, |request| {
                    if place.ends_with("_meta") {
                        request["params"]["toolCall"]["_meta"] = json!({"toolName": "run"});
                    }
                    request.pointer_mut(place).unwrap()[name] = "rm\u{7} x".into();
                });
                assert_eq!(told, [format!("{name}: rm\u{7} x")], "{kind} {place}");
            }
        }
    }
}

#[test]
fn a_request_of_claude_is_one_of_its_conversation_and_its_tool() {
    let kind = ChannelKind::ClaudeStdio;
    let begun = || {
        let mut codec = working(kind);
        let init = json!({"type": "system", "subtype": "init", "cwd": "/work", "session_id": "s"});
        printed(&mut codec, &init);
        codec
    };
    let told = |place: &str, name: &str, value: &str| {
        asked_by(begun(), kind, |request| {
            request.pointer_mut(place).unwrap()[name] = value.into();
        })
    };
    assert_eq!(told("", "session_id", "s"), [""; 0]);
    assert_eq!(told("/request", "session_id", "s"), [""; 0]);
    assert_eq!(told("", "session_id", "other"), ["session_id: other"]);
    assert_eq!(told("/request", "session_id", "other"), ["session_id: other"]);
    assert_eq!(told("/request", "display_name", "Bash"), [""; 0]);
    assert_eq!(told("/request", "display_name", "Read"), ["display_name: Read"]);
    assert_eq!(told("/request", "decision_reason", "x"), ["decision_reason: x"]);
    assert_eq!(told("/request", "agent_id", "a1"), ["agent_id: a1"]);
}

/// A rule looks at the command, and a person at what is shown of the request.
#[test]
fn a_message_of_more_than_is_shown_is_for_a_person_wherever_its_bytes_are() {
    let pad = "x".repeat(128 * 1024);
    for (kind, place, name) in [
        (ChannelKind::ClaudeStdio, "/request", "permission_suggestions"),
        (ChannelKind::ClaudeStdio, "/request", "description"),
        (ChannelKind::CodexAppServer, "/params", "reason"),
        (ChannelKind::CodexAppServer, "/params", "proposedExecpolicyAmendment"),
        (ChannelKind::Acp, "/params/toolCall", "status"),
        (ChannelKind::Acp, "/params/toolCall/rawInput", "description"),
    ] {
        let told = asked(kind, |request| {
            request.pointer_mut(place).unwrap()[name] = pad.clone().into();
        });
        let [told] = &told[..] else { panic!("{kind} {place} {name}: {}", told.len()) };
        assert!(told.starts_with("size: 131") && told.ends_with(" bytes"), "{told}");
    }
}

#[test]
fn a_name_that_is_there_twice_in_a_request_is_told() {
    for kind in ChannelKind::ALL {
        for twice in [
            r#""command":"rm -rf /","command":"make""#,
            r#""\u0063ommand":"rm -rf /","command":"make""#,
            r#""command":"make","command":"make""#,
        ] {
            let line = permission(kind, 1, "make").to_string();
            let line = line.replacen(r#""command":"make""#, twice, 1);
            let mut codec = working(kind);
            feed(&mut codec, ChannelDirection::Out, format!("{line}\n").as_bytes());
            let extras = codec.open().next().unwrap().extras(None);
            assert_eq!(extras, ["command: it is there twice, and the last is shown"], "{kind}");
            // It is said of this request alone.
            printed(&mut codec, &permission(kind, 2, "make"));
            assert_eq!(codec.open().nth(1).unwrap().extras(None), [""; 0], "{kind}");
        }
    }
}

#[test]
fn the_end_of_another_conversation_does_not_end_the_turn_of_claude() {
    let kind = ChannelKind::ClaudeStdio;
    let mut codec = working(kind);
    let init = json!({"type": "system", "subtype": "init", "cwd": "/work", "session_id": "s"});
    printed(&mut codec, &init);
    printed(&mut codec, &permission(kind, 1, "make"));
    let mut end = end_of_turn(kind);
    end["session_id"] = "other".into();
    let events = printed(&mut codec, &end);
    assert!(matches!(&events[..], [ChannelEvent::Unknown { .. }]), "{events:?}");
    assert_eq!(open(&codec).len(), 1);
    assert_eq!(codec.session(), Some("s"));
    end["session_id"] = "s".into();
    let events = printed(&mut codec, &end);
    assert!(matches!(events.last(), Some(ChannelEvent::Idle(_))), "{events:?}");
}
