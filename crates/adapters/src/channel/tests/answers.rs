//! The words of answers, read from what was written to the agent.

use super::*;

/// What people read of an answer, and what else is told with it.
fn words(events: &[ChannelEvent]) -> (String, Vec<String>) {
    let mut answer = String::new();
    let mut prompts = Vec::new();
    for event in events {
        match event {
            ChannelEvent::Resolved { answer: Some(words), .. } => answer.clone_from(&words.text),
            ChannelEvent::Item { item: TranscriptItem::Prompt { text } } => {
                prompts.push(text.text.clone());
            }
            other => panic!("{other:?}"),
        }
    }
    (answer, prompts)
}

/// Asks a question and gives an answer.
fn answered(
    codec: &mut ChannelCodec,
    question: &Value,
    decision: ChannelDecision,
) -> (String, Vec<String>) {
    printed(codec, question);
    let request = codec.open().next().unwrap().request.clone();
    let said = codec.say(&ChannelOrder::Answer { request, decision }).unwrap();
    words(&written(codec, &said.bytes))
}

#[test]
fn a_question_that_takes_its_choices_alone_takes_no_other_text() {
    for (other, taken) in [(json!(false), false), (json!(true), true), (Value::Null, true)] {
        let mut codec = working(ChannelKind::CodexAppServer);
        let question = json!({
            "id": "a", "header": "H", "question": "Which?", "isOther": other, "isSecret": false,
            "options": [{"label": "Red", "description": "d"}, {"label": "Blue", "description": "e"}],
        });
        let params =
            json!({"threadId": "T", "turnId": "U", "itemId": "q", "questions": [question]});
        let message = json!({"id": 9, "method": "item/tool/requestUserInput", "params": params});
        printed(&mut codec, &message);
        let choose = |value: &str| {
            let answers =
                vec![QuestionAnswer { question: "a".to_owned(), values: vec![value.to_owned()] }];
            let decision = ChannelDecision::Choose { answers };
            codec.say(&ChannelOrder::Answer { request: RequestId::Number(9), decision })
        };
        assert!(choose("Red").is_ok());
        let answer = "Purple".to_owned();
        let refused = Err(ChannelRefusal::NotOffered { answer });
        assert!(choose("Purple").is_ok() == taken && (taken || choose("Purple") == refused));
    }
}

#[test]
fn an_approval_and_a_denial_are_told_with_the_reason_that_was_given() {
    for kind in ChannelKind::ALL {
        let mut codec = working(kind);
        let mut give = |id, decision| answered(&mut codec, &permission(kind, id, "ls"), decision);
        let plain = |words: &str| (words.to_owned(), Vec::<String>::new());
        assert_eq!(give(11, ChannelDecision::Approve), plain("approved"), "{kind}");
        assert_eq!(give(12, ChannelDecision::Deny { text: None }), plain("denied"), "{kind}");
        let told = give(13, ChannelDecision::Deny { text: Some("use a branch".to_owned()) });
        match kind {
            ChannelKind::ClaudeStdio => assert_eq!(told, plain("denied: use a branch")),
            ChannelKind::CodexAppServer => {
                assert_eq!(told, ("denied".to_owned(), vec!["use a branch".to_owned()]));
            }
            // There it is the next prompt.
            ChannelKind::Acp => assert_eq!(told, plain("denied")),
        }
    }
}

fn choose(answers: &[(&str, &[&str])]) -> ChannelDecision {
    let answer = |(question, values): &(&str, &[&str])| QuestionAnswer {
        question: (*question).to_owned(),
        values: values.iter().map(|&value| value.to_owned()).collect(),
    };
    ChannelDecision::Choose { answers: answers.iter().map(answer).collect() }
}

#[test]
fn what_was_chosen_is_told_and_with_its_question_where_there_are_several() {
    let mut codec = working(ChannelKind::ClaudeStdio);
    let asked = |text: &str| {
        let options = json!([{"label": "Red"}, {"label": "Blue"}]);
        json!({"question": text, "header": "H", "options": options, "multiSelect": true})
    };
    let question = |id: &str, questions: &[Value]| {
        json!({"type": "control_request", "request_id": id, "request": {
            "subtype": "can_use_tool", "tool_name": "AskUserQuestion",
            "input": {"questions": questions},
        }})
    };
    let one = question("one", &[asked("Which?")]);
    let told = answered(&mut codec, &one, choose(&[("Which?", &["Red", "Blue"])]));
    assert_eq!(told.0, "answered: Red, Blue");
    let two = question("two", &[asked("Which?"), asked("Where?")]);
    let told = answered(&mut codec, &two, choose(&[("Which?", &["Red"]), ("Where?", &["here"])]));
    assert_eq!(told.0, "answered:\nWhich?: Red\nWhere?: here");
}

#[test]
fn an_answer_that_must_not_be_recorded_is_not_told() {
    let mut codec = working(ChannelKind::CodexAppServer);
    let question = |id: u32, secret: bool| {
        let asked = json!({"id": "q", "question": "Which?", "header": "H", "isSecret": secret});
        let params = json!({"threadId": "T", "turnId": "U", "itemId": "I", "questions": [asked]});
        json!({"id": id, "method": "item/tool/requestUserInput", "params": params})
    };
    let told = answered(&mut codec, &question(1, false), choose(&[("q", &["Blue"])]));
    assert_eq!(told.0, "answered: Blue");
    let told = answered(&mut codec, &question(2, true), choose(&[("q", &["hunter2"])]));
    assert_eq!(told.0, "answered: (a secret)");
}

#[test]
fn an_option_of_an_agent_is_told_by_its_name_and_a_question_that_is_called_off_as_such() {
    let mut codec = working(ChannelKind::Acp);
    printed(&mut codec, &permission(ChannelKind::Acp, 7, "ls"));
    let chosen = json!({"jsonrpc": "2.0", "id": 7, "result": {
        "outcome": {"outcome": "selected", "optionId": "always"},
    }});
    assert_eq!(words(&written(&mut codec, &json_rpc::json_line(&chosen))).0, "answered: Always");
    printed(&mut codec, &permission(ChannelKind::Acp, 8, "ls"));
    let cancelled =
        json!({"jsonrpc": "2.0", "id": 8, "result": {"outcome": {"outcome": "cancelled"}}});
    assert_eq!(words(&written(&mut codec, &json_rpc::json_line(&cancelled))).0, "cancelled");
    printed(&mut codec, &permission(ChannelKind::Acp, 9, "ls"));
    let error = json!({"jsonrpc": "2.0", "id": 9, "error": {"code": -32601, "message": "no"}});
    assert_eq!(words(&written(&mut codec, &json_rpc::json_line(&error))).0, "refused");
}
