//! A tape as an asciicast recording, written while it is being sent.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use coven_tape::{TapeEvent, TapeReader, export};
use coven_terminal::recording::RecordingHeader;
use tokio::sync::mpsc;

use super::output;
use crate::blocking::blocking;
use crate::error::ServiceError;

/// How many chunks are written ahead of the client.
const MAX_CHUNKS_AHEAD: usize = 8;
/// How many bytes a chunk has.
const CHUNK_BYTES: usize = 64 * 1024;

/// A recording, in chunks as they are written. Writing stops when this is dropped.
#[derive(Debug)]
pub struct Recording {
    /// What a file with it is called.
    pub file_name: String,
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
}

impl Recording {
    /// Begins to write the recording of an attempt.
    pub(super) async fn begin(
        folder: PathBuf,
        title: String,
        file_name: String,
    ) -> Result<Self, ServiceError> {
        let (reader, header) = blocking(move || open(&folder, title)).await?;
        let (sender, chunks) = mpsc::channel(MAX_CHUNKS_AHEAD);
        tokio::task::spawn_blocking(move || {
            let buffer = Vec::with_capacity(CHUNK_BYTES);
            let target = ChunkWriter { chunks: sender.clone(), buffer };
            let written = export(&reader, &header, target).map_err(io::Error::other);
            if let Err(error) = written.and_then(|mut target| target.flush()) {
                // A client that went away needs no more, so the error may find no receiver.
                sender.blocking_send(Err(error)).ok();
            }
        });
        Ok(Self { file_name, chunks })
    }

    /// The next chunk; none after the last.
    pub async fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        self.chunks.recv().await
    }
}

fn open(folder: &Path, title: String) -> Result<(TapeReader, RecordingHeader), ServiceError> {
    // What a job of a foreign session printed exactly lies nowhere that we know.
    if folder.as_os_str().is_empty() {
        return Err(ServiceError::NothingRecorded);
    }
    let reader = TapeReader::open(folder).map_err(|error| {
        if output::is_absent(&error) {
            return ServiceError::NothingRecorded;
        }
        ServiceError::unreadable(error)
    })?;
    // A terminal has its first size before its first byte.
    let first = reader.records(0).map_while(Result::ok).take_while(|record| record.offset == 0);
    let size = first.take(100).find_map(|record| match record.event {
        TapeEvent::Resize { cols, rows } if cols > 0 && rows > 0 => Some((cols, rows)),
        _ => None,
    });
    let (width, height) = size.unwrap_or((80, 24));
    Ok((reader, RecordingHeader { title: Some(title), ..RecordingHeader::new(width, height) }))
}

struct ChunkWriter {
    chunks: mpsc::Sender<io::Result<Vec<u8>>>,
    buffer: Vec<u8>,
}

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::take(&mut self.buffer);
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.chunks.blocking_send(Ok(chunk)).map_err(gone)
    }
}
