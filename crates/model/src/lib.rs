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
mod mark;
mod menu;
pub mod outcome;
pub mod retry;
pub mod review;
pub mod status;
pub mod terminal_size;
pub mod time;
pub mod transcript;
pub mod tree;
pub mod usage;
pub mod verdict;
pub mod view;

pub use agent::{AdapterAbilities, AdapterFault, AgentMode, PermissionLevel};
pub use automatic::{AutoAnswer, AutoPolicy, HandlerName};
pub use digest::ContentDigest;
pub use event::{InterventionDecision, SessionEvent, SessionRule};
pub use id::{AttemptId, InterventionId, JobId, SessionId, TaskId};
pub use intervention::{AskedAction, Intervention, InterventionChoice, InterventionKind};
pub use job::{
    AgentWork, ConfineMode, ExitCodes, FileVariable, JobSpec, JobWork, RoundContext, SandboxMode,
    ShellWork,
};
pub use mark::StateMark;
pub use menu::{EntryError, MenuEntry, are_same_entries};
pub use outcome::{JobOutcome, ProcessEnding};
pub use retry::ModelRetry;
pub use review::{ReviewComment, ReviewSide, WrittenReview};
pub use status::{OrchestratorState, TaskStatus, WorkflowStatus};
pub use terminal_size::{TerminalSize, TerminalSizeError};
pub use time::Timestamp;
pub use transcript::{StepStatus, TranscriptEntry, TranscriptPart, TranscriptStep};
pub use tree::{
    JobTree, PortRange, RepositoryPlace, RepositoryRecord, ReviewRemark, TreeId, TreeSource,
    TreeWork,
};
pub use usage::{TokenUsage, UsDollars};
pub use verdict::{
    AgentState, AgentVerdict, AwaitingKind, EvidenceConflict, EvidenceSource, REPORT_PREFIX,
    VerdictEvidence, is_generic_rule, is_report_rule,
};
pub use view::{PlanLane, PlanRow, PlanView, SessionView};
