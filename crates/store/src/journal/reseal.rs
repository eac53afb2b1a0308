//! A whole journal, sealed anew: its facts as they are, in lines of today.

use std::path::Path;
use std::sync::Arc;

use coven_model::{SessionId, Timestamp};
use serde::Serialize;

use super::error::{AppendError, OpenError};
use super::frame::{FrameHeader, LinePlace, LineSeal, encode_record, encode_sealed, split_line};
use super::scan::{CheckedLine, check, damaged, is_torn};
use super::writer::encode;
use super::{SEALED_VERSION, VERSION};
use crate::seal::{SealChain, SealKey, SealTag};

/// Whose seal a journal has, on all of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalSeal {
    /// None: it is older than seals, or not from Coven.
    None,
    /// The user's own.
    Ours,
    /// That of the key that was given.
    Given,
    /// That of a key that is not known, or no line after line the same.
    Unknown,
}

/// A journal with the user's own seal.
pub(crate) struct ResealedJournal {
    pub(crate) bytes: Vec<u8>,
    pub(crate) facts: u64,
    pub(crate) seal: JournalSeal,
    chain: SealChain,
}

impl ResealedJournal {
    /// Adds a fact to a journal that was sealed anew.
    pub(crate) fn add<T: Serialize>(
        &mut self,
        time: Timestamp,
        fact: &T,
        key: &SealKey,
    ) -> Result<(), AppendError> {
        let seq = self.facts + 1;
        let (chain, seal) = (self.chain, LineSeal::Signed);
        let place = LinePlace { seq, time, chain, key, seal };
        self.chain = encode_record(&place, &encode(fact, seq)?, &mut self.bytes)
            .map_err(|why| AppendError::Fact { seq, why })?;
        self.facts = seq;
        Ok(())
    }

    /// The last fact and its tag, if there is a fact.
    pub(crate) fn last(&self, key: &SealKey) -> Option<(u64, SealTag)> {
        (self.facts > 0).then(|| (self.facts, key.tag(&self.chain)))
    }
}

/// Reads a whole journal, and seals its lines with a key. What is damaged is an error; a torn end is
/// left out.
pub(crate) fn reseal(
    path: &Path,
    session: &SessionId,
    bytes: &[u8],
    ours: &Arc<SealKey>,
    given: Option<&Arc<SealKey>>,
) -> Result<ResealedJournal, OpenError> {
    let wrong =
        |seq, offset: usize, damage| OpenError::from(damaged(path, seq, offset as u64, damage));
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let header = FrameHeader::read(first).map_err(|damage| wrong(0, 0, damage))?;
    if header.v > VERSION {
        return Err(OpenError::Newer { path: path.to_owned(), version: header.v });
    }
    if header.session != session.as_str() {
        let (expected, found) = (session.to_string(), header.session);
        return Err(OpenError::WrongSession { path: path.to_owned(), expected, found });
    }
    let (head, trailer) = split_line(first).map_err(|damage| wrong(0, 0, damage))?;
    let mut chain = SealChain::begin(session.as_str()).with(head);
    let holds = |chain: &SealChain, tag: &Option<SealTag>, key: &SealKey| {
        tag.as_ref().is_some_and(|tag| key.is_tag(chain, tag))
    };
    let mut is_ours = holds(&chain, &trailer.tag, ours);
    let mut is_given = given.is_some_and(|key| holds(&chain, &trailer.tag, key));
    let (mut out, mut sealed) = FrameHeader::line(session, ours);
    let (mut offset, mut facts, mut rest) = (first.len(), 0, lines.peekable());
    while let Some(line) = rest.next() {
        let seq = facts + 1;
        let is_last = rest.peek().is_none();
        if !line.ends_with(b"\n") && is_last {
            break;
        }
        let CheckedLine { json, trailer, .. } = match check(line, seq) {
            Ok(checked) => checked,
            Err(_) if is_torn(line, offset as u64, bytes.len() as u64) => break,
            Err(damage) => return Err(wrong(seq, offset, damage)),
        };
        chain = chain.with(json);
        is_ours &= holds(&chain, &trailer.tag, ours);
        is_given &= given.is_some_and(|key| holds(&chain, &trailer.tag, key));
        let seal = if is_last { LineSeal::Signed } else { LineSeal::Tagged };
        sealed = encode_sealed(json, &sealed, ours, seal, &mut out);
        (facts, offset) = (seq, offset + line.len());
    }
    let seal = match (is_ours, is_given) {
        (true, _) => JournalSeal::Ours,
        (_, true) => JournalSeal::Given,
        _ if header.v < SEALED_VERSION => JournalSeal::None,
        _ => JournalSeal::Unknown,
    };
    // One of ours keeps its lines, so that its checkpoint and its signatures stay those they are.
    let (bytes, chain) =
        if seal == JournalSeal::Ours { (Vec::new(), chain) } else { (out, sealed) };
    Ok(ResealedJournal { bytes, facts, seal, chain })
}
