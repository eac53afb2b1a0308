//! One line of a journal: JSON, a tab, a checksum with its seal, a newline. And what every line
//! says about itself.

use std::collections::BTreeMap;
use std::io::Write;

use coven_model::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use super::VERSION;
use super::error::JournalDamage;
use crate::seal::{SealChain, SealKey, SealTag, hex, read_hex};

/// The longest that follows the JSON: a tab, a checksum, a tag, a signature, a newline.
const MAX_TRAILER_BYTES: usize = 1 + 8 + 1 + 32 + 1 + 128 + 1;

/// How deep a record may be nested. A reader of JSON gives up at 128 levels, to save its stack, and
/// a record that cannot be read again must not be written.
const MAX_RECORD_DEPTH: usize = 120;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FrameHeader {
    coven: String,
    pub(super) v: u32,
    pub(super) session: String,
    /// The public half of the key that seals it; none before version 2.
    #[serde(default)]
    pub(super) key: Option<String>,
}

/// What stands behind the JSON of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineTrailer {
    /// None before version 2.
    pub(super) tag: Option<SealTag>,
    pub(super) signature: Option<[u8; 64]>,
}

/// Whether the link of a line is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineSeal {
    Tagged,
    Signed,
}

/// What stands in front of every fact.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(super) struct FrameEnvelope {
    pub(super) v: u32,
    pub(super) seq: u64,
    pub(super) time: Timestamp,
    /// Which values lie in files of their own.
    #[serde(default)]
    pub(super) aside: BTreeMap<String, String>,
}

/// A fact as JSON, with the digests of the values that were taken out of it.
#[derive(Debug, Default)]
pub(crate) struct EncodedRecord {
    pub(crate) json: Vec<u8>,
    pub(crate) aside: BTreeMap<String, String>,
}

impl FrameHeader {
    /// The first line, and the chain that begins with it.
    pub(super) fn line(session: &SessionId, key: &SealKey) -> (Vec<u8>, SealChain) {
        // Written by hand because it cannot fail: neither has anything that JSON would escape.
        let public = key.public();
        let json = format!(
            r#"{{"coven":"journal","v":{VERSION},"session":"{session}","key":"{public}"}}"#
        );
        let mut line = Vec::new();
        let begun = SealChain::begin(session.as_str());
        let chain = encode_sealed(json.as_bytes(), &begun, key, LineSeal::Tagged, &mut line);
        (line, chain)
    }

    pub(super) fn read(line: &[u8]) -> Result<Self, JournalDamage> {
        let (json, _) = split_line(line)?;
        let header: Self = serde_json::from_slice(json).map_err(|_| JournalDamage::Header)?;
        if header.coven == "journal" && header.v > 0 {
            Ok(header)
        } else {
            Err(JournalDamage::Header)
        }
    }
}

/// Adds a line around this JSON, which has no newline in it, without a seal: the state folder has
/// files of such lines.
pub(crate) fn encode_line(json: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(json);
    // Writing to memory does not fail.
    writeln!(out, "\t{:08x}", crc32fast::hash(json)).ok();
}

/// Adds a line around this JSON, which has no newline in it, and returns the chain with it.
pub(super) fn encode_sealed(
    json: &[u8],
    chain: &SealChain,
    key: &SealKey,
    seal: LineSeal,
    out: &mut Vec<u8>,
) -> SealChain {
    let chain = chain.with(json);
    out.extend_from_slice(json);
    // Writing to memory does not fail.
    write!(out, "\t{:08x}:{}", crc32fast::hash(json), hex(&key.tag(&chain))).ok();
    if seal == LineSeal::Signed {
        write!(out, ":{}", hex(&key.sign(&chain))).ok();
    }
    out.push(b'\n');
    chain
}

/// The JSON of a line without a seal that ends with its newline.
pub(crate) fn read_line(line: &[u8]) -> Result<&[u8], JournalDamage> {
    match split_line(line)? {
        (json, LineTrailer { tag: None, .. }) => Ok(json),
        _ => Err(JournalDamage::Unframed),
    }
}

/// The JSON of a line that ends with its newline, and what stands behind it. The checksum holds;
/// the tag was not looked at.
pub(super) fn split_line(line: &[u8]) -> Result<(&[u8], LineTrailer), JournalDamage> {
    let window = line.len().saturating_sub(MAX_TRAILER_BYTES);
    // JSON that we write has no tab in it.
    let at = memchr::memrchr(b'\t', &line[window..]).ok_or(JournalDamage::Unframed)? + window;
    let (json, trailer) = line.split_at(at);
    let [b'\t', trailer @ .., b'\n'] = trailer else { return Err(JournalDamage::Unframed) };
    let trailer = std::str::from_utf8(trailer).map_err(|_| JournalDamage::Unframed)?;
    let mut parts = trailer.split(':');
    let unframed = || JournalDamage::Unframed;
    let crc: [u8; 4] = parts.next().and_then(read_hex).ok_or_else(unframed)?;
    let tag = parts.next().map(|tag| read_hex(tag).ok_or_else(unframed)).transpose()?;
    let signature = parts.next().map(|text| read_hex(text).ok_or_else(unframed)).transpose()?;
    if parts.next().is_some() {
        return Err(unframed());
    }
    if u32::from_be_bytes(crc) != crc32fast::hash(json) {
        return Err(JournalDamage::Checksum);
    }
    Ok((json, LineTrailer { tag, signature }))
}

impl LineTrailer {
    /// Whether the seal of a line is that of this key, in this place of this chain.
    pub(super) fn check(&self, chain: &SealChain, key: &SealKey) -> Result<(), JournalDamage> {
        match &self.tag {
            Some(tag) if key.is_tag(chain, tag) => Ok(()),
            Some(_) => Err(JournalDamage::Seal),
            None => Err(JournalDamage::Unsealed),
        }
    }
}

/// Where a line is added, and with which seal.
pub(super) struct LinePlace<'a> {
    pub(super) seq: u64,
    pub(super) time: Timestamp,
    /// Of the line before.
    pub(super) chain: SealChain,
    pub(super) key: &'a SealKey,
    pub(super) seal: LineSeal,
}

/// Adds the line of one fact, and returns the chain with it.
pub(super) fn encode_record(
    place: &LinePlace<'_>,
    fact: &EncodedRecord,
    out: &mut Vec<u8>,
) -> Result<SealChain, String> {
    let LinePlace { seq, time, .. } = *place;
    let [b'{', inside @ .., b'}'] = fact.json.as_slice() else {
        return Err("a fact must serialise as an object".to_owned());
    };
    let mut json = Vec::with_capacity(fact.json.len() + 64);
    let head = format!(r#"{{"v":{VERSION},"seq":{seq},"time":{}"#, time.as_millis());
    json.extend_from_slice(head.as_bytes());
    if !fact.aside.is_empty() {
        json.extend_from_slice(br#","aside":"#);
        serde_json::to_writer(&mut json, &fact.aside).map_err(|error| error.to_string())?;
    }
    if !inside.is_empty() {
        json.push(b',');
        json.extend_from_slice(inside);
    }
    json.push(b'}');
    if memchr::memchr3(b'\n', b'\t', 0, &json).is_some() {
        return Err("its JSON has a line break, a tab or a NUL in it".to_owned());
    }
    if depth(&json) > MAX_RECORD_DEPTH {
        return Err(format!("it is nested deeper than {MAX_RECORD_DEPTH} levels"));
    }
    // What could not be read again would make the whole journal unreadable.
    let again = FrameEnvelope::read(&json).map_err(|damage| damage.to_string())?;
    if again.seq != seq || again.time != time || again.aside != fact.aside {
        return Err("its keys hide those of the record (v, seq, time, aside)".to_owned());
    }
    Ok(encode_sealed(&json, &place.chain, place.key, place.seal, out))
}

/// How deep arrays and objects are nested in JSON that is well-formed.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut rest = json;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => rest = after_text(after),
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// What follows the closing quotation mark of a text.
fn after_text(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        let escaped = rest[at] == b'\\';
        rest = rest.get(at + 1 + usize::from(escaped)..).unwrap_or_default();
        if !escaped {
            return rest;
        }
    }
    &[]
}

impl FrameEnvelope {
    pub(super) fn read(json: &[u8]) -> Result<Self, JournalDamage> {
        serde_json::from_slice(json).map_err(|error| JournalDamage::Record(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(json: &str) -> EncodedRecord {
        EncodedRecord { json: json.as_bytes().to_vec(), ..EncodedRecord::default() }
    }

    fn encoded(json: &str) -> Result<String, String> {
        let mut line = Vec::new();
        let (key, chain) = (SealKey::from_secret(&[7; 32]), SealChain::begin("x"));
        let (seq, time, seal) = (7, Timestamp::from_millis(9), LineSeal::Tagged);
        encode_record(&LinePlace { seq, time, chain, key: &key, seal }, &fact(json), &mut line)?;
        Ok(String::from_utf8(line).unwrap())
    }

    /// The format is a contract: journals that were written so must stay readable.
    #[test]
    fn a_record_is_the_envelope_and_the_fact_in_one_object() {
        let line = encoded(r#"{"type":"a","data":1}"#).unwrap();
        assert_line(&line, r#"{"v":2,"seq":7,"time":9,"type":"a","data":1}"#);
        assert_line(&encoded("{}").unwrap(), r#"{"v":2,"seq":7,"time":9}"#);
    }

    fn assert_line(line: &str, json: &str) {
        let crc = crc32fast::hash(json.as_bytes());
        let (found, trailer) = line.split_once('\t').unwrap();
        assert_eq!(found, json);
        assert!(trailer.starts_with(&format!("{crc:08x}:")) && trailer.len() == 8 + 1 + 32 + 1);
    }

    #[test]
    fn what_could_not_be_read_again_is_not_written() {
        for bad in [
            "[]",
            "1",
            "\"{}\"",
            "{\"seq\":7}",
            "{\"time\":9}",
            "{\"v\":1}",
            "{\"a\":\n1}",
            "{\"a\":\t1}",
        ] {
            assert!(encoded(bad).is_err(), "{bad}");
        }
        let nested = |levels| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(encoded(&nested(119)).is_ok());
        assert!(encoded(&nested(120)).is_err());
        let text = format!(r#"{{"a":"\"{}"}}"#, "[".repeat(500));
        assert!(encoded(&text).is_ok(), "brackets in a text are no nesting");
    }

    #[test]
    fn any_change_of_a_line_shows() {
        let line = encoded(r#"{"type":"a"}"#).unwrap().into_bytes();
        assert!(split_line(&line).is_ok());
        let seal_from = line.len() - 1 - 32 - 1;
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut changed = line.clone();
                changed[at] ^= 1 << bit;
                let key = SealKey::from_secret(&[7; 32]);
                let sealed = |(json, trailer): (&[u8], LineTrailer)| {
                    trailer.check(&SealChain::begin("x").with(json), &key)
                };
                assert!(split_line(&changed).and_then(sealed).is_err(), "byte {at}, bit {bit}");
                if at < seal_from {
                    assert!(split_line(&changed).is_err(), "without the key: {at}, bit {bit}");
                }
            }
        }
        for len in 0..line.len() {
            assert!(split_line(&line[..len]).is_err(), "{len} bytes");
        }
    }
}
