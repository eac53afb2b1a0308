//! What an agent said and did as people read it: the one view of all channels and of all headless
//! formats.
//!
//! A [`TranscriptView`] is folded from the bytes of an attempt, in any pieces, and from nothing
//! else. It hands over [`ViewedPart`]s; where they stand and when they happened is known to the
//! reader of the tape.

use coven_model::{ProcessEnding, StepStatus, TokenUsage, TranscriptPart, TranscriptStep};
use coven_terminal::sanitise::strip;
use serde_json::Value;

use crate::channel::{
    ChannelCodec, ChannelDirection, ChannelEvent, ChannelQuestion, ResolvedBy, TurnEnding,
    TurnOutcome, UntakenPrompt,
};
use crate::transcript::announced::purpose;
use crate::transcript::{TextExcerpt, TranscriptDecoder, TranscriptFormat, TranscriptItem};
use crate::visible::visible;

/// Most of what was said last that is kept, to see whether the answer repeats it.
const MAX_COMPARED_BYTES: usize = 64 * 1024;

/// An entry of a transcript without its place.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewedPart {
    /// What a person reads: nothing in it acts on a terminal.
    pub text: String,
    /// How many bytes of the text were left out.
    pub omitted: u64,
    /// The helper that said, did or asked it; nothing for the agent itself.
    pub by: Option<String>,
    /// Its kind, with what belongs to it.
    pub part: TranscriptPart,
}

/// Reads what one process said and was told.
#[derive(Clone, Debug)]
pub struct TranscriptView {
    source: ViewSource,
    usage: TokenUsage,
    /// What the agent said since anything else happened.
    said: String,
}

#[derive(Clone, Debug)]
enum ViewSource {
    Headless(Box<TranscriptDecoder>),
    /// Standard error is no part of a channel, and is read as text.
    Channel {
        codec: Box<ChannelCodec>,
        stderr: Box<TranscriptDecoder>,
    },
    Ended,
}

impl TranscriptView {
    /// Of an agent that prints in this format.
    pub fn headless(format: TranscriptFormat) -> Self {
        Self::new(ViewSource::Headless(Box::new(TranscriptDecoder::new(format))))
    }

    /// Of an agent that is spoken to in its own protocol.
    pub fn channel(codec: ChannelCodec) -> Self {
        let stderr = Box::new(TranscriptDecoder::new(TranscriptFormat::Text));
        Self::new(ViewSource::Channel { codec: Box::new(codec), stderr })
    }

    fn new(source: ViewSource) -> Self {
        Self { source, usage: TokenUsage::default(), said: String::new() }
    }

    /// All that is known to be used so far.
    pub const fn usage(&self) -> TokenUsage {
        self.usage
    }

    /// Whether what is written to the agent is a part of it.
    pub const fn is_conversation(&self) -> bool {
        matches!(self.source, ViewSource::Channel { .. })
    }

    /// Reads the next bytes of standard output.
    pub fn printed(&mut self, bytes: &[u8], emit: &mut impl FnMut(ViewedPart)) {
        let Self { source, usage, said } = self;
        let mut out = PartSink { usage, said, by: None, emit };
        match source {
            ViewSource::Headless(decoder) => {
                decoder.feed_stdout(bytes, &mut |item| out.item(item));
            }
            ViewSource::Channel { codec, .. } => {
                codec.feed(ChannelDirection::Out, bytes, &mut |event| out.event(event));
            }
            ViewSource::Ended => {}
        }
    }

    /// Reads the next bytes of standard error.
    pub fn complained(&mut self, bytes: &[u8], emit: &mut impl FnMut(ViewedPart)) {
        let Self { source, usage, said } = self;
        let mut out = PartSink { usage, said, by: None, emit };
        match source {
            ViewSource::Headless(decoder) | ViewSource::Channel { stderr: decoder, .. } => {
                decoder.feed_stderr(bytes, &mut |item| out.item(item));
            }
            ViewSource::Ended => {}
        }
    }

    /// Reads the next bytes that were written to the agent.
    pub fn written(&mut self, bytes: &[u8], emit: &mut impl FnMut(ViewedPart)) {
        let Self { source, usage, said } = self;
        let mut out = PartSink { usage, said, by: None, emit };
        if let ViewSource::Channel { codec, .. } = source {
            codec.feed(ChannelDirection::In, bytes, &mut |event| out.event(event));
        }
    }

    /// Reads what stands after the last line feeds. Nothing follows.
    pub fn finish(&mut self, emit: &mut impl FnMut(ViewedPart)) {
        let Self { source, usage, said } = self;
        let mut out = PartSink { usage, said, by: None, emit };
        // How the process ended decides whether it succeeded, which is not told here.
        let ending = ProcessEnding::Exited { code: 0 };
        match std::mem::replace(source, ViewSource::Ended) {
            ViewSource::Headless(decoder) => {
                drop(decoder.finish(&ending, &mut |item| out.item(item)));
            }
            ViewSource::Channel { mut codec, stderr } => {
                codec.finish(&mut |event| out.event(event));
                drop(stderr.finish(&ending, &mut |item| out.item(item)));
            }
            ViewSource::Ended => {}
        }
    }
}

struct PartSink<'a, F> {
    usage: &'a mut TokenUsage,
    said: &'a mut String,
    /// Whose part comes next, if it is a helper's.
    by: Option<String>,
    emit: &'a mut F,
}

impl<F: FnMut(ViewedPart)> PartSink<'_, F> {
    fn put(&mut self, part: TranscriptPart, text: &str, omitted: u64) {
        let is_said = matches!(part, TranscriptPart::Text { .. } | TranscriptPart::Final { .. });
        if !is_said && !matches!(part, TranscriptPart::Usage { .. }) {
            self.said.clear();
        }
        let text = if is_data(&part) { visible(text) } else { strip(text.as_bytes()).into_owned() };
        (self.emit)(ViewedPart { text, omitted, by: self.by.clone(), part });
    }

    fn excerpt(&mut self, part: TranscriptPart, excerpt: &TextExcerpt) {
        self.put(part, &excerpt.text, excerpt.omitted);
    }

    fn system(&mut self, text: &str) {
        self.put(TranscriptPart::System, text, 0);
    }

    fn event(&mut self, event: ChannelEvent) {
        match event {
            ChannelEvent::Session { id, model } => {
                self.item(TranscriptItem::Session { id, model });
            }
            ChannelEvent::Usage { usage, cumulative } => {
                self.item(TranscriptItem::Usage { usage, cumulative });
            }
            ChannelEvent::Item { item } => self.item(item),
            ChannelEvent::Idle(outcome) => self.turn(outcome),
            ChannelEvent::Asks(question) => {
                self.by = question.by.as_deref().map(visible);
                self.question(&question);
                self.by = None;
            }
            ChannelEvent::Resolved { request, by, answer } => {
                let answered = by == ResolvedBy::Answer;
                let text = if answered { "answered" } else { "no longer asked" };
                let text = answer.unwrap_or_else(|| TextExcerpt { text: text.into(), omitted: 0 });
                let request = request.to_string();
                self.excerpt(TranscriptPart::Answered { request, answered }, &text);
            }
            ChannelEvent::Limit(limit) => {
                self.put(TranscriptPart::Limit { until: limit.until }, &limit.text, 0);
            }
            ChannelEvent::Failed { message, error }
            | ChannelEvent::NotTaken(UntakenPrompt { message, error, .. }) => {
                let text = format!("{message}: {error}");
                self.put(TranscriptPart::Error { tool: None }, &text, 0);
            }
            // They are said again, as the prompt of the next turn.
            ChannelEvent::Unheard { .. } => self.system("said after the end of the turn"),
            ChannelEvent::Mode { mode } => self.system(&format!("mode {mode}")),
            ChannelEvent::Unknown { line, .. } => self.excerpt(TranscriptPart::Unknown, &line),
            // What an earlier process said is in the transcript of that attempt.
            ChannelEvent::Working | ChannelEvent::Replayed { .. } | ChannelEvent::Unread { .. } => {
            }
        }
    }

    fn turn(&mut self, outcome: TurnOutcome) {
        match outcome.ending {
            TurnEnding::Completed => self.answer(true, &outcome.output.unwrap_or_default()),
            TurnEnding::Interrupted => self.system("the turn was interrupted"),
            TurnEnding::Failed { error } => {
                self.answer(false, &TextExcerpt { text: error, omitted: 0 });
            }
        }
    }

    fn answer(&mut self, ok: bool, text: &TextExcerpt) {
        let said = std::mem::take(self.said);
        let repeated = ok && text.is_whole() && said.trim() == text.text.trim();
        self.excerpt(TranscriptPart::Final { ok, repeated }, text);
    }

    fn question(&mut self, question: &ChannelQuestion) {
        let mut text = question.command.clone().unwrap_or_else(|| question.text.clone());
        for asked in &question.questions {
            // What a request is about is often its first question.
            if asked.text.trim() != text.trim() {
                text.push_str(&format!("\n{}", asked.text));
            }
            asked.choices.iter().for_each(|choice| text.push_str(&format!("\n  - {choice}")));
        }
        let part = TranscriptPart::Question {
            request: question.request.to_string(),
            awaiting: question.kind,
            tool: question.tool.clone(),
            call: question.call.clone(),
            choices: question.options.iter().map(|option| option.label.clone()).collect(),
        };
        self.put(part, &text, 0);
    }

    fn item(&mut self, item: TranscriptItem) {
        match item {
            TranscriptItem::Text { text, delta, begins } => {
                let continues = delta && !begins;
                if !continues {
                    self.said.clear();
                }
                if self.said.len() < MAX_COMPARED_BYTES {
                    self.said.push_str(&text.text);
                }
                self.excerpt(TranscriptPart::Text { continues }, &text);
            }
            TranscriptItem::Thinking { text, delta } => {
                self.excerpt(TranscriptPart::Thinking { continues: delta }, &text);
            }
            TranscriptItem::Prompt { text } => self.excerpt(TranscriptPart::Prompt, &text),
            TranscriptItem::ToolCall { id, name, input } => {
                let text = purpose(&input);
                let input = clean_value(input);
                self.put(TranscriptPart::Tool { call: id, tool: name, input }, &text, 0);
            }
            TranscriptItem::ToolResult { id, ok, output } => {
                self.excerpt(TranscriptPart::Result { call: id, ok }, &output);
            }
            TranscriptItem::Plan { steps } => {
                let text = steps.iter().map(step_line).collect::<Vec<_>>().join("\n");
                self.put(TranscriptPart::Plan { steps }, &text, 0);
            }
            TranscriptItem::Diff { call, path, diff, added, removed } => {
                let path = path.as_deref().map(visible);
                self.excerpt(TranscriptPart::Diff { call, path, added, removed }, &diff);
            }
            TranscriptItem::Denial(denial) => {
                let text = format!("not allowed: {denial}");
                self.put(TranscriptPart::Error { tool: Some(denial.tool) }, &text, 0);
            }
            TranscriptItem::Error { message, .. } => {
                self.put(TranscriptPart::Error { tool: None }, &message, 0);
            }
            TranscriptItem::Warning { message } => self.system(&message),
            TranscriptItem::Retry(retry) => self.system(&retry.to_string()),
            TranscriptItem::Session { id, model } => {
                let model = model.map(|model| format!(" ({model})")).unwrap_or_default();
                self.system(&format!("conversation {id}{model}"));
            }
            TranscriptItem::Usage { usage, cumulative } => {
                let total = if cumulative { usage } else { self.usage.plus(usage) };
                *self.usage = total;
                self.put(TranscriptPart::Usage { usage: total }, &total.to_string(), 0);
            }
            TranscriptItem::Subagent { by, item } => {
                // It does not come between what the agent says and its answer.
                let said = std::mem::take(self.said);
                self.by = Some(visible(&by));
                self.item(*item);
                self.by = None;
                *self.said = said;
            }
            TranscriptItem::Result { ok, text, .. } => self.answer(ok, &text.unwrap_or_default()),
            TranscriptItem::Unknown { line } => self.excerpt(TranscriptPart::Unknown, &line),
        }
    }
}

fn step_line(step: &TranscriptStep) -> String {
    let mark = match step.status {
        StepStatus::Pending => ' ',
        StepStatus::InProgress => '>',
        StepStatus::Completed => 'x',
    };
    format!("[{mark}] {}", step.text)
}

/// Whether the text of a part says what an agent does or asks for. Nothing of it is removed.
const fn is_data(part: &TranscriptPart) -> bool {
    matches!(
        part,
        TranscriptPart::Prompt
            | TranscriptPart::Tool { .. }
            | TranscriptPart::Diff { .. }
            | TranscriptPart::Plan { .. }
            | TranscriptPart::Question { .. }
            | TranscriptPart::Answered { .. }
    )
}

/// What a tool is given, with a sign for everything that would not show.
fn clean_value(value: Value) -> Value {
    match value {
        Value::String(text) => visible(&text).into(),
        Value::Array(items) => items.into_iter().map(clean_value).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (visible(&name), clean_value(value))).collect()
        }
        other => other,
    }
}
