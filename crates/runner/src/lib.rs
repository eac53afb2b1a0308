//! One agent alive: a process from the runtime, read and driven through its adapter.
//!
//! [`AgentRunner`] has an agent on a terminal, [`HeadlessRunner`] one that takes a prompt and
//! answers in structured output. Each is an actor with a handle: the handle asks, the actor does,
//! and everything that happens is an [`Event`] for its subscribers. If an actor
//! fails, that is the outcome of its task.
//!
//! A runner never decides. It reports what an agent asks, with a digest of exactly what was on the
//! screen, and it carries out an answer only if that is still there. Nothing an agent prints ever
//! reaches our own output.

mod actor;
mod agent;
mod answer;
mod delivery;
mod event;
mod finished;
mod headless;
mod launch;
mod mark;
mod outcome;
mod output;
mod redact;
mod subscription;
mod task;
mod unwind;

pub use actor::StopError;
pub use agent::{AgentRunner, Found, View};
pub use answer::{Action, AnswerError};
pub use delivery::{DeliveryError, Message, Stage};
pub use event::{Event, Question, Update};
pub use finished::{Past, finished, past, typed};
pub use headless::HeadlessRunner;
pub use launch::StartError;
pub use redact::Redactor;
pub use subscription::Subscription;
pub use task::{OkCodes, Place, Task};
pub use unwind::{catch_panic, panic_message};
