//! Terminal slots: what one execution holds of the world, its pane, its screen and the end of
//! its output, from the moment it was started until it has ended.

use std::collections::VecDeque;
use std::fmt;
use std::io;

use coven_runtime::domain::{Connection, DomainId, Pane, PaneStream};
use coven_terminal::screen::{GridSize, Screen};
use coven_terminal::snapshot::ScreenSnapshot;

use crate::execution::{ExecutionId, OutputRing};

/// Input that a program does not take is kept up to here. More than anybody types, and about what
/// people paste; a program that is so far behind is not reading.
pub const INPUT_LIMIT: usize = 1024 * 1024;

/// Names a slot. There are as many as the limit says, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(pub usize);

impl fmt::Display for SlotId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "slot {}", self.0)
    }
}

/// A slot in use. It owns the pane: when it goes, the pane is dropped.
pub struct TerminalSlot {
    id: SlotId,
    execution: ExecutionId,
    domain: DomainId,
    pub(crate) pane: Box<dyn Pane>,
    pub(crate) screen: Option<Screen>,
    output: OutputRing,
    errors: OutputRing,
    unsent: VecDeque<u8>,
    /// The input is to be closed once all of it is written.
    closing: bool,
    pub(crate) reading: SlotReading,
}

/// Whether there is anything left to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotReading {
    /// There may be more.
    Open,
    /// The output was read to its end.
    Ended,
    /// The pane cannot be read any more.
    Broken,
}

/// What a slot leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotCapture {
    /// The end of standard output, or of everything on a terminal.
    pub output: OutputRing,
    /// The end of standard error; nothing on a terminal.
    pub errors: OutputRing,
    /// The last screen; nothing on pipes.
    pub screen: Option<ScreenSnapshot>,
    /// Whether everything it printed was read. Not so if its pane broke, or if the end of its
    /// output did not come in time.
    pub complete: bool,
}

/// What a slot is made of.
pub(crate) struct SlotParts {
    pub(crate) id: SlotId,
    pub(crate) execution: ExecutionId,
    pub(crate) domain: DomainId,
    pub(crate) connection: Connection,
    /// How many bytes of each stream are kept.
    pub(crate) keep: usize,
}

impl TerminalSlot {
    pub(crate) fn new(fitting: SlotParts, pane: Box<dyn Pane>) -> Self {
        let screen = match fitting.connection {
            Connection::Terminal(size) => Some(Screen::new(size)),
            Connection::Pipes => None,
        };
        Self {
            id: fitting.id,
            execution: fitting.execution,
            domain: fitting.domain,
            pane,
            screen,
            output: OutputRing::new(fitting.keep),
            errors: OutputRing::new(fitting.keep),
            unsent: VecDeque::new(),
            closing: false,
            reading: SlotReading::Open,
        }
    }

    /// The id of the slot.
    pub fn id(&self) -> SlotId {
        self.id
    }

    /// The one execution it serves.
    pub fn execution(&self) -> ExecutionId {
        self.execution
    }

    /// Where the pane was started.
    pub fn domain(&self) -> &DomainId {
        &self.domain
    }

    /// The screen; nothing on pipes.
    pub fn screen(&self) -> Option<&Screen> {
        self.screen.as_ref()
    }

    /// The end of a stream.
    pub fn output(&self, stream: PaneStream) -> &OutputRing {
        match stream {
            PaneStream::Output => &self.output,
            PaneStream::Error => &self.errors,
        }
    }

    pub(crate) fn output_mut(&mut self, stream: PaneStream) -> &mut OutputRing {
        match stream {
            PaneStream::Output => &mut self.output,
            PaneStream::Error => &mut self.errors,
        }
    }

    /// How much input the program has not taken yet.
    pub fn unsent(&self) -> usize {
        self.unsent.len()
    }

    /// Writes to the program, or keeps what it does not take now for later. All or nothing: it is
    /// an error, and nothing is written, if too much waits already.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.unsent.len() + bytes.len() > INPUT_LIMIT {
            return Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                "the program does not read its input, and too much of it waits already",
            ));
        }
        self.unsent.extend(bytes);
        self.flush()
    }

    /// Writes what the screen answers. At once or never: a late answer would be taken for typed
    /// text, so it is dropped while other input waits. One that was begun is finished.
    pub(crate) fn reply(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() || !self.unsent.is_empty() {
            return Ok(());
        }
        let taken = match self.pane.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => bytes.len(),
            taken => taken?,
        };
        if taken > 0 {
            self.unsent.extend(&bytes[taken.min(bytes.len())..]);
            return Ok(());
        }
        // The answer is dropped, so the pane need not tell when there is room for it.
        self.pane.write(&[]).map(drop)
    }

    /// Writes waiting input as far as the program takes it. That it has ended is no error: it
    /// will be noticed elsewhere.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            let (front, _) = self.unsent.as_slices();
            match self.pane.write(front) {
                Ok(0) => break,
                Ok(taken) => drop(self.unsent.drain(..taken.min(front.len()))),
                Err(error) => {
                    self.unsent.clear();
                    self.closing = false;
                    let gone = error.kind() == io::ErrorKind::BrokenPipe;
                    return if gone { Ok(()) } else { Err(error) };
                }
            }
        }
        if self.closing && self.unsent.is_empty() {
            self.closing = false;
            self.pane.close_input()?;
        }
        Ok(())
    }

    /// The program reads an end of file after what was sent so far.
    pub(crate) fn close_input(&mut self) -> io::Result<()> {
        self.closing = true;
        self.flush()
    }

    /// Changes the size of terminal and screen.
    pub(crate) fn resize(&mut self, size: GridSize) -> io::Result<()> {
        self.pane.resize(size)?;
        if let Some(screen) = &mut self.screen {
            screen.resize(size);
        }
        Ok(())
    }

    /// Takes the slot apart; the pane is dropped.
    pub(crate) fn close(self) -> SlotCapture {
        SlotCapture {
            output: self.output,
            errors: self.errors,
            screen: self.screen.map(|mut screen| screen.snapshot()),
            complete: self.reading == SlotReading::Ended,
        }
    }
}

impl fmt::Debug for TerminalSlot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TerminalSlot")
            .field("id", &self.id)
            .field("execution", &self.execution)
            .field("domain", &self.domain)
            .finish_non_exhaustive()
    }
}
