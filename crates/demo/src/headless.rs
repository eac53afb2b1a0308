//! One turn without a terminal: no person can be asked, and what happens is printed for a program.

mod report;
#[cfg(test)]
mod tests;
mod transcript;

use std::io::{self, Write};
use std::time::Instant;

use crate::error::Error;
use crate::flood;
use crate::helper::leave_streams;
use crate::job::{self, ProcessGroup, ToolOutcome};
use crate::misbehaviour::LateWriters;
use crate::options::Options;
use crate::permission::{PermissionRules, ToolPermission};
use crate::script::{AgentMisbehaviour, ProcessExit, ScriptDirective, ToolUse};
use crate::session::{DemoSession, DemoSessionStore};
use crate::task::PromptTask;
use crate::tool::{self, ToolCall};
use crate::{reply, signals, wait};
use report::TurnReport;
pub(crate) use transcript::TokenCounts;
use transcript::{PermissionDenial, ResultEvent, ResultSubtype};

/// Does what the task says, and returns the exit code. `out` gets what was asked for, `errors`
/// what there is to say about it.
pub(crate) fn run(
    options: &Options,
    task: PromptTask,
    mut session: DemoSession,
    store: DemoSessionStore,
    out: &mut dyn Write,
    errors: &mut dyn Write,
) -> Result<u8, Error> {
    let before = session.prompts.clone();
    session.remember(&task.prompt);
    let report = TurnReport::new(options, &session, out, errors);
    let mut turn = HeadlessTurn {
        report,
        rules: PermissionRules::new(options.permissions),
        session,
        store,
        before,
        started: Instant::now(),
        read: task.prompt.clone(),
        unsaid: Vec::new(),
        answer: None,
        usage: TokenCounts::default(),
        messages: 0,
        denials: Vec::new(),
        tricks: LateWriters::default(),
    };
    turn.report.init(options.permissions.name()).map_err(Error::Output)?;
    turn.run(task).map_err(Error::Output)
}

/// A turn that is under way.
struct HeadlessTurn<'a> {
    report: TurnReport<'a>,
    rules: PermissionRules,
    session: DemoSession,
    store: DemoSessionStore,
    before: Vec<String>,
    started: Instant,
    /// What the agent has been told since it last said something.
    read: String,
    /// What was said but not yet printed: what is said in one breath is one message.
    unsaid: Vec<String>,
    /// The last message since the last tool.
    answer: Option<String>,
    usage: TokenCounts,
    messages: u64,
    denials: Vec<PermissionDenial>,
    tricks: LateWriters,
}

/// Whether a turn goes on.
enum TurnFlow {
    On,
    Exit(u8),
}

impl HeadlessTurn<'_> {
    fn run(&mut self, task: PromptTask) -> io::Result<u8> {
        for directive in task.program {
            if let TurnFlow::Exit(code) = self.step(directive, &task.prompt)? {
                return Ok(code);
            }
        }
        self.end(ResultSubtype::Success, None)?;
        Ok(0)
    }

    fn step(&mut self, directive: ScriptDirective, prompt: &str) -> io::Result<TurnFlow> {
        match directive {
            ScriptDirective::Echo => self.unsaid.push(reply::echo(prompt, &self.before)),
            ScriptDirective::Say(text) => self.unsaid.push(text),
            ScriptDirective::Json(value) => {
                self.flush()?;
                self.unsaid.push(value);
                self.flush()?;
            }
            ScriptDirective::Think(time) => {
                self.flush()?;
                wait::pause(time);
            }
            ScriptDirective::Hang => {
                self.flush()?;
                wait::forever();
            }
            ScriptDirective::Ask(question) => self.ask(&question, &[])?,
            ScriptDirective::Choose { question, options } => self.ask(&question, &options)?,
            ScriptDirective::Use { tool, asks } => self.use_tool(&tool, asks)?,
            ScriptDirective::Cost(usd) => self.session.charge(usd),
            ScriptDirective::Fail(message) => {
                self.flush()?;
                self.end(ResultSubtype::ErrorDuringExecution, Some(message))?;
                return Ok(TurnFlow::Exit(1));
            }
            ScriptDirective::Trick(trick) => self.play(&trick)?,
            ScriptDirective::End(end) => return self.end_run(&end).map(TurnFlow::Exit),
            // A program keeps these to itself.
            ScriptDirective::Repeat(_) => {}
        }
        Ok(TurnFlow::On)
    }

    fn ask(&mut self, question: &str, options: &[String]) -> io::Result<()> {
        let call = ToolCall::question(question, options);
        let id = self.request_tool(&call)?;
        self.deny(&call, &id, "A headless run cannot ask a person.")?;
        self.unsaid.push(format!("I could not ask: {question}"));
        Ok(())
    }

    fn use_tool(&mut self, tool: &ToolUse, asks: bool) -> io::Result<()> {
        let call = ToolCall::of(tool);
        let id = self.request_tool(&call)?;
        if asks && self.rules.of(tool) != ToolPermission::Granted {
            self.deny(&call, &id, "This needs an approval, which a headless run cannot ask for.")?;
            self.unsaid.push(reply::refused(tool));
            return Ok(());
        }
        let outcome = match tool {
            ToolUse::Command(command) => job::run(command, ProcessGroup::Ours)
                .unwrap_or_else(|error| ToolOutcome::failed(error.to_string())),
            ToolUse::Write { path, text } => tool::write(path, text),
        };
        self.read = outcome.output;
        self.report.write_tool_result(&id, &self.read, !outcome.ok)
    }

    fn play(&mut self, trick: &AgentMisbehaviour) -> io::Result<()> {
        self.flush()?;
        if let AgentMisbehaviour::Flood(bytes) = trick {
            flood::write(*bytes, self.report.raw())?;
        }
        // A trick is no answer; only its failure is worth a word.
        let outcome = self.tricks.play(trick);
        if !outcome.ok {
            self.unsaid.push(outcome.output);
        }
        Ok(())
    }

    fn end_run(&mut self, end: &ProcessExit) -> io::Result<u8> {
        self.flush()?;
        match end {
            ProcessExit::Exit { code, now: true } => return Ok(*code),
            ProcessExit::Exit { code, now: false } => {
                self.end(ResultSubtype::Success, None)?;
                return Ok(*code);
            }
            ProcessExit::Die(signal) => signals::die_by_signal(*signal)?,
            ProcessExit::SplitUtf8 => self.report.split()?,
            ProcessExit::CloseTty(time) => {
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
        self.report.write_text(&text, usage)?;
        self.answer = Some(text);
        Ok(())
    }

    fn request_tool(&mut self, call: &ToolCall) -> io::Result<String> {
        self.flush()?;
        self.answer = None;
        let usage = self.count(&call.input.to_string());
        self.report.write_tool_use(call, usage)
    }

    fn deny(&mut self, call: &ToolCall, id: &str, message: &str) -> io::Result<()> {
        self.denials.push(PermissionDenial {
            tool_name: call.name.to_owned(),
            tool_use_id: id.to_owned(),
            tool_input: call.input.clone(),
        });
        message.clone_into(&mut self.read);
        self.report.denied(call, id, message)
    }

    /// What this message used.
    fn count(&mut self, said: &str) -> TokenCounts {
        let usage = TokenCounts::of(&std::mem::take(&mut self.read), said);
        self.usage.add(usage);
        self.messages += 1;
        usage
    }

    /// Prints the result. An agent that has printed no text since its last tool call says "Done."
    fn end(&mut self, subtype: ResultSubtype, error: Option<String>) -> io::Result<()> {
        if error.is_none() && self.unsaid.is_empty() && self.answer.is_none() {
            self.unsaid.push(reply::DONE.to_owned());
        }
        self.flush()?;
        // Save before printing the result, so that its reader can resume the session at once.
        if let Err(error) = self.store.save(&self.session) {
            self.report.note(&format!("{error}: this session cannot be resumed"))?;
        }
        let is_error = error.is_some();
        self.report.ended(ResultEvent {
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
