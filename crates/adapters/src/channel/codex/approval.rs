//! What Codex asks, and how it is answered.

use coven_model::AwaitingKind;
use serde_json::{Map, Value, json};

use crate::channel::ChannelKind;
use crate::channel::announced_calls::AnnouncedCalls;
use crate::channel::answer::WrittenAnswer;
use crate::channel::extras::told;
use crate::channel::order::{ChannelDecision, ChannelRefusal};
use crate::channel::question::{
    AnswerOption, AskedQuestion, ChannelQuestion, KnownDigest, OptionEffect, RequestId, short_id,
};
use crate::transcript::entry::{name, visible_line};
use crate::transcript::json::JsonNode;

const COMMAND: &str = "item/commandExecution/requestApproval";
const FILE_CHANGE: &str = "item/fileChange/requestApproval";
const PERMISSIONS: &str = "item/permissions/requestApproval";
const USER_INPUT: &str = "item/tool/requestUserInput";
const ELICITATION: &str = "mcpServer/elicitation/request";

/// Fields of a request that say where it belongs and how it may be answered, not what is asked.
const ENVELOPE: [&str; 6] = [
    "availableDecisions",
    "itemId",
    "proposedExecpolicyAmendment",
    "startedAtMs",
    "threadId",
    "turnId",
];

/// What runs when a request arrives.
pub(super) struct RunningTurn<'a> {
    pub(super) thread: Option<&'a str>,
    pub(super) turn: Option<&'a str>,
    /// The commands and file changes that were announced.
    pub(super) calls: &'a AnnouncedCalls,
}

/// Reads a request; nothing if it is one that Coven does not answer. `changes` are those of the
/// file change that it is about, which the request itself leaves out.
pub(super) fn question(
    id: &RequestId,
    method: &str,
    params: JsonNode<'_>,
    changes: Option<&Value>,
    running: &RunningTurn<'_>,
) -> Option<ChannelQuestion> {
    let tool = match method {
        COMMAND => "shell".to_owned(),
        FILE_CHANGE => "file_change".to_owned(),
        PERMISSIONS => "permissions".to_owned(),
        USER_INPUT => "request_user_input".to_owned(),
        ELICITATION => name(params.get("serverName").str().unwrap_or("mcp")),
        _ => return None,
    };
    let fields = params.fields().filter(|(field, _)| !ENVELOPE.contains(field));
    let mut input: Map<String, Value> =
        fields.filter_map(|(field, value)| Some((field.to_owned(), value.to_value()?))).collect();
    if let Some(changes) = changes {
        input.insert("changes".to_owned(), changes.clone());
    }
    let command = params.get("command").str().filter(|_| method == COMMAND).map(unwrapped);
    let questions = match method {
        USER_INPUT => params.get("questions").items().filter_map(asked).collect(),
        ELICITATION => properties(params.get("requestedSchema")),
        _ => Vec::new(),
    };
    let words = [params.get("reason").str(), params.get("message").str(), command.as_deref()];
    let first = questions.first().map(|question: &AskedQuestion| question.text.as_str());
    let text = words.into_iter().flatten().chain(first).find(|text| !text.is_empty());
    let kind = match method {
        USER_INPUT | ELICITATION => AwaitingKind::Question,
        _ => AwaitingKind::Approval,
    };
    let doubts = doubts(method, params, command.as_deref(), running);
    Some(ChannelQuestion {
        channel: ChannelKind::CodexAppServer,
        request: id.clone(),
        message: method.to_owned(),
        kind,
        tool,
        text: visible_line(text.unwrap_or(method)),
        command,
        input: input.into(),
        call: short_id(params.get("itemId")),
        by: None,
        options: options(method, params),
        questions,
        doubts,
        place: 0,
        known_digest: KnownDigest::default(),
    })
}

/// What does not go with our conversation, or with the call that was announced. A thread that the
/// agent runs beside ours works somewhere else, on something else.
fn doubts(
    method: &str,
    params: JsonNode<'_>,
    command: Option<&str>,
    running: &RunningTurn<'_>,
) -> Vec<String> {
    let is_other = |name: &str, ours: Option<&str>| {
        let asks = params.get(name);
        asks.exists() && ours.is_some() && asks.str() != ours
    };
    let told_of = |name: &str| told(name, &params.get(name).to_value().unwrap_or_default());
    let mut found = Vec::new();
    for (name, ours) in [("threadId", running.thread), ("turnId", running.turn)] {
        if is_other(name, ours) {
            found.push(told_of(name));
        }
    }
    if matches!(method, COMMAND | FILE_CHANGE) {
        let item = params.get("itemId");
        found.extend(running.calls.disagreements("itemId", item, None, params));
    }
    if let Some(command) = command {
        let whole = letters(command);
        let mut actions = params.get("commandActions").items();
        let is_part = |action: JsonNode<'_>| {
            action.get("command").str().is_none_or(|part| whole.contains(&letters(part)))
        };
        if actions.any(|action| !is_part(action)) {
            found.push(told_of("commandActions"));
        }
    }
    found
}

/// A command without blanks and quotes, which Codex writes in its own way when it says what a
/// command means.
fn letters(command: &str) -> String {
    command.chars().filter(|c| !c.is_whitespace() && !matches!(c, '\'' | '"' | '\\')).collect()
}

/// What is offered, and `decline`, which works though it is not.
fn options(method: &str, params: JsonNode<'_>) -> Vec<AnswerOption> {
    if matches!(method, USER_INPUT | ELICITATION) {
        return Vec::new();
    }
    let option = |id: &str| AnswerOption {
        id: id.to_owned(),
        label: id.to_owned(),
        effect: match id {
            "accept" => OptionEffect::AllowOnce,
            "decline" => OptionEffect::RejectOnce,
            "cancel" => OptionEffect::Unknown,
            _ => OptionEffect::Lasting,
        },
    };
    let offered = params.get("availableDecisions");
    let mut options: Vec<AnswerOption> = if offered.exists() {
        // An offer with content would change the rules of Codex.
        offered.items().filter_map(JsonNode::str).map(option).collect()
    } else {
        vec![option("accept")]
    };
    if options.iter().all(|option| option.id != "decline") {
        options.push(option("decline"));
    }
    options
}

fn asked(question: JsonNode<'_>) -> Option<AskedQuestion> {
    let id = question.get("id").str()?.to_owned();
    let text = question.get("question").str()?.to_owned();
    let secret = question.get("isSecret").bool() == Some(true);
    let asked = AskedQuestion::with_labels(id, text, question);
    let closed = question.get("isOther").bool() == Some(false) && !asked.choices.is_empty();
    Some(AskedQuestion { multiple: false, secret, closed, ..asked })
}

fn properties(schema: JsonNode<'_>) -> Vec<AskedQuestion> {
    let read = |(id, property): (&str, JsonNode<'_>)| {
        let text = property.get("description").str().or(property.get("title").str());
        AskedQuestion {
            id: id.to_owned(),
            text: text.unwrap_or(id).to_owned(),
            header: None,
            choices: property
                .get("enum")
                .items()
                .filter_map(JsonNode::str)
                .map(str::to_owned)
                .collect(),
            descriptions: Vec::new(),
            multiple: false,
            secret: false,
            closed: property.get("enum").exists(),
        }
    };
    schema.get("properties").fields().map(read).collect()
}

pub(super) fn answer(
    question: &ChannelQuestion,
    decision: &ChannelDecision,
) -> Result<Value, ChannelRefusal> {
    let method = question.message.as_str();
    match (method, decision) {
        (COMMAND | FILE_CHANGE, ChannelDecision::Approve) => {
            if question.options.iter().all(|option| option.id != "accept") {
                return Err(ChannelRefusal::NotOffered { answer: "accept".to_owned() });
            }
            Ok(json!({"decision": "accept"}))
        }
        (COMMAND | FILE_CHANGE, ChannelDecision::Deny { .. }) => Ok(json!({"decision": "decline"})),
        (PERMISSIONS, ChannelDecision::Approve) => {
            let permissions = question.input.get("permissions").cloned().unwrap_or_default();
            Ok(json!({"permissions": permissions, "scope": "turn"}))
        }
        (PERMISSIONS, ChannelDecision::Deny { .. }) => {
            Ok(json!({"permissions": {}, "scope": "turn"}))
        }
        (ELICITATION, ChannelDecision::Deny { .. }) => Ok(json!({"action": "decline"})),
        (ELICITATION, ChannelDecision::Approve) if question.questions.is_empty() => {
            Ok(json!({"action": "accept", "content": {}}))
        }
        (ELICITATION, ChannelDecision::Choose { answers }) => {
            let text = |values: &[String]| Some(values.join(", ").into());
            Ok(json!({"action": "accept", "content": question.answered(answers, text)?}))
        }
        (USER_INPUT, ChannelDecision::Deny { .. }) => Ok(json!({"answers": {}})),
        (USER_INPUT, ChannelDecision::Choose { answers }) => {
            let list = |values: &[String]| Some(json!({ "answers": values }));
            Ok(json!({"answers": question.answered(answers, list)?}))
        }
        (_, ChannelDecision::Approve) => {
            let asked = question.questions.first().map_or(&question.text, |asked| &asked.text);
            Err(ChannelRefusal::MissingAnswer { question: asked.clone() })
        }
        (_, ChannelDecision::Choose { .. }) => {
            Err(ChannelRefusal::NotOffered { answer: "an answer in words".to_owned() })
        }
        (_, ChannelDecision::Deny { .. }) => {
            Err(ChannelRefusal::NotOffered { answer: "a denial".to_owned() })
        }
    }
}

/// What was answered, from the result that was written.
pub(super) fn written_answer(result: JsonNode<'_>) -> WrittenAnswer<'_> {
    let is_empty = |node: JsonNode<'_>| node.fields().next().is_none();
    let (answers, permissions) = (result.get("answers"), result.get("permissions"));
    match result.get("decision").str().or(result.get("action").str()) {
        Some("accept") if !is_empty(result.get("content")) => {
            WrittenAnswer::Answers(result.get("content"))
        }
        Some("accept") => WrittenAnswer::Approved,
        Some("cancel") => WrittenAnswer::Cancelled,
        None if answers.exists() && !is_empty(answers) => WrittenAnswer::Answers(answers),
        None if permissions.exists() && !is_empty(permissions) => WrittenAnswer::Approved,
        Some(_) | None => WrittenAnswer::Denied { text: None },
    }
}

/// The shells whose script is what a command means. What each of them reads differently is for the
/// policy to find.
const SHELLS: [&str; 4] = ["bash", "dash", "sh", "zsh"];

/// The folders in which a shell is the one that its name says.
const SHELL_FOLDERS: [&str; 4] = ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

/// The script in `bash -lc 'script'`, which is how Codex runs every command; anything else as it
/// is. What Codex itself says the command means (`commandActions`) leaves out parts of a pipe.
fn unwrapped(command: &str) -> String {
    let mut parts = command.splitn(3, ' ');
    let (shell, flag, script) = (parts.next(), parts.next(), parts.next());
    let script = script.filter(|_| {
        shell.is_some_and(is_shell) && flag.is_some_and(|flag| matches!(flag, "-lc" | "-c"))
    });
    script.and_then(unquoted).unwrap_or_else(|| command.to_owned())
}

/// Whether this is a shell of the system. A program elsewhere may have the name of one.
fn is_shell(path: &str) -> bool {
    match path.rsplit_once('/') {
        None => SHELLS.contains(&path),
        Some((folder, name)) => SHELL_FOLDERS.contains(&folder) && SHELLS.contains(&name),
    }
}

/// The text of one word of a shell; nothing if it is not exactly one word, or if a shell would
/// change it.
fn unquoted(word: &str) -> Option<String> {
    let mut text = String::new();
    let mut quote = None;
    let mut letters = word.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if letter == open => quote = None,
            (Some('\''), letter) => text.push(letter),
            (Some(_), '$' | '`') => return None,
            (Some(_), '\\') => match letters.next()? {
                escaped @ ('$' | '`' | '"' | '\\') => text.push(escaped),
                other => text.extend(['\\', other]),
            },
            (Some(_), letter) => text.push(letter),
            (None, '\\') => text.push(letters.next()?),
            (None, letter) if letter.is_alphanumeric() || "-_./:=@%+,".contains(letter) => {
                text.push(letter);
            }
            (None, _) => return None,
        }
    }
    quote.is_none().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::unwrapped;

    #[test]
    fn the_command_is_what_the_shell_is_given_and_only_if_that_is_certain() {
        for (command, expected) in [
            ("/bin/bash -lc 'touch a && echo b'", "touch a && echo b"),
            ("bash -lc ls", "ls"),
            ("/usr/local/bin/bash -lc ls", "ls"),
            ("/opt/homebrew/bin/zsh -lc ls", "ls"),
            (r#"/bin/zsh -lc "echo 'it'""#, "echo 'it'"),
            (r"/bin/sh -c 'a'\''b'", "a'b"),
            (r#"bash -lc "echo \"x\" \$HOME""#, "echo \"x\" $HOME"),
        ] {
            assert_eq!(unwrapped(command), expected);
        }
        for kept in [
            "ls -l",
            "bash -lc 'a' b",
            "bash -lc \"echo $HOME\"",
            "bash -lc 'open",
            "bash -lc a;b",
            "python -c 'x'",
            "./bash -lc ls",
            "/tmp/evil/bash -lc ls",
            "bin/bash -lc ls",
            "/bin/../tmp/bash -lc ls",
            "//bin/bash -lc ls",
            "../bin/sh -c ls",
            "fish -c ls",
            "bash",
        ] {
            assert_eq!(unwrapped(kept), kept);
        }
    }
}
