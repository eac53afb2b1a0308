//! Bytes on their way to a process: those it has not taken yet, and those that are not due yet.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// What is to be written to a process.
#[derive(Debug, Default)]
pub(super) struct InputQueue {
    unsent: VecDeque<InputPiece>,
    /// Writes that must not follow each other too closely, and when each is due.
    scheduled: Vec<(Duration, Vec<u8>)>,
}

/// Bytes of one sort, at least one.
#[derive(Debug)]
struct InputPiece {
    bytes: VecDeque<u8>,
    secrecy: InputSecrecy,
}

/// Whether input may be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputSecrecy {
    Plain,
    Secret,
}

impl InputQueue {
    /// Queues bytes behind all others.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.push_as(bytes, InputSecrecy::Plain);
    }

    pub(super) fn push_as(&mut self, bytes: &[u8], secrecy: InputSecrecy) {
        match self.unsent.back_mut().filter(|last| last.secrecy == secrecy) {
            Some(last) => last.bytes.extend(bytes),
            None if bytes.is_empty() => {}
            None => {
                let bytes = bytes.iter().copied().collect();
                self.unsent.push_back(InputPiece { bytes, secrecy });
            }
        }
    }

    /// Queues bytes that are pushed when they are due.
    pub(super) fn schedule(&mut self, due: Duration, bytes: Vec<u8>) {
        self.scheduled.push((due, bytes));
    }

    /// Pushes what is due. Says whether anything was.
    pub(super) fn push_due(&mut self, now: Duration) -> bool {
        let due: Vec<_> = self.scheduled.extract_if(.., |(due, _)| *due <= now).collect();
        for (_, bytes) in &due {
            self.push(bytes);
        }
        !due.is_empty()
    }

    /// When the next write is due.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.scheduled.iter().map(|(due, _)| *due).min()
    }

    /// Whether the process has taken everything that was due.
    pub(super) fn is_written(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Drops what the process has not taken.
    pub(super) fn clear(&mut self) {
        self.unsent.clear();
    }

    /// Writes as much as `write` takes. What is left is written when the process takes more; a
    /// process that takes nothing any more gets nothing any more.
    pub(super) fn flush(
        &mut self,
        mut write: impl FnMut(&[u8], InputSecrecy) -> io::Result<usize>,
    ) {
        while let Some(piece) = self.unsent.front_mut() {
            let (front, _) = piece.bytes.as_slices();
            match write(front, piece.secrecy) {
                Ok(0) => return,
                Ok(length) => {
                    piece.bytes.drain(..length);
                    if piece.bytes.is_empty() {
                        self.unsent.pop_front();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The process has ended, which is told by its output and not by its input.
                Err(_) => self.unsent.clear(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// A process that takes so many bytes, and what it took.
    fn flush(queue: &mut InputQueue, mut room: usize) -> Vec<u8> {
        let mut taken = Vec::new();
        queue.flush(|bytes, _| {
            let length = bytes.len().min(room).min(3);
            room -= length;
            taken.extend_from_slice(&bytes[..length]);
            Ok(length)
        });
        taken
    }

    #[test]
    fn what_is_not_taken_comes_first_the_next_time() {
        let mut queue = InputQueue::default();
        queue.push(b"hello");
        assert_eq!(flush(&mut queue, 4), b"hell");
        assert!(!queue.is_written());
        queue.push(b" world");
        assert_eq!(flush(&mut queue, 100), b"o world");
        assert!(queue.is_written());
    }

    #[test]
    fn bytes_are_written_when_they_are_due_and_in_that_order() {
        let mut queue = InputQueue::default();
        queue.schedule(ms(0), b"first".to_vec());
        queue.schedule(ms(80), b"second".to_vec());
        assert!(queue.push_due(ms(10)));
        assert_eq!(queue.deadline(), Some(ms(80)));
        assert!(!queue.push_due(ms(79)));
        assert_eq!(flush(&mut queue, 100), b"first");
        assert!(queue.push_due(ms(80)));
        assert_eq!(flush(&mut queue, 100), b"second");
        assert_eq!(queue.deadline(), None);
    }

    #[test]
    fn secret_bytes_stay_apart_and_in_their_place() {
        let mut queue = InputQueue::default();
        queue.push(b"name\r");
        queue.push_as(b"key", InputSecrecy::Secret);
        queue.push(b"\r");
        let mut written = Vec::new();
        queue.flush(|bytes, secrecy| {
            written.push((String::from_utf8_lossy(bytes).into_owned(), secrecy));
            Ok(bytes.len())
        });
        let (plain, secret) = (InputSecrecy::Plain, InputSecrecy::Secret);
        let expected = [("name\r", plain), ("key", secret), ("\r", plain)];
        assert_eq!(written, expected.map(|(text, secrecy)| (text.to_owned(), secrecy)));
    }

    #[test]
    fn a_process_that_is_gone_is_written_nothing_more() {
        let mut queue = InputQueue::default();
        queue.push(b"lost");
        queue.flush(|_, _| Err(io::ErrorKind::BrokenPipe.into()));
        assert!(queue.is_written());
        queue.push(b"kept");
        queue.flush(|_, _| Err(io::ErrorKind::WouldBlock.into()));
        assert!(!queue.is_written());
    }
}
