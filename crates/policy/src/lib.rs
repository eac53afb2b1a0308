//! Which questions of an agent may be answered without a person, and how.
//!
//! There are two ways, and both are off until the user turns them on:
//!
//! - **Rules** in a policy file say what is allowed, denied, answered or asked ([`EffectivePolicies`]).
//!   The user has such a file, and a trusted project may; what a project may do to the user's
//!   word is written at [`EffectivePolicies::decide`].
//! - **Handlers** answer for one agent whose task has automatic approval on ([`AgentAutomation`]). The
//!   first one that returns an action decides; when all decline, a person is asked.
//!
//! Everything here is a pure function over what is on the screen ([`AgentQuestion`]). Whether the
//! screen still shows it when the keys are sent is for the runner to check, by the digest.
//!
//! Nothing here can send Enter to a dialog that the adapter does not describe.

mod always;
mod decide;
mod file;
mod handlers;
mod pattern;
mod question;
mod rules;
mod shell;
mod trial;

pub use always::{AddRuleError, NoAlwaysRule, add_rule, always_rule, rule_text};
pub use file::{Policy, schema};
pub use handlers::{
    AgentAutomation, FunctionHandler, HandlerError, HandlerResolution, QuestionHandler,
    SkippedHandler, TerminalInput,
};
pub use question::AgentQuestion;
pub use rules::{EffectivePolicies, PartRuling, PolicyDecision, PolicyLayer, RuleEffect, RuleName};
pub use shell::{CommandPart, PartKind, UnreadCommand, parts};
pub use trial::{PastQuestion, PolicyTrial, TrialRow, test};
