//! The tools of a turn and the questions about them: announced, asked for, used or refused.

use std::io;

use serde_json::{Value, json};

use super::{AcpTurn, TurnActivity};
use crate::acp::command::CommandGuard;
use crate::acp::connection::MessageWriter;
use crate::acp::question::{AnnouncedCall, ClientDecision, ClientQuestion};
use crate::job::ToolOutcome;
use crate::permission::ToolPermission;
use crate::script::ToolUse;
use crate::{reply, tool};

impl AcpTurn {
    /// The protocol has no way to ask for a text.
    pub(super) fn refuse_to_ask(
        &mut self,
        question: &str,
        writer: &mut MessageWriter<'_>,
    ) -> io::Result<()> {
        let call = AnnouncedCall::question(self.next_call_id(), question, &[]);
        self.announce(&call, writer)?;
        let why = "The Agent Client Protocol cannot ask a person for a text.";
        self.end_call(&call, ToolOutcome::failed(why), writer)?;
        self.unsaid.push(format!("I could not ask: {question}"));
        Ok(())
    }

    /// Lets the client choose.
    pub(super) fn ask_choice(
        &mut self,
        question: &str,
        options: Vec<String>,
        writer: &mut MessageWriter<'_>,
    ) -> io::Result<()> {
        let call = AnnouncedCall::question(self.next_call_id(), question, &options);
        self.announce(&call, writer)?;
        self.ask(call, ClientQuestion::Choice(options), writer)
    }

    pub(super) fn use_tool(
        &mut self,
        tool: ToolUse,
        asks: bool,
        writer: &mut MessageWriter<'_>,
        commands: &CommandGuard,
    ) -> io::Result<()> {
        let call = AnnouncedCall::tool(self.next_call_id(), &tool);
        self.announce(&call, writer)?;
        match if asks { self.session.rules.of(&tool) } else { ToolPermission::Granted } {
            ToolPermission::Granted => self.perform(call, &tool, writer, commands),
            ToolPermission::Open => self.ask(call, ClientQuestion::Permission(tool), writer),
            ToolPermission::Refused => {
                self.refused(&call, &tool, "The mode of the session does not allow this.", writer)
            }
        }
    }

    fn ask(
        &mut self,
        call: AnnouncedCall,
        question: ClientQuestion,
        writer: &mut MessageWriter<'_>,
    ) -> io::Result<()> {
        let params = json!({
            "sessionId": self.session.memory.id,
            "toolCall": call.pending(),
            "options": question.options(),
        });
        let request = writer.request("session/request_permission", &params)?;
        self.activity = TurnActivity::Asking { request, call, question };
        Ok(())
    }

    /// The client has answered the question. Returns whether the turn goes on.
    pub(in crate::acp) fn answered(
        &mut self,
        result: Option<&Value>,
        writer: &mut MessageWriter<'_>,
        commands: &CommandGuard,
    ) -> io::Result<bool> {
        let decision = ClientDecision::read(result);
        if decision == ClientDecision::Cancelled {
            return Ok(false);
        }
        let activity = std::mem::replace(&mut self.activity, TurnActivity::Ready);
        let TurnActivity::Asking { call, question, .. } = activity else {
            self.activity = activity;
            return Ok(true);
        };
        match (question, decision) {
            (ClientQuestion::Permission(tool), ClientDecision::Selected(option))
                if option == "allow_once" || option == "allow_always" =>
            {
                if option == "allow_always" {
                    self.session.rules.allow_always(&tool);
                }
                self.perform(call, &tool, writer, commands)?;
            }
            (ClientQuestion::Permission(tool), _) => {
                self.refused(&call, &tool, "The client rejected this.", writer)?;
            }
            (ClientQuestion::Choice(labels), ClientDecision::Selected(option))
                if labels.contains(&option) =>
            {
                self.end_call(&call, ToolOutcome::ok(option.clone()), writer)?;
                self.unsaid.push(reply::acknowledge(&option));
            }
            (ClientQuestion::Choice(_), _) => {
                let why = "The client selected none of the options.";
                self.end_call(&call, ToolOutcome::failed(why), writer)?;
                self.unsaid.push(reply::NO_ANSWER.to_owned());
            }
        }
        Ok(true)
    }

    fn refused(
        &mut self,
        call: &AnnouncedCall,
        tool: &ToolUse,
        why: &str,
        writer: &mut MessageWriter<'_>,
    ) -> io::Result<()> {
        self.end_call(call, ToolOutcome::failed(why), writer)?;
        self.unsaid.push(reply::refused(tool));
        Ok(())
    }

    fn perform(
        &mut self,
        call: AnnouncedCall,
        tool: &ToolUse,
        writer: &mut MessageWriter<'_>,
        commands: &CommandGuard,
    ) -> io::Result<()> {
        self.session.tell(&call.in_progress(), writer)?;
        let outcome = match tool {
            ToolUse::Command(command) => match commands.start(&self.session.folder, command) {
                Ok(command) => {
                    self.activity = TurnActivity::Running { call, command };
                    return Ok(());
                }
                Err(error) => ToolOutcome::failed(error.to_string()),
            },
            ToolUse::Write { path, text } => tool::write(&self.session.folder.join(path), text),
        };
        self.end_call(&call, outcome, writer)
    }

    fn next_call_id(&mut self) -> String {
        self.calls += 1;
        format!("call_{}_{}", self.session.memory.turns, self.calls)
    }

    fn announce(&mut self, call: &AnnouncedCall, writer: &mut MessageWriter<'_>) -> io::Result<()> {
        self.flush(writer)?;
        self.said = false;
        self.count(&call.input.to_string());
        self.session.tell(&call.announcement(), writer)
    }

    pub(super) fn end_call(
        &mut self,
        call: &AnnouncedCall,
        outcome: ToolOutcome,
        writer: &mut MessageWriter<'_>,
    ) -> io::Result<()> {
        self.session.tell(&call.ended(outcome.ok, &outcome.output), writer)?;
        self.read = outcome.output;
        Ok(())
    }
}
