//! The life of the daemon: there is one for each user; it answers before it has found everything
//! again; it goes away without taking its agents along.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use coven_service::{
    DeviceStore, MAX_SOCKET_PATH_BYTES, ProcessIdentity, Service, ServiceConfig, ServiceOptions,
    UserFolders, private_file,
};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::device::DeviceAccess;
use crate::error::Error;
use crate::identity::DaemonIdentity;
use crate::listen::{Listening, PeerUsers};
use crate::log::DaemonLog;
use crate::options::Options;
use crate::port::LoopbackListener;
use crate::server;
use crate::sign_in::RedirectFile;
use crate::state::Daemon;

/// How many files may be open: a connection and a follower each, and some for every agent.
const MAX_OPEN_FILES: u64 = 16 * 1024;

/// How long a lock may outlive the daemon that had it.
const STALE_LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// How often it is looked at meanwhile.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Who is the daemon.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DaemonNote {
    version: u32,
    #[serde(flatten)]
    process: ProcessIdentity,
    program: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<SocketAddr>,
}

/// Runs the daemon until it is told to stop. Must be called within a tokio runtime that has
/// everything.
pub async fn serve(options: Options) -> Result<(), Error> {
    let places = options.places.clone();
    let state_dir = places.state_dir.clone();
    let inside = move || crate::peer::inside_agent(Some(&state_dir));
    if coven_service::blocking_work(inside).await {
        return Err(Error::InsideAgent);
    }
    make_room();
    // Whoever decides something first does not wait for it.
    drop(tokio::task::spawn_blocking(crate::person::look_up));
    for folder in [places.state_dir.clone(), places.run_dir(), places.feed()] {
        private_file::create_folder(&folder).map_err(|source| Error::file(folder, source))?;
    }
    private_file::check_contents(&places.state_dir)
        .map_err(|source| Error::file(&places.state_dir, source))?;
    let mut lock = take_lock(&places.lock()).await?;
    let config = ServiceConfig::load(&places.config())?;
    DaemonLog::open(&places.log())?.begin(config.log_level.unwrap_or_default());
    RedirectFile::remove_left_over(&places.run_dir());
    let (port, tcp) = (options.port.or(config.port), options.tcp);
    let users = PeerUsers::new(&config.proxy_users);
    let program = options.program;
    let service = Service::new(ServiceOptions { places: places.clone(), program, config })?;
    let identity = DaemonIdentity::load(&places.daemon_key())?;
    let devices = DeviceAccess::new(DeviceStore::open(places.devices()));
    let daemon = Daemon::new(service.clone(), identity, devices);
    let loopback =
        if tcp { Some(LoopbackListener::bind(port, &places.port()).await?) } else { None };
    let socket = bind_socket(&places.socket())?;
    if let Some(loopback) = &loopback {
        daemon.set_address(loopback.address, loopback.lost_port);
    }
    write_note(&mut lock, &places, daemon.address())?;
    let mut signals = StopSignals::new()?;
    tracing::info!(
        pid = std::process::id(),
        version = env!("CARGO_PKG_VERSION"),
        address = ?daemon.address(),
        "the daemon is there"
    );

    service.start_background();
    service.recover()?;
    let stopping = service.stopping();
    let router = server::router(daemon.clone());
    let listening = Listening::new(router, daemon.devices().clone(), users, stopping.clone());
    let mut listeners = tokio::task::JoinSet::new();
    listeners.spawn(listening.clone().socket(socket));
    if let Some(LoopbackListener { listener, address, .. }) = loopback {
        listeners.spawn(listening.clone().tcp(listener, address));
    }
    tokio::select! {
        () = signals.any() => tracing::info!("told to stop by a signal"),
        () = stopping.cancelled() => tracing::info!("told to stop by a request"),
    }
    service.stop(false);
    daemon.codes().forget_all();
    // No new connections from here on: a client that comes now finds no socket and may start the
    // next daemon.
    if let Err(error) = fs::remove_file(places.socket()) {
        tracing::debug!("could not remove the socket: {error}");
    }
    while listeners.join_next().await.is_some() {}
    listening.finish().await;
    service.close().await;
    tracing::info!("the daemon is gone");
    Ok(())
}

/// Makes room for as many connections as there may be, as far as the system lets us. Agents have
/// the same room then; programs that cannot use it do not notice.
fn make_room() {
    let now = getrlimit(Resource::Nofile);
    let wanted = now.maximum.unwrap_or(MAX_OPEN_FILES).min(MAX_OPEN_FILES);
    if now.current.is_some_and(|current| current < wanted) {
        // With less there are just fewer clients at once.
        if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..now }) {
            tracing::debug!("could not raise the limit of open files: {error}");
        }
    }
}

/// There is one daemon for each user. The lock goes with the process, however that ends; but what
/// the process was just starting has a share in it until it runs, so a lock whose owner is gone is
/// waited for.
async fn take_lock(path: &Path) -> Result<File, Error> {
    let begun = Instant::now();
    loop {
        match try_lock(path) {
            Err(Error::Running { pid: None }) if begun.elapsed() < STALE_LOCK_TIMEOUT => {
                tokio::time::sleep(LOCK_POLL_INTERVAL).await;
            }
            other => return other,
        }
    }
}

fn try_lock(path: &Path) -> Result<File, Error> {
    let wrong = |source| Error::file(path, source);
    let mut file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(wrong)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut text = String::new();
            // A note that cannot be read names no process, which the error then says.
            drop(file.read_to_string(&mut text));
            let owner = serde_json::from_str::<DaemonNote>(&text).ok().map(|note| note.process);
            let owner = owner.filter(|owner| owner.is_running());
            Err(Error::Running { pid: owner.map(|owner| owner.pid as u32) })
        }
        Err(errno) => Err(wrong(errno.into())),
    }
}

fn write_note(
    file: &mut File,
    places: &UserFolders,
    address: Option<SocketAddr>,
) -> Result<(), Error> {
    let program = format!("coven {}", env!("CARGO_PKG_VERSION"));
    let written = ProcessIdentity::own().and_then(|process| {
        let note = DaemonNote { version: 1, process, program, address };
        let text = serde_json::to_vec_pretty(&note)?;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(&text)
    });
    written.map_err(|source| Error::file(places.lock(), source))
}

/// The socket. One that is left over is from a daemon that died, because we have the lock.
fn bind_socket(path: &Path) -> Result<UnixListener, Error> {
    if path.as_os_str().len() > MAX_SOCKET_PATH_BYTES {
        return Err(Error::LongSocket(path.to_owned()));
    }
    let wrong = |source| Error::file(path, source);
    if let Some(folder) = path.parent() {
        private_file::create_folder(folder).map_err(|source| Error::file(folder, source))?;
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(wrong(error)),
        _ => {}
    }
    // Its folder is the user's alone, so no other user can connect between binding and this.
    let listener = UnixListener::bind(path).map_err(wrong)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(wrong)?;
    Ok(listener)
}

/// The signals that mean: go away.
struct StopSignals {
    term: tokio::signal::unix::Signal,
    int: tokio::signal::unix::Signal,
}

impl StopSignals {
    fn new() -> Result<Self, Error> {
        let listen = |kind| signal(kind).map_err(|source| Error::file("signals", source));
        Ok(Self { term: listen(SignalKind::terminate())?, int: listen(SignalKind::interrupt())? })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
}
