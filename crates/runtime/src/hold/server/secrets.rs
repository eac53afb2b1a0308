//! Secrets that were typed: what the process prints of them is masked before it is recorded or
//! offered, byte for byte, so that offsets stay what they are.

/// How many secrets are remembered; the oldest is forgotten first.
const MAX_SECRETS: usize = 16;

/// A shorter text is no secret: masking it would mask half of everything.
const MIN_SECRET_BYTES: usize = 4;

/// What stands in place of a byte of a secret.
pub(super) const MASK: u8 = b'*';

/// The secrets that were typed to a process.
#[derive(Default)]
pub(super) struct TypedSecrets {
    secrets: Vec<Vec<u8>>,
    /// The rest of a secret whose beginning was at the end of what was printed last.
    expected: Option<Vec<u8>>,
}

impl TypedSecrets {
    /// Remembers what was typed, without the keys that frame and submit it.
    pub(super) fn add(&mut self, typed: &[u8]) {
        let text = typed.strip_prefix(b"\x1b[200~").unwrap_or(typed);
        let text = text.strip_suffix(b"\x1b[201~").unwrap_or(text).trim_ascii();
        if text.len() < MIN_SECRET_BYTES || self.secrets.iter().any(|known| known == text) {
            return;
        }
        if self.secrets.len() == MAX_SECRETS {
            self.secrets.remove(0);
        }
        self.secrets.push(text.to_vec());
    }

    /// Masks secrets in what was printed next.
    pub(super) fn mask(&mut self, printed: &mut [u8]) {
        if self.secrets.is_empty() {
            return;
        }
        let mut begin = 0;
        if let Some(rest) = self.expected.take() {
            let common = rest.len().min(printed.len());
            if printed[..common] == rest[..common] {
                printed[..common].fill(MASK);
                begin = common;
                self.expected = (common < rest.len()).then(|| rest[common..].to_vec());
            }
        }
        for secret in &self.secrets {
            let mut at = begin;
            let next = |rest: &[u8]| rest.windows(secret.len()).position(|part| part == secret);
            while let Some(found) = next(&printed[at..]) {
                printed[at + found..at + found + secret.len()].fill(MASK);
                at += found + secret.len();
            }
        }
        self.mask_beginning(&mut printed[begin..]);
    }

    /// Masks the beginning of a secret at the end of what was printed, and expects the rest.
    fn mask_beginning(&mut self, printed: &mut [u8]) {
        let longest = self.secrets.iter().filter_map(|secret| {
            let most = (secret.len() - 1).min(printed.len());
            let length = (MIN_SECRET_BYTES..=most).rev();
            let length = length.into_iter().find(|length| printed.ends_with(&secret[..*length]))?;
            Some((length, secret))
        });
        if let Some((length, secret)) = longest.max_by_key(|(length, _)| *length) {
            let begin = printed.len() - length;
            self.expected = Some(secret[length..].to_vec());
            printed[begin..].fill(MASK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(pieces: &[&str]) -> String {
        let mut secrets = TypedSecrets::default();
        secrets.add(b"\x1b[200~sk-1234567\x1b[201~");
        let pieces = pieces.iter().map(|piece| {
            let mut bytes = piece.as_bytes().to_vec();
            secrets.mask(&mut bytes);
            String::from_utf8(bytes).unwrap()
        });
        pieces.collect()
    }

    #[test]
    fn a_secret_is_masked_wherever_it_is_cut_after_its_beginning() {
        let text = "key: sk-1234567, again sk-1234567!";
        let hidden = "key: **********, again **********!";
        assert_eq!(masked(&[text]), hidden);
        for cut in (0..5).chain(9..=text.len()) {
            if (24..27).contains(&cut) {
                continue;
            }
            assert_eq!(masked(&[&text[..cut], &text[cut..]]), hidden, "cut at {cut}");
        }
        assert_eq!(masked(&["sk-12", "34", "567 end"]), "********** end");
    }

    #[test]
    fn other_text_is_left_alone() {
        assert_eq!(masked(&["sk-", "other"]), "sk-other");
        let mut secrets = TypedSecrets::default();
        secrets.add(b"abc\r");
        let mut printed = b"abcabc".to_vec();
        secrets.mask(&mut printed);
        assert_eq!(printed, b"abcabc");
    }
}
