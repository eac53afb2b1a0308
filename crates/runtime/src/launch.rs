//! Starting one process on a terminal or on pipes: in a session of its own, with the terminal as
//! its controlling one, signals as by default and no descriptor of ours.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use coven_terminal::screen::GridSize;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, ioctl_fionread};
use rustix::process::{ioctl_tiocsctty, setsid};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, Winsize, tcflush, tcgetattr, tcsetattr,
    tcsetwinsize,
};

use crate::cgroup::JobCgroup;
use crate::domain::{Connection, DiscardResult, InputMode, SpawnConfig, SpawnError};
use crate::machine::{self, Confinement};
use crate::processes::JOB_VARIABLE;
use crate::system;

/// A process that was started, and our ends of its streams. All are non-blocking.
pub(crate) struct Launched {
    pub(crate) child: Child,
    pub(crate) streams: LaunchStreams,
}

pub(crate) enum LaunchStreams {
    /// A terminal. The other end stays open here, so that reading never fails only because the
    /// process closed its own for a while.
    Terminal { master: OwnedFd, slave: OwnedFd },
    /// Pipes. Each is gone once it was closed.
    Pipes { input: Option<OwnedFd>, output: Option<OwnedFd>, error: Option<OwnedFd> },
}

/// Finds what can be known to fail before anything is started.
pub(crate) fn check(config: &SpawnConfig) -> Result<PathBuf, SpawnError> {
    let program = config.argv.first().ok_or(SpawnError::EmptyCommand)?;
    check_directory(&config.cwd)?;
    find_program(program, config)
}

/// Starts a process, in a control group if it has one.
pub(crate) fn launch(
    config: &SpawnConfig,
    dies_with_us: bool,
    cgroup: Option<&JobCgroup>,
) -> Result<Launched, SpawnError> {
    let path = check(config)?;
    let program = config.argv.first().ok_or(SpawnError::EmptyCommand)?;
    let name = program.to_string_lossy().into_owned();
    let mut command = Command::new(&path);
    command
        .arg0(program)
        .args(&config.argv[1..])
        .current_dir(&config.cwd)
        .env_clear()
        .envs(&config.env)
        .env(JOB_VARIABLE, &config.job);
    let terminal = match config.connection {
        Connection::Terminal(size) => Some(open_terminal(size)?),
        Connection::Pipes => None,
    };
    connect(&mut command, terminal.as_ref(), config.input.as_deref())?;
    let own = config.folder.as_deref();
    let confinement = config.sandbox.as_ref().map(|sandbox| Confinement::prepare(sandbox, own));
    let mut confinement = confinement.transpose()?;
    let on_terminal = terminal.is_some();
    let limit = machine::job_limit();
    let entrance = cgroup.and_then(|cgroup| cgroup.entrance().ok());
    let parent = rustix::process::getpid();
    system::before_exec(&mut command, move || {
        setsid()?;
        if on_terminal {
            ioctl_tiocsctty(rustix::stdio::stdin())?;
        }
        if dies_with_us {
            machine::die_with_parent(parent)?;
        }
        if let Some(entrance) = &entrance {
            // A group that has come to be closed is one sign less, and no reason not to start.
            let _entered = rustix::io::write(entrance, b"0");
        }
        system::reset_signals();
        machine::close_on_exec()?;
        if let Some(limit) = limit {
            machine::lower_limit(limit)?;
        }
        if let Some(confinement) = confinement.take() {
            confinement.enforce()?;
        }
        Ok(())
    });
    let mut child = command.spawn().map_err(|source| spawn_error(name, source))?;
    let streams = match terminal {
        Some((master, slave)) => LaunchStreams::Terminal { master, slave },
        None => LaunchStreams::Pipes {
            input: child.stdin.take().map(OwnedFd::from),
            output: child.stdout.take().map(OwnedFd::from),
            error: child.stderr.take().map(OwnedFd::from),
        },
    };
    streams
        .set_nonblocking()
        .map_err(|source| SpawnError::Io { step: "setting up pipes", source })?;
    Ok(Launched { child, streams })
}

impl LaunchStreams {
    /// Streams that have all ended.
    pub(crate) fn closed() -> Self {
        Self::Pipes { input: None, output: None, error: None }
    }

    /// Whether everything that will ever be printed on standard output was read.
    pub(crate) fn output_is_closed(&self) -> bool {
        matches!(self, Self::Pipes { output: None, .. })
    }

    /// What the terminal does with what is typed; nothing for pipes.
    pub(crate) fn input_mode(&self) -> Option<InputMode> {
        let Self::Terminal { slave, .. } = self else { return None };
        let modes = tcgetattr(slave).ok()?.local_modes;
        Some(InputMode {
            echoes: modes.contains(LocalModes::ECHO),
            collects_lines: modes.contains(LocalModes::ICANON),
        })
    }

    /// Throws away what the process has not read, if that is at least so many bytes. With none, also
    /// a line that has no end yet, which the system does not count.
    pub(crate) fn discard_unread(&self, at_least: u32) -> Option<DiscardResult> {
        let Self::Terminal { slave, .. } = self else { return None };
        let unread = u32::try_from(ioctl_fionread(slave).ok()?).unwrap_or(u32::MAX);
        let is_enough = at_least == 0 || unread > 0 && unread >= at_least;
        let discarded = is_enough && tcflush(slave, QueueSelector::IFlush).is_ok();
        Some(DiscardResult { unread, discarded })
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Terminal { master, .. } => set_nonblocking(master),
            Self::Pipes { input, output, error } => {
                [input, output, error].into_iter().flatten().try_for_each(set_nonblocking)
            }
        }
    }
}

pub(crate) fn set_nonblocking(descriptor: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&descriptor)?;
    fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?;
    Ok(())
}

/// A new terminal: our end and the program's.
fn open_terminal(size: GridSize) -> Result<(OwnedFd, OwnedFd), SpawnError> {
    let open = || -> rustix::io::Result<(OwnedFd, OwnedFd)> {
        let (master, slave) = machine::open_terminal()?;
        // Backspace must erase whole characters.
        let mut attributes = tcgetattr(&slave)?;
        attributes.input_modes.insert(InputModes::IUTF8);
        tcsetattr(&slave, OptionalActions::Now, &attributes)?;
        set_size(&master, size)?;
        Ok((master, slave))
    };
    open().map_err(|errno| match errno {
        Errno::MFILE | Errno::NFILE => exhausted("file descriptors", errno),
        Errno::NOSPC | Errno::IO | Errno::AGAIN | Errno::NOMEM => exhausted("terminals", errno),
        _ => SpawnError::Io { step: "opening a terminal", source: errno.into() },
    })
}

fn exhausted(what: &'static str, errno: Errno) -> SpawnError {
    SpawnError::Exhausted { what, source: errno.into() }
}

pub(crate) fn set_size(terminal: impl AsFd, size: GridSize) -> rustix::io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size)
}

fn connect(
    command: &mut Command,
    terminal: Option<&(OwnedFd, OwnedFd)>,
    input: Option<&Path>,
) -> Result<(), SpawnError> {
    let Some((_, slave)) = terminal else {
        let input = input.map(File::open).transpose();
        let input = input.map_err(|source| SpawnError::Io { step: "opening the input", source })?;
        command.stdin(input.map_or_else(Stdio::piped, Stdio::from));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        return Ok(());
    };
    let end = || -> Result<Stdio, SpawnError> {
        let copy = slave.try_clone();
        let copy =
            copy.map_err(|source| SpawnError::Exhausted { what: "file descriptors", source })?;
        Ok(Stdio::from(copy))
    };
    command.stdin(end()?).stdout(end()?).stderr(end()?);
    Ok(())
}

fn check_directory(path: &Path) -> Result<(), SpawnError> {
    let entered = File::open(path).and_then(|file| file.metadata()).and_then(|metadata| {
        if metadata.is_dir() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::NotADirectory)) }
    });
    entered.map_err(|source| SpawnError::WorkingDirectory { path: path.to_owned(), source })
}

/// Finds a program the way a shell would: a path as it is, a name in `PATH`.
fn find_program(program: &OsStr, config: &SpawnConfig) -> Result<PathBuf, SpawnError> {
    let name = || program.to_string_lossy().into_owned();
    if program.as_bytes().contains(&b'/') {
        let path = config.cwd.join(program);
        return match std::fs::metadata(&path) {
            Ok(metadata) if is_executable(&metadata) => Ok(path),
            Ok(metadata) => {
                let kind = if metadata.is_dir() {
                    io::ErrorKind::IsADirectory
                } else {
                    io::ErrorKind::PermissionDenied
                };
                Err(SpawnError::NotExecutable { program: name(), source: kind.into() })
            }
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                Err(SpawnError::NotFound { program: name(), path: "it is a path".to_owned() })
            }
            Err(source) => Err(SpawnError::NotExecutable { program: name(), source }),
        };
    }
    let search = config
        .env
        .get(OsStr::new("PATH"))
        .cloned()
        .unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    let mut denied = false;
    for directory in std::env::split_paths(&search) {
        let path = config.cwd.join(directory).join(program);
        if let Ok(metadata) = std::fs::metadata(&path).as_ref() {
            if is_executable(metadata) {
                return Ok(path);
            }
            denied |= metadata.is_file();
        }
    }
    if denied {
        let source = io::ErrorKind::PermissionDenied.into();
        return Err(SpawnError::NotExecutable { program: name(), source });
    }
    Err(SpawnError::NotFound { program: name(), path: search.to_string_lossy().into_owned() })
}

fn is_executable(metadata: &std::fs::Metadata) -> bool {
    metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
}

pub(crate) fn spawn_error(program: String, source: io::Error) -> SpawnError {
    match source.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::TOOBIG) => SpawnError::TooLong { program },
        Some(Errno::MFILE | Errno::NFILE) => {
            SpawnError::Exhausted { what: "file descriptors", source }
        }
        Some(Errno::AGAIN | Errno::NOMEM) => SpawnError::Exhausted { what: "processes", source },
        Some(Errno::ACCESS | Errno::NOEXEC | Errno::NOENT) => {
            SpawnError::NotExecutable { program, source }
        }
        _ => SpawnError::Io { step: "starting the process", source },
    }
}
