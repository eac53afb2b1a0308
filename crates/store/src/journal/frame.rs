//! One line of a journal: JSON, a tab, a checksum, a newline. And what every line says about
//! itself.

use std::collections::BTreeMap;
use std::io::Write;

use coven_model::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use super::error::JournalDamage;
use super::{MAX_LINE, VERSION};

/// What follows the JSON: a tab, eight digits, a newline.
const TRAILER_BYTES: usize = 10;

/// How deep a record may be nested. A reader of JSON gives up at 128 levels, to save its stack, and
/// a record that cannot be read again must not be written.
const MAX_RECORD_DEPTH: usize = 120;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FrameHeader {
    coven: String,
    pub(super) v: u32,
    pub(super) session: String,
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
    pub(super) fn line(session: &SessionId) -> Vec<u8> {
        // Written by hand because it cannot fail: an id has nothing that JSON would escape.
        let json = format!(r#"{{"coven":"journal","v":{VERSION},"session":"{session}"}}"#);
        let mut line = Vec::new();
        encode_line(json.as_bytes(), &mut line);
        line
    }

    pub(super) fn read(line: &[u8]) -> Result<Self, JournalDamage> {
        let header: Self =
            serde_json::from_slice(read_line(line)?).map_err(|_| JournalDamage::Header)?;
        if header.coven == "journal" && header.v > 0 {
            Ok(header)
        } else {
            Err(JournalDamage::Header)
        }
    }
}

/// Adds a line around this JSON, which has no newline in it.
pub(crate) fn encode_line(json: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(json);
    // Writing to memory does not fail.
    writeln!(out, "\t{:08x}", crc32fast::hash(json)).ok();
}

/// The JSON of a line that ends with its newline.
pub(crate) fn read_line(line: &[u8]) -> Result<&[u8], JournalDamage> {
    let at = line.len().checked_sub(TRAILER_BYTES).ok_or(JournalDamage::Unframed)?;
    let (json, trailer) = line.split_at(at);
    let [b'\t', digits @ .., b'\n'] = trailer else { return Err(JournalDamage::Unframed) };
    let digit = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if !digits.iter().all(digit) {
        return Err(JournalDamage::Unframed);
    }
    let crc = std::str::from_utf8(digits).ok().and_then(|text| u32::from_str_radix(text, 16).ok());
    if crc == Some(crc32fast::hash(json)) { Ok(json) } else { Err(JournalDamage::Checksum) }
}

/// Adds the line of one fact.
pub(super) fn encode_record(
    seq: u64,
    time: Timestamp,
    fact: &EncodedRecord,
    out: &mut Vec<u8>,
) -> Result<(), String> {
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
    if memchr::memchr2(b'\n', 0, &json).is_some() {
        return Err("its JSON has a line break or a NUL in it".to_owned());
    }
    if depth(&json) > MAX_RECORD_DEPTH {
        return Err(format!("it is nested deeper than {MAX_RECORD_DEPTH} levels"));
    }
    // What could not be read again would make the whole journal unreadable.
    let again = FrameEnvelope::read(&json).map_err(|damage| damage.to_string())?;
    if again.seq != seq || again.time != time || again.aside != fact.aside {
        return Err("its keys hide those of the record (v, seq, time, aside)".to_owned());
    }
    encode_line(&json, out);
    Ok(())
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

/// How long the longest JSON of a line is.
pub(super) const fn longest() -> usize {
    MAX_LINE - TRAILER_BYTES
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
        encode_record(7, Timestamp::from_millis(9), &fact(json), &mut line)?;
        Ok(String::from_utf8(line).unwrap())
    }

    #[test]
    fn a_record_is_the_envelope_and_the_fact_in_one_object() {
        let line = encoded(r#"{"type":"a","data":1}"#).unwrap();
        assert_eq!(line, "{\"v\":1,\"seq\":7,\"time\":9,\"type\":\"a\",\"data\":1}\tb4f1245c\n");
        assert_eq!(encoded("{}").unwrap(), "{\"v\":1,\"seq\":7,\"time\":9}\t8a37e7a6\n");
    }

    #[test]
    fn what_could_not_be_read_again_is_not_written() {
        for bad in ["[]", "1", "\"{}\"", "{\"seq\":7}", "{\"time\":9}", "{\"v\":1}", "{\"a\":\n1}"]
        {
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
        assert!(read_line(&line).is_ok());
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut changed = line.clone();
                changed[at] ^= 1 << bit;
                assert!(read_line(&changed).is_err(), "byte {at}, bit {bit}");
            }
        }
        for len in 0..line.len() {
            assert!(read_line(&line[..len]).is_err(), "{len} bytes");
        }
    }
}
