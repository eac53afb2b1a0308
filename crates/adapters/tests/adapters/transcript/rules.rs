//! How success is decided, and how the parts of each format are read that no sample has.

use coven_adapters::transcript::{TranscriptDecoder, TranscriptFormat, TranscriptItem};
use coven_model::{ProcessEnding, TokenUsage};
use serde_json::{Value, json};

use super::{Read, Sample, exit, printed, read};

fn lines(format: TranscriptFormat, events: &[Value]) -> Read {
    let text: String = events.iter().map(|event| format!("{event}\n")).collect();
    printed(format, &text)
}

/// The entries as lines of JSON, without the lines that were not understood: the order of fields
/// in those is up to how the test was built.
fn shown(read: &Read) -> String {
    let lines = read.entries.iter().map(|entry| match entry {
        TranscriptItem::Unknown { .. } => "unknown".to_owned(),
        entry => serde_json::to_string(entry).unwrap(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_success_needs_a_good_ending_and_a_good_result() {
    let good = Sample::find("claude-stream-json");
    let endings = [
        (exit(0), true, "the agent says it is done; 1 tool use was denied: Bash"),
        (ProcessEnding::Alive, true, "the agent says it is done; 1 tool use was denied: Bash"),
        (
            exit(1),
            false,
            "exit code 1, although the agent says it is done; 1 tool use was denied: Bash",
        ),
        (
            ProcessEnding::Signalled { signal: 15 },
            false,
            "ended by signal 15, although the agent says it is done; 1 tool use was denied: Bash",
        ),
        (
            ProcessEnding::TimedOut,
            false,
            "timed out, although the agent says it is done; 1 tool use was denied: Bash",
        ),
        (
            ProcessEnding::Stopped,
            false,
            "stopped, although the agent says it is done; 1 tool use was denied: Bash",
        ),
        (
            ProcessEnding::Lost,
            false,
            "lost, although the agent says it is done; 1 tool use was denied: Bash",
        ),
    ];
    for (ending, ok, reason) in endings {
        let read = good.read_with(&ending);
        assert_eq!((read.conclusion.ok, read.conclusion.reason.as_str()), (ok, reason));
        assert!(read.conclusion.complete);
        assert_eq!(read.answer(), Some("All done: the tool ran and returned a result."));
    }
    let nothing = |ending| {
        read(TranscriptDecoder::new(TranscriptFormat::CodexJson), &[], &ending).conclusion.reason
    };
    assert_eq!(nothing(exit(0)), "ended without a result (exit code 0)");
    assert_eq!(nothing(ProcessEnding::NotStarted), "could not be started");
    assert_eq!(nothing(ProcessEnding::TimedOut), "timed out");
    assert_eq!(nothing(ProcessEnding::Alive), "ended without a result (still running)");
}

#[test]
fn text_is_judged_by_its_exit_code_alone() {
    let run = |ending, codes: &[i32]| {
        let decoder =
            TranscriptDecoder::new(TranscriptFormat::Text).accepting(codes.iter().copied());
        read(decoder, &[(b"10%\r100%\n\x1b[1mdone\x1b[0m\n", b"oh no\n")], &ending)
    };
    let good = run(exit(0), &[0]);
    assert_eq!((good.conclusion.ok, good.answer()), (true, Some("100%\ndone")));
    assert_eq!((good.conclusion.reason.as_str(), good.conclusion.complete), ("exit code 0", false));
    assert!(run(exit(3), &[0, 3]).conclusion.ok);
    assert_eq!(run(exit(3), &[0]).conclusion.reason, "exit code 3: oh no");
    for ending in [
        ProcessEnding::TimedOut,
        ProcessEnding::Alive,
        ProcessEnding::Lost,
        ProcessEnding::Signalled { signal: 9 },
    ] {
        assert!(!run(ending, &[0]).conclusion.ok);
    }
    // Other formats need their result all the same.
    let decoder = TranscriptDecoder::new(TranscriptFormat::CodexJson).accepting([3]);
    assert!(!read(decoder, &[], &exit(3)).conclusion.ok);
}

#[test]
fn what_was_said_outside_the_format_explains_a_failure() {
    let run = |format, stdout: &str, stderr: &str, code| {
        let pieces = [(stdout.as_bytes(), stderr.as_bytes())];
        read(TranscriptDecoder::new(format), &pieces, &exit(code)).conclusion.reason
    };
    let gemini = TranscriptFormat::GeminiStreamJson;
    assert_eq!(
        run(gemini, "", "True color not detected\nInvalid auth method selected.\n", 41),
        "exit code 41 (not logged in): Invalid auth method selected."
    );
    assert_eq!(
        run(TranscriptFormat::ClaudeStreamJson, "Execution error\n", "", 0),
        "ended without a result (exit code 0): Execution error"
    );
    // A stopped Gemini exits with 0 and says nothing.
    let init = "{\"type\":\"init\",\"session_id\":\"s\",\"model\":\"m\"}\n";
    assert_eq!(
        run(gemini, init, "Ripgrep is not available.\n", 0),
        "ended without a result (exit code 0)"
    );
}

#[test]
fn a_resumed_conversation_is_charged_once() {
    let usage = |sample: &str| Sample::find(sample).read().conclusion.usage;
    let claude = usage("claude-resume");
    assert_eq!(claude.cost_usd.unwrap().to_string(), "$0.0063");
    assert_eq!((claude.input_tokens, claude.output_tokens), (Some(2234), Some(56)));
    assert_eq!(usage("codex-resume"), usage("codex-json"));

    // An agent that did not count on after all is taken at its word.
    let sample = Sample::find("codex-json");
    let more = TokenUsage { input_tokens: Some(1_000_000), ..TokenUsage::default() };
    let decoder = TranscriptDecoder::new(sample.format).resumed_from(more);
    let read = read(decoder, &[(&sample.stdout, b"")], &exit(0));
    assert_eq!(read.conclusion.usage.input_tokens, Some(1234));
}

#[test]
fn several_turns_in_one_process_add_up() {
    let result = |uuid: &str, cost: f64, input: u64| {
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "a", "uuid": uuid,
               "total_cost_usd": cost, "usage": {"input_tokens": input, "output_tokens": 1}})
    };
    let turns = [result("1", 0.25, 10), result("2", 0.75, 5), result("2", 0.75, 5)];
    let usage = lines(TranscriptFormat::ClaudeStreamJson, &turns).conclusion.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(15), Some(2)));
    assert_eq!(usage.cost_usd.unwrap().to_string(), "$0.75");
}

#[test]
fn a_run_that_never_came_to_its_result_still_used_something() {
    let message = |id: &str, input: u64| {
        json!({"type": "assistant", "message": {"id": id, "content": [{"type": "text", "text": "."}],
               "usage": {"input_tokens": input, "output_tokens": 2}}})
    };
    let events = [message("a", 10), message("a", 10), message("b", 7), message("a", 12)];
    let read = lines(TranscriptFormat::ClaudeStreamJson, &events);
    let usage = read.conclusion.usage;
    assert_eq!(
        (usage.input_tokens, usage.output_tokens, usage.cost_usd),
        (Some(19), Some(4), None)
    );
}

#[test]
fn claude_retries_thinking_and_odd_parts_are_read() {
    let read = lines(
        TranscriptFormat::ClaudeStreamJson,
        &[
            json!({"type": "system", "subtype": "api_retry", "attempt": 2, "max_retries": 10,
                   "retry_delay_ms": 1234.5, "error_status": 529}),
            json!({"type": "assistant", "message": {"content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "image"}]}}),
            json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]}]}}),
            json!({"type": "system", "subtype": "compact_boundary"}),
            json!({"type": "result", "subtype": "error_max_turns", "is_error": true}),
        ],
    );
    insta::assert_snapshot!(shown(&read), @r#"
    {"type":"retry","attempt":2,"max":10,"delayMs":1234,"status":529}
    {"type":"thinking","text":{"text":"hm"}}
    {"type":"text","text":{"text":"a"},"delta":false}
    unknown
    {"type":"tool-result","ok":true,"output":{"text":"b\nc"}}
    unknown
    {"type":"result","ok":false,"text":{"text":"error_max_turns"}}
    "#);
    assert!(read.unknown()[0].contains("image") && read.unknown()[1].contains("compact_boundary"));
    assert_eq!(read.conclusion.reason, "the agent says it failed: error_max_turns");
    assert!(read.conclusion.complete);
}

#[test]
fn what_qwen_says_after_a_resume_counts_over_the_whole_conversation() {
    let event = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "done",
        "usage": {"input_tokens": 3600, "cache_read_input_tokens": 3000, "output_tokens": 150},
    });
    let usage = |input, cached, output| TokenUsage {
        input_tokens: Some(input),
        cached_tokens: Some(cached),
        output_tokens: Some(output),
        ..TokenUsage::default()
    };
    let mut decoder = TranscriptDecoder::new(TranscriptFormat::QwenStreamJson)
        .resumed_from(usage(2400, 2000, 100));
    decoder.feed_stdout(format!("{event}\n").as_bytes(), &mut |_| {});
    let conclusion = decoder.finish(&ProcessEnding::Exited { code: 0 }, &mut |_| {});
    assert_eq!(conclusion.usage, usage(1200, 1000, 50));
}

#[test]
fn a_list_of_events_is_read_like_its_events() {
    let sample = Sample::find("qwen-positional-yolo");
    let text = String::from_utf8(sample.stdout.clone()).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (one, many) = (json!(events).to_string(), serde_json::to_string_pretty(&events).unwrap());
    for list in [one, many] {
        let read = printed(sample.format, &list);
        assert_eq!(read.entries, sample.read().entries);
        assert!(read.conclusion.ok);
    }
}

#[test]
fn codex_items_of_every_kind_are_read() {
    let item = |event: &str, item: Value| json!({"type": event, "item": item});
    let read = lines(
        TranscriptFormat::CodexJson,
        &[
            item("item.completed", json!({"id": "1", "type": "reasoning", "text": "hm"})),
            item(
                "item.completed",
                json!({"id": "2", "type": "command_execution", "command": "rm x",
                "aggregated_output": "", "exit_code": null, "status": "declined"}),
            ),
            item(
                "item.started",
                json!({"id": "3", "type": "mcp_tool_call", "server": "s", "tool": "t",
                "arguments": {"a": 1}, "status": "in_progress"}),
            ),
            item("item.updated", json!({"id": "3"})),
            item(
                "item.completed",
                json!({"id": "3", "type": "mcp_tool_call", "server": "s", "tool": "t",
                "error": {"message": "no"}, "status": "failed"}),
            ),
            item(
                "item.completed",
                json!({"id": "4", "type": "file_change", "status": "completed",
                "changes": [{"kind": "add", "path": "a"}]}),
            ),
            item("item.completed", json!({"id": "5", "type": "todo_list", "items": []})),
            json!({"type": "error", "message": "Reconnecting... 2/5 (stream closed)"}),
            json!({"type": "turn.completed", "usage": {"input_tokens": 1}}),
        ],
    );
    insta::assert_snapshot!(shown(&read), @r#"
    {"type":"thinking","text":{"text":"hm"}}
    {"type":"tool-call","id":"2","name":"shell","input":{"command":"rm x"}}
    {"type":"denial","tool":"shell","detail":"rm x"}
    {"type":"tool-result","id":"2","ok":false,"output":{"text":""}}
    {"type":"tool-call","id":"3","name":"s.t","input":{"a":1}}
    {"type":"tool-result","id":"3","ok":false,"output":{"text":"no"}}
    {"type":"tool-call","id":"4","name":"file_change","input":{"changes":[{"kind":"add","path":"a"}]}}
    {"type":"tool-result","id":"4","ok":true,"output":{"text":""}}
    {"type":"retry","attempt":2,"max":5,"reason":"stream closed"}
    {"type":"usage","usage":{"inputTokens":1},"cumulative":true}
    {"type":"result","ok":true}
    "#);
    assert!(read.conclusion.ok, "{}", read.conclusion.reason);
    assert_eq!(read.conclusion.reason, "the agent says it is done; 1 tool use was denied: shell");
}

#[test]
fn gemini_says_itself_that_it_failed() {
    let failed = json!({"type": "result", "status": "error",
        "error": {"type": "FatalTurnLimitedError", "message": "too many turns"}, "stats": {}});
    let read = lines(TranscriptFormat::GeminiStreamJson, &[failed]);
    assert_eq!(read.conclusion.reason, "the agent says it failed: too many turns");
    let warning = json!({"type": "error", "severity": "warning", "message": "loop"});
    let error = json!({"type": "error", "severity": "error", "message": "quota"});
    let said = json!({"type": "message", "role": "assistant", "content": "all the same"});
    let done = json!({"type": "result", "status": "success"});
    let read = lines(TranscriptFormat::GeminiStreamJson, &[warning, error, said, done]);
    assert!(matches!(read.entries[0], TranscriptItem::Warning { .. }));
    assert!(matches!(read.entries[1], TranscriptItem::Error { fatal: false, .. }));
    assert!(read.conclusion.ok);
}

#[test]
fn opencode_needs_a_stop_without_errors_and_without_unanswered_questions() {
    let format = TranscriptFormat::OpencodeJson;
    let finish =
        |reason: &str| json!({"type": "step_finish", "sessionID": "s", "part": {"reason": reason}});
    assert!(lines(format, &[finish("tool-calls"), finish("stop")]).conclusion.ok);
    assert!(!lines(format, &[finish("stop"), finish("length")]).conclusion.ok);
    let error = json!({"type": "error", "sessionID": "s", "error": {"name": "X"}});
    assert!(!lines(format, &[error, finish("stop")]).conclusion.ok);
    // A helper's conversation is not the agent's.
    let other = json!({"type": "step_finish", "sessionID": "t", "part": {"reason": "stop"}});
    assert!(!lines(format, &[finish("tool-calls"), other]).conclusion.ok);

    let asked = "\u{1b}[93m\u{1b}[1m! \u{1b}[0mpermission requested: bash (ls); auto-rejecting\n";
    let stop = finish("stop").to_string();
    let (stop, asked) = (stop.as_bytes(), asked.as_bytes());
    for pieces in [
        [(stop, &b""[..]), (b"\n", asked)],
        [(&b""[..], asked), (stop, b"")],
        [(asked, b""), (stop, b"")],
    ] {
        let read = read(TranscriptDecoder::new(format), &pieces, &exit(0));
        assert!(!read.conclusion.ok);
        assert_eq!(read.conclusion.denials[0].to_string(), "bash: ls");
        assert_eq!(read.conclusion.denials.len(), 1);
    }
    // A rule that says no is told to the agent, which goes on.
    let rule =
        "The user has specified a rule which prevents you from using this specific tool call.";
    let denied = json!({"type": "tool_use", "sessionID": "s", "part": {"tool": "bash", "callID": "c",
        "state": {"status": "error", "input": {"command": "ls"}, "error": rule}}});
    let read = lines(format, &[denied, finish("stop")]);
    assert_eq!((read.conclusion.ok, read.conclusion.denials.len()), (true, 1));
}

#[test]
fn a_price_opencode_does_not_know_is_not_zero() {
    let finish = |input: u64, cost: Value| {
        json!({"type": "step_finish", "part": {"reason": "stop", "cost": cost,
            "tokens": {"total": input + 8, "input": input, "output": 5, "reasoning": 3,
                       "cache": {"read": 0, "write": 0}}}})
    };
    let usage = lines(TranscriptFormat::OpencodeJson, &[finish(10, json!(0))]).conclusion.usage;
    assert_eq!((usage.cost_usd, usage.output_tokens), (None, Some(8)));
    let both = [finish(10, json!(0.5)), finish(1, json!(0.25))];
    let usage = lines(TranscriptFormat::OpencodeJson, &both).conclusion.usage;
    assert_eq!(usage.cost_usd.unwrap().to_string(), "$0.75");
}

#[test]
fn copilot_is_read_by_its_events_and_its_exit_code() {
    let event = |kind: &str, data: Value| json!({"type": kind, "data": data, "id": "e"});
    let events = [
        event("session.start", json!({"sessionId": "s-1", "selectedModel": "m"})),
        event("user.message", json!({"content": "hi"})),
        event("assistant.turn_start", json!({})),
        event("model.call_start", json!({})),
        event("assistant.message_delta", json!({"deltaContent": "a"})),
        event("assistant.message", json!({"content": "", "toolRequests": []})),
        event(
            "tool.execution_start",
            json!({"toolCallId": "c", "toolName": "bash", "arguments": {"command": "ls"}}),
        ),
        event(
            "permission.completed",
            json!({"toolCallId": "c", "result": {"kind": "denied-by-rules"}}),
        ),
        event(
            "tool.execution_complete",
            json!({"toolCallId": "c", "success": false, "error": {"message": "no"}}),
        ),
        event(
            "assistant.usage",
            json!({"inputTokens": 10, "outputTokens": 2, "cacheReadTokens": 4, "cost": 1}),
        ),
        event("assistant.usage", json!({"inputTokens": 5, "outputTokens": 1})),
        event("assistant.message", json!({"content": "all done"})),
        event("session.custom", json!({})),
    ];
    let result = |code: Value| {
        json!({"type": "result", "sessionId": "s-1", "exitCode": code,
                                      "usage": {"premiumRequests": 1, "totalApiDurationMs": 5}})
    };
    let run = |last: Value| lines(TranscriptFormat::CopilotJson, &[&events[..], &[last]].concat());
    let good = run(result(json!(0)));
    insta::assert_snapshot!(shown(&good), @r#"
    {"type":"session","id":"s-1","model":"m"}
    {"type":"tool-call","id":"c","name":"bash","input":{"command":"ls"}}
    {"type":"denial","tool":"bash","detail":"denied-by-rules"}
    {"type":"tool-result","id":"c","ok":false,"output":{"text":"no"}}
    {"type":"usage","usage":{"inputTokens":10,"cachedTokens":4,"outputTokens":2},"cumulative":false}
    {"type":"usage","usage":{"inputTokens":5,"outputTokens":1},"cumulative":false}
    {"type":"text","text":{"text":"all done"},"delta":false}
    unknown
    {"type":"result","ok":true,"durationMs":5}
    "#);
    assert_eq!((good.conclusion.ok, good.answer()), (true, Some("all done")));
    assert_eq!(good.conclusion.usage.cost_usd, None);
    for code in [json!(1), json!(-1), json!("0"), json!(null), json!(false)] {
        assert!(!run(result(code)).conclusion.ok);
    }
    // It masks its key wherever that occurs, even in the names of fields.
    let masked = json!({"type": "result", "sessionId": "s-1", "e******itCode": 0});
    assert_eq!(
        run(masked).conclusion.reason,
        "the agent says it failed: its result could not be read; 1 tool use was denied: bash"
    );
}

#[test]
fn a_conclusion_is_an_outcome() {
    let outcome = Sample::find("claude-stream-json").read().conclusion.into_outcome(exit(0));
    assert_eq!(outcome.output.as_deref(), Some("All done: the tool ran and returned a result."));
    assert!(
        outcome.denials[0].starts_with("Bash: touch in '/tmp/demo/created.txt' needs approval.")
    );
    assert_eq!(outcome.agent_session.as_deref(), Some("4e791e43-84a5-4668-9c9d-e50be79145ec"));
}

#[test]
fn plans_and_edits_are_told_beside_the_calls_that_have_them() {
    let claude = [
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"TodoWrite","input":{"todos":[{"content":"look","status":"completed"}]}}]}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"2","name":"Edit","input":{"file_path":"a","old_string":"x","new_string":"y"}}]}}"#,
    ];
    let codex = [
        r#"{"type":"item.started","item":{"id":"1","type":"todo_list","items":[{"text":"look","completed":true}]}}"#,
        r#"{"type":"item.started","item":{"id":"2","type":"file_change","changes":[{"path":"a","kind":"update","diff":"-x\n+y\n"}]}}"#,
    ];
    for (format, lines) in
        [(TranscriptFormat::ClaudeStreamJson, claude), (TranscriptFormat::CodexJson, codex)]
    {
        let read = printed(format, &format!("{}\n{}\n", lines[0], lines[1]));
        let plan = read.entries.iter().any(
            |entry| matches!(entry, TranscriptItem::Plan { steps } if steps[0].text == "look"),
        );
        let diff = read.entries.iter().any(|entry| {
            matches!(entry, TranscriptItem::Diff { path: Some(path), added: 1, removed: 1, .. } if path == "a")
        });
        assert!(plan && diff, "{:#?}", read.entries);
    }
}
