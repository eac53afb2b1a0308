//! The words that every part of Coven shares: ids, statuses, what an agent is doing and why we
//! think so, what waits for a person, how a job ended. Plain data; no I/O and no clock.

#![warn(missing_docs)]

pub mod agent;
pub mod automatic;
pub mod digest;
pub mod event;
pub mod id;
pub mod intervention;
pub mod job;
pub mod outcome;
pub mod status;
pub mod terminal_size;
pub mod time;
pub mod usage;
pub mod verdict;
pub mod view;

pub use agent::{Mode, PermissionLevel};
pub use automatic::{AutoAnswer, AutoPolicy, HandlerName};
pub use digest::Digest;
pub use event::{Decision, Event};
pub use id::{AttemptId, InterventionId, JobId, SessionId, TaskId};
pub use intervention::{Choice, Intervention, InterventionKind};
pub use job::{AgentWork, ExitCodes, JobSpec, SandboxMode, ShellWork, Work};
pub use outcome::{Ending, Outcome};
pub use status::{OrchestratorState, TaskStatus, WorkflowStatus};
pub use terminal_size::{TERMINAL_COLUMNS, TERMINAL_ROWS, TerminalSize, TerminalSizeError};
pub use time::Timestamp;
pub use usage::{UsDollars, Usage};
pub use verdict::{AgentState, AwaitingKind, EvidenceSource, Verdict, VerdictEvidence};
pub use view::{PlanLane, PlanRow, PlanView, SessionView};
