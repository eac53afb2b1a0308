//! Parts of a transcript as entries: with their ids, without secrets, and no longer than people
//! read.

use coven_adapters::view::ViewedPart;
use coven_model::{TranscriptEntry, TranscriptPart};
use coven_runner::HiddenTexts;
use serde_json::Value;

/// How many entries one place of a tape can have. An id is the place times this.
pub(super) const IDS_PER_PLACE: u64 = 1024;

/// Most of a text that is shown: more is no longer read but searched for.
const MAX_TEXT_BYTES: usize = 64 * 1024;
const MAX_RESULT_BYTES: usize = 16 * 1024;
const MAX_INPUT_BYTES: usize = 16 * 1024;
const MAX_DIFF_BYTES: usize = 32 * 1024;

/// Most of one text in what a tool is given, if the whole is too long.
const MAX_INNER_BYTES: usize = 1024;

/// Makes entries of parts, in the order of the tape.
#[derive(Debug)]
pub(super) struct EntryMaker {
    hidden: HiddenTexts,
    /// The place of the last entry, and its number there.
    place: u64,
    number: u64,
    open: Option<OpenText>,
}

/// A text that comes in pieces.
#[derive(Clone, Debug)]
struct OpenText {
    is_thought: bool,
    /// The helper that says it.
    by: Option<String>,
    /// Nothing of it was handed over yet.
    is_new: bool,
}

impl EntryMaker {
    pub(super) fn new(hidden: HiddenTexts) -> Self {
        Self { hidden, place: u64::MAX, number: 0, open: None }
    }

    /// Takes in a part that ends at this place of the tape.
    pub(super) fn take(
        &mut self,
        place: u64,
        at: u64,
        viewed: ViewedPart,
        emit: &mut dyn FnMut(TranscriptEntry),
    ) {
        let ViewedPart { text, omitted, by, mut part } = viewed;
        let by = by.map(|by| self.hidden.clean(&by));
        let piece = match &part {
            TranscriptPart::Text { continues } => Some((false, *continues)),
            TranscriptPart::Thinking { continues } => Some((true, *continues)),
            _ => None,
        };
        let open = self.open.as_ref();
        let goes_on = open.zip(piece).is_some_and(|(open, (is_thought, continues))| {
            continues && open.is_thought == is_thought && open.by == by
        });
        if !goes_on {
            self.close(place, at, emit);
        }
        let Some((is_thought, _)) = piece else {
            clean_part(&mut part, &self.hidden);
            let text = self.hidden.clean(&text);
            return self.emit(TranscriptEntry { id: place, at, text, omitted, by, part }, emit);
        };
        self.open.get_or_insert(OpenText { is_thought, by, is_new: true });
        let text = self.hidden.feed(&text);
        self.piece(place, at, text, omitted, emit);
    }

    /// Hands over what was held back, because it could have been the beginning of a secret.
    pub(super) fn close(&mut self, place: u64, at: u64, emit: &mut dyn FnMut(TranscriptEntry)) {
        if self.open.is_some() {
            let rest = self.hidden.finish();
            self.piece(place, at, rest, 0, emit);
            self.open = None;
        }
    }

    fn piece(
        &mut self,
        place: u64,
        at: u64,
        text: String,
        omitted: u64,
        emit: &mut dyn FnMut(TranscriptEntry),
    ) {
        let Some(open) = self.open.as_mut().filter(|_| !text.is_empty() || omitted > 0) else {
            return;
        };
        let continues = !std::mem::replace(&mut open.is_new, false);
        let by = open.by.clone();
        let part = if open.is_thought {
            TranscriptPart::Thinking { continues }
        } else {
            TranscriptPart::Text { continues }
        };
        self.emit(TranscriptEntry { id: place, at, text, omitted, by, part }, emit);
    }

    /// Gives an entry its id. A message of more than a thousand parts is no message.
    fn emit(&mut self, mut entry: TranscriptEntry, emit: &mut dyn FnMut(TranscriptEntry)) {
        self.number = if entry.id == self.place { self.number + 1 } else { 0 };
        self.place = entry.id;
        if self.number + 1 == IDS_PER_PLACE {
            "more of this message is left out".clone_into(&mut entry.text);
            entry.part = TranscriptPart::System;
        }
        if self.number < IDS_PER_PLACE {
            // An id of 0 would be the cursor of the beginning.
            entry.id = (self.place + 1) * IDS_PER_PLACE + self.number;
            emit(entry);
        }
    }
}

/// The place of the tape that an id stands for.
pub(super) const fn place_of(id: u64) -> u64 {
    (id / IDS_PER_PLACE).saturating_sub(1)
}

/// Takes secrets out of everything in a part that comes from outside.
fn clean_part(part: &mut TranscriptPart, hidden: &HiddenTexts) {
    let clean = |text: &mut String| *text = hidden.clean(text);
    match part {
        TranscriptPart::Tool { call, tool, input } => {
            clean(tool);
            call.iter_mut().for_each(clean);
            clean_value(input, hidden);
        }
        TranscriptPart::Result { call, .. } => call.iter_mut().for_each(clean),
        TranscriptPart::Diff { call, path, .. } => {
            call.iter_mut().chain(path).for_each(clean);
        }
        TranscriptPart::Plan { steps } => {
            for step in steps {
                clean(&mut step.text);
            }
        }
        TranscriptPart::Question { request, tool, call, choices, .. } => {
            clean(request);
            clean(tool);
            call.iter_mut().chain(choices).for_each(clean);
        }
        TranscriptPart::Answered { request, .. } => clean(request),
        TranscriptPart::Error { tool } => tool.iter_mut().for_each(clean),
        TranscriptPart::Prompt
        | TranscriptPart::Text { .. }
        | TranscriptPart::Thinking { .. }
        | TranscriptPart::Usage { .. }
        | TranscriptPart::Limit { .. }
        | TranscriptPart::System
        | TranscriptPart::Unknown
        | TranscriptPart::Final { .. } => {}
    }
}

fn clean_value(value: &mut Value, hidden: &HiddenTexts) {
    match value {
        Value::String(text) => *text = hidden.clean(text),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_value(item, hidden)),
        Value::Object(fields) => {
            let named = std::mem::take(fields).into_iter();
            *fields = named
                .map(|(name, mut value)| {
                    clean_value(&mut value, hidden);
                    (hidden.clean(&name), value)
                })
                .collect();
        }
        _ => {}
    }
}

/// Cuts what is too long to be read, and says by how much.
pub(super) fn cut(entry: &mut TranscriptEntry) {
    let limit = match &entry.part {
        TranscriptPart::Result { .. } | TranscriptPart::Unknown => MAX_RESULT_BYTES,
        TranscriptPart::Tool { .. } => MAX_INPUT_BYTES,
        TranscriptPart::Diff { .. } => MAX_DIFF_BYTES,
        _ => MAX_TEXT_BYTES,
    };
    let kept = entry.text.floor_char_boundary(limit);
    entry.omitted += (entry.text.len() - kept) as u64;
    entry.text.truncate(kept);
    if let TranscriptPart::Tool { input, .. } = &mut entry.part {
        cut_input(input);
    }
}

fn cut_input(input: &mut Value) {
    let is_short = |value: &Value| value.to_string().len() <= MAX_INPUT_BYTES;
    if is_short(input) {
        return;
    }
    cut_texts(input);
    if !is_short(input) {
        *input = Value::String(excerpt(&input.to_string(), MAX_INPUT_BYTES));
    }
}

fn cut_texts(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_INNER_BYTES => {
            *text = excerpt(text, MAX_INNER_BYTES);
        }
        Value::Array(items) => items.iter_mut().for_each(cut_texts),
        Value::Object(fields) => fields.values_mut().for_each(cut_texts),
        _ => {}
    }
}

fn excerpt(text: &str, limit: usize) -> String {
    let kept = text.floor_char_boundary(limit);
    format!("{}… ({} more bytes)", &text[..kept], text.len() - kept)
}

/// How many bytes an entry has, as far as they can be many.
pub(super) fn size(entry: &TranscriptEntry) -> usize {
    let input = match &entry.part {
        TranscriptPart::Tool { input, .. } if !input.is_null() => input.to_string().len(),
        TranscriptPart::Plan { .. } => entry.text.len(),
        _ => 0,
    };
    entry.text.len() + input
}

/// Adds an entry to a list. A piece of a text goes to the piece before it, as long as that is not
/// too long.
pub(super) fn add(
    entries: &mut std::collections::VecDeque<TranscriptEntry>,
    entry: TranscriptEntry,
) {
    use TranscriptPart::{Text, Thinking};
    if let Some(last) = entries.back_mut() {
        let goes_on = matches!(
            (&last.part, &entry.part),
            (Text { .. }, Text { continues: true })
                | (Thinking { .. }, Thinking { continues: true })
        );
        if goes_on && last.omitted == 0 && last.text.len() + entry.text.len() <= MAX_TEXT_BYTES {
            last.text.push_str(&entry.text);
            (last.id, last.omitted) = (entry.id, entry.omitted);
            return;
        }
    }
    entries.push_back(entry);
}
