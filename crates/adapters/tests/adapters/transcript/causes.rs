//! Why a run failed: the agent's own words are found wherever it puts them, and what its program
//! did not allow is told as such.

use coven_adapters::transcript::{TranscriptDecoder, TranscriptFormat, TranscriptItem};
use coven_model::ProcessEnding;
use serde_json::{Value, json};

use super::{Read, Sample, exit, printed, read};

fn lines(format: TranscriptFormat, events: &[Value]) -> Read {
    let text: String = events.iter().map(|event| format!("{event}\n")).collect();
    printed(format, &text)
}

fn verdict(read: &Read) -> (bool, &str) {
    (read.conclusion.ok, read.conclusion.reason.as_str())
}

#[test]
fn gemini_that_stops_after_an_error_has_failed_though_it_says_success() {
    let format = TranscriptFormat::GeminiStreamJson;
    let said = json!({"type": "message", "role": "assistant", "content": "hm", "delta": true});
    let done = json!({"type": "result", "status": "success", "stats": {}});
    let told = |severity: &str, message: &str| json!({"type": "error", "severity": severity, "message": message});
    let looping = told("warning", "Loop detected, stopping execution");
    let turns = told("error", "Maximum session turns exceeded");
    let blocked = told("warning", "Agent execution blocked: not on a Sunday");
    for (end, words) in [
        (&looping, "Loop detected, stopping execution"),
        (&turns, "Maximum session turns exceeded"),
        (&blocked, "Agent execution blocked: not on a Sunday"),
    ] {
        let run = lines(format, &[said.clone(), end.clone(), done.clone()]);
        let reason = format!("the agent says it failed: {words}");
        assert_eq!(verdict(&run), (false, reason.as_str()));
        assert_eq!(run.results(), [false], "its result is told as what it is");
        assert!(run.conclusion.complete);
    }
    // It went on afterwards, so that was not the end.
    let went_on = lines(format, &[turns, said.clone(), done.clone()]);
    assert!(went_on.conclusion.ok, "{}", went_on.conclusion.reason);
    // A warning of another kind is only a warning.
    let warned = lines(format, &[said, told("warning", "slow model"), done]);
    assert!(warned.conclusion.ok, "{}", warned.conclusion.reason);
}

#[test]
fn the_document_of_gemini_tells_its_end_in_warnings() {
    let document = |warnings: Value| json!({"session_id": "s", "response": "", "stats": {}, "warnings": warnings});
    let looping = document(json!(["slow model", "Loop detected, stopping execution"]));
    let run = lines(TranscriptFormat::GeminiStreamJson, &[looping]);
    assert_eq!(
        verdict(&run),
        (false, "the agent says it failed: Loop detected, stopping execution")
    );
    let stopped = document(json!(["Agent execution stopped: a hook said so"]));
    let run = lines(TranscriptFormat::GeminiStreamJson, &[stopped]);
    assert_eq!(
        verdict(&run),
        (false, "the agent says it failed: Agent execution stopped: a hook said so")
    );
    let mut answered = document(json!(["slow model"]));
    answered["response"] = json!("forty two");
    let run = lines(TranscriptFormat::GeminiStreamJson, &[answered]);
    assert_eq!((run.conclusion.ok, run.answer()), (true, Some("forty two")));
}

#[test]
fn qwen_says_why_in_its_error() {
    let run = Sample::find("qwen-err400").read();
    assert_eq!(verdict(&run), (false, "exit code 1: [API Error: 400 bad request (stub)]"));
    let result = json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
                        "error": {"message": "no such model"}});
    let run = lines(TranscriptFormat::QwenStreamJson, &[result]);
    assert_eq!(verdict(&run), (false, "the agent says it failed: no such model"));
}

#[test]
fn the_output_tokens_of_copilot_are_on_its_messages() {
    let event = |kind: &str, data: Value| json!({"type": kind, "data": data});
    let message = |id: &str, text: &str, tokens: u64| {
        event(
            "assistant.message",
            json!({"messageId": id, "content": text, "outputTokens": tokens}),
        )
    };
    let done = json!({"type": "result", "sessionId": "s", "exitCode": 0});
    let format = TranscriptFormat::CopilotJson;
    let run = lines(format, &[message("a", "", 7), message("b", "done", 5), done.clone()]);
    assert_eq!(run.conclusion.usage.output_tokens, Some(12));
    assert_eq!(run.conclusion.usage.input_tokens, None, "what is not told is not zero");
    // Where usage is told as well, each request counts once.
    let usage = event("assistant.usage", json!({"inputTokens": 40, "outputTokens": 5}));
    let both = lines(format, &[message("a", "done", 5), usage.clone(), done.clone()]);
    let other = lines(format, &[usage, message("a", "done", 5), done]);
    for run in [both, other] {
        assert_eq!(run.conclusion.usage.output_tokens, Some(5));
        assert_eq!(run.conclusion.usage.input_tokens, Some(40));
    }
}

#[test]
fn opencode_ends_normally_for_other_reasons_too() {
    let format = TranscriptFormat::OpencodeJson;
    let finish =
        |reason: &str| json!({"type": "step_finish", "sessionID": "s", "part": {"reason": reason}});
    let text = json!({"type": "text", "sessionID": "s", "part": {"text": "forty two"}});
    let run = lines(format, &[text.clone(), finish("other")]);
    assert_eq!((run.conclusion.ok, run.answer()), (true, Some("forty two")));
    for reason in ["length", "content-filter", "error"] {
        let run = lines(format, &[text.clone(), finish(reason)]);
        let words = format!("the agent says it failed: its last step stopped: {reason}");
        assert_eq!(verdict(&run), (false, words.as_str()));
    }
}

#[test]
fn what_the_program_itself_does_not_allow_is_a_denial() {
    let command = "touch created.txt && echo stub-ran-ok";
    let expected = [
        (
            "claude-denied-rule",
            format!("Bash: Permission to use Bash with command {command} has been denied."),
        ),
        ("codex-denied-rule", "shell: `/usr/bin/bash -lc 'touch created.txt && echo stub-ran-ok'` rejected: policy forbids commands starting with `touch`".to_owned()),
        ("codex-denied-escalation", "shell: approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never".to_owned()),
        ("copilot-denied-ask", "bash: Permission denied because no interactive user response was available. Retry in an interactive session so the user can approve it, or try an alternative that does not require this permission.".to_owned()),
        ("gemini-denied-policy", format!("run_shell_command: {command}")),
        ("qwen-denied-rule", format!("run_shell_command: {command}")),
    ];
    for (sample, denial) in expected {
        let run = Sample::find(sample).read();
        let denials: Vec<String> = run.conclusion.denials.iter().map(ToString::to_string).collect();
        assert_eq!(denials, [denial], "{sample}");
        assert!(run.conclusion.ok, "{sample}: {}", run.conclusion.reason);
        assert!(run.conclusion.reason.contains("1 tool use was denied"), "{sample}");
    }
    let opencode = Sample::find("opencode-denied-rule").read();
    assert_eq!(opencode.conclusion.denials.len(), 1);
    assert!(opencode.conclusion.denials[0].detail.starts_with("The user has specified a rule"));
}

#[test]
fn a_denial_of_copilot_that_is_told_twice_counts_once() {
    let event = |kind: &str, data: Value| json!({"type": kind, "data": data});
    let run = lines(
        TranscriptFormat::CopilotJson,
        &[
            event("tool.execution_start", json!({"toolCallId": "c", "toolName": "bash"})),
            event(
                "permission.completed",
                json!({"toolCallId": "c", "result": {"kind": "denied-by-rules"}}),
            ),
            event(
                "tool.execution_complete",
                json!({"toolCallId": "c", "success": false,
                       "error": {"code": "denied", "message": "denied due to rules: `shell(touch)`"}}),
            ),
            // A tool that fails by itself was allowed to try.
            event("tool.execution_start", json!({"toolCallId": "d", "toolName": "bash"})),
            event(
                "tool.execution_complete",
                json!({"toolCallId": "d", "success": false, "error": {"message": "no such file"}}),
            ),
        ],
    );
    assert_eq!(run.conclusion.denials.len(), 1);
    assert_eq!(run.conclusion.denials[0].to_string(), "bash: denied-by-rules");
}

#[test]
fn a_failure_of_a_tool_of_gemini_is_no_denial() {
    let used = json!({"type": "tool_use", "tool_name": "read_file", "tool_id": "t",
                      "parameters": {"file_path": "a"}});
    let failed = json!({"type": "tool_result", "tool_id": "t", "status": "error",
                        "error": {"type": "file_not_found", "message": "no such file"}});
    let run = lines(TranscriptFormat::GeminiStreamJson, &[used, failed]);
    assert_eq!(run.conclusion.denials, []);
}

#[test]
fn the_last_attempt_to_reach_the_model_is_a_part_of_the_failure() {
    let claude = Sample::find("claude-err500");
    let retrying = "retrying 7 of 10: 500 server_error";
    for (ending, words) in [
        (ProcessEnding::TimedOut, "timed out, "),
        (ProcessEnding::Stopped, "stopped, "),
        (exit(143), "exit code 143, "),
        (exit(0), "ended without a result (exit code 0), "),
    ] {
        let run = claude.read_with(&ending);
        let reason = format!("{words}{retrying}");
        assert_eq!(verdict(&run), (false, reason.as_str()));
        assert_eq!(run.conclusion.retry.as_ref().unwrap().to_string(), retrying);
    }
    // What codex says at the end says more than its attempts.
    let codex = Sample::find("codex-err500").read();
    let reason = "We’re currently experiencing high demand, which may cause temporary errors.";
    assert_eq!(verdict(&codex), (false, format!("exit code 1: {reason}").as_str()));
    let retries: Vec<String> = codex
        .entries
        .iter()
        .filter_map(|entry| match entry {
            TranscriptItem::Retry(retry) => Some(retry.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(retries.len(), 5);
    assert_eq!(retries[0], format!("retrying 1 of 5: {reason}"));
}

#[test]
fn an_agent_that_goes_on_retries_no_more() {
    let retry = json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10,
                       "error_status": 529});
    let said =
        json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "a"}]}});
    let format = TranscriptFormat::ClaudeStreamJson;
    let still = lines(format, std::slice::from_ref(&retry)).conclusion;
    assert_eq!(still.retry.unwrap().to_string(), "retrying 1 of 10: 529");
    assert_eq!(lines(format, &[retry, said]).conclusion.retry, None);
}

#[test]
fn copilot_tells_its_attempts_by_failed_calls() {
    let failed = |attempt: u64| {
        json!({"type": "model.call_failure", "data": {"statusCode": 500, "retryAttempt": attempt,
               "errorMessage": "{\"message\":\"oh no\"}"}})
    };
    let run = lines(TranscriptFormat::CopilotJson, &[failed(0), failed(1)]);
    let retries: Vec<&TranscriptItem> =
        run.entries.iter().filter(|entry| matches!(entry, TranscriptItem::Retry { .. })).collect();
    assert_eq!(retries.len(), 2);
    assert_eq!(run.conclusion.retry.unwrap().to_string(), "retrying, attempt 2: 500 oh no");
}

#[test]
fn a_result_without_a_reason_takes_the_one_that_was_told_before() {
    let format = TranscriptFormat::ClaudeStreamJson;
    let silent = json!({"type": "result", "subtype": "success", "is_error": true, "result": ""});
    let mut decoder = TranscriptDecoder::new(format);
    decoder.feed_stderr(b"Error: the proxy closed the connection\n", &mut |_| {});
    decoder.feed_stdout(format!("{silent}\n").as_bytes(), &mut |_| {});
    let conclusion = decoder.finish(&exit(1), &mut |_| {});
    assert_eq!(conclusion.reason, "exit code 1: Error: the proxy closed the connection");
    let error = json!({"type": "error", "severity": "error", "message": "quota"});
    let empty = json!({"type": "result", "status": "error"});
    let run = lines(TranscriptFormat::GeminiStreamJson, &[error, empty]);
    assert_eq!(verdict(&run), (false, "the agent says it failed: quota"));
    // Nothing was told before either.
    let decoder = TranscriptDecoder::new(format);
    let run = read(decoder, &[(format!("{silent}\n").as_bytes(), b"")], &exit(1));
    assert_eq!(verdict(&run), (false, "exit code 1: it does not say why"));
}

#[test]
fn an_agent_that_says_nothing_has_an_empty_answer() {
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "result": ""});
    let run = lines(TranscriptFormat::ClaudeStreamJson, &[result]);
    assert_eq!((run.conclusion.ok, run.answer()), (true, Some("")));
    let run = lines(
        TranscriptFormat::CodexJson,
        &[json!({"type": "turn.started"}), json!({"type": "turn.completed", "usage": {}})],
    );
    assert_eq!((run.conclusion.ok, run.answer()), (true, Some("")));
    // Plain text that is not there is no answer at all: many programs print nothing.
    let run = read(TranscriptDecoder::new(TranscriptFormat::Text), &[], &exit(0));
    assert_eq!((run.conclusion.ok, run.answer()), (true, None));
}

#[test]
fn claude_that_refuses_to_be_root_is_told_with_the_cause() {
    let run = Sample::find("claude-root").read();
    assert_eq!(
        verdict(&run),
        (
            false,
            "exit code 1: Claude Code does not run with permission `all` as root. Run coven as \
             another user, ask for less (`permissions: edits`), or set IS_SANDBOX=1 in a container \
             that may be damaged (it says: --dangerously-skip-permissions cannot be used with \
             root/sudo privileges for security reasons)"
        )
    );
}
