//! Secrets: the token, and the codes that a page exchanges for it.

use std::fs;
use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use coven_service::private_file;
use subtle::ConstantTimeEq;

use crate::error::Error;

/// The bytes of a token: 256 bits.
const TOKEN_BYTES: usize = 32;

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
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The one in a file, which is made if it is not there or nothing to rely on.
    pub(crate) fn load(path: &Path) -> Result<Self, Error> {
        let wrong = |source| Error::file(path, source);
        if let Ok(text) = fs::read_to_string(path) {
            let right =
                URL_SAFE_NO_PAD.decode(text.trim()).is_ok_and(|bytes| bytes.len() == TOKEN_BYTES);
            let about = fs::metadata(path).map_err(wrong)?;
            if right && private_file::is_private(&about) {
                return Ok(Self(text.trim().to_owned()));
            }
        }
        let secret = Self::new().map_err(wrong)?;
        private_file::write(path, secret.0.as_bytes()).map_err(wrong)?;
        Ok(secret)
    }

    /// Whether a client's guess is right. Takes equally long for every wrong guess, so that the
    /// time says nothing about the secret.
    pub(crate) fn is(&self, guess: &str) -> bool {
        self.0.as_bytes().ct_eq(guess.as_bytes()).into()
    }

    /// Whether it stands anywhere in a text.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        text.as_bytes().windows(self.0.len()).any(|part| self.0.as_bytes().ct_eq(part).into())
    }

    /// The text. Only for the file of the secret and for answers to clients that were let in.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}
