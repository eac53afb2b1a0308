//! Floods: fifty megabytes, in one line and in many, with bounded memory.

use coven_adapters::transcript::{
    BUFFER_LIMIT, LINE_LIMIT, TEXT_LIMIT, TranscriptDecoder, TranscriptFormat, TranscriptItem,
};
use coven_model::ProcessEnding;

use super::exit;

const CHUNK: usize = 1 << 20;
const CHUNKS: usize = 50;

const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"yes"}"#;

/// Feeds chunks and keeps only what `keep` wants of the entries, so that the test itself is small.
fn flood(
    mut decoder: TranscriptDecoder,
    chunks: impl Iterator<Item = Vec<u8>>,
    mut keep: impl FnMut(TranscriptItem),
    ending: &ProcessEnding,
) -> (usize, coven_adapters::transcript::RunConclusion) {
    let mut most = 0;
    for chunk in chunks {
        decoder.feed_stdout(&chunk, &mut keep);
        most = most.max(decoder.buffered());
    }
    (most, decoder.finish(ending, &mut keep))
}

#[test]
fn a_line_of_fifty_megabytes_is_kept_by_its_beginning_and_the_run_goes_on() {
    for format in
        TranscriptFormat::ALL.into_iter().filter(|format| *format != TranscriptFormat::Text)
    {
        let line = (0..CHUNKS).map(|_| vec![b'x'; CHUNK]);
        let chunks = line.chain([format!("\n{RESULT}\n").into_bytes()]);
        let mut unknown = Vec::new();
        let keep = |entry| {
            if let TranscriptItem::Unknown { line } = entry {
                unknown.push((line.length(), line.text.len()));
            }
        };
        let (most, conclusion) = flood(TranscriptDecoder::new(format), chunks, keep, &exit(0));
        assert!(most <= LINE_LIMIT + CHUNK, "{format} kept {most}");
        assert_eq!(unknown[0], ((CHUNKS * CHUNK) as u64, 4096), "{format}");
        let claude =
            matches!(format, TranscriptFormat::ClaudeStreamJson | TranscriptFormat::QwenStreamJson);
        assert_eq!(conclusion.ok, claude, "{format}: {}", conclusion.reason);
    }
}

#[test]
fn fifty_megabytes_of_events_are_read_one_by_one() {
    let text = "word ".repeat(20_000);
    let event = format!(
        "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}\n"
    );
    let events = CHUNKS * CHUNK / event.len();
    let chunks = (0..events).map(|_| event.clone().into_bytes()).chain([RESULT.into()]);
    let mut said = 0;
    let keep = |entry| said += usize::from(matches!(entry, TranscriptItem::Text { .. }));
    let decoder = TranscriptDecoder::new(TranscriptFormat::ClaudeStreamJson);
    let (most, conclusion) = flood(decoder, chunks, keep, &exit(0));
    assert_eq!((said, conclusion.ok), (events, true));
    assert!(most < 4 * CHUNK, "kept {most}");
}

#[test]
fn fifty_megabytes_of_pieces_are_an_answer_that_says_what_is_missing() {
    let piece = format!(
        "{{\"type\":\"message\",\"role\":\"assistant\",\"delta\":true,\"content\":\"{}\"}}\n",
        "é".repeat(CHUNK / 2)
    );
    let chunks = (0..CHUNKS).map(|_| piece.clone().into_bytes());
    let result = br#"{"type":"result","status":"success"}"#.to_vec();
    let decoder = TranscriptDecoder::new(TranscriptFormat::GeminiStreamJson);
    let (most, conclusion) = flood(decoder, chunks.chain([result]), |_| {}, &exit(0));
    let answer = conclusion.answer.unwrap();
    assert_eq!((answer.text.len(), answer.length()), (TEXT_LIMIT, (CHUNKS * CHUNK) as u64));
    assert!(most <= BUFFER_LIMIT && conclusion.ok);
    assert!(conclusion.reason.contains("51380224 bytes are missing"), "{}", conclusion.reason);
}

#[test]
fn fifty_megabytes_of_text_leave_their_end() {
    for line in ["no line feed at all, ", "a line\n"] {
        let chunk = line.repeat(CHUNK / line.len()).into_bytes();
        let chunks = (0..CHUNKS).map(|_| chunk.clone()).chain([b"\nthe end\n".to_vec()]);
        let decoder = TranscriptDecoder::new(TranscriptFormat::Text);
        let (most, conclusion) = flood(decoder, chunks, |_| {}, &exit(0));
        let answer = conclusion.answer.unwrap();
        assert!(answer.text.ends_with("the end") && answer.text.len() <= TEXT_LIMIT);
        assert!(answer.length() > (CHUNKS * CHUNK - 2000) as u64);
        assert!(most <= 8 * TEXT_LIMIT, "kept {most}");
    }
}

#[test]
fn a_document_without_end_and_a_flood_on_standard_error_stay_small() {
    let mut decoder = TranscriptDecoder::new(TranscriptFormat::GeminiStreamJson);
    let mut chunk = b"  ".repeat(CHUNK / 2);
    chunk.push(b'\n');
    let mut warnings = 0;
    let mut keep = |entry| {
        if let TranscriptItem::Warning { message } = entry {
            assert!(message.len() < 5000);
            warnings += 1;
        }
    };
    decoder.feed_stdout(b"{\n", &mut keep);
    decoder.feed_stderr(b"{\n", &mut keep);
    for _ in 0..CHUNKS {
        decoder.feed_stdout(&chunk, &mut keep);
        decoder.feed_stderr(&chunk, &mut keep);
        assert!(decoder.buffered() <= BUFFER_LIMIT);
    }
    let conclusion = decoder.finish(&exit(0), &mut keep);
    assert!(!conclusion.ok && !conclusion.complete);
    assert!(warnings > 0);
}

#[test]
fn what_would_take_a_hundred_times_its_size_in_memory_is_not_read() {
    let nested = r#"{"":0},"#.repeat(LINE_LIMIT / 8);
    let line = format!("{{\"type\":\"result\",\"is_error\":[{nested}0]}}");
    assert!(line.len() <= LINE_LIMIT);
    let read = super::printed(TranscriptFormat::ClaudeStreamJson, &line);
    assert_eq!((read.entries.len(), read.unknown().len()), (1, 1));
    assert!(!read.conclusion.ok);
}
