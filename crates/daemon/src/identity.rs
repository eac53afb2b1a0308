//! The daemon's own key. A browser pins it when it signs in, and asks for a signature before it
//! signs anything itself, so that another program that took our port learns nothing.
//!
//! A challenge needs no memory until it is used: the daemon recognises its own signature, and what
//! was signed says for which port and when. So no client can use up the places of challenges of
//! others. One that let a device in is remembered until it is too old.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use coven_api::device::{SignIn, SignInChallenge};
use coven_api::{ApiProblem, ProblemCode};
use coven_model::Timestamp;
use coven_service::private_file;
use p256::ecdsa::signature::{Signer, Verifier};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::secret::random_bytes;

/// What the file begins with; the number is the version of its format.
const FILE_HEAD: &str = "coven-daemon-key-1 ";

/// How long a challenge can be answered.
const CHALLENGE_LIFETIME: Duration = Duration::from_mins(1);

/// The bytes of a fingerprint. Finding another key with the same 128 bits is out of reach.
const FINGERPRINT_BYTES: usize = 16;

/// The daemon's key.
pub(crate) struct DaemonIdentity {
    key: SigningKey,
    /// The public half, as clients get it.
    public: String,
    /// The challenges that let a device in, and when each was made.
    used: Mutex<HashMap<String, Timestamp>>,
}

impl std::fmt::Debug for DaemonIdentity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("DaemonIdentity")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

impl DaemonIdentity {
    /// The key in a file, which is made if it is not there or others could have read it. Browsers
    /// that signed in before then have to sign in again.
    pub(crate) fn load(path: &Path) -> Result<Self, Error> {
        let wrong = |source| Error::file(path, source);
        match read(path) {
            Ok(Some(key)) => return Ok(Self::new(key)),
            Ok(None) => {}
            Err(why) => tracing::warn!("{} {why}; a new key is made", path.display()),
        }
        let key = loop {
            // All but a few of the numbers are keys.
            if let Ok(key) = SigningKey::from_slice(&random_bytes().map_err(wrong)?) {
                break key;
            }
        };
        let text = format!("{FILE_HEAD}{}\n", URL_SAFE_NO_PAD.encode(key.to_bytes()));
        private_file::write(path, text.as_bytes()).map_err(wrong)?;
        Ok(Self::new(key))
    }

    fn new(key: SigningKey) -> Self {
        let point = key.verifying_key().to_sec1_point(false);
        let public = URL_SAFE_NO_PAD.encode(point.as_bytes());
        Self { public, key, used: Mutex::default() }
    }

    /// What a code carries, so that a page knows the daemon before it sends the code.
    pub(crate) fn fingerprint(&self) -> String {
        fingerprint(&self.public)
    }

    /// A challenge for a client that asked this port.
    pub(crate) fn challenge(
        &self,
        client_nonce: String,
        port: u16,
        now: Timestamp,
    ) -> io::Result<SignInChallenge> {
        let mut challenge = SignInChallenge {
            port,
            client_nonce,
            daemon_nonce: URL_SAFE_NO_PAD.encode(random_bytes()?),
            issued: now.as_millis(),
            daemon_key: self.public.clone(),
            signature: String::new(),
        };
        let signature: Signature = self.key.sign(challenge.daemon_text().as_bytes());
        challenge.signature = URL_SAFE_NO_PAD.encode(signature.to_bytes());
        Ok(challenge)
    }

    /// Takes note that a challenge let a device in. It does so once.
    pub(crate) fn use_up(
        &self,
        challenge: &SignInChallenge,
        now: Timestamp,
    ) -> Result<(), ApiProblem> {
        let mut used = self.used.lock();
        used.retain(|_, issued| now.since(*issued) < CHALLENGE_LIFETIME);
        let issued = Timestamp::from_millis(challenge.issued);
        match used.insert(challenge.daemon_nonce.clone(), issued) {
            None => Ok(()),
            Some(_) => Err(unauthorized("the challenge was used before")),
        }
    }

    /// Whether a client signed a challenge of ours, made for this port a moment ago, with the key
    /// that it names.
    pub(crate) fn check(
        &self,
        sign_in: &SignIn,
        port: u16,
        now: Timestamp,
    ) -> Result<(), ApiProblem> {
        let challenge = &sign_in.challenge;
        let ours = challenge.daemon_key == self.public
            && challenge.port == port
            && verify(self.key.verifying_key(), &challenge.daemon_text(), &challenge.signature);
        if !ours {
            return Err(unauthorized("the challenge is not one of this daemon"));
        }
        let age = now.since(Timestamp::from_millis(challenge.issued));
        if age >= CHALLENGE_LIFETIME {
            return Err(unauthorized("the challenge is too old"));
        }
        let key = URL_SAFE_NO_PAD.decode(&sign_in.public_key).ok();
        let key = key.and_then(|bytes| VerifyingKey::from_sec1_bytes(&bytes).ok());
        let text = challenge.device_text(&sign_in.public_key);
        if !key.is_some_and(|key| verify(&key, &text, &sign_in.signature)) {
            return Err(unauthorized("the signature is not that of the key"));
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<Option<SigningKey>, String> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let about = fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    if !private_file::is_private(&about) {
        return Err("could be read by other users".to_owned());
    }
    let key = text.trim().strip_prefix(FILE_HEAD).and_then(|key| URL_SAFE_NO_PAD.decode(key).ok());
    let key = key.and_then(|bytes| SigningKey::from_slice(&bytes).ok());
    key.map(Some).ok_or_else(|| "is not a key".to_owned())
}

fn verify(key: &VerifyingKey, text: &str, signature: &str) -> bool {
    let bytes = URL_SAFE_NO_PAD.decode(signature).ok();
    let signature = bytes.and_then(|bytes| Signature::from_slice(&bytes).ok());
    signature.is_some_and(|signature| key.verify(text.as_bytes(), &signature).is_ok())
}

/// A few letters that stand for a public key.
pub(crate) fn fingerprint(public_key: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(public_key.as_bytes())[..FINGERPRINT_BYTES])
}

fn unauthorized(detail: &str) -> ApiProblem {
    ApiProblem::new(ProblemCode::Unauthorized, detail).with_hint("reload the page")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn identity() -> (tempfile::TempDir, DaemonIdentity) {
        let folder = tempfile::tempdir().unwrap();
        let identity = DaemonIdentity::load(&folder.path().join("daemon.key")).unwrap();
        (folder, identity)
    }

    fn device() -> (SigningKey, String) {
        let key = SigningKey::from_slice(&[7; 32]).unwrap();
        let public = URL_SAFE_NO_PAD.encode(key.verifying_key().to_sec1_point(false).as_bytes());
        (key, public)
    }

    fn signed(challenge: SignInChallenge) -> SignIn {
        let (key, public_key) = device();
        let signature: Signature = key.sign(challenge.device_text(&public_key).as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(signature.to_bytes());
        SignIn { code: None, name: None, public_key, challenge, signature }
    }

    #[test]
    fn a_challenge_is_good_for_its_own_port_and_daemon_for_a_minute() {
        let (_folder, identity) = identity();
        let challenge = identity.challenge("nonce".to_owned(), 7717, NOW).unwrap();
        let sign_in = signed(challenge.clone());
        identity.check(&sign_in, 7717, NOW).unwrap();
        // A program that has another port of ours cannot hand our challenge on to a page.
        identity.check(&sign_in, 7718, NOW).unwrap_err();
        identity.check(&sign_in, 7717, NOW.after(CHALLENGE_LIFETIME)).unwrap_err();
        let (_other, stranger) = self::identity();
        stranger.check(&sign_in, 7717, NOW).unwrap_err();
        for changed in [
            SignInChallenge { port: 7718, ..challenge.clone() },
            SignInChallenge { issued: NOW.as_millis() + 1, ..challenge.clone() },
            SignInChallenge { client_nonce: "other".to_owned(), ..challenge.clone() },
            SignInChallenge { daemon_nonce: "other".to_owned(), ..challenge },
        ] {
            let port = changed.port;
            identity.check(&signed(changed), port, NOW).unwrap_err();
        }
        let forged = SignIn { signature: sign_in.challenge.signature.clone(), ..sign_in.clone() };
        identity.check(&forged, 7717, NOW).unwrap_err();
    }

    #[test]
    fn the_key_stays_unless_others_could_read_it() {
        let (folder, identity) = identity();
        let path = folder.path().join("daemon.key");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(DaemonIdentity::load(&path).unwrap().public, identity.public);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(DaemonIdentity::load(&path).unwrap().public, identity.public);
    }
}
