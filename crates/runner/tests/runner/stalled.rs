//! A program that does not read its input: nothing is lost, and nothing is tried by the clock.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use coven_model::AgentState;
use coven_runner::{AgentRunner, AgentTask, RunnerEvent, TaskPlace};
use coven_runtime::domain::{
    Domain, DomainId, ExitStatus, Pane, ReadOutcome, SpawnConfig, SpawnError, StopMode,
};
use coven_terminal::screen::GridSize;

use crate::manners::agent;
use crate::support::{Home, state, wait};

/// More than all buffers on the way take together.
const MESSAGE_BYTES: usize = 3 << 20;

/// Reads nothing for a while, then everything.
const SCRIPT: &str = "stty raw -echo; printf '> '; sleep 0.8; \
    head -c $((3 << 20)) > got; printf 'all read'; read -rsn1 key";

/// The most writes in a row of which nothing was taken.
#[derive(Default)]
struct FutileWrites {
    in_a_row: AtomicUsize,
    most: AtomicUsize,
}

/// A domain whose panes count futile writes.
struct CountingDomain {
    inner: Arc<dyn Domain>,
    futile: Arc<FutileWrites>,
}

impl Domain for CountingDomain {
    fn id(&self) -> DomainId {
        self.inner.id()
    }

    fn spawn(&self, config: &SpawnConfig) -> Result<Box<dyn Pane>, SpawnError> {
        let (inner, futile) = (self.inner.spawn(config)?, self.futile.clone());
        Ok(Box::new(CountingPane { inner, futile }))
    }
}

struct CountingPane {
    inner: Box<dyn Pane>,
    futile: Arc<FutileWrites>,
}

impl Pane for CountingPane {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        if written == 0 {
            let in_a_row = self.futile.in_a_row.fetch_add(1, Ordering::SeqCst) + 1;
            self.futile.most.fetch_max(in_a_row, Ordering::SeqCst);
        } else {
            self.futile.in_a_row.store(0, Ordering::SeqCst);
        }
        Ok(written)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
        self.inner.read(buffer)
    }

    fn close_input(&mut self) -> io::Result<()> {
        self.inner.close_input()
    }

    fn resize(&mut self, size: GridSize) -> io::Result<()> {
        self.inner.resize(size)
    }

    fn stop(&mut self, stop: StopMode) -> io::Result<()> {
        self.inner.stop(stop)
    }

    fn is_alive(&mut self) -> bool {
        self.inner.is_alive()
    }

    fn exit_status(&mut self) -> Option<ExitStatus> {
        self.inner.exit_status()
    }

    fn mark(&mut self, note: &str) -> io::Result<()> {
        self.inner.mark(note)
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        self.inner.readiness()
    }
}

async fn a_large_input_arrives_whole(home: &Home, mut place: TaskPlace) {
    let futile = Arc::new(FutileWrites::default());
    place.domain = Arc::new(CountingDomain { inner: place.domain, futile: futile.clone() });
    let job = format!("stalled-{}", home.path().display());
    let runner =
        AgentRunner::start(agent(home, SCRIPT), AgentTask::interactive(job, None), &place).unwrap();
    let mut events = runner.subscribe();
    state(&runner, AgentState::Idle).await;
    let text: Vec<u8> = (0..MESSAGE_BYTES).map(|byte| b'a' + (byte / 11 % 26) as u8).collect();
    runner.write(text.clone()).await;
    wait(&mut events, "that all was read", |event| match event {
        RunnerEvent::Output { clean, .. } => clean.contains("all read").then_some(()),
        _ => None,
    })
    .await;
    assert!(std::fs::read(home.path().join("got")).unwrap() == text, "whole and in order");
    // A look at the screen writes twice; a clock of 20 ms would have tried eighty times.
    let most = futile.most.load(Ordering::SeqCst);
    assert!((1..20).contains(&most), "{most} writes in a row were futile");
    runner.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_input_for_a_child_that_does_not_read_yet_arrives_whole() {
    let home = Home::new();
    a_large_input_arrives_whole(&home, home.local()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_input_for_a_held_process_that_does_not_read_yet_arrives_whole() {
    let home = Home::new();
    a_large_input_arrives_whole(&home, home.held()).await;
}
