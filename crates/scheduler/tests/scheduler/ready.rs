//! Waiting: one descriptor for all panes, and turns only for those that have something to say.
//! The panes here are sockets without a process: the other end is in the test's hand.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use coven_runtime::domain::{
    Domain, DomainId, ExitStatus, Pane, PaneStream, ReadOutcome, SpawnConfig, SpawnError, StopMode,
};
use coven_scheduler::agent_runtime::{AgentRuntime, RuntimeConfig};
use coven_scheduler::clock::{ManualClock, Moment, SchedulerClock, SystemClock};
use coven_scheduler::command::{Capability, CommandId};
use coven_scheduler::execution::{ExecutionId, TURN_LIMIT};
use coven_terminal::screen::GridSize;
use rustix::event::{PollFd, PollFlags, Timespec, epoll};

use crate::stage::{line, order};

/// A pane whose process is the other end of a socket: it has ended when that is closed.
struct SocketPane {
    stream: UnixStream,
    readiness: OwnedFd,
    /// What it takes in when it is next asked whether it lives.
    arriving: Vec<u8>,
    taken_in: Vec<u8>,
    /// Cannot be read, and does not end at once when it is stopped.
    broken: bool,
    ended: bool,
    reads: Arc<AtomicUsize>,
}

impl Pane for SocketPane {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        if self.broken {
            return Err(io::Error::other("it is broken"));
        }
        if !self.taken_in.is_empty() {
            let length = self.taken_in.len().min(buffer.len());
            buffer[..length].copy_from_slice(&self.taken_in[..length]);
            self.taken_in.drain(..length);
            return Ok(ReadOutcome::Data(PaneStream::Output, length));
        }
        match self.stream.read(buffer) {
            Ok(0) => {
                self.ended = true;
                Ok(ReadOutcome::End)
            }
            Ok(length) => Ok(ReadOutcome::Data(PaneStream::Output, length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Ok(if self.ended { ReadOutcome::End } else { ReadOutcome::Pending })
            }
            Err(error) => Err(error),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match self.stream.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            written => written,
        };
        let mut wanted = epoll::EventFlags::IN;
        if matches!(written, Ok(length) if length < bytes.len()) {
            wanted |= epoll::EventFlags::OUT;
        }
        let data = epoll::EventData::new_u64(0);
        epoll::modify(&self.readiness, &self.stream, data, wanted)?;
        written
    }

    fn close_input(&mut self) -> io::Result<()> {
        self.stream.shutdown(std::net::Shutdown::Write)
    }

    fn resize(&mut self, _: GridSize) -> io::Result<()> {
        Ok(())
    }

    fn stop(&mut self, _: StopMode) -> io::Result<()> {
        self.ended = !self.broken;
        Ok(())
    }

    fn is_alive(&mut self) -> bool {
        self.taken_in.append(&mut self.arriving);
        !self.ended
    }

    fn exit_status(&mut self) -> Option<ExitStatus> {
        self.ended.then_some(ExitStatus::Code(0))
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.readiness.as_fd())
    }
}

/// Keeps the other ends, by the order of starts.
#[derive(Clone, Default)]
struct Sockets {
    arriving: Vec<u8>,
    broken: bool,
    ends: Arc<Mutex<BTreeMap<usize, UnixStream>>>,
    reads: Arc<Mutex<Vec<Arc<AtomicUsize>>>>,
}

impl Sockets {
    fn end(&self, index: usize) -> UnixStream {
        self.ends.lock().unwrap().remove(&index).unwrap()
    }

    fn reads(&self) -> Vec<usize> {
        self.reads.lock().unwrap().iter().map(|reads| reads.load(Ordering::SeqCst)).collect()
    }
}

impl Domain for Sockets {
    fn id(&self) -> DomainId {
        DomainId("sockets".to_owned())
    }

    fn spawn(&self, _: &SpawnConfig) -> Result<Box<dyn Pane>, SpawnError> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let readiness = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let data = epoll::EventData::new_u64(0);
        epoll::add(&readiness, &ours, data, epoll::EventFlags::IN).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let mut reads = self.reads.lock().unwrap();
        self.ends.lock().unwrap().insert(reads.len(), theirs);
        reads.push(Arc::clone(&count));
        Ok(Box::new(SocketPane {
            stream: ours,
            readiness,
            arriving: self.arriving.clone(),
            taken_in: Vec::new(),
            broken: self.broken,
            ended: false,
            reads: count,
        }))
    }
}

/// The machine's clock, counting how often it is looked at: once or twice for each turn.
struct CountingClock(SystemClock, AtomicUsize);

impl SchedulerClock for CountingClock {
    fn now(&self) -> Moment {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.now()
    }
}

fn config(panes: usize) -> RuntimeConfig {
    RuntimeConfig { max_agents: panes, ..RuntimeConfig::default() }
}

/// A runtime with as many agents as may be, each with a pane.
fn started(sockets: Sockets, config: RuntimeConfig) -> (AgentRuntime, Sockets) {
    let panes = config.max_agents;
    let mut runtime = AgentRuntime::new(config).unwrap();
    runtime.set_default_domain(Arc::new(sockets.clone()));
    for id in 0..panes {
        runtime.spawn_agent(&[Capability::Shell]).unwrap();
        runtime.queue_command(line(id as u64)).unwrap();
    }
    assert_eq!(runtime.tick().executions_started.len(), panes);
    (runtime, sockets)
}

fn counted(panes: usize) -> (AgentRuntime, Sockets, Arc<CountingClock>) {
    let clock = Arc::new(CountingClock(SystemClock::new(), AtomicUsize::new(0)));
    let config = RuntimeConfig { clock: Arc::<CountingClock>::clone(&clock), ..config(panes) };
    let (runtime, sockets) = started(Sockets::default(), config);
    (runtime, sockets, clock)
}

fn is_readable(runtime: &AgentRuntime) -> bool {
    let mut descriptors = [PollFd::new(runtime, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut descriptors, Some(&at_once)).unwrap() == 1
}

#[test]
fn idle_panes_cost_nothing_and_a_busy_one_costs_one_turn() {
    let (mut runtime, sockets) = started(Sockets::default(), config(100));
    for _ in 0..10 {
        assert!(runtime.tick().is_quiet());
    }
    assert_eq!(sockets.reads(), [0; 100]);
    assert_eq!(runtime.next_deadline(), None);
    assert!(!is_readable(&runtime));

    sockets.end(42).write_all(b"hello").unwrap();
    assert!(is_readable(&runtime));
    let result = runtime.tick();
    assert!(result.active.contains(&ExecutionId(42)));
    assert_eq!(order(&result.completions), [42], "the other end is closed");
    assert!(!is_readable(&runtime));
    let touched: Vec<_> = (0..).zip(sockets.reads()).filter(|(_, reads)| *reads > 0).collect();
    assert!(matches!(touched[..], [(42, _)]), "{touched:?}");
}

#[test]
fn what_is_left_over_after_a_turn_comes_with_the_next() {
    let (mut runtime, sockets) = started(Sockets::default(), config(1));
    let mut end = sockets.end(0);
    // The end is handed back, so that it is closed only after everything was looked at.
    let writer = std::thread::spawn(move || {
        end.write_all(&vec![b'x'; 5 * TURN_LIMIT]).unwrap();
        end
    });
    let total = |runtime: &AgentRuntime| {
        runtime.slot(ExecutionId(0)).unwrap().output(PaneStream::Output).total()
    };
    let mut before = 0;
    while before < 5 * TURN_LIMIT as u64 {
        runtime.tick();
        assert!(total(&runtime) - before <= TURN_LIMIT as u64);
        before = total(&runtime);
    }
    drop(writer.join().unwrap());
    assert_eq!(order(&runtime.run_until_complete().completions), [0]);
}

#[test]
fn what_a_pane_takes_in_while_it_is_asked_whether_it_lives_is_read_at_once() {
    let sockets = Sockets { arriving: b"and more".to_vec(), ..Sockets::default() };
    let (mut runtime, sockets) = started(sockets, config(1));
    let mut end = sockets.end(0);
    end.write_all(b" something").unwrap();
    runtime.tick();
    let output = runtime.slot(ExecutionId(0)).unwrap().output(PaneStream::Output);
    assert_eq!(output.text(), "and more something");
}

#[test]
fn what_a_pane_holds_after_a_turn_is_read_although_its_descriptor_is_silent() {
    let all = vec![b'x'; 3 * TURN_LIMIT + 1];
    let sockets = Sockets { arriving: all.clone(), ..Sockets::default() };
    let (mut runtime, sockets) = started(sockets, config(1));
    let mut end = sockets.end(0);
    end.write_all(b"y").unwrap();
    runtime.tick();
    let mut turns = 1;
    while runtime.next_deadline() == Some(Moment::BEGINNING) {
        runtime.tick();
        turns += 1;
    }
    let output = runtime.slot(ExecutionId(0)).unwrap().output(PaneStream::Output);
    assert_eq!(output.total(), all.len() as u64 + 1);
    assert_eq!(turns, 4);
}

#[test]
fn a_pane_that_was_stopped_is_looked_at_although_it_says_nothing() {
    let (mut runtime, sockets) = started(Sockets::default(), config(1));
    let _open = sockets.end(0);
    runtime.cancel(CommandId(0)).unwrap();
    assert_eq!(runtime.next_deadline(), Some(Moment::BEGINNING));
    assert_eq!(order(&runtime.tick().completions), [0]);
}

#[test]
fn a_broken_pane_does_not_keep_everybody_awake() {
    let sockets = Sockets { broken: true, ..Sockets::default() };
    let (mut runtime, sockets) = started(sockets, config(1));
    let mut end = sockets.end(0);
    end.write_all(b"never read").unwrap();
    assert!(is_readable(&runtime));
    assert_eq!(runtime.tick().errors.len(), 1);
    assert!(!is_readable(&runtime));
    while runtime.next_deadline() == Some(Moment::BEGINNING) {
        runtime.tick();
    }
    assert!(runtime.next_deadline().is_some(), "it will be stopped again");
    assert_eq!(sockets.reads(), [1]);
}

#[test]
fn a_batch_waits_for_panes_without_looking_all_the_time() {
    let (mut runtime, sockets, clock) = counted(2);
    let (first, mut second) = (sockets.end(0), sockets.end(1));
    let (tell, told) = mpsc::sync_channel(1);
    runtime.set_completion_callback(Box::new(move |_: &coven_scheduler::scheduler::Completion| {
        tell.try_send(()).ok();
    }));
    // The first ends at once; the second prints and ends only after that was heard.
    let other = std::thread::spawn(move || {
        drop(first);
        told.recv_timeout(Duration::from_mins(1)).unwrap();
        second.write_all(b"later").unwrap();
    });
    let result = runtime.run_until_complete();
    other.join().unwrap();
    assert_eq!(order(&result.completions), [0, 1]);
    let looks = clock.1.load(Ordering::SeqCst);
    assert!(looks < 30, "the clock was looked at {looks} times");
}

#[test]
fn a_batch_waits_for_a_deadline_without_looking_all_the_time() {
    let (mut runtime, sockets, clock) = counted(1);
    let wait = Duration::from_millis(50);
    let soon = Some(wait);
    runtime.queue_command(line(1).needing_approval(soon)).unwrap();
    let before = clock.0.now();
    runtime.set_completion_callback(Box::new(move |_: &coven_scheduler::scheduler::Completion| {
        sockets.ends.lock().unwrap().clear();
    }));
    let result = runtime.run_until_complete();
    assert_eq!(order(&result.completions), [1, 0]);
    assert_eq!(result.approval_timeouts.len(), 1);
    assert!(before.until(clock.0.now()) >= wait);
    let looks = clock.1.load(Ordering::SeqCst);
    assert!(looks < 30, "the clock was looked at {looks} times");
}

#[test]
fn input_that_was_stuck_goes_on_when_the_program_reads_again() {
    // The clock stands still: no timer has a part in this.
    let clock = Arc::new(ManualClock::new());
    let config = RuntimeConfig { clock: Arc::<ManualClock>::clone(&clock), ..config(1) };
    let (mut runtime, sockets) = started(Sockets::default(), config);
    let mut end = sockets.end(0);
    end.set_nonblocking(true).unwrap();
    let text: Vec<u8> = (0..900_000).map(|byte| (byte / 3) as u8).collect();
    runtime.send(ExecutionId(0), &text).unwrap();
    let mut all = Vec::new();
    for _ in 0..100 {
        assert!(runtime.slot(ExecutionId(0)).unwrap().unsent() > 0);
        assert!(!is_readable(&runtime), "there is nothing to do until the program reads");
        assert_eq!(runtime.next_deadline(), None);
        let mut page = [0; 16 * 1024];
        while let Ok(length) = end.read(&mut page) {
            all.extend_from_slice(&page[..length]);
        }
        assert!(is_readable(&runtime), "the pane tells that there is room again");
        runtime.tick();
        if runtime.slot(ExecutionId(0)).unwrap().unsent() == 0 {
            break;
        }
    }
    let mut page = [0; 16 * 1024];
    while let Ok(length) = end.read(&mut page) {
        all.extend_from_slice(&page[..length]);
    }
    assert!(all == text);
    assert!(!is_readable(&runtime));
    assert_eq!(runtime.next_deadline(), None);
}

#[test]
fn what_was_begun_by_hand_is_due_to_be_told() {
    let config = RuntimeConfig { auto_execute: false, ..config(1) };
    let mut runtime = AgentRuntime::new(config).unwrap();
    runtime.set_default_domain(Arc::new(Sockets::default()));
    runtime.spawn_agent(&[Capability::Shell]).unwrap();
    runtime.queue_command(line(0)).unwrap();
    runtime.tick();
    assert_eq!(runtime.next_deadline(), None);
    let execution = runtime.begin_execution(CommandId(0)).unwrap();
    assert_eq!(runtime.next_deadline(), Some(Moment::BEGINNING));
    assert_eq!(runtime.tick().executions_started, [execution]);
}
