//! Reading a file through a PTY, as a daemon reads an agent and as tmux reads a pane.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::cpu;

/// What a read from a PTY returns.
pub const CHUNK: usize = 4096;

/// CPU time of this thread for reading all that `cat` writes to a PTY.
pub fn read(file: &Path, mut work: impl FnMut(&[u8])) -> io::Result<Duration> {
    let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&main)?;
    unlockpt(&main)?;
    let name = ptsname(&main, Vec::new())?;
    let terminal = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
    let mut settings = tcgetattr(&terminal)?;
    settings.make_raw();
    tcsetattr(&terminal, OptionalActions::Now, &settings)?;

    // `cat` gets the only descriptor of the terminal: when it ends, reading ends.
    let mut cat = Command::new("cat")
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::from(terminal))
        .stderr(Stdio::null())
        .spawn()?;
    let mut main = File::from(main);
    let mut buffer = [0; CHUNK];
    let time = cpu::of(|| {
        // Where all have closed a terminal, Linux answers with an error instead of an end.
        while let Ok(length @ 1..) = main.read(&mut buffer) {
            work(&buffer[..length]);
        }
    });
    cat.wait()?;
    Ok(time)
}
