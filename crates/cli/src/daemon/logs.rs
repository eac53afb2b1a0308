//! `coven daemon logs`.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use coven_api::ProblemCode;
use tokio::time::interval;

use crate::failure::{CommandFailure, Result};
use crate::signals::{SignalEvent, SignalListener};
use crate::{folders, output};

/// How often a followed log is read again. It is a plain file, which does not notify its readers.
const LOG_POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(super) async fn run(follow: bool, lines: usize) -> Result {
    let path = folders::places()?.log();
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let message = "there is no log yet, as the daemon has never run";
            return Err(CommandFailure::not_found(ProblemCode::NotFound, message)
                .hint("coven daemon start"));
        }
        Err(error) => return Err(CommandFailure::unreadable(&path, &error)),
    };
    let begins = beginning(&text, lines);
    show(&text[begins..])?;
    if follow { grow(&path, text.len() as u64).await } else { Ok(()) }
}

/// Where the last lines begin.
fn beginning(text: &[u8], lines: usize) -> usize {
    let ends = text.strip_suffix(b"\n").unwrap_or(text);
    let breaks = ends.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    breaks.map(|(place, _)| place + 1).nth(lines.saturating_sub(1)).unwrap_or(0)
}

/// Shows what is in a log. Nothing in it reaches the terminal as it is.
fn show(text: &[u8]) -> Result {
    let text = coven_terminal::sanitise::strip(text);
    output::write(&text)
}

/// Goes on with what is added, also after the log was rotated.
async fn grow(path: &Path, mut seen: u64) -> Result {
    let mut signals = SignalListener::listen()?;
    let mut look = interval(LOG_POLL_INTERVAL);
    let mut file = fs::metadata(path).map(|about| about.ino()).ok();
    loop {
        tokio::select! {
            told = signals.next() => if told != SignalEvent::Resized { return Ok(()) },
            _ = look.tick() => {}
        }
        let Ok(about) = fs::metadata(path) else { continue };
        if file != Some(about.ino()) || about.len() < seen {
            (file, seen) = (Some(about.ino()), 0);
        }
        if about.len() > seen {
            let mut more = Vec::new();
            let mut log =
                File::open(path).map_err(|error| CommandFailure::unreadable(path, &error))?;
            log.seek(SeekFrom::Start(seen)).and_then(|_| log.read_to_end(&mut more))?;
            seen += more.len() as u64;
            show(&more)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_found_from_the_end() {
        let text = b"one\ntwo\nthree\n";
        assert_eq!(&text[beginning(text, 2)..], b"two\nthree\n");
        assert_eq!(beginning(text, 9), 0);
        assert_eq!(beginning(b"", 3), 0);
    }
}
