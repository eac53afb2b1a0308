//! What is known of a run so far. Everything a format finds goes through [`EntrySink`], which tells
//! it to the caller and keeps what the conclusion needs.

use coven_model::{ModelRetry, TokenUsage};
use serde::{Deserialize, Serialize};

use super::announced;
use super::entry::{
    self, TEXT_LIMIT, TOOL_LIMIT, TextExcerpt, ToolDenial, TranscriptItem, one_line,
};
use super::json::JsonNode;
use super::limits::DENIALS_LIMIT;

/// Whether the agent has said that its turn is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TurnEnd {
    #[default]
    Open,
    /// It had, and then went on.
    Reopened,
    /// It has, and succeeded.
    Succeeded,
    /// It has, and failed; for this reason, where it tells one.
    Failed(Option<String>),
}

/// What is known so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RunProgress {
    pub(crate) session: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) end: TurnEnd,
    /// Something happened after which the run is no success, whatever it says later.
    pub(crate) spoiled: Option<String>,
    pub(crate) answer: LastAnswer,
    pub(crate) usage: TokenUsage,
    /// What the conversation had used up before this run.
    pub(crate) previous: TokenUsage,
    pub(crate) denials: Vec<ToolDenial>,
    pub(crate) denied: u64,
    pub(crate) error: Option<String>,
    pub(crate) hint: FailureHint,
    /// The attempt to reach the model that it is at.
    pub(crate) retry: Option<ModelRetry>,
}

/// What the agent said last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LastAnswer {
    pub(crate) text: Option<TextExcerpt>,
    /// Whether the next piece continues it.
    continues: bool,
}

/// A line outside the format that may say why a run failed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FailureHint {
    /// The last line that speaks of an error.
    pub(crate) error: Option<String>,
    /// The last other line.
    pub(crate) last: Option<String>,
}

impl FailureHint {
    fn see(&mut self, line: &str) {
        // Indented lines belong to a stack trace or a list.
        if line.starts_with([' ', '\t']) || !line.contains(char::is_alphanumeric) {
            return;
        }
        let line = one_line(line);
        if line.to_ascii_lowercase().contains("error") {
            self.error = Some(line);
        } else {
            self.last = Some(line);
        }
    }
}

impl RunProgress {
    pub(crate) fn buffered(&self) -> usize {
        let denials = self.denials.iter().map(|denial| denial.tool.len() + denial.detail.len());
        let texts = [&self.error, &self.spoiled, &self.hint.error, &self.hint.last];
        self.answer.text.as_ref().map_or(0, |answer| answer.text.capacity())
            + denials.sum::<usize>()
            + self.retry.as_ref().and_then(|retry| retry.reason.as_ref()).map_or(0, String::len)
            + texts.into_iter().flatten().map(String::len).sum::<usize>()
    }
}

/// Where a format writes what it found.
pub(crate) struct EntrySink<'a> {
    pub(crate) run: &'a mut RunProgress,
    emit: &'a mut dyn FnMut(TranscriptItem),
    /// What follows comes from a helper of the agent: it is told, but it is not the agent's
    /// answer.
    pub(crate) aside: bool,
    /// What that helper is called, where it is known.
    pub(crate) by: Option<String>,
}

impl<'a> EntrySink<'a> {
    pub(crate) fn new(run: &'a mut RunProgress, emit: &'a mut dyn FnMut(TranscriptItem)) -> Self {
        Self { run, emit, aside: false, by: None }
    }

    fn put(&mut self, item: TranscriptItem) {
        let by = self.by.as_ref().filter(|_| item.is_said_or_done());
        (self.emit)(match by {
            Some(by) => TranscriptItem::Subagent { by: by.clone(), item: Box::new(item) },
            None => item,
        });
    }

    /// The conversation has this id. One that could not be handed to a command line is no id.
    pub(crate) fn session(&mut self, id: Option<&str>, model: Option<&str>) {
        let usable = |id: &&str| {
            !id.is_empty()
                && id.len() <= 256
                && !id.starts_with('-')
                && !id.contains(|c: char| c.is_control() || c.is_whitespace())
        };
        let Some(id) = id.filter(usable) else { return };
        let model = model.map(entry::name).or_else(|| self.run.model.clone());
        if self.run.session.as_deref() == Some(id) && self.run.model == model {
            return;
        }
        self.run.session = Some(id.to_owned());
        self.run.model.clone_from(&model);
        self.put(TranscriptItem::Session { id: id.to_owned(), model });
    }

    /// The agent said something whole.
    pub(crate) fn say(&mut self, text: &str) {
        let text = TextExcerpt::of(text, TEXT_LIMIT);
        self.run.retry = None;
        if !self.aside {
            self.reopen_turn();
            self.run.answer = LastAnswer { text: Some(text.clone()), continues: false };
        }
        self.put(TranscriptItem::Text { text, delta: false, begins: false });
    }

    /// The agent said a piece of something.
    pub(crate) fn say_piece(&mut self, piece: &str) {
        let text = TextExcerpt::of(piece, TEXT_LIMIT);
        self.run.retry = None;
        self.reopen_turn();
        let begins = !self.run.answer.continues;
        let answer = &mut self.run.answer;
        match &mut answer.text {
            Some(whole) if answer.continues => {
                let room = if whole.is_whole() { TEXT_LIMIT - whole.text.len() } else { 0 };
                let kept = piece.floor_char_boundary(room);
                whole.text.push_str(&piece[..kept]);
                whole.omitted += (piece.len() - kept) as u64;
            }
            _ => *answer = LastAnswer { text: Some(text.clone()), continues: true },
        }
        self.put(TranscriptItem::Text { text, delta: true, begins });
    }

    /// What comes next is a message of its own, and continues nothing.
    pub(crate) fn end_message(&mut self) {
        self.run.answer.continues = false;
    }

    pub(crate) fn add_thought(&mut self, text: &str) {
        self.run.retry = None;
        let text = TextExcerpt::of(text, TEXT_LIMIT);
        self.put(TranscriptItem::Thinking { text, delta: false });
    }

    /// The agent thought a piece of something.
    pub(crate) fn add_thought_piece(&mut self, piece: &str) {
        self.run.retry = None;
        let text = TextExcerpt::of(piece, TEXT_LIMIT);
        self.put(TranscriptItem::Thinking { text, delta: true });
    }

    /// Tells what is neither said nor done, and changes nothing of the run.
    pub(crate) fn note(&mut self, item: TranscriptItem) {
        self.put(item);
    }

    /// The agent uses a tool. Says whether what it is given tells how it changes files.
    pub(crate) fn tool_call(&mut self, id: Option<&str>, name: &str, input: JsonNode<'_>) -> bool {
        self.run.retry = None;
        if !self.aside {
            self.reopen_turn();
            self.run.answer.continues = false;
        }
        let (call, name) = (id.map(entry::name), entry::name(name));
        self.put(TranscriptItem::ToolCall { id: call, name, input: entry::input(input) });
        announced::tell(id, input, &mut |item| self.put(item))
    }

    pub(crate) fn tool_result(&mut self, id: Option<&str>, ok: bool, output: &str) {
        if !self.aside {
            self.run.answer.continues = false;
        }
        let output = TextExcerpt::of(output, TOOL_LIMIT);
        self.put(TranscriptItem::ToolResult { id: id.map(entry::name), ok, output });
    }

    pub(crate) fn deny(&mut self, tool: &str, detail: &str) {
        let denial = ToolDenial { tool: entry::name(tool), detail: entry::visible_line(detail) };
        self.run.denied += 1;
        if self.run.denials.len() < DENIALS_LIMIT {
            self.run.denials.push(denial.clone());
        }
        self.put(TranscriptItem::Denial(denial));
    }

    pub(crate) fn retry(&mut self, retry: ModelRetry) {
        let reason = retry.reason.map(|reason| one_line(&reason)).filter(|line| !line.is_empty());
        let retry = ModelRetry { reason, ..retry };
        self.run.retry = Some(retry.clone());
        self.put(TranscriptItem::Retry(retry));
    }

    pub(crate) fn error(&mut self, message: &str, fatal: bool) {
        let message = one_line(message);
        self.run.error = Some(message.clone());
        self.put(TranscriptItem::Error { message, fatal });
    }

    pub(crate) fn warn(&mut self, message: &str) {
        self.put(TranscriptItem::Warning { message: one_line(message) });
    }

    /// A line on standard error, or one that is not of the format.
    pub(crate) fn hint(&mut self, line: &str) {
        self.run.hint.see(line);
    }

    /// This was used on top of everything before.
    pub(crate) fn add_usage(&mut self, usage: TokenUsage) {
        if !usage.is_unknown() {
            self.run.usage = self.run.usage.plus(usage);
            self.put(TranscriptItem::Usage { usage, cumulative: false });
        }
    }

    /// This is all that was used in this run so far.
    pub(crate) fn set_total_usage(&mut self, usage: TokenUsage) {
        if !usage.is_unknown() {
            self.run.usage = usage;
            self.put(TranscriptItem::Usage { usage, cumulative: true });
        }
    }

    /// The agent says that it succeeded, with this answer; without one, what it said last is it.
    pub(crate) fn succeed(&mut self, answer: Option<&str>, took: RunStats) {
        self.run.end = TurnEnd::Succeeded;
        self.run.retry = None;
        let text = answer.map(|answer| TextExcerpt::of(answer, TEXT_LIMIT));
        if text.is_some() {
            self.run.answer.text.clone_from(&text);
        }
        self.run.answer.continues = false;
        self.put(TranscriptItem::Result {
            ok: true,
            text,
            turns: took.turns,
            duration_ms: took.millis,
        });
    }

    /// The agent says that it failed. Without a reason, the error that it told before is the reason.
    pub(crate) fn fail(&mut self, why: &str, took: RunStats) {
        let why = Some(why).filter(|why| !why.trim().is_empty());
        let why = why.map(str::to_owned).or_else(|| self.run.error.clone());
        self.run.end = TurnEnd::Failed(why.as_deref().map(one_line));
        self.run.answer.continues = false;
        let text = why.map(|why| TextExcerpt::of(&why, TEXT_LIMIT));
        self.put(TranscriptItem::Result {
            ok: false,
            text,
            turns: took.turns,
            duration_ms: took.millis,
        });
    }

    /// Whatever comes, the run is no success.
    pub(crate) fn mark_failed(&mut self, why: &str) {
        self.run.spoiled.get_or_insert_with(|| one_line(why));
    }

    /// The agent does something: its turn is not over, even if it said so before.
    pub(crate) fn reopen_turn(&mut self) {
        if matches!(self.run.end, TurnEnd::Succeeded | TurnEnd::Failed(_)) {
            self.run.end = TurnEnd::Reopened;
            self.run.answer.continues = false;
        }
    }

    pub(crate) fn unknown(&mut self, line: TextExcerpt) {
        self.put(TranscriptItem::Unknown { line });
    }
}

/// What a result tells about the way to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunStats {
    pub(crate) turns: Option<u64>,
    pub(crate) millis: Option<u64>,
}
