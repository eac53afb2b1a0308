//! Runs a definition in the folder it is started in, and prints what its step said.
//!
//! ```text
//! cargo run -- "$(command -v coven)"
//! ```

#![allow(clippy::print_stdout, reason = "it prints its result")]

use std::error::Error;
use std::path::PathBuf;

use coven_model::WorkflowStatus;
use coven_orchestrator::{NewSession, Options, Orchestrator};

const DEFINITION: &str = "
name: greet
description: An agent says hello.
steps:
  - {name: greet, type: agent, adapter: demo, prompt: say Hello from outside, output: greeting}
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let program = PathBuf::from(std::env::args_os().nth(1).ok_or("say where `coven` is")?);
    let home = PathBuf::from(std::env::var_os("HOME").ok_or("there is no HOME")?);
    let options =
        Options::new(std::env::current_dir()?, home.join(".local/state/outside"), program);
    let orchestrator = Orchestrator::open(options).await?;

    let new = NewSession {
        env: std::env::vars_os().collect(),
        ..NewSession::of_definition("greet.yaml", DEFINITION)
    };
    let id = orchestrator.execute_workflow(new).await?;
    let status = orchestrator.wait(&id, false).await?;
    let view = orchestrator.snapshot(&id).await?.view().cloned().ok_or("there is no view")?;
    orchestrator.close().await;
    if status != WorkflowStatus::Completed {
        return Err(format!("it is {status:?}: {:?}", view.errors).into());
    }
    println!("{}", view.variables["greeting"]);
    Ok(())
}
