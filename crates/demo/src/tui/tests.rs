//! Conversations, key by key and moment by moment, without a terminal.

mod conversation;
mod dialogs;
mod painting;

use std::time::Duration;

use super::*;
use crate::options::PermissionMode;
use crate::session::DemoSession;

/// How long after something the agent has surely gone on: longer than its delay.
const LATER: Duration = Duration::from_secs(1);

/// A conversation under test. Commands are not run; the test says what became of them.
struct Play {
    tui: AgentTui,
    now: Duration,
    /// Everything that was printed.
    printed: String,
    /// Everything else that was to be done, in order.
    actions: Vec<TuiAction>,
    written: Vec<TranscriptLine>,
}

impl Play {
    fn new() -> Self {
        Self::with(&Options::default(), None)
    }

    fn prompted(prompt: &str) -> Self {
        Self::with(&Options::default(), Some(prompt))
    }

    fn with(options: &Options, prompt: Option<&str>) -> Self {
        Self::resumed(options, prompt, DemoSession::new("s".to_owned(), "demo-1".to_owned()))
    }

    fn resumed(options: &Options, prompt: Option<&str>, session: DemoSession) -> Self {
        let tui = AgentTui::new(options, session, TuiSize { columns: 60, rows: 20 });
        let mut play = Self {
            tui,
            now: Duration::ZERO,
            printed: String::new(),
            actions: Vec::new(),
            written: Vec::new(),
        };
        play.tui.start("Banner", prompt.map(|text| PromptTask::new(text.to_owned())), play.now);
        play.collect();
        play
    }

    fn collect(&mut self) {
        for action in self.tui.actions() {
            match action {
                TuiAction::Print(bytes) => self.printed.push_str(&String::from_utf8_lossy(&bytes)),
                TuiAction::WriteDown(line) => self.written.push(line),
                action => self.actions.push(action),
            }
        }
    }

    fn keys(&mut self, keys: &str) -> &mut Self {
        self.tui.input(keys.as_bytes(), self.now);
        self.collect();
        self
    }

    /// Lets time pass, and everything happen that is due meanwhile.
    fn wait(&mut self, time: Duration) -> &mut Self {
        let end = self.now + time;
        while let Some(at) = self.tui.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.tui.tick(self.now);
            self.collect();
        }
        self.now = end;
        self
    }

    fn finished(&mut self, outcome: &ToolOutcome) -> &mut Self {
        self.tui.finished(outcome, self.now);
        self.collect();
        self
    }

    fn resize(&mut self, columns: u16, rows: u16) -> &mut Self {
        self.tui.resize(TuiSize::reported(columns, rows), self.now);
        self.collect();
        self
    }

    /// Takes what was printed since it was last taken.
    fn take(&mut self) -> String {
        std::mem::take(&mut self.printed)
    }

    /// The changing part of the screen.
    fn frame(&self) -> Vec<String> {
        let frame = self.tui.frame(self.now).unwrap();
        frame.lines.into_iter().map(|line| line.text).collect()
    }

    fn shows(&self, text: &str) -> bool {
        self.frame().iter().any(|line| line.contains(text))
    }

    /// The states that were announced, in order.
    fn states(&mut self) -> Vec<String> {
        let printed = self.take();
        let states = printed.split("\x1b]7501;state=").skip(1);
        states.map(|rest| rest.split_once("\x1b\\").unwrap().0.replace(":app=demo", "")).collect()
    }
}

fn run(command: &str) -> TuiAction {
    TuiAction::Do(TuiEffect::Tool(ToolUse::Command(command.to_owned())))
}

fn exit(code: u8) -> TuiAction {
    TuiAction::End(ProcessExit::Exit { code, now: false })
}
