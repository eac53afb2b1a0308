//! What every channel codec promises, whatever is said in either direction: read the same in
//! pieces as at once, and after it was saved; with bounded memory; no question answered twice; and
//! an end to what is due.

use coven_adapters::channel::{
    CHANNEL_BUFFER_LIMIT, ChannelCodec, ChannelDecision, ChannelDirection, ChannelEvent,
    ChannelKind, ChannelOptions, ChannelOrder, ChannelPlan, ChannelRefusal,
};

/// More than any codec has to say without an answer: refusals, and one step of the handshake.
const MOST_DUE: usize = 600;

/// Lines that begin with `>` are written to the agent, the others are printed by it. The first
/// byte says how they are cut.
pub fn check(kind: ChannelKind, bytes: &[u8]) {
    let [cut, said @ ..] = bytes else { return };
    let size = usize::from(*cut) + 1;
    let mut whole = ChannelCodec::new(kind, ChannelOptions::default());
    let mut pieces = whole.clone();
    let (mut expected, mut events) = (Vec::new(), Vec::new());
    for line in said.split_inclusive(|byte| *byte == b'\n') {
        let (direction, line) = match line.strip_prefix(b">") {
            Some(line) => (ChannelDirection::In, line),
            None => (ChannelDirection::Out, line),
        };
        feed(&mut whole, direction, line, &mut expected);
        for piece in line.chunks(size) {
            feed(&mut pieces, direction, piece, &mut events);
        }
    }
    assert_eq!(events, expected);
    let saved = serde_json::to_string(&whole).expect("a codec can be saved");
    assert_eq!(serde_json::to_string(&pieces).expect("a codec can be saved"), saved);
    let mut codec: ChannelCodec = serde_json::from_str(&saved).expect("and read again");
    finish(&mut codec);
}

fn feed(
    codec: &mut ChannelCodec,
    direction: ChannelDirection,
    bytes: &[u8],
    events: &mut Vec<ChannelEvent>,
) {
    codec.feed(direction, bytes, &mut |event| events.push(event));
    assert!(codec.buffered() <= CHANNEL_BUFFER_LIMIT);
}

/// Answers everything that is open, and says everything that is due.
fn finish(codec: &mut ChannelCodec) {
    let mut events = Vec::new();
    let open: Vec<_> = codec.open().cloned().collect();
    for question in open {
        let _ = question.digest();
        let answer =
            |decision| ChannelOrder::Answer { request: question.request.clone(), decision };
        let approve = answer(ChannelDecision::Approve);
        let deny = answer(ChannelDecision::Deny { text: Some("no".to_owned()) });
        let Ok(said) = codec.say(&approve).or_else(|_| codec.say(&deny)) else { continue };
        feed(codec, ChannelDirection::In, &said.bytes, &mut events);
        let request = question.request.clone();
        assert_eq!(codec.say(&deny), Err(ChannelRefusal::NotOpen { request }));
    }
    if let Ok(said) = codec.say(&ChannelOrder::Interrupt) {
        feed(codec, ChannelDirection::In, &said.bytes, &mut events);
    }
    let plan = ChannelPlan {
        cwd: Some("/".to_owned()),
        mode: Some("plan".to_owned()),
        prompts: vec!["one".to_owned(), "two".to_owned()],
        ..ChannelPlan::default()
    };
    for _ in 0..MOST_DUE {
        let Some(due) = codec.due(&plan) else { return };
        feed(codec, ChannelDirection::In, &due, &mut events);
    }
    panic!("there is no end to what is due");
}
