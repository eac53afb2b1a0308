//! Requests whose parts do not go with each other: a rule that has seen one part may not decide.

use super::*;

/// What is asked beside the command, in a folder that is the agent's own.
fn extras(codec: &ChannelCodec) -> Vec<String> {
    codec.open().next().unwrap().extras(Some("/work"))
}

fn asked(kind: ChannelKind, change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut codec = working(kind);
    let mut request = permission(kind, 1, "make");
    change(&mut request);
    printed(&mut codec, &request);
    assert_eq!(codec.open().count(), 1, "{request}");
    extras(&codec)
}

fn asked_over_acp(call: Value) -> Vec<String> {
    asked(ChannelKind::Acp, |request| request["params"]["toolCall"] = call)
}

#[test]
fn a_plain_request_asks_for_nothing_more() {
    for kind in ChannelKind::ALL {
        assert_eq!(asked(kind, |_| {}), [""; 0]);
    }
    for (name, kind) in TRANSCRIPTS {
        let mut codec = codec(kind);
        for record in records(name) {
            feed(&mut codec, record.direction, &record.bytes);
            for question in codec.open().filter(|question| question.command.is_some()) {
                assert_eq!(question.extras(Some("/tmp/demo")), [""; 0], "{name}: {question:?}");
            }
        }
    }
}

#[test]
fn gemini_runs_a_command_in_the_folder_that_its_words_name() {
    let call = |text: &str| {
        json!({
            "toolCallId": "c", "kind": "execute", "title": "make", "locations": [],
            "content": [{"type": "content", "content": {"type": "text", "text": text}}],
        })
    };
    assert_eq!(asked_over_acp(call("[current working directory /work] (Make it)")), [""; 0]);
    for words in [
        "[in evil]",
        "[in evil] (Make it)",
        "[in /work] (Make it)",
        "[current working directory /etc] (Make it)",
        "[current working directory /work/x] (Make it)",
        "Make it",
    ] {
        let extras = asked_over_acp(call(words)).join("\n");
        assert!(extras.contains(words) || extras.starts_with("cwd: /"), "{words}: {extras}");
    }
}

#[test]
fn a_command_that_is_told_in_two_ways_is_certain_only_if_both_agree() {
    let call = |kind: &str, raw: Value| json!({"toolCallId": "c", "kind": kind, "title": "make", "rawInput": raw});
    assert_eq!(asked_over_acp(call("execute", json!({"command": "make"}))), [""; 0]);
    let same = json!({"command": "make", "commands": ["make"]});
    assert_eq!(asked_over_acp(call("execute", same)), [""; 0]);
    for (kind, raw) in [
        ("execute", json!({"command": ["rm", "x"]})),
        ("execute", json!({"command": {"a": 1}})),
        ("execute", json!("rm x")),
        ("execute", json!(["rm", "x"])),
        ("execute", json!({"command": "make", "commands": ["make", "rm x"]})),
        ("execute", json!({"command": "make", "commands": "rm x"})),
        ("execute", json!({"command": "make", "dir_path": "evil"})),
        ("execute", json!({"script": "rm x"})),
        ("other", json!({"command": "make"})),
        ("fetch", json!({"command": "make"})),
        ("edit", json!({"command": "make"})),
    ] {
        assert_ne!(asked_over_acp(call(kind, raw.clone())), [""; 0], "{kind} {raw}");
    }
}

#[test]
fn paths_beside_what_a_tool_is_given_are_told() {
    let edit = |path: &str| {
        json!({
            "toolCallId": "c", "kind": "edit", "title": "Edit a.rs",
            "rawInput": {"file_path": "/work/src/a.rs", "text": "x"},
            "locations": [{"path": path}],
            "content": [{"type": "diff", "path": path, "oldText": "", "newText": "x"}],
        })
    };
    assert_eq!(asked_over_acp(edit("/work/src/a.rs")), [""; 0]);
    assert_eq!(asked_over_acp(edit("/home/me/.bashrc")), ["path: /home/me/.bashrc"]);
    assert_eq!(asked_over_acp(edit("/work/evilsrc/a.rs")), ["path: /work/evilsrc/a.rs"]);
    let command = |field: &str, value: Value| {
        let mut call = json!({
            "toolCallId": "c", "kind": "execute", "title": "make", "rawInput": {"command": "make"},
        });
        call[field] = value;
        asked_over_acp(call)
    };
    assert_eq!(command("locations", json!([{"path": "/etc"}])), ["path: /etc"]);
    let diff = json!([{"type": "diff", "path": "/etc/x", "newText": "x"}]);
    assert_eq!(command("content", diff).len(), 1);
}

/// People read the title of a call in a list, and a rule for the command would allow what they did
/// not read.
#[test]
fn a_title_that_is_another_command_than_the_input_is_told() {
    let titled = |title: &str| {
        asked_over_acp(json!({
            "toolCallId": "c", "kind": "execute", "title": title,
            "rawInput": {"command": "cargo test", "description": "run the tests"},
        }))
    };
    for same in [
        "cargo test",
        "`cargo  test`",
        "cargo t\u{2026}",
        "cargo te...",
        "cargo test (run the tests)",
        "run the tests",
        "Run the tests",
        "Тесты",
        "execute",
        "",
    ] {
        assert_eq!(titled(same), [""; 0], "{same}");
    }
    for other in [
        "rm -rf /",
        "cargo test && rm -rf /",
        "cargo test (rm -rf /)",
        "cargo",
        "npm t\u{2026}",
        "Run; rm -rf /",
        "/bin/rm x",
        "Rm $HOME",
    ] {
        assert_eq!(titled(other), [format!("title: {other}")], "{other}");
    }
}

/// A rule is for what an agent does that was told to do something.
#[test]
fn a_request_while_no_turn_runs_is_told_as_one() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        printed(&mut codec, &end_of_turn(kind));
        printed(&mut codec, &permission(kind, 1, "make"));
        assert_eq!(extras(&codec), ["turn: none runs"], "{kind}");
    }
}

#[test]
fn a_question_of_another_conversation_is_told_as_one() {
    let other = asked(ChannelKind::Acp, |request| request["params"]["sessionId"] = "Other".into());
    assert_eq!(other, ["sessionId: Other"]);
    let other = asked(ChannelKind::CodexAppServer, |request| {
        request["params"]["threadId"] = "Other".into();
    });
    assert_eq!(other, ["threadId: Other"]);
}

#[test]
fn a_call_is_the_one_that_was_announced() {
    let announce = |id: &str, command: &str| {
        json!({
            "jsonrpc": "2.0", "method": "session/update",
            "params": {"sessionId": "S", "update": {
                "sessionUpdate": "tool_call", "toolCallId": id, "kind": "execute",
                "status": "pending", "rawInput": {"command": command},
            }},
        })
    };
    let mut codec = working(ChannelKind::Acp);
    let mut elsewhere = announce("call-1", "make");
    elsewhere["params"]["update"]["rawInput"]["cwd"] = "/etc".into();
    printed(&mut codec, &elsewhere);
    printed(&mut codec, &permission(ChannelKind::Acp, 1, "make"));
    assert_eq!(extras(&codec), ["cwd: /etc"]);
    for (id, command, expected) in [
        ("call-1", "make", vec![]),
        ("call-1", "rm x", vec!["announced command: rm x"]),
        ("call-2", "make", vec!["toolCallId: call-1"]),
    ] {
        let mut codec = working(ChannelKind::Acp);
        printed(&mut codec, &announce(id, command));
        printed(&mut codec, &permission(ChannelKind::Acp, 1, "make"));
        assert_eq!(extras(&codec), expected, "{id} {command}");
    }
}

#[test]
fn claude_asks_about_the_call_that_it_announced() {
    let announce = |id: &str, tool: &str, command: &str| {
        json!({"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": tool, "input": {"command": command}},
        ]}})
    };
    for (id, tool, command, expected) in [
        ("call-1", "Bash", "make", vec![]),
        ("call-1", "Bash", "rm -rf /", vec!["announced command: rm -rf /"]),
        ("call-1", "Other", "make", vec!["announced tool: Other"]),
        ("call-2", "Bash", "make", vec!["tool_use_id: call-1"]),
    ] {
        let mut codec = working(ChannelKind::ClaudeStdio);
        printed(&mut codec, &announce(id, tool, command));
        printed(&mut codec, &permission(ChannelKind::ClaudeStdio, 1, "make"));
        assert_eq!(extras(&codec), expected, "{id} {tool} {command}");
    }
    let mut codec = working(ChannelKind::ClaudeStdio);
    printed(&mut codec, &announce("call-1", "Bash", "make"));
    let mut nameless = permission(ChannelKind::ClaudeStdio, 1, "make");
    nameless["request"]["tool_use_id"] = Value::Null;
    printed(&mut codec, &nameless);
    assert_eq!(extras(&codec), ["tool_use_id: null"]);
    let mut codec = working(ChannelKind::ClaudeStdio);
    printed(&mut codec, &announce("call-0", "Bash", "ls"));
    let returned = json!({"type": "tool_result", "tool_use_id": "call-0", "content": "x"});
    let message = json!({"role": "user", "content": [returned]});
    printed(&mut codec, &json!({"type": "user", "message": message}));
    printed(&mut codec, &permission(ChannelKind::ClaudeStdio, 1, "make"));
    assert_eq!(extras(&codec), [""; 0], "that call is over");
}

#[test]
fn a_path_that_claude_was_kept_from_is_told_unless_it_lies_in_its_folder() {
    for (folder, path, is_told) in [
        (Some("/work"), "/work/a.txt", false),
        (Some("/work"), "/etc/passwd", true),
        (Some("/work"), "/work/../etc/passwd", true),
        (Some("/work"), "/workshop/a", true),
        (None, "/work/a.txt", true),
    ] {
        let mut codec = working(ChannelKind::ClaudeStdio);
        if let Some(folder) = folder {
            let init =
                json!({"type": "system", "subtype": "init", "cwd": folder, "session_id": "s"});
            printed(&mut codec, &init);
        }
        let mut request = permission(ChannelKind::ClaudeStdio, 1, "make");
        request["request"]["blocked_path"] = path.into();
        printed(&mut codec, &request);
        let told = if is_told { vec![format!("blocked_path: {path}")] } else { vec![] };
        assert_eq!(extras(&codec), told, "{path}");
    }
}

#[test]
fn codex_asks_about_the_command_that_it_announced_in_the_turn_that_runs() {
    let announce = |id: &str, command: &str, folder: &str| {
        json!({"method": "item/started", "params": {"threadId": "T", "turnId": "U", "item": {
            "type": "commandExecution", "id": id, "command": command, "cwd": folder,
            "status": "inProgress",
        }}})
    };
    let asked = |change: fn(&mut Value), announced: Option<Value>| {
        let mut codec = working(ChannelKind::CodexAppServer);
        if let Some(announced) = announced {
            printed(&mut codec, &announced);
        }
        let mut request = permission(ChannelKind::CodexAppServer, 1, "bash -lc 'cargo test'");
        request["params"]["cwd"] = "/work".into();
        change(&mut request["params"]);
        printed(&mut codec, &request);
        extras(&codec)
    };
    let same = announce("I", "bash -lc 'cargo test'", "/work");
    assert_eq!(asked(|_| {}, Some(same.clone())), [""; 0]);
    let other = announce("I", "bash -lc 'rm -rf /'", "/work");
    assert_eq!(asked(|_| {}, Some(other)), ["announced command: bash -lc 'rm -rf /'"]);
    let elsewhere = announce("I", "bash -lc 'cargo test'", "/etc");
    assert_eq!(asked(|_| {}, Some(elsewhere)), ["announced cwd: /etc"]);
    assert_eq!(asked(|params| params["itemId"] = "J".into(), Some(same.clone())), ["itemId: J"]);
    assert_eq!(asked(|params| params["turnId"] = "V".into(), Some(same)), ["turnId: V"]);
    let actions = |command: &str| json!([{"type": "unknown", "command": command}]);
    assert_eq!(asked(|params| params["commandActions"] = json!([]), None), [""; 0]);
    let told = asked(
        |params| params["commandActions"] = json!([{"type": "unknown", "command": "rm -rf /"}]),
        None,
    );
    assert_eq!(told, [format!("commandActions: {}", canonical_json(&actions("rm -rf /")))]);
    let part = asked(
        |params| params["commandActions"] = json!([{"type": "unknown", "command": "cargo 'test'"}]),
        None,
    );
    assert_eq!(part, [""; 0]);
}

#[test]
fn what_claude_leaves_to_a_person_no_rule_allows() {
    for field in ["server_policy_ask_only", "requires_user_interaction"] {
        let extras =
            asked(ChannelKind::ClaudeStdio, |request| request["request"][field] = true.into());
        assert_eq!(extras, [format!("{field}: true")]);
        assert_eq!(
            asked(ChannelKind::ClaudeStdio, |request| request["request"][field] = false.into()),
            [""; 0]
        );
    }
}

#[test]
fn a_request_under_an_id_that_was_answered_is_another_question() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        let mut digests = Vec::new();
        for _ in 0..3 {
            let events = printed(&mut codec, &permission(kind, 1, "make"));
            assert!(matches!(events.last(), Some(ChannelEvent::Asks(_))), "{kind}: {events:?}");
            assert_eq!(printed(&mut codec, &permission(kind, 1, "make")), [], "it is asked once");
            let digest = codec.open().next().unwrap().digest();
            assert!(!digests.contains(&digest), "{kind}: it would be taken for the one before");
            digests.push(digest);
            let answer = codec.say(&approve(request_id(kind, 1))).unwrap();
            written(&mut codec, &answer.bytes);
            assert_eq!(open(&codec), []);
        }
    }
}

/// Lines that are no JSON by the letter, and say what they say.
#[test]
fn broken_characters_lose_no_question() {
    for kind in ChannelKind::ALL {
        let line = permission(kind, 1, "echo PLACE").to_string();
        for (broken, read) in [
            (&b"\\ud83d"[..], "echo \u{fffd}"),
            (b"\\udc00", "echo \u{fffd}"),
            (b"\\ud83dx", "echo \u{fffd}x"),
            (b"\\ud83d\\ud83d\\ude00", "echo \u{fffd}\u{1f600}"),
            (b"\\\\ud83d\\ud83d", "echo \\ud83d\u{fffd}"),
            (b"\xff", "echo \u{fffd}"),
            (b"\xf0\x9f", "echo \u{fffd}"),
        ] {
            let (before, after) = line.split_once("PLACE").unwrap();
            let (before, after) = (before.as_bytes(), after.replace("PLACE", "x"));
            let bytes = [before, broken, after.as_bytes(), b"\n"].concat();
            let mut codec = working(kind);
            feed(&mut codec, ChannelDirection::Out, &bytes);
            let question = codec.open().next().expect("the question was lost");
            let shown = question.input["command"].as_str().or(question.command.as_deref());
            let texts = [shown.unwrap_or_default(), &question.text];
            assert!(texts.contains(&read), "{kind}: {texts:?}");
        }
        let mut codec = working(kind);
        let mut end = end_of_turn(kind).to_string();
        end.insert_str(1, "\"broken\":\"\\ud83d\",");
        let events = feed(&mut codec, ChannelDirection::Out, format!("{end}\n").as_bytes());
        assert!(matches!(events.last(), Some(ChannelEvent::Idle(_))), "{kind}: {events:?}");
    }
}
