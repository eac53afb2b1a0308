//! The script: what the model says and calls, scene by scene.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::conversation::{ModelConversation, ModelTool};

/// What stands before the name of a scene in the user's text.
pub const TAG: &str = "play:";

/// The name of the model, for CLIs that want one.
pub const MODEL: &str = "scripted-model";

/// The command of every tool call. Each time it runs there is one more file, so that a test can
/// count, and its words are always the same, so that two questions about it look alike.
pub const PROBE: &str = "mktemp ran-XXXXXX";

/// What an arbiter finds in the first round.
pub const REASON: &str = "the scripted judge wants one more round";

/// What the prompt of an arbiter contains, and that of an arbiter in a later round.
const ARBITER_PROMPT: &str = "You judge the work of another agent";
/// What the prompt of an agent that is to resolve a conflict contains, around the branch.
const RESOLUTION_PROMPT: &str = "Merge `";
const RESOLUTION_PROMPT_END: &str = "` into your branch";
const LATER_ROUND_PROMPT: &str = "The rounds before";

/// How many words the slow answer has at most: ten minutes' worth.
pub const SLOW_WORDS: usize = 2000;

/// What every answer is said to have used up.
pub const USED: TokensUsed = TokensUsed { input: 1200, cached: 1000, output: 50 };

/// How long between two words of an answer that is not slow.
pub(super) const WORD_INTERVAL: Duration = Duration::from_millis(20);

const SLOW_WORD_INTERVAL: Duration = Duration::from_millis(300);
const SILENCE: Duration = Duration::from_secs(6);

/// What [`ModelScene::Question`] asks, and the answers it offers.
pub const QUESTION: &str = "Which colour shall it have?";
pub const QUESTION_ENTRIES: [&str; 2] = ["Red", "Blue"];

/// How many lines the command of [`ModelScene::Long`] has.
pub const LONG_COMMAND_LINES: usize = 68;

const ANSWER: &str = "This is the scripted answer. Nothing was changed.";
/// An answer in JSON, with a name that looks like emphasis and a text that is longer than a row.
pub const DATA: &str = r#"{"verdict": "pass", "file": "src/__init__.py", "why": "The reason is long enough that no terminal of a common width shows it in one row, so that it has to be broken somewhere between two of its words."}"#;
const ANNOUNCEMENT: &str = "I will use a tool now.";
const RAN: &str = "All done: the tool ran and returned a result.";
const REFUSED: &str = "Understood: the tool call was refused, so I stopped.";
const NO_TOOL: &str = "There is no such tool here.";
const TITLE: &str = "Scripted title";

/// Words in a tool result that show that the person refused the tool call.
const REFUSALS: [&str; 6] = ["reject", "denied", "cancel", "declin", "doesn't want", "aborted"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokensUsed {
    /// Read, cached ones included.
    pub input: u64,
    /// Read from a cache.
    pub cached: u64,
    pub output: u64,
}

/// What the model does in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelScene {
    /// It answers at once.
    Text,
    /// It answers with JSON, which has in it what a screen shows in another form.
    Data,
    /// It calls the shell once, then answers.
    Shell,
    /// The same, and says to those that have a sandbox that the command must leave it.
    Ask,
    /// It calls the shell, and with the result in hand calls it again with the same words.
    Twice,
    /// It answers slowly and for a very long time.
    Slow,
    /// It is silent for some seconds, then answers.
    Think,
    /// It asks the person something, where it is offered a tool for that, then answers.
    Question,
    /// The request is refused as a bad one (400).
    Error,
    /// The request is refused for want of a good key (401).
    Key,
    /// The request fails, however often it is tried (500).
    Unavailable,
    /// The request is refused because a usage limit is reached (429), as each vendor says it.
    Limit,
    /// It calls the shell once with a command of more lines than a dialog shows, then answers.
    Long,
    /// It calls the shell once with the command that stands between backticks behind the tag, then
    /// answers.
    Run,
    /// It merges a branch and keeps the lines of both sides. No tag names this one; what an agent
    /// is told about a conflict does.
    Resolve,
    /// It judges the work of another agent: it tries the shell once where it has one, and then
    /// gives a verdict. The first round is not good enough for it, any later one is. No tag names
    /// this one; what an arbiter is asked does.
    Verdict,
}

impl ModelScene {
    pub const ALL: [Self; 16] = [
        Self::Text,
        Self::Data,
        Self::Shell,
        Self::Ask,
        Self::Twice,
        Self::Slow,
        Self::Think,
        Self::Question,
        Self::Error,
        Self::Key,
        Self::Unavailable,
        Self::Limit,
        Self::Long,
        Self::Run,
        Self::Resolve,
        Self::Verdict,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Data => "data",
            Self::Shell => "shell",
            Self::Ask => "ask",
            Self::Twice => "twice",
            Self::Slow => "slow",
            Self::Think => "think",
            Self::Question => "question",
            Self::Error => "error",
            Self::Key => "key",
            Self::Unavailable => "unavailable",
            Self::Limit => "limit",
            Self::Long => "long",
            Self::Run => "run",
            Self::Resolve => "resolve",
            Self::Verdict => "verdict",
        }
    }

    /// The scene that the last tag in a text names; nothing if there is no tag. A tag that names
    /// none is a plain answer.
    pub(super) fn in_text(text: &str) -> Option<Self> {
        if text.contains(ARBITER_PROMPT) {
            return Some(Self::Verdict);
        }
        if branch_to_merge(text).is_some() {
            return Some(Self::Resolve);
        }
        let (_, name) = text.rsplit_once(TAG)?;
        let name: String = name.chars().take_while(char::is_ascii_alphanumeric).collect();
        Some(Self::ALL.into_iter().find(|scene| scene.name() == name).unwrap_or(Self::Text))
    }
}

/// As the tag that a prompt must have.
impl fmt::Display for ModelScene {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{TAG}{}", self.name())
    }
}

/// One answer of the model.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ModelTurn {
    /// It says something, and may call a tool.
    Say(SpokenText, Option<ModelCall>),
    /// The request is refused with this status.
    Refuse(u16),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpokenText {
    pub(super) text: String,
    pub(super) silence: Duration,
    pub(super) pace: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelCall {
    pub(super) name: String,
    pub(super) arguments: Value,
}

impl SpokenText {
    fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), silence: Duration::ZERO, pace: None }
    }

    fn slow() -> Self {
        let text = (1..=SLOW_WORDS).map(|number| format!("word{number} ")).collect();
        Self { text, silence: Duration::ZERO, pace: Some(SLOW_WORD_INTERVAL) }
    }

    /// Its words, each with the space behind it.
    pub(super) fn words(&self) -> impl Iterator<Item = String> + use<> {
        let words: Vec<String> = self.text.split_inclusive(' ').map(str::to_owned).collect();
        words.into_iter()
    }
}

/// What the model does about a conversation.
pub(super) fn turn(conversation: &ModelConversation) -> ModelTurn {
    let say = |text: &str| ModelTurn::Say(SpokenText::plain(text), None);
    let Some(scene) = conversation.scene() else {
        return say(if conversation.tools.is_empty() { TITLE } else { ANSWER });
    };
    let refused = conversation.results.last().is_some_and(|result| {
        let result = result.to_lowercase();
        REFUSALS.iter().any(|word| result.contains(word))
    });
    let calls = match scene {
        ModelScene::Text => return say(ANSWER),
        ModelScene::Data => return say(DATA),
        ModelScene::Error => return ModelTurn::Refuse(400),
        ModelScene::Key => return ModelTurn::Refuse(401),
        ModelScene::Unavailable => return ModelTurn::Refuse(500),
        ModelScene::Limit => return ModelTurn::Refuse(429),
        ModelScene::Slow => return ModelTurn::Say(SpokenText::slow(), None),
        ModelScene::Think => {
            return ModelTurn::Say(
                SpokenText { silence: SILENCE, ..SpokenText::plain(ANSWER) },
                None,
            );
        }
        ModelScene::Question => {
            let call = conversation.tools.iter().find_map(question);
            return match call.filter(|_| conversation.results.is_empty()) {
                Some(call) => ModelTurn::Say(SpokenText::plain(ANNOUNCEMENT), Some(call)),
                None if conversation.results.is_empty() => say(NO_TOOL),
                None => say(ANSWER),
            };
        }
        ModelScene::Shell
        | ModelScene::Ask
        | ModelScene::Long
        | ModelScene::Run
        | ModelScene::Resolve => 1,
        ModelScene::Twice => 2,
        ModelScene::Verdict => {
            let shell = conversation.tools.iter().find_map(|tool| shell(tool, PROBE, false));
            return match shell.filter(|_| conversation.results.is_empty()) {
                Some(call) => ModelTurn::Say(SpokenText::plain(ANNOUNCEMENT), Some(call)),
                None => say(&verdict(conversation)),
            };
        }
    };
    if refused {
        return say(REFUSED);
    }
    if conversation.results.len() >= calls {
        return say(RAN);
    }
    let last = conversation.said.last().map_or("", String::as_str);
    let command = match scene {
        ModelScene::Long => long_command(),
        ModelScene::Run => command_in(last).unwrap_or(PROBE).to_owned(),
        ModelScene::Resolve => resolution(branch_to_merge(last).unwrap_or_default()),
        _ => PROBE.to_owned(),
    };
    // Where the tool has a sandbox, these commands are allowed to write in it.
    let stays = matches!(scene, ModelScene::Shell | ModelScene::Run | ModelScene::Resolve);
    let call = |tool: &ModelTool| shell(tool, &command, !stays);
    match conversation.tools.iter().find_map(call) {
        Some(call) => ModelTurn::Say(SpokenText::plain(ANNOUNCEMENT), Some(call)),
        None => say(NO_TOOL),
    }
}

/// A command of which dialogs show a part.
fn long_command() -> String {
    let lines = (1..LONG_COMMAND_LINES).map(|number| format!("echo line-{number}\n"));
    lines.chain([PROBE.to_owned()]).collect()
}

/// The command that stands between backticks behind the last tag of a text.
fn command_in(text: &str) -> Option<&str> {
    let (_, behind) = text.rsplit_once(TAG)?;
    behind.split('`').nth(1)
}

/// The branch that an agent is told to merge.
fn branch_to_merge(text: &str) -> Option<&str> {
    let (before, _) = text.split_once(RESOLUTION_PROMPT_END)?;
    before.rsplit_once(RESOLUTION_PROMPT).map(|(_, branch)| branch)
}

/// Merges a branch; of lines that conflict those of both sides stay.
fn resolution(branch: &str) -> String {
    format!(
        "git merge -q {branch} || (git diff --name-only --diff-filter=U | xargs sed -i -e '/^<<<<<<< /d' \
         -e '/^=======$/d' -e '/^>>>>>>> /d' && git add -A && git commit -q --no-edit)"
    )
}

/// What an arbiter says in the end.
fn verdict(conversation: &ModelConversation) -> String {
    let later = conversation.said.last().is_some_and(|said| said.contains(LATER_ROUND_PROMPT));
    let (verdict, reason) =
        if later { ("done", "nothing is left to do") } else { ("actionable", REASON) };
    format!("I looked at it.\n{}", json!({"verdict": verdict, "reason": reason}))
}

/// A call of the tool that asks the person, if the tool is one: one question with two answers, in
/// whichever of the known forms its parameters have.
fn question(tool: &ModelTool) -> Option<ModelCall> {
    const NAMES: [&str; 5] =
        ["AskUserQuestion", "ask_user", "ask_user_question", "question", "request_user_input"];
    if !NAMES.contains(&tool.name.as_str()) {
        return None;
    }
    let properties = |of: &Value, at: &str| of.pointer(at).and_then(Value::as_object).cloned();
    let own = properties(&tool.parameters, "/properties")?;
    if own.contains_key("requestedSchema") {
        let colour = json!({"type": "string", "title": "Colour", "enum": QUESTION_ENTRIES});
        let form = json!({
            "type": "object", "properties": {"colour": colour}, "required": ["colour"],
        });
        let arguments = json!({"message": QUESTION, "requestedSchema": form});
        return Some(ModelCall { name: tool.name.clone(), arguments });
    }
    if !own.contains_key("questions") {
        let arguments = json!({
            "question": QUESTION, "choices": QUESTION_ENTRIES, "allow_freeform": true,
        });
        return Some(ModelCall { name: tool.name.clone(), arguments: known(arguments, &own) });
    }
    let entries = QUESTION_ENTRIES.map(|label| json!({"label": label, "description": label}));
    let asked = json!({
        "id": "colour", "question": QUESTION, "header": "Colour", "type": "choice",
        "options": entries, "multiSelect": false, "multiple": false,
    });
    let item = properties(&own["questions"], "/items/properties").unwrap_or_default();
    let arguments = json!({"questions": [known(asked, &item)]});
    Some(ModelCall { name: tool.name.clone(), arguments })
}

/// The arguments that a schema knows.
fn known(arguments: Value, properties: &Map<String, Value>) -> Value {
    let Value::Object(mut arguments) = arguments else { return arguments };
    arguments.retain(|name, _| properties.contains_key(name));
    arguments.into()
}

/// A call of the shell, if the tool is one.
fn shell(tool: &ModelTool, command: &str, leave_sandbox: bool) -> Option<ModelCall> {
    const NAMES: [&str; 7] = [
        "Bash",
        "run_shell_command",
        "exec_command",
        "shell_command",
        "shell",
        "local_shell",
        "bash",
    ];
    if !NAMES.contains(&tool.name.as_str()) {
        return None;
    }
    let has = |name: &str| tool.parameters.pointer(&format!("/properties/{name}")).is_some();
    let list =
        tool.parameters.pointer("/properties/command/type").is_some_and(|kind| kind == "array");
    let mut arguments = Map::new();
    if has("cmd") {
        arguments.insert("cmd".to_owned(), json!(command));
    } else if list {
        arguments.insert("command".to_owned(), json!(["bash", "-c", command]));
    } else {
        arguments.insert("command".to_owned(), json!(command));
    }
    if has("description") {
        arguments.insert("description".to_owned(), json!("Make one more file"));
    }
    if has("is_background") {
        arguments.insert("is_background".to_owned(), json!(false));
    }
    if leave_sandbox && has("sandbox_permissions") {
        arguments.insert("sandbox_permissions".to_owned(), json!("require_escalated"));
        arguments.insert("justification".to_owned(), json!("May one more file be made?"));
    }
    Some(ModelCall { name: tool.name.clone(), arguments: arguments.into() })
}
