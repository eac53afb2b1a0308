//! Checking a journal with a public key alone, as a stranger can.

use std::path::Path;

use coven_folder::{FileError, OpenFolder};
use coven_model::SessionId;
use rustix::fs::OFlags;

use super::FILE;
use super::error::{JournalDamage, ReadError};
use super::scan::{CheckedLine, JournalLines, ScannedLine, check, damaged, is_torn, read_header};
use crate::seal::{PublicKey, SealChain};

/// How much of a journal is signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignedExtent {
    /// How many facts it has.
    pub facts: u64,
    /// Up to which fact it is as it was signed; 0 if there is no signature.
    pub signed: u64,
    /// How many signatures it has.
    pub signatures: u64,
}

/// Reads a journal and checks its signatures. One that does not fit is damage of its line, or of one
/// before it.
pub fn verify_signatures(
    folder: &OpenFolder,
    session: &SessionId,
    public: &PublicKey,
) -> Result<SignedExtent, ReadError> {
    let path = folder.path().join(FILE);
    let file = folder.file(FILE, OFlags::RDONLY)?;
    let failed = |source| FileError::new("read", &path, source);
    let len = file.metadata().map_err(failed)?.len();
    let mut lines = JournalLines::new(&file, 0, len);
    let mut chain = first_link(&mut lines, &path, session)?;
    let mut extent = SignedExtent::default();
    loop {
        let (offset, seq) = (lines.offset(), extent.facts + 1);
        let damage = |damage: JournalDamage| ReadError::from(damaged(&path, seq, offset, damage));
        let line = match lines.next().map_err(failed)? {
            ScannedLine::Whole(line) => line,
            ScannedLine::Partial | ScannedLine::End => return Ok(extent),
            ScannedLine::TooLong => return Err(damage(JournalDamage::TooLong)),
        };
        let CheckedLine { json, trailer, .. } = match check(line, seq) {
            Ok(checked) => checked,
            Err(_) if is_torn(line, offset, len) => return Ok(extent),
            Err(wrong) => return Err(damage(wrong)),
        };
        chain = chain.with(json);
        extent.facts = seq;
        if let Some(signature) = &trailer.signature {
            if !public.is_signature(&chain, signature) {
                return Err(damage(JournalDamage::Signature));
            }
            (extent.signed, extent.signatures) = (seq, extent.signatures + 1);
        }
    }
}

fn first_link(
    lines: &mut JournalLines<&std::fs::File>,
    path: &Path,
    session: &SessionId,
) -> Result<SealChain, ReadError> {
    let wrong = || ReadError::from(damaged(path, 0, 0, JournalDamage::Header));
    let header = read_header(lines, path).map_err(|_| wrong())?;
    // A journal that names another session, or none, is not the one that was signed.
    if header.header.session != session.as_str() {
        return Err(wrong());
    }
    Ok(header.chain(session.as_str()))
}
