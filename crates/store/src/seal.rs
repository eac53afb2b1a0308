//! Seals: what makes a change to a journal visible.
//!
//! A journal lies in the project, where agents can write. So each of its lines carries a tag that
//! only the owner of a key can make. The lines form a chain: the link of a line is the SHA-256 of
//! the link before it and of the line's JSON, and the first link is made of the session's id. The
//! tag of a line is an HMAC of its link. So a line cannot be changed, left out, moved or taken from
//! another session without the key.
//!
//! The owner can check tags; nobody else can. Therefore some links are also signed (Ed25519). With
//! the public key alone, anyone can compute the links of a journal again and see that they are the
//! ones that were signed.
//!
//! A seal does not say that a journal is whole: one that was cut off behind one of its lines is
//! still sealed. That is what the [checkpoint](crate::checkpoint) in the state folder is for.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use coven_folder::{FileError, OpenFolder, best_effort};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::checkpoint::{Checkpoint, CheckpointFile};

/// The first line of the file of a key.
const KEY_TITLE: &str = "coven seal key 1";

const KEY_BYTES: usize = 32;

/// The file of a key has fewer.
const MAX_KEY_FILE_BYTES: u64 = 4096;

/// Begins every chain, so that a link is never the digest of anything else.
const CHAIN_CONTEXT: &[u8] = b"coven journal chain 2\0";

/// What the two keys are made of the secret with.
const TAG_CONTEXT: &[u8] = b"coven journal tag";
const SIGNATURE_CONTEXT: &[u8] = b"coven journal signature";

/// Stands before a link that is signed, so that a signature is never that of anything else.
const SIGNED_CONTEXT: &[u8] = b"coven journal link 2\0";

/// The tag of a line: the first half of an HMAC-SHA-256.
pub(crate) type SealTag = [u8; TAG_BYTES];

const TAG_BYTES: usize = 16;

/// A key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("cannot {action} the key {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    /// It is not the file of a key.
    #[error("{} is not a key of ours; put the right file back, or move this one away: then a new \
        key is made, and the sessions of the old one can be read and imported", path.display())]
    Damaged { path: PathBuf },
    /// A newer program wrote it.
    #[error("{} was written by a newer program; use that one", path.display())]
    Newer { path: PathBuf },
    /// Others than its owner can read or write it.
    #[error("{} can be read or written by other users; if they may have seen it, move it away, \
        else run: chmod 600 {}", path.display(), path.display())]
    Exposed { path: PathBuf },
    /// A folder of what decides can be written by others than its owner.
    #[error("{} can be written by other users, so that what lies there could be theirs; run: \
        chmod go-w {}", path.display(), path.display())]
    Writable { path: PathBuf },
}

/// The key of one user, which seals journals.
#[derive(Clone)]
pub struct SealKey {
    tag: Hmac<Sha256>,
    signing: SigningKey,
    /// What both are made of, so that its file can be put back.
    secret: [u8; KEY_BYTES],
}

/// What was found where a key belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFile {
    InPlace,
    /// There was no file, and now there is.
    PutBack,
    Another,
}

impl fmt::Debug for SealKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SealKey({})", self.public())
    }
}

impl SealKey {
    /// The key of a secret that nobody else knows.
    pub fn from_secret(secret: &[u8; KEY_BYTES]) -> Self {
        let derived = |context: &[u8]| -> [u8; 32] {
            let mut mac = keyed(secret);
            mac.update(context);
            mac.finalize().into_bytes().into()
        };
        Self {
            tag: keyed(&derived(TAG_CONTEXT)),
            signing: SigningKey::from_bytes(&derived(SIGNATURE_CONTEXT)),
            secret: *secret,
        }
    }

    /// The key in a file; a new one if there is no file.
    pub fn open(path: &Path) -> Result<Self, KeyError> {
        match Self::read(path) {
            Err(KeyError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                let mut secret = [0; KEY_BYTES];
                let failed = |source| KeyError::File { action: "make", path: path.into(), source };
                getrandom::fill(&mut secret).map_err(|error| failed(io::Error::other(error)))?;
                write(path, &secret)?;
                // Another process may have made one at the same time: that in the file counts.
                Self::read(path)
            }
            read => read,
        }
    }

    /// The key in a file.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let failed = |source| KeyError::File { action: "read", path: path.to_owned(), source };
        let text = coven_folder::read_plain_file(path, MAX_KEY_FILE_BYTES).map_err(failed)?;
        let about = fs::metadata(path).map_err(failed)?;
        if about.mode() & 0o077 != 0 {
            return Err(KeyError::Exposed { path: path.to_owned() });
        }
        let damaged = || KeyError::Damaged { path: path.to_owned() };
        let text = std::str::from_utf8(&text).map_err(|_| damaged())?;
        let (title, secret) = text.split_once('\n').ok_or_else(damaged)?;
        if title != KEY_TITLE {
            let is_newer = title.starts_with("coven seal key ");
            return Err(if is_newer {
                KeyError::Newer { path: path.to_owned() }
            } else {
                damaged()
            });
        }
        let secret: [u8; KEY_BYTES] = read_hex(secret.trim_end()).ok_or_else(damaged)?;
        Ok(Self::from_secret(&secret))
    }

    /// Puts the file of this key back if it was deleted, and says what there was.
    pub fn keep(&self, path: &Path) -> Result<KeyFile, KeyError> {
        match Self::read(path) {
            Ok(found) if found.secret == self.secret => Ok(KeyFile::InPlace),
            Ok(_) => Ok(KeyFile::Another),
            Err(KeyError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                write(path, &self.secret)?;
                Ok(KeyFile::PutBack)
            }
            Err(error) => Err(error),
        }
    }

    /// The half of the key with which others can check signatures.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.signing.verifying_key())
    }

    pub(crate) fn tag(&self, chain: &SealChain) -> SealTag {
        let mut mac = self.tag.clone();
        mac.update(&chain.link);
        let whole: [u8; 32] = mac.finalize().into_bytes().into();
        let (tag, _) = whole.split_at(TAG_BYTES);
        // The half of 32 bytes has the length of a tag.
        tag.try_into().unwrap_or_default()
    }

    /// Whether a tag is that of a link. Takes equally long for every wrong tag.
    pub(crate) fn is_tag(&self, chain: &SealChain, tag: &SealTag) -> bool {
        let mut mac = self.tag.clone();
        mac.update(&chain.link);
        mac.verify_truncated_left(tag).is_ok()
    }

    pub(crate) fn sign(&self, chain: &SealChain) -> [u8; 64] {
        self.signing.sign(&chain.signed()).to_bytes()
    }
}

/// The public half of a key, in hexadecimal digits as people pass it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex(self.0.as_bytes()))
    }
}

impl std::str::FromStr for PublicKey {
    type Err = InvalidPublicKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = read_hex(text.trim()).ok_or(InvalidPublicKey)?;
        VerifyingKey::from_bytes(&bytes).map(Self).map_err(|_| InvalidPublicKey)
    }
}

/// A text is not a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a public key: that has 64 hexadecimal digits, as `coven key` prints it")]
pub struct InvalidPublicKey;

impl PublicKey {
    pub(crate) fn is_signature(&self, chain: &SealChain, signature: &[u8; 64]) -> bool {
        let signature = Signature::from_bytes(signature);
        self.0.verify_strict(&chain.signed(), &signature).is_ok()
    }
}

/// The links of a journal up to one of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SealChain {
    link: [u8; 32],
}

impl SealChain {
    /// Before the first line of a session's journal.
    pub(crate) fn begin(session: &str) -> Self {
        Self {
            link: Sha256::new().chain_update(CHAIN_CONTEXT).chain_update(session).finalize().into(),
        }
    }

    /// With the next line.
    #[must_use]
    pub(crate) fn with(&self, json: &[u8]) -> Self {
        Self { link: Sha256::new().chain_update(self.link).chain_update(json).finalize().into() }
    }

    fn signed(&self) -> Vec<u8> {
        [SIGNED_CONTEXT, &self.link].concat()
    }
}

/// Seals so many facts of a session as recording them does: the link, its tag, and the checkpoint in
/// the folder of its jobs. For the benchmark, which has to know what this costs alone.
#[doc(hidden)]
pub fn seal_facts(key: &SealKey, jobs: &Path, json: &[u8], facts: u64) -> Result<(), FileError> {
    let jobs = OpenFolder::open(jobs)?;
    let (mut chain, mut file) = (SealChain::begin("benchmark"), CheckpointFile::default());
    for seq in 1..=facts {
        chain = chain.with(json);
        let tag = key.tag(&chain);
        std::hint::black_box(hex(&tag));
        file.write(&jobs, Checkpoint { seq, tag })?;
    }
    Ok(())
}

fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    // This one has no way to fail: the key has the length of the type.
    KeyInit::new(&padded(key))
}

/// A key as long as the block of the hash, as HMAC pads it.
fn padded(key: &[u8; 32]) -> hmac::digest::Key<Hmac<Sha256>> {
    let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
    block[..key.len()].copy_from_slice(key);
    block
}

/// Writes the file of a key, unless there is one by now.
fn write(path: &Path, secret: &[u8; KEY_BYTES]) -> Result<(), KeyError> {
    let failed = |source| KeyError::File { action: "write", path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    crate::layout::make_private_path(folder).map_err(|error| failed(error.source))?;
    let draft = path.with_extension(format!("new-{}", std::process::id()));
    let written = || -> io::Result<()> {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&draft)?;
        writeln!(file, "{KEY_TITLE}\n{}", hex(secret))?;
        file.sync_all()?;
        match fs::hard_link(&draft, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => fs::File::open(folder)?.sync_all(),
        }
    };
    let made = written().map_err(failed);
    best_effort("remove the draft of a key", fs::remove_file(&draft));
    made
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        text.push(char::from(HEX_DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(HEX_DIGITS[usize::from(byte & 15)]));
        text
    })
}

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Exactly so many bytes in small hexadecimal digits.
pub(crate) fn read_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let digit = |digit: u8| HEX_DIGITS.iter().position(|hex| *hex == digit);
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/seal.key");
        let made = SealKey::open(&path).unwrap();
        let again = SealKey::open(&path).unwrap();
        let chain = SealChain::begin("a");
        assert_eq!(made.public(), again.public());
        assert!(again.is_tag(&chain, &made.tag(&chain)));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn a_key_whose_file_was_deleted_is_put_back_and_another_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seal.key");
        let key = SealKey::open(&path).unwrap();
        assert_eq!(key.keep(&path).unwrap(), KeyFile::InPlace);
        fs::remove_file(&path).unwrap();
        assert_eq!(key.keep(&path).unwrap(), KeyFile::PutBack);
        assert_eq!(SealKey::read(&path).unwrap().public(), key.public());
        let other = SealKey::from_secret(&[3; 32]);
        assert_eq!(other.keep(&path).unwrap(), KeyFile::Another);
        assert_eq!(SealKey::read(&path).unwrap().public(), key.public());
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_none_is_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seal.key");
        SealKey::open(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(SealKey::open(&path), Err(KeyError::Exposed { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for (text, newer) in
            [("", false), ("coven seal key 2\nx", true), ("coven seal key 1\nab", false)]
        {
            fs::write(&path, text).unwrap();
            match SealKey::open(&path).unwrap_err() {
                KeyError::Newer { .. } => assert!(newer, "{text}"),
                KeyError::Damaged { .. } => assert!(!newer, "{text}"),
                other => panic!("{other}"),
            }
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_tag_and_a_signature_are_of_one_link_and_one_key() {
        let (key, other) = (SealKey::from_secret(&[1; 32]), SealKey::from_secret(&[2; 32]));
        let chain = SealChain::begin("a").with(b"{}");
        let (tag, signature) = (key.tag(&chain), key.sign(&chain));
        assert!(key.is_tag(&chain, &tag) && key.public().is_signature(&chain, &signature));
        assert!(!other.is_tag(&chain, &tag) && !other.public().is_signature(&chain, &signature));
        for wrong in [SealChain::begin("a"), SealChain::begin("b").with(b"{}"), chain.with(b"{}")] {
            assert!(!key.is_tag(&wrong, &tag) && !key.public().is_signature(&wrong, &signature));
        }
    }

    #[test]
    fn a_public_key_reads_back() {
        let public = SealKey::from_secret(&[1; 32]).public();
        assert_eq!(public.to_string().parse(), Ok(public));
        assert_eq!("ab".parse::<PublicKey>(), Err(InvalidPublicKey));
    }
}
