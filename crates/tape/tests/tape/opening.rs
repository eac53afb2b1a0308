//! What can be opened, by whom, and what is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use coven_tape::{Error, Options, TapeDamage, TapeReader, TapeStream, TapeWriter, verify};
use coven_testkit::folders::temporary;
use tempfile::TempDir;

use crate::{files, records};

fn small_tape() -> TempDir {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), Options::default()).unwrap();
    tape.output(1, TapeStream::Out, b"hello").unwrap();
    dir
}

#[test]
fn a_tape_from_the_future_is_refused_and_not_touched() {
    let dir = small_tape();
    let index = dir.path().join("out.00000000000000000000.idx");
    let mut bytes = fs::read(&index).unwrap();
    bytes[4] = 9;
    bytes.extend(b"and what else comes with it");
    fs::write(&index, &bytes).unwrap();

    let expected = format!(
        "{}: this tape is in version 9 of the format, and only versions up to 1 are known here; \
         a newer coven can read it",
        index.display()
    );
    assert_eq!(TapeReader::open(dir.path()).unwrap_err().to_string(), expected);
    let refused = TapeWriter::append_to(dir.path(), Options::default()).unwrap_err();
    assert_eq!(refused.to_string(), expected);
    assert_eq!(verify(dir.path()).unwrap().problems[0].damage, TapeDamage::Newer { version: 9 });
    assert_eq!(fs::read(&index).unwrap(), bytes);
}

#[test]
fn there_is_one_writer() {
    let dir = temporary().unwrap();
    let tape = TapeWriter::create(dir.path(), Options::default()).unwrap();
    let second = TapeWriter::append_to(dir.path(), Options::default());
    assert!(matches!(second, Err(Error::Locked { .. })));
    let second = TapeWriter::create(dir.path(), Options::default());
    assert!(matches!(second, Err(Error::Locked { .. })));
    drop(tape);
    assert!(TapeWriter::append_to(dir.path(), Options::default()).is_ok());
    let second = TapeWriter::create(dir.path(), Options::default());
    assert!(matches!(second, Err(Error::Exists { .. })));
}

#[test]
fn a_folder_without_a_tape_is_said_to_be_one() {
    let dir = temporary().unwrap();
    fs::write(dir.path().join("out.txt"), "no tape").unwrap();
    let expected = format!("{}: there is no tape in this folder", dir.path().display());
    assert_eq!(TapeReader::open(dir.path()).unwrap_err().to_string(), expected);
    assert_eq!(verify(dir.path()).unwrap_err().to_string(), expected);
    let refused = TapeWriter::append_to(dir.path(), Options::default()).unwrap_err();
    assert_eq!(refused.to_string(), expected);
    let missing = dir.path().join("missing");
    assert!(matches!(TapeReader::open(&missing), Err(Error::Io { .. })));
    assert!(matches!(TapeWriter::create(&missing, Options::default()), Err(Error::Io { .. })));
}

#[test]
fn only_the_owner_may_read_the_files() {
    let dir = small_tape();
    for path in files(dir.path()) {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn the_raw_file_is_the_output_and_nothing_else() {
    let dir = small_tape();
    assert_eq!(fs::read(dir.path().join("out.00000000000000000000")).unwrap(), b"hello");
}

/// The bytes of version 1, one by one. If this must change, so must the version.
#[test]
fn the_index_is_laid_out_as_documented() {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), Options::default()).unwrap();
    tape.output(0x0102_0304, TapeStream::Out, b"hello").unwrap();
    tape.input(0x0102_0305, b"yes\r").unwrap();
    tape.resize(0x0102_0306, 0x1234, 0x5678).unwrap();
    let index = fs::read(dir.path().join("out.00000000000000000000.idx")).unwrap();
    #[rustfmt::skip]
    let expected: [[u8; 28]; 4] = [
        [b'T', b'A', b'P', b'E', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0],
        [5, 3, 2, 1, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0],
        [6, 3, 2, 1, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0x34, 0x12, 0x78, 0x56, 0, 0, 0, 0, 4, 0, 0, 0],
    ];
    let payloads: [&[u8]; 4] = [b"", b"hello", b"yes\r", b""];
    assert_eq!(index.len(), 4 * 32);
    for ((got, expected), payload) in index.chunks(32).zip(expected).zip(payloads) {
        assert_eq!(got[..28], expected);
        let crc = crc32(&[&expected, payload].concat());
        assert_eq!(got[28..], crc.to_le_bytes());
    }
}

/// CRC-32 as its definition says, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc: u32, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}

#[test]
fn a_writer_interrupted_while_creating_leaves_no_tape_and_can_be_followed() {
    for len in 0..32 {
        let dir = temporary().unwrap();
        drop(TapeWriter::create(dir.path(), Options::default()).unwrap());
        let index = fs::File::options()
            .write(true)
            .open(dir.path().join("out.00000000000000000000.idx"))
            .unwrap();
        index.set_len(len).unwrap();
        assert!(matches!(TapeReader::open(dir.path()), Err(Error::NoTape { .. })));
        assert_eq!(verify(dir.path()).unwrap().problems[0].damage, TapeDamage::Unfinished);
        let (mut tape, _) = TapeWriter::append_to(dir.path(), Options::default()).unwrap();
        tape.output(1, TapeStream::Out, b"x").unwrap();
        assert_eq!(records(&TapeReader::open(dir.path()).unwrap(), 0).unwrap().len(), 1);
    }
}
