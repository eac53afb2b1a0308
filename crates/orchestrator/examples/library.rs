//! Coven as a library: opens a folder, runs a definition in it, follows what happens, and looks at
//! the result.
//!
//! ```text
//! cargo run -p coven-orchestrator --example library
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to the terminal")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use coven_model::WorkflowStatus;
use coven_model::event::SessionEvent;
use coven_orchestrator::{NewSession, Options, Orchestrator, PublishedEvent};
use coven_testkit::agent;

const DEFINITION: &str = "
name: greet
description: Greets whoever is named.
inputs:
  whom: {description: Whom to greet, required: true}
steps:
  - {name: greet, type: script, command: 'echo Hello, ${input.whom}', output: greeting}
";

fn main() -> ExitCode {
    // Jobs outlive the process that starts them: a copy of the program holds each of them.
    if agent::is_asked_for() {
        return agent::main();
    }
    let done = || -> Result<(), Box<dyn Error>> {
        let program = std::env::current_exe()?;
        let folder = std::env::current_dir()?;
        // What decides is kept where agents that work in the folder have no business.
        let state = PathBuf::from(std::env::var_os("HOME").ok_or("there is no HOME")?)
            .join(".local/state/my-program");
        let (steps, greeting) =
            tokio::runtime::Runtime::new()?.block_on(greet(&folder, &state, program, "world"))?;
        println!("{} said: {greeting}", steps.join(", "));
        Ok(())
    };
    match done() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the definition and says which steps were completed, and with what result.
pub(crate) async fn greet(
    folder: &Path,
    state: &Path,
    program: PathBuf,
    whom: &str,
) -> Result<(Vec<String>, String), Box<dyn Error>> {
    let orchestrator = Orchestrator::open(Options::new(folder, state, program)).await?;
    let mut new = NewSession::of_definition("greet.yaml", DEFINITION);
    new.input.insert("whom".to_owned(), whom.into());
    let id = orchestrator.execute_workflow(new).await?;

    // Every fact from the first one on, each durable before it is told.
    let mut steps = Vec::new();
    let mut events = orchestrator.subscribe(&id, 0).await?;
    while let Some(envelope) = events.next().await? {
        let PublishedEvent::Fact { event, .. } = envelope.what else { continue };
        match &*event {
            SessionEvent::StepCompleted { step, .. } => steps.push(step.clone()),
            SessionEvent::WorkflowCompleted { .. }
            | SessionEvent::WorkflowFailed { .. }
            | SessionEvent::WorkflowCancelled { .. } => break,
            _ => {}
        }
    }

    let view = orchestrator.view(&id).await?.ok_or("the session is gone")?;
    orchestrator.close().await;
    if view.status != WorkflowStatus::Completed {
        return Err(format!("the session is {}: {:?}", view.status, view.errors).into());
    }
    let greeting = view.variables["greeting"].as_str().unwrap_or_default().to_owned();
    Ok((steps, greeting))
}
