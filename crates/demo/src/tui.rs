//! The agent on a terminal, without the terminal: keys, time and news go in, bytes and deeds come
//! out. It reads no clock and touches nothing, so every moment of a conversation can be tested.

mod dialog;
mod editor;
mod keys;
mod line;
mod painter;
mod size;
mod status;
#[cfg(test)]
mod tests;
mod turn;
mod view;

use std::collections::VecDeque;
use std::time::Duration;

use crate::guide;
use crate::job::ToolOutcome;
use crate::options::Options;
use crate::permission::PermissionRules;
use crate::script::{AgentMisbehaviour, ProcessExit, ToolUse};
use crate::session::{DemoSession, TranscriptLine};
use crate::task::PromptTask;
use editor::TextEditor;
use keys::{KeyDecoder, TuiKey};
use line::{ConversationBlock, LineStyle};
use painter::TuiPainter;
pub(crate) use size::TuiSize;
use status::TuiStatus;
use turn::{TuiTurn, TurnActivity};

/// Gives the terminal back: the end of synchronized output, bracketed paste off, the cursor
/// visible.
const LEAVE: &str = "\x1b[?2026l\x1b[?2004l\x1b[?25h";

/// [`LEAVE`], for the alternate screen.
const LEAVE_ALTERNATE: &str = "\x1b[?2026l\x1b[?2004l\x1b[?1049l\x1b[?25h";

/// Sequences that give the terminal back whatever is on the screen, for an abrupt end.
pub(crate) fn restore_sequences(alternate: bool) -> String {
    let clear = TuiStatus::Gone.announcement();
    if alternate {
        format!("{clear}{LEAVE_ALTERNATE}")
    } else {
        // The cursor is somewhere in the frame; what comes next must not be written into it.
        format!("{clear}{LEAVE}\r\n\x1b[J")
    }
}

/// How long a second Ctrl-C counts as one.
const QUIT_WINDOW: Duration = Duration::from_secs(2);

/// What is to be done outside, in this order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TuiAction {
    /// Write this to the terminal, at once.
    Print(Vec<u8>),
    /// Do this, and say so with [`AgentTui::finished`].
    Do(TuiEffect),
    /// Stop doing it, and do not say anything.
    Cancel,
    Save(DemoSession),
    /// Add this to what was said in the session.
    WriteDown(TranscriptLine),
    End(ProcessExit),
}

/// What takes time or has effects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TuiEffect {
    Tool(ToolUse),
    Trick(AgentMisbehaviour),
}

/// An agent in conversation.
pub(crate) struct AgentTui {
    size: TuiSize,
    painter: TuiPainter,
    alternate: bool,
    keys: KeyDecoder,
    editor: TextEditor,
    /// What was submitted while a turn was under way.
    queued: VecDeque<String>,
    mode: TuiMode,
    /// Until when another Ctrl-C quits.
    quit_until: Option<Duration>,
    rules: PermissionRules,
    session: DemoSession,
    delay: Duration,
    /// What was said since the screen was last painted.
    blocks: Vec<ConversationBlock>,
    announced: Option<TuiStatus>,
    actions: Vec<TuiAction>,
}

#[derive(Debug)]
enum TuiMode {
    /// Waits for a prompt.
    Idle(TuiStatus),
    Turn(TuiTurn),
    Ended,
}

impl AgentTui {
    pub(crate) fn new(options: &Options, session: DemoSession, size: TuiSize) -> Self {
        Self {
            size,
            painter: TuiPainter::new(options.alternate, size),
            alternate: options.alternate,
            keys: KeyDecoder::default(),
            editor: TextEditor::default(),
            queued: VecDeque::new(),
            mode: TuiMode::Idle(TuiStatus::Idle),
            quit_until: None,
            rules: PermissionRules::new(options.permissions),
            session,
            delay: options.delay,
            blocks: Vec::new(),
            announced: None,
            actions: Vec::new(),
        }
    }

    /// Appears, and begins with the task, if there is one.
    pub(crate) fn start(&mut self, banner: &str, task: Option<PromptTask>, now: Duration) {
        self.print(self.painter.enter().to_owned());
        self.blocks.push(ConversationBlock::new(LineStyle::Bold, "✻ ", banner));
        if self.session.turns > 0 {
            let turns = self.session.turns;
            self.print_note(&format!("Resumed. Turns so far: {turns}"));
        }
        // Announce idle first, so that a watcher of the status sees the turn begin.
        self.refresh(now);
        if let Some(task) = task {
            self.begin(task, now);
            self.refresh(now);
        }
    }

    /// What is to be done outside, since this was last called.
    pub(crate) fn actions(&mut self) -> Vec<TuiAction> {
        std::mem::take(&mut self.actions)
    }

    /// When [`tick`](Self::tick) has something to do. Nothing happens before without input.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let turn = match &self.mode {
            TuiMode::Turn(turn) => turn.deadline(),
            _ => None,
        };
        [turn, self.keys.deadline(), self.quit_until].into_iter().flatten().min()
    }

    pub(crate) fn tick(&mut self, now: Duration) {
        if let Some(key) = self.keys.timeout(now) {
            self.press(&key, now);
        }
        self.quit_until = self.quit_until.filter(|until| *until > now);
        self.advance_turn(now);
        self.refresh(now);
    }

    pub(crate) fn input(&mut self, bytes: &[u8], now: Duration) {
        for key in self.keys.feed(bytes, now) {
            self.press(&key, now);
            // Each key by itself, so that nothing that happens in between stays unseen.
            self.refresh(now);
        }
    }

    pub(crate) fn resize(&mut self, size: TuiSize, now: Duration) {
        if size != self.size {
            self.size = size;
            self.painter.resize(size);
            self.refresh(now);
        }
    }

    /// A note from outside.
    pub(crate) fn note(&mut self, text: &str, now: Duration) {
        self.print_note(text);
        self.refresh(now);
    }

    /// What was to be done has been done.
    pub(crate) fn finished(&mut self, outcome: &ToolOutcome, now: Duration) {
        self.effect_done(outcome, now);
        self.refresh(now);
    }

    fn press(&mut self, key: &TuiKey, now: Duration) {
        if *key == TuiKey::Ctrl('c') {
            self.ctrl_c(now);
            return;
        }
        self.quit_until = None;
        match &mut self.mode {
            TuiMode::Idle(status) => {
                *status = TuiStatus::Idle;
                match key {
                    TuiKey::Enter => self.submit(now),
                    TuiKey::Ctrl('d') if self.editor.is_empty() => self.quit(0),
                    key => self.editor.press(key),
                }
            }
            TuiMode::Turn(TuiTurn { activity: TurnActivity::Asking(dialog), .. }) => {
                if let Some(answer) = dialog.press(key) {
                    self.answered(answer, now);
                }
            }
            TuiMode::Turn(_) => match key {
                TuiKey::Escape => self.interrupt(),
                TuiKey::Enter if !self.editor.text().trim().is_empty() => {
                    self.queued.push_back(self.editor.take());
                }
                key => self.editor.press(key),
            },
            TuiMode::Ended => {}
        }
    }

    /// The first time stops what is under way, the second time quits.
    fn ctrl_c(&mut self, now: Duration) {
        if self.quit_until.is_some() {
            return self.quit(0);
        }
        if let TuiMode::Turn(_) = self.mode {
            self.interrupt();
        }
        self.editor.clear();
        self.quit_until = Some(now + QUIT_WINDOW);
    }

    fn submit(&mut self, now: Duration) {
        let text = self.editor.text().trim();
        match text {
            "" => {}
            "/exit" | "/quit" => self.quit(0),
            "/help" => {
                self.editor.clear();
                self.blocks.push(ConversationBlock::new(LineStyle::Plain, "", guide::DIRECTIVES));
            }
            command if command.starts_with('/') && !command.contains(char::is_whitespace) => {
                let note = format!("There is no {command}. Try /help or /exit.");
                self.editor.clear();
                self.print_note(&note);
            }
            _ => {
                let prompt = self.editor.take();
                self.begin(PromptTask::new(prompt), now);
            }
        }
    }

    fn quit(&mut self, code: u8) {
        self.actions.push(TuiAction::Cancel);
        self.leave();
        self.actions.push(TuiAction::End(ProcessExit::Exit { code, now: false }));
    }

    /// Gives the terminal back, and says where the conversation can be found.
    fn leave(&mut self) {
        let suspended = self.painter.suspend();
        let goodbye = if self.session.turns > 0 {
            format!("Go on with: coven {} --resume {}\r\n", crate::SUBCOMMAND, self.session.id)
        } else {
            String::new()
        };
        let clear = TuiStatus::Gone.announcement();
        let leave = if self.alternate { LEAVE_ALTERNATE } else { LEAVE };
        self.print(format!("{suspended}{clear}{leave}{goodbye}"));
        self.announced = Some(TuiStatus::Gone);
        self.mode = TuiMode::Ended;
    }

    fn print_note(&mut self, text: &str) {
        self.blocks.push(ConversationBlock::new(LineStyle::Dim, "  ", text));
    }

    fn print(&mut self, text: String) {
        self.actions.push(TuiAction::Print(text.into_bytes()));
    }

    /// Shows what has changed, and says so.
    fn refresh(&mut self, now: Duration) {
        let mut out = match self.frame(now) {
            Some(frame) => self.painter.paint(std::mem::take(&mut self.blocks), frame),
            None => String::new(),
        };
        let status = self.status();
        if self.announced != Some(status) {
            self.announced = Some(status);
            out.push_str(&status.announcement());
        }
        if !out.is_empty() {
            self.print(out);
        }
    }

    fn status(&self) -> TuiStatus {
        match &self.mode {
            TuiMode::Idle(status) => *status,
            TuiMode::Turn(TuiTurn { activity: TurnActivity::Asking(dialog), .. }) => {
                TuiStatus::Blocked(dialog.kind())
            }
            TuiMode::Turn(_) => TuiStatus::Working,
            TuiMode::Ended => TuiStatus::Gone,
        }
    }
}
