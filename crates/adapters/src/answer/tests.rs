//! What counts as an answer, in small. The real programs are in `tests/adapters/answers.rs`.

use serde_json::json;

use super::*;

fn config() -> AnswerConfig {
    serde_json::from_value(json!({
        "file": "~/x/${agentSession}.jsonl",
        "prompt": [{"where": {"type": "user"}, "text": "text"}],
        "said": [{
            "where": {"type": "agent", "error": null},
            "text": "parts.*.text",
            "skip": "thought",
        }],
        "more": [{"where": {"type": "agent", "parts.*.call": "*"}}, {"where": {"type": "result"}}],
    }))
    .unwrap()
}

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn answer(of: &[Value]) -> Option<String> {
    config().last_turn(&lines(of)).and_then(|turn| turn.answer)
}

fn user(text: &str) -> Value {
    json!({"type": "user", "text": text})
}

fn agent(text: &str) -> Value {
    json!({"type": "agent", "parts": [{"text": text}]})
}

#[test]
fn the_answer_is_what_was_said_last_in_the_last_turn() {
    assert_eq!(answer(&[]), None);
    assert_eq!(answer(&[agent("before anything was asked")]), None);
    assert_eq!(answer(&[user("one"), agent("first"), agent(" second\n")]).unwrap(), "second");
    assert_eq!(answer(&[user("one"), agent("first"), user("two")]), None);
    assert_eq!(answer(&[user("one"), agent("1"), user("two"), agent("2")]).unwrap(), "2");
    // A line without text begins no turn.
    assert_eq!(answer(&[user("one"), agent("1"), user(" ")]).unwrap(), "1");
}

#[test]
fn what_was_said_before_a_call_of_a_tool_is_not_the_answer() {
    let call = json!({"type": "agent", "parts": [{"text": "I will look."}, {"call": {"x": 1}}]});
    let result = json!({"type": "result"});
    assert_eq!(answer(&[user("one"), call.clone()]), None);
    assert_eq!(answer(&[user("one"), agent("I will look."), result.clone()]), None);
    assert_eq!(answer(&[user("one"), call, result, agent("done")]).unwrap(), "done");
}

#[test]
fn thoughts_and_errors_are_not_said_and_parts_belong_together() {
    let parts = json!([{"text": "hm", "thought": true}, {"text": "a"}, {"text": "b"}, {"x": 1}]);
    assert_eq!(answer(&[user("one"), json!({"type": "agent", "parts": parts})]).unwrap(), "ab");
    let error = json!({"type": "agent", "error": true, "parts": [{"text": "API Error"}]});
    assert_eq!(answer(&[user("one"), error]), None);
}

#[test]
fn a_line_that_is_still_being_written_is_left_out() {
    let text = lines(&[user("one"), agent("whole")]);
    let half = format!("{text}{}", &agent("half").to_string()[..20]);
    let turn = config().last_turn(&half).unwrap();
    assert_eq!((turn.begins, turn.answer.as_deref()), (0, Some("whole")));
    let more = format!("not json\n{text}");
    assert_eq!(config().last_turn(&more).unwrap().begins, "not json\n".len());
}

#[test]
fn a_file_is_of_the_conversation_that_its_first_line_names() {
    let by_name = config();
    assert!(by_name.is_of("anything", None, "/demo"));
    let by_id = AnswerConfig { session: Some("meta.id".to_owned()), ..config() };
    let line = r#"{"meta": {"id": "7", "cwd": "/demo"}}"#;
    assert!(by_id.is_of(line, Some("7"), "/elsewhere"));
    assert!(!by_id.is_of(line, Some("8"), "/demo"));
    assert!(!by_id.is_of(line, None, "/demo"));
    assert!(!by_id.is_of(r#"{"meta": {}}"#, None, "/demo"));
    assert!(!by_id.is_of("{", Some("7"), "/demo"));
    let by_folder = AnswerConfig { folder: Some("meta.cwd".to_owned()), ..config() };
    assert!(by_folder.is_of(line, None, "/demo"));
    assert!(!by_folder.is_of(line, None, "/demo/sub"));
}

#[test]
fn an_answer_is_shown_if_the_end_of_it_is() {
    let screen = "● The __init__ says\n  **pass**, and that\n  is all.\n\n❯\n";
    assert!(is_shown_in("Something else.\n\n`pass`, and that is _all_.", screen));
    assert!(!is_shown_in("Something else.\n\nfail, and that is all.", screen));
    assert!(!is_shown_in("Quite another text", screen));
    // Lines of code are numbered by some, and marks at the end are not shown by all.
    let code = "✦ Here:\n\n   1 {\n   2   \"verdict\": \"a long\n     reason\"\n   3 }\n";
    assert!(is_shown_in("```json\n{\n  \"verdict\": \"a long reason\"\n}\n```", code));
    assert!(!is_shown_in("```json\n{\n  \"verdict\": \"no reason\"\n}\n```", code));
    assert!(is_shown_in("👍", "● 👍\n"));
    assert!(!is_shown_in("👍", "● \n"));
}
