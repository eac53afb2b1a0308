//! Runs under a model checker: the real `decide` and `fold`, in a world where orders and reports
//! come twice, late and in any order, and where the process that decides dies at any moment, also
//! between two facts of one decision.
//!
//! The world keeps what really happened: which processes ran, how often, and what was decided. The
//! checks in `model/checks.rs` hold that against what the run says.

mod checks;
mod scenes;
mod walk;
mod world;

use coven_model::event::Timer;
use coven_model::{AttemptId, Choice, TaskId, WorkflowStatus};

use crate::rules::Rule;

/// An order on its way. Once given, it may arrive at any time and any number of times.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Order {
    Start(AttemptId),
    Stop(AttemptId),
    Answer(AttemptId, u64),
    Send(AttemptId, u32),
}

/// A report on its way, likewise.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Report {
    Started(AttemptId),
    Ended(AttemptId, End),
    Asks(AttemptId, u64),
    Idle(AttemptId, u64),
    Delivered(AttemptId, u32, u64),
    Answered(u64, u64),
    Fired(Timer),
    /// A person's wish to try again, as often as it was done when they looked.
    Again(u32),
    Cancel,
}

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum End {
    Good,
    Bad,
    Lost,
    Stopped,
    More,
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    Order(Order),
    /// A report arrives, is decided on, and what follows is written and ordered. If the number is
    /// given, the process dies after that many facts are written and before anything is ordered.
    Report(Report, Option<usize>),
    /// A process ends by itself.
    Ends(AttemptId, End),
    /// An agent finishes its turn, or asks.
    Idles(AttemptId),
    Asks(AttemptId),
    /// A person decides, or wants something; the number as above.
    Decide(u64, Choice, Option<usize>),
    Complete(TaskId),
    /// A person wants something that is on its way from now on.
    Wish(Report),
    /// The process that decides dies between two decisions.
    Crash,
}

/// A mechanism outside of deciding whose absence breaks a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mechanism {
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
struct Broken {
    rule: Option<Rule>,
    mechanism: Option<Mechanism>,
}

/// Whether a status can never change again.
fn is_forever(status: WorkflowStatus) -> bool {
    matches!(status, WorkflowStatus::Completed | WorkflowStatus::Cancelled)
}
