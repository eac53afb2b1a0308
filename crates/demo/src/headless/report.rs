//! What a headless run prints, in one of its formats.

use std::io::{self, Write};

use super::transcript::{
    AssistantMessage, ContentPart, ResultEvent, SystemEvent, TokenCounts, TranscriptEvent,
    UserMessage,
};
use crate::AGENT_VERSION;
use crate::options::{Options, OutputFormat};
use crate::session::DemoSession;
use crate::tool::ToolCall;

/// A character of two bytes, for being cut in half.
const SPLIT: &str = "caf\u{e9}";

pub(super) struct TurnReport<'a> {
    format: OutputFormat,
    out: &'a mut dyn Write,
    errors: &'a mut dyn Write,
    session_id: String,
    model: String,
    messages: u64,
    tool_uses: u64,
}

impl<'a> TurnReport<'a> {
    pub(super) fn new(
        options: &Options,
        session: &DemoSession,
        out: &'a mut dyn Write,
        errors: &'a mut dyn Write,
    ) -> Self {
        Self {
            format: options.output_format,
            out,
            errors,
            session_id: session.id.clone(),
            model: session.model.clone(),
            messages: 0,
            tool_uses: 0,
        }
    }

    pub(super) fn init(&mut self, permission_mode: &str) -> io::Result<()> {
        let cwd = std::env::current_dir().unwrap_or_default();
        let init = SystemEvent::Init {
            cwd: cwd.to_string_lossy().into_owned(),
            session_id: self.session_id.clone(),
            tools: ["Bash", "Write", "AskUserQuestion"].map(str::to_owned).to_vec(),
            model: self.model.clone(),
            permission_mode: permission_mode.to_owned(),
            version: AGENT_VERSION.to_owned(),
        };
        self.event(&TranscriptEvent::System(init))
    }

    /// The agent said something.
    pub(super) fn write_text(&mut self, text: &str, usage: TokenCounts) -> io::Result<()> {
        self.assistant(ContentPart::Text { text: text.to_owned() }, usage)
    }

    /// The agent wants to use a tool. Returns the id of the use.
    pub(super) fn write_tool_use(
        &mut self,
        call: &ToolCall,
        usage: TokenCounts,
    ) -> io::Result<String> {
        self.tool_uses += 1;
        let id = format!("toolu_{:04}", self.tool_uses);
        let content = ContentPart::ToolUse {
            id: id.clone(),
            name: call.name.to_owned(),
            input: call.input.clone(),
        };
        self.assistant(content, usage)?;
        Ok(id)
    }

    /// The use of a tool was not allowed.
    pub(super) fn denied(&mut self, call: &ToolCall, id: &str, message: &str) -> io::Result<()> {
        self.event(&TranscriptEvent::System(SystemEvent::PermissionDenied {
            tool_name: call.name.to_owned(),
            tool_use_id: id.to_owned(),
            message: message.to_owned(),
            session_id: self.session_id.clone(),
        }))?;
        self.write_tool_result(id, message, true)
    }

    /// What came of the use of a tool.
    pub(super) fn write_tool_result(
        &mut self,
        id: &str,
        content: &str,
        is_error: bool,
    ) -> io::Result<()> {
        let content = ContentPart::ToolResult {
            tool_use_id: id.to_owned(),
            content: content.to_owned(),
            is_error,
        };
        let message = UserMessage { role: "user".to_owned(), content: vec![content] };
        self.event(&TranscriptEvent::User { message, session_id: self.session_id.clone() })
    }

    pub(super) fn ended(&mut self, last: ResultEvent) -> io::Result<()> {
        match self.format {
            OutputFormat::StreamJson => self.event(&TranscriptEvent::Result(Box::new(last))),
            OutputFormat::Text if last.is_error => writeln!(self.errors, "error: {}", last.result),
            OutputFormat::Text => writeln!(self.out, "{}", last.result),
        }
    }

    /// Something that is worth knowing but changes nothing.
    pub(super) fn note(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.errors, "note: {text}")
    }

    /// Stops in the middle of a character.
    pub(super) fn split(&mut self) -> io::Result<()> {
        let line = match self.format {
            OutputFormat::StreamJson => {
                let content = ContentPart::Text { text: SPLIT.to_owned() };
                serde_json::to_string(&self.message(content, TokenCounts::default()))?
            }
            OutputFormat::Text => SPLIT.to_owned(),
        };
        let middle = line.find('\u{e9}').map_or(line.len(), |at| at + 1);
        self.out.write_all(&line.as_bytes()[..middle])
    }

    /// Where bytes go that are not part of the report.
    pub(super) fn raw(&mut self) -> &mut dyn Write {
        self.out
    }

    fn assistant(&mut self, content: ContentPart, usage: TokenCounts) -> io::Result<()> {
        self.messages += 1;
        let event = self.message(content, usage);
        self.event(&event)
    }

    fn message(&self, content: ContentPart, usage: TokenCounts) -> TranscriptEvent {
        let message = AssistantMessage {
            id: format!("msg_{:04}", self.messages),
            role: "assistant".to_owned(),
            model: self.model.clone(),
            content: vec![content],
            usage,
        };
        TranscriptEvent::Assistant { message, session_id: self.session_id.clone() }
    }

    fn event(&mut self, event: &TranscriptEvent) -> io::Result<()> {
        if self.format == OutputFormat::Text {
            return Ok(());
        }
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.out.write_all(&line)
    }
}
