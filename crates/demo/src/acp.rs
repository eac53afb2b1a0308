//! The agent as a server of the Agent Client Protocol, version 1: JSON-RPC 2.0 with one message per
//! line, on standard input and output, as other agents speak it. One loop waits for the client, for
//! the command that runs and for time, so that a turn can be cancelled whatever it is busy with.

mod command;
mod connection;
mod message;
mod method;
mod question;
mod session;
#[cfg(test)]
mod tests;
mod turn;

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;

use serde_json::{Value, json};
use signal_hook::consts::SIGCHLD;

use crate::error::Error;
use crate::helper::leave_streams;
use crate::options::Options;
use crate::script::ProcessExit;
use crate::session::DemoSessionStore;
use crate::streams::AgentStreams;
use crate::task::PromptTask;
use crate::wait::{self, SignalWakeups};
use crate::{misbehaviour::LateWriters, signals};
use command::CommandGuard;
use connection::{InputLine, LineReader, MessageWriter};
use message::{ClientMessage, RpcError};
use session::AcpSession;
use turn::{AcpTurn, TurnEnd};

/// The size of the context that the agent claims to have, in tokens.
const CONTEXT_TOKENS: u64 = 100_000;

/// Serves the client until it closes the input, and returns the exit code.
pub(crate) fn run(
    options: &Options,
    store: DemoSessionStore,
    streams: AgentStreams<'_>,
) -> Result<u8, Error> {
    // A mistake in the directives of the command line is told before the client waits for anything.
    PromptTask::read(&Options { prompt: None, ..options.clone() }, None)?;
    let mut agent = AcpAgent {
        options,
        store,
        reader: LineReader::new(streams.input),
        writer: MessageWriter::new(streams),
        wakeups: SignalWakeups::new(&[SIGCHLD]).map_err(Error::Client)?,
        commands: CommandGuard::new().map_err(Error::Client)?,
        tricks: LateWriters::default(),
        initialized: false,
        prompted: false,
        sessions: HashMap::new(),
        turn: None,
    };
    if options.prompt.is_some() || options.resume.is_some() || options.session_id.is_some() {
        agent
            .writer
            .note("the client names prompts and sessions; those of the arguments are unused");
    }
    agent.serve(streams)
}

struct AcpAgent<'a> {
    options: &'a Options,
    store: DemoSessionStore,
    reader: LineReader<'a>,
    writer: MessageWriter<'a>,
    wakeups: SignalWakeups,
    commands: CommandGuard,
    tricks: LateWriters,
    initialized: bool,
    /// The first prompt has come, and with it the directives of the command line.
    prompted: bool,
    /// By id, without the session of the turn that is under way.
    sessions: HashMap<String, AcpSession>,
    turn: Option<AcpTurn>,
}

impl AcpAgent<'_> {
    fn serve(&mut self, streams: AgentStreams<'_>) -> Result<u8, Error> {
        loop {
            let timeout = self.turn.as_ref().and_then(AcpTurn::timeout);
            let command = self.turn.as_ref().and_then(AcpTurn::command_fd);
            let fds = [Some(streams.input), Some(self.wakeups.as_fd()), command];
            let [readable, _, _] = wait::ready(fds, timeout).map_err(Error::Client)?;
            // Before the command is looked at, so that its end is not missed.
            self.wakeups.clear();
            if readable {
                let Some(lines) = self.reader.read().map_err(Error::Client)? else {
                    return Ok(0);
                };
                for line in lines {
                    self.receive(&line).map_err(Error::Output)?;
                }
            }
            if let Some(code) = self.advance().map_err(Error::Output)? {
                return Ok(code);
            }
        }
    }

    fn receive(&mut self, line: &InputLine) -> io::Result<()> {
        let message = match line {
            InputLine::Complete(line) => message::read(line),
            InputLine::TooLong => {
                Err((Value::Null, RpcError::new(RpcError::PARSE_ERROR, "the line is too long")))
            }
        };
        match message {
            Ok(ClientMessage::Request { id, method, params }) => self.answer(&id, &method, params),
            Ok(ClientMessage::Notification { method, params }) => self.notified(&method, params),
            Ok(ClientMessage::Response { id, result }) => self.answered(&id, result.as_ref()),
            Err((id, error)) => self.writer.refuse(&id, &error),
        }
    }

    /// The client has answered a request. An answer that comes after its turn was cancelled changes
    /// nothing.
    fn answered(&mut self, id: &Value, result: Option<&Value>) -> io::Result<()> {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.asks(id)) else {
            self.writer.note(&format!("no question with the id {id} is open"));
            return Ok(());
        };
        if turn.answered(result, &mut self.writer, &self.commands)? {
            return Ok(());
        }
        self.cancel_turn()
    }

    fn cancel_turn(&mut self) -> io::Result<()> {
        let Some(mut turn) = self.turn.take() else { return Ok(()) };
        turn.cancel(&mut self.writer, &self.commands)?;
        self.end_turn(turn, Ok("cancelled"))
    }

    /// Does the next thing of the turn. Returns the exit code if the process is to end.
    fn advance(&mut self) -> io::Result<Option<u8>> {
        let Some(turn) = &mut self.turn else { return Ok(None) };
        let end = turn.advance(&mut self.writer, &self.commands, &mut self.tricks)?;
        let Some((turn, end)) = end.and_then(|end| Some((self.turn.take()?, end))) else {
            return Ok(None);
        };
        match end {
            TurnEnd::Done => self.end_turn(turn, Ok("end_turn"))?,
            TurnEnd::Failed(message) => {
                self.end_turn(turn, Err(RpcError::new(RpcError::INTERNAL_ERROR, message)))?;
            }
            TurnEnd::Process(end) => return self.end_process(turn, &end).map(Some),
        }
        Ok(None)
    }

    /// Answers the prompt with the reason why the turn stopped, or with an error.
    fn end_turn(
        &mut self,
        turn: AcpTurn,
        outcome: Result<&'static str, RpcError>,
    ) -> io::Result<()> {
        let AcpTurn { request, mut session, usage, .. } = turn;
        let total = usage.input_tokens + usage.output_tokens;
        session.used_tokens += total;
        // Saved before the answer, so that the client can load the session at once.
        if let Err(error) = self.store.save(&session.memory) {
            self.writer.note(&format!("{error}: this session cannot be loaded"));
        }
        let mut update = json!({
            "sessionUpdate": "usage_update",
            "used": session.used_tokens,
            "size": CONTEXT_TOKENS,
        });
        if let Some(usd) = session.memory.cost_usd {
            update["cost"] = json!({ "amount": usd, "currency": "USD" });
        }
        self.writer.update(&session.memory.id, &update)?;
        self.sessions.insert(session.memory.id.clone(), session);
        match outcome {
            Ok(stop_reason) => {
                let usage = json!({
                    "inputTokens": usage.input_tokens,
                    "outputTokens": usage.output_tokens,
                    "totalTokens": total,
                    "cachedReadTokens": usage.cache_read_input_tokens,
                });
                let result = json!({ "stopReason": stop_reason, "usage": usage });
                self.writer.respond(&request, &result)
            }
            Err(error) => self.writer.refuse(&request, &error),
        }
    }

    fn end_process(&mut self, turn: AcpTurn, end: &ProcessExit) -> io::Result<u8> {
        match end {
            ProcessExit::Exit { code, now: true } => return Ok(*code),
            ProcessExit::Exit { code, now: false } => {
                self.end_turn(turn, Ok("end_turn"))?;
                return Ok(*code);
            }
            ProcessExit::Die(signal) => signals::die_by_signal(*signal)?,
            ProcessExit::SplitUtf8 => turn.split_message(&mut self.writer)?,
            ProcessExit::CloseTty(time) => {
                leave_streams()?;
                wait::pause(*time);
            }
        }
        Ok(0)
    }
}
