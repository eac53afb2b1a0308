//! Takes secrets out of a stream of text, also where a secret comes in pieces.

use std::fmt::Write as _;

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
        let mut redactor = Self::default();
        redactor.extend(secrets);
        redactor
    }

    fn extend(&mut self, secrets: impl IntoIterator<Item = String>) {
        let long = secrets.into_iter().filter(|secret| secret.len() >= MIN_SECRET_BYTES);
        self.secrets.extend(long.flat_map(|secret| written_forms(&secret)));
        self.secrets.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        self.secrets.dedup();
    }

    /// Takes out this secret as well from now on, if it is long enough to be one.
    pub fn add(&mut self, secret: String) {
        self.extend([secret]);
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

/// How a secret is written: as it is, and as it stands in JSON, in which quotes, line breaks and, by
/// some programs, all letters beyond ASCII are written otherwise. Requests are shown as JSON.
pub(crate) fn written_forms(secret: &str) -> Vec<String> {
    let within = |json: String| {
        let text = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
        text.map(str::to_owned)
    };
    let json = serde_json::to_string(secret).ok().and_then(within);
    let in_ascii = json.as_deref().map(in_ascii);
    let mut forms = vec![secret.to_owned()];
    for form in json.into_iter().chain(in_ascii) {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

/// The inside of a JSON string with every letter beyond ASCII as its number.
fn in_ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_ascii() {
            text.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            // Writing to a text does not fail.
            write!(text, "\\u{unit:04x}").ok();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_as_it_is_written_in_json() {
        let secret = "p\"ä\nss\\w";
        let redactor = Redactor::new([secret.to_owned()]);
        let value = serde_json::json!({"header": secret});
        for text in [
            secret.to_owned(),
            value.to_string(),
            serde_json::to_string_pretty(&value).unwrap(),
            r#"{"header": "p\"\u00e4\nss\\w"}"#.to_owned(),
        ] {
            let clean = redactor.clean(&text);
            assert!(clean.contains(MASK) && !clean.contains("ss"), "{text}: {clean}");
        }
        let mut later = Redactor::default();
        later.add(secret.to_owned());
        assert_eq!(later.clean(&value.to_string()), r#"{"header":"[redacted]"}"#);
    }

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
