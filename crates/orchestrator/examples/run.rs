//! Runs a grimoire or a definition in this folder and answers its questions on the terminal:
//!
//! ```text
//! cargo run -p coven-orchestrator --example run -- demo
//! cargo run -p coven-orchestrator --example run -- FILE.yaml --yes
//! ```
//!
//! Interrupt it and start it again without arguments: it goes on where it stood.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to the terminal")]

use std::error::Error;
use std::io::{BufRead, stdin};
use std::path::Path;
use std::process::ExitCode;

use coven_model::event::{InterventionDecision, SessionEvent};
use coven_model::{Intervention, InterventionChoice, SessionId, WorkflowStatus};
use coven_orchestrator::{NewSession, Options, Orchestrator, PublishedEvent};
use coven_testkit::agent;

fn main() -> ExitCode {
    // The same program holds jobs and is the demo agent.
    if agent::is_asked_for() {
        return agent::main();
    }
    let reactor = match tokio::runtime::Runtime::new() {
        Ok(reactor) => reactor,
        Err(error) => return fail(&error),
    };
    match reactor.block_on(run()) {
        Ok(WorkflowStatus::Completed) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => fail(&*error),
    }
}

fn fail(error: &dyn Error) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

async fn run() -> Result<WorkflowStatus, Box<dyn Error>> {
    let state = Path::new(&std::env::var_os("HOME").ok_or("there is no HOME")?)
        .join(".local/state/coven-example");
    let mut options = Options::new(std::env::current_dir()?, state, std::env::current_exe()?);
    options.default_adapter = Some("demo".to_owned());
    let orchestrator = Orchestrator::open(options).await?;
    let yes = std::env::args().any(|argument| argument == "--yes");
    let what = std::env::args().nth(1).filter(|argument| argument != "--yes");
    let id = match what {
        Some(what) if Path::new(&what).is_file() => {
            let text = std::fs::read_to_string(&what)?;
            orchestrator.execute_workflow(NewSession::of_definition(&what, &text)).await?
        }
        Some(name) => orchestrator.execute_workflow(NewSession::of_grimoire(&name)).await?,
        None => {
            let newest = orchestrator.list().first().map(|entry| entry.id.clone());
            newest.ok_or("there is no session to go on with; name a grimoire or a file")?
        }
    };
    orchestrator.resume(&id, None).await?;
    follow(&orchestrator, &id, yes).await
}

async fn follow(
    orchestrator: &Orchestrator,
    id: &SessionId,
    yes: bool,
) -> Result<WorkflowStatus, Box<dyn Error>> {
    let mut events = orchestrator.subscribe(id, 0).await?;
    while let Some(envelope) = events.next().await? {
        let PublishedEvent::Fact { event, .. } = envelope.what else { continue };
        match &*event {
            SessionEvent::SessionCreated(created) => println!("session {} ({})", created.name, id),
            SessionEvent::StepStarted { step, kind, .. } => println!("▶ {step} ({kind})"),
            SessionEvent::StepCompleted { step, summary, .. } => println!("✔ {step}: {summary}"),
            SessionEvent::StepFailed { step, error, .. } => println!("✘ {step}: {error}"),
            SessionEvent::StepSkipped { step, reason, .. } => println!("- {step}: {reason}"),
            SessionEvent::InterventionRequired { intervention, .. } => {
                let open = orchestrator.view(id).await?.is_some_and(|view| {
                    view.interventions.iter().any(|open| open.id == intervention.id)
                });
                if open {
                    answer(orchestrator, intervention, yes).await?;
                }
            }
            SessionEvent::WorkflowCompleted { .. }
            | SessionEvent::WorkflowFailed { .. }
            | SessionEvent::WorkflowCancelled { .. } => break,
            _ => {}
        }
    }
    let controller = orchestrator.resume(id, None).await?;
    let status = controller.wait(false).await;
    orchestrator.close().await;
    println!("{status}");
    Ok(status)
}

async fn answer(
    orchestrator: &Orchestrator,
    asked: &Intervention,
    yes: bool,
) -> Result<(), Box<dyn Error>> {
    println!("? {} ({})", asked.reason, asked.kind);
    for line in asked.excerpt.lines() {
        println!("  | {line}");
    }
    let names: Vec<&str> = asked.options.iter().map(|option| option.as_str()).collect();
    let choice = if yes {
        asked.options.first().copied().unwrap_or(InterventionChoice::Approve)
    } else {
        println!("  {}?", names.join(" / "));
        let line = tokio::task::spawn_blocking(|| stdin().lock().lines().next()).await?;
        let line = line.transpose()?.unwrap_or_default();
        let found = asked.options.iter().find(|option| option.as_str().starts_with(line.trim()));
        *found.ok_or_else(|| format!("that is none of {}", names.join(", ")))?
    };
    let decision = InterventionDecision::new(choice, "the terminal");
    orchestrator.answer(&asked.id, decision, asked.digest.clone()).await?;
    println!("  {choice}");
    Ok(())
}
