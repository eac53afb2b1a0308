//! What the agent waits for a person to say, how it looks and which keys answer it.

use super::TuiSize;
use super::editor::TextEditor;
use super::keys::TuiKey;
use super::line::{LineStyle, StyledLine};
use super::painter::TuiFrame;
use crate::script::ToolUse;
use crate::text;

#[derive(Clone, Debug)]
pub(super) enum TuiDialog {
    /// May this be done?
    Permission { tool: ToolUse, selected: usize },
    /// Anything can be the answer.
    Question { question: String, editor: TextEditor },
    /// One of these is the answer.
    Choice { question: String, options: Vec<String>, selected: usize },
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DialogKind {
    Permission,
    Question,
    Choice,
}

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DialogAnswer {
    Yes(ToolUse),
    Always(ToolUse),
    No(ToolUse),
    Text(String),
    Nothing,
}

const PERMISSION_CHOICES: [&str; 3] = ["Yes", "Yes, always", "No (esc)"];

/// On screens lower than this, a dialog goes without what only makes it nicer.
const ROOMY_DIALOG_ROWS: usize = 14;

impl TuiDialog {
    pub(super) fn permission(tool: ToolUse) -> Self {
        Self::Permission { tool, selected: 0 }
    }

    pub(super) fn question(question: String) -> Self {
        Self::Question { question, editor: TextEditor::default() }
    }

    pub(super) fn choice(question: String, options: Vec<String>) -> Self {
        Self::Choice { question, options, selected: 0 }
    }

    pub(super) fn kind(&self) -> DialogKind {
        match self {
            Self::Permission { .. } => DialogKind::Permission,
            Self::Question { .. } => DialogKind::Question,
            Self::Choice { .. } => DialogKind::Choice,
        }
    }

    /// Does what the key says; some keys are an answer.
    pub(super) fn press(&mut self, key: &TuiKey) -> Option<DialogAnswer> {
        match self {
            Self::Permission { tool, selected } => {
                let key = match key {
                    TuiKey::Char('y' | 'Y') => &TuiKey::Char('1'),
                    TuiKey::Char('n' | 'N') | TuiKey::Escape => &TuiKey::Char('3'),
                    key => key,
                };
                Some(match choose(selected, PERMISSION_CHOICES.len(), key)? {
                    0 => DialogAnswer::Yes(tool.clone()),
                    1 => DialogAnswer::Always(tool.clone()),
                    _ => DialogAnswer::No(tool.clone()),
                })
            }
            Self::Choice { options, .. } if *key == TuiKey::Escape || options.is_empty() => {
                Some(DialogAnswer::Nothing)
            }
            Self::Choice { options, selected, .. } => choose(selected, options.len(), key)
                .map(|at| DialogAnswer::Text(options[at].clone())),
            Self::Question { editor, .. } => match key {
                TuiKey::Escape => Some(DialogAnswer::Nothing),
                TuiKey::Enter if editor.text().trim().is_empty() => None,
                TuiKey::Enter => Some(DialogAnswer::Text(editor.take())),
                key => {
                    editor.press(key);
                    None
                }
            },
        }
    }

    pub(super) fn frame(&self, size: TuiSize) -> TuiFrame {
        match self {
            Self::Permission { tool, selected } => {
                let (question, detail) = match tool {
                    ToolUse::Command(command) => ("Run this command?", command.clone()),
                    ToolUse::Write { path, text } => {
                        ("Write this file?", format!("{}\n{text}", path.display()))
                    }
                };
                options(size, question, Some(&detail), &PERMISSION_CHOICES, *selected)
            }
            Self::Choice { question, options: all, selected } => {
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                options(size, question, None, &all, *selected)
            }
            Self::Question { question, editor } => self::question(size, question, editor),
        }
    }
}

/// Moves among options. Enter takes the selected one, a digit any.
fn choose(selected: &mut usize, count: usize, key: &TuiKey) -> Option<usize> {
    match key {
        TuiKey::Up | TuiKey::Char('k') => *selected = (*selected + count - 1) % count,
        TuiKey::Down | TuiKey::Char('j') => *selected = (*selected + 1) % count,
        TuiKey::Enter => return Some(*selected),
        TuiKey::Char(digit) => {
            let number = digit.to_digit(10)? as usize;
            return (1..=count).contains(&number).then(|| number - 1);
        }
        _ => {}
    }
    None
}

fn options(
    size: TuiSize,
    question: &str,
    detail: Option<&str>,
    options: &[&str],
    selected: usize,
) -> TuiFrame {
    let columns = size.usable_columns();
    let roomy = size.rows >= ROOMY_DIALOG_ROWS;
    let gap = || roomy.then(StyledLine::empty);
    // Rule, question and detail need a row each. Of too many options, those around the selected
    // one are shown.
    let shown = options.len().min(size.rows - 3);
    let first = (selected + 1).saturating_sub(shown);
    let choices = options.iter().enumerate().skip(first).take(shown).map(|(at, option)| {
        let (style, pointer) =
            if at == selected { (LineStyle::Accent, '❯') } else { (LineStyle::Plain, ' ') };
        let option = text::clean(option).replace('\n', " ");
        StyledLine::new(style, text::clip(&format!(" {pointer} {}. {option}", at + 1), columns))
    });
    let mut below: Vec<StyledLine> = gap().into_iter().chain(choices).chain(gap()).collect();
    if roomy {
        below.push(StyledLine::new(
            LineStyle::Dim,
            text::clip(" Enter to confirm · Esc to cancel", columns),
        ));
    }
    let mut lines = heading(size, question, below.len() + 1 + usize::from(roomy));
    if let Some(detail) = detail {
        lines.extend(gap());
        let room = size.rows.saturating_sub(lines.len() + below.len()).max(1);
        lines.extend(limited("   ", detail, columns, room));
    }
    lines.extend(below);
    TuiFrame { lines, cursor: None }
}

fn question(size: TuiSize, question: &str, editor: &TextEditor) -> TuiFrame {
    let columns = size.usable_columns();
    let mut below = Vec::new();
    if size.rows >= ROOMY_DIALOG_ROWS {
        below.push(StyledLine::empty());
        below.push(StyledLine::new(
            LineStyle::Dim,
            text::clip(" Enter to answer · Esc to skip", columns),
        ));
    }
    let input = editor.layout(columns, (size.rows / 3).max(1), "Type your answer");
    let mut lines = heading(size, question, input.lines.len() + below.len());
    let cursor = (lines.len() + input.cursor.0, input.cursor.1);
    lines.extend(input.lines);
    lines.extend(below);
    TuiFrame { lines, cursor: Some(cursor) }
}

/// What a dialog begins with. Some rows are needed for what follows.
fn heading(size: TuiSize, question: &str, needed: usize) -> Vec<StyledLine> {
    let columns = size.usable_columns();
    let room = size.rows.saturating_sub(needed + 1).max(1);
    let mut lines = vec![StyledLine::rule(columns)];
    lines.extend(
        limited(" ", question, columns, room)
            .into_iter()
            .map(|line| StyledLine { style: LineStyle::Bold, ..line }),
    );
    lines
}

/// The text in at most that many rows; the last one tells what is missing.
fn limited(indent: &str, long: &str, columns: usize, rows: usize) -> Vec<StyledLine> {
    let wrapped = text::wrap(text::clean(long).trim_end(), columns - indent.len());
    let mut lines: Vec<String> = wrapped.iter().map(|line| format!("{indent}{line}")).collect();
    if lines.len() > rows {
        let missing = lines.len() - rows + 1;
        lines.truncate(rows - 1);
        lines.push(format!("{indent}… +{missing} lines"));
    }
    lines.into_iter().map(|line| StyledLine::new(LineStyle::Plain, line)).collect()
}
