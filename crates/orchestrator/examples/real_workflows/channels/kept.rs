//! The row in which the process that follows an agent is killed while the agent asks, and another
//! one answers.

use std::error::Error;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};

use coven_model::InterventionChoice;
use coven_model::event::SessionEvent;
use coven_orchestrator::{NewSession, Options, Orchestrator};
use coven_testkit::model::{ModelScene, PROBE};

use super::{asked, decision, ends, fact, rows};
use crate::Found;
use crate::project::Project;

/// Starts this program as the process that is killed.
pub(crate) const KEEP: &str = "--keep";

/// `--keep BASE STATE HOLDER ADAPTER DEFINITION`: runs a definition, says when its agent asks, and
/// waits to be killed.
pub(crate) fn keep(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut next = || arguments.next().unwrap_or_default();
    let (base, state, holder) = (PathBuf::from(next()), PathBuf::from(next()), next());
    let (adapter, text) = (next(), next());
    let keep = async {
        let mut options = Options::new(base, state, PathBuf::from(holder));
        options.default_adapter = adapter.into_string().ok();
        let orchestrator = Orchestrator::open(options).await?;
        let text = text.to_string_lossy().into_owned();
        let env = std::env::vars_os().collect();
        let new = NewSession { env, ..NewSession::of_definition("row.yaml", &text) };
        let id = orchestrator.execute_workflow(new).await?;
        let mut events = orchestrator.subscribe(&id, 0).await?;
        match asked(&mut events).await? {
            Ok(_) => println!("{id}"),
            Err(ended) => println!("it ended before it asked: {ended}"),
        }
        std::future::pending::<()>().await;
        Ok::<(), Box<dyn Error>>(())
    };
    let Ok(reactor) = tokio::runtime::Runtime::new() else { return ExitCode::FAILURE };
    match reactor.block_on(keep) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A child that does not outlive the row.
struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        // One that is gone already needs no signal.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub(super) async fn killed(project: &Project) -> Found {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(KEEP).arg(project.path()).arg(project.state()).arg(project.holder());
    command.arg(project.cli.name()).arg(rows::step(project, ModelScene::Ask, "ask"));
    command.env_clear().envs(project.env()).stdout(Stdio::piped());
    let mut keeper = Kept(command.spawn()?);
    let output = keeper.0.stdout.take().ok_or("the keeper has no output")?;
    let line = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map(|_| line)
    });
    let line = tokio::time::timeout(super::WAIT_TIMEOUT, line).await???;
    let id = line.trim().parse().map_err(|_| format!("the first process said: {line}"))?;
    drop(keeper);

    let orchestrator = project.open().await?;
    orchestrator.resume(&id, None).await?;
    let mut events = orchestrator.subscribe(&id, 0).await?;
    let asked = asked(&mut events).await??;
    if project.ran()? > 0 {
        return Err("it did not wait for an answer".into());
    }
    let view = async {
        orchestrator
            .answer(&asked.id, decision(InterventionChoice::Approve), asked.digest.clone())
            .await?;
        ends(&orchestrator, &id).await
    };
    let view = view.await;
    let mut events = orchestrator.subscribe(&id, 0).await?;
    let ended = fact(&mut events, "the end of its task", |event| match event {
        SessionEvent::TaskEnded(ended) => Some(ended.job.attempt),
        _ => None,
    });
    let attempt = ended.await;
    if view.is_err() {
        orchestrator.cancel(&id, super::BY, "the row is over").await?;
    }
    orchestrator.close().await;
    let view = view?;
    rows::must_complete(&view)?;
    rows::must_run(project, 1)?;
    if attempt? != 1 {
        return Err("another process was started instead".into());
    }
    Ok(format!("`{PROBE}` ran once, in the process that had asked"))
}
