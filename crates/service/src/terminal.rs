//! The terminal of a running agent, to watch it and to type into it.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use coven_model::{AgentVerdict, AttemptId, SessionId};
use coven_orchestrator::TaskAccess;
use coven_runner::{AgentRunner, RunnerSubscription};
use coven_runtime::hold::{HolderFolder, rebuild};
use coven_terminal::screen::{GridSize, Options};

use crate::blocking::blocking;
use crate::error::ServiceError;
use crate::find::task_id;
use crate::service::Service;

/// How many columns a terminal may have.
const COLUMNS: RangeInclusive<u16> = 2..=1000;
/// How many rows a terminal may have.
const ROWS: RangeInclusive<u16> = 1..=1000;

/// The terminal of one attempt whose agent runs.
#[derive(Clone, Debug)]
pub struct Terminal {
    session: SessionId,
    attempt: AttemptId,
    /// The folder of the attempt, with its tape.
    folder: PathBuf,
    agent: AgentRunner,
}

/// What a terminal shows at one moment.
#[derive(Clone, Debug)]
pub struct TerminalPicture {
    /// The width of the terminal, in columns.
    pub cols: u16,
    /// The height of the terminal, in rows.
    pub rows: u16,
    /// How much of the output is in it.
    pub offset: u64,
    /// How many resizes are in it.
    pub resizes: u64,
    /// Escape sequences that repaint it.
    pub dump: Vec<u8>,
    /// Whether the process is still followed. Otherwise this is the last picture, and everything
    /// that may still come is in it.
    pub live: bool,
}

impl Terminal {
    /// The session that the attempt belongs to.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The attempt whose terminal this is.
    pub fn attempt(&self) -> &AttemptId {
        &self.attempt
    }

    /// What the agent does and prints from now on. Subscribe before taking a [picture](Self::picture),
    /// so that no output falls between the two.
    pub fn subscribe(&self) -> RunnerSubscription {
        self.agent.subscribe()
    }

    /// What the agent is doing.
    pub fn verdict(&self) -> AgentVerdict {
        self.agent.verdict()
    }

    /// What the terminal shows now, or showed last.
    pub async fn picture(&self) -> Result<TerminalPicture, ServiceError> {
        if let Some(view) = self.agent.view().await {
            let size = view.snapshot.size();
            let (cols, rows) = (size.columns, size.rows);
            let (offset, resizes, dump) = (view.offset, view.resizes, view.dump);
            return Ok(TerminalPicture { cols, rows, offset, resizes, dump, live: true });
        }
        // The process has ended: what it showed last is on the disk.
        let folder = HolderFolder::new(&self.folder);
        blocking(move || {
            let mut rebuilt =
                rebuild(&folder, &Options::default()).map_err(ServiceError::unreadable)?;
            let size = rebuilt.screen.size();
            let (cols, rows, offset) = (size.columns, size.rows, rebuilt.offset);
            let dump = rebuilt.screen.dump();
            Ok(TerminalPicture { cols, rows, offset, resizes: u64::MAX, dump, live: false })
        })
        .await
    }

    /// Writes bytes to the process as if they were typed.
    pub async fn write(&self, bytes: Vec<u8>) {
        self.agent.write(bytes).await;
    }

    /// Whether a terminal may have this size.
    pub fn check_size(cols: u16, rows: u16) -> Result<(), ServiceError> {
        check_size(cols, rows).map(|_| ())
    }

    /// Gives the terminal the size of the viewer that types.
    pub async fn resize(&self, cols: u16, rows: u16) -> Result<(), ServiceError> {
        self.agent.resize_for_viewer(Some(check_size(cols, rows)?)).await;
        Ok(())
    }

    /// Gives the terminal its own size again: no viewer types any more.
    pub async fn restore_size(&self) {
        self.agent.resize_for_viewer(None).await;
    }
}

impl Service {
    /// The terminal of a task whose agent runs on one.
    pub async fn terminal(&self, id: &str, task: &str) -> Result<Terminal, ServiceError> {
        let found = self.find(id).await?;
        let task = task_id(task)?;
        let access = found.sessions.task(&found.id, &task).await?;
        let TaskAccess { attempt, folder, agent, headless, .. } = access;
        match agent {
            Some(agent) => Ok(Terminal { session: found.id, attempt, folder, agent }),
            None if headless.is_some() => Err(ServiceError::NoTerminal(task)),
            None => Err(ServiceError::NotRunning(task)),
        }
    }
}

/// A size that a terminal may have.
pub(crate) fn check_size(cols: u16, rows: u16) -> Result<GridSize, ServiceError> {
    if COLUMNS.contains(&cols) && ROWS.contains(&rows) {
        return Ok(GridSize::new(cols, rows));
    }
    let detail = format!(
        "a terminal has {} to {} columns and {} to {} rows, not {cols} and {rows}",
        COLUMNS.start(),
        COLUMNS.end(),
        ROWS.start(),
        ROWS.end()
    );
    Err(ServiceError::BadRequest(detail))
}
