//! Whole conversations with agents that are played by a few lines, folded again after every
//! message as after a kill of the daemon.

use super::*;

/// What a played agent answers to a message.
type PlayedAgent = fn(&Value) -> Vec<Value>;

/// A codec, and everything that was said so far.
struct Conversation {
    codec: ChannelCodec,
    tape: Vec<Record>,
    agent: PlayedAgent,
    events: Vec<ChannelEvent>,
}

impl Conversation {
    fn new(kind: ChannelKind, agent: PlayedAgent) -> Self {
        Self { codec: codec(kind), tape: Vec::new(), agent, events: Vec::new() }
    }

    fn record(&mut self, direction: ChannelDirection, message: Value) {
        let record = Record::new(direction, message);
        self.events.extend(feed(&mut self.codec, direction, &record.bytes));
        self.tape.push(record);
        let mut again = codec(self.codec.kind());
        feed_all(&mut again, &self.tape);
        assert_eq!(
            serde_json::to_value(&again).unwrap(),
            serde_json::to_value(&self.codec).unwrap()
        );
    }

    fn write(&mut self, bytes: &[u8]) {
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let message: Value = serde_json::from_slice(line).unwrap();
            self.record(ChannelDirection::In, message.clone());
            for answer in (self.agent)(&message) {
                self.record(ChannelDirection::Out, answer);
            }
        }
    }

    /// Writes everything that is due.
    fn run(&mut self, plan: &ChannelPlan) {
        while let Some(bytes) = self.codec.due(plan) {
            self.write(&bytes);
        }
    }

    fn say(&mut self, order: &ChannelOrder) -> Option<String> {
        let said = self.codec.say(order).unwrap();
        self.write(&said.bytes);
        said.next_prompt
    }

    fn endings(&self) -> Vec<(&TurnEnding, String)> {
        let turns = self.events.iter().filter_map(|event| match event {
            ChannelEvent::Idle(turn) => Some(turn),
            _ => None,
        });
        let output = |turn: &'_ TurnOutcome| turn.output.as_ref().map(|output| output.text.clone());
        turns.map(|turn| (&turn.ending, output(turn).unwrap_or_default())).collect()
    }

    fn written(&self) -> Vec<String> {
        let written = self.tape.iter().filter(|record| record.direction == ChannelDirection::In);
        let name = |record: &Record| {
            let message = &record.message;
            let names = [&message["method"], &message["request"]["subtype"], &message["type"]];
            names.into_iter().find_map(Value::as_str).unwrap_or("answer").to_owned()
        };
        written.map(name).collect()
    }
}

fn plan(mode: &str, prompts: &[&str]) -> ChannelPlan {
    ChannelPlan {
        cwd: Some("/work".to_owned()),
        mode: Some(mode.to_owned()),
        prompts: prompts.iter().map(ToString::to_string).collect(),
        ..ChannelPlan::default()
    }
}

/// The prompt says what the agent does: `ask` asks, anything else is answered with itself.
fn claude(message: &Value) -> Vec<Value> {
    let result = |text: &str| json!({"type": "result", "subtype": "success", "is_error": false, "result": text});
    let init = json!({"type": "system", "subtype": "init", "session_id": "S", "model": "M"});
    match message["type"].as_str().unwrap() {
        "control_request" => vec![json!({
            "type": "control_response",
            "response": {"subtype": "success", "request_id": message["request_id"], "response": {}},
        })],
        "user" if message["message"]["content"] == "ask" => {
            let unknown = json!({
                "type": "control_request", "request_id": "X", "request": {"subtype": "mcp_message"},
            });
            vec![init, unknown, permission(ChannelKind::ClaudeStdio, 1, "ls")]
        }
        "user" => vec![init, result(message["message"]["content"].as_str().unwrap())],
        "control_response" if message["response"]["subtype"] == "error" => Vec::new(),
        _ => vec![result(&message["response"]["response"].to_string())],
    }
}

#[test]
fn a_conversation_with_claude_runs_to_its_end() {
    let mut talk = Conversation::new(ChannelKind::ClaudeStdio, claude);
    let plan = plan("plan", &["ask", "two"]);
    talk.run(&plan);
    assert_eq!(talk.codec.state().phase, ChannelPhase::Awaiting);
    assert_eq!(open(&talk.codec), [request_id(ChannelKind::ClaudeStdio, 1)]);
    let deny = deny(request_id(ChannelKind::ClaudeStdio, 1), "use printf");
    assert_eq!(talk.say(&deny), None);
    talk.run(&plan);
    let denied = r#"{"behavior":"deny","message":"use printf"}"#;
    assert_eq!(
        talk.endings(),
        [(&TurnEnding::Completed, denied.to_owned()), (&TurnEnding::Completed, "two".to_owned())]
    );
    assert_eq!(
        talk.written(),
        [
            "initialize",
            "set_permission_mode",
            "user",
            "control_response",
            "control_response",
            "user"
        ]
    );
    assert_eq!(talk.codec.session(), Some("S"));
}

fn codex(message: &Value) -> Vec<Value> {
    let turn = |id: &Value| json!({"threadId": "T", "turn": {"id": id, "status": "completed"}});
    let done = |text: &str, id: &Value| {
        let item = json!({"type": "agentMessage", "id": "M", "text": text});
        vec![
            json!({"method": "item/completed", "params": {"threadId": "T", "item": item}}),
            json!({"method": "turn/completed", "params": turn(id)}),
        ]
    };
    let result = |result: Value| json!({"id": message["id"], "result": result});
    match message["method"].as_str() {
        Some("initialize") => vec![result(json!({"userAgent": "codex"}))],
        Some("thread/start") => vec![result(json!({"thread": {"id": "T"}, "model": "M"}))],
        Some("turn/start") => {
            let text = message["params"]["input"][0]["text"].as_str().unwrap();
            let id = json!(format!("turn of {text}"));
            let mut said = vec![
                result(json!({"turn": {"id": id}})),
                json!({"method": "turn/started", "params": turn(&id)}),
            ];
            if text == "ask" {
                said.push(json!({"id": 7, "method": "attestation/generate", "params": {}}));
                said.push(permission(ChannelKind::CodexAppServer, 8, "/bin/bash -lc 'ls -l'"));
            } else {
                said.extend(done(text, &id));
            }
            said
        }
        Some("turn/steer") => {
            let mut said = vec![result(json!({}))];
            assert_eq!(message["params"]["expectedTurnId"], "turn of ask");
            let text = message["params"]["input"][0]["text"].as_str().unwrap();
            said.extend(done(text, &json!("turn of ask")));
            said
        }
        _ => Vec::new(),
    }
}

#[test]
fn a_conversation_with_codex_runs_to_its_end() {
    let mut talk = Conversation::new(ChannelKind::CodexAppServer, codex);
    let plan = plan("workspace-write/never", &["ask", "two"]);
    talk.run(&plan);
    let question = talk.codec.open().next().unwrap().clone();
    assert_eq!(question.command.as_deref(), Some("ls -l"));
    assert_eq!(talk.say(&deny(question.request, "use printf")), None);
    talk.run(&plan);
    assert_eq!(
        talk.endings(),
        [
            (&TurnEnding::Completed, "use printf".to_owned()),
            (&TurnEnding::Completed, "two".to_owned())
        ]
    );
    assert_eq!(
        talk.written(),
        [
            "initialize",
            "initialized",
            "thread/start",
            "turn/start",
            "answer",
            "answer",
            "turn/steer",
            "turn/start"
        ]
    );
    let begun = &talk.tape.iter().find(|said| said.message["method"] == "thread/start").unwrap();
    assert_eq!(
        begun.message["params"],
        json!({"cwd": "/work", "sandbox": "workspace-write", "approvalPolicy": "never"})
    );
}

fn acp(message: &Value) -> Vec<Value> {
    let result = |id: &Value, result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let say = |text: &str| {
        let update = json!({
            "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text},
        });
        let params = json!({"sessionId": "S", "update": update});
        json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
    };
    let id = &message["id"];
    match message["method"].as_str() {
        Some("initialize") => vec![result(id, json!({"protocolVersion": 1}))],
        Some("session/new") => {
            let modes = json!({"currentModeId": "auto", "availableModes": []});
            vec![result(id, json!({"sessionId": "S", "modes": modes}))]
        }
        Some("session/set_mode") => vec![result(id, json!({}))],
        Some("session/prompt") => {
            let text = message["params"]["prompt"][0]["text"].as_str().unwrap();
            if text == "ask" {
                let unknown =
                    json!({"jsonrpc": "2.0", "id": 70, "method": "craft/drainMidTurnQueue"});
                return vec![unknown, permission(ChannelKind::Acp, 71, "ls")];
            }
            vec![say(text), result(id, json!({"stopReason": "end_turn"}))]
        }
        None if message["result"]["outcome"]["optionId"] == "no" => {
            vec![say("denied"), result(&json!(4), json!({"stopReason": "end_turn"}))]
        }
        _ => Vec::new(),
    }
}

#[test]
fn a_conversation_over_acp_runs_to_its_end() {
    let mut talk = Conversation::new(ChannelKind::Acp, acp);
    let mut plan = plan("default", &["ask"]);
    talk.run(&plan);
    let next = talk.say(&deny(RequestId::Number(71), "use printf"));
    assert_eq!(next.as_deref(), Some("use printf"));
    plan.prompts.extend(next);
    talk.run(&plan);
    assert_eq!(
        talk.endings(),
        [
            (&TurnEnding::Completed, "denied".to_owned()),
            (&TurnEnding::Completed, "use printf".to_owned())
        ]
    );
    assert_eq!(
        talk.written(),
        [
            "initialize",
            "session/new",
            "session/set_mode",
            "session/prompt",
            "answer",
            "answer",
            "session/prompt"
        ]
    );
    let modes = talk.events.iter().filter(|event| matches!(event, ChannelEvent::Mode { .. }));
    assert_eq!(modes.count(), 2);
}
