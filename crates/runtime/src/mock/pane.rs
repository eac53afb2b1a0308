//! A played process.

use std::io;
use std::os::fd::BorrowedFd;

use coven_terminal::screen::GridSize;

use super::Record;
use super::script::{Script, ScriptStep};
use crate::domain::{ExitStatus, Pane, PaneStream, ReadOutcome, StopMode};

/// The signals a process is ended by when it is asked to, and by force.
const TERMINATED: i32 = 15;
const KILLED: i32 = 9;

/// A pane that follows a [`Script`]. It has no descriptor to wait for.
pub struct MockPane {
    script: Script,
    record: Record,
    life: PaneLife,
    /// How much input is still taken before the next read.
    room: Option<usize>,
}

enum PaneLife {
    Alive,
    Gone(Option<ExitStatus>),
}

impl MockPane {
    pub(super) fn new(script: Script, record: Record) -> Self {
        let room = script.takes;
        let mut pane = Self { script, record, life: PaneLife::Alive, room };
        pane.notice_exit();
        pane
    }

    /// An exit happens as soon as everything before it was read; only the first one counts.
    fn notice_exit(&mut self) {
        while let Some(ScriptStep::Exit(status)) = self.script.steps.front() {
            if matches!(self.life, PaneLife::Alive) {
                self.life = PaneLife::Gone(*status);
            }
            self.script.steps.pop_front();
        }
        if self.script.steps.is_empty() && matches!(self.life, PaneLife::Alive) {
            self.life = PaneLife::Gone(Some(ExitStatus::Code(0)));
        }
    }

    fn print(&mut self, buffer: &mut [u8]) -> Option<ReadOutcome> {
        let most = self.script.at_most.unwrap_or(buffer.len()).min(buffer.len());
        let Some(ScriptStep::Print(stream, bytes)) = self.script.steps.front_mut() else {
            return None;
        };
        let length = most.min(bytes.len());
        for (place, byte) in buffer.iter_mut().zip(bytes.drain(..length)) {
            *place = byte;
        }
        let outcome = ReadOutcome::Data(*stream, length);
        if bytes.is_empty() {
            self.script.steps.pop_front();
        }
        Some(outcome)
    }

    fn die(&mut self, signal: i32, words: &[u8]) {
        self.life = PaneLife::Gone(Some(ExitStatus::Signal(signal)));
        self.script.steps.clear();
        if !words.is_empty() {
            let words = words.iter().copied().collect();
            self.script.steps.push_back(ScriptStep::Print(PaneStream::Output, words));
        }
    }
}

impl Pane for MockPane {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
        self.record.lock().reads += 1;
        self.room = self.script.takes;
        self.notice_exit();
        let outcome = match self.script.steps.front() {
            Some(ScriptStep::Print(..)) => self.print(buffer).unwrap_or(ReadOutcome::Pending),
            Some(ScriptStep::Wait) => {
                self.script.steps.pop_front();
                // What follows happens later, the exit too.
                return Ok(ReadOutcome::Pending);
            }
            Some(ScriptStep::Fail(kind, text)) => return Err(io::Error::new(*kind, text.clone())),
            Some(ScriptStep::Hang | ScriptStep::Exit(_)) => ReadOutcome::Pending,
            Some(ScriptStep::CloseStreams) | None => ReadOutcome::End,
        };
        self.notice_exit();
        Ok(outcome)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_alive() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let taken = self.room.unwrap_or(bytes.len()).min(bytes.len());
        self.room = self.room.map(|room| room - taken);
        self.record.lock().written.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn close_input(&mut self) -> io::Result<()> {
        self.record.lock().input_closed = true;
        Ok(())
    }

    fn resize(&mut self, size: GridSize) -> io::Result<()> {
        self.record.lock().sizes.push(size);
        Ok(())
    }

    fn stop(&mut self, stop: StopMode) -> io::Result<()> {
        self.record.lock().stops.push(stop);
        if !self.is_alive() {
            return Ok(());
        }
        match stop {
            StopMode::Polite { .. } if self.script.ignores_polite => {}
            StopMode::Polite { .. } => {
                let words = std::mem::take(&mut self.script.last_words);
                self.die(TERMINATED, &words);
            }
            StopMode::Force if self.script.survives_force > 0 => self.script.survives_force -= 1,
            StopMode::Force => self.die(KILLED, &[]),
        }
        Ok(())
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.life, PaneLife::Alive)
    }

    fn exit_status(&mut self) -> Option<ExitStatus> {
        match self.life {
            PaneLife::Alive => None,
            PaneLife::Gone(status) => status,
        }
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl Drop for MockPane {
    fn drop(&mut self) {
        self.record.lock().dropped = true;
    }
}
