//! A tape whose folder another program can write to: its files lead nowhere else.

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};

use coven_tape::{Options, TapeReader, TapeStream, TapeWriter, verify};

const CONTENT: &str = "not yours";

/// A folder for a tape, and beside it a file that nothing may change.
struct Place {
    _root: tempfile::TempDir,
    dir: PathBuf,
    victim: PathBuf,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(root.path()).unwrap();
        let (dir, victim) = (path.join("tape"), path.join("victim"));
        fs::create_dir(&dir).unwrap();
        fs::write(&victim, CONTENT).unwrap();
        Self { _root: root, dir, victim }
    }

    fn file(&self, base: u64, suffix: &str) -> PathBuf {
        self.dir.join(format!("out.{base:020}{suffix}"))
    }
}

fn symbolic(target: &Path, name: &Path) {
    symlink(target, name).unwrap();
}

fn hard(target: &Path, name: &Path) {
    fs::hard_link(target, name).unwrap();
}

type Plant = fn(&Path, &Path);

const SMALL: Options = Options { segment_size: 1000, keep: 1 << 20 };

#[test]
fn a_new_segment_is_written_through_no_link() {
    let plants: [Plant; 2] = [symbolic, hard];
    let mut damage = Vec::new();
    for plant in plants {
        for (base, suffix) in [(0, ""), (0, ".side"), (600, ""), (600, ".side"), (600, ".idx")] {
            let place = Place::new();
            let mut tape = None;
            if base > 0 {
                let mut begun = TapeWriter::create(&place.dir, SMALL).unwrap();
                begun.output(1, TapeStream::Out, &[b'x'; 600]).unwrap();
                tape = Some(begun);
            }
            plant(&place.victim, &place.file(base, suffix));
            let mut tape = tape.unwrap_or_else(|| TapeWriter::create(&place.dir, SMALL).unwrap());
            tape.output(2, TapeStream::Out, &[b'y'; 600]).unwrap();
            tape.input(3, b"typed").unwrap();
            let now = fs::read(&place.victim).unwrap();
            if now != CONTENT.as_bytes() {
                damage.push(format!("{base}{suffix}: {} bytes", now.len()));
            }
            assert_eq!(verify(&place.dir).unwrap().problems, []);
        }
    }
    assert_eq!(damage, [] as [&str; 0]);
}

#[test]
fn a_tape_is_gone_on_with_through_no_link() {
    for suffix in ["", ".side", ".idx"] {
        let place = Place::new();
        let mut tape = TapeWriter::create(&place.dir, SMALL).unwrap();
        tape.output(1, TapeStream::Out, b"printed").unwrap();
        tape.input(1, b"typed").unwrap();
        drop(tape);
        // A file elsewhere that begins as that of the tape does, and goes on.
        let file = place.file(0, suffix);
        let mut content = fs::read(&file).unwrap();
        content.extend_from_slice(b"more");
        for plant in [symbolic as Plant, hard] {
            fs::write(&place.victim, &content).unwrap();
            fs::remove_file(&file).unwrap();
            plant(&place.victim, &file);
            assert!(TapeWriter::append_to(&place.dir, SMALL).is_err(), "{suffix}");
            assert_eq!(fs::read(&place.victim).unwrap(), content, "{suffix}");
        }
    }
}

#[test]
fn a_tape_is_read_through_no_link() {
    let real = Place::new();
    TapeWriter::create(&real.dir, SMALL).unwrap().output(1, TapeStream::Out, b"printed").unwrap();
    for linked in ["", ".side", ".idx"] {
        let place = Place::new();
        for suffix in ["", ".side", ".idx"] {
            let (from, to) = (real.file(0, suffix), place.file(0, suffix));
            if suffix == linked { symbolic(&from, &to) } else { _ = fs::copy(from, to).unwrap() }
        }
        assert!(TapeReader::open(&place.dir).is_err(), "{linked}");
        assert!(verify(&place.dir).is_err(), "{linked}");
    }
    let link = real.dir.with_file_name("link");
    symlink(&real.dir, &link).unwrap();
    assert!(TapeReader::open(&link).is_err());
    assert!(TapeWriter::append_to(&link, SMALL).is_err());
    assert_eq!(TapeReader::open(&real.dir).unwrap().range(), 0..7);
}

#[test]
fn a_reader_of_a_folder_that_was_replaced_by_a_link_stays_in_the_folder() {
    let place = Place::new();
    let other = Place::new();
    let mut tape = TapeWriter::create(&place.dir, SMALL).unwrap();
    tape.output(1, TapeStream::Out, b"ours").unwrap();
    TapeWriter::create(&other.dir, SMALL).unwrap().output(1, TapeStream::Out, &[b'x'; 50]).unwrap();
    let mut reader = TapeReader::open(&place.dir).unwrap();
    fs::rename(&place.dir, place.dir.with_file_name("away")).unwrap();
    symlink(&other.dir, &place.dir).unwrap();
    tape.output(2, TapeStream::Out, &[b'y'; 1500]).unwrap();
    reader.refresh().unwrap();
    assert_eq!(reader.range(), 0..1504);
    assert_eq!(fs::read_dir(&other.dir).unwrap().count(), 3);
}

#[test]
fn a_pipe_or_a_folder_in_the_place_of_a_file_is_an_error() {
    for suffix in ["", ".side", ".idx"] {
        for is_pipe in [true, false] {
            let place = Place::new();
            drop(TapeWriter::create(&place.dir, SMALL).unwrap());
            let file = place.file(0, suffix);
            fs::remove_file(&file).unwrap();
            if is_pipe {
                let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
                assert!(made.success() && fs::metadata(&file).unwrap().file_type().is_fifo());
            } else {
                fs::create_dir(&file).unwrap();
            }
            assert!(TapeReader::open(&place.dir).is_err(), "{suffix}");
            assert!(verify(&place.dir).is_err(), "{suffix}");
            assert!(TapeWriter::append_to(&place.dir, SMALL).is_err(), "{suffix}");
        }
    }
}
