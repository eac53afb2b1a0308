//! What nobody else may read: the token, and files of the user alone.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use crate::error::Error;

/// The bytes of a token: 256 bits.
const BYTES: usize = 32;

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
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The one in a file, which is made if it is not there or nothing to rely on.
    pub(crate) fn load(path: &Path) -> Result<Self, Error> {
        let wrong = |source| Error::file(path, source);
        if let Ok(text) = fs::read_to_string(path) {
            let right = URL_SAFE_NO_PAD.decode(text.trim()).is_ok_and(|bytes| bytes.len() == BYTES);
            let about = fs::metadata(path).map_err(wrong)?;
            if right && is_private(&about) {
                return Ok(Self(text.trim().to_owned()));
            }
        }
        let secret = Self::new().map_err(wrong)?;
        write_private(path, secret.0.as_bytes()).map_err(wrong)?;
        Ok(secret)
    }

    /// Whether somebody knows it. Takes as long for a wrong guess as for any other.
    pub(crate) fn is(&self, guess: &str) -> bool {
        self.0.as_bytes().ct_eq(guess.as_bytes()).into()
    }

    /// The text, for whoever may have it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

/// Whether nobody else may do anything with it.
#[expect(clippy::verbose_bit_mask, reason = "it is a mask")]
fn is_private(about: &fs::Metadata) -> bool {
    about.permissions().mode() & 0o077 == 0
}

/// Writes a file for the user alone, whole or not at all.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    // One that is left over may belong to anybody.
    let _ = fs::remove_file(&draft);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Makes a folder for the user alone.
pub(crate) fn private_folder(path: &Path) -> Result<(), Error> {
    let wrong = |source| Error::file(path, source);
    fs::create_dir_all(path).map_err(wrong)?;
    let about = fs::metadata(path).map_err(wrong)?;
    if !is_private(&about) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(wrong)?;
    }
    Ok(())
}
