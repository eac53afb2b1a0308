//! Finding the daemon, and starting it by need.

use std::env;
use std::fs::{self, File};
use std::future::Future;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use coven_api::system::VersionResponse;
use coven_api::{API_VERSION, ApiClient, ClientError, DaemonAddress};
use tokio::process::{Child, Command};
use tokio::time::{Instant, interval, timeout_at};

use crate::failure::{CommandFailure, FailureCode, Result};
use crate::{folders, output};

/// How long a daemon may take until it answers. It answers within a third of a second; the rest is
/// for machines that are busy.
const DAEMON_READY_TIMEOUT: Duration = Duration::from_secs(5);

/// How often it is tried whether it answers.
const CONNECT_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Runs something that waits.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
            CommandFailure::failed(format!("the program cannot be set up: {error}"))
        })?;
    let done = runtime.block_on(future);
    // Nothing that still runs is worth waiting for.
    runtime.shutdown_background();
    done
}

/// The daemon, started if it is not there.
pub(crate) async fn daemon() -> Result<ApiClient> {
    let client = client()?;
    let version = match client.version().await {
        Ok(version) => version,
        Err(ClientError::Unreachable(_)) => start(&client).await?.1,
        Err(error) => return Err(error.into()),
    };
    compare(&version)?;
    Ok(client)
}

/// The daemon, if it is there.
pub(crate) async fn running() -> Result<Option<(ApiClient, VersionResponse)>> {
    let client = client()?;
    match client.version().await {
        Ok(version) => Ok(Some((client, version))),
        Err(ClientError::Unreachable(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A client of the user's daemon; nothing is sent yet.
fn client() -> Result<ApiClient> {
    Ok(ApiClient::new(DaemonAddress::Socket(folders::places()?.socket()))?)
}

/// Whether another process started the daemon meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DaemonStart {
    /// It was started now.
    Now,
    Before,
}

/// Starts the daemon and waits until it answers.
pub(crate) async fn start(client: &ApiClient) -> Result<(DaemonStart, VersionResponse)> {
    not_inside_agent()?;
    let places = folders::places()?;
    let notes = places.state_dir.join("run/daemon.stderr");
    let mut child = spawn(&places.state_dir, &notes).map_err(|error| {
        CommandFailure::new(
            FailureCode::Unreachable,
            format!("the daemon cannot be started: {error}"),
        )
        .hint(format!("can {} be written to?", places.state_dir.display()))
    })?;
    let deadline = Instant::now() + DAEMON_READY_TIMEOUT;
    let mut again = interval(CONNECT_RETRY_INTERVAL);
    let mut ended = false;
    loop {
        tokio::select! {
            _ = again.tick() => {}
            // Another command may have been quicker; then ours ends and the other's answers.
            _ = child.wait(), if !ended => ended = true,
        }
        match timeout_at(deadline, client.version()).await {
            Ok(Ok(version)) => {
                let ours = child.id().is_some_and(|pid| pid == version.pid);
                if !ours {
                    // One that comes to the lock late, when the other has been stopped again, would
                    // be a daemon that no command wants.
                    child.kill().await.ok();
                }
                return Ok((if ours { DaemonStart::Now } else { DaemonStart::Before }, version));
            }
            Ok(Err(ClientError::Unreachable(_))) if !ended || said(&notes).is_empty() => {}
            Ok(Err(ClientError::Unreachable(_))) => {
                // It gave up. If that was because another one runs, that one answers soon.
                if !said(&notes).contains("already") {
                    return Err(gave_up(&notes));
                }
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => return Err(not_ready(&notes)),
        }
        if Instant::now() >= deadline {
            return Err(if ended { gave_up(&notes) } else { not_ready(&notes) });
        }
    }
}

/// An agent may look at what is there, and be the parent of nothing.
pub(crate) fn not_inside_agent() -> Result {
    let state_dir = folders::places().ok().map(|places| places.state_dir);
    if !coven_daemon::inside_agent(state_dir.as_deref()) {
        return Ok(());
    }
    let message = "the daemon does not run, and an agent may not start it";
    let hint = "ask the person who runs you: coven daemon start";
    Err(CommandFailure::new(FailureCode::Unreachable, message).hint(hint))
}

/// Starts the daemon apart from this terminal. What it complains about before it has a log goes
/// to a file of its own.
fn spawn(state: &Path, notes: &Path) -> io::Result<Child> {
    let folder = notes.parent().unwrap_or(state);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let notes = File::options().create(true).truncate(true).write(true).mode(0o600).open(notes)?;
    Command::new(program()?)
        .args(["daemon", "run", "--detached"])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(notes)
        .spawn()
}

/// This program. After an update its old file is gone, and the new one is at the same place.
pub(crate) fn program() -> io::Result<PathBuf> {
    let path = env::current_exe()?;
    let text = path.to_string_lossy();
    Ok(text.strip_suffix(" (deleted)").map_or_else(|| path.clone(), PathBuf::from))
}

fn said(notes: &Path) -> String {
    fs::read_to_string(notes).unwrap_or_default()
}

fn gave_up(notes: &Path) -> CommandFailure {
    let said = said(notes);
    let why = said.trim().strip_prefix("error: ").unwrap_or(said.trim());
    let (why, hint) = why.split_once("\nhint: ").unwrap_or((why, "coven daemon run"));
    let why = if why.is_empty() { "it ended without a word" } else { why };
    let why = coven_terminal::sanitise::strip(why.as_bytes()).into_owned();
    CommandFailure::new(FailureCode::Unreachable, format!("the daemon cannot be started: {why}"))
        .hint(hint)
}

fn not_ready(notes: &Path) -> CommandFailure {
    let seconds = DAEMON_READY_TIMEOUT.as_secs();
    let mut failure = CommandFailure::new(
        FailureCode::Unreachable,
        format!("the daemon was started and does not answer after {seconds} seconds"),
    );
    failure = failure.hint("`coven daemon logs` shows what it does; then try again");
    if !said(notes).trim().is_empty() {
        return gave_up(notes);
    }
    failure
}

/// Explains what it means that the daemon is of another version.
fn compare(version: &VersionResponse) -> Result {
    let ours = env!("CARGO_PKG_VERSION");
    let restart = "coven daemon stop && coven daemon start   (agents go on meanwhile)";
    if version.api != API_VERSION {
        return Err(CommandFailure::new(
            FailureCode::Unreachable,
            format!(
                "the daemon is coven {} with API {}, this command is coven {ours} with API {API_VERSION}: they do not understand each other",
                version.version, version.api
            ),
        )
        .hint(restart));
    }
    if version.version != ours {
        output::say!(
            "note: the daemon is coven {}, this command is coven {ours}; to have the same: {restart}",
            coven_notation::printable(&version.version)
        );
    }
    Ok(())
}

/// What to say when the daemon could not have the port that it had before.
pub(crate) fn lost_port(port: u16) -> String {
    format!(
        "note: another program has port {port}, which the daemon had before. Do not use pages that \
         are open there; browsers sign in again at the new address."
    )
}

/// The environment of this command, for the jobs it starts. What is not text cannot be handed
/// over.
pub(crate) fn environment() -> std::collections::BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    env::vars_os().filter_map(text).collect()
}
