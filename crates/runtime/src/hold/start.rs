//! Starting a holder, and hearing from it whether its process started.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use coven_folder::{OpenObstacle, best_effort};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use super::adopt::end_job;
use super::folder::{FolderError, HolderFolder, SpawnRecord};
use super::pane::HolderPane;
use super::registry::HolderRegistry;
use super::request::HoldRequest;
use super::secret::HolderSecret;
use crate::domain::{SpawnConfig, SpawnError};
use crate::launch;
use crate::machine;
use crate::processes::{Identity, JOB_VARIABLE};
use crate::sandbox::Enforcement;

/// A holder says within milliseconds whether its process started; a machine under heavy load may
/// take seconds.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(30);

/// What a holder says on its standard output, as one line of JSON, before anything else.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum StartReport {
    Started,
    /// It could not be started.
    Failed {
        message: String,
        /// The system's number for it, if it has one.
        errno: Option<i32>,
        /// The disk has no room for what is kept of the process, which was not started.
        #[serde(default)]
        full: bool,
    },
}

pub(super) fn start(
    program: &Path,
    registry: Option<&HolderRegistry>,
    config: &SpawnConfig,
) -> Result<(Child, HolderPane), SpawnError> {
    launch::check(config)?;
    let path = config.folder.as_deref();
    let path =
        path.ok_or_else(|| SpawnError::Refused("a held process needs a folder".to_owned()))?;
    let folder = HolderFolder::new(path);
    folder.create()?;
    if folder.is_killed() {
        let reason = format!("{} was stopped before it started", config.job);
        return Err(SpawnError::Refused(reason));
    }
    if folder.spawn_record()?.is_some() {
        let reason = format!("{} has been used for a process already", path.display());
        return Err(SpawnError::Refused(reason));
    }
    let started = start_holder(program, registry, config, &folder);
    if matches!(started, Err(SpawnError::Full { .. })) {
        best_effort("forget a start that found no room", folder.forget_start());
    }
    let holder = started?;
    let pane = HolderPane::connect(&folder, 0, config.job.clone());
    let pane = pane.map_err(|source| {
        // A process that removes its folder at once could never be adopted, so it is not left
        // running.
        end_job(&config.job);
        SpawnError::Io { step: "connecting to the holder", source }
    })?;
    Ok((holder, pane))
}

/// Starts the holder, and comes back when its process has started. After an error there is neither.
fn start_holder(
    program: &Path,
    registry: Option<&HolderRegistry>,
    config: &SpawnConfig,
    folder: &HolderFolder,
) -> Result<Child, SpawnError> {
    let record = record(config)?;
    folder.write_spawn_record(&record)?;
    let secret = HolderSecret::new();
    let secret = secret.map_err(|source| SpawnError::Io { step: "making a secret", source })?;
    folder.write_secret(&secret)?;
    let mut holder = spawn_holder(program, config, registry, folder.path(), record.ticket)?;
    if let Err(source) = introduce(&mut holder, registry, config, folder.path(), &secret) {
        best_effort("end a holder", holder.kill());
        best_effort("reap a holder that failed", holder.wait());
        let step = "introducing the holder";
        let is_full = OpenObstacle::of(&source) == OpenObstacle::Full;
        return Err(if is_full { full(step) } else { SpawnError::Io { step, source } });
    }
    let heard = match holder.stdout.take().map(hear).transpose() {
        Ok(heard) => heard,
        Err(source) => {
            // What it started is found by its folder.
            super::reap_later(holder);
            return Err(SpawnError::Io { step: "hearing from the holder", source });
        }
    };
    match heard {
        Some(StartReport::Started) => Ok(holder),
        Some(StartReport::Failed { message, errno, full: is_full }) => {
            best_effort("reap a holder that failed", holder.wait());
            Err(match errno {
                _ if is_full => full(&message),
                Some(errno) => {
                    launch::spawn_error(name(config), io::Error::from_raw_os_error(errno))
                }
                None => SpawnError::Refused(message),
            })
        }
        None => {
            super::reap_later(holder);
            Err(SpawnError::Refused("the holder has no output".to_owned()))
        }
    }
}

/// What a folder that cannot be used means for the start.
impl From<FolderError> for SpawnError {
    fn from(error: FolderError) -> Self {
        let reason = error.to_string();
        if error.is_full() { full(&reason) } else { Self::Refused(reason) }
    }
}

/// The disk has no room: says so in the words that a file has for it, which not every error uses.
fn full(what: &str) -> SpawnError {
    let words = OpenObstacle::Full.to_string();
    let is_said = what.contains(&words);
    SpawnError::Full { reason: if is_said { what.to_owned() } else { format!("{what}: {words}") } }
}

/// Writes the holder down and then gives it its secret. It waits for that before it starts anything,
/// so that no process of a job is older than the entry of its holder.
fn introduce(
    holder: &mut Child,
    registry: Option<&HolderRegistry>,
    config: &SpawnConfig,
    folder: &Path,
    secret: &HolderSecret,
) -> io::Result<()> {
    if let Some(registry) = registry {
        // One that has ended already says why on its output.
        if let Some(identity) = Identity::of(holder.id() as i32) {
            // What is confined cannot kill its holder, and needs no other sign.
            registry.add(identity, &config.job, folder, config.sandbox.is_none())?;
        }
    }
    let Some(mut pipe) = holder.stdin.take() else { return Ok(()) };
    match pipe.write_all(secret.reveal()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn name(config: &SpawnConfig) -> String {
    config.argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default()
}

fn record(config: &SpawnConfig) -> Result<SpawnRecord, SpawnError> {
    let boot_id = machine::boot_id()
        .map_err(|source| SpawnError::Io { step: "asking the system", source })?;
    let confined_files = config.sandbox.as_ref().filter(|sandbox| !sandbox.signals_only);
    Ok(SpawnRecord {
        version: SpawnRecord::VERSION,
        job: config.job.clone(),
        argv: config.argv.iter().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        cwd: config.cwd.to_string_lossy().into_owned(),
        env: config.env.keys().map(|name| name.to_string_lossy().into_owned()).collect(),
        boot_id,
        sandbox: confined_files.map(|_| Enforcement::of_this_kernel()),
        scoped: config.sandbox.as_ref().map(|_| crate::sandbox::scopes_signals()),
        ticket: Some(ticket()),
        holder: None,
        process: None,
    })
}

/// A name that no other start has.
fn ticket() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), since.as_nanos())
}

fn spawn_holder(
    program: &Path,
    config: &SpawnConfig,
    registry: Option<&HolderRegistry>,
    folder: &Path,
    ticket: Option<String>,
) -> Result<Child, SpawnError> {
    let request = HoldRequest {
        folder: folder.to_owned(),
        job: config.job.clone(),
        connection: config.connection,
        input: config.input.clone(),
        sandbox: config.sandbox.clone(),
        keep: config.keep,
        ticket,
        has_secret: true,
        registry: registry.map(|registry| registry.path().to_owned()),
        argv: config.argv.clone(),
    };
    let mut command = Command::new(program);
    command
        .arg("hold")
        .args(request.to_args())
        .current_dir(&config.cwd)
        .env_clear()
        .envs(&config.env)
        .env_remove(JOB_VARIABLE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command.spawn().map_err(|source| match source.kind() {
        // Not what is to be held is missing, but who is to hold it.
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => SpawnError::Refused(format!(
            "{}, which holds agents, cannot be started in {}: {source}",
            program.display(),
            config.cwd.display()
        )),
        _ => launch::spawn_error(name(config), source),
    })
}

/// The holder's one line, or that it never came.
fn hear(mut output: ChildStdout) -> io::Result<StartReport> {
    let deadline = Instant::now() + START_TIMEOUT;
    let mut line = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        let ready = poll(&mut [PollFd::new(&output, PollFlags::IN)], timeout.as_ref());
        if left.is_zero() || ready == Ok(0) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the holder said nothing"));
        }
        let length = output.read(&mut buffer)?;
        line.extend_from_slice(&buffer[..length]);
        if length == 0 || line.ends_with(b"\n") {
            break;
        }
    }
    if line.is_empty() {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the holder ended at once"));
    }
    serde_json::from_slice(&line).map_err(io::Error::from)
}
