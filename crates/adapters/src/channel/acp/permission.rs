//! What an agent asks over ACP, and which of its options is the answer.

use coven_model::AwaitingKind;
use serde_json::{Value, json};

use super::calls::input;
use super::disagreement::disagreements;
use super::facts::{AnnouncedFacts, AskedCall};
use crate::channel::answer::WrittenAnswer;
use crate::channel::extras::unknown_members;
use crate::channel::order::{ChannelDecision, ChannelRefusal};
use crate::channel::question::{
    AnswerOption, AskedQuestion, ChannelQuestion, KnownDigest, OptionEffect, RequestId,
};
use crate::channel::{ChannelKind, ChannelOptions};
use crate::transcript::entry::{name, visible_line};
use crate::transcript::json::JsonNode;

pub(super) const METHOD: &str = "session/request_permission";

/// What requests have, their calls, and what they say of themselves for their own clients.
const PARAMS: [&str; 3] = ["options", "sessionId", "toolCall"];
const CALL: [&str; 8] =
    ["_meta", "content", "kind", "locations", "rawInput", "status", "title", "toolCallId"];
const META: [&str; 6] =
    ["claudeCode", "phase", "provenance", "qwenInteractionKind", "timestamp", "toolName"];

/// What is known of a call before it is asked about.
pub(super) struct AnnouncedCall<'a> {
    pub(super) tool: String,
    /// What was said of it.
    pub(super) said: Option<&'a AnnouncedFacts>,
    /// What the request has other than its conversation.
    pub(super) doubts: Vec<String>,
}

pub(super) fn question(
    id: &RequestId,
    params: JsonNode<'_>,
    announced: AnnouncedCall<'_>,
) -> ChannelQuestion {
    let AnnouncedCall { tool, said, mut doubts } = announced;
    let call = params.get("toolCall");
    let mut input = input(call);
    // Gemini says the folder of a command in words alone.
    if let (Some(folder), Value::Object(fields)) = (folder(call), &mut input) {
        fields.entry("cwd").or_insert_with(|| folder.into());
    }
    if let (Some(said), Value::Object(fields)) = (said, &mut input) {
        said.complete(fields);
    }
    let title = call.get("title").str();
    let command = input.get("command").and_then(Value::as_str);
    // Gemini tells the command nowhere else.
    let shown = title.filter(|_| call.get("kind").str() == Some("execute"));
    let command = command.or(shown).map(str::to_owned);
    let questions = questions(call);
    let first = questions.first().map(|question| question.text.as_str());
    let kind = match first {
        Some(_) => AwaitingKind::Question,
        None => AwaitingKind::Approval,
    };
    doubts.extend(disagreements(call, &input, command.is_some()));
    doubts.extend(unknown_members(params, &PARAMS));
    doubts.extend(unknown_members(call, &CALL));
    doubts.extend(unknown_members(call.get("_meta"), &META));
    let asked = AskedCall { call, input: &input, command: command.as_deref() };
    doubts.extend(said.into_iter().flat_map(|said| said.differences(&asked)));
    ChannelQuestion {
        channel: ChannelKind::Acp,
        request: id.clone(),
        message: METHOD.to_owned(),
        kind,
        tool,
        text: visible_line(first.or(title).unwrap_or("the agent asks for permission")),
        command,
        input,
        call: call.get("toolCallId").str().map(name),
        by: None,
        options: params.get("options").items().filter_map(option).collect(),
        questions,
        doubts,
        place: 0,
        known_digest: KnownDigest::default(),
    }
}

/// The folder that a call names in its words: `[current working directory /a/b] (Make c)`.
fn folder<'a>(call: JsonNode<'a>) -> Option<&'a str> {
    let text = |part: JsonNode<'a>| part.get("content").get("text").str();
    let text = call.get("content").items().find_map(text)?;
    let (folder, _) = text.strip_prefix("[current working directory ")?.split_once(']')?;
    Some(folder)
}

/// ACP has no questions with answers. Qwen asks them as a permission, and takes the answers beside
/// the outcome, by their places.
fn questions(call: JsonNode<'_>) -> Vec<AskedQuestion> {
    if call.get("_meta").get("qwenInteractionKind").str() != Some("user_question") {
        return Vec::new();
    }
    let read = |(place, question): (usize, JsonNode<'_>)| {
        let text = question.get("question").str().unwrap_or_default().to_owned();
        AskedQuestion::with_labels(place.to_string(), text, question)
    };
    call.get("rawInput").get("questions").items().enumerate().map(read).collect()
}

/// What is answered: an option, and the answers to the questions of the request.
pub(super) fn answer(
    question: &ChannelQuestion,
    decision: &ChannelDecision,
    options: &ChannelOptions,
) -> Result<Value, ChannelRefusal> {
    let selected = |option: &str| json!({"outcome": {"outcome": "selected", "optionId": option}});
    let first = question.questions.first();
    match (decision, first) {
        (ChannelDecision::Approve, Some(first)) => {
            Err(ChannelRefusal::MissingAnswer { question: first.text.clone() })
        }
        (ChannelDecision::Choose { answers }, Some(_)) => {
            let mut said = selected(choose(question, &ChannelDecision::Approve, options)?);
            said["answers"] = question.answered_in_text(answers)?.into();
            Ok(said)
        }
        _ => match choose(question, decision, options) {
            // Nothing that was offered is a no. Without an answer the agent would wait for ever.
            Err(ChannelRefusal::NotOffered { .. })
                if matches!(decision, ChannelDecision::Deny { .. }) =>
            {
                Ok(json!({"outcome": {"outcome": "cancelled"}}))
            }
            chosen => chosen.map(selected),
        },
    }
}

/// What was answered, from the result that was written.
pub(super) fn written_answer(result: JsonNode<'_>) -> WrittenAnswer<'_> {
    match result.get("outcome").get("optionId").str() {
        Some(id) => WrittenAnswer::Option { id, answers: result.get("answers") },
        None => WrittenAnswer::Cancelled,
    }
}

fn option(option: JsonNode<'_>) -> Option<AnswerOption> {
    let id = option.get("optionId").str()?;
    let effect = match option.get("kind").str() {
        // Qwen offers `proceed_once_and_switch_to_default` as one that allows once.
        _ if id.contains("switch") => OptionEffect::Lasting,
        Some("allow_once") => OptionEffect::AllowOnce,
        Some("reject_once") => OptionEffect::RejectOnce,
        Some("allow_always" | "reject_always") => OptionEffect::Lasting,
        _ => OptionEffect::Unknown,
    };
    let label = visible_line(option.get("name").str().unwrap_or(id));
    Some(AnswerOption { id: id.to_owned(), label, effect })
}

/// The id of the option that is the answer: the adapter's own if it is offered, else the first
/// that has this effect once. What an option says that it does counts over what its id is known for,
/// and one that is doubtful is never the answer.
fn choose<'a>(
    question: &'a ChannelQuestion,
    decision: &ChannelDecision,
    options: &ChannelOptions,
) -> Result<&'a str, ChannelRefusal> {
    let (wanted, effect, answer) = match decision {
        ChannelDecision::Approve => (&options.approve, OptionEffect::AllowOnce, "an approval"),
        ChannelDecision::Deny { .. } => (&options.deny, OptionEffect::RejectOnce, "a denial"),
        ChannelDecision::Choose { answers } => {
            let mut values = answers.iter().flat_map(|answer| &answer.values);
            let (Some(id), None) = (values.next(), values.next()) else {
                return Err(ChannelRefusal::MissingAnswer { question: question.text.clone() });
            };
            return named(question, id, options)?
                .ok_or_else(|| ChannelRefusal::NotOffered { answer: id.clone() });
        }
    };
    let own = match wanted {
        Some(id) => named(question, id, options),
        None => Ok(None),
    };
    if let Ok(Some(id)) = own {
        return Ok(id);
    }
    let not_offered = || ChannelRefusal::NotOffered { answer: answer.to_owned() };
    let mut fitting = question.options.iter().filter(|option| option.effect == effect);
    let certain = |option: &&AnswerOption| doubt(question, option, options).is_none();
    let approves = effect == OptionEffect::AllowOnce;
    match (fitting.clone().find(certain), own) {
        (_, Err(lasting @ ChannelRefusal::Lasting { .. })) if approves => Err(lasting),
        (Some(option), _) => Ok(&option.id),
        (None, own) if approves => {
            let doubtful = || fitting.find_map(|option| doubt(question, option, options));
            Err(own.err().or_else(doubtful).unwrap_or_else(not_offered))
        }
        (None, _) => Err(not_offered()),
    }
}

/// The option with this id, unless it would decide about later questions too or is doubtful.
fn named<'a>(
    question: &'a ChannelQuestion,
    id: &str,
    options: &ChannelOptions,
) -> Result<Option<&'a str>, ChannelRefusal> {
    let Some(option) = question.options.iter().find(|option| option.id == id) else {
        return Ok(None);
    };
    if let Some(doubt) = doubt(question, option, options) {
        return Err(doubt);
    }
    match option.effect {
        OptionEffect::Lasting => Err(ChannelRefusal::Lasting { option: option.id.clone() }),
        _ => Ok(Some(&option.id)),
    }
}

/// What speaks against choosing an option: there are two of its id, or it does the opposite of what
/// the adapter knows its id for.
fn doubt(
    question: &ChannelQuestion,
    option: &AnswerOption,
    options: &ChannelOptions,
) -> Option<ChannelRefusal> {
    let is = |known: &Option<String>| known.as_ref() == Some(&option.id);
    let contradicts = match option.effect {
        OptionEffect::AllowOnce => is(&options.deny),
        OptionEffect::RejectOnce => is(&options.approve),
        OptionEffect::Lasting | OptionEffect::Unknown => false,
    };
    let same = question.options.iter().filter(|other| other.id == option.id).count();
    let why = if same > 1 {
        "the agent offers two of this id"
    } else if contradicts {
        "the agent says that it does the opposite of what its adapter knows it for"
    } else {
        return None;
    };
    Some(ChannelRefusal::Doubtful { option: option.label.clone(), why: why.to_owned() })
}
