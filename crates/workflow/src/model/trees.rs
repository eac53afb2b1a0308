//! The trees of a world: what git has, what was done in each, and what the run said about it.

use std::collections::{BTreeMap, BTreeSet};

use coven_model::event::{SessionEvent, TreeCheckpoint, TreeLanded, TreeReady};
use coven_model::{AttemptId, Timestamp, TreeId, TreeWork};

use super::world::WorldState;
use super::{OrderInFlight, ReportInFlight};
use crate::command::TreeOrder;
use crate::input::{SessionInput, TreeReport};
use crate::state::{TreePhase, TreeRun, WorkflowRun};

/// What git has, and what must never have happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TreeWorld {
    made: BTreeSet<TreeId>,
    /// How often something worked in a tree.
    worked: BTreeMap<TreeId, u8>,
    /// How much of that was landed.
    landed: BTreeMap<TreeId, u8>,
    committed: BTreeMap<TreeId, u8>,
    /// The trees in which a task has ended since a checkpoint was told, or that there can be none.
    unkept: BTreeSet<TreeId>,
    /// How often each state of a tree was said to be landed.
    said_landed: BTreeMap<(TreeId, String), u8>,
    /// How often landing may meet a conflict, and an order may fail.
    pub(super) conflicts: u8,
    pub(super) failures: u8,
    pub(super) faults: BTreeSet<TreeFault>,
}

/// What must never happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum TreeFault {
    /// A task worked in a tree that is not there.
    Homeless,
    /// A task was started in a tree before what was done there was kept.
    Unkept,
    /// A step was over before its trees were landed, or one was landed before that of an earlier
    /// task.
    Unlanded,
    /// A tree was asked for before all that was done in the tree of the run was committed.
    Stale,
    /// A tree was to be removed though what was done in it is nowhere else.
    Lost,
}

impl TreeWorld {
    fn note(&mut self, fault: TreeFault, happened: bool) {
        if happened {
            self.faults.insert(fault);
        }
    }

    pub(super) fn has(&self, fault: TreeFault) -> bool {
        self.faults.contains(&fault)
    }

    pub(super) fn new(conflicts: u8, failures: u8) -> Self {
        Self { conflicts, failures, ..Self::default() }
    }
}

/// What is told of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum ToldOfTree {
    Ready(TreeId),
    Failed(TreeId, TreeWorkName),
    /// After which attempt, which number, how much was done, and whether it was committed.
    Checkpointed(TreeId, Option<AttemptId>, u32, u8, bool),
    Landed(TreeId, u8),
    Conflicted(TreeId),
    Removed(TreeId),
}

/// [`TreeWork`] with an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum TreeWorkName {
    Make,
    Checkpoint,
    Commit,
    Land,
    Remove,
}

impl TreeWorkName {
    fn of(order: &TreeOrder) -> Self {
        match order {
            TreeOrder::Make(_) => Self::Make,
            TreeOrder::Checkpoint { .. } => Self::Checkpoint,
            TreeOrder::Commit { .. } => Self::Commit,
            TreeOrder::Land { .. } => Self::Land,
            TreeOrder::Remove { .. } => Self::Remove,
        }
    }

    fn work(self) -> TreeWork {
        match self {
            Self::Make => TreeWork::Make,
            Self::Checkpoint => TreeWork::Checkpoint,
            Self::Commit => TreeWork::Commit,
            Self::Land => TreeWork::Land,
            Self::Remove => TreeWork::Remove,
        }
    }
}

/// The tip of a branch after so much was done in its tree.
fn tip(tree: &TreeId, worked: u8) -> String {
    if worked == 0 { "base".to_owned() } else { format!("{tree} {worked}") }
}

impl WorldState {
    /// A process starts where its job says.
    pub(super) fn enter_tree(&mut self, job: &AttemptId) {
        let spec = self.state.run().and_then(|run| run.live(job)).map(|live| live.spec.clone());
        if let Some(own) = spec.as_ref().and_then(|spec| spec.tree.as_ref()) {
            let is_missing = !self.trees.made.contains(&own.tree);
            self.trees.note(TreeFault::Homeless, is_missing);
            *self.trees.worked.entry(own.tree.clone()).or_default() += 1;
        }
    }

    /// What is told of trees is told once, or there would be too much to walk through; after a crash
    /// it is told again. That something was landed may come twice.
    pub(super) fn forget_report(&mut self, report: &ReportInFlight) {
        if let ReportInFlight::Tree(told) = report
            && !matches!(told, ToldOfTree::Landed(..))
        {
            self.reports.remove(report);
        }
    }

    pub(super) fn carry_out_tree(&mut self, order: &TreeOrder) {
        self.orders.remove(&OrderInFlight::Tree(order.clone()));
        let trees = &mut self.trees;
        let tree = order.tree().clone();
        let worked = trees.worked.get(&tree).copied().unwrap_or_default();
        let landed = trees.landed.get(&tree).copied().unwrap_or_default();
        let told = match order {
            TreeOrder::Make(_) => {
                trees.made.insert(tree.clone());
                ToldOfTree::Ready(tree)
            }
            // A tree that is gone says nothing.
            _ if !trees.made.contains(&tree) => ToldOfTree::Removed(tree),
            TreeOrder::Checkpoint { job, number, .. } => {
                ToldOfTree::Checkpointed(tree, Some(job.clone()), *number, worked, false)
            }
            TreeOrder::Commit { number, .. } => {
                trees.committed.insert(tree.clone(), worked);
                ToldOfTree::Checkpointed(tree, None, *number, worked, true)
            }
            TreeOrder::Land { .. } => {
                trees.landed.insert(tree.clone(), worked);
                ToldOfTree::Landed(tree, worked)
            }
            TreeOrder::Remove { .. } => {
                trees.note(TreeFault::Lost, landed < worked);
                trees.made.remove(&tree);
                ToldOfTree::Removed(tree)
            }
        };
        self.reports.insert(ReportInFlight::Tree(told));
    }

    /// An order about a tree that cannot be carried out; nothing is touched.
    pub(super) fn fail_tree(&mut self, order: &TreeOrder) {
        self.trees.failures -= 1;
        self.orders.remove(&OrderInFlight::Tree(order.clone()));
        let told = ToldOfTree::Failed(order.tree().clone(), TreeWorkName::of(order));
        self.reports.insert(ReportInFlight::Tree(told));
    }

    /// Landing meets a conflict; nothing is touched.
    pub(super) fn conflict(&mut self, tree: &TreeId) {
        self.trees.conflicts -= 1;
        self.orders.remove(&OrderInFlight::Tree(TreeOrder::Land { tree: tree.clone() }));
        self.reports.insert(ReportInFlight::Tree(ToldOfTree::Conflicted(tree.clone())));
    }

    pub(super) fn note_tree(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::TaskStarted(started) => {
                let own = started.spec.tree.as_ref();
                let is_unkept = own.is_some_and(|own| self.trees.unkept.contains(&own.tree));
                self.trees.note(TreeFault::Unkept, is_unkept);
            }
            SessionEvent::TaskEnded(ended) => {
                let live = self.run().live(&ended.job);
                let own = live.and_then(|live| Some(live.spec.tree.as_ref()?.tree.clone()));
                self.trees.unkept.extend(own);
            }
            SessionEvent::TreeCheckpoint(checkpoint) => {
                self.trees.unkept.remove(&checkpoint.tree);
            }
            SessionEvent::TreeFailed { tree, work: TreeWork::Checkpoint, .. } => {
                self.trees.unkept.remove(tree);
            }
            SessionEvent::TreeLanded(landed) => {
                let key = (landed.tree.clone(), landed.tip.clone());
                *self.trees.said_landed.entry(key).or_default() += 1;
                let task = landed.tree.task();
                let by_task = task.and_then(|task| self.run().active_of(task));
                let step = by_task.or_else(|| self.run().active_named(task?.as_str()));
                let trees = step.into_iter().flat_map(|step| self.run().landable(step));
                let before = trees.take_while(|tree| tree.tree != landed.tree);
                let open = before.filter(|tree| !tree.is_settled()).count();
                self.trees.note(TreeFault::Unlanded, open > 0);
            }
            SessionEvent::TreeWanted(wanted) if wanted.tree != TreeId::Run => {
                let done = |of: &BTreeMap<TreeId, u8>| of.get(&TreeId::Run).copied();
                let is_stale = done(&self.trees.committed) < done(&self.trees.worked);
                self.trees.note(TreeFault::Stale, is_stale);
            }
            SessionEvent::StepCompleted { index, .. } => {
                let open = self.run().landable(*index).any(|tree| !tree.is_settled());
                self.trees.note(TreeFault::Unlanded, open);
            }
            _ => {}
        }
    }

    /// Whether every tree was said to be landed at most once as it was.
    pub(super) fn lands_once(&self) -> bool {
        self.trees.said_landed.values().all(|times| *times <= 1)
    }

    /// Whether every tree of a run that is completed is gone, or is said to stay.
    pub(super) fn trees_are_settled(&self) -> bool {
        let is_settled = |tree: &TreeRun| tree.phase == TreePhase::Removed || tree.kept.is_some();
        let is_free = |run: &WorkflowRun| run.trees().all(is_settled);
        self.run().status() != coven_model::WorkflowStatus::Completed || is_free(self.run())
    }
}

impl ToldOfTree {
    pub(super) fn input(&self) -> SessionInput {
        let at = Timestamp::default();
        let report = match self {
            Self::Ready(tree) => TreeReport::Ready(TreeReady {
                tree: tree.clone(),
                head: tip(tree, 0),
                included: 0,
                ports: None,
                notes: Vec::new(),
                at,
            }),
            Self::Failed(tree, work) => TreeReport::Failed {
                tree: tree.clone(),
                work: work.work(),
                error: "it does not work".to_owned(),
            },
            Self::Checkpointed(tree, job, number, worked, committed) => {
                TreeReport::Checkpointed(TreeCheckpoint {
                    tree: tree.clone(),
                    job: job.clone(),
                    number: *number,
                    reference: format!("refs/coven/{number}"),
                    commit: "checkpoint".to_owned(),
                    files: u32::from(*worked),
                    head: tip(tree, if *committed { *worked } else { 0 }),
                    committed: *committed,
                    missing: Vec::new(),
                    at,
                })
            }
            Self::Landed(tree, worked) => TreeReport::Landed(TreeLanded {
                tree: tree.clone(),
                onto: "coven/brisk-otter".to_owned(),
                commit: format!("landed {tree} {worked}"),
                tip: tip(tree, *worked),
                by: None,
                at,
            }),
            Self::Conflicted(tree) => TreeReport::Conflicted {
                tree: tree.clone(),
                onto: "coven/brisk-otter".to_owned(),
                paths: vec!["a.txt".to_owned()],
            },
            Self::Removed(tree) => TreeReport::Removed {
                tree: tree.clone(),
                tip: "gone".to_owned(),
                notes: Vec::new(),
            },
        };
        SessionInput::Tree(Box::new(report))
    }
}
