//! Calls that an agent over ACP announced in another way than it asks about them. The request may
//! leave out all but its title, and then what was announced is what will be done.

use super::*;

fn update(mut call: Value, kind: &str) -> Value {
    call["sessionUpdate"] = kind.into();
    call["toolCallId"] = "pre1".into();
    json!({
        "jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "S", "update": call},
    })
}

/// What is asked beside the command of a request that has no input, after these announcements.
fn asked_after(announced: &[Value], change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut codec = working(ChannelKind::Acp);
    for (place, call) in announced.iter().enumerate() {
        let kind = if place == 0 { "tool_call" } else { "tool_call_update" };
        printed(&mut codec, &update(call.clone(), kind));
    }
    let mut request = permission(ChannelKind::Acp, 1, "touch a.txt");
    let call = json!({"toolCallId": "pre1", "kind": "execute", "title": "touch a.txt"});
    request["params"]["toolCall"] = call;
    change(&mut request["params"]["toolCall"]);
    printed(&mut codec, &request);
    codec.open().next().unwrap().extras(Some("/work"))
}

#[test]
fn what_was_announced_and_is_not_asked_the_same_way_is_told() {
    let text = |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
    let plain = json!({"title": "touch a.txt"});
    for (announced, expected) in [
        (
            vec![json!({"title": "rm -rf /", "rawInput": {"command": "rm -rf /"}})],
            vec!["announced command: rm -rf /", "announced title: rm -rf /"],
        ),
        (vec![json!({"title": "rm -rf /"})], vec!["announced title: rm -rf /"]),
        (
            vec![json!({"title": "rm -rf /", "kind": "execute"}), plain.clone()],
            vec!["announced title: rm -rf /"],
        ),
        (vec![plain.clone(), json!({"title": "rm -rf /"})], vec!["announced title: rm -rf /"]),
        (
            vec![json!({"kind": "edit", "locations": [{"path": "/etc/passwd"}]})],
            vec!["announced kind: edit", "announced path: /etc/passwd"],
        ),
        (vec![json!({"content": text("rm -rf /")})], vec!["announced content: rm -rf /"]),
        (
            vec![json!({"content": [
                {"type": "diff", "path": "/etc/x", "oldText": "", "newText": "evil"},
            ]})],
            vec!["announced content: evil", "announced path: /etc/x"],
        ),
        (
            vec![json!({"content": [{"type": "terminal", "terminalId": "t"}]})],
            vec!["announced content: {\"terminalId\":\"t\",\"type\":\"terminal\"}"],
        ),
        (
            vec![json!({"rawInput": {"command": "rm -rf /", "dir_path": "/etc"}})],
            vec!["announced command: rm -rf /", "dir_path: /etc"],
        ),
        (
            vec![json!({"rawInput": {"cwd": "/etc"}}), json!({"rawInput": {"cwd": "/work"}})],
            vec!["announced cwd: /work", "cwd: /etc"],
        ),
        (vec![json!({"rawInput": {"script": "x"}})], vec!["announced script: x"]),
        (vec![json!({"rawInput": "rm x"})], vec!["announced rawInput: rm x"]),
        (vec![json!({"title": "rm\u{1b}[2K x"})], vec!["announced title: rm\u{241b}[2K x"]),
    ] {
        assert_eq!(asked_after(&announced, |_| {}), expected, "{announced:?}");
    }
}

/// The folder of the call and its input may be told before the request, or in other words.
#[test]
fn what_was_announced_the_same_way_or_in_plain_words_asks_for_nothing_more() {
    for title in ["touch a.txt", "Shell", "bash", "Terminal", "Create a.txt", "execute", ""] {
        let announced = [json!({
            "title": title, "kind": "execute", "content": [], "locations": [{"path": "/work"}],
            "rawInput": {"cwd": "/work", "description": "Create a file"},
        })];
        let same = |call: &mut Value| call["rawInput"] = json!({"command": "touch a.txt"});
        assert_eq!(asked_after(&announced, same), [""; 0], "{title}");
    }
    let announced = [json!({"rawInput": {"command": "touch a.txt"}})];
    assert_eq!(asked_after(&announced, |_| {}), [""; 0], "the title says the same");
    let text = json!([{"type": "content", "content": {"type": "text", "text": "Make it"}}]);
    let announced = [json!({"title": "touch a.txt", "content": text})];
    let same = |call: &mut Value| {
        call["rawInput"] = json!({"command": "touch a.txt"});
        call["content"] = text.clone();
    };
    assert_eq!(asked_after(&announced, same), [""; 0]);
}

#[test]
fn more_announcements_than_are_remembered_are_told_as_that() {
    let announced: Vec<_> = (0..200).map(|n| json!({"title": format!("touch b{n}")})).collect();
    let extras = asked_after(&announced, |_| {});
    assert!(extras.iter().any(|extra| extra.starts_with("announced more: ")), "{extras:?}");
    assert!(extras.len() < 100, "{}", extras.len());
}
