//! What a call that is asked about says beside what it is given. An approval is one of the call as a
//! whole, and rules see its command or its tool alone.

use serde_json::Value;

use crate::channel::extras::told;
use crate::transcript::json::JsonNode;

/// How a call describes itself whose command stands in its title alone: Gemini's, in the folder in
/// which it works.
const IN_OWN_FOLDER: &str = "[current working directory ";

/// What does not go with the input of a call, or with a command in it.
pub(super) fn disagreements(call: JsonNode<'_>, input: &Value, is_command: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut tell = |name: &str, node: JsonNode<'_>| {
        found.push(told(name, &node.to_value().unwrap_or_default()));
    };
    let (kind, raw) = (call.get("kind"), call.get("rawInput"));
    if let Some(command) = input.get("command").and_then(Value::as_str)
        && let Some(title) = call.get("title").str()
        && !describes(title, command, input, kind)
    {
        tell("title", call.get("title"));
    }
    if is_command && kind.exists() && kind.str() != Some("execute") {
        tell("kind", kind);
    }
    if raw.exists() && !raw.is_object() {
        tell("rawInput", raw);
    }
    let has_words_alone = !raw.exists() || (raw.is_object() && raw.fields().next().is_none());
    for part in call.get("content").items() {
        let text = part.get("content").get("text").str();
        let is_text = part.get("type").str().is_none_or(|kind| kind == "content") && text.is_some();
        let says_folder = text.is_some_and(|text| text.starts_with(IN_OWN_FOLDER));
        if is_command && (!is_text || (has_words_alone && !says_folder)) {
            tell("content", part);
        } else if part.get("type").str() == Some("diff") && !mentions(input, part.get("path")) {
            tell("path", part.get("path"));
        }
    }
    for location in call.get("locations").items() {
        if is_command || !mentions(input, location.get("path")) {
            tell("path", location.get("path"));
        }
    }
    found
}

/// Whether the title of a call can be that of its command. It is the command, whole or cut where it
/// says so, with or without what the input says about it; the words of the input about it; or words
/// that are no command. Of another command people would read one and rules would allow the other.
pub(super) fn describes(title: &str, command: &str, input: &Value, kind: JsonNode<'_>) -> bool {
    let (shown, command) = (squeezed(title), squeezed(command));
    let shown = shown.trim_matches('`').trim();
    let words = ["description", "reason"].map(|name| input.get(name).and_then(Value::as_str));
    let words: Vec<String> = words.into_iter().flatten().map(squeezed).collect();
    let is_cut = |end: &str| {
        let beginning = shown.strip_suffix(end);
        beginning.is_some_and(|beginning| command.starts_with(beginning.trim_end()))
    };
    let has_words = |words: &String| shown == words || shown == format!("{command} ({words})");
    shown.is_empty()
        || shown == command
        || is_cut("\u{2026}")
        || is_cut("...")
        || words.iter().any(has_words)
        || kind.str().is_some_and(|kind| shown.eq_ignore_ascii_case(kind))
        || !reads_as_command(shown)
}

/// Whether a line could be taken for a command: programs are called by small letters or by paths,
/// and sentences begin with a capital letter and have no signs that a shell acts on.
pub(super) fn reads_as_command(line: &str) -> bool {
    let is_sign = |sign: char| "|&;<>$`\\(){}[]*?=\"'~#!".contains(sign);
    let is_word = |first: char| first.is_alphabetic() && !first.is_ascii_lowercase();
    !line.starts_with(is_word) || line.contains(is_sign)
}

/// A text with one blank wherever it has some.
pub(super) fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a path stands in what a call is given, however deep.
fn mentions(input: &Value, path: JsonNode<'_>) -> bool {
    match input {
        Value::String(text) => path.str() == Some(text),
        Value::Array(items) => items.iter().any(|item| mentions(item, path)),
        Value::Object(fields) => fields.values().any(|value| mentions(value, path)),
        _ => false,
    }
}
