//! What is read: three generated streams and the recordings of real agents, in memory and as
//! files for the subjects that read from a PTY.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::{env, process};

use coven_terminal::recording::{EventData, RecordingReader};
use coven_testkit::{recordings, streams};

pub(crate) struct Stream {
    pub(crate) name: &'static str,
    /// Whether it paints a screen rather than printing lines.
    pub(crate) redraws: bool,
    pub(crate) bytes: Vec<u8>,
    pub(crate) file: PathBuf,
}

/// A folder of our own, gone at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> io::Result<Self> {
        let path = env::temp_dir().join(format!("coven-bench-{}", process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

pub(crate) fn all(bytes: usize, folder: &Folder) -> io::Result<Vec<Stream>> {
    let stream = |name: &'static str, redraws: bool, bytes: Vec<u8>| -> io::Result<Stream> {
        let file = folder.path().join(name);
        fs::write(&file, &bytes)?;
        Ok(Stream { name, redraws, bytes, file })
    };
    Ok(vec![
        stream("log", false, streams::log(bytes))?,
        stream("TUI", true, streams::tui(bytes))?,
        stream("unicode", false, streams::unicode(bytes))?,
        stream("recorded", true, recorded(bytes)?)?,
    ])
}

/// What the recorded agents wrote, one after the other and again from the first, each on a
/// terminal that was reset.
fn recorded(bytes: usize) -> io::Result<Vec<u8>> {
    let mut once = Vec::new();
    for path in recordings::all() {
        once.extend_from_slice(b"\x1bc");
        for event in
            RecordingReader::new(BufReader::new(File::open(path)?)).map_err(io::Error::other)?
        {
            if let EventData::Output(text) = event.map_err(io::Error::other)?.data {
                once.extend_from_slice(text.as_bytes());
            }
        }
    }
    Ok(once.repeat(bytes.div_ceil(once.len())))
}
