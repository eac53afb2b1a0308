//! Which questions of an agent may be answered without a person, and how.
//!
//! There are two ways, and both are off until somebody asks for them:
//!
//! - **Rules** in a policy file say what is allowed, denied, answered or asked ([`Policies`]).
//!   The user has such a file, and a trusted project may; what a project may do to the user's
//!   word is written at [`Policies::decide`].
//! - **Handlers** answer for one agent whose task has automatic approval on ([`Automatic`]). The
//!   first one that returns an action decides; when all decline, a person is asked.
//!
//! Everything here is a pure function over what is on the screen ([`Question`]). Whether the
//! screen still shows it when the keys are sent is for the runner to check, by the digest.
//!
//! One thing nothing here can do is to send Enter to a dialog that nobody knows.

mod file;
mod handlers;
mod question;
mod rules;
mod trial;

pub use file::{Policy, schema};
pub use handlers::{Action, Automatic, Custom, Handler, HandlerError, Resolution, Skipped};
pub use question::Question;
pub use rules::{Decision, Layer, Policies, RuleName, Ruling};
pub use trial::{Past, Row, Trial, test};
