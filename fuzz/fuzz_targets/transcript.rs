//! Any bytes as what an agent prints: the first byte picks the format, the second where it is
//! cut. Read the same in pieces as at once, with bounded memory, and never a success that the
//! entries do not tell.
#![no_main]

use coven_adapters::transcript::{BUFFER_LIMIT, TranscriptDecoder, TranscriptItem, RunConclusion, TranscriptFormat};
use coven_model::{ProcessEnding, TokenUsage};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [format, cut, printed @ ..] = bytes else { return };
    let format = TranscriptFormat::ALL[usize::from(*format) % TranscriptFormat::ALL.len()];
    // What stands before the first two NULs goes to standard error.
    let middle = printed.windows(2).position(|pair| pair == [0, 0]).unwrap_or(0);
    let (stderr, stdout) = printed.split_at(middle);
    let size = usize::from(*cut) + 1;

    let whole = read(format, &[stdout], &[stderr]);
    let stdout: Vec<&[u8]> = stdout.chunks(size).collect();
    let stderr: Vec<&[u8]> = stderr.chunks(size).collect();
    assert_eq!(read(format, &stdout, &stderr), whole);

    let (entries, conclusion) = whole;
    let last = entries.iter().rev().find_map(|entry| match entry {
        TranscriptItem::Result { ok, .. } => Some(*ok),
        _ => None,
    });
    assert!(!conclusion.ok || !format.has_result() || last == Some(true));
    let used = entries.iter().fold(TokenUsage::default(), |used, entry| match entry {
        TranscriptItem::Usage { usage, cumulative: true } => *usage,
        TranscriptItem::Usage { usage, cumulative: false } => used.plus(*usage),
        _ => used,
    });
    assert_eq!(conclusion.usage, used);
    assert!(!conclusion.reason.contains(char::is_control));
});

fn read(
    format: TranscriptFormat,
    stdout: &[&[u8]],
    stderr: &[&[u8]],
) -> (Vec<TranscriptItem>, RunConclusion) {
    let mut entries = Vec::new();
    let mut keep = |entry| entries.push(entry);
    let mut decoder = TranscriptDecoder::new(format);
    for piece in stdout {
        decoder.feed_stdout(piece, &mut keep);
        assert!(decoder.buffered() <= BUFFER_LIMIT);
    }
    for piece in stderr {
        decoder.feed_stderr(piece, &mut keep);
    }
    let conclusion = decoder.finish(&ProcessEnding::Exited { code: 0 }, &mut keep);
    (entries, conclusion)
}
