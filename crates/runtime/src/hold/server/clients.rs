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
use super::super::protocol::{
    FOLLOWED_MARK, INPUT_STATE_VERSION, LEFT_MARK, OUTPUT_CLOSED_VERSION, ToClient, ToHolder,
    VERSION,
};
use super::super::registry::HolderRegistry;
use super::super::secret::HolderSecret;
use super::HoldError;
use super::job::HeldJob;
use crate::domain::{InputMode, PaneStream};
use crate::lineage::{Lineage, lineage_among};
use crate::machine;
use crate::processes::Identity;

/// More clients than anyone needs; further ones are turned away.
const MAX_CLIENTS: usize = 16;

/// Refused clients that are noted on the tape. Others go unnoted, so that nobody fills it.
const MAX_NOTED_REFUSALS: u32 = 100;

/// Clients that are noted on the tape when they come and go, for the same reason.
const MAX_NOTED_CLIENTS: u32 = 10_000;

/// Bytes of a request that may lie about unread: one frame.
const MAX_RECEIVED: usize = super::super::protocol::MAX_BODY + 16;

pub(super) struct Clients {
    listener: UnixListener,
    gate: ClientGate,
    /// How many clients were refused.
    refused: u32,
    /// How many clients have followed the job.
    followers: u32,
    connected: Vec<HoldClient>,
    exit: Option<Vec<u8>>,
}

/// Who is heard: a process of the same user that no job started and that knows the secret.
pub(super) struct ClientGate {
    /// Nothing for a holder that an older daemon started.
    secret: Option<HolderSecret>,
    registry: Option<HolderRegistry>,
    uid: u32,
    /// The daemon that started this holder.
    starter: Option<i32>,
}

impl ClientGate {
    pub(super) fn new(secret: Option<HolderSecret>, registry: Option<HolderRegistry>) -> Self {
        let uid = rustix::process::geteuid().as_raw();
        let starter = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get());
        Self { secret, registry, uid, starter }
    }

    /// Who connected, for the tape, or why they are not heard.
    fn admit(&self, socket: &UnixStream) -> Result<ClientName, String> {
        let peer = machine::socket_peer(socket).map_err(|error| error.to_string())?;
        let shown = Identity::of(peer.pid).and_then(Identity::name).unwrap_or_default();
        let shown = format!("process {} ({shown})", peer.pid);
        if peer.uid != self.uid {
            return Err(format!("{shown} of user {}", peer.uid));
        }
        let entries = self.registry.as_ref().map(HolderRegistry::entries).transpose();
        match entries.map(|entries| lineage_among(peer.pid, &entries.unwrap_or_default())) {
            Ok(Lineage::Job(_)) if self.registry.is_some() => {
                return Err(format!("{shown}, which a job started"));
            }
            Err(_) => return Err(format!("{shown}, while the holders cannot be read")),
            // Where the system hides ancestors, the daemon's are hidden too. The secret decides.
            Ok(_) => {}
        }
        Ok(ClientName { is_starter: self.starter == Some(peer.pid), shown })
    }

    fn knows(&self, secret: &[u8]) -> bool {
        self.secret.as_ref().is_none_or(|own| own.is(secret))
    }
}

/// A client as the tape names it.
struct ClientName {
    /// It is the daemon that started this holder.
    is_starter: bool,
    shown: String,
}

#[expect(clippy::struct_excessive_bools, reason = "each says one thing about the connection")]
struct HoldClient {
    socket: UnixStream,
    name: ClientName,
    /// Whether it has shown the secret.
    known: bool,
    /// It was not heard because it did not, which is to be noted.
    refused: bool,
    /// Whether its input was noted on the tape as that of another process.
    noted: bool,
    received: Vec<u8>,
    /// A frame of which a part was sent.
    unsent: Vec<u8>,
    /// Whether it was counted among those that follow the job.
    follows: bool,
    /// Where its copy ends, once it has said so.
    cursor: Option<u64>,
    /// The version it speaks; 0 until it has said so.
    version: u32,
    told: bool,
    gone: bool,
}

impl Clients {
    /// Listens in the folder, for this user alone.
    pub(super) fn listen(folder: &HolderFolder, gate: ClientGate) -> Result<Self, HoldError> {
        let listener = folder
            .listen()
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(HoldError::io("listening"))?;
        Ok(Self { listener, gate, refused: 0, followers: 0, connected: Vec::new(), exit: None })
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

    /// Tells everyone who understands it what the terminal does with what is typed.
    pub(super) fn tell_input_mode(&mut self, mode: InputMode) {
        for client in self.connected.iter_mut().filter(|client| client.knows_input()) {
            ToClient::InputMode(mode).encode(&mut client.unsent);
        }
    }

    /// Tells everyone who understands it that the process has closed its standard output.
    pub(super) fn tell_output_closed(&mut self) {
        for client in self.connected.iter_mut().filter(|client| client.knows_closed_output()) {
            ToClient::OutputClosed.encode(&mut client.unsent);
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
        self.accept(job);
        let mut reader = None;
        for client in &mut self.connected {
            client.receive(job, &self.gate, now);
            if client.refused {
                note_refusal(&client.name.shown, &mut self.refused, job);
                client.refused = false;
            }
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
        self.note_followers(job);
        self.connected.retain(|client| !client.gone);
    }

    /// Says on the tape who stopped following a job that goes on, and who follows it after the
    /// first, so that an audit knows when there was no daemon.
    fn note_followers(&mut self, job: &mut HeldJob) {
        for client in self.connected.iter_mut().filter(|client| client.cursor.is_some()) {
            let is_noted = self.exit.is_none() && self.followers < MAX_NOTED_CLIENTS;
            if !client.follows {
                client.follows = true;
                self.followers = self.followers.saturating_add(1);
                if is_noted && self.followers > 1 {
                    job.mark(format!("{FOLLOWED_MARK} {}", client.name.shown).as_bytes());
                }
            }
            if is_noted && client.gone {
                job.mark(format!("{LEFT_MARK} {}", client.name.shown).as_bytes());
            }
        }
    }

    fn accept(&mut self, job: &mut HeldJob) {
        while let Ok((socket, _)) = self.listener.accept() {
            let name = match self.gate.admit(&socket) {
                Ok(name) => name,
                Err(who) => {
                    note_refusal(&who, &mut self.refused, job);
                    continue;
                }
            };
            if self.connected.len() < MAX_CLIENTS && socket.set_nonblocking(true).is_ok() {
                self.connected.push(HoldClient {
                    socket,
                    name,
                    known: false,
                    refused: false,
                    noted: false,
                    received: Vec::new(),
                    unsent: Vec::new(),
                    follows: false,
                    cursor: None,
                    version: 0,
                    told: false,
                    gone: false,
                });
            }
        }
    }
}

impl HoldClient {
    fn knows_input(&self) -> bool {
        self.version >= INPUT_STATE_VERSION
    }

    fn knows_closed_output(&self) -> bool {
        self.version >= OUTPUT_CLOSED_VERSION
    }

    fn has_news(&self, end: u64, ended: bool) -> bool {
        !self.unsent.is_empty()
            || self.cursor.is_some_and(|cursor| cursor < end || (ended && !self.told))
    }

    fn receive(&mut self, job: &mut HeldJob, gate: &ClientGate, now: Instant) {
        let mut buffer = [0; 4096];
        while !self.gone && job.takes_input() && self.received.len() < MAX_RECEIVED {
            match self.socket.read(&mut buffer) {
                Ok(0) => self.gone = true,
                Ok(length) => self.received.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.gone = true,
            }
            self.obey(job, gate, now);
        }
        self.obey(job, gate, now);
        self.received.shrink_to(4096);
    }

    fn obey(&mut self, job: &mut HeldJob, gate: &ClientGate, now: Instant) {
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
                    if let ToHolder::Hello { secret, .. } = &frame {
                        self.known = gate.knows(secret);
                    }
                    if !self.known && gate.secret.is_some() {
                        self.refused = true;
                        self.gone = true;
                        break;
                    }
                    match frame {
                        ToHolder::Hello { version, offset, secret: _ } => {
                            let end = job.end();
                            let hello = ToClient::Hello { version: VERSION, first: 0, end };
                            hello.encode(&mut self.unsent);
                            self.cursor = Some(offset.min(end));
                            self.version = version;
                            if let Some(mode) = job.input_mode().filter(|_| self.knows_input()) {
                                ToClient::InputMode(mode).encode(&mut self.unsent);
                            }
                            if job.output_is_closed() && self.knows_closed_output() {
                                ToClient::OutputClosed.encode(&mut self.unsent);
                            }
                        }
                        ToHolder::DiscardUnread { at_least } => {
                            let taken = job.discard_unread(at_least);
                            ToClient::DiscardResult(taken).encode(&mut self.unsent);
                        }
                        ToHolder::Input(bytes) => {
                            note_sender(&self.name, &mut self.noted, job);
                            job.input(bytes);
                        }
                        ToHolder::SecretInput(bytes) => {
                            note_sender(&self.name, &mut self.noted, job);
                            job.secret_input(bytes);
                        }
                        ToHolder::CloseInput => {
                            note_sender(&self.name, &mut self.noted, job);
                            job.close_input();
                        }
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

/// Says on the tape that a process was not heard.
fn note_refusal(who: &str, refused: &mut u32, job: &mut HeldJob) {
    *refused = refused.saturating_add(1);
    if *refused <= MAX_NOTED_REFUSALS {
        job.mark(format!("coven:refused {who}").as_bytes());
    }
}

/// Says on the tape that input came from another process than the daemon that started the job: the
/// next daemon, or something else that knows the secret.
fn note_sender(name: &ClientName, noted: &mut bool, job: &mut HeldJob) {
    if !name.is_starter && !*noted {
        *noted = true;
        job.mark(format!("coven:input {}", name.shown).as_bytes());
    }
}
