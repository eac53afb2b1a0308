//! Every recorded conversation: read the same however it is cut, and folded again at any place.

use super::*;

/// How often a conversation is cut at a place that is not chosen.
const RANDOM_CUTS: usize = 2000;

/// Pseudorandom numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Feeds what lies between two places of the whole conversation.
fn feed_between(
    codec: &mut ChannelCodec,
    records: &[Record],
    from: usize,
    to: usize,
) -> Vec<ChannelEvent> {
    let (mut at, mut events) = (0, Vec::new());
    for record in records {
        let (begin, end) = (at, at + record.bytes.len());
        at = end;
        let (cut, until) = (from.max(begin), to.min(end));
        if cut < until {
            let piece = &record.bytes[cut - begin..until - begin];
            events.extend(feed(codec, record.direction, piece));
        }
    }
    events
}

fn saved_and_read_again(codec: &ChannelCodec) -> ChannelCodec {
    serde_json::from_str(&serde_json::to_string(codec).unwrap()).unwrap()
}

#[test]
fn a_conversation_is_read_the_same_byte_by_byte() {
    for (name, kind) in TRANSCRIPTS {
        let records = records(name);
        let (mut whole, mut bytes) = (codec(kind), codec(kind));
        let expected = feed_all(&mut whole, &records);
        let mut events = Vec::new();
        for record in &records {
            for byte in record.bytes.chunks(1) {
                events.extend(feed(&mut bytes, record.direction, byte));
            }
        }
        assert_eq!(events, expected, "{name}");
        assert_eq!(bytes.state(), whole.state(), "{name}");
    }
}

/// The codec is cut at every line end and beside it, and at many other places; what was known at
/// the cut is saved, read again, and goes on.
fn cut_everywhere(kind: ChannelKind) {
    let mut numbers = Numbers(21);
    for (name, _) in TRANSCRIPTS.into_iter().filter(|(_, speaks)| *speaks == kind) {
        let records = records(name);
        let length: usize = records.iter().map(|record| record.bytes.len()).sum();
        let expected = feed_all(&mut codec(kind), &records);
        let mut cuts: Vec<usize> = (0..RANDOM_CUTS).map(|_| numbers.below(length)).collect();
        let mut end = 0;
        for record in &records {
            end += record.bytes.len();
            cuts.extend([end - 1, end, (end + 1).min(length)]);
        }
        cuts.sort_unstable();
        cuts.dedup();
        let (mut before, mut at, mut events) = (codec(kind), 0, Vec::new());
        for cut in cuts {
            events.extend(feed_between(&mut before, &records, at, cut));
            at = cut;
            let mut after =
                if cut % 8 == 0 { saved_and_read_again(&before) } else { before.clone() };
            let rest = feed_between(&mut after, &records, cut, length);
            assert!(events.iter().chain(&rest).eq(&expected), "{name} cut at {cut}");
        }
    }
}

#[test]
fn claude_is_read_the_same_wherever_it_is_cut_and_folded_again() {
    cut_everywhere(ChannelKind::ClaudeStdio);
}

#[test]
fn codex_is_read_the_same_wherever_it_is_cut_and_folded_again() {
    cut_everywhere(ChannelKind::CodexAppServer);
}

#[test]
fn acp_is_read_the_same_wherever_it_is_cut_and_folded_again() {
    cut_everywhere(ChannelKind::Acp);
}

#[test]
fn an_event_can_be_saved_and_read_again() {
    for (name, kind) in TRANSCRIPTS {
        for event in feed_all(&mut codec(kind), &records(name)) {
            let saved = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<ChannelEvent>(&saved).unwrap(), event, "{name}");
        }
    }
}

#[test]
fn a_request_is_open_until_its_answer_is_written() {
    for (name, kind) in TRANSCRIPTS {
        let records = records(name);
        let mut codec = codec(kind);
        for record in &records {
            let answers = record.answers();
            if let Some(request) = &answers {
                assert_eq!(open(&codec), std::slice::from_ref(request), "{name}");
                assert_eq!(codec.state().phase, ChannelPhase::Awaiting, "{name}");
            }
            let events = feed(&mut codec, record.direction, &record.bytes);
            if let Some(request) = answers {
                let [ChannelEvent::Resolved { request: resolved, by, answer }] = &events[..] else {
                    panic!("{name}: {events:?}")
                };
                assert_eq!((resolved, *by), (&request, ResolvedBy::Answer), "{name}");
                assert!(answer.is_some(), "{name}");
                assert_eq!(open(&codec), [], "{name}");
            }
        }
        let killed = name.ends_with("-killed");
        assert_eq!(open(&codec).len(), usize::from(killed), "{name}");
    }
}

/// Without the answers, and without what the agent could say only because it had them, exactly
/// the requests of the conversation are open.
#[test]
fn without_answers_exactly_the_unanswered_requests_are_open() {
    for (name, kind) in TRANSCRIPTS {
        let records = records(name);
        let asked: Vec<RequestId> = records.iter().filter_map(Record::asks).collect();
        let kept = records.iter().filter(|record| {
            let said = record.direction == ChannelDirection::In && record.answers().is_none();
            said || record.asks().is_some()
        });
        let mut codec = codec(kind);
        feed_all(&mut codec, kept);
        assert_eq!(open(&codec), asked, "{name}");
        for (answered, request) in asked.iter().enumerate() {
            let said = codec.say(&approve(request.clone()));
            // A question that wants an answer in words is denied instead.
            let said = said.or_else(|_| codec.say(&deny(request.clone(), "no"))).unwrap();
            written(&mut codec, &said.bytes);
            assert_eq!(open(&codec), asked[answered + 1..], "{name}");
            let again = codec.say(&approve(request.clone()));
            let request = request.clone();
            assert_eq!(again, Err(ChannelRefusal::NotOpen { request }), "{name}");
        }
    }
}

#[test]
fn every_conversation_tells_what_happened_in_it() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots");
    for (name, kind) in TRANSCRIPTS {
        let mut codec = codec(kind);
        let events = feed_all(&mut codec, &records(name));
        let mut told = told(&events);
        told.push(format!("= {}", serde_json::to_string(&codec.state()).unwrap()));
        settings.bind(|| insta::assert_snapshot!(name, told.join("\n")));
    }
}

/// One line for each event; pieces of one text are one line.
fn told(events: &[ChannelEvent]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut text: Option<(&str, String)> = None;
    for event in events {
        let piece = match event {
            ChannelEvent::Item { item: TranscriptItem::Text { text, delta: true, .. } } => {
                Some(("text", text))
            }
            ChannelEvent::Replayed { item: TranscriptItem::Text { text, delta: true, .. } } => {
                Some(("replayed text", text))
            }
            _ => None,
        };
        match (piece, &mut text) {
            (Some((kind, piece)), Some((of, whole))) if kind == *of => whole.push_str(&piece.text),
            (piece, _) => {
                let done = std::mem::replace(
                    &mut text,
                    piece.map(|(kind, piece)| (kind, piece.text.clone())),
                );
                lines.extend(done.map(|(kind, whole)| format!("{kind}… {whole:?}")));
                if piece.is_none() {
                    lines.push(serde_json::to_string(event).unwrap());
                }
            }
        }
    }
    lines.extend(text.map(|(kind, whole)| format!("{kind}… {whole:?}")));
    lines
}
