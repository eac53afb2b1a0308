//! Taking over a process from its folder alone.

use std::io;
use std::time::{Duration, Instant};

use super::changes::FolderChanges;
use super::folder::{FolderError, HolderExit, HolderFolder};
use super::pane::HolderPane;
use super::start::START_TIMEOUT;
use crate::machine;
use crate::processes::{self, TreeEnding};

/// How long what a killed holder left may take to vanish once it is killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// What became of a process.
#[derive(Debug)]
pub enum Adopted {
    /// It runs, and we have it: every byte from the offset on, then what comes.
    Alive(HolderPane),
    /// It has ended, and everything it started with it.
    Exited(HolderExit),
    /// Its holder is gone without a record, or never ran. What it left was ended.
    Gone {
        /// What had to be ended.
        ended: TreeEnding,
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
pub fn adopt(folder: &HolderFolder, offset: u64) -> Result<Adopted, AdoptError> {
    if let Some(exit) = folder.exit()? {
        return Ok(Adopted::Exited(exit));
    }
    let no_record = || AdoptError::NoRecord(folder.path().to_owned());
    let mut record = folder.spawn_record()?.ok_or_else(no_record)?;
    if record.holder.is_none() {
        if take_back(folder)? {
            return Ok(Adopted::Gone { ended: TreeEnding::default() });
        }
        record = folder.spawn_record()?.ok_or_else(no_record)?;
    }
    // After a restart of the system nothing can be left, and ids mean nothing.
    let same_boot = machine::boot_id().map_err(AdoptError::Unreachable)? == record.boot_id;
    let holder = record.holder.filter(|holder| same_boot && holder.is_running());
    let Some(holder) = holder else { return gone(folder, &record.job, same_boot) };
    match HolderPane::connect(folder, offset, record.job.clone()) {
        Ok(pane) => Ok(Adopted::Alive(pane)),
        // It may have ended this very moment.
        Err(_) if !holder.is_running() => gone(folder, &record.job, same_boot),
        Err(error) => Err(AdoptError::Unreachable(error)),
    }
}

/// Takes a start back of which nothing came, because the process that wanted it died then. Says
/// whether it did: then nothing was started there, nothing ever will be, and the folder can be used
/// for another start. Otherwise there is a holder, or was one.
///
/// Waits for a holder that is just about to start its process.
pub fn take_back(folder: &HolderFolder) -> Result<bool, AdoptError> {
    let deadline = Instant::now() + START_TIMEOUT;
    let mut changes = None;
    loop {
        let Some(record) = folder.spawn_record()? else { return Ok(false) };
        if record.holder.is_some() {
            return Ok(false);
        }
        if let Some(_claim) = folder.claim()? {
            // A holder begins the tape before anything else. Without one there was none, and one
            // that comes now finds itself unwanted.
            let untouched = matches!(
                coven_tape::TapeReader::open(folder.path()),
                Err(coven_tape::Error::NoTape { .. })
            );
            let unheld = folder.spawn_record()?.is_some_and(|record| record.holder.is_none());
            if untouched && unheld {
                folder.forget_spawn()?;
                return Ok(true);
            }
            return Ok(false);
        }
        if Instant::now() >= deadline {
            return Err(AdoptError::Unreachable(io::ErrorKind::TimedOut.into()));
        }
        match &changes {
            // Watched only now, because most starts are settled at the first look.
            None => {
                changes = Some(FolderChanges::watch(folder).map_err(AdoptError::Unreachable)?);
            }
            Some(changes) => changes.wait(deadline).map_err(AdoptError::Unreachable)?,
        }
    }
}

fn gone(folder: &HolderFolder, job: &str, same_boot: bool) -> Result<Adopted, AdoptError> {
    if let Some(exit) = folder.exit()? {
        return Ok(Adopted::Exited(exit));
    }
    let ended = if same_boot { end_job(job) } else { TreeEnding::default() };
    Ok(Adopted::Gone { ended })
}

/// Ends whatever still runs of a job.
pub(super) fn end_job(job: &str) -> TreeEnding {
    processes::end_all(|| processes::of_job(job), KILL_TIMEOUT)
}
