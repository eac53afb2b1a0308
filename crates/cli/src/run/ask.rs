//! Answering in place: keys that decide what waits.

use std::time::{Duration, Instant};

use coven_api::ApiClient;
use coven_api::intervention::DecideRequest;
use coven_api::workflow::{TaskItem, WorkflowDetails};
use coven_model::{
    AgentMode, Intervention, InterventionChoice, InterventionId, InterventionKind, SessionRule,
};
use coven_policy::rule_text;

use super::canvas::LineCanvas;
use crate::output::{self, OutputPaint};
use crate::question::{self, TextRequirement};

/// A key that comes this soon after one question took the place of another was meant for the one
/// before.
const QUESTION_SETTLE_TIME: Duration = Duration::from_millis(400);

/// What keys lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AskAction {
    Nothing,
    Decide(InterventionChoice, Option<String>),
    /// It is approved for always, by this rule, which was shown.
    Always {
        rule: SessionRule,
        save: bool,
    },
    /// The terminal of the agent that asks is wanted.
    Open,
}

/// The question that is shown, and what was typed so far.
#[derive(Debug, Default)]
pub(super) struct QuestionPrompt {
    shown: Option<InterventionId>,
    /// Since when it is shown in the place of another.
    replaced: Option<Instant>,
    /// How many questions were passed over.
    skipped: usize,
    typing: Option<(InterventionChoice, String)>,
    /// The rule that is shown before it is made, and since when.
    rule: Option<(SessionRule, Instant)>,
    /// What came of the last key.
    note: String,
}

impl QuestionPrompt {
    /// The question that is asked now.
    pub(super) fn current<'a>(&self, workflow: &'a WorkflowDetails) -> Option<&'a Intervention> {
        let open = &workflow.interventions;
        if let Some(found) = open.iter().find(|asked| Some(&asked.id) == self.shown.as_ref()) {
            return Some(found);
        }
        open.get(self.skipped % open.len().max(1))
    }

    /// Takes in how things stand now.
    pub(super) fn look(&mut self, workflow: &WorkflowDetails) {
        let now = self.current(workflow).map(|asked| asked.id.clone());
        if now != self.shown {
            self.replaced = self.shown.as_ref().and(now.as_ref()).map(|_| Instant::now());
            self.typing = None;
            self.rule = None;
            if now.is_some() {
                self.note.clear();
            }
            self.shown = now;
        }
    }

    /// What is drawn below the tree. Where there is no room for all that is to be approved, that is
    /// said instead, because no key approves it then.
    pub(super) fn lines(
        &self,
        workflow: &WorkflowDetails,
        paint: OutputPaint,
        columns: usize,
    ) -> Vec<String> {
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
        if self.rule.is_some() {
            lines.extend(key_lines(vec![key_words("Esc", "back", paint)], columns));
        } else {
            let can = |choice: InterventionChoice| !question::approves(choice);
            let open = workflow.interventions.len();
            lines.extend(keys(asked, task(workflow, asked), open, can, (paint, columns)));
        }
        lines
    }

    /// All of the question, however many lines it takes.
    fn whole_lines(
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
        if let Some((rule, _)) = &self.rule {
            lines.push("  approve always makes this rule, for the rest of the session:".to_owned());
            for line in output::clean(&rule_text(rule)).lines() {
                for part in output::folded(line, columns.saturating_sub(5)) {
                    lines.push(format!("    {part}"));
                }
            }
        }
        match &self.typing {
            _ if self.rule.is_some() => {
                let keys =
                    [("y", "make it"), ("s", "also save it in your policy"), ("Esc", "back")];
                let keys = keys.map(|(key, words)| key_words(key, words, paint)).to_vec();
                lines.extend(key_lines(keys, columns));
            }
            Some((choice, text)) => {
                let prompt = match question::text(*choice) {
                    TextRequirement::Maybe => "why (Enter for nothing, Esc to go back)",
                    _ => "text (Enter sends, Esc goes back)",
                };
                let text =
                    if asked.secret { "•".repeat(text.chars().count()) } else { text.clone() };
                lines.push(cut(&format!("  {}: {prompt}: {text}▏", question::words(*choice)), 0));
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

    /// Takes what was typed. What follows the key that decides is thrown away: it was typed for
    /// something else.
    pub(super) fn typed(&mut self, workflow: &WorkflowDetails, bytes: &[u8]) -> AskAction {
        let Some(asked) = self.current(workflow).cloned() else { return AskAction::Nothing };
        if self.replaced.is_some_and(|since| since.elapsed() < QUESTION_SETTLE_TIME) {
            return AskAction::Nothing;
        }
        self.note.clear();
        // A key with a name, such as an arrow, comes as a sequence and means nothing here.
        if bytes.len() > 1 && bytes[0] == 0x1b {
            return AskAction::Nothing;
        }
        for character in String::from_utf8_lossy(bytes).chars() {
            if self.typing.is_none() && !self.takes(workflow, &asked, character) {
                continue;
            }
            if self.rule.is_some() {
                return self.confirm(character);
            }
            if character == question::key(InterventionChoice::ApproveAlways)
                && self.typing.is_none()
                && asked.options.contains(&InterventionChoice::ApproveAlways)
            {
                self.show_rule(&asked, task(workflow, &asked));
                // What was typed behind it was typed before the rule was shown.
                return AskAction::Nothing;
            }
            let wish = match self.typing {
                Some(_) => self.text(character),
                None => self.choose(
                    &asked,
                    task(workflow, &asked),
                    workflow.interventions.len(),
                    character,
                ),
            };
            if wish != AskAction::Nothing {
                return wish;
            }
        }
        AskAction::Nothing
    }

    /// Whether a key may decide now: nothing is approved of which a part is not to be seen.
    fn takes(&mut self, workflow: &WorkflowDetails, asked: &Intervention, key: char) -> bool {
        let approves =
            [InterventionChoice::Approve, InterventionChoice::ApproveAlways].map(question::key);
        let approves = match self.rule {
            Some(_) => matches!(key, 'y' | 's'),
            None => approves.contains(&key),
        };
        if !approves {
            return true;
        }
        if asked.truncated {
            "a part of it is not shown: [o] opens its terminal".clone_into(&mut self.note);
            return false;
        }
        if asked.kind != InterventionKind::Approval {
            return true;
        }
        // Where it does not fit, the reason stands in its place.
        let lines = self.whole_lines(workflow, output::paint(), output::columns()).len();
        lines <= LineCanvas::rows()
    }

    /// Shows the rule that approving for always makes, or why there is none.
    fn show_rule(&mut self, asked: &Intervention, task: Option<&TaskItem>) {
        let Some(task) = task else { return };
        match question::always(asked, &task.adapter) {
            Ok(rule) => self.rule = Some((rule, Instant::now())),
            Err(why) => self.note = format!("it cannot be approved for always: {why}"),
        }
    }

    /// Takes a key while a rule is shown.
    fn confirm(&mut self, key: char) -> AskAction {
        let Some((rule, since)) = self.rule.take() else { return AskAction::Nothing };
        match key {
            'y' | 's' if since.elapsed() >= QUESTION_SETTLE_TIME => {
                AskAction::Always { rule, save: key == 's' }
            }
            '\x1b' | 'n' => AskAction::Nothing,
            _ => {
                self.rule = Some((rule, since));
                AskAction::Nothing
            }
        }
    }

    fn text(&mut self, character: char) -> AskAction {
        let Some((choice, text)) = &mut self.typing else { return AskAction::Nothing };
        match character {
            '\r' | '\n' => {
                let (choice, text) = (*choice, text.trim().to_owned());
                if text.is_empty() && question::text(choice) == TextRequirement::Needed {
                    "type a text first".clone_into(&mut self.note);
                    return AskAction::Nothing;
                }
                self.typing = None;
                return AskAction::Decide(choice, Some(text).filter(|text| !text.is_empty()));
            }
            '\x1b' => self.typing = None,
            '\x7f' | '\x08' => drop(text.pop()),
            '\x15' => text.clear(),
            character if !character.is_control() => text.push(character),
            _ => {}
        }
        AskAction::Nothing
    }

    fn choose(
        &mut self,
        asked: &Intervention,
        task: Option<&TaskItem>,
        open: usize,
        key: char,
    ) -> AskAction {
        if let Some(entry) = question::entries(asked).find(|entry| entry.id == key.to_string()) {
            if !entry.takes_text {
                return AskAction::Decide(InterventionChoice::Answer, Some(entry.id.clone()));
            }
            self.typing = Some((InterventionChoice::Answer, String::new()));
            return AskAction::Nothing;
        }
        if let Some(choice) = asked.options.iter().find(|choice| question::key(**choice) == key) {
            if question::text(*choice) == TextRequirement::None {
                return AskAction::Decide(*choice, None);
            }
            self.typing = Some((*choice, String::new()));
            return AskAction::Nothing;
        }
        match key {
            '\t' if open > 1 => {
                self.skipped += 1;
                self.shown = None;
            }
            'o' if has_terminal(task) => return AskAction::Open,
            ' '..='~' => self.note = format!("`{key}` means nothing here"),
            _ => {}
        }
        AskAction::Nothing
    }

    /// Decides, and remembers what came of it.
    pub(super) async fn decide(
        &mut self,
        client: &ApiClient,
        asked: &Intervention,
        choice: InterventionChoice,
        answer: Option<String>,
    ) {
        let decide = DecideRequest { answer, ..DecideRequest::new(choice, asked.digest.clone()) };
        self.request(client, asked, &decide).await;
    }

    /// Approves it for always, by the rule that was shown.
    pub(super) async fn approve_always(
        &mut self,
        client: &ApiClient,
        asked: &Intervention,
        rule: &SessionRule,
        save: bool,
    ) {
        let choice = InterventionChoice::ApproveAlways;
        let rule = Some(rule_text(rule));
        let decide =
            DecideRequest { rule, save, ..DecideRequest::new(choice, asked.digest.clone()) };
        self.request(client, asked, &decide).await;
    }

    async fn request(&mut self, client: &ApiClient, asked: &Intervention, decide: &DecideRequest) {
        let choice = decide.decision;
        self.note = match client.decide(&asked.id, decide).await {
            Ok(_) => format!("{}: {}", question::asked(asked), question::words(choice)),
            Err(error) => format!("not done: {}", output::one_line(&error.to_string())),
        };
    }
}

fn task<'a>(workflow: &'a WorkflowDetails, asked: &Intervention) -> Option<&'a TaskItem> {
    workflow.tasks.iter().find(|task| Some(&task.id) == asked.task.as_ref())
}

fn has_terminal(task: Option<&TaskItem>) -> bool {
    task.is_some_and(|task| task.live && task.mode == AgentMode::Interactive)
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
