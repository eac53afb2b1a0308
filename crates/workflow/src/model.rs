//! Runs under a model checker: the real `decide` and `fold`, in a world where orders and reports
//! come twice, late and in any order, and where the process that decides dies at any moment, also
//! between two facts of one decision.
//!
//! The world keeps what really happened: which processes ran, how often, and what was decided. The
//! checks in `model/checks.rs` hold that against what the run says.

mod checks;
mod scenes;
mod trees;
mod walk;
mod world;

use coven_model::event::JobTimer;
use coven_model::{AttemptId, InterventionChoice, TaskId, TreeId, WorkflowStatus};

use crate::command::TreeOrder;
use crate::rules::DecisionRule;

/// An order on its way. Once given, it may arrive at any time and any number of times.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum OrderInFlight {
    Start(AttemptId),
    Stop(AttemptId),
    Answer(AttemptId, u64),
    /// The text with this number, tried so often.
    Send(AttemptId, u32, u32),
    Tree(TreeOrder),
}

/// A report on its way, likewise.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum ReportInFlight {
    Started(AttemptId),
    Ended(AttemptId, ProcessEnd),
    Asks(AttemptId, u64),
    Idle(AttemptId, u64),
    Delivered(AttemptId, u32, u64),
    Undelivered(AttemptId, u32, u32),
    Answered(u64, u64),
    Fired(JobTimer),
    Expired(u64),
    /// A person's retry request, with the number of retries that the person had seen.
    Again(u32),
    Cancel,
    Tree(trees::ToldOfTree),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum ProcessEnd {
    Good,
    Bad,
    /// Its program refused to be spoken to in its own protocol.
    Refused,
    Lost,
    Stopped,
    More,
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ModelStep {
    Order(OrderInFlight),
    /// A report arrives, is decided on, and what follows is written and ordered. If the number is
    /// given, the process dies after that many facts are written and before anything is ordered.
    Report(ReportInFlight, Option<usize>),
    /// A process ends by itself.
    Ends(AttemptId, ProcessEnd),
    /// A text does not arrive.
    Fails(AttemptId, u32, u32),
    /// An order about a tree cannot be carried out, or landing meets a conflict.
    TreeFails(TreeOrder),
    Conflicts(TreeId),
    /// An agent finishes its turn, or asks.
    Idles(AttemptId),
    Asks(AttemptId),
    /// A person decides, or wants something; the number as above.
    Decide(u64, InterventionChoice, Option<usize>),
    Complete(TaskId),
    /// A person wants something that is on its way from now on.
    Wish(ReportInFlight),
    /// The process that decides dies between two decisions.
    Crash,
}

/// A mechanism outside of deciding whose absence breaks a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SafetyMechanism {
    /// A job that was ever started is not started again.
    Ledger,
    /// A stop leaves a mark that a late start respects.
    Tombstones,
    /// How a job ended is written down before it is reported.
    DurableOutcomes,
    /// Facts are written before anything is ordered.
    JournalFirst,
}

/// What does not hold in a world, to see that it is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct DisabledParts {
    rule: Option<DecisionRule>,
    mechanism: Option<SafetyMechanism>,
}

/// Whether a status can never change again.
fn is_forever(status: WorkflowStatus) -> bool {
    matches!(status, WorkflowStatus::Completed | WorkflowStatus::Cancelled)
}
