//! Answering in place: keys that decide what waits.

mod draw;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use coven_api::ApiClient;
use coven_api::intervention::DecideRequest;
use coven_api::workflow::{TaskItem, WorkflowDetails};
use coven_model::event::SessionEvent;
use coven_model::{
    AgentMode, Intervention, InterventionChoice, InterventionId, InterventionKind, SessionRule,
};
use coven_policy::rule_text;

use super::canvas::LineCanvas;
use super::key_input::{KeyDecoder, KeyInput};
use crate::output;
use crate::question::{self, TextRequirement};

/// Keys count after no key was pressed for so long while a question is shown: what comes sooner was
/// meant for what was shown before.
const QUESTION_SETTLE_TIME: Duration = Duration::from_millis(700);

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

/// A text that a person types.
#[derive(Clone, Debug)]
struct TextField {
    choice: InterventionChoice,
    text: String,
    secret: bool,
    /// Whether it may be nothing but Enter.
    takes_empty: bool,
}

impl TextField {
    fn new(choice: InterventionChoice, asked: &Intervention) -> Self {
        let takes_empty = asked.takes_empty(choice);
        Self { choice, text: String::new(), secret: asked.secret, takes_empty }
    }

    fn shown_text(&self) -> String {
        if self.secret { "•".repeat(self.text.chars().count()) } else { self.text.clone() }
    }
}

/// Keys belong to something that is gone. They are dropped until Enter or Esc, so that the rest of
/// a sentence is no command for what is asked next.
#[derive(Debug)]
struct HeldKeys {
    /// What they belong to.
    title: String,
    /// Its question, where it had one; what became of it may be told later.
    question: Option<InterventionId>,
    /// The text that was typed so far.
    field: Option<TextField>,
}

/// The question that is shown, and what was typed so far.
#[derive(Debug, Default)]
pub(super) struct QuestionPrompt {
    shown: Option<InterventionId>,
    /// The question that is shown, in words.
    title: String,
    /// From when on keys count, if they do not yet.
    settles: Option<Instant>,
    /// How many questions were passed over.
    skipped: usize,
    typing: Option<TextField>,
    held: Option<HeldKeys>,
    /// The rule that is shown before it is made.
    rule: Option<SessionRule>,
    /// What came of the last key.
    note: String,
    /// How questions were closed, in words.
    closed: HashMap<InterventionId, String>,
    keys: KeyDecoder,
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

    /// Remembers who decided a question, or why it is not asked any more.
    pub(super) fn happened(&mut self, event: &SessionEvent) {
        let (id, words) = match event {
            SessionEvent::InterventionResolved { id, decision, .. } => {
                let by = output::one_line(&decision.by);
                (id, format!("was answered elsewhere: {} by {by}", decision.choice))
            }
            SessionEvent::InterventionWithdrawn { id, reason, .. } => {
                (id, format!("is not asked any more: {}", output::one_line(reason)))
            }
            _ => return,
        };
        self.closed.insert(id.clone(), words);
    }

    /// Takes in how things stand now.
    pub(super) fn look(&mut self, workflow: &WorkflowDetails) {
        if self.settles_now() {
            self.settles = None;
        }
        if self.held.is_some() {
            return;
        }
        let now = self.current(workflow).cloned();
        let id = now.as_ref().map(|asked| asked.id.clone());
        if id == self.shown {
            return;
        }
        if let Some(field) = self.typing.take() {
            let (title, question) = (std::mem::take(&mut self.title), self.shown.take());
            self.held = Some(HeldKeys { title, question, field: Some(field) });
            return;
        }
        self.rule = None;
        if let Some(asked) = now {
            self.title = question::asked(&asked);
            self.note.clear();
            self.settle();
        }
        self.shown = id;
    }

    /// Whether keys belong to something that is gone, and Enter or Esc is waited for.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Drops keys until Enter or Esc, because they may be meant for what is gone.
    pub(super) fn hold(&mut self, title: String) {
        self.held = Some(HeldKeys { title, question: None, field: None });
    }

    /// Whether keys count from now on, and are to be shown.
    pub(super) fn settles_now(&self) -> bool {
        self.settles.is_some_and(|from| from <= Instant::now())
    }

    /// No key counts for a moment.
    pub(super) fn settle(&mut self) {
        self.settles = Some(Instant::now() + QUESTION_SETTLE_TIME);
    }

    /// Takes what was typed. What follows the key that decides is thrown away: it was typed for
    /// something else.
    pub(super) fn typed(&mut self, workflow: &WorkflowDetails, bytes: &[u8]) -> AskAction {
        let keys = self.keys.feed(bytes);
        if self.held.is_some() {
            let goes_on = |key: &KeyInput| matches!(key, KeyInput::Key('\r' | '\n' | '\x1b'));
            if keys.iter().any(goes_on) {
                self.held = None;
                self.settle();
            }
            return AskAction::Nothing;
        }
        let Some(asked) = self.current(workflow).cloned() else { return AskAction::Nothing };
        if self.settles.is_some() {
            self.settle();
            return AskAction::Nothing;
        }
        if keys.is_empty() {
            return AskAction::Nothing;
        }
        self.note.clear();
        let action = if self.typing.is_some() {
            self.typed_text(&keys)
        } else {
            self.pressed(workflow, &asked, &keys)
        };
        if action != AskAction::Nothing {
            // The rest of what is typed was not meant for what comes next.
            self.settle();
        }
        action
    }

    /// Takes a key where each one means something by itself. Nobody presses two in one moment:
    /// several are a text that was pasted, or meant for something else.
    fn pressed(
        &mut self,
        workflow: &WorkflowDetails,
        asked: &Intervention,
        keys: &[KeyInput],
    ) -> AskAction {
        let key = match keys {
            [KeyInput::Key(key)] => *key,
            [KeyInput::Named] => return AskAction::Nothing,
            keys => {
                let is_pasted = |key: &KeyInput| matches!(key, KeyInput::Pasted(_));
                self.note = if keys.iter().any(is_pasted) {
                    "what is pasted means nothing here: press a key".to_owned()
                } else {
                    "several keys at once mean nothing here: press one".to_owned()
                };
                self.settle();
                return AskAction::Nothing;
            }
        };
        if !self.takes(workflow, asked, key) {
            return AskAction::Nothing;
        }
        if self.rule.is_some() {
            return self.confirm(key);
        }
        let task = task(workflow, asked);
        if key == question::key(InterventionChoice::ApproveAlways)
            && asked.options.contains(&InterventionChoice::ApproveAlways)
        {
            self.show_rule(asked, task);
            return AskAction::Nothing;
        }
        self.choose(asked, task, workflow.interventions.len(), key)
    }

    /// Takes keys while a text is typed.
    fn typed_text(&mut self, keys: &[KeyInput]) -> AskAction {
        for key in keys {
            let action = match key {
                KeyInput::Key(character) => self.text(*character),
                KeyInput::Pasted(pasted) => {
                    if let Some(field) = &mut self.typing {
                        field.text.push_str(pasted);
                    }
                    AskAction::Nothing
                }
                KeyInput::Named => AskAction::Nothing,
            };
            // What follows was not typed for what is shown then.
            if action != AskAction::Nothing || self.typing.is_none() {
                return action;
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
            let what = if question::has_terminal(asked) {
                "a part of it is not shown: [o] opens its terminal"
            } else {
                "a part of it is not shown, so it can only be denied"
            };
            what.clone_into(&mut self.note);
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
            Ok(rule) => {
                self.rule = Some(rule);
                self.settle();
            }
            Err(why) => self.note = format!("it cannot be approved for always: {why}"),
        }
    }

    /// Takes a key while a rule is shown.
    fn confirm(&mut self, key: char) -> AskAction {
        let Some(rule) = self.rule.take() else { return AskAction::Nothing };
        match key {
            'y' | 's' => AskAction::Always { rule, save: key == 's' },
            '\x1b' | 'n' => {
                self.settle();
                AskAction::Nothing
            }
            _ => {
                self.rule = Some(rule);
                AskAction::Nothing
            }
        }
    }

    fn text(&mut self, character: char) -> AskAction {
        let Some(field) = &mut self.typing else { return AskAction::Nothing };
        match character {
            '\r' | '\n' => {
                let (choice, text) = (field.choice, field.text.trim().to_owned());
                let takes_empty = field.takes_empty;
                if text.is_empty()
                    && !takes_empty
                    && question::text(choice) == TextRequirement::Needed
                {
                    "type a text first".clone_into(&mut self.note);
                    return AskAction::Nothing;
                }
                self.typing = None;
                let text = Some(text).filter(|text| takes_empty || !text.is_empty());
                return AskAction::Decide(choice, text);
            }
            '\x1b' => {
                self.typing = None;
                self.settle();
            }
            '\x7f' | '\x08' => drop(field.text.pop()),
            '\x15' => field.text.clear(),
            character if !character.is_control() => field.text.push(character),
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
            self.typing = Some(TextField::new(InterventionChoice::Answer, asked));
            return AskAction::Nothing;
        }
        if let Some(choice) = asked.options.iter().find(|choice| question::key(**choice) == key) {
            if question::text(*choice) == TextRequirement::None {
                return AskAction::Decide(*choice, None);
            }
            self.typing = Some(TextField::new(*choice, asked));
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
        // Keys that were pressed in the meantime were not meant for what is asked now.
        self.settle();
    }
}

fn task<'a>(workflow: &'a WorkflowDetails, asked: &Intervention) -> Option<&'a TaskItem> {
    workflow.tasks.iter().find(|task| Some(&task.id) == asked.task.as_ref())
}

fn has_terminal(task: Option<&TaskItem>) -> bool {
    task.is_some_and(|task| task.live && task.mode == AgentMode::Interactive)
}
