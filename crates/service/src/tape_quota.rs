//! Keeps the recordings of finished jobs below a total. Each recording has a limit of its own while
//! it is made; what many of them come to is looked at here.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::service::Service;

/// How often. The first time is after this too, when everything that ran before was taken up.
const LOOK_INTERVAL: Duration = Duration::from_mins(10);

/// The recording of one attempt.
struct JobTape {
    folder: PathBuf,
    /// When its folder changed last.
    changed: SystemTime,
    bytes: u64,
}

/// Looks until the service stops.
pub(crate) async fn watch(service: Service) {
    let stopping = service.stopping();
    let context = service.context();
    let (jobs, quota) =
        (context.places.authority(&context.config).jobs, context.config.tape_quota());
    let start = tokio::time::Instant::now() + LOOK_INTERVAL;
    let mut turns = tokio::time::interval_at(start, LOOK_INTERVAL);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while stopping.run_until_cancelled(turns.tick()).await.is_some() {
        let live = live_sessions(&service);
        let jobs = jobs.clone();
        let kept = coven_orchestrator::blocking(move || keep_below(&jobs, quota, &live)).await;
        match kept {
            Ok(0) => {}
            Ok(freed) => tracing::info!("recordings were shortened by {freed} bytes"),
            Err(error) => tracing::warn!("recordings could not be looked at: {error}"),
        }
    }
}

/// The sessions of which something may still read a recording to go on.
fn live_sessions(service: &Service) -> BTreeSet<String> {
    let open = service.base_dirs().into_iter().filter_map(|base| base.now());
    let entries = open.flat_map(|orchestrator| orchestrator.list());
    let live = entries.filter(|entry| !entry.status.is_final());
    live.map(|entry| entry.id.to_string()).collect()
}

/// Shortens the oldest recordings until all of them are below the quota; how many bytes that made
/// free.
fn keep_below(jobs: &Path, quota: u64, live: &BTreeSet<String>) -> io::Result<u64> {
    let mut tapes = Vec::new();
    for session in folders(jobs)? {
        let name = session.file_name().map(|name| name.to_string_lossy().into_owned());
        if name.is_some_and(|name| live.contains(&name)) {
            continue;
        }
        for task in folders(&session)? {
            tapes.extend(folders(&task)?.into_iter().filter_map(tape));
        }
    }
    tapes.sort_by_key(|tape| tape.changed);
    let mut total: u64 = tapes.iter().map(|tape| tape.bytes).sum();
    let mut freed = 0;
    for tape in tapes {
        if total <= quota {
            break;
        }
        // One that cannot be shortened is no reason to leave the others.
        let gone = coven_tape::trim(&tape.folder).unwrap_or(0);
        total -= gone.min(total);
        freed += gone;
    }
    Ok(freed)
}

fn tape(folder: PathBuf) -> Option<JobTape> {
    let changed = fs::metadata(&folder).and_then(|about| about.modified()).ok()?;
    let bytes = coven_tape::size(&folder).ok()?;
    Some(JobTape { folder, changed, bytes })
}

/// The folders in a folder; none if it is not there.
fn folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use coven_tape::{Options, TapeStream, TapeWriter};

    use super::*;

    /// A recording of about so many bytes, which is over.
    fn record(jobs: &Path, session: &str, bytes: usize) -> PathBuf {
        let folder = jobs.join(session).join("task/1");
        fs::create_dir_all(&folder).unwrap();
        let options = Options { segment_size: 64 * 1024, ..Options::default() };
        let mut tape = TapeWriter::create(&folder, options).unwrap();
        for round in 0..bytes / 8192 {
            tape.output(round as u64, TapeStream::Out, &[b'x'; 8192]).unwrap();
        }
        folder
    }

    #[test]
    fn the_oldest_recordings_are_shortened_until_there_is_room() {
        let root = tempfile::tempdir().unwrap();
        let jobs = fs::canonicalize(root.path()).unwrap();
        let names = ["live", "old", "new"];
        let folders = names.map(|name| record(&jobs, name, 1 << 20));
        let age = |folder: &Path, seconds: u64| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            fs::File::open(folder).unwrap().set_modified(time).unwrap();
        };
        for (place, folder) in folders.iter().enumerate() {
            age(folder, place as u64);
        }
        let sizes = || folders.clone().map(|folder| coven_tape::size(&folder).unwrap());
        let (before, live) = (sizes(), BTreeSet::from(["live".to_owned()]));
        assert_eq!(keep_below(&jobs, 3 << 20, &live).unwrap(), 0);
        let freed = keep_below(&jobs, 3 << 19, &live).unwrap();
        let after = sizes();
        assert!(freed > 1 << 19 && after[1] == before[1] - freed, "{before:?} {after:?}");
        assert_eq!((after[0], after[2]), (before[0], before[2]));
    }
}
