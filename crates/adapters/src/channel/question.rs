//! What an agent asks over a channel, whole and exact.

use std::fmt;
use std::sync::OnceLock;

use coven_model::{AskedAction, AwaitingKind, ContentDigest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ChannelKind;
use super::order::{ChannelRefusal, QuestionAnswer};
use crate::transcript::json::JsonNode;

/// Longest id of anything that is remembered; a request with a longer one gets an error. No CLI uses more than 64 characters.
const MAX_ID_BYTES: usize = 256;

/// How many commas a label may have to be found among others, which bounds the time that takes.
const MAX_LABEL_PARTS: usize = 16;

/// The id of something that is remembered. Ids come from outside, and what is remembered is
/// bounded.
pub(super) fn short_id(node: JsonNode<'_>) -> Option<String> {
    node.str().filter(|id| id.len() <= MAX_ID_BYTES).map(str::to_owned)
}

/// The id that the asking side gave a request. A number and the same digits as text are two ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    Number(i64),
    Text(String),
    /// The JSON of any other id as the agent wrote it, such as a number that is too large, which is
    /// only given back.
    Other {
        json: String,
    },
}

impl RequestId {
    pub(super) fn read(node: JsonNode<'_>) -> Option<Self> {
        // The agent waits for an answer under exactly this id, if only for an error.
        if let Some(json) = node.exact() {
            return Some(Self::Other { json: json.to_owned() });
        }
        if let Some(text) = node.str() {
            return Some(Self::Text(text.to_owned()));
        }
        match node.to_value()? {
            Value::Number(number) if number.is_i64() => number.as_i64().map(Self::Number),
            // Some write `null` where they mean none.
            Value::Null => None,
            other => Some(Self::Other { json: other.to_string() }),
        }
    }

    /// Whether it is longer than what is remembered, told and recorded of a question.
    pub(super) fn is_too_long(&self) -> bool {
        self.bytes() > MAX_ID_BYTES
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Number(_) => size_of::<i64>(),
            Self::Text(text) => text.len(),
            Self::Other { json } => json.len(),
        }
    }

    /// The id as it stands in a message.
    pub(super) fn json(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => Value::from(text.as_str()).to_string(),
            Self::Other { json } => json.clone(),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
            Self::Other { json } => json.fmt(formatter),
        }
    }
}

/// Something an agent waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChannelQuestion {
    pub channel: ChannelKind,
    pub request: RequestId,
    /// The method or subtype of the message that asks.
    pub message: String,
    /// [`AwaitingKind::Approval`], or [`AwaitingKind::Question`] where an answer has content.
    pub kind: AwaitingKind,
    /// The tool, as the agent calls it.
    pub tool: String,
    /// What the tool is given: whole, however much it is.
    pub input: Value,
    /// The exact command, where the question is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What is asked, in the agent's words. One line.
    pub text: String,
    /// Which call of a tool it is about, where told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The helper of the agent that asks, in words; nothing for the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The answers that the agent offers, in its order. Those that would make the agent stop
    /// asking are among them and are refused as answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<AnswerOption>,
    /// The questions to be answered in words or by choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<AskedQuestion>,
    /// What the request says beside its input that does not go with it, each as `NAME: VALUE`:
    /// another conversation, another call than was announced, paths. No rule has looked at these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// How many questions were asked before. An agent may use an id again, also for the same.
    #[serde(default)]
    pub place: u64,
    /// Its digest once it was needed: an input may have megabytes.
    #[serde(skip)]
    pub known_digest: KnownDigest,
}

/// A digest that is computed once, for a value that does not change any more.
#[derive(Clone, Debug, Default)]
pub struct KnownDigest(OnceLock<ContentDigest>);

/// It says nothing that the value does not.
impl PartialEq for KnownDigest {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// An answer that the agent offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerOption {
    pub id: String,
    pub label: String,
    pub effect: OptionEffect,
}

/// What choosing an option does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptionEffect {
    AllowOnce,
    RejectOnce,
    /// It changes what the agent asks about later: it would decide about questions that no
    /// person and no rule has seen.
    Lasting,
    Unknown,
}

/// One question among those of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskedQuestion {
    /// The key under which the answer is given.
    pub id: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The labels to choose from; none if the answer is free text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// What the choices mean, by their places; empty where that is not told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub descriptions: Vec<String>,
    /// Whether more than one may be chosen.
    #[serde(default)]
    pub multiple: bool,
    /// Whether the answer must not be recorded.
    #[serde(default)]
    pub secret: bool,
    /// Whether nothing but its choices is an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
}

impl AskedQuestion {
    /// A question whose options have labels. Whether its answer is a secret, it does not say.
    pub(super) fn with_labels(id: String, text: String, question: JsonNode<'_>) -> Self {
        let read = |choice: JsonNode<'_>| {
            let description = choice.get("description").str().unwrap_or_default();
            Some((choice.get("label").str()?.to_owned(), description.to_owned()))
        };
        let (choices, descriptions) =
            question.get("options").items().filter_map(read).unzip::<_, _, Vec<_>, Vec<_>>();
        Self {
            id,
            text,
            header: question.get("header").str().map(str::to_owned),
            choices,
            descriptions,
            multiple: question.get("multiSelect").bool() == Some(true),
            secret: false,
            closed: false,
        }
    }
}

impl AskedQuestion {
    /// The values that a person's line means: a choice by its label or its number, several of them
    /// between commas where more than one may be chosen, also beside words of the person's own;
    /// anything else as it was typed.
    pub fn values(&self, line: &str) -> Vec<String> {
        let line = line.trim();
        if let Some(choice) = self.choice(line) {
            return vec![choice.to_owned()];
        }
        let values = if self.multiple { self.several(line) } else { None };
        values.unwrap_or_else(|| vec![line.to_owned()])
    }

    /// A choice by its label or its number.
    fn choice(&self, text: &str) -> Option<&str> {
        let text = text.trim();
        let by_label = self.choices.iter().find(|choice| *choice == text);
        let by_number = || self.choices.get(text.parse::<usize>().ok()?.checked_sub(1)?);
        by_label.or_else(by_number).map(String::as_str)
    }

    /// What stands between the commas of a line; nothing if none of it is a choice.
    fn several(&self, line: &str) -> Option<Vec<String>> {
        let parts: Vec<&str> = line.split(',').collect();
        let (mut values, mut at, mut has_choice) = (Vec::new(), 0, false);
        while at < parts.len() {
            // A label may have commas of its own.
            let longest = parts.len().min(at + MAX_LABEL_PARTS);
            let found = (at + 1..=longest)
                .rev()
                .find_map(|end| self.choice(&parts[at..end].join(",")).map(|choice| (choice, end)));
            has_choice |= found.is_some();
            let (value, end) = found.unwrap_or((parts[at].trim(), at + 1));
            if !value.is_empty() && !values.iter().any(|known| known == value) {
                values.push(value.to_owned());
            }
            at = end;
        }
        has_choice.then_some(values)
    }
}

impl ChannelQuestion {
    /// What is answered to each of its questions, by their keys. Where the values of an answer make
    /// nothing, it is missing.
    pub(super) fn answered(
        &self,
        answers: &[QuestionAnswer],
        value: impl Fn(&[String]) -> Option<Value>,
    ) -> Result<Map<String, Value>, ChannelRefusal> {
        let answer = |asked: &AskedQuestion| {
            let given = answers.iter().find(|answer| answer.question == asked.id);
            let values = given.map_or(&[][..], |given| &given.values);
            let other = values.iter().find(|value| asked.closed && !asked.choices.contains(value));
            if let Some(other) = other {
                // What was typed for a secret is not repeated.
                let answer = if asked.secret { "this" } else { other };
                return Err(ChannelRefusal::NotOffered { answer: answer.to_owned() });
            }
            given
                .and_then(|answer| Some((asked.id.clone(), value(&answer.values)?)))
                .ok_or_else(|| ChannelRefusal::MissingAnswer { question: asked.text.clone() })
        };
        self.questions.iter().map(answer).collect()
    }

    /// The same where several labels are one text, as the dialogs of the programs write them.
    pub(super) fn answered_in_text(
        &self,
        answers: &[QuestionAnswer],
    ) -> Result<Map<String, Value>, ChannelRefusal> {
        self.answered(answers, |values| (!values.is_empty()).then(|| values.join(", ").into()))
    }

    /// Binds an answer to exactly this question: SHA-256 of the channel, the request id, the tool,
    /// the canonical JSON of its input, and its place among the questions.
    pub fn digest(&self) -> ContentDigest {
        let digest = || {
            let request = self.request.json();
            let input = canonical_json(&self.input);
            let parts = [request.as_str(), &self.tool, &input];
            ContentDigest::of_question(self.channel.as_str(), parts, self.place + 1)
        };
        self.known_digest.0.get_or_init(digest).clone()
    }

    /// Whether this is the same question, asked anew.
    pub(super) fn repeats(&self, known: &Self) -> bool {
        self.request == known.request && self.tool == known.tool && self.input == known.input
    }

    /// Whether there is an answer that approves. An agent over ACP offers the answers it takes, and
    /// Codex those to a request for a command.
    pub fn can_be_approved(&self) -> bool {
        let has_own_id = |option: &AnswerOption| {
            self.options.iter().filter(|other| other.id == option.id).count() == 1
        };
        let approves = |option: &AnswerOption| {
            let is_unknown = option.effect == OptionEffect::Unknown;
            (option.effect == OptionEffect::AllowOnce
                || (is_unknown && self.channel == ChannelKind::Acp))
                && has_own_id(option)
        };
        let takes_any = self.options.is_empty() && self.channel != ChannelKind::Acp;
        takes_any || self.options.iter().any(approves)
    }

    /// What the agent wants to do, as rules see it.
    pub fn action(&self) -> AskedAction {
        AskedAction {
            tool: Some(self.tool.clone()),
            command: self.command.clone(),
            secret: self.questions.iter().any(|question| question.secret),
            ..AskedAction::default()
        }
    }
}

/// JSON with the keys of every object in order, so that two ways to write one value are equal.
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (at, (name, value)) in fields.into_iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_canonical(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        simple => text.push_str(&simple.to_string()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(in crate::channel) fn question() -> ChannelQuestion {
        ChannelQuestion {
            channel: ChannelKind::Acp,
            request: RequestId::Number(0),
            message: "session/request_permission".to_owned(),
            kind: AwaitingKind::Approval,
            tool: "execute".to_owned(),
            input: json!({"command": "ls", "args": {"b": 1, "a": [true, null]}}),
            command: None,
            text: String::new(),
            call: None,
            by: None,
            options: Vec::new(),
            questions: Vec::new(),
            doubts: Vec::new(),
            place: 0,
            known_digest: KnownDigest::default(),
        }
    }

    #[test]
    fn the_digest_is_of_what_is_asked_and_not_of_how_it_is_written() {
        let one = question();
        let mut same = question();
        same.input =
            serde_json::from_str(r#"{ "args" : {"a":[true,null], "b":1}, "command" : "\u006cs" }"#)
                .unwrap();
        same.text = "other words for it".to_owned();
        assert_eq!(one.digest(), same.digest());
        let change: [fn(&mut ChannelQuestion); 6] = [
            |question| question.place = 1,
            |question| question.channel = ChannelKind::CodexAppServer,
            |question| question.request = RequestId::Number(1),
            |question| question.request = RequestId::Text("0".to_owned()),
            |question| question.tool.push('x'),
            |question| question.input["command"] = "ls ".into(),
        ];
        for change in change {
            let mut other = question();
            change(&mut other);
            assert_ne!(one.digest(), other.digest());
        }
    }

    #[test]
    fn a_line_means_a_choice_by_its_label_or_its_number_or_several_where_they_may_be() {
        let asked = |multiple| AskedQuestion {
            id: "q".to_owned(),
            text: "Which?".to_owned(),
            header: None,
            choices: ["Red", "2", "Dark, blue"].map(str::to_owned).to_vec(),
            descriptions: Vec::new(),
            multiple,
            secret: false,
            closed: false,
        };
        for (line, one) in
            [("Red", "Red"), ("1", "Red"), ("2", "2"), (" 3 ", "Dark, blue"), ("other", "other")]
        {
            assert_eq!(asked(false).values(line), [one]);
            assert_eq!(asked(true).values(line), [one]);
        }
        assert_eq!(asked(true).values("1, 3,1"), ["Red", "Dark, blue"]);
        assert_eq!(asked(false).values("1, 3"), ["1, 3"]);
        assert_eq!(asked(true).values("Dark, blue"), ["Dark, blue"]);
        assert_eq!(asked(true).values("Red, other"), ["Red", "other"]);
        assert_eq!(asked(true).values("1, other, 3"), ["Red", "other", "Dark, blue"]);
        assert_eq!(asked(true).values("2, Dark, blue, 1"), ["2", "Dark, blue", "Red"]);
        assert_eq!(asked(true).values("none, of these"), ["none, of these"]);
        assert_eq!(asked(true).values("0, 4"), ["0, 4"]);
    }

    #[test]
    fn canonical_json_has_its_keys_in_order_at_every_depth() {
        let value = json!({"b": [{"z": 1, "y": "\"\n"}], "a": {}, "": 1.5});
        assert_eq!(canonical_json(&value), r#"{"":1.5,"a":{},"b":[{"y":"\"\n","z":1}]}"#);
    }
}
