//! Moves bytes between a pane, its screen and its buffers, one bounded turn at a time. It never
//! waits and knows no event loop: any loop can call it.

use std::io;

use coven_runtime::domain::{PaneStream, ReadOutcome};

use crate::slot::{SlotReading, TerminalSlot};

/// How much is read from one pane in one turn, so that one that never stops printing does not
/// keep the others waiting. A pipe holds as much.
pub const TURN_LIMIT: usize = 64 * 1024;

/// Where a pane's output stands after a turn.
#[derive(Debug)]
pub enum DriverFlow {
    /// The turn was over before the output was: there may be more right now.
    More,
    /// Nothing more for now.
    Pending,
    /// The output has ended.
    End,
    /// The pane cannot be read.
    Broken(io::Error),
}

/// What happened in one turn.
#[derive(Debug)]
pub struct DriverTurn {
    /// How many bytes came.
    pub read: usize,
    /// Where the output stands.
    pub flow: DriverFlow,
    /// The program's input could not be written. It is told and nothing else: the program may do
    /// well without.
    pub refused: Option<io::Error>,
}

/// Gives slots their turns. One is enough for any number of slots; its buffer is shared.
#[derive(Debug)]
pub struct ExecutionIoDriver {
    buffer: Box<[u8]>,
}

impl Default for ExecutionIoDriver {
    fn default() -> Self {
        Self::new()
    }
}

impl ExecutionIoDriver {
    /// A driver without any panes.
    pub fn new() -> Self {
        Self { buffer: vec![0; TURN_LIMIT].into() }
    }

    /// One turn for one slot: input that did not fit before is tried again; output goes to the
    /// buffers and, on a terminal, to the screen; what the screen answers goes back at once.
    pub fn poll(&mut self, slot: &mut TerminalSlot) -> DriverTurn {
        let mut turn = DriverTurn { read: 0, flow: DriverFlow::More, refused: slot.flush().err() };
        if slot.reading == SlotReading::Ended {
            return DriverTurn { flow: DriverFlow::End, ..turn };
        }
        while turn.read < TURN_LIMIT {
            match slot.pane.read(&mut self.buffer[..TURN_LIMIT - turn.read]) {
                Ok(ReadOutcome::Data(stream, length)) => {
                    turn.read += length;
                    if let Err(error) = receive(slot, stream, &self.buffer[..length]) {
                        turn.refused = Some(error);
                    }
                }
                Ok(ReadOutcome::Pending) => {
                    turn.flow = DriverFlow::Pending;
                    break;
                }
                Ok(ReadOutcome::End) => {
                    slot.reading = SlotReading::Ended;
                    turn.flow = DriverFlow::End;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    slot.reading = SlotReading::Broken;
                    turn.flow = DriverFlow::Broken(error);
                    break;
                }
            }
        }
        turn
    }
}

fn receive(slot: &mut TerminalSlot, stream: PaneStream, chunk: &[u8]) -> io::Result<()> {
    slot.output_mut(stream).push(chunk);
    let Some(screen) = slot.screen.as_mut().filter(|_| stream == PaneStream::Output) else {
        return Ok(());
    };
    screen.feed(chunk);
    let replies = screen.take_replies();
    slot.reply(&replies)
}
