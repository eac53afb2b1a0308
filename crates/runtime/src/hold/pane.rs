//! A held process, seen from a client of its holder.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::Instant;

use coven_folder::best_effort;
use coven_tape::TapeReader;
use coven_terminal::screen::GridSize;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::StartedHolder;
use super::adopt::end_job;
use super::folder::{HolderExit, HolderFolder};
use super::protocol::{
    INPUT_STATE_VERSION, MAX_BODY, OPEN_VERSION, SECRET_INPUT_VERSION, ToClient, ToHolder, VERSION,
};
use super::secret::HolderSecret;
use crate::domain::{
    DiscardResult, ExitStatus, InputMode, Pane, ReadOutcome, ReaderActivity, StopMode,
};
use crate::machine;
use crate::processes;
use crate::readiness::{Interest, Selector};

/// Bytes written by us that the holder has not taken yet. More is not accepted.
const MAX_UNSENT: usize = 1024 * 1024;

/// How it stands with the process.
#[derive(Debug)]
enum HeldPaneState {
    /// The holder speaks to us.
    Connected,
    /// The holder has ended before it could say everything; the tape has the rest.
    OnDisk,
    /// It has told how it ended.
    Exited(HolderExit),
    /// The holder is gone without a word.
    Lost,
}

/// A process under a holder. Dropping it leaves the process running.
#[derive(Debug)]
pub struct HolderPane {
    folder: HolderFolder,
    job: String,
    socket: Option<UnixStream>,
    /// Watches the socket: readable when something came, or when the socket takes what waits.
    readiness: Selector,
    /// What `readiness` watches the socket for.
    watched: Interest,
    /// Whether the last write was not taken whole.
    refused: bool,
    /// Whether the holder has closed the socket. That is told once, so it is kept.
    hung_up: bool,
    state: HeldPaneState,
    /// Frames not yet taken apart, from `at` on.
    received: Vec<u8>,
    at: usize,
    /// Bytes of the data frame in hand that were already given out.
    given: usize,
    unsent: Vec<u8>,
    offset: u64,
    lost: u64,
    /// What the holder speaks; 0 until it has said so.
    holder_version: u32,
    input_mode: Option<InputMode>,
    output_is_closed: bool,
    discard_result: Option<DiscardResult>,
    /// The process that was started, once it is known.
    leader: OnceLock<i32>,
    /// The holder, if it is a child of this process.
    child: Option<StartedHolder>,
}

impl HolderPane {
    /// The first process of the job, once its record has it.
    fn leader(&self) -> Option<i32> {
        self.leader.get().copied().or_else(|| {
            let leader = self.folder.spawn_record().ok().flatten()?.process?.pid;
            Some(*self.leader.get_or_init(|| leader))
        })
    }

    /// Connects to the holder of a folder. Output comes from `offset` on. A holder that has
    /// recorded the end may be gone already; then it comes from the tape.
    pub(super) fn connect(folder: &HolderFolder, offset: u64, job: String) -> io::Result<Self> {
        let connection = folder.connect().and_then(|socket| {
            expect_holder(folder, &socket)?;
            Ok(socket)
        });
        Self::greet(folder, connection, offset, job)
    }

    /// Says hello to a holder. A short job can end at any moment, also between the connection and
    /// the first word; then everything is on the tape, as if there had been no connection.
    fn greet(
        folder: &HolderFolder,
        connection: io::Result<UnixStream>,
        offset: u64,
        job: String,
    ) -> io::Result<Self> {
        let greeted = connection.and_then(|mut socket| {
            socket.set_nonblocking(true)?;
            let known = folder.secret().map_err(io::Error::other)?;
            let secret = known.as_ref().map(HolderSecret::reveal).unwrap_or_default();
            let version = if secret.is_empty() { OPEN_VERSION } else { VERSION };
            let mut hello = Vec::new();
            ToHolder::Hello { version, offset, secret }.encode(&mut hello);
            // The first few bytes always fit into a socket's buffer.
            socket.write_all(&hello)?;
            Ok(socket)
        });
        let socket = match greeted {
            Ok(socket) => Some(socket),
            Err(_) if matches!(folder.exit(), Ok(Some(_))) => None,
            Err(error) => return Err(error),
        };
        let readiness = Selector::new()?;
        let watched = Interest::Read;
        if let Some(socket) = &socket {
            readiness.add(socket.as_fd(), watched, 0)?;
        }
        let state = if socket.is_some() { HeldPaneState::Connected } else { HeldPaneState::OnDisk };
        Ok(Self {
            folder: folder.clone(),
            job,
            socket,
            readiness,
            watched,
            refused: false,
            hung_up: false,
            state,
            received: Vec::new(),
            at: 0,
            given: 0,
            unsent: Vec::new(),
            offset,
            lost: 0,
            holder_version: 0,
            input_mode: None,
            output_is_closed: false,
            discard_result: None,
            leader: OnceLock::new(),
            child: None,
        })
    }

    pub(super) fn of_child(mut self, child: StartedHolder) -> Self {
        self.child = Some(child);
        self
    }

    /// The offset of the next byte that will be read.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How it ended, with everything that was recorded about it.
    pub fn exit(&self) -> Option<&HolderExit> {
        match &self.state {
            HeldPaneState::Exited(exit) => Some(exit),
            HeldPaneState::Connected | HeldPaneState::OnDisk | HeldPaneState::Lost => None,
        }
    }

    fn send(&mut self, frame: &ToHolder<'_>) -> io::Result<()> {
        if !matches!(self.state, HeldPaneState::Connected) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        frame.encode(&mut self.unsent);
        self.flush()
    }

    /// Ends the process by force, and waits until it and everything it started are gone. Says
    /// whether they are; at the deadline it gives up.
    pub fn end_by(&mut self, deadline: Instant) -> io::Result<bool> {
        self.stop(StopMode::Force)?;
        let mut buffer = vec![0; 64 * 1024];
        while self.is_alive() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            // What the process printed is on its tape; the end comes after it on the socket.
            if self.read(&mut buffer)? == ReadOutcome::Pending {
                let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
                let mut watched = [PollFd::new(&self.readiness, PollFlags::IN)];
                match poll(&mut watched, Some(&timeout)) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
        }
        Ok(true)
    }

    /// Sends what fits, and has `readiness` tell when the rest does.
    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.send_unsent();
        let awaits_room = !self.unsent.is_empty() || self.refused;
        let wanted = if awaits_room { Interest::ReadOrWrite } else { Interest::Read };
        if let Some(socket) = &self.socket
            && wanted != self.watched
        {
            self.readiness.change(socket.as_fd(), wanted, 0)?;
            self.watched = wanted;
        }
        flushed
    }

    fn send_unsent(&mut self) -> io::Result<()> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        while !self.unsent.is_empty() {
            match socket.write(&self.unsent) {
                Ok(length) => drop(self.unsent.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.unsent.clear();
                    self.refused = false;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Takes in what has come, up to about two frames.
    fn receive(&mut self) -> io::Result<()> {
        if matches!(self.state, HeldPaneState::OnDisk) {
            return self.read_tape();
        }
        // A socket that takes nothing any more is read to its end below, which tells why.
        best_effort("send to the holder", self.flush());
        let mut buffer = [0; 16 * 1024];
        while matches!(self.state, HeldPaneState::Connected)
            && self.received.len() - self.at < MAX_BODY
        {
            let Some(socket) = &mut self.socket else { return Ok(()) };
            match socket.read(&mut buffer) {
                Ok(0) => return self.lose(),
                Ok(length) => {
                    self.received.drain(..self.at);
                    self.at = 0;
                    self.received.extend_from_slice(&buffer[..length]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return self.lose(),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes in from the tape what a holder would have sent.
    fn read_tape(&mut self) -> io::Result<()> {
        self.received.drain(..self.at);
        self.at = 0;
        let reader = TapeReader::open(self.folder.path()).map_err(io::Error::other)?;
        let mut end = self.offset;
        for record in reader.records(self.offset) {
            let record = record.map_err(io::Error::other)?;
            if record.end() <= end {
                continue;
            }
            if let Some(frame) = ToClient::of(&record, end) {
                frame.encode(&mut self.received);
                end = record.end();
            }
            if self.received.len() >= MAX_BODY {
                return Ok(());
            }
        }
        if self.received.is_empty() {
            // The record of the end was there when the tape was turned to. Without it nothing more
            // will ever come, and a caller must not wait for it.
            let exit = self.folder.exit().map_err(io::Error::other)?;
            self.state = exit.map_or(HeldPaneState::Lost, HeldPaneState::Exited);
        }
        Ok(())
    }

    /// The holder is gone: perhaps it left word, else what it left behind is ended.
    fn lose(&mut self) -> io::Result<()> {
        self.hung_up = true;
        if self.has_frame() {
            // What came before the end is read first.
            return Ok(());
        }
        if self.folder.exit().map_err(io::Error::other)?.is_some() {
            // It does not wait for ever for a client that reads slowly. The tape has what it did not
            // get to say, also that of which only a part has come.
            self.received.clear();
            self.at = 0;
            self.state = HeldPaneState::OnDisk;
            return self.read_tape();
        }
        end_job(&self.job);
        self.state = HeldPaneState::Lost;
        Ok(())
    }

    fn has_frame(&self) -> bool {
        matches!(ToClient::decode(&self.received[self.at..]), Ok(Some(_)))
    }

    /// Gives out data, or takes note of what else was said.
    fn next(&mut self, buffer: &mut [u8]) -> io::Result<Option<ReadOutcome>> {
        loop {
            let decoded = ToClient::decode(&self.received[self.at..]);
            let decoded =
                decoded.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let Some((frame, taken)) = decoded else { return Ok(None) };
            match frame {
                ToClient::Data { offset, stream, bytes } => {
                    let rest = &bytes[self.given..];
                    let length = rest.len().min(buffer.len());
                    buffer[..length].copy_from_slice(&rest[..length]);
                    self.offset = offset + (self.given + length) as u64;
                    self.given += length;
                    if self.given == bytes.len() {
                        self.given = 0;
                        self.at += taken;
                    }
                    if length > 0 {
                        return Ok(Some(ReadOutcome::Data(stream, length)));
                    }
                }
                ToClient::Gap { from, to } => {
                    self.lost += to.saturating_sub(from);
                    self.offset = to;
                    self.at += taken;
                }
                ToClient::Exit(json) => {
                    self.state = HeldPaneState::Exited(serde_json::from_slice(json)?);
                    self.at += taken;
                }
                ToClient::Hello { version, .. } => {
                    self.holder_version = version;
                    self.at += taken;
                }
                ToClient::InputMode(mode) => {
                    self.input_mode = Some(mode);
                    self.at += taken;
                }
                ToClient::OutputClosed => {
                    self.output_is_closed = true;
                    self.at += taken;
                }
                ToClient::DiscardResult(what) => {
                    self.discard_result = Some(what);
                    self.at += taken;
                }
            }
        }
    }
}

impl Drop for HolderPane {
    fn drop(&mut self) {
        // One that goes on without a pane ends some day, and nothing here would hear of it.
        if let Some(child) = &self.child {
            child.reap();
        }
    }
}

/// Whether the holder that was written down listens there. Another process could have put its own
/// socket in the place of the holder's, to be told the secret.
fn expect_holder(folder: &HolderFolder, socket: &UnixStream) -> io::Result<()> {
    let record = folder.spawn_record().map_err(io::Error::other)?;
    let Some(holder) = record.and_then(|record| record.holder) else { return Ok(()) };
    let listener = machine::socket_peer(socket)?;
    if listener.pid == holder.pid {
        return Ok(());
    }
    let reason = format!("process {} listens in the place of the holder", listener.pid);
    Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
}

impl Pane for HolderPane {
    fn lost(&self) -> u64 {
        self.lost
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
        loop {
            if let Some(outcome) = self.next(buffer)? {
                return Ok(outcome);
            }
            self.receive()?;
            if let Some(outcome) = self.next(buffer)? {
                return Ok(outcome);
            }
            match self.state {
                HeldPaneState::Connected if !self.hung_up => return Ok(ReadOutcome::Pending),
                HeldPaneState::Exited(_) | HeldPaneState::Lost => return Ok(ReadOutcome::End),
                // No descriptor tells that there is more on a tape, or again that the holder is
                // gone, so both are followed to their end.
                HeldPaneState::Connected | HeldPaneState::OnDisk => {}
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !matches!(self.state, HeldPaneState::Connected) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = MAX_UNSENT.saturating_sub(self.unsent.len()).min(bytes.len());
        self.refused = room < bytes.len();
        if room > 0 {
            self.send(&ToHolder::Input(&bytes[..room]))?;
        } else {
            self.flush()?;
        }
        Ok(room)
    }

    fn write_secret(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.holder_version < SECRET_INPUT_VERSION {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if !matches!(self.state, HeldPaneState::Connected) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = MAX_UNSENT.saturating_sub(self.unsent.len()).min(bytes.len());
        self.refused = room < bytes.len();
        if room > 0 {
            self.send(&ToHolder::SecretInput(&bytes[..room]))?;
        } else {
            self.flush()?;
        }
        Ok(room)
    }

    fn discard_unread(&mut self, at_least: u32) -> io::Result<()> {
        if self.holder_version < INPUT_STATE_VERSION {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.discard_result = None;
        self.send(&ToHolder::DiscardUnread { at_least })
    }

    fn discard_result(&mut self) -> Option<DiscardResult> {
        self.discard_result.take()
    }

    fn stopped_reader(&self) -> Option<i32> {
        processes::stopped_reader(self.leader()?)
    }

    fn reader_activity(&self) -> Option<ReaderActivity> {
        processes::reader_activity(self.leader()?)
    }

    fn output_is_closed(&self) -> bool {
        self.output_is_closed
    }

    fn input_mode(&self) -> Option<InputMode> {
        self.input_mode
    }

    fn close_input(&mut self) -> io::Result<()> {
        self.send(&ToHolder::CloseInput)
    }

    fn resize(&mut self, size: GridSize) -> io::Result<()> {
        self.send(&ToHolder::Resize { columns: size.columns, rows: size.rows })
    }

    fn stop(&mut self, stop: StopMode) -> io::Result<()> {
        if !matches!(self.state, HeldPaneState::Connected) {
            return Ok(());
        }
        self.folder.mark_killed().map_err(io::Error::other)?;
        let frame = match stop {
            StopMode::Polite { grace } => {
                ToHolder::Stop { force: false, grace: grace.as_millis() as u64 }
            }
            StopMode::Force => ToHolder::Stop { force: true, grace: 0 },
        };
        match self.send(&frame) {
            // It has ended meanwhile, which is what was wanted.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }

    fn is_alive(&mut self) -> bool {
        if !self.has_frame() && self.receive().is_err() {
            self.state = HeldPaneState::Lost;
        }
        // The last word may be all that is left to read.
        if let Ok(Some((ToClient::Exit(_), _))) = ToClient::decode(&self.received[self.at..]) {
            // An end that cannot be read is still an end.
            if self.next(&mut []).is_err() {
                self.state = HeldPaneState::Lost;
            }
        }
        matches!(self.state, HeldPaneState::Connected | HeldPaneState::OnDisk)
    }

    fn exit_status(&mut self) -> Option<ExitStatus> {
        if self.is_alive() { None } else { self.exit().map(|exit| exit.status) }
    }

    fn mark(&mut self, note: &str) -> io::Result<()> {
        self.send(&ToHolder::Mark(note.as_bytes()))
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.readiness.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use coven_tape::{Options, TapeStream, TapeWriter};
    use tempfile::TempDir;

    use super::*;

    fn broken_connection() -> io::Result<UnixStream> {
        let (ours, holder) = UnixStream::pair()?;
        drop(holder);
        Ok(ours)
    }

    /// A connection waits in the holder's backlog until the holder takes it. A job as short as
    /// `true` can end before that, and was taken for one that had not started.
    #[test]
    fn a_holder_that_ends_before_the_first_word_is_read_from_its_tape() {
        let path = TempDir::new().unwrap();
        let folder = HolderFolder::new(path.path());
        let mut tape = TapeWriter::create(path.path(), Options::default()).unwrap();
        tape.output(1, TapeStream::Out, b"done").unwrap();
        tape.sync().unwrap();
        let exit = HolderExit {
            version: HolderExit::VERSION,
            status: ExitStatus::Code(0),
            output: tape.end(),
            time: 2,
            stopped: false,
            ended: processes::TreeEnding::default(),
        };
        folder.write_exit(&exit, &folder.reserve_exit().unwrap()).unwrap();

        let mut pane =
            HolderPane::greet(&folder, broken_connection(), 0, "job".to_owned()).unwrap();
        let mut buffer = [0; 16];
        assert_eq!(
            pane.read(&mut buffer).unwrap(),
            ReadOutcome::Data(crate::domain::PaneStream::Output, 4)
        );
        assert_eq!(&buffer[..4], b"done");
        assert_eq!(pane.read(&mut buffer).unwrap(), ReadOutcome::End);
        assert_eq!(pane.exit_status(), Some(ExitStatus::Code(0)));
    }

    #[test]
    fn a_holder_that_is_gone_without_a_record_is_an_error() {
        let path = TempDir::new().unwrap();
        let folder = HolderFolder::new(path.path());
        let refused = HolderPane::greet(&folder, broken_connection(), 0, "job".to_owned());
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
