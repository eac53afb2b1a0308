//! A terminal for a program to run on: a PTY, and the screen that its output paints.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::time::Instant;

use coven_terminal::screen::{GridSize, Screen};
use coven_terminal::signals::{ProgramState, TerminalSignal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal as Kill, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::STEP_TIMEOUT;

/// A program on a terminal. It has no controlling terminal, so signals have to be sent by hand.
pub(crate) struct Terminal {
    master: File,
    child: Child,
    screen: Screen,
    /// How the terminal was set before the agent came.
    before: Termios,
    /// Everything the agent has written.
    pub(crate) bytes: Vec<u8>,
    /// The states it has announced.
    pub(crate) states: Vec<ProgramState>,
    ended: bool,
}

impl Terminal {
    pub(crate) fn start(mut program: Command, size: (u16, u16)) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = open(&name, flags, Mode::empty()).unwrap();
        set_size(&master, size);
        let before = tcgetattr(&master).unwrap();
        program.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
        let child = program.spawn().unwrap();
        // The command keeps our ends of the terminal open for as long as it is there.
        drop(program);
        Self {
            master: master.into(),
            child,
            screen: Screen::new(GridSize::new(size.0, size.1)),
            before,
            bytes: Vec::new(),
            states: Vec::new(),
            ended: false,
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn send(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn kill(&self, signal: Kill) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn resize(&mut self, size: (u16, u16)) {
        set_size(&self.master, size);
        self.screen.resize(GridSize::new(size.0, size.1));
        self.kill(Kill::WINCH);
    }

    /// Whether the terminal passes every key on as it is.
    pub(crate) fn is_raw(&self) -> bool {
        !tcgetattr(&self.master).unwrap().local_modes.contains(LocalModes::ICANON)
    }

    /// Whether the terminal is set as it was before the agent came.
    pub(crate) fn is_restored(&self) -> bool {
        let now = tcgetattr(&self.master).unwrap();
        now.local_modes == self.before.local_modes
            && now.input_modes == self.before.input_modes
            && now.output_modes == self.before.output_modes
    }

    pub(crate) fn title(&self) -> &str {
        self.screen.title()
    }

    /// Whether nothing is on that was not on when it was new, and the cursor is to be seen.
    pub(crate) fn is_as_new(&self) -> bool {
        let new = Screen::new(self.screen.size());
        self.screen.modes() == new.modes() && self.screen.cursor().visible
    }

    pub(crate) fn alternate(&self) -> bool {
        self.screen.modes().alternate_screen
    }

    /// The screen without what is empty at the right and at the bottom.
    pub(crate) fn text(&mut self) -> String {
        let text = self.screen.snapshot().text();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Reads until the screen is as it should be.
    pub(crate) fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let end = Instant::now() + STEP_TIMEOUT;
        while !is_so(self) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !self.ended, "no {what}, but\n{}", self.text());
            self.read(left.as_millis() as u64);
        }
    }

    pub(crate) fn until_shows(&mut self, text: &str) {
        self.until(text, |terminal| terminal.text().contains(text));
    }

    pub(crate) fn until_state(&mut self, state: ProgramState) {
        self.until(&format!("{state:?}"), |terminal| terminal.states.last() == Some(&state));
    }

    /// Waits for output, at most that long, and reads it. Returns whether there was any.
    pub(crate) fn read(&mut self, milliseconds: u64) -> bool {
        let timeout = Timespec {
            tv_sec: (milliseconds / 1000) as i64,
            tv_nsec: (milliseconds % 1000 * 1_000_000) as i64,
        };
        let mut fds = [PollFd::new(&self.master, PollFlags::IN)];
        if poll(&mut fds, Some(&timeout)).unwrap() == 0 {
            return false;
        }
        let mut buffer = [0; 16384];
        // Reading a terminal whose other side is closed ends with an error.
        let count = self.master.read(&mut buffer).unwrap_or(0);
        self.ended = count == 0;
        self.screen.feed(&buffer[..count]);
        self.bytes.extend_from_slice(&buffer[..count]);
        let states = self.screen.take_signals().into_iter().filter_map(|signal| match signal {
            TerminalSignal::Status(status) => Some(status.state),
            _ => None,
        });
        self.states.extend(states);
        count > 0
    }

    /// Reads everything up to the end of the output, which is when no process has the terminal
    /// open.
    pub(crate) fn read_to_end(&mut self) {
        let end = Instant::now() + STEP_TIMEOUT;
        while !self.ended {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no end, but\n{}", self.text());
            self.read(left.as_millis() as u64);
        }
    }

    /// Reads to the end, and returns how the agent ended.
    pub(crate) fn finish(&mut self) -> ExitStatus {
        self.read_to_end();
        self.child.wait().unwrap()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Closes the terminal under the agent.
    pub(crate) fn hang_up(self) -> Child {
        let Self { master, child, .. } = self;
        drop(OwnedFd::from(master));
        child
    }
}

fn set_size(master: impl std::os::fd::AsFd, (columns, rows): (u16, u16)) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).unwrap();
}
