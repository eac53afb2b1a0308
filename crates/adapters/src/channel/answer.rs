//! What was answered to a question, as people read it in the transcript: from the message that was
//! written to the agent, whoever wrote it.

use super::question::{ChannelQuestion, OptionEffect};
use crate::transcript::json::JsonNode;

/// An answer, as far as its protocol says.
pub(super) enum WrittenAnswer<'a> {
    Approved,
    Denied {
        /// The reason that the agent was given with it.
        text: Option<&'a str>,
    },
    /// The question was called off, with its turn.
    Cancelled,
    /// It has the answers to the questions of the request, by their keys.
    Answers(JsonNode<'a>),
    /// The option with this id was chosen, and these are the answers, where there are any.
    Option {
        id: &'a str,
        answers: JsonNode<'a>,
    },
    /// It could not be answered.
    Refused,
}

impl WrittenAnswer<'_> {
    pub(super) fn words(&self, question: &ChannelQuestion) -> String {
        match self {
            Self::Approved => "approved".to_owned(),
            Self::Denied { text: None } => "denied".to_owned(),
            Self::Denied { text: Some(text) } => format!("denied: {text}"),
            Self::Cancelled => "cancelled".to_owned(),
            Self::Refused => "refused".to_owned(),
            Self::Answers(answers) => answered(question, *answers),
            Self::Option { answers, .. } if !question.questions.is_empty() && answers.exists() => {
                answered(question, *answers)
            }
            Self::Option { id, .. } => {
                let option = question.options.iter().find(|option| option.id == *id);
                match option.map(|option| (option.effect, option.label.as_str())) {
                    Some((OptionEffect::AllowOnce, _)) => "approved".to_owned(),
                    Some((OptionEffect::RejectOnce, _)) => "denied".to_owned(),
                    Some((_, label)) => format!("answered: {label}"),
                    None => format!("answered: {id}"),
                }
            }
        }
    }
}

/// The answers: alone to an only question, else each with what it answers. What must not be
/// recorded is not shown either.
fn answered(question: &ChannelQuestion, answers: JsonNode<'_>) -> String {
    let answer = |asked: &super::AskedQuestion| {
        if asked.secret {
            return "(a secret)".to_owned();
        }
        let given = answers.get(&asked.id);
        // Codex has a list for each question.
        let list = given.get("answers");
        let mut listed = list.items().filter_map(JsonNode::str).peekable();
        if listed.peek().is_some() {
            return listed.collect::<Vec<_>>().join(", ");
        }
        given.str().map_or_else(|| given.readable_text(), str::to_owned)
    };
    match question.questions.as_slice() {
        [] => "answered".to_owned(),
        [only] => format!("answered: {}", answer(only)),
        all => {
            let lines = all.iter().map(|asked| format!("\n{}: {}", asked.text, answer(asked)));
            format!("answered:{}", lines.collect::<String>())
        }
    }
}
