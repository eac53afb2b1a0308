//! Definitions from the outside: real files, real shells, and every message a person may see.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod abilities;
mod any_text;
mod builtins;
mod catalogue;
mod confinement;
mod corpus;
mod extremes;
mod grimoires;
mod inputs;
mod reference;
mod run_a_grimoire;
mod scripts;
mod shell;
mod stages;

use coven_notation::{ProblemReport, SourceFile};
use coven_workflow::check::{CheckEnvironment, CheckedDefinition, check};
use coven_workflow::plan::WorkflowPlan;

/// The agents that the tests know.
fn known() -> CheckEnvironment {
    CheckEnvironment::new(["claude", "codex", "demo", "gemini"])
}

fn checked(name: &str, text: &str) -> CheckedDefinition {
    check(&SourceFile::new(name, text), &known())
}

/// The plan of a definition with which nothing is wrong, not even a little.
fn plan(name: &str, text: &str) -> WorkflowPlan {
    let checked = checked(name, text);
    let report = ProblemReport::new(SourceFile::new(name, text), checked.problems);
    assert!(report.problems.is_empty(), "{}", report.render(false));
    checked.plan.unwrap()
}

/// The codes of what is wrong with a definition, in order.
fn codes(name: &str, text: &str) -> Vec<&'static str> {
    checked(name, text).problems.iter().map(|problem| problem.code).collect()
}
