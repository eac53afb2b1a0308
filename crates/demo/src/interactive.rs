//! The agent on a real terminal: carries bytes, time and news to the [`Tui`] and does what it says.
//! One loop waits for everything at once, and for nothing while nothing happens.

mod screen;

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use signal_hook::consts::{SIGCHLD, SIGWINCH};

use crate::error::Error;
use crate::helper::leave_streams;
use crate::job::{Job, Outcome};
use crate::options::Options;
use crate::script::{End, Tool, Trick};
use crate::session::{Session, Store};
use crate::streams::{Output, Streams};
use crate::task::Task;
use crate::trick::Tricks;
use crate::tui::{Action, Deed, Tui};
use crate::wait::{self, Wakeups};
use crate::{VERSION, flood, signals, tool};
use screen::Screen;

/// The exit code when the terminal has gone away, as if SIGHUP had ended the process.
const HANGUP: u8 = 129;

/// Converses until the end, and returns the exit code.
pub(crate) fn run(
    options: &Options,
    task: Option<Task>,
    session: Session,
    store: Store,
    streams: Streams<'_>,
) -> Result<u8, Error> {
    // Before the size is read, so that no change is missed.
    let wakeups = Wakeups::new(&[SIGCHLD, SIGWINCH]).map_err(Error::Terminal)?;
    let screen = Screen::take_over(streams, options.alternate).map_err(Error::Terminal)?;
    let banner = banner(options, &session);
    let mut agent = Agent {
        tui: Tui::new(options, session, screen.size()),
        screen,
        streams,
        store,
        wakeups,
        job: None,
        tricks: Tricks::default(),
        started: Instant::now(),
        input_ended: false,
    };
    agent.tui.start(&banner, task, Duration::ZERO);
    let end = match agent.converse() {
        Ok(end) => end,
        Err(error) if is_hangup(&error) => End::Exit { code: HANGUP, now: true },
        Err(error) => return Err(Error::Terminal(error)),
    };
    agent.end(&end).map_err(Error::Terminal)
}

fn banner(options: &Options, session: &Session) -> String {
    let cwd = std::env::current_dir().unwrap_or_default();
    format!(
        "Demo agent {VERSION}\n{} · permissions: {}\n{}",
        session.model,
        options.permissions.name(),
        cwd.display()
    )
}

fn is_hangup(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

/// An agent at work.
struct Agent<'a> {
    tui: Tui,
    screen: Screen<'a>,
    streams: Streams<'a>,
    store: Store,
    wakeups: Wakeups,
    /// The command that is running.
    job: Option<Job>,
    tricks: Tricks,
    started: Instant,
    /// The terminal has gone away, and the agent does not care.
    input_ended: bool,
}

impl Agent<'_> {
    fn converse(&mut self) -> io::Result<End> {
        loop {
            if let Some(end) = self.carry_out()? {
                return Ok(end);
            }
            let timeout = self.tui.deadline().map(|at| at.saturating_sub(self.now()));
            let input = (!self.input_ended).then(|| self.streams.input.as_fd());
            let job = self.job.as_ref().and_then(Job::fd);
            let [typed, woken, printed] =
                wait::ready([input, Some(self.wakeups.as_fd()), job], timeout)?;
            if woken {
                self.wakeups.clear();
                self.tui.resize(self.screen.size(), self.now());
            }
            if woken || printed {
                self.check_job()?;
            }
            if typed && !self.read()? {
                return Ok(End::Exit { code: HANGUP, now: true });
            }
            if self.tui.deadline().is_some_and(|at| at <= self.now()) {
                self.tui.tick(self.now());
            }
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Reads what was typed. Returns whether the agent goes on.
    fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        match rustix::io::read(self.streams.input, &mut buffer) {
            Ok(0) | Err(Errno::IO) if signals::ignored() => self.input_ended = true,
            Ok(0) | Err(Errno::IO) => return Ok(false),
            Ok(count) => self.tui.input(&buffer[..count], self.now()),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    fn check_job(&mut self) -> io::Result<()> {
        if let Some(job) = &mut self.job
            && let Some(outcome) = job.check()?
        {
            self.end_job();
            self.tui.finished(&outcome, self.now());
        }
        Ok(())
    }

    fn end_job(&mut self) {
        self.screen.end_job(self.job.take());
    }

    /// Does what is to be done, until nothing is left or the end has come.
    fn carry_out(&mut self) -> io::Result<Option<End>> {
        loop {
            let actions = self.tui.actions();
            if actions.is_empty() {
                return Ok(None);
            }
            for action in actions {
                match action {
                    Action::Print(bytes) => self.print(&bytes)?,
                    Action::Do(deed) => self.perform(&deed)?,
                    Action::Cancel => self.end_job(),
                    Action::Save(session) => {
                        if let Err(error) = self.store.save(&session) {
                            let note = format!("{error}: this session cannot be resumed");
                            self.tui.note(&note, self.now());
                        }
                    }
                    Action::End(end) => return Ok(Some(end)),
                }
            }
        }
    }

    fn print(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.screen.write(bytes) {
            // An agent that ignores signals goes on without a terminal, too.
            Err(error) if is_hangup(&error) && signals::ignored() => Ok(()),
            result => result,
        }
    }

    fn perform(&mut self, deed: &Deed) -> io::Result<()> {
        let outcome = match deed {
            Deed::Tool(Tool::Command(command)) => match self.screen.start_job(command) {
                Ok(job) => {
                    self.job = Some(job);
                    return Ok(());
                }
                Err(error) => Outcome::failed(error.to_string()),
            },
            Deed::Tool(Tool::Write { path, text }) => tool::write(path, text),
            Deed::Trick(trick) => {
                if let Trick::Flood(bytes) = trick {
                    flood::write(*bytes, &mut Output(self.streams.output))?;
                }
                self.tricks.play(trick)
            }
        };
        self.tui.finished(&outcome, self.now());
        Ok(())
    }

    /// Ends as the end wants it. What was to be shown has been shown.
    fn end(mut self, end: &End) -> io::Result<u8> {
        self.end_job();
        match end {
            End::Exit { code, .. } => {
                self.screen.give_back();
                Ok(*code)
            }
            End::SplitUtf8 => {
                self.screen.give_back();
                Ok(0)
            }
            End::Die(signal) => {
                signals::die(*signal)?;
                Ok(0)
            }
            End::CloseTty(time) => {
                self.screen.give_back();
                leave_streams()?;
                wait::pause(*time);
                Ok(0)
            }
        }
    }
}
