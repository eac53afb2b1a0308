//! One turn: from a prompt to its end, directive by directive.

use std::time::Duration;

use super::dialog::{DialogAnswer, TuiDialog};
use super::line::{ConversationBlock, LineStyle};
use super::status::TuiStatus;
use super::{AgentTui, TuiAction, TuiEffect, TuiMode};
use crate::job::ToolOutcome;
use crate::permission::ToolPermission;
use crate::reply;
use crate::script::{AgentMisbehaviour, ProcessExit, ScriptDirective, ToolUse, TurnScript};
use crate::session::TranscriptLine;
use crate::task::PromptTask;

/// How many lines of what a command printed are shown.
const MAX_SHOWN_LINES: usize = 10;

/// How long one picture of the spinner stays.
pub(super) const SPINNER_INTERVAL: Duration = Duration::from_millis(100);

/// A turn that is under way.
#[derive(Debug)]
pub(super) struct TuiTurn {
    prompt: String,
    program: TurnScript,
    pub(super) started: Duration,
    pub(super) activity: TurnActivity,
    /// When the spinner turns.
    spin_at: Duration,
    /// What it has said since it last did something.
    said: Vec<String>,
}

/// What a turn is busy with.
#[derive(Debug)]
pub(super) enum TurnActivity {
    /// Nothing that can be seen, until that time or for ever.
    Thinking {
        until: Option<Duration>,
    },
    Doing(TuiEffect),
    Asking(TuiDialog),
}

impl TuiTurn {
    pub(super) fn deadline(&self) -> Option<Duration> {
        match self.activity {
            TurnActivity::Thinking { until } => {
                Some(until.map_or(self.spin_at, |t| t.min(self.spin_at)))
            }
            TurnActivity::Doing(_) => Some(self.spin_at),
            // A dialog does not move.
            TurnActivity::Asking(_) => None,
        }
    }
}

impl AgentTui {
    pub(super) fn begin(&mut self, task: PromptTask, now: Duration) {
        self.blocks.push(ConversationBlock::new(LineStyle::Bold, "> ", &task.prompt));
        self.actions.push(TuiAction::WriteDown(TranscriptLine::Prompt(task.prompt.clone())));
        self.mode = TuiMode::Turn(TuiTurn {
            prompt: task.prompt,
            program: task.program,
            started: now,
            activity: TurnActivity::Thinking { until: Some(now + self.delay) },
            spin_at: now + SPINNER_INTERVAL,
            said: Vec::new(),
        });
    }

    /// Does what the passing of time allows.
    pub(super) fn advance_turn(&mut self, now: Duration) {
        let TuiMode::Turn(turn) = &mut self.mode else { return };
        if turn.spin_at <= now {
            turn.spin_at = now + SPINNER_INTERVAL;
        }
        if let TurnActivity::Thinking { until: Some(until) } = turn.activity
            && until <= now
        {
            self.advance(now);
        }
    }

    /// Takes one directive after the other, until one takes time.
    fn advance(&mut self, now: Duration) {
        while let TuiMode::Turn(turn) = &mut self.mode {
            let directive = turn.program.next();
            match directive {
                Some(ScriptDirective::Echo) => {
                    let answer = reply::echo(&turn.prompt, &self.session.prompts);
                    self.say(&answer);
                }
                Some(ScriptDirective::Say(text) | ScriptDirective::Json(text)) => self.say(&text),
                Some(ScriptDirective::Think(time)) => return self.start_thinking(Some(now + time)),
                Some(ScriptDirective::Hang) => return self.start_thinking(None),
                Some(ScriptDirective::Ask(question)) => {
                    return self.ask(TuiDialog::question(question));
                }
                Some(ScriptDirective::Choose { question, options }) => {
                    return self.ask(TuiDialog::choice(question, options));
                }
                Some(ScriptDirective::Use { tool, asks }) => {
                    match if asks { self.rules.of(&tool) } else { ToolPermission::Granted } {
                        ToolPermission::Granted => return self.perform(TuiEffect::Tool(tool)),
                        ToolPermission::Open => return self.ask(TuiDialog::permission(tool)),
                        ToolPermission::Refused => self.say(&reply::refused(&tool)),
                    }
                }
                Some(ScriptDirective::Cost(usd)) => self.session.charge(usd),
                Some(ScriptDirective::Fail(message)) => {
                    self.blocks.push(ConversationBlock::new(
                        LineStyle::Alarm,
                        "✗ ",
                        &format!("Error: {message}"),
                    ));
                    return self.end_turn(TuiStatus::Error, now);
                }
                Some(ScriptDirective::Trick(trick)) => {
                    return self.perform(TuiEffect::Trick(trick));
                }
                Some(ScriptDirective::End(end)) => return self.end_process(end, now),
                Some(ScriptDirective::Repeat(_)) => {}
                None => {
                    if turn.said.is_empty() {
                        self.say(reply::DONE);
                    }
                    return self.end_turn(TuiStatus::Done, now);
                }
            }
        }
    }

    fn say(&mut self, text: &str) {
        if let TuiMode::Turn(turn) = &mut self.mode {
            turn.said.push(text.to_owned());
        }
        self.blocks.push(ConversationBlock::new(LineStyle::Plain, "● ", text));
    }

    fn set(&mut self, activity: TurnActivity) {
        if let TuiMode::Turn(turn) = &mut self.mode {
            turn.activity = activity;
        }
    }

    fn start_thinking(&mut self, until: Option<Duration>) {
        self.set(TurnActivity::Thinking { until });
    }

    fn ask(&mut self, dialog: TuiDialog) {
        self.set(TurnActivity::Asking(dialog));
    }

    fn perform(&mut self, deed: TuiEffect) {
        let label = match &deed {
            TuiEffect::Tool(ToolUse::Command(command)) => Some(format!("Run({command})")),
            TuiEffect::Tool(ToolUse::Write { path, .. }) => {
                Some(format!("Write({})", path.display()))
            }
            TuiEffect::Trick(_) => None,
        };
        if let Some(label) = label {
            self.blocks.push(ConversationBlock::new(LineStyle::Plain, "● ", &label).without_gap());
        }
        if let TuiEffect::Trick(AgentMisbehaviour::Flood(_)) = deed {
            // What was said so far stays above the flood, and nothing of ours gets into it.
            self.show_blocks();
            let suspended = self.painter.suspend();
            self.print(suspended);
        }
        self.actions.push(TuiAction::Do(deed.clone()));
        self.set(TurnActivity::Doing(deed));
    }

    /// What was being done has been done.
    pub(super) fn effect_done(&mut self, outcome: &ToolOutcome, now: Duration) {
        let TuiMode::Turn(turn) = &mut self.mode else { return };
        let TurnActivity::Doing(deed) = &turn.activity else { return };
        match deed {
            TuiEffect::Tool(_) => {
                let style = if outcome.ok { LineStyle::Plain } else { LineStyle::Alarm };
                self.blocks.push(ConversationBlock::new(
                    style,
                    "  └ ",
                    &shortened(&outcome.output),
                ));
                turn.said.clear();
                // The model hears of it, and thinks.
                self.start_thinking(Some(now + self.delay));
            }
            TuiEffect::Trick(trick) => {
                if let AgentMisbehaviour::Flood(bytes) = trick
                    && bytes % crate::flood::LINE_BYTES as u64 != 0
                {
                    self.print("\r\n".to_owned());
                }
                self.say(&outcome.output);
                self.start_thinking(Some(now));
            }
        }
    }

    /// A person has answered. Even if the next question is the same, the turn goes on in between,
    /// and everyone can see it.
    pub(super) fn answered(&mut self, answer: DialogAnswer, now: Duration) {
        match answer {
            DialogAnswer::Yes(tool) => return self.perform(TuiEffect::Tool(tool)),
            DialogAnswer::Always(tool) => {
                self.rules.allow_always(&tool);
                return self.perform(TuiEffect::Tool(tool));
            }
            DialogAnswer::No(tool) => self.say(&reply::refused(&tool)),
            DialogAnswer::Text(text) => self.say(&reply::acknowledge(&text)),
            DialogAnswer::Nothing => self.say(reply::NO_ANSWER),
        }
        self.start_thinking(Some(now + self.delay));
    }

    /// Breaks the turn off. What waited to be said comes back to be changed.
    pub(super) fn interrupt(&mut self) {
        let TuiMode::Turn(turn) = &self.mode else { return };
        let prompt = turn.prompt.clone();
        if let TurnActivity::Doing(_) = turn.activity {
            self.actions.push(TuiAction::Cancel);
        }
        self.blocks.push(ConversationBlock::new(LineStyle::Alarm, "  └ ", "Interrupted"));
        self.keep(&prompt);
        self.mode = TuiMode::Idle(TuiStatus::Idle);
        if !self.queued.is_empty() {
            self.queued.push_back(self.editor.take());
            let waited: Vec<String> = self.queued.drain(..).collect();
            self.editor.insert(waited.join("\n").trim_end());
        }
    }

    fn end_turn(&mut self, status: TuiStatus, now: Duration) {
        let TuiMode::Turn(turn) = &self.mode else { return };
        let prompt = turn.prompt.clone();
        if status == TuiStatus::Done {
            let answer = TranscriptLine::Answer(turn.said.join("\n\n"));
            self.actions.push(TuiAction::WriteDown(answer));
        }
        self.keep(&prompt);
        self.mode = TuiMode::Idle(status);
        if let Some(prompt) = self.queued.pop_front() {
            // Seen to end before the next one begins.
            self.refresh(now);
            self.begin(PromptTask::new(prompt), now);
        }
    }

    fn end_process(&mut self, end: ProcessExit, now: Duration) {
        let TuiMode::Turn(turn) = &self.mode else { return };
        let prompt = turn.prompt.clone();
        match end {
            ProcessExit::Exit { code, now: false } => {
                self.keep(&prompt);
                self.show_blocks();
                self.quit(code);
            }
            ProcessExit::Exit { now: true, .. } | ProcessExit::CloseTty(_) => {
                self.show_blocks();
                self.leave();
                self.actions.push(TuiAction::End(end));
            }
            ProcessExit::Die(_) | ProcessExit::SplitUtf8 => {
                self.refresh(now);
                if end == ProcessExit::SplitUtf8 {
                    let suspended = self.painter.suspend();
                    self.print(format!("{suspended}● caf"));
                    self.actions.push(TuiAction::Print(vec![0xc3]));
                }
                self.mode = TuiMode::Ended;
                self.announced = Some(TuiStatus::Gone);
                self.actions.push(TuiAction::End(end));
            }
        }
    }

    fn keep(&mut self, prompt: &str) {
        self.session.remember(prompt);
        self.actions.push(TuiAction::Save(self.session.clone()));
    }
}

/// The beginning of what a command printed.
fn shortened(output: &str) -> String {
    if output.trim().is_empty() {
        return "(no output)".to_owned();
    }
    let lines: Vec<&str> = output.lines().collect();
    match lines.len().checked_sub(MAX_SHOWN_LINES) {
        None | Some(0) => output.to_owned(),
        Some(more) => format!("{}\n… +{more} lines", lines[..MAX_SHOWN_LINES].join("\n")),
    }
}
