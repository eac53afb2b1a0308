//! Takes secrets out of a stream of text, also where a secret comes in pieces.

use coven_model::ModelRetry;

/// What stands in place of a secret.
pub(crate) const MASK: &str = "[redacted]";

/// A shorter text is no secret: taking it out would take out half of everything.
pub(crate) const MIN_SECRET_BYTES: usize = 4;

/// Takes secrets out of text that comes in pieces.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    secrets: Vec<String>,
    /// The end of what came, which may be the beginning of a secret.
    held: String,
}

impl Redactor {
    /// A redactor for these secrets. Longer ones go first, so that one within another does not
    /// leave the rest behind. Texts of fewer than four bytes are left alone.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> =
            secrets.into_iter().filter(|secret| secret.len() >= MIN_SECRET_BYTES).collect();
        secrets.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        secrets.dedup();
        Self { secrets, held: String::new() }
    }

    /// Takes out this secret as well from now on, if it is long enough to be one.
    pub fn add(&mut self, secret: String) {
        let known = std::mem::take(&mut self.secrets);
        self.secrets = Self::new(known.into_iter().chain([secret])).secrets;
    }

    /// The next piece without secrets. What may be the beginning of one comes later.
    pub fn feed(&mut self, text: &str) -> String {
        if self.secrets.is_empty() {
            return text.to_owned();
        }
        self.held.push_str(text);
        self.held = self.clean(&self.held);
        let keep = self.possible_beginning();
        let rest = self.held.split_off(self.held.len() - keep);
        std::mem::replace(&mut self.held, rest)
    }

    /// The end of the stream.
    pub fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.clean(&held)
    }

    /// A whole text without secrets.
    pub fn clean(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }

    /// What is told of an attempt to reach the model, without secrets.
    pub fn clean_retry(&self, retry: &ModelRetry) -> ModelRetry {
        let reason = retry.reason.as_deref().map(|reason| self.clean(reason));
        ModelRetry { reason, ..retry.clone() }
    }

    /// The length of the longest end of what is held that a secret begins with.
    fn possible_beginning(&self) -> usize {
        let longest = |secret: &String| {
            (1..secret.len())
                .rev()
                .filter(|length| secret.is_char_boundary(*length))
                .find(|length| self.held.ends_with(&secret[..*length]))
                .unwrap_or(0)
        };
        self.secrets.iter().map(longest).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_pieces_is_found_wherever_it_is_cut() {
        let text = "key=sk-abc123, again sk-abc123 and sk-abc12 not";
        for cut in 0..=text.len() {
            let mut redactor = Redactor::new(["sk-abc123".to_owned(), "abc".to_owned()]);
            let mut out = redactor.feed(&text[..cut]);
            out.push_str(&redactor.feed(&text[cut..]));
            out.push_str(&redactor.finish());
            assert_eq!(out, "key=[redacted], again [redacted] and sk-abc12 not", "cut at {cut}");
        }
    }

    #[test]
    fn a_secret_within_another_leaves_nothing_behind() {
        let redactor = Redactor::new(["token".to_owned(), "token-long-form".to_owned()]);
        assert_eq!(redactor.clean("a token-long-form b token"), "a [redacted] b [redacted]");
    }

    #[test]
    fn text_that_cannot_be_a_secret_is_not_held_back() {
        let mut redactor = Redactor::new(["secret".to_owned()]);
        assert_eq!(redactor.feed("hello"), "hello");
        assert_eq!(redactor.feed("x sec"), "x ");
        assert_eq!(redactor.feed("ond"), "second");
    }
}
