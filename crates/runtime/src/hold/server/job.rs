//! The job of a holder: its process, its streams, its tape, and its end.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use coven_folder::best_effort;
use coven_tape::TapeWriter;
use coven_terminal::screen::GridSize;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::process::{Signal, WaitStatus};

use super::super::folder::HolderExit;
use super::super::protocol::{DISCARDED_MARK, INPUT_MODE_MARK};
use super::clients::Clients;
use super::output::{read_pipe, record};
use super::secrets::{self, TypedSecrets};
use super::snapper::Snapper;
use crate::cgroup::JobCgroup;
use crate::domain::{Connection, DiscardResult, ExitStatus, InputMode, PaneStream};
use crate::launch::{LaunchStreams, Launched, set_size};
use crate::machine;
use crate::processes::{self, Identity, RemnantProcess, TreeEnding};

/// How long what the process left behind may go on before it is asked to end. It may still have
/// something to print.
const LEFTOVER_LINGER: Duration = Duration::from_secs(1);

/// How long it may take to end when asked.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);

/// How long anything may take to vanish once it was killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// How often it is tried to declare what the tape could not take.
const DECLARE_INTERVAL: Duration = Duration::from_secs(1);

/// How long after its last output, or after what was last typed, the mode of the input is looked at
/// once more. On a busy machine a program may take its time between painting a question and setting
/// its terminal up for the answer, and it says nothing when it does.
const INPUT_MODE_DELAYS: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// How often it is looked at while a line is hidden.
const HIDDEN_LINE_INTERVAL: Duration = Duration::from_millis(300);

/// Changes of the mode of the input that are noted on the tape, so that nobody fills it.
const MAX_NOTED_MODES: u32 = 100_000;

/// Input that the process has not taken yet. While there is more, clients are not read.
pub(super) const MAX_INPUT: usize = 256 * 1024;

/// Read at once; a terminal never gives more than 4 KiB.
const READ_BYTES: usize = 16 * 1024;

/// Reads in one turn, so that clients get theirs during a flood.
const READS_PER_TURN: usize = 8;

pub(super) struct HeldJob {
    /// As in the environment of its processes.
    name: String,
    leader: Identity,
    /// Where its processes are, if it has a group of its own.
    cgroup: Option<JobCgroup>,
    status: Option<ExitStatus>,
    streams: LaunchStreams,
    tape: TapeWriter,
    begun: Instant,
    input: VecDeque<u8>,
    secrets: TypedSecrets,
    close_input: bool,
    stopped: bool,
    /// When what is left behind is asked to end.
    ask_at: Option<Instant>,
    /// When it is tried again to declare what the tape could not take.
    declare_at: Option<Instant>,
    /// When asking turns into force.
    force_at: Option<Instant>,
    ended: TreeEnding,
    /// Nothing of it runs any more and everything was read.
    over: bool,
    buffer: Vec<u8>,
    snapper: Snapper,
    input_mode: Option<InputMode>,
    /// When the mode of the input is looked at again.
    mode_at: Option<Instant>,
    /// When something was last printed or typed, and how often the mode was looked at since then.
    mode_looks: (Instant, usize),
    /// How many of its changes are on the tape.
    noted_modes: u32,
}

impl HeldJob {
    pub(super) fn new(
        name: String,
        launched: Launched,
        mut tape: TapeWriter,
        connection: Connection,
        snapper: Snapper,
    ) -> Self {
        let Launched { child, streams } = launched;
        let pid = child.id() as i32;
        let leader = Identity::of(pid).unwrap_or(Identity { pid, start: 0 });
        if let Connection::Terminal(size) = connection {
            // A size that could not be written is declared by the tape itself.
            best_effort("record the size", tape.resize(0, size.columns, size.rows));
        }
        Self {
            name,
            leader,
            cgroup: None,
            status: None,
            streams,
            tape,
            begun: Instant::now(),
            input: VecDeque::new(),
            secrets: TypedSecrets::default(),
            close_input: false,
            stopped: false,
            ask_at: None,
            declare_at: None,
            force_at: None,
            ended: TreeEnding::default(),
            over: false,
            buffer: vec![0; READ_BYTES],
            snapper,
            input_mode: None,
            mode_at: Some(Instant::now()),
            mode_looks: (Instant::now(), INPUT_MODE_DELAYS.len()),
            noted_modes: 0,
        }
    }

    /// What the terminal does with what is typed, as it was last seen.
    pub(super) fn input_mode(&self) -> Option<InputMode> {
        self.input_mode
    }

    pub(super) fn output_is_closed(&self) -> bool {
        self.streams.output_is_closed()
    }

    /// Looks what the terminal does with what is typed. Programs change that without a word, right
    /// before or after they print what they ask.
    fn notice_input_mode(&mut self, now: Instant, clients: &mut Clients) {
        if self.mode_at.is_none_or(|at| at > now) {
            return;
        }
        self.mode_at = self.next_mode_look();
        let mode = self.streams.input_mode();
        if let Some(mode) = mode.filter(|_| mode != self.input_mode) {
            let before = self.input_mode.replace(mode).map(InputMode::as_str);
            clients.tell_input_mode(mode);
            if before != Some(mode.as_str()) && self.noted_modes < MAX_NOTED_MODES {
                self.noted_modes += 1;
                self.mark(format!("{INPUT_MODE_MARK} {}", mode.as_str()).as_bytes());
            }
        }
        // A program that has read its hidden line may say nothing about it.
        if mode.is_some_and(InputMode::hides_line) {
            let due = now + HIDDEN_LINE_INTERVAL;
            self.mode_at = Some(self.mode_at.map_or(due, |at| at.min(due)));
        }
    }

    /// When the mode of the input is to be looked at after the look that is due now.
    fn next_mode_look(&mut self) -> Option<Instant> {
        let (since, looks) = self.mode_looks;
        let delay = INPUT_MODE_DELAYS.get(looks)?;
        self.mode_looks.1 += 1;
        Some(since + *delay)
    }

    /// Something was printed or typed: what the terminal does with input may change.
    fn expect_input_mode(&mut self, now: Instant) {
        self.mode_looks = (now, 0);
        self.mode_at = self.next_mode_look();
    }

    /// Throws away what the process has not read, if that is at least so many bytes.
    pub(super) fn discard_unread(&mut self, at_least: u32) -> DiscardResult {
        // What did not even fit into the terminal counts as well.
        let queued = u32::try_from(self.input.len()).unwrap_or(u32::MAX);
        let rest = at_least.saturating_sub(queued).max(at_least.min(1));
        let in_terminal = self.streams.discard_unread(rest);
        let mut taken = in_terminal.unwrap_or(DiscardResult { unread: 0, discarded: false });
        taken.unread = taken.unread.saturating_add(queued);
        if taken.discarded {
            self.input.clear();
            self.mark(format!("{DISCARDED_MARK} {}", taken.unread).as_bytes());
        }
        taken
    }

    pub(super) fn set_cgroup(&mut self, cgroup: Option<JobCgroup>) {
        self.cgroup = cgroup;
    }

    pub(super) fn leader(&self) -> Identity {
        self.leader
    }

    pub(super) fn end(&self) -> u64 {
        self.tape.end()
    }

    fn time(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    /// What to wait for.
    pub(super) fn wanted(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        let writes = !self.input.is_empty();
        match &self.streams {
            LaunchStreams::Terminal { master, .. } => {
                let out = if writes { PollFlags::OUT } else { PollFlags::empty() };
                vec![(master.as_fd(), PollFlags::IN | out)]
            }
            LaunchStreams::Pipes { input, output, error } => {
                let reads =
                    [output, error].into_iter().flatten().map(|fd| (fd.as_fd(), PollFlags::IN));
                let input = input.iter().filter(|_| writes).map(|fd| (fd.as_fd(), PollFlags::OUT));
                reads.chain(input).collect()
            }
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.ask_at, self.force_at, self.declare_at, self.mode_at].into_iter().flatten().min()
    }

    /// Says on the tape what was lost as soon as the disk takes it, also if nothing is printed then.
    fn declare_loss(&mut self, now: Instant) {
        if !self.tape.has_undeclared_loss() {
            self.declare_at = None;
        } else if self.declare_at.is_none_or(|at| at <= now) {
            let due = self.declare_at.is_some();
            self.declare_at = Some(now + DECLARE_INTERVAL);
            if due && self.tape.declare_loss().is_ok() {
                self.declare_at = None;
            }
        }
    }

    /// Takes note of every process that has ended, ours and those handed to us. Says whether none
    /// is left.
    pub(super) fn reap(&mut self) -> bool {
        let reaped = processes::reap();
        for (pid, status) in reaped.ended {
            self.snapper.ended(pid);
            if pid == self.leader.pid && self.status.is_none() {
                self.status = Some(exit_status(status));
            }
        }
        reaped.childless
    }

    /// What of the job still runs. The holder is a subreaper: without children of its own it need
    /// not look through all processes of the machine.
    fn running(&mut self) -> Vec<Identity> {
        if !machine::ADOPTS_ORPHANS {
            return self.running_anywhere();
        }
        if self.reap() {
            return Vec::new();
        }
        let own = rustix::process::getpid().as_raw_nonzero().get();
        loop {
            let mut found = processes::descendants(own);
            found.retain(|process| Some(process.pid) != self.snapper.pid());
            // One that was handed to us during the look is a child that was not seen.
            if !found.is_empty() || self.snapper.pid().is_some() || self.reap() {
                return found;
            }
        }
    }

    /// The same where what a process abandons is not handed to the holder.
    fn running_anywhere(&mut self) -> Vec<Identity> {
        self.reap();
        let mut found = processes::of_leader(self.leader.pid, &self.name);
        found.extend(Some(self.leader).filter(|leader| leader.is_running()));
        found.retain(|process| Some(process.pid) != self.snapper.pid());
        found
    }

    /// Asks the process to end; after the grace it is forced.
    pub(super) fn ask_to_end(&mut self, now: Instant, grace: Duration) {
        self.stopped = true;
        let at = now + grace;
        self.force_at = Some(self.force_at.map_or(at, |earlier| earlier.min(at)));
        if self.status.is_none() {
            processes::signal_group(self.leader.pid, Signal::TERM);
            if let LaunchStreams::Terminal { master, .. } = &self.streams
                && let Ok(foreground) = rustix::termios::tcgetpgrp(master)
            {
                processes::signal_group(foreground.as_raw_nonzero().get(), Signal::TERM);
            }
            // A stopped process cannot end before it goes on.
            processes::signal_group(self.leader.pid, Signal::CONT);
        }
    }

    pub(super) fn force(&mut self) {
        self.stopped |= self.status.is_none();
        self.force_at = None;
        if let Some(cgroup) = self.cgroup.clone() {
            let running = self.running();
            self.ended.forced.extend(running.into_iter().map(RemnantProcess::of));
            cgroup.kill();
        }
        let ended = processes::end_all(|| self.running(), KILL_TIMEOUT);
        let forced = ended.forced.into_iter();
        let is_new = |remnant: &RemnantProcess| !self.ended.forced.contains(remnant);
        let forced: Vec<RemnantProcess> = forced.filter(is_new).collect();
        self.ended.forced.extend(forced);
        self.ended.left = ended.left;
    }

    /// Reads, writes, and sees whether it is over.
    pub(super) fn advance(&mut self, now: Instant, clients: &mut Clients) {
        self.write_input();
        let end = self.tape.end();
        let was_open = !self.output_is_closed();
        let more = self.read_output(clients);
        if was_open && self.output_is_closed() {
            clients.tell_output_closed();
        }
        if self.tape.end() != end {
            // Now, and again when the program has had the time for a call.
            self.mode_at = Some(now);
            self.notice_input_mode(now, clients);
            self.expect_input_mode(now);
        }
        self.notice_input_mode(now, clients);
        self.snapper.output_reached(self.tape.end());
        self.declare_loss(now);
        if self.force_at.is_some_and(|at| at <= now) {
            self.force();
        }
        if self.status.is_some() && !self.over && !more {
            self.settle(now, clients);
        }
    }

    /// The process has ended. What it left may end by itself, is then asked to and then forced;
    /// when nothing is left and all was read, the job is over.
    fn settle(&mut self, now: Instant, clients: &mut Clients) {
        let left = self.running();
        if left.is_empty() || !self.ended.left.is_empty() {
            while self.read_output(clients) {}
            self.ask_at = None;
            self.force_at = None;
            self.over = true;
        } else if self.force_at.is_none() {
            if self.stopped || self.ask_at.is_some_and(|at| at <= now) {
                for process in left {
                    // It may have ended by itself meanwhile.
                    best_effort("ask a process to end", process.signal(Signal::TERM));
                }
                self.ask_at = None;
                self.force_at = Some(now + LEFTOVER_GRACE);
            } else if self.ask_at.is_none() {
                self.ask_at = Some(now + LEFTOVER_LINGER);
            }
        }
    }

    /// How it ended, once it is over. What it printed is on disk by then, as far as the disk took
    /// it.
    pub(super) fn exit(&mut self) -> Option<HolderExit> {
        self.over.then_some(())?;
        self.cgroup.iter().for_each(JobCgroup::remove);
        best_effort("sync the tape", self.tape.sync());
        Some(HolderExit {
            version: HolderExit::VERSION,
            status: self.status?,
            output: self.tape.end(),
            time: self.time(),
            stopped: self.stopped,
            ended: self.ended.clone(),
        })
    }

    pub(super) fn input(&mut self, bytes: &[u8]) {
        let time = self.time();
        // Input that could not be written is declared by the tape itself.
        best_effort("record input", self.tape.input(time, bytes));
        self.input.extend(bytes);
        self.write_input();
        self.expect_input_mode(Instant::now());
    }

    /// Input of which only the length is recorded.
    pub(super) fn secret_input(&mut self, bytes: &[u8]) {
        let time = self.time();
        best_effort("record input", self.tape.input(time, &vec![secrets::MASK; bytes.len()]));
        self.secrets.add(bytes);
        self.input.extend(bytes);
        self.write_input();
    }

    pub(super) fn takes_input(&self) -> bool {
        self.input.len() < MAX_INPUT
    }

    pub(super) fn close_input(&mut self) {
        match &self.streams {
            LaunchStreams::Terminal { .. } => self.input(&[0x04]),
            LaunchStreams::Pipes { .. } => self.close_input = true,
        }
        self.write_input();
    }

    pub(super) fn resize(&mut self, size: GridSize) {
        if let LaunchStreams::Terminal { master, .. } = &self.streams
            && set_size(master, size).is_ok()
        {
            let time = self.time();
            best_effort("record the size", self.tape.resize(time, size.columns, size.rows));
        }
    }

    pub(super) fn mark(&mut self, note: &[u8]) {
        let time = self.time();
        best_effort("record a mark", self.tape.mark(time, &String::from_utf8_lossy(note)));
    }

    fn write_input(&mut self) {
        while !self.input.is_empty() {
            let descriptor = match &self.streams {
                LaunchStreams::Terminal { master, .. } => Some(master),
                LaunchStreams::Pipes { input, .. } => input.as_ref(),
            };
            let (first, _) = self.input.as_slices();
            match descriptor.map(|descriptor| rustix::io::write(descriptor, first)) {
                Some(Ok(length)) => drop(self.input.drain(..length)),
                Some(Err(Errno::AGAIN | Errno::INTR)) => return,
                // The process has closed its end, so the rest of the input cannot arrive.
                Some(Err(_)) | None => self.input.clear(),
            }
        }
        if let (true, LaunchStreams::Pipes { input, .. }) = (self.close_input, &mut self.streams) {
            *input = None;
        }
    }

    /// Reads a turn's worth. Says whether there may be more at once.
    fn read_output(&mut self, clients: &mut Clients) -> bool {
        for _ in 0..READS_PER_TURN {
            if !self.read_once(clients) {
                return false;
            }
        }
        true
    }

    fn read_once(&mut self, clients: &mut Clients) -> bool {
        let mut any = false;
        match &mut self.streams {
            LaunchStreams::Terminal { master, .. } => {
                match rustix::io::read(&*master, &mut self.buffer[..]) {
                    Ok(length) if length > 0 => {
                        any = true;
                        self.secrets.mask(&mut self.buffer[..length]);
                        record(
                            &mut self.tape,
                            self.begun,
                            PaneStream::Output,
                            &self.buffer[..length],
                            clients,
                        );
                    }
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    // Hung up: nothing more will come from it.
                    Ok(_) | Err(_) => self.streams = LaunchStreams::closed(),
                }
            }
            LaunchStreams::Pipes { output, error, .. } => {
                for (stream, end) in [(PaneStream::Output, output), (PaneStream::Error, error)] {
                    any |= read_pipe(
                        &mut self.tape,
                        self.begun,
                        stream,
                        end,
                        &mut self.buffer,
                        clients,
                    );
                }
            }
        }
        any
    }
}

fn exit_status(status: WaitStatus) -> ExitStatus {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ExitStatus::Code(code),
        (None, Some(signal)) => ExitStatus::Signal(signal),
        (None, None) => ExitStatus::Code(-1),
    }
}
