//! One turn of a session: from a prompt to its end, directive by directive.

mod tool_use;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::command::CommandGuard;
use super::connection::MessageWriter;
use super::question::{AnnouncedCall, ClientQuestion};
use super::session::AcpSession;
use crate::headless::TokenCounts;
use crate::job::{RunningCommand, ToolOutcome};
use crate::misbehaviour::LateWriters;
use crate::script::{AgentMisbehaviour, ProcessExit, ScriptDirective, TurnScript};
use crate::task::PromptTask;
use crate::{flood, reply};

/// How much of a flood goes into one message.
const FLOOD_CHUNK_BYTES: u64 = 1000 * flood::LINE_BYTES as u64;

/// A character of two bytes, for being cut in half.
const SPLIT_TEXT: &str = "caf\u{e9}";

/// A turn that is under way. It owns its session until it ends.
pub(super) struct AcpTurn {
    /// The id of the request that is answered at the end of the turn.
    pub(super) request: Value,
    pub(super) session: AcpSession,
    pub(super) usage: TokenCounts,
    prompt: String,
    /// The prompts of the turns before.
    before: Vec<String>,
    program: TurnScript,
    activity: TurnActivity,
    /// What the agent has been told since it last said something.
    read: String,
    /// What was said but not yet sent: what is said in one breath is one message.
    unsaid: Vec<String>,
    /// Whether a message was sent since the last tool call.
    said: bool,
    messages: u64,
    calls: u64,
}

/// What a turn is busy with.
enum TurnActivity {
    /// The next directive.
    Ready,
    /// Nothing that can be seen, until that time or for ever.
    Thinking {
        until: Option<Instant>,
    },
    Asking {
        request: u64,
        call: AnnouncedCall,
        question: ClientQuestion,
    },
    Running {
        call: AnnouncedCall,
        command: RunningCommand,
    },
    Flooding {
        written: u64,
        total: u64,
    },
}

/// Why a turn is over.
pub(super) enum TurnEnd {
    Done,
    Failed(String),
    /// The whole process ends with it.
    Process(ProcessExit),
}

impl AcpTurn {
    pub(super) fn new(request: Value, task: PromptTask, mut session: AcpSession) -> Self {
        let before = session.memory.prompts.clone();
        session.memory.remember(&task.prompt);
        Self {
            request,
            session,
            usage: TokenCounts::default(),
            read: task.prompt.clone(),
            prompt: task.prompt,
            before,
            program: task.program,
            activity: TurnActivity::Ready,
            unsaid: Vec::new(),
            said: false,
            messages: 0,
            calls: 0,
        }
    }

    /// How long the turn waits by itself; `None` is until something happens.
    pub(super) fn timeout(&self) -> Option<Duration> {
        match &self.activity {
            TurnActivity::Ready | TurnActivity::Flooding { .. } => Some(Duration::ZERO),
            TurnActivity::Thinking { until } => {
                until.map(|until| until.saturating_duration_since(Instant::now()))
            }
            TurnActivity::Asking { .. } | TurnActivity::Running { .. } => None,
        }
    }

    /// Becomes readable when the command that runs has printed something.
    pub(super) fn command_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.activity {
            TurnActivity::Running { command, .. } => command.fd(),
            _ => None,
        }
    }

    /// Whether the turn waits for the answer to this request.
    pub(super) fn asks(&self, id: &Value) -> bool {
        matches!(&self.activity, TurnActivity::Asking { request, .. } if id == request)
    }

    /// Does the next thing, if it is time for it. Only one, so that the client is heard in between.
    pub(super) fn advance(
        &mut self,
        writer: &mut MessageWriter<'_>,
        commands: &CommandGuard,
        tricks: &mut LateWriters,
    ) -> io::Result<Option<TurnEnd>> {
        match std::mem::replace(&mut self.activity, TurnActivity::Ready) {
            TurnActivity::Ready => return self.step(writer, commands, tricks),
            TurnActivity::Thinking { until: Some(until) } if until <= Instant::now() => {}
            TurnActivity::Flooding { written, total } => self.flood(written, total, writer)?,
            TurnActivity::Running { call, mut command } => match command.check() {
                Ok(None) => self.activity = TurnActivity::Running { call, command },
                ended => {
                    commands.end(command);
                    let failed = |error: io::Error| Some(ToolOutcome::failed(error.to_string()));
                    if let Some(outcome) = ended.unwrap_or_else(failed) {
                        self.end_call(&call, outcome, writer)?;
                    }
                }
            },
            waiting => self.activity = waiting,
        }
        Ok(None)
    }

    /// Follows the next directive.
    fn step(
        &mut self,
        writer: &mut MessageWriter<'_>,
        commands: &CommandGuard,
        tricks: &mut LateWriters,
    ) -> io::Result<Option<TurnEnd>> {
        match self.program.next() {
            Some(ScriptDirective::Echo) => {
                self.unsaid.push(reply::echo(&self.prompt, &self.before));
            }
            Some(ScriptDirective::Say(text)) => self.unsaid.push(text),
            Some(ScriptDirective::Json(value)) => {
                self.flush(writer)?;
                self.unsaid.push(value);
                self.flush(writer)?;
            }
            Some(ScriptDirective::Think(time)) => {
                let thought = format!("I work for {} seconds.", time.as_secs_f64());
                self.think(&thought, Some(Instant::now() + time), writer)?;
            }
            Some(ScriptDirective::Hang) => {
                self.think("I work until I am cancelled.", None, writer)?;
            }
            Some(ScriptDirective::Ask(question)) => self.refuse_to_ask(&question, writer)?,
            Some(ScriptDirective::Choose { question, options }) => {
                self.ask_choice(&question, options, writer)?;
            }
            Some(ScriptDirective::Use { tool, asks }) => {
                self.use_tool(tool, asks, writer, commands)?;
            }
            Some(ScriptDirective::Cost(usd)) => self.session.memory.charge(usd),
            Some(ScriptDirective::Fail(message)) => {
                self.flush(writer)?;
                return Ok(Some(TurnEnd::Failed(message)));
            }
            Some(ScriptDirective::Trick(trick)) => self.play(&trick, writer, tricks)?,
            Some(ScriptDirective::End(end)) => {
                if let ProcessExit::Exit { now: false, .. } = end {
                    self.conclude();
                }
                self.flush(writer)?;
                return Ok(Some(TurnEnd::Process(end)));
            }
            // A program keeps these to itself.
            Some(ScriptDirective::Repeat(_)) => {}
            None => {
                self.conclude();
                self.flush(writer)?;
                return Ok(Some(TurnEnd::Done));
            }
        }
        Ok(None)
    }

    /// An agent that has said nothing since its last tool call says "Done."
    fn conclude(&mut self) {
        if self.unsaid.is_empty() && !self.said {
            self.unsaid.push(reply::DONE.to_owned());
        }
    }

    fn think(
        &mut self,
        thought: &str,
        until: Option<Instant>,
        writer: &mut MessageWriter<'_>,
    ) -> io::Result<()> {
        self.flush(writer)?;
        let content = json!({ "type": "text", "text": thought });
        let update = json!({ "sessionUpdate": "agent_thought_chunk", "content": content });
        self.session.tell(&update, writer)?;
        self.activity = TurnActivity::Thinking { until };
        Ok(())
    }

    fn play(
        &mut self,
        trick: &AgentMisbehaviour,
        writer: &mut MessageWriter<'_>,
        tricks: &mut LateWriters,
    ) -> io::Result<()> {
        self.flush(writer)?;
        if let AgentMisbehaviour::Flood(total) = trick {
            self.messages += 1;
            self.activity = TurnActivity::Flooding { written: 0, total: *total };
        }
        // A trick is no answer; only its failure is worth a word.
        let outcome = tricks.play(trick);
        if !outcome.ok {
            self.unsaid.push(outcome.output);
        }
        Ok(())
    }

    /// Sends the next part of a flood, as one message after the other: bytes that are no messages
    /// would not be the protocol. The history does not keep it.
    fn flood(
        &mut self,
        written: u64,
        total: u64,
        writer: &mut MessageWriter<'_>,
    ) -> io::Result<()> {
        if written == total {
            return Ok(());
        }
        let count = FLOOD_CHUNK_BYTES.min(total - written);
        let first = written / flood::LINE_BYTES as u64;
        let bytes: Vec<u8> =
            (first..).flat_map(flood::line).take(usize::try_from(count).unwrap_or(0)).collect();
        let update = self.message(&String::from_utf8_lossy(&bytes));
        writer.update(&self.session.memory.id, &update)?;
        self.activity = TurnActivity::Flooding { written: written + count, total };
        Ok(())
    }

    /// Breaks the turn off, with what it was busy with.
    pub(super) fn cancel(
        &mut self,
        writer: &mut MessageWriter<'_>,
        commands: &CommandGuard,
    ) -> io::Result<()> {
        self.flush(writer)?;
        let call = match std::mem::replace(&mut self.activity, TurnActivity::Ready) {
            TurnActivity::Running { call, command } => {
                commands.end(command);
                call
            }
            TurnActivity::Asking { call, .. } => call,
            _ => return Ok(()),
        };
        self.end_call(&call, ToolOutcome::failed("The client cancelled this."), writer)
    }

    /// Stops in the middle of a message.
    pub(super) fn split_message(&self, writer: &mut MessageWriter<'_>) -> io::Result<()> {
        writer.split_update(&self.session.memory.id, &self.message(SPLIT_TEXT))
    }

    /// Sends what was said, one chunk for each thing that was said.
    fn flush(&mut self, writer: &mut MessageWriter<'_>) -> io::Result<()> {
        if self.unsaid.is_empty() {
            return Ok(());
        }
        let texts = std::mem::take(&mut self.unsaid);
        self.count(&texts.join("\n"));
        self.messages += 1;
        for (index, text) in texts.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            self.session.tell(&self.message(&format!("{separator}{text}")), writer)?;
        }
        self.said = true;
        Ok(())
    }

    /// A part of the message that is being sent. The id is new in each turn, also after a load.
    fn message(&self, text: &str) -> Value {
        json!({
            "sessionUpdate": "agent_message_chunk",
            "messageId": format!("msg_{}_{}", self.session.memory.turns, self.messages),
            "content": { "type": "text", "text": text },
        })
    }

    /// Counts what was said, and what was read for it.
    fn count(&mut self, said: &str) {
        self.usage.add(TokenCounts::of(&std::mem::take(&mut self.read), said));
    }
}
