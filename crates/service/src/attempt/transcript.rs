//! What a headless agent said and did, readable, from what it printed.

use std::collections::VecDeque;
use std::path::Path;

use coven_adapters::transcript::{TranscriptDecoder, TranscriptFormat, TranscriptItem};
use coven_api::task::TranscriptEntry;
use coven_model::{AgentMode, ProcessEnding, TokenUsage};
use coven_orchestrator::TaskAccess;
use coven_tape::{TapeEvent, TapeReader, TapeStream};

use super::output;
use crate::error::ServiceError;
use crate::service::Service;

/// How many entries are given; the newest.
const MAX_ENTRIES: usize = 10_000;

/// How the agent of a task writes, as its adapter says now. Reads files and blocks.
pub(super) fn format(service: &Service, access: &TaskAccess) -> TranscriptFormat {
    let base = access.log.ancestors().find(|path| path.ends_with(".coven"));
    let loaded = base.and_then(Path::parent).and_then(|base| {
        let trust = service.trust_of_blocking(base).ok()?;
        let adapters = service.context().catalogue_folders(base, &trust).adapters();
        adapters.load(&access.adapter, None).ok()
    });
    let mode = loaded.as_ref().and_then(|loaded| loaded.config.modes.get(AgentMode::Headless));
    mode.and_then(|mode| mode.transcript.as_deref()?.parse().ok()).unwrap_or(TranscriptFormat::Text)
}

/// The entries so far, and what was used up.
pub(super) fn read(
    folder: &Path,
    format: TranscriptFormat,
) -> Result<(Vec<TranscriptEntry>, TokenUsage), ServiceError> {
    let reader = match TapeReader::open(folder) {
        Ok(reader) => reader,
        Err(error) if output::is_absent(&error) => return Ok((Vec::new(), TokenUsage::default())),
        Err(error) => return Err(ServiceError::unreadable(error)),
    };
    let mut decoder = TranscriptDecoder::new(format);
    let mut entries = TranscriptEntries::default();
    for record in reader.records(0) {
        if let TapeEvent::Output { stream, bytes } = record.map_err(ServiceError::unreadable)?.event
        {
            let mut take = |entry| entries.take(entry);
            match stream {
                TapeStream::Out => decoder.feed_stdout(&bytes, &mut take),
                TapeStream::Err => decoder.feed_stderr(&bytes, &mut take),
            }
        }
    }
    // How it ended does not matter here, only what was used.
    let conclusion =
        decoder.finish(&ProcessEnding::Exited { code: 0 }, &mut |entry| entries.take(entry));
    Ok((entries.list.into(), conclusion.usage))
}

#[derive(Default)]
struct TranscriptEntries {
    list: VecDeque<TranscriptEntry>,
    /// The last one is a text that pieces are added to.
    open: bool,
}

impl TranscriptEntries {
    fn take(&mut self, entry: TranscriptItem) {
        let joins = matches!(entry, TranscriptItem::Text { delta: true, .. });
        let (kind, tool, text) = match entry {
            TranscriptItem::Text { text, .. } => ("text", None, text.text),
            TranscriptItem::Thinking { text } => ("thinking", None, text.text),
            TranscriptItem::ToolCall { name, input, .. } => ("tool", Some(name), shown(&input)),
            TranscriptItem::ToolResult { ok, output, .. } => {
                (if ok { "result" } else { "error" }, None, output.text)
            }
            TranscriptItem::Denial(denial) => {
                let text = format!("not allowed: {denial}");
                ("error", Some(denial.tool), text)
            }
            TranscriptItem::Error { message, .. } => ("error", None, message),
            TranscriptItem::Warning { message } => ("system", None, message),
            TranscriptItem::Session { id, model } => {
                let model = model.map(|model| format!(" ({model})")).unwrap_or_default();
                ("system", None, format!("conversation {id}{model}"))
            }
            TranscriptItem::Retry(retry) => ("system", None, retry.to_string()),
            TranscriptItem::Result { ok, text, .. } => {
                let text = text.map(|text| text.text).unwrap_or_default();
                (if ok { "final" } else { "error" }, None, text)
            }
            TranscriptItem::Unknown { line } => ("system", None, line.text),
            TranscriptItem::Usage { .. } => return,
        };
        // Whatever an agent prints, a reader's terminal is not to act on it.
        let text = coven_terminal::sanitise::strip(text.as_bytes()).into_owned();
        if joins
            && self.open
            && let Some(last) = self.list.back_mut()
        {
            last.text.push_str(&text);
            return;
        }
        self.open = joins;
        if self.list.len() >= MAX_ENTRIES {
            self.list.pop_front();
        }
        self.list.push_back(TranscriptEntry { kind: kind.to_owned(), tool, text });
    }
}

fn shown(input: &serde_json::Value) -> String {
    match input {
        serde_json::Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}
