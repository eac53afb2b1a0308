//! Speaks an agent's own protocol over its standard input and output.
//!
//! A [`ChannelCodec`] is folded from the bytes of both directions and from nothing else: it has no
//! clock, does no I/O and knows nothing that is not on the tape. A daemon that was killed folds the
//! tape again and knows every question that is open; the answer given an hour later reaches the
//! same process.
//!
//! - [`ChannelCodec::feed`] reads bytes, in any pieces, and tells what they mean.
//! - [`ChannelCodec::due`] is what must be written next without anybody deciding: the handshake,
//!   the prompts of a plan, and an error for every request that is not known, because an agent
//!   waits for its answer.
//! - [`ChannelCodec::say`] is what has to be written for a decision.
//!
//! Neither `due` nor `say` changes anything. What they return counts when it has been written and
//! fed back as [`ChannelDirection::In`]; until then nothing else may be said, because messages are
//! numbered by what was folded.
//!
//! A codec never fails: what it does not understand becomes [`ChannelEvent::Unknown`]. It keeps a
//! bounded amount of memory ([`ChannelCodec::buffered`]), whatever is printed.

mod acp;
mod announced_calls;
mod answer;
mod claude;
mod codex;
mod event;
mod exact_id;
mod extras;
mod fold;
mod json_rpc;
mod kind;
mod order;
mod plan;
mod question;
mod unread;

#[cfg(test)]
mod tests;

use coven_model::TokenUsage;
use serde::{Deserialize, Serialize};

pub use event::{
    ChannelDirection, ChannelEvent, ChannelPhase, ChannelState, ResolvedBy, TurnEnding,
    TurnOutcome, UntakenPrompt, UsageLimit,
};
pub use kind::{ChannelKind, UnknownChannel};
pub use order::{ChannelDecision, ChannelMessage, ChannelOrder, ChannelRefusal, QuestionAnswer};
pub use plan::{ChannelOptions, ChannelPlan};
pub use question::{
    AnswerOption, AskedQuestion, ChannelQuestion, KnownDigest, OptionEffect, RequestId,
    canonical_json,
};

use crate::transcript::LINE_LIMIT;
use crate::transcript::json::{JsonNode, parse_told};
use crate::transcript::lines::{LineSplitter, RawLine};
use answer::WrittenAnswer::Refused;
use fold::{ChannelFold, ChannelSink};

/// Most that a codec keeps of what was said: an unfinished line in either direction, the open
/// questions, the changes they are about, and the answer so far. It takes a hostile agent to come
/// near it.
pub const CHANNEL_BUFFER_LIMIT: usize =
    3 * LINE_LIMIT + fold::OPEN_BYTES_LIMIT + fold::REFUSED_BYTES_LIMIT + 8 * 1024 * 1024;

/// Reads and speaks the protocol of one process. Saved as JSON it goes on where it was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChannelCodec {
    kind: ChannelKind,
    options: ChannelOptions,
    printed: LineSplitter,
    written: LineSplitter,
    fold: ChannelFold,
    protocol: Protocol,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Protocol {
    Claude(claude::ClaudeChannel),
    Codex(codex::CodexChannel),
    Acp(acp::AcpChannel),
}

impl ChannelCodec {
    /// A codec for a process that has said nothing yet.
    pub fn new(kind: ChannelKind, options: ChannelOptions) -> Self {
        let protocol = match kind {
            ChannelKind::ClaudeStdio => Protocol::Claude(claude::ClaudeChannel::new()),
            ChannelKind::CodexAppServer => Protocol::Codex(codex::CodexChannel::default()),
            ChannelKind::Acp => Protocol::Acp(acp::AcpChannel::default()),
        };
        Self {
            kind,
            options,
            printed: LineSplitter::new(),
            written: LineSplitter::new(),
            fold: ChannelFold::default(),
            protocol,
        }
    }

    /// Says what the conversation had used up before this process resumed it. Some agents count
    /// over the whole conversation; for those it is taken off.
    #[must_use]
    pub fn resumed_from(mut self, previous: TokenUsage) -> Self {
        self.fold.run.previous = previous;
        self
    }

    pub const fn kind(&self) -> ChannelKind {
        self.kind
    }

    /// Reads the next bytes of one direction. Standard error is no part of a channel.
    pub fn feed(
        &mut self,
        direction: ChannelDirection,
        bytes: &[u8],
        emit: &mut impl FnMut(ChannelEvent),
    ) {
        let Self { printed, written, fold, protocol, .. } = self;
        let mut out = ChannelSink::new(fold, emit);
        let lines = match direction {
            ChannelDirection::Out => printed,
            ChannelDirection::In => written,
        };
        lines.feed(bytes, |line| protocol.line(direction, line, &mut out));
    }

    /// Says that what is fed next does not follow: what was said between is lost. A message
    /// that was under way is forgotten.
    pub fn skip(&mut self) {
        (self.printed, self.written) = (LineSplitter::new(), LineSplitter::new());
    }

    /// Reads what the agent printed after its last line feed, when it has closed its output.
    pub fn finish(&mut self, emit: &mut impl FnMut(ChannelEvent)) {
        let Self { printed, fold, protocol, .. } = self;
        let mut out = ChannelSink::new(fold, emit);
        printed.finish(|line| protocol.line(ChannelDirection::Out, line, &mut out));
    }

    /// The bytes for an order. They must be written as they are, and fed back as
    /// [`ChannelDirection::In`].
    ///
    /// A denial with a text reaches the model in the same turn with Claude and Codex. With ACP it
    /// cannot be said, and is handed back as [`ChannelMessage::next_prompt`].
    pub fn say(&self, order: &ChannelOrder) -> Result<ChannelMessage, ChannelRefusal> {
        if !self.written.is_empty() {
            return Err(ChannelRefusal::Unfinished);
        }
        match &self.protocol {
            Protocol::Claude(_) => claude::say(&self.fold, order),
            Protocol::Codex(codex) => codex.say(&self.fold, order),
            Protocol::Acp(acp) => acp.say(&self.fold, order, &self.options),
        }
    }

    /// What must be written next without anybody deciding; nothing while the agent has to speak
    /// first. To be asked again after everything that was fed.
    ///
    /// The prompts of the plan are written one by one, each when the agent is idle, and none after
    /// a turn that failed.
    pub fn due(&self, plan: &ChannelPlan) -> Option<Vec<u8>> {
        if !self.written.is_empty() {
            return None;
        }
        if let Some(refused) = self.fold.refused() {
            return Some(match &self.protocol {
                Protocol::Claude(_) => claude::refusal(refused),
                Protocol::Codex(_) => codex::refusal(refused),
                Protocol::Acp(_) => acp::refusal(refused),
            });
        }
        if self.fold.phase() == ChannelPhase::Failed {
            return None;
        }
        match &self.protocol {
            Protocol::Claude(_) => claude::ClaudeChannel::due(&self.fold, plan),
            Protocol::Codex(codex) => codex.due(&self.fold, plan),
            Protocol::Acp(acp) => acp.due(&self.fold, plan),
        }
    }

    /// The questions that are open now, oldest first.
    pub fn open(&self) -> impl Iterator<Item = &ChannelQuestion> {
        self.fold.open()
    }

    /// What the agent is doing, and the message that says so.
    pub fn state(&self) -> ChannelState {
        self.fold.state()
    }

    /// The id of the agent's conversation, to resume it.
    pub fn session(&self) -> Option<&str> {
        self.fold.run.session.as_deref()
    }

    /// Whether an error in answer to this message of ours means that the agent does not begin.
    pub fn is_refused(&self, message: &str) -> bool {
        const RESUME: [&str; 2] = ["thread/resume", "session/load"];
        RESUME.contains(&message) || self.is_refusal_of_protocol(message)
    }

    /// Whether it means that the agent cannot be spoken to at all. One that does not know a
    /// conversation can.
    pub fn is_refusal_of_protocol(&self, message: &str) -> bool {
        const HANDSHAKE: [&str; 3] = ["initialize", "thread/start", "session/new"];
        const MODE: [&str; 3] =
            ["set_permission_mode", "session/set_mode", "session/set_config_option"];
        HANDSHAKE.contains(&message) || (MODE.contains(&message) && !self.fold.has_prompt())
    }

    /// What this process used up, as far as the agent told.
    pub fn usage(&self) -> TokenUsage {
        self.fold.run.usage
    }

    /// How many bytes there are of messages that have not ended.
    pub fn unfinished(&self) -> usize {
        self.printed.unfinished() + self.written.unfinished()
    }

    /// How many bytes of messages it keeps at the moment; never more than
    /// [`CHANNEL_BUFFER_LIMIT`].
    pub fn buffered(&self) -> usize {
        let changes = match &self.protocol {
            Protocol::Codex(codex) => codex.buffered(),
            Protocol::Claude(_) | Protocol::Acp(_) => 0,
        };
        self.printed.buffered() + self.written.buffered() + self.fold.buffered() + changes
    }
}

impl Protocol {
    const fn kind(&self) -> ChannelKind {
        match self {
            Self::Claude(_) => ChannelKind::ClaudeStdio,
            Self::Codex(_) => ChannelKind::CodexAppServer,
            Self::Acp(_) => ChannelKind::Acp,
        }
    }

    fn line(&mut self, direction: ChannelDirection, line: RawLine<'_>, out: &mut ChannelSink<'_>) {
        let bytes = line.bytes.trim_ascii();
        // Some programs write a mark of the encoding before what they say.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.is_empty() {
            return;
        }
        out.repeated = None;
        let value = parse_told(bytes, &mut out.repeated);
        let mut value = value.filter(|value| line.omitted == 0 && value.is_object());
        let kind = self.kind();
        let is_unread = value.is_none() && direction == ChannelDirection::Out;
        if is_unread
            && line.omitted == 0
            && let Some((messages, rest)) = unread::messages(bytes)
        {
            for bytes in messages {
                self.line(direction, RawLine { bytes, omitted: 0 }, out);
            }
            if !rest.is_empty() {
                out.unknown(direction, rest, 0);
                unread::answer(kind, rest, 0, out);
            }
            return;
        }
        if let Some(value) = &mut value {
            exact_id::keep_exact(value, bytes);
        }
        let message = JsonNode::read(value.as_ref());
        let known = message.exists()
            && match (self, direction) {
                (Self::Claude(claude), ChannelDirection::Out) => {
                    claude.printed(message, bytes.len(), out)
                }
                (Self::Claude(_), ChannelDirection::In) => claude::written(message, out),
                (Self::Codex(codex), ChannelDirection::Out) => {
                    codex.printed(message, bytes.len(), out)
                }
                (Self::Codex(codex), ChannelDirection::In) => codex.written(message, out),
                (Self::Acp(acp), ChannelDirection::Out) => acp.printed(message, bytes.len(), out),
                (Self::Acp(acp), ChannelDirection::In) => acp.written(message, out),
            };
        let id = message.get("id");
        let has_null_id = id.is_given() && !id.exists();
        let null_id = || RequestId::Other { json: "null".to_owned() };
        match direction {
            _ if known => {}
            ChannelDirection::In if has_null_id && out.answered(&null_id(), &Refused) => {}
            _ => {
                out.unknown(direction, line.bytes, line.omitted);
                if is_unread {
                    unread::answer(kind, bytes, line.omitted, out);
                }
                // Some write `null` where they mean no id; one that asks with it waits for an answer.
                let method = message.get("method").str().filter(|_| has_null_id);
                if let Some(method) = method.filter(|_| direction == ChannelDirection::Out) {
                    out.refuse(null_id(), method);
                }
            }
        }
    }
}
