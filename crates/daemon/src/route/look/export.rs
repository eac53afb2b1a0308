//! A tape as a recording, sent while it is being made.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use axum::body::Bytes;
use coven_api::{Code, Problem};
use coven_tape::{Event, Reader, export};
use coven_terminal::recording::RecordingHeader;
use futures_util::stream::{self, Stream};
use tokio::sync::mpsc;

use super::{piece, unreadable};

/// How much is made before the client has taken what was made.
const AHEAD: usize = 8;
/// How much is sent at once.
const CHUNK: usize = 64 * 1024;

/// The recording, as it comes.
pub(super) async fn stream(
    folder: PathBuf,
    title: String,
) -> Result<impl Stream<Item = io::Result<Bytes>>, Problem> {
    let opened = tokio::task::spawn_blocking(move || open(&folder, title)).await;
    let opened = opened.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    let (reader, header) = opened?;
    let (chunks, taken) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        let target = Chunks { chunks: chunks.clone(), buffer: Vec::with_capacity(CHUNK) };
        let made = export(&reader, &header, target).map_err(io::Error::other);
        if let Err(error) = made.and_then(|mut target| target.flush()) {
            // A client that went away needs no more.
            let _ = chunks.blocking_send(Err(error));
        }
    });
    Ok(stream::unfold(taken, |mut taken| async move { Some((taken.recv().await?, taken)) }))
}

fn open(folder: &Path, title: String) -> Result<(Reader, RecordingHeader), Problem> {
    let reader = Reader::open(folder).map_err(|error| {
        if piece::is_absent(&error) {
            let detail = "nothing was recorded: it has not been started";
            return Problem::new(Code::TaskNotFound, detail);
        }
        unreadable(error)
    })?;
    // A terminal has its first size before its first byte.
    let first = reader.records(0).map_while(Result::ok).take_while(|record| record.offset == 0);
    let size = first.take(100).find_map(|record| match record.event {
        Event::Resize { cols, rows } if cols > 0 && rows > 0 => Some((cols, rows)),
        _ => None,
    });
    let (width, height) = size.unwrap_or((80, 24));
    Ok((reader, RecordingHeader { title: Some(title), ..RecordingHeader::new(width, height) }))
}

struct Chunks {
    chunks: mpsc::Sender<io::Result<Bytes>>,
    buffer: Vec<u8>,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = Bytes::from(std::mem::take(&mut self.buffer));
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.chunks.blocking_send(Ok(chunk)).map_err(gone)
    }
}
