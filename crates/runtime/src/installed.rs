//! Programs that are installed: where they are, and what they print about themselves.
//!
//! A program is asked once and remembered by its name, path, inode and times: CLIs update themselves
//! while we run, and to ask one costs seconds, because some start a whole runtime for it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};

/// The most that is read of what a program prints.
const MAX_PRINTED_BYTES: u64 = 64 * 1024;

/// How many programs are remembered; a machine has a handful of agent CLIs.
const MAX_REMEMBERED: usize = 64;

/// What programs printed. One for the process, because what it says is true of the machine and not
/// of whoever asks.
static PRINTED: LazyLock<Mutex<HashMap<Question, String>>> = LazyLock::new(Mutex::default);

/// Why a program did not say what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("it could not be started: {0}")]
    Start(#[source] io::Error),
    #[error("it said nothing for {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("it printed nothing that is text")]
    Silent,
}

/// A program as it is on the disk now, and what it is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question {
    /// As it is started: one file may be several programs, which know by their names which is meant.
    program: PathBuf,
    /// Without links, because an update of many programs is another link.
    path: PathBuf,
    device: u64,
    inode: u64,
    modified: (i64, i64),
    /// Changes with whatever is done to the file, also where an installer sets the other time.
    changed: (i64, i64),
    args: Vec<String>,
}

impl Question {
    fn new(program: &Path, args: &[String]) -> io::Result<Self> {
        let path = fs::canonicalize(program)?;
        let about = fs::metadata(&path)?;
        Ok(Self {
            program: program.to_owned(),
            path,
            device: about.dev(),
            inode: about.ino(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
            args: args.to_vec(),
        })
    }
}

/// Where a program is, as a shell with this `PATH` would find it. Folders that are not absolute are
/// left out: they mean another place in every folder.
pub fn find(program: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_absolute()).filter(runs);
    }
    std::env::split_paths(path?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(runs)
}

/// The program that is always there, as adapters name it.
const OWN_PROGRAM: &str = "coven";

/// Where programs are looked for if there is no `PATH`.
const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// Whether a program can be started by a job with this `PATH`, as far as one can tell before. What
/// is relative to a folder is not judged: the folder of a job is not known yet.
pub fn may_start(program: &str, path: Option<&OsStr>) -> bool {
    let path = path.unwrap_or_else(|| OsStr::new(DEFAULT_PATH));
    let is_relative = if program.contains('/') {
        !program.starts_with('/')
    } else {
        std::env::split_paths(path).any(|folder| folder.is_relative())
    };
    program == OWN_PROGRAM || is_relative || find(program, Some(path)).is_some()
}

/// What a program prints when it is started with these arguments: asked now, or remembered if the
/// program is still the same. Waits for it, but no longer than this; one that did not answer in
/// time is asked again the next time.
pub fn printed_by(
    program: &Path,
    args: &[String],
    env: Option<&BTreeMap<OsString, OsString>>,
    timeout: Duration,
) -> Result<String, AskError> {
    let question = Question::new(program, args).map_err(AskError::Start)?;
    if let Some(printed) = PRINTED.lock().get(&question) {
        return Ok(printed.clone());
    }
    let printed = ask(program, args, env, timeout)?;
    let mut known = PRINTED.lock();
    // What the program was before is of no use any more.
    known.retain(|other, _| other.program != question.program || other.args != question.args);
    if known.len() >= MAX_REMEMBERED {
        known.clear();
    }
    known.insert(question, printed.clone());
    Ok(printed)
}

fn ask(
    program: &Path,
    args: &[String],
    env: Option<&BTreeMap<OsString, OsString>>,
    timeout: Duration,
) -> Result<String, AskError> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // A group of its own, so that what it starts can be ended with it.
    command.process_group(0);
    if let Some(env) = env {
        command.env_clear().envs(env);
    }
    let mut child = command.spawn().map_err(AskError::Start)?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (sender, receiver) = sync_channel(1);
    let reader = thread::spawn(move || {
        let printed = read_to_end(&mut child);
        // Once the time is up there is no one left to tell.
        sender.send(printed).ok();
    });
    let came = receiver.recv_timeout(timeout);
    if came.is_err()
        && let Some(group) = group
    {
        // It fails when the program has just ended, which is what is wanted.
        kill_process_group(group, Signal::KILL).ok();
    }
    // With the whole group ended nothing holds the pipe any more.
    reader.join().ok();
    match came {
        Err(_) => Err(AskError::TimedOut(timeout)),
        Ok(Err(error)) => Err(AskError::Start(error)),
        Ok(Ok(printed)) => String::from_utf8(printed).map_err(|_| AskError::Silent),
    }
}

/// Reads what a program prints, and waits for its end.
fn read_to_end(child: &mut Child) -> io::Result<Vec<u8>> {
    let mut printed = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(MAX_PRINTED_BYTES).read_to_end(&mut printed)?;
    }
    child.wait()?;
    Ok(printed)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const PATIENT: Duration = Duration::from_mins(1);

    /// Another process writes it: what this one has open for writing, a child of another test
    /// inherits, and then it cannot be started.
    fn write(path: &Path, script: &str) {
        let write = "printf '#!/bin/sh\\n%s\\n' \"$2\" > \"$1\" && chmod 755 \"$1\"";
        let status =
            Command::new("sh").args(["-c", write, "sh"]).arg(path).arg(script).status().unwrap();
        assert!(status.success());
    }

    /// A program that prints a version and counts how often it was asked.
    fn program(folder: &Path, version: &str) -> PathBuf {
        let path = folder.join("agent");
        let new = folder.join("agent.new");
        let asked = folder.join("asked");
        write(&new, &format!("echo x >> {}; echo {version}", asked.display()));
        fs::rename(new, &path).unwrap();
        path
    }

    fn asked(folder: &Path) -> usize {
        fs::read_to_string(folder.join("asked")).unwrap_or_default().lines().count()
    }

    #[test]
    fn a_program_is_asked_once_and_again_after_it_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = program(folder.path(), "1.0.0");
        for _ in 0..3 {
            assert_eq!(printed_by(&path, &[], None, PATIENT).unwrap(), "1.0.0\n");
        }
        assert_eq!(asked(folder.path()), 1);
        // It updates itself: another file under the same name, by a link too.
        program(folder.path(), "1.1.0");
        assert_eq!(printed_by(&path, &[], None, PATIENT).unwrap(), "1.1.0\n");
        assert_eq!(asked(folder.path()), 2);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(printed_by(&link, &[], None, PATIENT).unwrap(), "1.1.0\n");
        assert_eq!(asked(folder.path()), 3, "under another name it may be another program");
        assert_eq!(printed_by(&link, &[], None, PATIENT).unwrap(), "1.1.0\n");
        assert_eq!(asked(folder.path()), 3);
    }

    /// Version managers have one file for many programs.
    #[test]
    fn links_to_one_file_are_programs_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let shim = folder.path().join("shim");
        write(&shim, "echo \"$(basename \"$0\") 1.0\"");
        for name in ["one", "other", "one"] {
            let link = folder.path().join(name);
            std::os::unix::fs::symlink(&shim, &link).ok();
            assert_eq!(printed_by(&link, &[], None, PATIENT).unwrap(), format!("{name} 1.0\n"));
        }
    }

    #[test]
    fn a_program_that_says_nothing_is_ended_with_all_it_started_and_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pid) = (folder.path().join("agent"), folder.path().join("pid"));
        write(&path, &format!("sleep 600 & echo $! > {}; wait", pid.display()));
        let begun = Instant::now();
        let timeout = Duration::from_secs(2);
        let said = printed_by(&path, &[], None, timeout);
        assert!(matches!(said, Err(AskError::TimedOut(_))), "{said:?}");
        assert!(begun.elapsed() < PATIENT, "the child held the pipe");
        // The machine may have been too busy for the script to get that far.
        if let Ok(child) = fs::read_to_string(&pid) {
            let stat = format!("/proc/{}/stat", child.trim());
            // The signal is sent; the kernel may still be at it.
            let runs = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
            while runs() {
                assert!(begun.elapsed() < PATIENT, "its child still runs");
                thread::yield_now();
            }
        }
        program(folder.path(), "2.0.0");
        assert_eq!(printed_by(&path, &[], None, PATIENT).unwrap(), "2.0.0\n");
    }

    #[test]
    fn a_program_is_found_as_a_shell_finds_it_in_absolute_folders_only() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir(&first).unwrap();
        fs::create_dir(&second).unwrap();
        fs::write(first.join("agent"), "not executable").unwrap();
        let wanted = program(&second, "1");
        let path = std::env::join_paths([Path::new("."), &first, &second]).unwrap();
        assert_eq!(find("agent", Some(&path)), Some(wanted.clone()));
        assert_eq!(find("agent", None), None);
        assert_eq!(find(wanted.to_str().unwrap(), None), Some(wanted));
        assert_eq!(find("./agent", Some(&path)), None);
    }
}
