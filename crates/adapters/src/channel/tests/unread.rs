//! Requests that cannot be read: each gets an error at once, or a person hears of it.

use super::*;

/// What is written for a line that cannot be read, and what a person is told.
fn answered(kind: ChannelKind, line: &[u8]) -> (Vec<Value>, Vec<String>) {
    let mut codec = working(kind);
    let mut events = feed(&mut codec, ChannelDirection::Out, line);
    events.extend(feed(&mut codec, ChannelDirection::Out, b"\n"));
    assert_eq!(open(&codec), [], "{kind}");
    let mut refusals = Vec::new();
    while let Some(refusal) = codec.due(&ChannelPlan::default()) {
        refusals.push(serde_json::from_slice(&refusal).unwrap());
        written(&mut codec, &refusal);
    }
    let problem = |event| match event {
        ChannelEvent::Unread { problem } => Some(problem),
        _ => None,
    };
    (refusals, events.into_iter().filter_map(problem).collect())
}

fn id_value(kind: ChannelKind, id: i64) -> Value {
    serde_json::from_str(&request_id(kind, id).json()).unwrap()
}

/// A request with this in its input, whose id comes before or after it.
fn request(kind: ChannelKind, id: i64, value: &str, id_first: bool) -> String {
    let id = id_value(kind, id);
    let (begin, end) = match kind {
        ChannelKind::ClaudeStdio => (
            format!(r#""type":"control_request","request_id":{id}"#),
            format!(
                r#""request":{{"subtype":"can_use_tool","tool_name":"Bash","input":{{"command":"ls","x":{value}}}}}"#
            ),
        ),
        ChannelKind::CodexAppServer => (
            format!(r#""id":{id},"method":"item/commandExecution/requestApproval""#),
            format!(r#""params":{{"threadId":"T","turnId":"U","command":"ls","x":{value}}}"#),
        ),
        ChannelKind::Acp => (
            format!(r#""jsonrpc":"2.0","id":{id},"method":"session/request_permission""#),
            format!(r#""params":{{"sessionId":"S","toolCall":{{"rawInput":{{"x":{value}}}}}}}"#),
        ),
    };
    if id_first { format!("{{{begin},{end}}}") } else { format!("{{{end},{begin}}}") }
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn a_request_that_cannot_be_read_gets_an_error_that_says_why() {
    let long = format!("\"{}\"", "x".repeat(LINE_LIMIT));
    for kind in ChannelKind::ALL {
        for (value, reason) in [
            (nested(126), "levels deep, and 127 are read"),
            (nested(100_000), "levels deep, and 127 are read"),
            ("1e400".to_owned(), "a number that is too large"),
            (format!("[{}0]", "0,".repeat(60_000)), "too many values"),
            ("NaN".to_owned(), "it is no JSON"),
            (long.clone(), "longer than 16 MiB"),
        ] {
            let (refusals, told) = answered(kind, request(kind, 7, &value, true).as_bytes());
            let [refusal] = &refusals[..] else { panic!("{kind}: {reason}: {refusals:?}") };
            assert!(refusal.to_string().contains(reason), "{kind}: {refusal}");
            let id = match kind {
                ChannelKind::ClaudeStdio => &refusal["response"]["request_id"],
                _ => &refusal["id"],
            };
            assert_eq!(*id, id_value(kind, 7));
            assert_eq!(told, [""; 0]);
        }
    }
}

#[test]
fn a_request_that_is_read_in_part_and_shows_no_id_is_told_to_a_person() {
    let long = format!("\"{}\"", "x".repeat(LINE_LIMIT));
    for kind in ChannelKind::ALL {
        let (refusals, told) = answered(kind, request(kind, 7, &long, false).as_bytes());
        assert_eq!(refusals, [Value::Null; 0], "{kind}");
        let [told] = &told[..] else { panic!("{kind}: {told:?}") };
        assert!(told.contains("longer than 16 MiB") && told.contains("no answer"), "{told}");
        // A whole one shows its id wherever it stands.
        let (refusals, _) = answered(kind, request(kind, 7, "1e400", false).as_bytes());
        assert_eq!(refusals.len(), 1, "{kind}");
    }
}

#[test]
fn what_is_no_request_is_not_answered() {
    for kind in ChannelKind::ALL {
        let long = "x".repeat(LINE_LIMIT);
        for line in [
            format!(r#"{{"type":"assistant","method":"session/update","params":"{long}"}}"#),
            r#"{"type":"assistant","method":"session/update","params":1e400}"#.to_owned(),
            r#"{"torn": "#.to_owned(),
            "{".to_owned(),
        ] {
            assert_eq!(answered(kind, line.as_bytes()), (Vec::new(), Vec::new()), "{kind}");
        }
    }
}

#[test]
fn a_mark_of_the_encoding_and_several_messages_in_a_line_lose_nothing() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        let message = |id| permission(kind, id, "ls }{ \"\\").to_string();
        let lines =
            format!("\u{feff}{}\n{}{} {}\n", message(1), message(2), message(3), message(4));
        let events = feed(&mut codec, ChannelDirection::Out, lines.as_bytes());
        assert_eq!(open(&codec), [1, 2, 3, 4].map(|id| request_id(kind, id)), "{kind}");
        let is_unknown = |event: &ChannelEvent| matches!(event, ChannelEvent::Unknown { .. });
        assert!(!events.iter().any(is_unknown), "{events:?}");
        let torn = format!("{}{}", message(5), request(kind, 6, "1e400", true));
        feed(&mut codec, ChannelDirection::Out, format!("{torn}\n").as_bytes());
        assert_eq!(open(&codec).len(), 5, "{kind}");
        assert!(codec.due(&ChannelPlan::default()).is_some(), "{kind}");
    }
    // A line of nothing but messages is read in bounded time and depth.
    let mut codec = working(ChannelKind::Acp);
    let many = format!("{}\n", "{}".repeat(1_000_000));
    assert!(feed(&mut codec, ChannelDirection::Out, many.as_bytes()).len() < 100);
}
