//! Mends characters that are broken in a line of JSON. JavaScript writes half of a pair of
//! surrogates as an escape when it cuts a text, and programs print bytes that are no UTF-8.

const REPLACEMENT: &[u8] = b"\\ufffd";

/// How long `\uXXXX` is.
const ESCAPE_BYTES: usize = 6;

/// The same bytes with U+FFFD for every broken character; nothing if there is none.
pub(super) fn mended(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(bytes);
    let bytes = text.as_bytes();
    let mut mended = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == b'\\') {
        at += next;
        at += match (
            surrogate(&bytes[at..]),
            surrogate(&bytes[(at + ESCAPE_BYTES).min(bytes.len())..]),
        ) {
            (Some(Surrogate::High), Some(Surrogate::Low)) => 2 * ESCAPE_BYTES,
            (Some(_), _) => {
                mended.extend_from_slice(&bytes[copied..at]);
                mended.extend_from_slice(REPLACEMENT);
                copied = at + ESCAPE_BYTES;
                ESCAPE_BYTES
            }
            // The character behind it is escaped, perhaps another backslash.
            (None, _) => 2,
        };
        if at >= bytes.len() {
            break;
        }
    }
    if copied == 0 {
        return match text {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(text) => Some(text.into_bytes()),
        };
    }
    mended.extend_from_slice(&bytes[copied..]);
    Some(mended)
}

#[derive(Clone, Copy)]
enum Surrogate {
    High,
    Low,
}

/// The half of a pair that the bytes begin with, as an escape.
fn surrogate(bytes: &[u8]) -> Option<Surrogate> {
    let digits = bytes.get(..ESCAPE_BYTES)?.strip_prefix(b"\\u")?;
    match digits.to_ascii_lowercase().as_slice() {
        [b'd', b'8'..=b'9' | b'a'..=b'b', rest @ ..] if is_hex(rest) => Some(Surrogate::High),
        [b'd', b'c'..=b'f', rest @ ..] if is_hex(rest) => Some(Surrogate::Low),
        _ => None,
    }
}

fn is_hex(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &[u8]) -> Option<String> {
        let mended = mended(json)?;
        Some(serde_json::from_slice(&mended).expect("it is JSON now"))
    }

    #[test]
    fn halves_of_pairs_and_bytes_that_are_no_characters_are_replaced_and_nothing_else() {
        for (json, expected) in [
            (&br#""\ud83d""#[..], "\u{fffd}"),
            (br#""\uD83D\uDE00 \uDE00""#, "\u{1f600} \u{fffd}"),
            (br#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (br#""\\\ud83d\n""#, "\\\u{fffd}\n"),
            (br#""\ud83""#, ""),
            (b"\"a\xff\xc3\"", "a\u{fffd}\u{fffd}"),
            (b"\"\xff\\udfff\"", "\u{fffd}\u{fffd}"),
        ] {
            if expected.is_empty() {
                assert_eq!(mended(json), None);
            } else {
                assert_eq!(text(json).as_deref(), Some(expected));
            }
        }
        for whole in [&br#""\ud83d\ude00""#[..], br#""\\ud83d""#, b"\"\"", b"\\", b"\"\\", b""] {
            assert_eq!(mended(whole), None);
        }
    }
}
