//! What no agent should say: nothing of it panics, is lost, or is answered twice.

use super::*;

fn is_unknown(events: &[ChannelEvent]) -> bool {
    matches!(events, [ChannelEvent::Unknown { .. }])
}

#[test]
fn what_is_no_message_is_kept_as_unknown_and_reading_goes_on() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        for line in ["Debugger attached.", "{\"torn\": ", "[1]", "12", "{}", "\u{fffd}", "null"] {
            let events = feed(&mut codec, ChannelDirection::Out, format!("{line}\n").as_bytes());
            assert!(is_unknown(&events), "{kind}: {line}: {events:?}");
        }
        assert_eq!(feed(&mut codec, ChannelDirection::Out, b"\n \r\n\n"), []);
        printed(&mut codec, &permission(kind, 1, "ls"));
        assert_eq!(open(&codec), [request_id(kind, 1)]);
    }
}

#[test]
fn a_last_line_without_an_end_is_read_when_the_output_closes() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        let line = permission(kind, 1, "ls").to_string();
        assert_eq!(feed(&mut codec, ChannelDirection::Out, line.as_bytes()), []);
        let mut events = 0;
        codec.finish(&mut |_| events += 1);
        assert_ne!(events, 0);
        assert_eq!(open(&codec), [request_id(kind, 1)]);
    }
}

#[test]
fn a_request_of_five_megabytes_is_asked_whole() {
    let command = "x".repeat(5 * 1024 * 1024);
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        let line = json_rpc::json_line(&permission(kind, 1, &command));
        for piece in line.chunks(64 * 1024) {
            feed(&mut codec, ChannelDirection::Out, piece);
        }
        let question = codec.open().next().unwrap();
        assert_eq!(question.command.as_deref(), Some(command.as_str()));
        assert_eq!(question.input["command"], command.as_str());
        assert!(question.text.len() < 5000);
        let answer = codec.say(&approve(request_id(kind, 1))).unwrap();
        if kind == ChannelKind::ClaudeStdio {
            assert!(answer.bytes.len() > command.len());
        }
        written(&mut codec, &answer.bytes);
        assert_eq!(open(&codec), []);
    }
}

#[test]
fn a_line_without_measure_is_kept_by_its_beginning() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        let mut line = permission(kind, 1, &"x".repeat(LINE_LIMIT)).to_string().into_bytes();
        line.push(b'\n');
        let events = feed(&mut codec, ChannelDirection::Out, &line);
        let [ChannelEvent::Unknown { line: kept, .. }, told @ ..] = &events[..] else {
            panic!("{kind}")
        };
        assert_eq!(kept.length() + 1, line.len() as u64);
        assert_eq!(open(&codec), []);
        // What the agent waits for gets an error, or a person hears of it.
        if let Some(refusal) = codec.due(&ChannelPlan::default()) {
            assert!(String::from_utf8(refusal).unwrap().contains("longer than 16 MiB"));
            assert_eq!(told, []);
        } else {
            let [ChannelEvent::Unread { problem }] = told else { panic!("{kind}: {told:?}") };
            assert!(problem.contains("longer than 16 MiB"), "{problem}");
        }
    }
}

#[test]
fn more_questions_than_can_be_kept_are_refused_and_not_lost() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        for id in 0..300 {
            printed(&mut codec, &permission(kind, id, "ls"));
        }
        assert_eq!(codec.open().count(), 256);
        let mut refused = 0;
        while let Some(bytes) = codec.due(&ChannelPlan::default()) {
            written(&mut codec, &bytes);
            refused += 1;
        }
        assert_eq!(refused, 44);
        assert_eq!(codec.open().count(), 256);
    }
    let mut codec = working(ChannelKind::Acp);
    let large = "x".repeat(7 * 1024 * 1024);
    for id in 0..5 {
        printed(&mut codec, &permission(ChannelKind::Acp, id, &large));
    }
    // Title and input are the same text here.
    assert_eq!(open(&codec), [RequestId::Number(0), RequestId::Number(1)]);
    assert!(codec.due(&ChannelPlan::default()).is_some());
}

#[test]
fn an_acp_agent_that_speaks_another_version_is_not_spoken_to() {
    for (version, refused) in [(json!(2), true), (json!(1), false), (Value::Null, false)] {
        let plan = ChannelPlan { prompts: vec!["go".to_owned()], ..ChannelPlan::default() };
        let mut codec = codec(ChannelKind::Acp);
        let hello = codec.due(&plan).unwrap();
        written(&mut codec, &hello);
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": version}});
        let events = printed(&mut codec, &answer);
        let failed = events.iter().any(|event| {
            matches!(event, ChannelEvent::Failed { message, error }
                if message == "initialize" && error.contains("version 2"))
        });
        assert_eq!(failed, refused, "{events:?}");
        assert_eq!(codec.due(&plan).is_none(), refused, "nothing more is said to it");
        assert_eq!(codec.state().phase == ChannelPhase::Failed, refused);
    }
}

#[test]
fn a_request_whose_id_is_too_long_gets_an_error_with_exactly_that_id() {
    for kind in ChannelKind::ALL {
        for length in [257, 3000, 100_000] {
            let id = Value::from("x".repeat(length));
            let mut codec = working(kind);
            let mut request = permission(kind, 1, "ls");
            let field = if kind == ChannelKind::ClaudeStdio { "request_id" } else { "id" };
            request[field] = id.clone();
            printed(&mut codec, &request);
            assert_eq!(open(&codec), []);
            let refusal = codec.due(&ChannelPlan::default()).expect("the agent would wait");
            let said: Value = serde_json::from_slice(&refusal).unwrap();
            match kind {
                ChannelKind::ClaudeStdio => {
                    assert_eq!(said["response"]["request_id"], id);
                    assert_eq!(said["response"]["subtype"], "error");
                }
                _ => assert!(said["id"] == id && said["error"].is_object(), "{kind}"),
            }
            written(&mut codec, &refusal);
            assert_eq!(codec.due(&ChannelPlan::default()), None, "{kind}");
        }
        let mut codec = working(kind);
        let mut request = permission(kind, 1, "ls");
        let field = if kind == ChannelKind::ClaudeStdio { "request_id" } else { "id" };
        request[field] = "x".repeat(256).into();
        printed(&mut codec, &request);
        assert_eq!(codec.open().count(), 1, "{kind}");
    }
}

#[test]
fn what_comes_twice_counts_once() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        assert!(!printed(&mut codec, &permission(kind, 1, "ls")).is_empty());
        assert_eq!(printed(&mut codec, &permission(kind, 1, "ls")), []);
        let request = request_id(kind, 1);
        assert_eq!(open(&codec), std::slice::from_ref(&request));
        let answer = codec.say(&approve(request.clone())).unwrap();
        let by = ResolvedBy::Answer;
        let words = Some(TextExcerpt { text: "approved".to_owned(), omitted: 0 });
        assert_eq!(
            written(&mut codec, &answer.bytes),
            [ChannelEvent::Resolved { request: request.clone(), by, answer: words }]
        );
        assert!(is_unknown(&written(&mut codec, &answer.bytes)));
        assert_eq!(codec.say(&approve(request.clone())), Err(ChannelRefusal::NotOpen { request }));
        let idle = |events: &[ChannelEvent]| {
            events.iter().filter(|event| matches!(event, ChannelEvent::Idle(_))).count()
        };
        assert_eq!(idle(&printed(&mut codec, &end_of_turn(kind))), 1);
        assert_eq!(idle(&printed(&mut codec, &end_of_turn(kind))), 0);
    }
}

#[test]
fn the_end_of_a_turn_ends_its_questions_and_a_late_answer_is_refused() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        printed(&mut codec, &permission(kind, 1, "ls"));
        let events = printed(&mut codec, &end_of_turn(kind));
        let request = request_id(kind, 1);
        let by = ResolvedBy::Agent;
        let resolved = ChannelEvent::Resolved { request: request.clone(), by, answer: None };
        assert!(events.contains(&resolved), "{kind}");
        assert!(matches!(events.last(), Some(ChannelEvent::Idle(_))), "{kind}");
        assert_eq!(
            codec.say(&deny(request.clone(), "no")),
            Err(ChannelRefusal::NotOpen { request })
        );
    }
}

#[test]
fn answers_to_what_was_not_asked_change_nothing() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        let before = serde_json::to_value(&codec).unwrap();
        let messages = match kind {
            ChannelKind::ClaudeStdio => vec![json!({
                "type": "control_response",
                "response": {"subtype": "success", "request_id": "none", "response": {}},
            })],
            ChannelKind::CodexAppServer | ChannelKind::Acp => vec![
                json!({"id": 99, "result": {"stopReason": "end_turn", "turn": {"id": "V"}}}),
                json!({"id": 99, "error": {"code": 1, "message": "no"}}),
                json!({"id": null, "error": {"code": -32700, "message": "Parse error"}}),
                json!({"method": "no/such/notification", "params": {}}),
            ],
        };
        for message in messages {
            assert!(is_unknown(&printed(&mut codec, &message)), "{kind}: {message}");
        }
        assert_eq!(serde_json::to_value(&codec).unwrap(), before, "{kind}");
    }
}

#[test]
fn an_unknown_request_gets_an_error_at_once_and_once() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        let request = match kind {
            ChannelKind::ClaudeStdio => json!({
                "type": "control_request", "request_id": "q", "request": {"subtype": "hook_callback"},
            }),
            _ => json!({"id": "q", "method": "fs/read_text_file", "params": {}}),
        };
        assert!(is_unknown(&printed(&mut codec, &request)));
        assert_eq!(codec.state().phase, ChannelPhase::Working);
        let refusal = codec.due(&ChannelPlan::default()).unwrap();
        let said: Value = serde_json::from_slice(&refusal).unwrap();
        match kind {
            ChannelKind::ClaudeStdio => {
                assert_eq!(said["response"]["request_id"], "q");
                assert_eq!(said["response"]["subtype"], "error");
            }
            _ => assert_eq!((&said["id"], &said["error"]["code"]), (&json!("q"), &json!(-32601))),
        }
        assert_eq!(written(&mut codec, &refusal), []);
        assert_eq!(codec.due(&ChannelPlan::default()), None);
    }
}

#[test]
fn a_question_with_the_id_of_a_refused_request_is_answered_once() {
    for kind in [ChannelKind::CodexAppServer, ChannelKind::Acp] {
        let mut codec = working(kind);
        printed(&mut codec, &json!({"id": 1, "method": "no/such/request", "params": {}}));
        printed(&mut codec, &permission(kind, 1, "ls"));
        let answer = codec.say(&approve(RequestId::Number(1))).unwrap();
        written(&mut codec, &answer.bytes);
        assert_eq!(open(&codec), []);
        assert_eq!(codec.due(&ChannelPlan::default()), None);
    }
}

#[test]
fn an_agent_that_refuses_to_begin_is_not_spoken_to() {
    let plan = ChannelPlan { prompts: vec!["go".to_owned()], ..ChannelPlan::default() };
    for kind in ChannelKind::ALL {
        let mut codec = codec(kind);
        let hello = codec.due(&plan).unwrap();
        assert_eq!(written(&mut codec, &hello), []);
        assert_eq!(codec.due(&plan), None, "nothing before the answer");
        assert_eq!(codec.state().phase, ChannelPhase::Starting);
        let error = match kind {
            ChannelKind::ClaudeStdio => json!({
                "type": "control_response",
                "response": {"subtype": "error", "request_id": "coven-1", "error": "too old"},
            }),
            _ => json!({"id": 1, "error": {"code": -32000, "message": "too old"}}),
        };
        let (message, error_text) = ("initialize".to_owned(), "too old".to_owned());
        assert_eq!(
            printed(&mut codec, &error),
            [ChannelEvent::Failed { message, error: error_text }]
        );
        assert_eq!(codec.state().phase, ChannelPhase::Failed);
        assert_eq!(codec.due(&plan), None);
        let prompt = ChannelOrder::Prompt { text: "go".to_owned() };
        assert_eq!(codec.say(&prompt), Err(ChannelRefusal::NotReady));
    }
}

#[test]
fn a_prompt_that_is_refused_ends_its_turn() {
    for kind in [ChannelKind::CodexAppServer, ChannelKind::Acp] {
        let mut codec = working(kind);
        let error = json!({"id": 3, "error": {"code": -32603, "message": "no model"}});
        let events = printed(&mut codec, &error);
        let ending = TurnEnding::Failed { error: "no model".to_owned() };
        assert!(matches!(&events[0], ChannelEvent::Failed { error, .. } if error == "no model"));
        assert!(matches!(&events[1], ChannelEvent::Idle(turn) if turn.ending == ending));
        // What follows is for a person to decide.
        let plan = ChannelPlan {
            prompts: vec!["do it".to_owned(), "more".to_owned()],
            ..ChannelPlan::default()
        };
        assert_eq!(codec.due(&plan), None);
        assert!(codec.say(&ChannelOrder::Prompt { text: "more".to_owned() }).is_ok());
    }
}

#[test]
fn nothing_is_said_while_a_message_is_half_written() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        printed(&mut codec, &permission(kind, 1, "ls"));
        let order = approve(request_id(kind, 1));
        let answer = codec.say(&order).unwrap();
        let (half, rest) = answer.bytes.split_at(10);
        written(&mut codec, half);
        assert_eq!(codec.say(&order), Err(ChannelRefusal::Unfinished));
        assert_eq!(codec.due(&ChannelPlan::default()), None);
        written(&mut codec, rest);
        assert_eq!(open(&codec), []);
    }
}

#[test]
fn no_answer_makes_an_agent_stop_asking() {
    let mut codec = working(ChannelKind::Acp);
    printed(&mut codec, &permission(ChannelKind::Acp, 1, "ls"));
    let request = RequestId::Number(1);
    let said = |codec: &ChannelCodec, order: &ChannelOrder| {
        codec.say(order).map(|said| serde_json::from_slice::<Value>(&said.bytes).unwrap())
    };
    let option = |said: &Value| said["result"]["outcome"]["optionId"].as_str().unwrap().to_owned();
    assert_eq!(option(&said(&codec, &approve(request.clone())).unwrap()), "once");
    assert_eq!(option(&said(&codec, &deny(request.clone(), "x")).unwrap()), "no");
    let choose = |value: &str| {
        let answer = QuestionAnswer { question: String::new(), values: vec![value.to_owned()] };
        let decision = ChannelDecision::Choose { answers: vec![answer] };
        ChannelOrder::Answer { request: RequestId::Number(1), decision }
    };
    for lasting in ["always", "once_and_switch"] {
        let option = lasting.to_owned();
        assert_eq!(said(&codec, &choose(lasting)), Err(ChannelRefusal::Lasting { option }));
        let options = ChannelOptions { approve: Some(lasting.to_owned()), deny: None };
        codec.options = options;
        assert!(said(&codec, &approve(request.clone())).is_err());
    }
    let answer = "none".to_owned();
    assert_eq!(said(&codec, &choose("none")), Err(ChannelRefusal::NotOffered { answer }));
    // An id of the adapter that this agent does not offer is passed over.
    codec.options = ChannelOptions { approve: Some("proceed_once".to_owned()), deny: None };
    assert_eq!(option(&said(&codec, &approve(request)).unwrap()), "once");
}

#[test]
fn an_interrupt_names_the_turn_and_answers_what_is_open() {
    for kind in ChannelKind::ALL {
        assert_eq!(codec(kind).say(&ChannelOrder::Interrupt), Err(ChannelRefusal::NoTurn));
        let mut codec = working(kind);
        printed(&mut codec, &permission(kind, 1, "ls"));
        let said = codec.say(&ChannelOrder::Interrupt).unwrap();
        let text = String::from_utf8(said.bytes.clone()).unwrap();
        match kind {
            ChannelKind::ClaudeStdio => assert!(text.contains(r#""subtype":"interrupt""#)),
            ChannelKind::CodexAppServer => assert!(text.contains(r#""turnId":"U""#)),
            ChannelKind::Acp => {
                assert!(text.contains("session/cancel") && text.contains("cancelled"));
                written(&mut codec, &said.bytes);
                assert_eq!(open(&codec), []);
            }
        }
    }
}

#[test]
fn an_agent_in_another_mode_than_wanted_gets_no_prompt() {
    let plan = ChannelPlan {
        mode: Some("default".to_owned()),
        prompts: vec!["go".to_owned()],
        ..ChannelPlan::default()
    };
    let mut codec = codec(ChannelKind::ClaudeStdio);
    let hello = codec.due(&plan).unwrap();
    written(&mut codec, &hello);
    let ready = json!({"type": "control_response", "response": {
        "subtype": "success", "request_id": "coven-1",
        "response": {"current_permission_mode": "acceptEdits"},
    }});
    printed(&mut codec, &ready);
    assert_eq!(codec.state().phase, ChannelPhase::Idle);
    let mode = codec.due(&plan).unwrap();
    assert!(String::from_utf8_lossy(&mode).contains("set_permission_mode"));
    written(&mut codec, &mode);
    assert_eq!(codec.due(&plan), None);
    let refused = json!({"type": "control_response", "response": {
        "subtype": "error", "request_id": "coven-2", "error": "no such mode",
    }});
    printed(&mut codec, &refused);
    assert_eq!(codec.state().phase, ChannelPhase::Failed);
    assert_eq!(codec.due(&plan), None);
}

#[test]
fn a_turn_of_codex_that_is_over_does_not_begin_again() {
    let kind = ChannelKind::CodexAppServer;
    let mut codec = working(kind);
    printed(&mut codec, &end_of_turn(kind));
    let late = json!({"method": "turn/started", "params": {"threadId": "T", "turn": {"id": "U"}}});
    assert_eq!(printed(&mut codec, &late), []);
    let other = json!({"method": "turn/started", "params": {"threadId": "X", "turn": {"id": "V"}}});
    assert_eq!(printed(&mut codec, &other), []);
    assert_eq!(codec.state().phase, ChannelPhase::Idle);
    let own = json!({"method": "turn/started", "params": {"threadId": "T", "turn": {"id": "W"}}});
    assert_eq!(printed(&mut codec, &own), [ChannelEvent::Working]);
    // The end of the turn before does not end this one.
    assert_eq!(printed(&mut codec, &end_of_turn(kind)), []);
    assert_eq!(codec.state().phase, ChannelPhase::Working);
}

#[test]
fn a_file_change_of_codex_is_asked_with_its_changes() {
    let mut codec = working(ChannelKind::CodexAppServer);
    let changes = json!([{"path": "a", "kind": {"type": "add"}, "diff": "+x"}]);
    let item = json!({"type": "fileChange", "id": "F", "changes": changes});
    printed(&mut codec, &json!({"method": "item/started", "params": {"item": item}}));
    let asks = |id: i64, method: &str, params: Value| json!({"id": id, "method": method, "params": params});
    printed(&mut codec, &asks(1, "item/fileChange/requestApproval", json!({"itemId": "F"})));
    assert_eq!(codec.open().next().unwrap().input["changes"], changes);
    let permissions = json!({"network": {"enabled": true}});
    let params = json!({"itemId": "P", "permissions": permissions});
    printed(&mut codec, &asks(2, "item/permissions/requestApproval", params));
    let question = json!({"id": "q", "question": "Why?", "isSecret": true, "options": null});
    let params = json!({"itemId": "Q", "questions": [question]});
    printed(&mut codec, &asks(3, "item/tool/requestUserInput", params));
    let result = |order: &ChannelOrder| {
        let said = codec.say(order).unwrap();
        serde_json::from_slice::<Value>(&said.bytes).unwrap()["result"].clone()
    };
    assert_eq!(result(&approve(RequestId::Number(1))), json!({"decision": "accept"}));
    assert_eq!(
        result(&approve(RequestId::Number(2))),
        json!({"permissions": permissions, "scope": "turn"})
    );
    let answer = QuestionAnswer { question: "q".to_owned(), values: vec!["because".to_owned()] };
    let decision = ChannelDecision::Choose { answers: vec![answer] };
    let chosen = ChannelOrder::Answer { request: RequestId::Number(3), decision };
    assert_eq!(result(&chosen), json!({"answers": {"q": {"answers": ["because"]}}}));
    assert!(codec.open().last().unwrap().action().secret);
    let question = "Why?".to_owned();
    assert_eq!(
        codec.say(&approve(RequestId::Number(3))),
        Err(ChannelRefusal::MissingAnswer { question })
    );
}

/// A request whose id is null waits for an answer as well, and a notification that writes one does
/// not mind it.
#[test]
fn a_request_with_null_as_its_id_is_answered_with_an_error() {
    for kind in [ChannelKind::CodexAppServer, ChannelKind::Acp] {
        let mut codec = working(kind);
        let mut asked = permission(kind, 1, "ls");
        asked["id"] = Value::Null;
        assert!(is_unknown(&printed(&mut codec, &asked)), "{kind}");
        assert_eq!(open(&codec), []);
        let due = codec.due(&ChannelPlan::default()).unwrap();
        let error: Value = serde_json::from_slice(&due).unwrap();
        assert!(error["id"].is_null() && error["error"]["code"] == -32601, "{error}");
        written(&mut codec, &due);
        assert_eq!(codec.due(&ChannelPlan::default()), None, "{kind}: once");
    }
}

#[test]
fn words_that_came_after_the_end_of_their_turn_are_handed_back() {
    let mut codec = working(ChannelKind::CodexAppServer);
    printed(&mut codec, &permission(ChannelKind::CodexAppServer, 1, "ls"));
    let request = codec.open().next().unwrap().request.clone();
    let decision = ChannelDecision::Deny { text: Some("use a branch".to_owned()) };
    let said = codec.say(&ChannelOrder::Answer { request, decision }).unwrap();
    written(&mut codec, &said.bytes);
    let line = said.bytes.split_inclusive(|byte| *byte == b'\n').nth(1).unwrap();
    let steer: Value = serde_json::from_slice(line).unwrap();
    assert_eq!(steer["method"], "turn/steer");
    printed(&mut codec, &end_of_turn(ChannelKind::CodexAppServer));
    // What is saved of the codec has them too.
    let saved = serde_json::to_string(&codec).unwrap();
    let mut codec: ChannelCodec = serde_json::from_str(&saved).unwrap();
    let error = json!({"id": steer["id"], "error": {"code": -32600, "message": "no active turn"}});
    let told = printed(&mut codec, &error);
    assert_eq!(told, [ChannelEvent::Unheard { text: "use a branch".to_owned() }]);
}
