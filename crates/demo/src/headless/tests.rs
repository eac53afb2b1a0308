//! Turns without a terminal, by what they print.

use super::transcript::{ContentPart, SystemEvent, TranscriptEvent};
use super::*;
use crate::options::{OutputFormat, PermissionMode};

/// What a turn printed and how it ended.
struct Printed {
    code: u8,
    out: String,
    errors: String,
}

fn run_with(options: &Options, prompt: &str) -> Printed {
    let home = tempfile::tempdir().unwrap();
    let store = DemoSessionStore::find(|name| {
        (name == "COVEN_DEMO_HOME").then(|| home.path().as_os_str().to_owned())
    });
    run_in(options, prompt, DemoSession::new("s".to_owned(), "m".to_owned()), store)
}

fn run_in(
    options: &Options,
    prompt: &str,
    session: DemoSession,
    store: DemoSessionStore,
) -> Printed {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let task = PromptTask::new(prompt.to_owned());
    let code = run(options, task, session, store, &mut out, &mut errors).unwrap();
    Printed {
        code,
        out: String::from_utf8_lossy(&out).into(),
        errors: String::from_utf8(errors).unwrap(),
    }
}

fn text(prompt: &str) -> Printed {
    run_with(&Options::default(), prompt)
}

fn events(permissions: PermissionMode, prompt: &str) -> Vec<TranscriptEvent> {
    let output_format = OutputFormat::StreamJson;
    let printed = run_with(&Options { output_format, permissions, ..Options::default() }, prompt);
    printed.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn result(events: &[TranscriptEvent]) -> &ResultEvent {
    match events.last() {
        Some(TranscriptEvent::Result(last)) => last,
        last => panic!("no result but {last:?}"),
    }
}

/// The parts of all messages, in short.
fn contents(events: &[TranscriptEvent]) -> Vec<String> {
    let contents = events.iter().filter_map(|event| match event {
        TranscriptEvent::Assistant { message, .. } => Some(&message.content),
        TranscriptEvent::User { message, .. } => Some(&message.content),
        _ => None,
    });
    contents
        .flatten()
        .map(|content| match content {
            ContentPart::Text { text } => format!("says {text}"),
            ContentPart::ToolUse { name, input, .. } => format!("wants {name} {input}"),
            ContentPart::ToolResult { content, is_error, .. } => {
                format!("gets {content} {is_error}")
            }
        })
        .collect()
}

#[test]
fn text_is_the_answer_and_nothing_else() {
    for (prompt, answer) in [
        ("say hello", "hello\n"),
        ("say one; say two", "one\ntwo\n"),
        ("say one; json {\"a\": 1}", "{\"a\": 1}\n"),
        ("say one; disobey true", "Done.\n"),
        ("say one; think 0; say two", "two\n"),
        ("say one; disobey true; say two", "two\n"),
        ("think 0", "Done.\n"),
        ("approve ls", "I was not allowed to run: ls\n"),
        ("ask Why?", "I could not ask: Why?\n"),
        ("choose a|b", "I could not ask: Choose one:\n"),
    ] {
        let printed = text(prompt);
        assert_eq!((printed.out.as_str(), printed.errors.as_str()), (answer, ""), "{prompt}");
        assert_eq!(printed.code, 0, "{prompt}");
    }
}

#[test]
fn a_stream_begins_with_init_and_ends_with_the_result() {
    let events = events(PermissionMode::Ask, "say hello");
    let [
        TranscriptEvent::System(SystemEvent::Init { session_id, model, permission_mode, .. }),
        ..,
        _,
    ] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((session_id.as_str(), model.as_str(), permission_mode.as_str()), ("s", "m", "ask"));
    let last = result(&events);
    assert_eq!((last.subtype, last.is_error, last.num_turns), (ResultSubtype::Success, false, 1));
    assert_eq!((last.result.as_str(), last.session_id.as_str()), ("hello", "s"));
    assert_eq!(last.usage, TokenCounts::of("say hello", "hello"));
    assert_eq!(events.len(), 3);
}

#[test]
fn a_command_that_is_allowed_runs_and_its_output_comes_back() {
    let events = events(PermissionMode::All, "approve echo out; exit 3; say never");
    assert_eq!(
        contents(&events),
        ["wants Bash {\"command\":\"echo out\"}", "gets out false", "says Done.",]
    );
    assert_eq!(result(&events).permission_denials, []);
}

#[test]
fn what_is_not_allowed_is_listed_and_is_no_error() {
    for permissions in [PermissionMode::ReadOnly, PermissionMode::Ask] {
        let events = events(permissions, "approve touch x; write ./never/here text");
        let last = result(&events);
        assert!(!last.is_error);
        let tools: Vec<&str> =
            last.permission_denials.iter().map(|denial| denial.tool_name.as_str()).collect();
        assert_eq!(tools, ["Bash", "Write"]);
        assert_eq!(last.permission_denials[0].tool_input["command"], "touch x");
        let denied = |event: &&TranscriptEvent| {
            matches!(event, TranscriptEvent::System(SystemEvent::PermissionDenied { .. }))
        };
        assert_eq!(events.iter().filter(denied).count(), 2);
        assert!(!std::path::Path::new("never").exists());
    }
}

#[test]
fn edits_allow_writing_but_not_running() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/f.txt");
    let prompt = format!("write {} one\\ntwo; approve ls", path.display());
    let events = events(PermissionMode::Edits, &prompt);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "one\ntwo\n");
    assert_eq!(result(&events).permission_denials.len(), 1);
}

#[test]
fn what_runs_without_asking_runs_whatever_is_allowed() {
    let events = events(PermissionMode::ReadOnly, "disobey echo out; disobey exit 3");
    assert_eq!(contents(&events)[1], "gets out false");
    assert_eq!(contents(&events)[3], "gets (exit code 3) true");
}

#[test]
fn a_failure_is_an_error_in_every_format() {
    let printed = text("say before; fail no model");
    assert_eq!(printed.code, 1);
    assert_eq!((printed.out.as_str(), printed.errors.as_str()), ("", "error: no model\n"));
    let events = events(PermissionMode::Ask, "say before; fail no model");
    let last = result(&events);
    assert_eq!((last.subtype, last.is_error), (ResultSubtype::ErrorDuringExecution, true));
    assert_eq!(last.result, "no model");
}

#[test]
fn an_exit_tells_the_result_unless_it_is_now() {
    let printed = text("say a; exit 7");
    assert_eq!((printed.code, printed.out.as_str()), (7, "a\n"));
    let printed = text("say a; exit 7 now");
    assert_eq!((printed.code, printed.out.as_str()), (7, ""));
}

#[test]
fn costs_add_up_over_a_session_and_tokens_do_not() {
    let home = tempfile::tempdir().unwrap();
    let store = DemoSessionStore::find(|_| Some(home.path().as_os_str().to_owned()));
    let options = Options { output_format: OutputFormat::StreamJson, ..Options::default() };
    let last = |prompt: &str, session: DemoSession| -> ResultEvent {
        let printed = run_in(&options, prompt, session, store.clone());
        let events: Vec<TranscriptEvent> =
            printed.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        result(&events).clone()
    };
    let unknown = last("say hi", DemoSession::new("s".to_owned(), "m".to_owned()));
    let first = last("cost 0.25; say hi", store.resume("s").unwrap());
    let second = last("cost 0.25; say hi", store.resume("s").unwrap());
    // A cost that the script never stated is unknown and not zero.
    assert_eq!(unknown.total_cost_usd, None);
    assert_eq!(first.total_cost_usd, Some(0.25));
    assert_eq!(second.total_cost_usd, Some(0.5));
    assert_eq!(first.usage, second.usage);
}

#[test]
fn a_flood_is_exact_and_the_result_follows_it() {
    let printed = text("flood 1000; say done");
    let mut expected = Vec::new();
    flood::write(1000, &mut expected).unwrap();
    expected.extend(b"done\n");
    assert_eq!(printed.out.as_bytes(), expected);
}

#[test]
fn a_split_character_is_the_last_thing_printed() {
    let printed = text("split-utf8");
    assert_eq!(printed.out, "caf\u{fffd}");
    let options = Options { output_format: OutputFormat::StreamJson, ..Options::default() };
    let printed = run_with(&options, "split-utf8");
    assert!(printed.out.ends_with("{\"type\":\"text\",\"text\":\"caf\u{fffd}"), "{}", printed.out);
}

#[test]
fn a_session_that_cannot_be_kept_is_a_note() {
    let store = DemoSessionStore::find(|_| None);
    let session = DemoSession::new("s".to_owned(), "m".to_owned());
    let printed = run_in(&Options::default(), "say hi", session, store);
    assert_eq!((printed.code, printed.out.as_str()), (0, "hi\n"));
    assert!(printed.errors.contains("cannot be resumed"), "{}", printed.errors);
}
