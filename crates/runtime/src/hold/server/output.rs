//! What the process prints: from its pipes to the tape, and from there to who follows it.

use std::os::fd::OwnedFd;
use std::time::Instant;

use coven_folder::best_effort;
use coven_tape::TapeWriter;
use rustix::io::Errno;

use super::clients::Clients;
use crate::domain::PaneStream;

pub(super) fn read_pipe(
    tape: &mut TapeWriter,
    begun: Instant,
    stream: PaneStream,
    end: &mut Option<OwnedFd>,
    buffer: &mut [u8],
    clients: &mut Clients,
) -> bool {
    let Some(descriptor) = end else { return false };
    match rustix::io::read(&*descriptor, &mut *buffer) {
        Ok(length) if length > 0 => {
            record(tape, begun, stream, &buffer[..length], clients);
            true
        }
        Err(Errno::AGAIN | Errno::INTR) => false,
        Ok(_) | Err(_) => {
            *end = None;
            false
        }
    }
}

/// To the tape first, then to the clients that are up to date; the others read it from the tape
/// later. What the tape could not take is declared there and told as a gap.
pub(super) fn record(
    tape: &mut TapeWriter,
    begun: Instant,
    stream: PaneStream,
    bytes: &[u8],
    clients: &mut Clients,
) {
    let time = begun.elapsed().as_micros() as u64;
    let offset = tape.end();
    let tape_stream = match stream {
        PaneStream::Output => coven_tape::TapeStream::Out,
        PaneStream::Error => coven_tape::TapeStream::Err,
    };
    best_effort("record output", tape.output(time, tape_stream, bytes));
    clients.offer(offset, stream, bytes);
}
