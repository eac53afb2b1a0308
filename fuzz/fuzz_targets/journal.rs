//! Any bytes as a journal: opened, read and gone on with without a panic, and what is accepted
//! once is read the same for ever.
#![no_main]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use coven_model::{SessionId, Timestamp};
use coven_store::journal::{FILE, OpenError};
use coven_store::{Journal, JournalReader, JournalRecord, OpenFolder, SealKey};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|bytes: &[u8]| {
    let Some((how, bytes)) = bytes.split_first() else { return };
    let session = SessionId::new("01890a5d-ac96-774b-bcce-b302099a8057").unwrap();
    // In memory where there is such a place, because most of the time goes into files.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let file = dir.path().join(FILE);
    let written = input(*how, bytes, &session);
    fs::write(&file, &written).unwrap();

    let before = read(dir.path(), &session);
    let folder = OpenFolder::open(dir.path()).unwrap();
    let Ok(mut journal) = Journal::open(&folder, &session, &key()) else {
        assert_eq!(fs::read(&file).unwrap(), written, "what is refused is not changed");
        return;
    };
    // A reader that changes nothing finds the same facts as the one who cuts off the tail.
    let facts = read(dir.path(), &session);
    assert_eq!(before, facts);
    // With a right checksum there may still be a number or a text that a fact cannot have.
    let Some(facts) = facts else { return };
    assert_eq!(facts.len() as u64, journal.last());
    let kept = fs::read(&file).unwrap();
    assert!(written.starts_with(&kept));
    assert_eq!(journal.cut().map_or(0, |cut| cut.bytes), (written.len() - kept.len()) as u64);

    journal.append(Timestamp::from_millis(1), &[json!({"type": "x"})]).unwrap();
    drop(journal);
    let journal = Journal::open(&folder, &session, &key()).unwrap();
    assert_eq!(journal.cut(), None);
    let again = read(dir.path(), &session).unwrap();
    assert_eq!(again[..facts.len()], facts);
    assert_eq!(again.len(), facts.len() + 1);
});

fn key() -> Arc<SealKey> {
    Arc::new(SealKey::from_secret(&[7; 32]))
}

/// The bytes as they are; or as the JSON of lines with a right checksum, behind a good header; or
/// as what stands in a record behind a good envelope. Most bytes are refused at the first line.
fn input(how: u8, bytes: &[u8], session: &SessionId) -> Vec<u8> {
    if how % 4 == 0 {
        return bytes.to_vec();
    }
    let mut written = Vec::new();
    line(format!(r#"{{"coven":"journal","v":1,"session":"{session}"}}"#).as_bytes(), &mut written);
    for (part, seq) in bytes.split(|byte| *byte == b'\n').zip(1_u64..) {
        match how % 4 {
            1 => line(part, &mut written),
            _ => {
                let mut json = format!(r#"{{"v":1,"seq":{seq},"time":0,"data":"#).into_bytes();
                json.extend_from_slice(part);
                json.push(b'}');
                line(&json, &mut written);
            }
        }
    }
    if how % 4 == 3 {
        // The end is cut, or a byte is changed.
        let at = usize::from(how) * 7 % (written.len() + 1);
        if how & 64 == 0 {
            written.truncate(at);
        } else if let Some(byte) = written.get_mut(at) {
            *byte ^= 1 << (how >> 2 & 7);
        }
    }
    written
}

fn line(json: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(json);
    out.extend_from_slice(format!("\t{:08x}\n", crc32fast::hash(json)).as_bytes());
}

/// All facts, if all can be read.
fn read(dir: &Path, session: &SessionId) -> Option<Vec<JournalRecord<Value>>> {
    let folder = OpenFolder::open(dir).unwrap();
    let mut reader = match JournalReader::open(&folder, session) {
        Ok(reader) => reader,
        Err(OpenError::Damaged(_) | OpenError::WrongSession { .. }) => return None,
        Err(error) => panic!("{error}"),
    };
    let all = reader.read_all(1).ok()?;
    if let Some(middle) = all.get(all.len() / 2) {
        let rest: Vec<JournalRecord<Value>> = reader.read_all(middle.seq).unwrap();
        assert_eq!(rest, all[all.len() / 2..]);
    }
    Some(all)
}
