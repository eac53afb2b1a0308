//! What is known of a conversation, without a process: bytes and times are made up.

use std::time::Duration;

use coven_adapters::channel::{
    ChannelCodec, ChannelDirection, ChannelKind, ChannelOptions, ChannelPhase, ChannelPlan,
};
use serde_json::{Value, json};

use super::ChannelReader;
use super::overdue::{CLOSED_TIMEOUT, Overdue};
use crate::saved_channel::SavedSlot;

/// How long the agents here may take to begin.
const BOUND: Duration = Duration::from_secs(90);

fn reader(resumes: bool) -> ChannelReader {
    let codec = ChannelCodec::new(ChannelKind::Acp, ChannelOptions::default());
    let plan = ChannelPlan { prompts: vec!["first".to_owned()], ..ChannelPlan::default() };
    ChannelReader::new(codec, plan, resumes)
}

/// Writes what is due, as another process would read it from the tape, and gives its id.
fn write(reader: &mut ChannelReader) -> Value {
    let due = reader.codec.due(&reader.plan).unwrap();
    reader.replay(ChannelDirection::In, &due);
    serde_json::from_slice::<Value>(&due).unwrap()["id"].clone()
}

fn print(reader: &mut ChannelReader, message: &Value) {
    reader.replay(ChannelDirection::Out, format!("{message}\n").as_bytes());
}

fn answer(reader: &mut ChannelReader, id: &Value, result: &Value) {
    print(reader, &json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn refuse(reader: &mut ChannelReader, id: &Value) {
    let error = json!({"code": -32601, "message": "Method not found"});
    print(reader, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
}

/// One that was told its first prompt, and the id of that.
fn prompted(resumes: bool) -> (ChannelReader, Value) {
    let mut reader = reader(resumes);
    let hello = write(&mut reader);
    answer(&mut reader, &hello, &json!({"protocolVersion": 1}));
    let session = write(&mut reader);
    answer(&mut reader, &session, &json!({"sessionId": "s"}));
    let prompt = write(&mut reader);
    (reader, prompt)
}

/// One that has done its first turn and was told another message, and the id of that.
fn in_its_second_turn() -> (ChannelReader, Value) {
    let (mut reader, prompt) = prompted(false);
    let text = json!({"type": "text", "text": "the first is done"});
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": text});
    let params = json!({"sessionId": "s", "update": update});
    print(&mut reader, &json!({"method": "session/update", "params": params}));
    answer(&mut reader, &prompt, &json!({"stopReason": "end_turn"}));
    reader.plan.prompts.push("second".to_owned());
    let prompt = write(&mut reader);
    (reader, prompt)
}

#[test]
fn a_later_message_that_is_not_taken_is_for_a_person_and_the_work_before_it_stays() {
    let (reader, prompt) = in_its_second_turn();
    assert_eq!(reader.answer(), None);
    // The process that wrote it ends before it is answered.
    let progress = serde_json::to_string(&reader.progress()).unwrap();
    let mut reader = self::reader(false);
    reader.restore(serde_json::from_str(&progress).unwrap(), SavedSlot::default());
    refuse(&mut reader, &prompt);
    let progress = serde_json::to_string(&reader.progress()).unwrap();
    reader.restore(serde_json::from_str(&progress).unwrap(), SavedSlot::default());
    let lines = reader.untaken().unwrap();
    assert!(lines[0].contains("session/prompt") && lines[0].contains("Method not found"));
    assert_eq!(lines[1], "  second");
    assert!(reader.failed().is_none(), "its process lives on");
    assert_eq!(reader.answer().as_deref(), Some("the first is done"));
    assert_eq!(reader.codec.state().phase, ChannelPhase::Idle);
    // Another message, in whichever words, begins another turn.
    reader.plan.prompts.push("third".to_owned());
    write(&mut reader);
    assert_eq!(reader.untaken(), None);
}

#[test]
fn a_first_message_that_is_not_taken_is_a_refusal_of_the_protocol() {
    let (mut reader, prompt) = prompted(false);
    refuse(&mut reader, &prompt);
    let outcome = reader.failed().unwrap();
    let reason = outcome.channel_refused.unwrap();
    assert!(reason.contains("session/prompt: Method not found"), "{reason}");
    assert_eq!(reader.untaken(), None);
}

/// What it has said before is in the conversation, which another way would not have.
#[test]
fn a_message_that_is_not_taken_in_a_resumed_conversation_is_no_refusal_of_the_protocol() {
    let (mut reader, prompt) = prompted(true);
    refuse(&mut reader, &prompt);
    let outcome = reader.failed().unwrap();
    assert!(outcome.channel_refused.is_none() && outcome.resume_refused, "{outcome:?}");
}

#[test]
fn an_agent_that_never_answers_initialize_is_told_of_once_and_named() {
    let mut reader = reader(false);
    write(&mut reader);
    reader.complain(b"starting\nwaiting for a login\n");
    assert_eq!(reader.overdue_at(BOUND), Some(BOUND));
    assert_eq!(reader.overdue(BOUND.saturating_sub(Duration::from_millis(1)), false, BOUND), None);
    let told = reader.overdue(BOUND, false, BOUND);
    let Some(Overdue::Start(lines)) = told else { panic!("{told:?}") };
    assert!(lines[0].starts_with("the agent has not agreed"), "{lines:?}");
    assert_eq!(lines[1], "waiting for a login");
    assert_eq!(reader.overdue(2 * BOUND, false, BOUND), None, "once");
    assert_eq!(reader.overdue_at(BOUND), None);
    assert!(reader.failed().is_none(), "a person decides");
    // It may still begin.
    answer(&mut reader, &json!(1), &json!({"protocolVersion": 1}));
    write(&mut reader);
}

#[test]
fn an_agent_that_closes_its_output_is_ended_only_if_something_is_still_to_come() {
    let (mut reader, _) = prompted(false);
    let now = Duration::from_secs(100);
    assert_eq!(reader.overdue(now, true, BOUND), None);
    assert_eq!(reader.overdue_at(BOUND), Some(now + CLOSED_TIMEOUT));
    assert_eq!(reader.overdue(now + CLOSED_TIMEOUT, true, BOUND), Some(Overdue::End));
    assert!(reader.failed().unwrap().reason.contains("closed its output"));
    let (mut reader, prompt) = prompted(false);
    answer(&mut reader, &prompt, &json!({"stopReason": "end_turn"}));
    assert_eq!(reader.overdue(now, true, BOUND), None);
    assert_eq!(reader.overdue(now + 2 * CLOSED_TIMEOUT, true, BOUND), None, "its turn is over");
}

/// Every state that is saved has what is under way in it. With a request of 14 MiB that was 4, 8 and
/// 12 MiB more, written as numbers, before it was read.
#[test]
fn a_long_message_under_way_is_not_saved_with_every_state() {
    let (mut reader, _) = prompted(false);
    assert!(reader.may_be_saved());
    reader.replay(ChannelDirection::Out, b"{\"jsonrpc\": \"2.0\", \"pad\": \"");
    assert!(reader.may_be_saved(), "a short one is");
    reader.replay(ChannelDirection::Out, &vec![b'x'; 1 << 20]);
    assert!(!reader.may_be_saved());
    reader.replay(ChannelDirection::Out, b"\"}\n");
    assert!(reader.may_be_saved(), "when it has ended");
    // One that is too long is not kept, and no reason to save nothing.
    for _ in 0..20 {
        reader.replay(ChannelDirection::Out, &vec![b'x'; 1 << 20]);
    }
    assert!(reader.may_be_saved());
}
