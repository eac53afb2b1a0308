//! Workflow definitions, their checks, and the pure decisions of a run.
//!
//! ```
//! use coven_notation::SourceFile;
//! use coven_workflow::{CheckEnvironment, check};
//!
//! let text = "name: greet\ndescription: Says hello.\nsteps:\n  - {name: say, type: script, command: 'echo ${input.whom}'}\n";
//! let checked = check(&SourceFile::new("greet.yaml", text), &CheckEnvironment::new(["demo"]));
//! assert!(checked.problems[0].message.contains("`whom`"));
//!
//! let mended = text.replace("steps:", "inputs: {whom: {default: world}}\nsteps:");
//! let checked = check(&SourceFile::new("greet.yaml", mended), &CheckEnvironment::new(["demo"]));
//! assert_eq!(checked.plan.unwrap().steps[0].name, "say");
//! ```

mod abilities;
pub mod attention;
pub mod bind;
pub mod catalogue;
pub mod check;
pub mod command;
pub mod compile;
pub mod condition;
pub mod decide;
pub mod definition;
pub mod elements;
pub mod expect;
#[cfg(test)]
mod fixtures;
pub mod fold;
pub mod input;
#[cfg(test)]
mod model;
pub mod plan;
#[cfg(test)]
mod properties;
mod rules;
pub mod schema;
pub mod scope;
pub mod shell;
pub mod state;
pub mod template;
#[cfg(test)]
mod testing;
pub mod verdict;
pub mod view;

pub use abilities::{Inability, ability_problems, inabilities};
pub use bind::{bind_event, bind_inputs, coerce_input, known_inputs};
pub use check::{CheckEnvironment, CheckedDefinition, check};
pub use command::Command;
pub use compile::settle;
pub use condition::{Condition, ConditionError};
pub use decide::decide;
pub use elements::{ElementProblem, lacking_elements};
pub use fold::{fold, fold_all};
pub use input::SessionInput;
pub use plan::WorkflowPlan;
pub use scope::VariableScope;
pub use shell::{PrepareError, PreparedCommand, ShellCommand, ShellError};
pub use state::State;
pub use template::{TemplateError, TextTemplate, UndefinedVariable, to_text};
