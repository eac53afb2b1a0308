//! One turn without a terminal: nobody can be asked, and what happens is printed for a program.

mod report;
#[cfg(test)]
mod tests;
mod transcript;

use std::io::{self, Write};
use std::time::Instant;

use crate::error::Error;
use crate::flood;
use crate::helper::leave_streams;
use crate::job::{self, Group, Outcome};
use crate::options::Options;
use crate::permission::{Permission, Rules};
use crate::script::{Directive, End, Tool, Trick};
use crate::session::{Session, Store};
use crate::task::Task;
use crate::trick::Tricks;
use crate::{reply, signals, tool, wait};
use report::{Call, Report};
use transcript::{Denial, Final, Subtype, Usage};

/// Does what the task says, and returns the exit code. `out` gets what was asked for, `errors`
/// what there is to say about it.
pub(crate) fn run(
    options: &Options,
    task: Task,
    mut session: Session,
    store: Store,
    out: &mut dyn Write,
    errors: &mut dyn Write,
) -> Result<u8, Error> {
    let before = session.prompts.clone();
    session.remember(&task.prompt);
    let report = Report::new(options, &session, out, errors);
    let mut turn = Turn {
        report,
        rules: Rules::new(options.permissions),
        session,
        store,
        before,
        started: Instant::now(),
        read: task.prompt.clone(),
        unsaid: Vec::new(),
        answer: None,
        usage: Usage::default(),
        messages: 0,
        denials: Vec::new(),
        tricks: Tricks::default(),
    };
    turn.report.init(options.permissions.name()).map_err(Error::Output)?;
    turn.run(task).map_err(Error::Output)
}

/// A turn that is under way.
struct Turn<'a> {
    report: Report<'a>,
    rules: Rules,
    session: Session,
    store: Store,
    before: Vec<String>,
    started: Instant,
    /// What the agent has been told since it last said something.
    read: String,
    /// What was said but not yet printed: what is said in one breath is one message.
    unsaid: Vec<String>,
    /// The last message since the last tool.
    answer: Option<String>,
    usage: Usage,
    messages: u64,
    denials: Vec<Denial>,
    tricks: Tricks,
}

/// Whether a turn goes on.
enum Flow {
    On,
    Exit(u8),
}

impl Turn<'_> {
    fn run(&mut self, task: Task) -> io::Result<u8> {
        for directive in task.program {
            if let Flow::Exit(code) = self.step(directive, &task.prompt)? {
                return Ok(code);
            }
        }
        self.end(Subtype::Success, None)?;
        Ok(0)
    }

    fn step(&mut self, directive: Directive, prompt: &str) -> io::Result<Flow> {
        match directive {
            Directive::Echo => self.unsaid.push(reply::echo(prompt, &self.before)),
            Directive::Say(text) => self.unsaid.push(text),
            Directive::Json(value) => {
                self.flush()?;
                self.unsaid.push(value);
                self.flush()?;
            }
            Directive::Think(time) => {
                self.flush()?;
                wait::pause(time);
            }
            Directive::Hang => {
                self.flush()?;
                wait::forever();
            }
            Directive::Ask(question) => self.ask(&question, &[])?,
            Directive::Choose { question, options } => self.ask(&question, &options)?,
            Directive::Use { tool, asks } => self.use_tool(&tool, asks)?,
            Directive::Cost(usd) => self.session.charge(usd),
            Directive::Fail(message) => {
                self.flush()?;
                self.end(Subtype::ErrorDuringExecution, Some(message))?;
                return Ok(Flow::Exit(1));
            }
            Directive::Trick(trick) => self.play(&trick)?,
            Directive::End(end) => return self.leave(&end).map(Flow::Exit),
            // A program keeps these to itself.
            Directive::Repeat(_) => {}
        }
        Ok(Flow::On)
    }

    fn ask(&mut self, question: &str, options: &[String]) -> io::Result<()> {
        let call = Call::question(question, options);
        let id = self.want(&call)?;
        self.deny(&call, &id, "There is nobody to ask in a headless run.")?;
        self.unsaid.push(format!("I could not ask: {question}"));
        Ok(())
    }

    fn use_tool(&mut self, tool: &Tool, asks: bool) -> io::Result<()> {
        let call = Call::of(tool);
        let id = self.want(&call)?;
        if asks && self.rules.of(tool) != Permission::Granted {
            self.deny(&call, &id, "This needs an approval, and nobody is there to give it.")?;
            self.unsaid.push(reply::refused(tool));
            return Ok(());
        }
        let outcome = match tool {
            Tool::Command(command) => job::run(command, Group::Ours)
                .unwrap_or_else(|error| Outcome::failed(error.to_string())),
            Tool::Write { path, text } => tool::write(path, text),
        };
        self.read = outcome.output;
        self.report.returned(&id, &self.read, !outcome.ok)
    }

    fn play(&mut self, trick: &Trick) -> io::Result<()> {
        self.flush()?;
        if let Trick::Flood(bytes) = trick {
            flood::write(*bytes, self.report.raw())?;
        }
        // A trick is no answer; only its failure is worth a word.
        let outcome = self.tricks.play(trick);
        if !outcome.ok {
            self.unsaid.push(outcome.output);
        }
        Ok(())
    }

    fn leave(&mut self, end: &End) -> io::Result<u8> {
        self.flush()?;
        match end {
            End::Exit { code, now: true } => return Ok(*code),
            End::Exit { code, now: false } => {
                self.end(Subtype::Success, None)?;
                return Ok(*code);
            }
            End::Die(signal) => signals::die(*signal)?,
            End::SplitUtf8 => self.report.split()?,
            End::CloseTty(time) => {
                leave_streams()?;
                wait::pause(*time);
            }
        }
        Ok(0)
    }

    /// Prints what was said.
    fn flush(&mut self) -> io::Result<()> {
        if self.unsaid.is_empty() {
            return Ok(());
        }
        let text = std::mem::take(&mut self.unsaid).join("\n");
        let usage = self.count(&text);
        self.report.said(&text, usage)?;
        self.answer = Some(text);
        Ok(())
    }

    fn want(&mut self, call: &Call) -> io::Result<String> {
        self.flush()?;
        self.answer = None;
        let usage = self.count(&call.input.to_string());
        self.report.wants(call, usage)
    }

    fn deny(&mut self, call: &Call, id: &str, message: &str) -> io::Result<()> {
        self.denials.push(Denial {
            tool_name: call.name.to_owned(),
            tool_use_id: id.to_owned(),
            tool_input: call.input.clone(),
        });
        message.clone_into(&mut self.read);
        self.report.denied(call, id, message)
    }

    /// What this message used.
    fn count(&mut self, said: &str) -> Usage {
        let usage = Usage::of(&std::mem::take(&mut self.read), said);
        self.usage.add(usage);
        self.messages += 1;
        usage
    }

    /// Prints the result. Whoever has said nothing since it last did something says so now.
    fn end(&mut self, subtype: Subtype, error: Option<String>) -> io::Result<()> {
        if error.is_none() && self.unsaid.is_empty() && self.answer.is_none() {
            self.unsaid.push(reply::DONE.to_owned());
        }
        self.flush()?;
        // Before the result is told, so that whoever has read it can go on with the session.
        if let Err(error) = self.store.save(&self.session) {
            self.report.note(&format!("{error}: this session cannot be resumed"))?;
        }
        let is_error = error.is_some();
        self.report.ended(Final {
            subtype,
            is_error,
            result: error.or_else(|| self.answer.take()).unwrap_or_default(),
            session_id: self.session.id.clone(),
            num_turns: self.messages,
            duration_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            total_cost_usd: self.session.cost_usd,
            usage: self.usage,
            permission_denials: std::mem::take(&mut self.denials),
        })
    }
}
