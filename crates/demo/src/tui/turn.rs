//! One turn: from a prompt to its end, directive by directive.

use std::time::Duration;

use super::dialog::{Answer, Dialog};
use super::line::{Block, Style};
use super::status::Status;
use super::{Action, Deed, Mode, Tui};
use crate::job::Outcome;
use crate::permission::Permission;
use crate::reply;
use crate::script::{Directive, End, Program, Tool, Trick};
use crate::task::Task;

/// How many lines of what a command printed are shown.
const SHOWN: usize = 10;

/// How long one picture of the spinner stays.
pub(super) const SPINNER: Duration = Duration::from_millis(100);

/// A turn that is under way.
#[derive(Debug)]
pub(super) struct Turn {
    prompt: String,
    program: Program,
    pub(super) started: Duration,
    pub(super) activity: Activity,
    /// When the spinner turns.
    spin_at: Duration,
    /// Whether the agent has said or done something.
    spoke: bool,
}

/// What a turn is busy with.
#[derive(Debug)]
pub(super) enum Activity {
    /// Nothing that can be seen, until that time or for ever.
    Thinking {
        until: Option<Duration>,
    },
    Doing(Deed),
    Asking(Dialog),
}

impl Turn {
    pub(super) fn deadline(&self) -> Option<Duration> {
        match self.activity {
            Activity::Thinking { until } => {
                Some(until.map_or(self.spin_at, |t| t.min(self.spin_at)))
            }
            Activity::Doing(_) => Some(self.spin_at),
            // A dialog does not move.
            Activity::Asking(_) => None,
        }
    }
}

impl Tui {
    pub(super) fn begin(&mut self, task: Task, now: Duration) {
        self.blocks.push(Block::new(Style::Bold, "> ", &task.prompt));
        self.mode = Mode::Turn(Turn {
            prompt: task.prompt,
            program: task.program,
            started: now,
            activity: Activity::Thinking { until: Some(now + self.delay) },
            spin_at: now + SPINNER,
            spoke: false,
        });
    }

    /// Does what the passing of time allows.
    pub(super) fn go_on(&mut self, now: Duration) {
        let Mode::Turn(turn) = &mut self.mode else { return };
        if turn.spin_at <= now {
            turn.spin_at = now + SPINNER;
        }
        if let Activity::Thinking { until: Some(until) } = turn.activity
            && until <= now
        {
            self.advance(now);
        }
    }

    /// Takes one directive after the other, until one takes time.
    fn advance(&mut self, now: Duration) {
        while let Mode::Turn(turn) = &mut self.mode {
            let directive = turn.program.next();
            if let Some(Directive::Say(_) | Directive::Json(_) | Directive::Echo) = directive {
                turn.spoke = true;
            }
            match directive {
                Some(Directive::Echo) => {
                    let answer = reply::echo(&turn.prompt, &self.session.prompts);
                    self.say(&answer);
                }
                Some(Directive::Say(text) | Directive::Json(text)) => self.say(&text),
                Some(Directive::Think(time)) => return self.think(Some(now + time)),
                Some(Directive::Hang) => return self.think(None),
                Some(Directive::Ask(question)) => return self.ask(Dialog::question(question)),
                Some(Directive::Choose { question, options }) => {
                    return self.ask(Dialog::choice(question, options));
                }
                Some(Directive::Use { tool, asks }) => {
                    match if asks { self.rules.of(&tool) } else { Permission::Granted } {
                        Permission::Granted => return self.perform(Deed::Tool(tool)),
                        Permission::Open => return self.ask(Dialog::permission(tool)),
                        Permission::Refused => self.say(&reply::refused(&tool)),
                    }
                }
                Some(Directive::Cost(usd)) => self.session.charge(usd),
                Some(Directive::Fail(message)) => {
                    self.blocks.push(Block::new(Style::Alarm, "✗ ", &format!("Error: {message}")));
                    return self.end_turn(Status::Error, now);
                }
                Some(Directive::Trick(trick)) => return self.perform(Deed::Trick(trick)),
                Some(Directive::End(end)) => return self.end_process(end, now),
                Some(Directive::Repeat(_)) => {}
                None => {
                    if !turn.spoke {
                        self.say(reply::DONE);
                    }
                    return self.end_turn(Status::Done, now);
                }
            }
        }
    }

    fn say(&mut self, text: &str) {
        self.blocks.push(Block::new(Style::Plain, "● ", text));
    }

    fn set(&mut self, activity: Activity) {
        if let Mode::Turn(turn) = &mut self.mode {
            turn.activity = activity;
        }
    }

    fn think(&mut self, until: Option<Duration>) {
        self.set(Activity::Thinking { until });
    }

    fn ask(&mut self, dialog: Dialog) {
        self.set(Activity::Asking(dialog));
    }

    fn perform(&mut self, deed: Deed) {
        let label = match &deed {
            Deed::Tool(Tool::Command(command)) => Some(format!("Run({command})")),
            Deed::Tool(Tool::Write { path, .. }) => Some(format!("Write({})", path.display())),
            Deed::Trick(_) => None,
        };
        if let Some(label) = label {
            self.blocks.push(Block::new(Style::Plain, "● ", &label).tight());
        }
        if let Deed::Trick(Trick::Flood(_)) = deed {
            // What was said so far stays above the flood, and nothing of ours gets into it.
            self.show_blocks();
            let suspended = self.painter.suspend();
            self.print(suspended);
        }
        self.actions.push(Action::Do(deed.clone()));
        self.set(Activity::Doing(deed));
    }

    /// What was being done has been done.
    pub(super) fn deed_done(&mut self, outcome: &Outcome, now: Duration) {
        let Mode::Turn(turn) = &mut self.mode else { return };
        let Activity::Doing(deed) = &turn.activity else { return };
        turn.spoke = true;
        match deed {
            Deed::Tool(_) => {
                let style = if outcome.ok { Style::Plain } else { Style::Alarm };
                self.blocks.push(Block::new(style, "  └ ", &shortened(&outcome.output)));
                // The model hears of it, and thinks.
                self.think(Some(now + self.delay));
            }
            Deed::Trick(trick) => {
                if let Trick::Flood(bytes) = trick
                    && bytes % crate::flood::LINE as u64 != 0
                {
                    self.print("\r\n".to_owned());
                }
                self.say(&outcome.output);
                self.think(Some(now));
            }
        }
    }

    /// A person has answered. Even if the next question is the same, the turn goes on in between,
    /// and everyone can see it.
    pub(super) fn answered(&mut self, answer: Answer, now: Duration) {
        if let Mode::Turn(turn) = &mut self.mode {
            turn.spoke = true;
        }
        match answer {
            Answer::Yes(tool) => return self.perform(Deed::Tool(tool)),
            Answer::Always(tool) => {
                self.rules.allow_always(&tool);
                return self.perform(Deed::Tool(tool));
            }
            Answer::No(tool) => self.say(&reply::refused(&tool)),
            Answer::Text(text) => self.say(&reply::heard(&text)),
            Answer::Nothing => self.say("You did not answer."),
        }
        self.think(Some(now + self.delay));
    }

    /// Breaks the turn off. What waited to be said comes back to be changed.
    pub(super) fn interrupt(&mut self) {
        let Mode::Turn(turn) = &self.mode else { return };
        let prompt = turn.prompt.clone();
        if let Activity::Doing(_) = turn.activity {
            self.actions.push(Action::Cancel);
        }
        self.blocks.push(Block::new(Style::Alarm, "  └ ", "Interrupted"));
        self.keep(&prompt);
        self.mode = Mode::Idle(Status::Idle);
        if !self.queued.is_empty() {
            self.queued.push_back(self.editor.take());
            let waited: Vec<String> = self.queued.drain(..).collect();
            self.editor.insert(waited.join("\n").trim_end());
        }
    }

    fn end_turn(&mut self, status: Status, now: Duration) {
        let Mode::Turn(turn) = &self.mode else { return };
        let prompt = turn.prompt.clone();
        self.keep(&prompt);
        self.mode = Mode::Idle(status);
        if let Some(prompt) = self.queued.pop_front() {
            // Seen to end before the next one begins.
            self.refresh(now);
            self.begin(Task::new(prompt), now);
        }
    }

    fn end_process(&mut self, end: End, now: Duration) {
        let Mode::Turn(turn) = &self.mode else { return };
        let prompt = turn.prompt.clone();
        match end {
            End::Exit { code, now: false } => {
                self.keep(&prompt);
                self.show_blocks();
                self.quit(code);
            }
            End::Exit { now: true, .. } | End::CloseTty(_) => {
                self.show_blocks();
                self.leave();
                self.actions.push(Action::End(end));
            }
            End::Die(_) | End::SplitUtf8 => {
                self.refresh(now);
                if end == End::SplitUtf8 {
                    let suspended = self.painter.suspend();
                    self.print(format!("{suspended}● caf"));
                    self.actions.push(Action::Print(vec![0xc3]));
                }
                self.mode = Mode::Ended;
                self.announced = Some(Status::Gone);
                self.actions.push(Action::End(end));
            }
        }
    }

    fn keep(&mut self, prompt: &str) {
        self.session.remember(prompt);
        self.actions.push(Action::Save(self.session.clone()));
    }
}

/// The beginning of what a command printed.
fn shortened(output: &str) -> String {
    if output.trim().is_empty() {
        return "(no output)".to_owned();
    }
    let lines: Vec<&str> = output.lines().collect();
    match lines.len().checked_sub(SHOWN) {
        None | Some(0) => output.to_owned(),
        Some(more) => format!("{}\n… +{more} lines", lines[..SHOWN].join("\n")),
    }
}
