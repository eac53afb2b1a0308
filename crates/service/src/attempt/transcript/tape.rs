//! Reads the tape of an attempt into entries, from any place on.
//!
//! What a message means depends on what was said before it, and a tape can be longer than anybody
//! wants to read for its end. So a tape is read in blocks: the entries of a block are those that a
//! reader finds who begins one block before it, with everything that was written to the agent
//! until there. That is the same for every reader, wherever it started, and no request reads more
//! than two blocks that it does not show. A tape of up to two blocks is read from its beginning.

use std::path::PathBuf;

use coven_adapters::transcript::{LINE_LIMIT, TranscriptFormat};
use coven_adapters::view::{TranscriptView, ViewedPart};
use coven_model::{TokenUsage, TranscriptEntry, TranscriptPart};
use coven_runner::{HiddenTexts, channel_codec};
use coven_tape::{TapeEvent, TapeReader, TapeRecord, TapeStream};

use super::entries::{EntryMaker, place_of};
use crate::error::ServiceError;

/// A line fits into a block, so that a message that ends in a block has begun in it or in the one
/// before. Tests have short tapes.
pub(super) const BLOCK_BYTES: u64 = if cfg!(test) { 64 << 10 } else { LINE_LIMIT as u64 };

/// How the agent of an attempt is read.
#[derive(Clone, Debug)]
pub(super) struct TapeSource {
    pub(super) folder: PathBuf,
    pub(super) format: TranscriptFormat,
}

impl TapeSource {
    fn view(&self) -> TranscriptView {
        channel_codec(&self.folder)
            .map_or_else(|| TranscriptView::headless(self.format), TranscriptView::channel)
    }

    /// The tape, if there is one yet.
    pub(super) fn open(&self) -> Result<Option<TapeReader>, ServiceError> {
        match TapeReader::open(&self.folder) {
            Ok(reader) => Ok(Some(reader)),
            Err(error) if super::super::output::is_absent(&error) => Ok(None),
            Err(error) => Err(ServiceError::unreadable(error)),
        }
    }
}

/// What a caller wants to know after each entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadStep {
    More,
    Enough,
}

/// The transcript of one tape, read up to some place.
#[derive(Debug)]
pub(super) struct TapeTranscript {
    source: TapeSource,
    view: TranscriptView,
    maker: EntryMaker,
    /// The block whose entries are read.
    block: u64,
    /// How far the output is read.
    offset: u64,
    /// How many records without output were read at that offset.
    events: usize,
    /// The rest of a line whose beginning is not read is left out, for each stream.
    mid_line: [bool; 2],
    /// When the last record was written, in milliseconds since the start.
    time: u64,
    /// What is missing because it is no longer kept.
    dropped: u64,
    /// Whether it was read from the first byte on.
    is_whole: bool,
    ended: bool,
}

impl TapeTranscript {
    /// Begins so that the entries after an id can be read.
    pub(super) fn after(
        source: &TapeSource,
        reader: &TapeReader,
        id: u64,
    ) -> Result<Self, ServiceError> {
        Self::of_block(source, reader, place_of(id) / BLOCK_BYTES)
    }

    /// Begins so that the last entries can be read.
    pub(super) fn near_end(source: &TapeSource, reader: &TapeReader) -> Result<Self, ServiceError> {
        Self::of_block(source, reader, reader.range().end / BLOCK_BYTES)
    }

    /// The same with the block before.
    pub(super) fn before_end(
        source: &TapeSource,
        reader: &TapeReader,
    ) -> Result<Self, ServiceError> {
        let last = reader.range().end / BLOCK_BYTES;
        Self::of_block(source, reader, last.saturating_sub(1))
    }

    fn of_block(
        source: &TapeSource,
        reader: &TapeReader,
        block: u64,
    ) -> Result<Self, ServiceError> {
        let hidden = HiddenTexts::load(&source.folder).map_err(ServiceError::unreadable)?;
        let kept = reader.range();
        let begin = (block.saturating_sub(1) * BLOCK_BYTES).min(kept.end);
        let offset = begin.max(kept.start);
        let mut new = Self {
            source: source.clone(),
            view: source.view(),
            maker: EntryMaker::new(hidden),
            block,
            offset,
            events: 0,
            mid_line: [offset > 0; 2],
            time: 0,
            dropped: kept.start,
            is_whole: offset == 0,
            ended: false,
        };
        if new.view.is_conversation() && offset > 0 {
            for input in reader.inputs(offset) {
                let (_, bytes) = input.map_err(ServiceError::unreadable)?;
                new.view.written(&bytes, &mut |_| {});
            }
        }
        // What comes before the block is read for what it says about the block.
        if block > 0 {
            let until = block * BLOCK_BYTES - 1;
            new.read_run(reader, until, &mut |_| ReadStep::More)?;
        }
        Ok(new)
    }

    /// What is known to be used, if everything was read.
    pub(super) fn usage(&self) -> TokenUsage {
        if self.is_whole { self.view.usage() } else { TokenUsage::default() }
    }

    /// Whether there is nothing before what it began with.
    pub(super) fn begins_with_tape(&self) -> bool {
        self.block == 0
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Reads on to the end of the tape, or until the caller has enough. Stops only between two
    /// records. If nothing more will be written, reads also what has no end.
    pub(super) fn read(
        &mut self,
        reader: &TapeReader,
        is_over: bool,
        emit: &mut dyn FnMut(TranscriptEntry) -> ReadStep,
    ) -> Result<ReadStep, ServiceError> {
        loop {
            // The entries of the first two blocks are read in one go.
            let until = (self.block.max(1) + 1) * BLOCK_BYTES - 1;
            match self.read_run(reader, until, emit)? {
                RunEnd::Enough => return Ok(ReadStep::Enough),
                RunEnd::Beyond(block) => *self = Self::of_block(&self.source, reader, block)?,
                RunEnd::End => break,
            }
        }
        let mut step = ReadStep::More;
        if is_over && !self.ended {
            self.ended = true;
            let (offset, time) = (self.offset, self.time);
            let mut parts = Vec::new();
            self.view.finish(&mut |part| parts.push(part));
            let mut out = |entry| step = emit(entry);
            for part in parts {
                self.maker.take(offset, time, part, &mut out);
            }
            self.maker.close(offset, time, &mut out);
        }
        Ok(step)
    }

    /// Reads the pieces that end at `until` at most.
    fn read_run(
        &mut self,
        reader: &TapeReader,
        until: u64,
        emit: &mut dyn FnMut(TranscriptEntry) -> ReadStep,
    ) -> Result<RunEnd, ServiceError> {
        let mut known = self.events;
        for record in reader.records(self.offset) {
            let record = record.map_err(ServiceError::unreadable)?;
            self.time = record.time / 1000;
            let end = record.end();
            if end == record.offset && record.offset == self.offset && known > 0 {
                known -= 1;
                continue;
            }
            let mut step = ReadStep::More;
            let mut out = |entry| {
                if emit(entry) == ReadStep::Enough {
                    step = ReadStep::Enough;
                }
            };
            let read = match record.event {
                TapeEvent::Output { stream, bytes } if end > self.offset => {
                    let skip = self.offset.saturating_sub(record.offset) as usize;
                    self.output(stream, &bytes[skip..], until, &mut out)
                }
                TapeEvent::Gap(_) if end > until => Some(RunEnd::Beyond(end / BLOCK_BYTES)),
                TapeEvent::Gap(_) if end > self.offset => {
                    self.gap(end, &mut out);
                    None
                }
                _ => {
                    self.event(&record, &mut out);
                    None
                }
            };
            if let Some(run_end) = read {
                return Ok(run_end);
            }
            if step == ReadStep::Enough {
                return Ok(RunEnd::Enough);
            }
        }
        Ok(RunEnd::End)
    }

    /// Reads output line by line, because the place of an entry is the end of its line.
    fn output(
        &mut self,
        stream: TapeStream,
        bytes: &[u8],
        until: u64,
        out: &mut dyn FnMut(TranscriptEntry),
    ) -> Option<RunEnd> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let end = self.offset + piece.len() as u64;
            if end > until {
                return Some(RunEnd::Beyond(end / BLOCK_BYTES));
            }
            (self.offset, self.events) = (end, 0);
            let is_error = stream == TapeStream::Err;
            let mid_line = &mut self.mid_line[usize::from(is_error)];
            if *mid_line {
                *mid_line = !piece.ends_with(b"\n");
                continue;
            }
            let Self { view, maker, time, .. } = self;
            let mut take = |part: ViewedPart| maker.take(end, *time, part, out);
            if is_error {
                view.complained(piece, &mut take);
            } else {
                view.printed(piece, &mut take);
            }
        }
        None
    }

    /// What was written to the agent is a part of a conversation; sizes and marks are none.
    fn event(&mut self, record: &TapeRecord, out: &mut dyn FnMut(TranscriptEntry)) {
        if record.offset != self.offset {
            return;
        }
        self.events += 1;
        if let TapeEvent::Input(bytes) = &record.event {
            let Self { view, maker, time, offset, .. } = self;
            view.written(bytes, &mut |part| maker.take(*offset, *time, part, out));
        }
    }

    /// Bytes are missing: what was begun before them cannot be read to its end.
    fn gap(&mut self, end: u64, out: &mut dyn FnMut(TranscriptEntry)) {
        let missing = end - self.offset;
        (self.offset, self.events) = (end, 0);
        self.dropped += missing;
        let Self { view, maker, time, .. } = self;
        view.printed(b"\n", &mut |part| maker.take(end, *time, part, out));
        view.complained(b"\n", &mut |part| maker.take(end, *time, part, out));
        let text = format!("{missing} bytes of the output are not kept");
        let part = TranscriptPart::System;
        maker.take(end, *time, ViewedPart { text, omitted: 0, by: None, part }, out);
        self.mid_line = [true; 2];
    }
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunEnd {
    End,
    Enough,
    /// The next piece ends in this block.
    Beyond(u64),
}
