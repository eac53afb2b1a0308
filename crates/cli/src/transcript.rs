//! What an agent without a terminal said and did, as text.

use coven_api::task::TranscriptEntry;
use coven_api::workflow::TaskItem;
use coven_model::AgentMode;

use crate::output;

/// The adapter of plain programs, which have nothing to tell but their output.
pub(crate) const SHELL_ADAPTER: &str = "shell";

/// Whether more is known of a task than what it printed.
pub(crate) fn is_expected(task: &TaskItem) -> bool {
    task.mode == AgentMode::Headless && task.adapter != SHELL_ADAPTER
}

/// Entries as text, without so many that were told already.
pub(crate) fn new_texts(entries: &[TranscriptEntry], told: usize) -> Vec<String> {
    let is_new = |(place, entry): (usize, &TranscriptEntry)| {
        // Most agents repeat their last words as their result.
        let before = entries[..place].iter().rev().find(|entry| entry.kind == "text");
        let repeats =
            entry.kind == "final" && before.is_some_and(|before| before.text == entry.text);
        (!repeats).then(|| text(entry))
    };
    entries.iter().enumerate().skip(told).filter_map(is_new).collect()
}

fn text(entry: &TranscriptEntry) -> String {
    let text = output::clean(&entry.text);
    let tool = entry.tool.as_deref().map(output::one_line).unwrap_or_default();
    match entry.kind.as_str() {
        "text" | "final" => format!("{text}\n"),
        "thinking" => format!("~ {text}\n"),
        "tool" => format!("> {tool} {}\n", output::one_line(&text)),
        "result" => format!("< {}\n", output::one_line(&text)),
        kind => format!("[{kind}] {}\n", output::one_line(&text)),
    }
}
