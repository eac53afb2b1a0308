//! Bytes that arrive in pieces, as text.

/// Decodes UTF-8 that may be cut anywhere. All the text it gives out, joined, is what
/// `String::from_utf8_lossy` makes of all the bytes it was given, joined.
#[derive(Debug, Default)]
pub(super) struct Utf8Decoder {
    /// The beginning of a character whose rest is still to come; at most three bytes.
    held: Vec<u8>,
}

impl Utf8Decoder {
    /// The text that is complete with these bytes.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len());
        while let (false, [next, rest @ ..]) = (self.held.is_empty(), bytes) {
            self.held.push(*next);
            match std::str::from_utf8(&self.held) {
                Ok(character) => {
                    text.push_str(character);
                    self.held.clear();
                }
                Err(error) if error.error_len().is_none() => {}
                Err(_) => {
                    // The held bytes were a good beginning, so it is `next` that does not go on
                    // with it. It is looked at again, as a beginning of its own.
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.held.clear();
                    break;
                }
            }
            bytes = rest;
        }
        self.push_fresh(bytes, &mut text);
        text
    }

    /// What stands for a character that never became complete: nothing, or U+FFFD.
    pub(super) fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.held).is_empty() { "" } else { "\u{fffd}" }
    }

    /// Decodes bytes that do not continue a held character.
    fn push_fresh(&mut self, bytes: &[u8], text: &mut String) {
        let mut end = 0;
        for chunk in bytes.utf8_chunks() {
            let (valid, invalid) = (chunk.valid(), chunk.invalid());
            text.push_str(valid);
            end += valid.len() + invalid.len();
            if end == bytes.len() && is_incomplete(invalid) {
                self.held.extend_from_slice(invalid);
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }
}

fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
