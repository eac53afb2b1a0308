//! The agent on a real terminal: carries bytes, time and news to the [`AgentTui`] and does what it
//! says. One loop waits for everything at once, and for nothing while nothing happens.

mod screen;

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use signal_hook::consts::{SIGCHLD, SIGWINCH};

use crate::error::Error;
use crate::helper::leave_streams;
use crate::job::{RunningCommand, ToolOutcome};
use crate::misbehaviour::LateWriters;
use crate::options::Options;
use crate::script::{AgentMisbehaviour, ProcessExit, ToolUse};
use crate::session::{DemoSession, DemoSessionStore};
use crate::streams::{AgentStreams, UnbufferedOutput};
use crate::task::PromptTask;
use crate::tui::{AgentTui, TuiAction, TuiEffect};
use crate::wait::{self, SignalWakeups};
use crate::{AGENT_VERSION, flood, signals, tool};
use screen::RawTerminal;

/// The exit code when the terminal has gone away, as if SIGHUP had ended the process.
const HANGUP_EXIT_CODE: u8 = 129;

/// Converses until the end, and returns the exit code.
pub(crate) fn run(
    options: &Options,
    task: Option<PromptTask>,
    session: DemoSession,
    store: DemoSessionStore,
    streams: AgentStreams<'_>,
) -> Result<u8, Error> {
    // Before the size is read, so that no change is missed.
    let wakeups = SignalWakeups::new(&[SIGCHLD, SIGWINCH]).map_err(Error::Terminal)?;
    let screen = RawTerminal::take_over(streams, options.alternate).map_err(Error::Terminal)?;
    let banner = banner(options, &session);
    let session_id = session.id.clone();
    let mut agent = InteractiveAgent {
        tui: AgentTui::new(options, session, screen.size()),
        screen,
        streams,
        store,
        session_id,
        wakeups,
        job: None,
        tricks: LateWriters::default(),
        started: Instant::now(),
        input_ended: false,
    };
    agent.tui.start(&banner, task, Duration::ZERO);
    let end = match agent.run_conversation() {
        Ok(end) => end,
        Err(error) if is_hangup(&error) => ProcessExit::Exit { code: HANGUP_EXIT_CODE, now: true },
        Err(error) => return Err(Error::Terminal(error)),
    };
    agent.end(&end).map_err(Error::Terminal)
}

fn banner(options: &Options, session: &DemoSession) -> String {
    let cwd = std::env::current_dir().unwrap_or_default();
    format!(
        "Demo agent {AGENT_VERSION}\n{} · permissions: {}\n{}",
        session.model,
        options.permissions.name(),
        cwd.display()
    )
}

fn is_hangup(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

/// An agent at work.
struct InteractiveAgent<'a> {
    tui: AgentTui,
    screen: RawTerminal<'a>,
    streams: AgentStreams<'a>,
    store: DemoSessionStore,
    session_id: String,
    wakeups: SignalWakeups,
    job: Option<RunningCommand>,
    tricks: LateWriters,
    started: Instant,
    /// The terminal has gone away, and the agent does not care.
    input_ended: bool,
}

impl InteractiveAgent<'_> {
    fn run_conversation(&mut self) -> io::Result<ProcessExit> {
        loop {
            if let Some(end) = self.carry_out()? {
                return Ok(end);
            }
            let timeout = self.tui.deadline().map(|at| at.saturating_sub(self.now()));
            let input = (!self.input_ended).then(|| self.streams.input.as_fd());
            let job = self.job.as_ref().and_then(RunningCommand::fd);
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
                return Ok(ProcessExit::Exit { code: HANGUP_EXIT_CODE, now: true });
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
    fn carry_out(&mut self) -> io::Result<Option<ProcessExit>> {
        loop {
            let actions = self.tui.actions();
            if actions.is_empty() {
                return Ok(None);
            }
            for action in actions {
                match action {
                    TuiAction::Print(bytes) => self.print(&bytes)?,
                    TuiAction::Do(deed) => self.perform(&deed)?,
                    TuiAction::Cancel => self.end_job(),
                    TuiAction::Save(session) => {
                        if let Err(error) = self.store.save(&session) {
                            let note = format!("{error}: this session cannot be resumed");
                            self.tui.note(&note, self.now());
                        }
                    }
                    TuiAction::WriteDown(line) => {
                        // Whoever reads it finds that it is missing.
                        self.store.write_down(&self.session_id, &line).ok();
                    }
                    TuiAction::End(end) => return Ok(Some(end)),
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

    fn perform(&mut self, deed: &TuiEffect) -> io::Result<()> {
        let outcome = match deed {
            TuiEffect::Tool(ToolUse::Command(command)) => match self.screen.start_job(command) {
                Ok(job) => {
                    self.job = Some(job);
                    return Ok(());
                }
                Err(error) => ToolOutcome::failed(error.to_string()),
            },
            TuiEffect::Tool(ToolUse::Write { path, text }) => tool::write(path, text),
            TuiEffect::Trick(trick) => {
                if let AgentMisbehaviour::Flood(bytes) = trick {
                    flood::write(*bytes, &mut UnbufferedOutput(self.streams.output))?;
                }
                self.tricks.play(trick)
            }
        };
        self.tui.finished(&outcome, self.now());
        Ok(())
    }

    /// Ends as the end wants it. What was to be shown has been shown.
    fn end(mut self, end: &ProcessExit) -> io::Result<u8> {
        self.end_job();
        match end {
            ProcessExit::Exit { code, .. } => {
                self.screen.give_back();
                Ok(*code)
            }
            ProcessExit::SplitUtf8 => {
                self.screen.give_back();
                Ok(0)
            }
            ProcessExit::Die(signal) => {
                signals::die_by_signal(*signal)?;
                Ok(0)
            }
            ProcessExit::CloseTty(time) => {
                self.screen.give_back();
                leave_streams()?;
                wait::pause(*time);
                Ok(0)
            }
        }
    }
}
