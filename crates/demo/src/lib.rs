//! A scripted agent that behaves like a real coding CLI: it talks, works, asks for approval, runs
//! commands and writes files, on a terminal, headless, or over the Agent Client Protocol, as its
//! prompt or a script tells it.
//!
//! It is the agent that needs nothing installed, and the one tests are made of: it always does
//! the same, it can be told to fail in every way an agent can fail, and it knows nothing of the
//! rest of Coven.
//!
//! [`run`] is the whole of it. [`flood`] is public so that tests can tell whether the bytes they
//! got are the bytes that were written.

mod acp;
mod error;
pub mod flood;
pub mod guide;
mod headless;
mod helper;
mod interactive;
mod job;
mod misbehaviour;
mod options;
mod permission;
mod reply;
mod script;
mod session;
mod signals;
mod streams;
mod task;
mod text;
mod tool;
mod tui;
mod wait;

use rustix::termios::isatty;

pub use error::{Error, MAX_PROMPT};
pub use helper::{HelperProcess, UnknownHelper};
pub use options::{
    DEFAULT_DELAY, DEFAULT_MODEL, Options, OutputFormat, PermissionMode, UnknownWord,
};
pub use script::DirectiveProblem;
pub use session::Error as SessionError;
pub use streams::AgentStreams;

use session::DemoSessionStore;
use task::PromptTask;

/// The subcommand under which the program starts this agent. The agent starts itself again under
/// that name when it needs another process.
pub const SUBCOMMAND: &str = "demo-agent";

const AGENT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs an agent until it ends, and returns the exit code of the process.
///
/// It speaks the Agent Client Protocol if that was asked for. Otherwise it is interactive if both
/// input and output are a terminal and headless was not asked for.
/// The agent takes over the whole process: it handles signals, and directives may end it.
pub fn run(options: &Options, streams: AgentStreams<'_>) -> Result<u8, Error> {
    if let Some(helper) = &options.helper {
        return helper::run(helper, streams);
    }
    let store = DemoSessionStore::find(|name| std::env::var_os(name));
    if options.acp {
        return acp::run(options, store, streams);
    }
    let interactive = !options.headless && isatty(streams.input) && isatty(streams.output);
    let mut session = match &options.resume {
        Some(id) => store.resume(id)?,
        None => store.begin(options.session_id.as_deref(), &options.model)?,
    };
    session.model.clone_from(&options.model);
    if interactive {
        let task = PromptTask::read(options, None)?;
        if let Some(task) = &task {
            store.begin_turn(&session, &task.prompt);
        }
        interactive::run(options, task, session, store, streams)
    } else {
        let task = PromptTask::read(options, Some(streams.input))?.ok_or(Error::NoPrompt)?;
        store.begin_turn(&session, &task.prompt);
        let mut out = streams::UnbufferedOutput(streams.output);
        let mut errors = streams::UnbufferedOutput(streams.errors);
        headless::run(options, task, session, store, &mut out, &mut errors)
    }
}
