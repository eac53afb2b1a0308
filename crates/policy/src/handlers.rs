//! Handlers: small functions that answer a question, or decline to.

mod standard;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use coven_model::{
    AutoPolicy, AwaitingKind, HandlerName, InterventionChoice, InterventionDecision,
};

use crate::AgentQuestion;

/// Why a handler answers.
const AUTOMATIC: &str = "automatic approval is on for this task";

/// What is typed, exactly as a terminal would send it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TerminalInput {
    /// The characters; Enter is a carriage return.
    pub input: String,
}

/// Why a handler did not answer although it did not decline.
#[derive(Debug, thiserror::Error)]
pub enum HandlerError {
    #[error("the handler failed: {0}")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
    #[error("the handler panicked: {0}")]
    Panicked(String),
    /// It wanted to send Enter to a dialog that the adapter does not describe.
    #[error("the handler wanted to send Enter to a dialog that is not known")]
    Blind,
}

impl HandlerError {
    /// The error of a handler that cannot go on.
    pub fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(error.into())
    }
}

/// Something that may answer a question of an agent.
pub trait QuestionHandler: Send + Sync {
    /// The name that decisions and errors are reported under.
    fn name(&self) -> Cow<'_, str>;

    /// The answer to a question; `None` leaves it to the next handler.
    fn answer(&self, question: &AgentQuestion<'_>) -> Result<Option<TerminalInput>, HandlerError>;

    /// The standard handler this is, if it is one.
    fn standard(&self) -> Option<&HandlerName> {
        None
    }
}

/// A handler made of a function.
pub struct FunctionHandler<F> {
    name: String,
    function: F,
}

impl<F> FunctionHandler<F>
where
    F: Fn(&AgentQuestion<'_>) -> Result<Option<TerminalInput>, HandlerError> + Send + Sync,
{
    /// A handler with a name.
    pub fn new(name: impl Into<String>, function: F) -> Self {
        Self { name: name.into(), function }
    }
}

impl<F> QuestionHandler for FunctionHandler<F>
where
    F: Fn(&AgentQuestion<'_>) -> Result<Option<TerminalInput>, HandlerError> + Send + Sync,
{
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }

    fn answer(&self, question: &AgentQuestion<'_>) -> Result<Option<TerminalInput>, HandlerError> {
        (self.function)(question)
    }
}

/// How one agent is automated: arguments for its start, and handlers for its questions.
#[derive(Clone, Default)]
pub struct AgentAutomation {
    inject_args: Vec<String>,
    handlers: Vec<Arc<dyn QuestionHandler>>,
}

/// A handler that neither answered nor declined.
#[derive(Debug)]
pub struct SkippedHandler {
    pub name: String,
    pub error: HandlerError,
}

/// What came out of asking the handlers.
#[derive(Debug)]
pub struct HandlerResolution {
    /// What is to be typed; nothing means that a person is asked.
    pub action: Option<TerminalInput>,
    /// The handler that decided.
    pub by: Option<String>,
    /// That handler, if it is a standard one.
    pub standard: Option<HandlerName>,
    /// Handlers that failed before; they must be reported, and do not stop the others.
    pub skipped: Vec<SkippedHandler>,
}

impl AgentAutomation {
    /// The automation that a file describes.
    pub fn new(policy: &AutoPolicy) -> Self {
        let handlers = policy.handlers.iter().cloned();
        Self {
            inject_args: policy.inject_args.clone(),
            handlers: handlers.map(|name| Arc::new(name) as Arc<dyn QuestionHandler>).collect(),
        }
    }

    /// Adds a handler behind those that are there.
    #[must_use]
    pub fn with(mut self, handler: impl QuestionHandler + 'static) -> Self {
        self.handlers.push(Arc::new(handler));
        self
    }

    /// The same with the handlers of a file behind its own.
    #[must_use]
    pub fn then(mut self, policy: &AutoPolicy) -> Self {
        self.handlers.extend(Self::new(policy).handlers);
        self
    }

    /// The arguments to add when the agent is started.
    pub fn inject_args(&self) -> &[String] {
        &self.inject_args
    }

    /// Asks the handlers in their order; the first that returns an action decides. A handler that
    /// fails or panics is skipped and reported, and so is one that would press Enter in a dialog
    /// that the adapter does not describe.
    pub fn resolve(&self, question: &AgentQuestion<'_>) -> HandlerResolution {
        let mut skipped = Vec::new();
        for handler in &self.handlers {
            match ask(handler.as_ref(), question) {
                Ok(None) => {}
                Ok(Some(action)) => {
                    let by = Some(handler.name().into_owned());
                    let standard = handler.standard().cloned();
                    return HandlerResolution { action: Some(action), by, standard, skipped };
                }
                Err(error) => {
                    skipped.push(SkippedHandler { name: handler.name().into_owned(), error });
                }
            }
        }
        HandlerResolution { action: None, by: None, standard: None, skipped }
    }

    /// What the handlers decide where an agent is asked in its own protocol, so that no key is
    /// pressed: one that confirms approves, and so does one that types what approves on a terminal;
    /// any other key would mean nothing there and is for a person. `escape` denies.
    pub fn decide_in_words(
        &self,
        question: &AgentQuestion<'_>,
        approves: impl Fn(&str) -> bool,
    ) -> Option<InterventionDecision> {
        if question.kind != AwaitingKind::Approval {
            return None;
        }
        let choice = |handler: &dyn QuestionHandler| match handler.standard() {
            Some(HandlerName::PressEnter | HandlerName::ConfirmYes) => {
                Some(InterventionChoice::Approve)
            }
            Some(HandlerName::Escape) => Some(InterventionChoice::Deny),
            Some(HandlerName::Choose(_) | HandlerName::Type(_)) | None => {
                let typed = ask(handler, question).ok()??;
                let typed = typed.input.trim_end_matches(['\r', '\n']);
                approves(typed).then_some(InterventionChoice::Approve)
            }
        };
        let mut handlers = self.handlers.iter();
        let (handler, choice) =
            handlers.find_map(|handler| Some((handler, choice(&**handler)?)))?;
        Some(InterventionDecision {
            handler: handler.standard().cloned(),
            why: AUTOMATIC.to_owned(),
            ..InterventionDecision::new(choice, format!("handler:{}", handler.name()))
        })
    }
}

impl HandlerResolution {
    /// The decision as a fact; `None` when a person is asked.
    pub fn to_decision(&self) -> Option<InterventionDecision> {
        let (action, by) = (self.action.as_ref()?, self.by.as_ref()?);
        let choice = match &self.standard {
            Some(HandlerName::PressEnter | HandlerName::ConfirmYes) => InterventionChoice::Approve,
            Some(HandlerName::Escape) => InterventionChoice::Deny,
            Some(HandlerName::Choose(_) | HandlerName::Type(_)) | None => {
                InterventionChoice::Answer
            }
        };
        let text = match (&self.standard, choice) {
            (Some(HandlerName::Type(text)), _) => Some(text.clone()),
            (_, InterventionChoice::Answer) => Some(action.input.clone()),
            _ => None,
        };
        // A function says what is typed, which a handler by that name does exactly.
        let typed = || HandlerName::Type(action.input.replace('\r', "\n"));
        Some(InterventionDecision {
            text,
            handler: Some(self.standard.clone().unwrap_or_else(typed)),
            why: AUTOMATIC.to_owned(),
            ..InterventionDecision::new(choice, format!("handler:{by}"))
        })
    }
}

fn ask(
    handler: &dyn QuestionHandler,
    question: &AgentQuestion<'_>,
) -> Result<Option<TerminalInput>, HandlerError> {
    // A handler of a library's user is a stranger: its panic is its own.
    let answer = catch_unwind(AssertUnwindSafe(|| handler.answer(question)));
    let action =
        answer.unwrap_or_else(|panic| Err(HandlerError::Panicked(panic_message(&*panic))))?;
    match action {
        Some(action) if question.is_unknown_dialog() && action.has_enter() => {
            Err(HandlerError::Blind)
        }
        other => Ok(other),
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason".into())
}

impl TerminalInput {
    /// An action that types something.
    pub fn new(input: impl Into<String>) -> Self {
        Self { input: input.into() }
    }

    /// Whether Enter is among what is typed.
    fn has_enter(&self) -> bool {
        self.input.contains(['\r', '\n'])
    }
}

impl fmt::Debug for AgentAutomation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.handlers.iter().map(|handler| handler.name()).collect();
        f.debug_struct("Automatic")
            .field("inject_args", &self.inject_args)
            .field("handlers", &names)
            .finish()
    }
}

impl<F> fmt::Debug for FunctionHandler<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
