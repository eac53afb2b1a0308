//! What an agent without a terminal said and did, as text.

use coven_api::workflow::TaskItem;
use coven_model::{AgentMode, StepStatus, TokenUsage, TranscriptEntry, TranscriptPart};

use crate::output::{self, OutputPaint};

/// The adapter of plain programs, which have nothing to tell but their output.
pub(crate) const SHELL_ADAPTER: &str = "shell";

/// How many lines of what a tool returned are shown, and of a diff.
const MAX_RESULT_LINES: usize = 8;
const MAX_DIFF_LINES: usize = 60;

/// Whether more is known of a task than what it printed.
pub(crate) fn is_expected(task: &TaskItem) -> bool {
    task.mode == AgentMode::Headless && task.adapter != SHELL_ADAPTER
}

/// Entries as text for people.
#[derive(Debug)]
pub(crate) struct TranscriptText {
    paint: OutputPaint,
    /// Whether the last line has no end yet, because more of the same text may come.
    is_open: bool,
    usage: TokenUsage,
}

impl TranscriptText {
    pub(crate) fn new(paint: OutputPaint) -> Self {
        Self { paint, is_open: false, usage: TokenUsage::default() }
    }

    /// The next entries as text.
    pub(crate) fn of(&mut self, entries: &[TranscriptEntry]) -> String {
        entries.iter().map(|entry| self.entry(entry)).collect()
    }

    fn entry(&mut self, entry: &TranscriptEntry) -> String {
        use TranscriptPart as Part;
        if let Part::Text { continues } | Part::Thinking { continues } = entry.part {
            let is_thought = matches!(entry.part, Part::Thinking { .. });
            return self.said(entry, is_thought, continues);
        }
        let paint = self.paint;
        let (text, line) = (output::clean(&entry.text), output::one_line(&entry.text));
        let shown = match &entry.part {
            Part::Text { .. } | Part::Thinking { .. } => String::new(),
            Part::Prompt => marked(&paint.bold("»"), &text),
            Part::Tool { tool, .. } => {
                format!("> {} {line}\n", paint.cyan(&output::one_line(tool)))
            }
            Part::Result { ok, .. } => self.result(*ok, &text, entry.omitted),
            Part::Diff { path, added, removed, .. } => {
                let path = path.as_deref().map_or_else(|| "this turn".to_owned(), output::one_line);
                self.diff(&format!("± {path} (+{added} -{removed})"), &text, entry.omitted)
            }
            Part::Plan { steps } => {
                let step = |step: &coven_model::TranscriptStep| {
                    let words = output::one_line(&step.text);
                    match step.status {
                        StepStatus::Completed => paint.dim(&format!("  [x] {words}\n")),
                        StepStatus::InProgress => format!("  [>] {}\n", paint.bold(&words)),
                        StepStatus::Pending => format!("  [ ] {words}\n"),
                    }
                };
                format!("= plan\n{}", steps.iter().map(step).collect::<String>())
            }
            Part::Question { tool, .. } => {
                let asks = format!("? {} asks", output::one_line(tool));
                marked(&paint.yellow(&asks), &text)
            }
            Part::Answered { .. } => paint.dim(&format!("? {line}\n")),
            Part::Usage { usage } => {
                self.usage = *usage;
                return String::new();
            }
            Part::Limit { .. } => format!("{} {line}\n", paint.yellow("[limit]")),
            Part::Error { .. } => format!("{} {line}\n", paint.red("[error]")),
            // A message of a protocol that is not known is for programs.
            Part::Unknown if line.starts_with('{') => return String::new(),
            Part::System | Part::Unknown => paint.dim(&format!("[system] {line}\n")),
            Part::Final { ok, repeated } => self.answer(*ok, *repeated, &text),
        };
        let by = self.by(entry);
        self.closed(if shown.is_empty() { shown } else { by + &shown })
    }

    /// Which helper of the agent it is, before what that did or said.
    fn by(&self, entry: &TranscriptEntry) -> String {
        let Some(by) = &entry.by else { return String::new() };
        self.paint.dim(&format!("[{}] ", output::one_line(by)))
    }

    /// Ends the line that may have been open.
    fn closed(&mut self, text: String) -> String {
        if std::mem::take(&mut self.is_open) { format!("\n{text}") } else { text }
    }

    fn said(&mut self, entry: &TranscriptEntry, is_thought: bool, continues: bool) -> String {
        let mut text = output::clean(&entry.text);
        if entry.text.ends_with('\n') && !text.is_empty() {
            text.push('\n');
        }
        if entry.omitted > 0 {
            text.push_str(&format!("… ({} more bytes)", entry.omitted));
        }
        let text = if is_thought {
            let begin = if continues { "" } else { "~ " };
            self.paint.dim(&format!("{begin}{text}"))
        } else {
            text
        };
        let before =
            if continues { String::new() } else { self.closed(String::new()) + &self.by(entry) };
        self.is_open = !entry.text.ends_with('\n');
        before + &text
    }

    fn result(&self, ok: bool, text: &str, omitted: u64) -> String {
        let mark = if ok { self.paint.dim("<") } else { self.paint.red("< failed:") };
        let lines: Vec<&str> = text.lines().collect();
        let mut shown = format!("{mark} {}\n", lines.first().unwrap_or(&""));
        for line in lines.iter().take(MAX_RESULT_LINES).skip(1) {
            shown.push_str(&format!("  {line}\n"));
        }
        shown + &self.rest(lines.len().saturating_sub(MAX_RESULT_LINES), omitted)
    }

    fn diff(&self, head: &str, text: &str, omitted: u64) -> String {
        let mut shown = format!("{}\n", self.paint.bold(head));
        for line in text.lines().take(MAX_DIFF_LINES) {
            let line = match line.chars().next() {
                Some('+') => self.paint.green(line),
                Some('-') => self.paint.red(line),
                Some('@') => self.paint.cyan(line),
                _ => line.to_owned(),
            };
            shown.push_str(&format!("  {line}\n"));
        }
        shown + &self.rest(text.lines().count().saturating_sub(MAX_DIFF_LINES), omitted)
    }

    /// What is not shown, and where it is.
    fn rest(&self, lines: usize, omitted: u64) -> String {
        let what = match (lines, omitted) {
            (0, 0) => return String::new(),
            (lines, 0) => format!("{lines} more lines; --json has them"),
            (_, omitted) => format!("{omitted} bytes more; --raw has everything"),
        };
        self.paint.dim(&format!("  … {what}\n"))
    }

    fn answer(&self, ok: bool, repeated: bool, text: &str) -> String {
        let mut shown = match (ok, repeated || text.is_empty()) {
            (true, true) => String::new(),
            (true, false) => format!("{text}\n"),
            (false, _) => format!("{} {text}\n", self.paint.red("[error]")),
        };
        let used = self.usage.to_string();
        if !used.is_empty() {
            shown.push_str(&self.paint.dim(&format!("[usage] {used}\n")));
        }
        shown
    }
}

/// A text with a mark before its first line, the others below it.
fn marked(mark: &str, text: &str) -> String {
    format!("{mark} {}\n", text.lines().collect::<Vec<_>>().join("\n  "))
}

#[cfg(test)]
mod tests {
    use coven_model::TranscriptStep;

    use super::*;

    fn entry(text: &str, part: TranscriptPart) -> TranscriptEntry {
        TranscriptEntry { id: 1, at: 0, text: text.to_owned(), omitted: 0, by: None, part }
    }

    #[test]
    fn entries_are_read_as_a_story() {
        let call = Some("c".to_owned());
        let usage = TokenUsage { output_tokens: Some(3), ..TokenUsage::default() };
        let step = |text: &str, status| TranscriptStep { text: text.to_owned(), status };
        let steps =
            vec![step("look", StepStatus::Completed), step("write", StepStatus::InProgress)];
        let tool = TranscriptPart::Tool {
            call: call.clone(),
            tool: "Edit".to_owned(),
            input: serde_json::Value::Null,
        };
        let diff = TranscriptPart::Diff {
            call: call.clone(),
            path: Some("a.rs".to_owned()),
            added: 1,
            removed: 1,
        };
        let long = (0..20).map(|line| format!("line {line}\n")).collect::<String>();
        let entries = [
            entry("do it", TranscriptPart::Prompt),
            entry("I lo", TranscriptPart::Text { continues: false }),
            entry("ok.", TranscriptPart::Text { continues: true }),
            entry("", TranscriptPart::Plan { steps }),
            entry("a.rs", tool),
            entry("-one\n+two\n", diff),
            entry(&long, TranscriptPart::Result { call, ok: true }),
            entry("Done.", TranscriptPart::Text { continues: false }),
            entry("", TranscriptPart::Usage { usage }),
            entry("Done.", TranscriptPart::Final { ok: true, repeated: true }),
        ];
        insta::assert_snapshot!(TranscriptText::new(OutputPaint::new(false)).of(&entries), @r"
        » do it
        I look.
        = plan
          [x] look
          [>] write
        > Edit a.rs
        ± a.rs (+1 -1)
          -one
          +two
        < line 0
          line 1
          line 2
          line 3
          line 4
          line 5
          line 6
          line 7
          … 12 more lines; --json has them
        Done.
        [usage] 3 written
        ");
    }

    #[test]
    fn hostile_text_stays_in_its_place() {
        let evil = "a\u{1b}]0;title\u{7}\u{1b}[2Jb\r\u{202e}c\u{9b}31m";
        let parts = [
            TranscriptPart::Prompt,
            TranscriptPart::Text { continues: false },
            TranscriptPart::Result { call: None, ok: false },
            TranscriptPart::Tool {
                call: None,
                tool: evil.to_owned(),
                input: serde_json::Value::Null,
            },
            TranscriptPart::Diff { call: None, path: Some(evil.to_owned()), added: 0, removed: 0 },
            TranscriptPart::Final { ok: false, repeated: false },
            TranscriptPart::System,
        ];
        let entries: Vec<TranscriptEntry> =
            parts.into_iter().map(|part| entry(evil, part)).collect();
        let text = TranscriptText::new(OutputPaint::new(false)).of(&entries);
        let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(acts), "{text:?}");
    }
}
