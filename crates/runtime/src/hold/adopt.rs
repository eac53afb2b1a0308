//! Taking over a process from its folder alone.

use std::io;
use std::time::Duration;

use super::folder::{Exit, Folder, FolderError};
use super::pane::HolderPane;
use crate::processes::{self, Ended, boot_id};

/// How long what a killed holder left may take to vanish once it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// What became of a process.
#[derive(Debug)]
pub enum Adopted {
    /// It runs, and we have it: every byte from the offset on, then what comes.
    Alive(HolderPane),
    /// It has ended, and everything it started with it.
    Exited(Exit),
    /// Its holder is gone without a record, or never ran. What it left was ended.
    Gone {
        /// What had to be ended.
        ended: Ended,
    },
}

/// Why a folder cannot be adopted.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// The folder cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Nothing was ever started there.
    #[error("{0} has no record of a process")]
    NoRecord(std::path::PathBuf),
    /// The system did not answer.
    #[error("the holder runs but cannot be reached: {0}")]
    Unreachable(#[source] io::Error),
}

/// Takes over the process of a folder. `offset` is where our copy of its output ends.
pub fn adopt(folder: &Folder, offset: u64) -> Result<Adopted, AdoptError> {
    if let Some(exit) = folder.exit()? {
        return Ok(Adopted::Exited(exit));
    }
    let record = folder.spawn_record()?;
    let record = record.ok_or_else(|| AdoptError::NoRecord(folder.path().to_owned()))?;
    // After a restart of the system nothing can be left, and ids mean nothing.
    let same_boot = boot_id().map_err(AdoptError::Unreachable)? == record.boot_id;
    let holder = record.holder.filter(|holder| same_boot && holder.is_running());
    let Some(holder) = holder else { return gone(folder, &record.job, same_boot) };
    match HolderPane::connect(folder, offset, record.job.clone()) {
        Ok(pane) => Ok(Adopted::Alive(pane)),
        // It may have ended this very moment.
        Err(_) if !holder.is_running() => gone(folder, &record.job, same_boot),
        Err(error) => Err(AdoptError::Unreachable(error)),
    }
}

fn gone(folder: &Folder, job: &str, same_boot: bool) -> Result<Adopted, AdoptError> {
    if let Some(exit) = folder.exit()? {
        return Ok(Adopted::Exited(exit));
    }
    let ended = if same_boot { end_job(job) } else { Ended::default() };
    Ok(Adopted::Gone { ended })
}

/// Ends whatever still runs of a job.
pub(super) fn end_job(job: &str) -> Ended {
    processes::end_all(|| processes::of_job(job), PATIENCE)
}
