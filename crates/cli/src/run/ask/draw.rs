//! How a question is drawn: what it is about, and the keys that decide it.

use coven_api::workflow::{TaskItem, WorkflowDetails};
use coven_model::{Intervention, InterventionChoice, InterventionKind};
use coven_policy::rule_text;

use super::{HeldKeys, QuestionPrompt, has_terminal, task};
use crate::output::{self, OutputPaint};
use crate::question::{self, TextRequirement};
use crate::run::canvas::LineCanvas;

/// What stands in the place of the keys while they do not count.
const KEYS_SETTLE: &str = "  (keys count in a moment)";

impl QuestionPrompt {
    /// What is shown while keys belong to something that is gone.
    fn held_lines(&self, held: &HeldKeys, paint: OutputPaint, columns: usize) -> Vec<String> {
        let closed = held.question.as_ref().map(|id| self.closed.get(id));
        let became = match closed {
            Some(Some(words)) => format!("this question {words}"),
            Some(None) => "this question is not asked any more".to_owned(),
            None => "it is gone".to_owned(),
        };
        let title = output::shortened(&format!("? {}", held.title), columns - 1);
        let mut lines = vec![String::new(), paint.yellow(&title)];
        let mut say = |text: &str| {
            let text = output::wrapped(&format!("  {text}"), columns - 1, 2);
            lines.extend(text.lines().map(str::to_owned));
        };
        say(&became);
        if let Some(field) = &held.field {
            say(&format!("not sent: {}", field.shown_text()));
        }
        say("What is typed now goes nowhere; Enter or Esc goes on.");
        lines
    }

    /// What is drawn below the tree. Where there is no room for all that is to be approved, that is
    /// said instead, because no key approves it then.
    pub(in crate::run) fn lines(
        &self,
        workflow: &WorkflowDetails,
        paint: OutputPaint,
        columns: usize,
    ) -> Vec<String> {
        if let Some(held) = &self.held {
            return self.held_lines(held, paint, columns);
        }
        let lines = self.whole_lines(workflow, paint, columns);
        match self.current(workflow) {
            Some(asked)
                if asked.kind == InterventionKind::Approval && lines.len() > LineCanvas::rows() =>
            {
                self.short_lines(workflow, asked, paint, columns)
            }
            _ => lines,
        }
    }

    /// The question without what it is about, and why it cannot be approved here.
    fn short_lines(
        &self,
        workflow: &WorkflowDetails,
        asked: &Intervention,
        paint: OutputPaint,
        columns: usize,
    ) -> Vec<String> {
        let title = output::shortened(&format!("? {}", question::asked(asked)), columns - 1);
        let what = if self.rule.is_some() { "rule" } else { "command" };
        let why = format!(
            "  too small to show the whole {what}: enlarge the terminal, or: coven inbox {}",
            workflow.item.name
        );
        let mut lines = vec![paint.yellow(&title)];
        lines.extend(output::wrapped(&why, columns - 1, 2).lines().map(str::to_owned));
        if self.settles.is_some() {
            lines.push(paint.dim(KEYS_SETTLE));
        } else if self.rule.is_some() {
            lines.extend(key_lines(vec![key_words("Esc", "back", paint)], columns));
        } else {
            let can = |choice: InterventionChoice| !question::approves(choice);
            let open = workflow.interventions.len();
            lines.extend(keys(asked, task(workflow, asked), open, can, (paint, columns)));
        }
        lines
    }

    /// All of the question, however many lines it takes.
    pub(super) fn whole_lines(
        &self,
        workflow: &WorkflowDetails,
        paint: OutputPaint,
        columns: usize,
    ) -> Vec<String> {
        let Some(asked) = self.current(workflow) else {
            return if self.note.is_empty() {
                Vec::new()
            } else {
                vec![String::new(), paint.dim(&self.note)]
            };
        };
        let cut =
            |text: &str, less: usize| output::shortened(text, columns.saturating_sub(less + 1));
        let waits = output::age(output::now().since(asked.created_at));
        let title = cut(&format!("? {} ({waits})", question::asked(asked)), 0);
        let mut lines = vec![String::new(), paint.yellow(&title)];
        for line in question::excerpt(asked) {
            for part in output::folded(&line, columns.saturating_sub(5)) {
                lines.push(format!("  {} {part}", paint.dim("│")));
            }
        }
        if let Some(help) = &asked.help {
            let help = output::wrapped(&format!("  {}", output::one_line(help)), columns - 1, 2);
            lines.extend(help.lines().map(str::to_owned));
        }
        if let Some(refused) = question::refused(asked) {
            let refused = output::wrapped(&format!("  {refused}"), columns - 1, 2);
            lines.extend(refused.lines().map(|line| paint.red(line)));
        }
        if let Some(rule) = &self.rule {
            lines.push("  approve always makes this rule, for the rest of the session:".to_owned());
            for line in output::clean(&rule_text(rule)).lines() {
                for part in output::folded(line, columns.saturating_sub(5)) {
                    lines.push(format!("    {part}"));
                }
            }
        }
        match &self.typing {
            _ if self.settles.is_some() => lines.push(paint.dim(KEYS_SETTLE)),
            _ if self.rule.is_some() => {
                let keys =
                    [("y", "make it"), ("s", "also save it in your policy"), ("Esc", "back")];
                let keys = keys.map(|(key, words)| key_words(key, words, paint)).to_vec();
                lines.extend(key_lines(keys, columns));
            }
            Some(field) => {
                let prompt = match question::text(field.choice) {
                    TextRequirement::Maybe => "why (Enter for nothing, Esc to go back)",
                    _ => "text (Enter sends, Esc goes back)",
                };
                let (words, text) = (question::words(field.choice), field.shown_text());
                lines.push(cut(&format!("  {words}: {prompt}: {text}▏"), 0));
            }
            None => lines.extend(keys(
                asked,
                task(workflow, asked),
                workflow.interventions.len(),
                |choice| question::can_decide(asked, choice),
                (paint, columns),
            )),
        }
        if !self.note.is_empty() {
            lines.push(paint.dim(&cut(&format!("  {}", self.note), 0)));
        }
        lines
    }
}

fn keys(
    asked: &Intervention,
    task: Option<&TaskItem>,
    open: usize,
    can_decide: impl Fn(InterventionChoice) -> bool,
    (paint, columns): (OutputPaint, usize),
) -> Vec<String> {
    let key = |key: &str, words: &str| key_words(key, words, paint);
    let choice = |choice: &InterventionChoice| {
        key(&question::key(*choice).to_string(), question::words(*choice))
    };
    let entries = question::entries(asked).filter(|entry| entry.id.len() == 1);
    let mut all: Vec<(usize, String)> =
        entries.map(|entry| key(&entry.id, &output::one_line(&entry.label))).collect();
    all.extend(asked.options.iter().filter(|choice| can_decide(**choice)).map(choice));
    if has_terminal(task) {
        all.push(key("o", "open its terminal"));
    }
    if open > 1 {
        all.push(key("Tab", &format!("next of {open}")));
    }
    key_lines(all, columns)
}

/// A key with what it does, and how wide that is.
fn key_words(key: &str, words: &str, paint: OutputPaint) -> (usize, String) {
    let width = key.len() + 3 + output::width(words);
    (width, format!("{} {words}", paint.bold(&format!("[{key}]"))))
}

/// Keys on as many lines as they need.
fn key_lines(all: Vec<(usize, String)>, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = columns;
    for (width, text) in all {
        match lines.last_mut() {
            Some(line) if used + 3 + width < columns => {
                line.push_str("   ");
                line.push_str(&text);
                used += 3 + width;
            }
            _ => {
                lines.push(format!("  {text}"));
                used = 2 + width;
            }
        }
    }
    lines
}
