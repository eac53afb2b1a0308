//! One agent alive: a process from the runtime, read and driven through its adapter.
//!
//! [`AgentRunner`] has an agent on a terminal, [`HeadlessRunner`] one that takes a prompt and
//! answers in structured output. Each is an actor with a handle: the handle asks, the actor does,
//! and everything that happens is an [`RunnerEvent`] for its subscribers. If an actor
//! fails, that is the outcome of its task.
//!
//! A runner never decides. It reports what an agent asks, with a digest of exactly what was on the
//! screen, and it carries out an answer only if that is still there. Nothing an agent prints ever
//! reaches our own output.

mod actor;
mod agent;
mod answer;
mod channel;
mod delivery;
mod event;
mod finished;
mod headless;
mod hidden;
mod hook;
mod launch;
mod mark;
mod outcome;
mod output;
mod redact;
mod saved_channel;
mod subscription;
mod task;
mod unwind;

pub use actor::StopError;
pub use agent::{AgentReporter, AgentRunner, AgentView, FoundAgent};
pub use answer::{AnswerAction, AnswerError, GivenAnswer};
pub use channel::{FoundChannel, channel_codec};
pub use delivery::{
    DeliveryError, DeliveryProgress, DeliveryProof, DeliveryStage, InputName, Message, TypedInputs,
};
pub use event::{RunnerEvent, RunnerUpdate, ScreenQuestion, ShownState};
pub use finished::{PastActivity, finished, past};
pub use headless::{HeadlessRunner, StartedHeadless, start_headless};
pub use hidden::HiddenTexts;
pub use hook::{HookAddress, HookToken, ReportRefused};
pub use launch::StartError;
pub use redact::Redactor;
pub use subscription::RunnerSubscription;
pub use task::{AgentTask, ChannelUse, OkCodes, TaskPlace};
pub use unwind::{catch_panic, panic_message};
