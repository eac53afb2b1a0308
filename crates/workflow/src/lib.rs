//! Workflow definitions, their checks, and the pure decisions of a run.

pub mod condition;
pub mod scope;
pub mod shell;
pub mod template;

pub use condition::{Condition, ConditionError};
pub use scope::Scope;
pub use shell::{Prepared, PrepareError, ShellCommand, ShellError};
pub use template::{Template, TemplateError, Undefined};
