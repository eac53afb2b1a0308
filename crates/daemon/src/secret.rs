//! Secrets: the tokens of devices, and the codes that browsers sign in with.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

/// The bytes of a secret: 256 bits.
const SECRET_BYTES: usize = 32;

/// The letters of a secret.
const SECRET_LENGTH: usize = 43;

/// What every token begins with, so that it is recognised where it must not stand.
const TOKEN_PREFIX: &str = "coven_";

/// Something that must be known to come in. It is never shown by accident.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

impl Secret {
    /// A new one, from the system's own randomness.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(URL_SAFE_NO_PAD.encode(random_bytes()?)))
    }

    /// A new token.
    pub(crate) fn token() -> io::Result<Self> {
        Ok(Self(format!("{TOKEN_PREFIX}{}", Self::new()?.0)))
    }

    /// Whether a client's guess is right. Takes equally long for every wrong guess, so that the
    /// time says nothing about the secret.
    pub(crate) fn is(&self, guess: &str) -> bool {
        self.0.as_bytes().ct_eq(guess.as_bytes()).into()
    }

    /// The text. Only for answers to clients that may have it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

/// As many random bytes as a secret has.
pub(crate) fn random_bytes() -> io::Result<[u8; SECRET_BYTES]> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// Whether something that looks like a token stands in a text.
pub(crate) fn has_token(text: &str) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.match_indices(TOKEN_PREFIX).any(|(at, _)| {
        let rest = &text.as_bytes()[at + TOKEN_PREFIX.len()..];
        rest.len() >= SECRET_LENGTH && rest[..SECRET_LENGTH].iter().all(is_letter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_recognised_wherever_it_stands() {
        let token = Secret::token().unwrap();
        let token = token.reveal();
        for text in [format!("/x/{token}"), format!("/?a={token}&b"), format!("coven_{token}")] {
            assert!(has_token(&text), "{text}");
        }
        assert!(!has_token("/workflows/coven_x") && !has_token(&token[..48]));
    }
}
