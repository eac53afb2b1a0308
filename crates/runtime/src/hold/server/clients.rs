//! The clients of a holder. None of them can hold it up: what a client does not take at once it
//! reads later, from the tape.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use coven_folder::best_effort;
use coven_tape::TapeReader;
use coven_terminal::screen::GridSize;
use rustix::event::PollFlags;

use super::super::folder::{HolderExit, HolderFolder};
use super::super::protocol::{ToClient, ToHolder, VERSION};
use super::HoldError;
use super::job::HeldJob;
use crate::domain::PaneStream;

/// More clients than anyone needs; further ones are turned away.
const MAX_CLIENTS: usize = 16;

/// Bytes of a request that may lie about unread: one frame.
const MAX_RECEIVED: usize = super::super::protocol::MAX_BODY + 16;

pub(super) struct Clients {
    listener: UnixListener,
    connected: Vec<HoldClient>,
    exit: Option<Vec<u8>>,
}

struct HoldClient {
    socket: UnixStream,
    received: Vec<u8>,
    /// A frame of which a part was sent.
    unsent: Vec<u8>,
    /// Where its copy ends, once it has said so.
    cursor: Option<u64>,
    told: bool,
    gone: bool,
}

impl Clients {
    /// Listens in the folder, for this user alone.
    pub(super) fn listen(folder: &HolderFolder) -> Result<Self, HoldError> {
        let listener = folder
            .listen()
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(HoldError::io("listening"))?;
        Ok(Self { listener, connected: Vec::new(), exit: None })
    }

    /// Takes the socket away.
    pub(super) fn close(folder: &HolderFolder) {
        // A socket that stays is recognised by its dead holder.
        best_effort("remove the socket", folder.remove_socket());
    }

    pub(super) fn wanted(&self, job: &HeldJob) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        let clients = self.connected.iter().map(|client| {
            let mut flags = PollFlags::empty();
            if job.takes_input() {
                flags |= PollFlags::IN;
            }
            if client.has_news(job.end(), self.exit.is_some()) {
                flags |= PollFlags::OUT;
            }
            (client.socket.as_fd(), flags)
        });
        clients.chain([(self.listener.as_fd(), PollFlags::IN)]).collect()
    }

    /// Hands fresh output to everyone who has all before it.
    pub(super) fn offer(&mut self, offset: u64, stream: PaneStream, bytes: &[u8]) {
        for client in &mut self.connected {
            if client.cursor == Some(offset) && client.unsent.is_empty() {
                client.send_data(offset, stream, bytes);
                client.cursor = Some(offset + bytes.len() as u64);
            }
        }
    }

    pub(super) fn tell_exit(&mut self, exit: &HolderExit) {
        self.exit = serde_json::to_vec(exit).ok();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.connected.is_empty()
    }

    pub(super) fn all_told(&self) -> bool {
        self.connected.iter().all(|client| client.told && client.unsent.is_empty())
    }

    /// Takes in what clients say and sends them what they miss.
    pub(super) fn serve(&mut self, job: &mut HeldJob, folder: &Path, now: Instant) {
        self.accept();
        let mut reader = None;
        for client in &mut self.connected {
            client.receive(job, now);
            client.catch_up(job, folder, &mut reader);
            if client.unsent.is_empty()
                && client.cursor == Some(job.end())
                && !client.told
                && let Some(exit) = &self.exit
            {
                ToClient::Exit(exit).encode(&mut client.unsent);
                client.told = true;
            }
            client.flush();
        }
        self.connected.retain(|client| !client.gone);
    }

    fn accept(&mut self) {
        while let Ok((socket, _)) = self.listener.accept() {
            if self.connected.len() < MAX_CLIENTS && socket.set_nonblocking(true).is_ok() {
                self.connected.push(HoldClient {
                    socket,
                    received: Vec::new(),
                    unsent: Vec::new(),
                    cursor: None,
                    told: false,
                    gone: false,
                });
            }
        }
    }
}

impl HoldClient {
    fn has_news(&self, end: u64, ended: bool) -> bool {
        !self.unsent.is_empty()
            || self.cursor.is_some_and(|cursor| cursor < end || (ended && !self.told))
    }

    fn receive(&mut self, job: &mut HeldJob, now: Instant) {
        let mut buffer = [0; 4096];
        while !self.gone && job.takes_input() && self.received.len() < MAX_RECEIVED {
            match self.socket.read(&mut buffer) {
                Ok(0) => self.gone = true,
                Ok(length) => self.received.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.gone = true,
            }
            self.obey(job, now);
        }
        self.obey(job, now);
        self.received.shrink_to(4096);
    }

    fn obey(&mut self, job: &mut HeldJob, now: Instant) {
        let mut at = 0;
        loop {
            match ToHolder::decode(&self.received[at..]) {
                Ok(None) => break,
                // Not a client of ours.
                Err(_) => {
                    self.gone = true;
                    break;
                }
                Ok(Some((frame, taken))) => {
                    at += taken;
                    match frame {
                        ToHolder::Hello { version: _, offset } => {
                            let end = job.end();
                            let hello = ToClient::Hello { version: VERSION, first: 0, end };
                            hello.encode(&mut self.unsent);
                            self.cursor = Some(offset.min(end));
                        }
                        ToHolder::Input(bytes) => job.input(bytes),
                        ToHolder::CloseInput => job.close_input(),
                        ToHolder::Resize { columns, rows } => {
                            job.resize(GridSize::new(columns, rows));
                        }
                        ToHolder::Stop { force: true, .. } => job.force(),
                        ToHolder::Stop { force: false, grace } => {
                            job.ask_to_end(now, Duration::from_millis(grace));
                        }
                        ToHolder::Mark(note) => job.mark(note),
                    }
                }
            }
        }
        self.received.drain(..at);
    }

    /// Sends from the tape what the client missed, as much as it takes.
    fn catch_up(&mut self, job: &HeldJob, folder: &Path, reader: &mut Option<TapeReader>) {
        self.flush();
        while let (Some(cursor), true, false) = (self.cursor, self.unsent.is_empty(), self.gone) {
            if cursor >= job.end() {
                return;
            }
            if reader.is_none() {
                *reader = TapeReader::open(folder).ok();
            }
            let Some(reader) = reader else { return };
            self.send_records(reader, cursor, job.end());
            if self.cursor == Some(cursor) {
                // Nothing readable there, and nothing will be: it is lost.
                ToClient::Gap { from: cursor, to: job.end() }.encode(&mut self.unsent);
                self.cursor = Some(job.end());
            }
            self.flush();
        }
    }

    fn send_records(&mut self, reader: &mut TapeReader, cursor: u64, end: u64) {
        let mut at = cursor;
        if reader.refresh().is_err() {
            return;
        }
        for record in reader.records(cursor) {
            let Ok(record) = record else { break };
            if record.end() <= at || record.offset >= end {
                continue;
            }
            if record.offset > at {
                ToClient::Gap { from: at, to: record.offset }.encode(&mut self.unsent);
            }
            match ToClient::of(&record, at) {
                Some(ToClient::Data { offset, stream, bytes }) => {
                    self.send_data(offset, stream, bytes);
                }
                Some(frame) => frame.encode(&mut self.unsent),
                None => continue,
            }
            at = record.end();
            self.cursor = Some(at);
            self.flush();
            if !self.unsent.is_empty() || self.gone {
                break;
            }
        }
    }

    /// Sends at once what the socket takes; the rest of the frame is kept.
    fn send_data(&mut self, offset: u64, stream: PaneStream, bytes: &[u8]) {
        let head = ToClient::data_head(offset, stream, bytes.len());
        if self.unsent.is_empty() {
            let parts = [io::IoSlice::new(&head), io::IoSlice::new(bytes)];
            let sent = self.socket.write_vectored(&parts).unwrap_or(0);
            let (head_sent, bytes_sent) = (sent.min(head.len()), sent.saturating_sub(head.len()));
            self.unsent.extend_from_slice(&head[head_sent..]);
            self.unsent.extend_from_slice(&bytes[bytes_sent..]);
        } else {
            self.unsent.extend_from_slice(&head);
            self.unsent.extend_from_slice(bytes);
        }
    }

    fn flush(&mut self) {
        while !self.unsent.is_empty() && !self.gone {
            match self.socket.write(&self.unsent) {
                Ok(length) => drop(self.unsent.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.gone = true,
            }
        }
        self.unsent.shrink_to(4096);
    }
}
