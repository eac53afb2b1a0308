//! What an agent has said of a call before it asks about it. Its request need not say it again, and
//! what it does is the call: whatever was said in another way is told beside the request.

use coven_model::ContentDigest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::disagreement::{describes, reads_as_command, squeezed};
use crate::channel::extras::{FOLDER_FIELDS, is_nothing, told};
use crate::channel::question::canonical_json;
use crate::transcript::entry::visible_line;
use crate::transcript::json::JsonNode;

/// How many different things are remembered of one call. Agents say five or six.
const MAX_FACTS: usize = 32;

/// Longest text that is kept as it is; of a longer one the digest is compared.
const MAX_KEPT_BYTES: usize = 4096;

/// What an input says in words about what it does.
const WORDS: [&str; 5] = ["description", "reason", "timeout", "timeoutMs", "timeout_ms"];

/// The names of a shell's tool, which agents have as a title before they know the command.
const SHELL_TITLES: [&str; 4] = ["bash", "run_shell_command", "shell", "terminal"];

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct AnnouncedFacts {
    facts: Vec<AnnouncedFact>,
    /// There were more than are remembered.
    is_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AnnouncedFact {
    part: CallPart,
    /// What it is called, for people; in an input the name of the field.
    name: String,
    digest: ContentDigest,
    /// The text, where it is not long.
    text: Option<String>,
    told: String,
}

/// Where in a call something was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum CallPart {
    Title,
    Kind,
    /// A field of what the tool is given.
    Field,
    /// What the tool is given, where that has no fields.
    Input,
    /// A text that has to stand somewhere in what is asked.
    Text,
    /// A part of the content that is no text.
    Content,
}

/// A request as it is held against what was announced.
pub(super) struct AskedCall<'a> {
    pub(super) call: JsonNode<'a>,
    pub(super) input: &'a Value,
    pub(super) command: Option<&'a str>,
}

impl AnnouncedFacts {
    /// An announcement of a call, or news of it.
    pub(super) fn learn(&mut self, call: JsonNode<'_>) {
        self.add(CallPart::Title, "title", call.get("title"));
        self.add(CallPart::Kind, "kind", call.get("kind"));
        let raw = call.get("rawInput");
        if raw.is_object() {
            raw.fields().for_each(|(name, value)| self.add(CallPart::Field, name, value));
        } else {
            self.add(CallPart::Input, "rawInput", raw);
        }
        for location in call.get("locations").items() {
            self.add(CallPart::Text, "path", location.get("path"));
        }
        for part in call.get("content").items() {
            let text = part.get("content").get("text");
            if part.get("type").str() == Some("diff") {
                self.add(CallPart::Text, "path", part.get("path"));
                self.add(CallPart::Text, "content", part.get("oldText"));
                self.add(CallPart::Text, "content", part.get("newText"));
            } else if text.str().is_some() {
                self.add(CallPart::Text, "content", text);
            } else {
                self.add(CallPart::Content, "content", part);
            }
        }
    }

    fn add(&mut self, part: CallPart, name: &str, value: JsonNode<'_>) {
        let Some(value) = value.to_value().filter(|value| !is_nothing(value)) else { return };
        let digest = digest(&value);
        let is_known = |fact: &AnnouncedFact| {
            fact.part == part && fact.digest == digest && fact.name == visible_line(name)
        };
        if self.facts.iter().any(is_known) {
            return;
        }
        if self.facts.len() >= MAX_FACTS {
            self.is_cut = true;
            return;
        }
        let text = value.as_str().filter(|text| text.len() <= MAX_KEPT_BYTES).map(str::to_owned);
        let told = visible_line(&told(&format!("announced {name}"), &value));
        self.facts.push(AnnouncedFact { part, name: visible_line(name), digest, text, told });
    }

    /// Puts the folder of the call into what it is given, where the request does not say one: an
    /// agent may tell it once.
    pub(super) fn complete(&self, input: &mut Map<String, Value>) {
        for fact in self.facts.iter().filter(|fact| fact.is_folder()) {
            if let Some(folder) = &fact.text {
                input.entry(fact.name.clone()).or_insert_with(|| folder.as_str().into());
            }
        }
    }

    /// What was announced and is not asked in the same way.
    pub(super) fn differences(&self, asked: &AskedCall<'_>) -> Vec<String> {
        if self.facts.is_empty() {
            return Vec::new();
        }
        let mut texts = Vec::new();
        add_texts(asked.input, &mut texts);
        for name in ["title", "content", "locations"] {
            add_texts(&asked.call.get(name).to_value().unwrap_or_default(), &mut texts);
        }
        let differs = |fact: &&AnnouncedFact| !fact.is_asked(asked, &texts);
        let mut found: Vec<_> =
            self.facts.iter().filter(differs).map(|fact| fact.told.clone()).collect();
        if self.is_cut {
            found.push(format!("announced more: than the {MAX_FACTS} things that are compared"));
        }
        found
    }
}

impl AnnouncedFact {
    fn is_folder(&self) -> bool {
        self.part == CallPart::Field && FOLDER_FIELDS.contains(&self.name.as_str())
    }

    fn is_asked(&self, asked: &AskedCall<'_>, texts: &[ContentDigest]) -> bool {
        let text = self.text.as_deref();
        match self.part {
            CallPart::Title => text.is_some_and(|title| is_title_of(title, asked)),
            CallPart::Kind => text.is_some() && asked.call.get("kind").str() == text,
            CallPart::Input => digest(asked.input) == self.digest,
            CallPart::Text => texts.contains(&self.digest),
            CallPart::Content => {
                let mut parts = asked.call.get("content").items();
                parts.any(|part| digest(&part.to_value().unwrap_or_default()) == self.digest)
            }
            CallPart::Field => {
                let is_command = self.name == "command" && asked.command.is_some();
                WORDS.contains(&self.name.as_str())
                    || (is_command && text == asked.command)
                    || asked.input.get(&self.name).is_some_and(|given| digest(given) == self.digest)
            }
        }
    }
}

/// Whether a title that was announced can be that of what is asked: agents begin with the name of
/// the tool or with words.
fn is_title_of(title: &str, asked: &AskedCall<'_>) -> bool {
    let (shown, kind) = (squeezed(title), asked.call.get("kind"));
    let is_name = |name: &str| shown.eq_ignore_ascii_case(name);
    let repeats = asked.call.get("title").str().is_some_and(|title| squeezed(title) == shown);
    if repeats || kind.str().is_some_and(is_name) {
        return true;
    }
    let Some(command) = asked.command else {
        let is_word = shown.chars().all(|c| c.is_alphabetic() || c == '_');
        return is_word || (!reads_as_command(&shown) && !shown.contains(['/', '.']));
    };
    SHELL_TITLES.into_iter().any(is_name) || describes(title, command, asked.input, kind)
}

/// The digests of all texts in a value.
fn add_texts(value: &Value, texts: &mut Vec<ContentDigest>) {
    match value {
        Value::String(_) => texts.push(digest(value)),
        Value::Array(items) => items.iter().for_each(|item| add_texts(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| add_texts(field, texts)),
        _ => {}
    }
}

fn digest(value: &Value) -> ContentDigest {
    ContentDigest::of_bytes(canonical_json(value).as_bytes())
}
