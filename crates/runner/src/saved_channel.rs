//! The folded state of a conversation on disk (`channel-a.snap`, `channel-b.snap`), so that the next
//! process that follows its agent reads only the rest of the tape, and knows what is open though the
//! beginning of the tape is no longer kept.
//!
//! Output that is part of a state is known by its offset. Input has none of its own, so a mark on
//! the tape stands behind all input that is part of the state. A state whose mark never reached the
//! tape is not used: what was written last before a kill may not have been written at all. The two
//! files are written in turns, so that the state before it is still there then.
//!
//! A file is a line of JSON, which has the digest of the state, and the state.

use std::io::{self, Read};
use std::path::Path;

use coven_adapters::channel::ChannelKind;
use coven_folder::{Durability, OFlags, OpenFolder};
use coven_model::ContentDigest;
use coven_tape::{TapeEvent, TapeReader};
use serde::{Deserialize, Serialize};

use crate::actor::ChannelProgress;

const FILES: [&str; 2] = ["channel-a.snap", "channel-b.snap"];

/// Grows when a state of before would mean something else.
const VERSION: u32 = 1;

/// What the mark of a state begins with on the tape; a token follows.
const SAVED_MARK: &str = "coven:channel-saved ";

const TOKEN_BYTES: usize = 8;

/// More than any state has. One that is larger is not saved.
const MAX_FILE_BYTES: u64 = 256 << 20;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedHeader {
    version: u32,
    /// The end of the output that is part of the state.
    offset: u64,
    /// The mark behind all input that is part of it.
    mark: String,
    /// Of the bytes of the state.
    digest: ContentDigest,
}

/// Which of the two files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SavedSlot(usize);

impl SavedSlot {
    pub(crate) fn other(self) -> Self {
        Self(1 - self.0)
    }
}

/// A state that is to be saved.
pub(crate) struct SavedChannel {
    header: SavedHeader,
    state: Vec<u8>,
}

/// A state that was found and fits to the tape.
pub(crate) struct FoundState {
    pub(crate) progress: ChannelProgress,
    pub(crate) offset: u64,
    pub(crate) slot: SavedSlot,
    /// The mark behind the input that is known, if the tape still has it.
    pub(crate) mark: Option<String>,
}

/// How a tape goes on where a state ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TapeFit {
    /// It has the mark of the state.
    Marked,
    /// It begins later, and has lost some of what followed, the mark included.
    Cut,
}

impl SavedChannel {
    /// The state after all output up to an offset, and all input until now.
    pub(crate) fn of(progress: &ChannelProgress, offset: u64) -> io::Result<Self> {
        let mut token = [0; TOKEN_BYTES];
        getrandom::fill(&mut token).map_err(io::Error::other)?;
        let mark = format!("{SAVED_MARK}{:016x}", u64::from_be_bytes(token));
        let state = serde_json::to_vec(progress)?;
        let digest = ContentDigest::of_bytes(&state);
        Ok(Self { header: SavedHeader { version: VERSION, offset, mark, digest }, state })
    }

    /// What has to be noted on the tape before the next input.
    pub(crate) fn mark(&self) -> &str {
        &self.header.mark
    }

    pub(crate) fn save(&self, folder: &Path, slot: SavedSlot) -> io::Result<()> {
        let mut file = serde_json::to_vec(&self.header)?;
        file.push(b'\n');
        file.extend_from_slice(&self.state);
        if file.len() as u64 > MAX_FILE_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let folder = OpenFolder::open_without_links(folder)?;
        folder.replace(FILES[slot.0], &file, Durability::Cache).map_err(io::Error::from)
    }

    fn load(folder: &Path, slot: SavedSlot) -> Option<Self> {
        let folder = OpenFolder::open_without_links(folder).ok()?;
        let file = folder.file(FILES[slot.0], OFlags::RDONLY).ok()?;
        let mut bytes = Vec::new();
        let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).ok()?;
        if read as u64 > MAX_FILE_BYTES {
            return None;
        }
        Self::read(&bytes)
    }

    fn read(file: &[u8]) -> Option<Self> {
        let end = file.iter().position(|byte| *byte == b'\n')?;
        let (header, state) = (&file[..end], &file[end + 1..]);
        let header: SavedHeader = serde_json::from_slice(header).ok()?;
        let holds = header.version == VERSION && header.digest == ContentDigest::of_bytes(state);
        holds.then(|| Self { header, state: state.to_vec() })
    }

    /// How the tape goes on where this state ends; nothing if it is the tape of something else.
    fn fits(&self, tape: &TapeReader) -> Result<Option<TapeFit>, coven_tape::Error> {
        let SavedHeader { offset, mark, .. } = &self.header;
        let kept = tape.range();
        if *offset > kept.end {
            return Ok(None);
        }
        for record in tape.records(*offset) {
            if let TapeEvent::Mark(note) = record?.event
                && note == *mark
            {
                return Ok(Some(TapeFit::Marked));
            }
        }
        Ok((*offset < kept.start).then_some(TapeFit::Cut))
    }
}

impl FoundState {
    /// The newest state of a conversation that fits to its tape. One that is torn, of a newer
    /// version or of another tape is as good as none.
    pub(crate) fn find(
        folder: &Path,
        tape: &TapeReader,
        kind: ChannelKind,
    ) -> Result<Option<Self>, coven_tape::Error> {
        let slots = [SavedSlot(0), SavedSlot(1)];
        let saved =
            slots.into_iter().filter_map(|slot| Some((slot, SavedChannel::load(folder, slot)?)));
        let mut saved: Vec<_> = saved.collect();
        saved.sort_by_key(|(_, saved)| std::cmp::Reverse(saved.header.offset));
        for (slot, saved) in saved {
            let Some(fit) = saved.fits(tape)? else { continue };
            let progress = serde_json::from_slice::<ChannelProgress>(&saved.state);
            if let Ok(progress) = progress
                && progress.kind() == kind
            {
                let SavedHeader { offset, mark, .. } = saved.header;
                let mark = (fit == TapeFit::Marked).then_some(mark);
                return Ok(Some(Self { progress, offset, slot, mark }));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
