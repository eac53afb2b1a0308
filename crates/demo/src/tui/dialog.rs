//! What the agent waits for a person to say, how it looks and which keys answer it.

use super::Size;
use super::editor::Editor;
use super::keys::Key;
use super::line::{Line, Style};
use super::painter::Frame;
use crate::script::Tool;
use crate::text;

/// A question to a person.
#[derive(Clone, Debug)]
pub(super) enum Dialog {
    /// May this be done?
    Permission { tool: Tool, selected: usize },
    /// Anything can be the answer.
    Question { question: String, editor: Editor },
    /// One of these is the answer.
    Choice { question: String, options: Vec<String>, selected: usize },
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Permission,
    Question,
    Choice,
}

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes(Tool),
    Always(Tool),
    No(Tool),
    Text(String),
    Nothing,
}

const PERMISSION: [&str; 3] = ["Yes", "Yes, always", "No (esc)"];

/// On screens lower than this, a dialog goes without what only makes it nicer.
const ROOMY: usize = 14;

impl Dialog {
    pub(super) fn permission(tool: Tool) -> Self {
        Self::Permission { tool, selected: 0 }
    }

    pub(super) fn question(question: String) -> Self {
        Self::Question { question, editor: Editor::default() }
    }

    pub(super) fn choice(question: String, options: Vec<String>) -> Self {
        Self::Choice { question, options, selected: 0 }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Permission { .. } => Kind::Permission,
            Self::Question { .. } => Kind::Question,
            Self::Choice { .. } => Kind::Choice,
        }
    }

    /// Does what the key says; some keys are an answer.
    pub(super) fn press(&mut self, key: &Key) -> Option<Answer> {
        match self {
            Self::Permission { tool, selected } => {
                let key = match key {
                    Key::Char('y' | 'Y') => &Key::Char('1'),
                    Key::Char('n' | 'N') | Key::Escape => &Key::Char('3'),
                    key => key,
                };
                Some(match choose(selected, PERMISSION.len(), key)? {
                    0 => Answer::Yes(tool.clone()),
                    1 => Answer::Always(tool.clone()),
                    _ => Answer::No(tool.clone()),
                })
            }
            Self::Choice { options, .. } if *key == Key::Escape || options.is_empty() => {
                Some(Answer::Nothing)
            }
            Self::Choice { options, selected, .. } => {
                choose(selected, options.len(), key).map(|at| Answer::Text(options[at].clone()))
            }
            Self::Question { editor, .. } => match key {
                Key::Escape => Some(Answer::Nothing),
                Key::Enter if editor.text().trim().is_empty() => None,
                Key::Enter => Some(Answer::Text(editor.take())),
                key => {
                    editor.press(key);
                    None
                }
            },
        }
    }

    pub(super) fn frame(&self, size: Size) -> Frame {
        match self {
            Self::Permission { tool, selected } => {
                let (question, detail) = match tool {
                    Tool::Command(command) => ("Run this command?", command.clone()),
                    Tool::Write { path, text } => {
                        ("Write this file?", format!("{}\n{text}", path.display()))
                    }
                };
                options(size, question, Some(&detail), &PERMISSION, *selected)
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
fn choose(selected: &mut usize, count: usize, key: &Key) -> Option<usize> {
    match key {
        Key::Up | Key::Char('k') => *selected = (*selected + count - 1) % count,
        Key::Down | Key::Char('j') => *selected = (*selected + 1) % count,
        Key::Enter => return Some(*selected),
        Key::Char(digit) => {
            let number = digit.to_digit(10)? as usize;
            return (1..=count).contains(&number).then(|| number - 1);
        }
        _ => {}
    }
    None
}

fn options(
    size: Size,
    question: &str,
    detail: Option<&str>,
    options: &[&str],
    selected: usize,
) -> Frame {
    let columns = size.usable();
    let roomy = size.rows >= ROOMY;
    let gap = || roomy.then(Line::empty);
    // Rule, question and detail need a row each. Of too many options, those around the selected
    // one are shown.
    let shown = options.len().min(size.rows - 3);
    let first = (selected + 1).saturating_sub(shown);
    let choices = options.iter().enumerate().skip(first).take(shown).map(|(at, option)| {
        let (style, pointer) =
            if at == selected { (Style::Accent, '❯') } else { (Style::Plain, ' ') };
        let option = text::clean(option).replace('\n', " ");
        Line::new(style, text::clip(&format!(" {pointer} {}. {option}", at + 1), columns))
    });
    let mut below: Vec<Line> = gap().into_iter().chain(choices).chain(gap()).collect();
    if roomy {
        below.push(Line::new(Style::Dim, text::clip(" Enter to confirm · Esc to cancel", columns)));
    }
    let mut lines = heading(size, question, below.len() + 1 + usize::from(roomy));
    if let Some(detail) = detail {
        lines.extend(gap());
        let room = size.rows.saturating_sub(lines.len() + below.len()).max(1);
        lines.extend(limited("   ", detail, columns, room));
    }
    lines.extend(below);
    Frame { lines, cursor: None }
}

fn question(size: Size, question: &str, editor: &Editor) -> Frame {
    let columns = size.usable();
    let mut below = Vec::new();
    if size.rows >= ROOMY {
        below.push(Line::empty());
        below.push(Line::new(Style::Dim, text::clip(" Enter to answer · Esc to skip", columns)));
    }
    let input = editor.layout(columns, (size.rows / 3).max(1), "Type your answer");
    let mut lines = heading(size, question, input.lines.len() + below.len());
    let cursor = (lines.len() + input.cursor.0, input.cursor.1);
    lines.extend(input.lines);
    lines.extend(below);
    Frame { lines, cursor: Some(cursor) }
}

/// What a dialog begins with. Some rows are needed for what follows.
fn heading(size: Size, question: &str, needed: usize) -> Vec<Line> {
    let columns = size.usable();
    let room = size.rows.saturating_sub(needed + 1).max(1);
    let mut lines = vec![Line::rule(columns)];
    lines.extend(
        limited(" ", question, columns, room)
            .into_iter()
            .map(|line| Line { style: Style::Bold, ..line }),
    );
    lines
}

/// The text in at most that many rows; the last one tells what is missing.
fn limited(indent: &str, long: &str, columns: usize, rows: usize) -> Vec<Line> {
    let wrapped = text::wrap(text::clean(long).trim_end(), columns - indent.len());
    let mut lines: Vec<String> = wrapped.iter().map(|line| format!("{indent}{line}")).collect();
    if lines.len() > rows {
        let missing = lines.len() - rows + 1;
        lines.truncate(rows - 1);
        lines.push(format!("{indent}… +{missing} lines"));
    }
    lines.into_iter().map(|line| Line::new(Style::Plain, line)).collect()
}
