//! Processes that are played: a domain whose panes follow a script, the same way every time.
//!
//! Nothing runs and nothing waits. A pane goes on in its script when it is read, so a test decides
//! by its ticks how far things are.

mod pane;
mod script;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use coven_terminal::screen::GridSize;
use parking_lot::Mutex;

use crate::domain::{Domain, DomainId, Pane, SpawnConfig, SpawnError, StopMode};
pub use pane::MockPane;
pub use script::Script;

/// What a spawn does.
enum SpawnPlan {
    Play(Script),
    Fail(SpawnError),
}

/// What became of one pane, seen from outside.
#[derive(Clone, Debug, Default)]
pub struct PlayedPane {
    /// What was written to it.
    pub written: Vec<u8>,
    /// Whether its input was closed.
    pub input_closed: bool,
    /// How it was told to stop, in order.
    pub stops: Vec<StopMode>,
    /// The sizes it was told.
    pub sizes: Vec<GridSize>,
    /// How often it was read.
    pub reads: usize,
    /// Whether it was let go.
    pub dropped: bool,
}

/// What a mock pane shares with its domain.
type Record = Arc<Mutex<PlayedPane>>;

#[derive(Default)]
struct MockStage {
    next: VecDeque<SpawnPlan>,
    by_line: BTreeMap<String, Script>,
    spawned: Vec<(SpawnConfig, Record)>,
}

/// A domain of played processes. Clones share everything, so a test keeps one and gives the other
/// away.
#[derive(Clone)]
pub struct MockDomain {
    id: DomainId,
    stage: Arc<Mutex<MockStage>>,
}

impl Default for MockDomain {
    fn default() -> Self {
        Self::new()
    }
}

impl MockDomain {
    /// A domain named `mock`. Its processes print nothing and exit with 0 unless told otherwise.
    pub fn new() -> Self {
        Self::named("mock")
    }

    /// A domain with a name of its own.
    pub fn named(name: &str) -> Self {
        Self { id: DomainId(name.to_owned()), stage: Arc::default() }
    }

    /// The next process plays this. What is set up by several calls is played in their order.
    pub fn next(&self, script: Script) {
        self.stage.lock().next.push_back(SpawnPlan::Play(script));
    }

    /// The next process cannot be started.
    pub fn next_fails(&self, error: SpawnError) {
        self.stage.lock().next.push_back(SpawnPlan::Fail(error));
    }

    /// Every process whose last argument is this plays this, unless something else is next.
    pub fn on_line(&self, line: &str, script: Script) {
        self.stage.lock().by_line.insert(line.to_owned(), script);
    }

    /// What was asked to be started, in order, failures left out.
    pub fn spawned(&self) -> Vec<SpawnConfig> {
        self.stage.lock().spawned.iter().map(|(config, _)| config.clone()).collect()
    }

    /// What became of the pane that was started as number `index`, from 0.
    pub fn played(&self, index: usize) -> Option<PlayedPane> {
        let stage = self.stage.lock();
        stage.spawned.get(index).map(|(_, record)| record.lock().clone())
    }
}

impl Domain for MockDomain {
    fn id(&self) -> DomainId {
        self.id.clone()
    }

    fn spawn(&self, config: &SpawnConfig) -> Result<Box<dyn Pane>, SpawnError> {
        let mut stage = self.stage.lock();
        let line = config.argv.last().map(|last| last.to_string_lossy().into_owned());
        let script = match stage.next.pop_front() {
            Some(SpawnPlan::Fail(error)) => return Err(error),
            Some(SpawnPlan::Play(script)) => script,
            None => line.and_then(|line| stage.by_line.get(&line).cloned()).unwrap_or_default(),
        };
        let record = Record::default();
        stage.spawned.push((config.clone(), Arc::clone(&record)));
        Ok(Box::new(MockPane::new(script, record)))
    }
}
