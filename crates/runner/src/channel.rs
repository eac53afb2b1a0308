//! Agents that are spoken to in their own protocol: how one is started, found again, and what its
//! questions and answers are for everybody else.

use std::io;
use std::path::Path;

use coven_adapters::channel::{
    ChannelCodec, ChannelDecision, ChannelDirection, ChannelKind, ChannelOptions, ChannelPlan,
    ChannelQuestion, QuestionAnswer,
};
use coven_adapters::launch::ChannelLaunch;
use coven_folder::{Durability, OpenFolder, read_plain_file};
use coven_model::{AwaitingKind, InterventionChoice, JobOutcome, MenuEntry, TokenUsage};
use coven_runtime::domain::ExitStatus;
use coven_tape::{TapeEvent, TapeReader, TapeStream};
use serde::{Deserialize, Serialize};

use crate::actor::ChannelReader;
use crate::answer::{AnswerAction, AnswerError};
use crate::event::ScreenQuestion;
use crate::outcome;
use crate::redact::Redactor;
use crate::saved_channel::FoundState;
use crate::task::{AgentTask, OkCodes, TaskPlace};

/// The file of an attempt that says which protocol its process speaks.
const CHANNEL_FILE: &str = "channel.json";

/// More than any prompt is long.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The mode of the folder of an attempt: for its owner alone.
const PRIVATE_MODE: u32 = 0o700;

/// How many lines of what a tool is given a person is shown.
const MAX_INPUT_LINES: usize = 200;

/// How many bytes of a question a person is shown. It is recorded, and printed by every list of
/// questions.
const MAX_QUESTION_BYTES: usize = 128 << 10;

/// The protocol of a process, and what it is told without anybody deciding.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChannelSetup {
    kind: ChannelKind,
    options: ChannelOptions,
    cwd: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    previous: TokenUsage,
    /// Whether it goes on with a conversation, so that its program is known to speak.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    resumes: bool,
}

impl ChannelSetup {
    pub(crate) fn new(
        launch: &ChannelLaunch,
        task: &AgentTask,
        place: &TaskPlace,
        previous: TokenUsage,
    ) -> Self {
        Self {
            kind: launch.kind,
            options: launch.options.clone(),
            cwd: place.cwd.display().to_string(),
            resume: launch.resume.clone(),
            mode: launch.mode.clone(),
            model: launch.model.clone(),
            prompt: task.prompt.clone(),
            previous,
            resumes: task.resume.is_some(),
        }
    }

    /// Leaves it for the next process that follows the agent.
    pub(crate) fn save(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        let folder = OpenFolder::make_without_links(folder, PRIVATE_MODE)?;
        folder.replace(CHANNEL_FILE, &text, Durability::Cache).map_err(io::Error::from)
    }

    fn load(folder: &Path) -> Option<Self> {
        let text = read_plain_file(&folder.join(CHANNEL_FILE), MAX_FILE_BYTES).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(crate) fn kind(&self) -> ChannelKind {
        self.kind
    }

    pub(crate) fn reader(self) -> ChannelReader {
        let codec = ChannelCodec::new(self.kind, self.options).resumed_from(self.previous);
        let plan = ChannelPlan {
            cwd: Some(self.cwd),
            resume: self.resume,
            mode: self.mode,
            model: self.model,
            prompts: self.prompt.into_iter().collect(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        ChannelReader::new(codec, plan, self.resumes)
    }
}

/// An agent that was started with a protocol, with everything that was said until now.
pub struct FoundChannel {
    pub(crate) reader: ChannelReader,
    /// How much of its output is known; its pane must go on from there.
    pub offset: u64,
    kind: ChannelKind,
}

impl FoundChannel {
    /// The protocol of the agent of an attempt, folded from what was saved of it and from the rest
    /// of its tape; nothing if it has none.
    pub fn find(folder: &Path) -> Result<Option<Self>, coven_tape::Error> {
        let Some(setup) = ChannelSetup::load(folder) else { return Ok(None) };
        let kind = setup.kind;
        let mut found = Self { reader: setup.reader(), offset: 0, kind };
        let tape = TapeReader::open(folder)?;
        let mut known_until = None;
        if let Some(state) = FoundState::find(folder, &tape, kind)? {
            found.offset = state.offset;
            found.reader.restore(state.progress, state.slot);
            known_until = state.mark;
        }
        found.reader.misses(tape.range().start.saturating_sub(found.offset), found.offset > 0);
        for record in tape.records(found.offset) {
            let record = record?;
            let known = found.offset.saturating_sub(record.offset);
            found.offset = found.offset.max(record.end());
            match record.event {
                TapeEvent::Output { stream: TapeStream::Out, bytes } => {
                    let known = bytes.len().min(usize::try_from(known).unwrap_or(usize::MAX));
                    found.reader.replay(ChannelDirection::Out, &bytes[known..]);
                }
                TapeEvent::Input(bytes) if known_until.is_none() => {
                    found.reader.replay(ChannelDirection::In, &bytes);
                }
                TapeEvent::Mark(note) if known_until.as_ref() == Some(&note) => known_until = None,
                _ => {}
            }
        }
        Ok(Some(found))
    }

    pub fn kind(&self) -> ChannelKind {
        self.kind
    }

    /// The conversation that the agent named, and what this process used up in it; nothing if it
    /// never named one.
    pub fn conversation(&self) -> Option<(String, TokenUsage)> {
        self.reader.conversation()
    }

    /// Its outcome, if it refused to begin, for which its process was ended.
    pub fn into_refusal(self) -> Option<JobOutcome> {
        let is_refusal =
            |outcome: &JobOutcome| outcome.channel_refused.is_some() || outcome.resume_refused;
        self.reader.failed().filter(is_refusal)
    }

    /// How it ended, if its process is gone.
    pub fn into_outcome(self, exit: Option<ExitStatus>, ok: &OkCodes) -> JobOutcome {
        self.reader.into_outcome(outcome::ending(None, exit), ok)
    }
}

/// A codec for the protocol of the agent of an attempt, which has read nothing; none if the agent
/// was started without one.
pub fn channel_codec(folder: &Path) -> Option<ChannelCodec> {
    let setup = ChannelSetup::load(folder)?;
    Some(ChannelCodec::new(setup.kind, setup.options).resumed_from(setup.previous))
}

/// A question of a protocol, as every other question is told.
pub(crate) fn asked(
    question: &ChannelQuestion,
    folder: Option<&str>,
    redactor: &Redactor,
) -> ScreenQuestion {
    let mut action = question.action();
    action.tool = Some(tool(question));
    action.entries = entries(question);
    // A command with a secret in it is kept nowhere, and without it it is another command: no rule is
    // held against either.
    action.command.take_if(|command| redactor.clean(command) != *command);
    let extras = question.extras(folder);
    let (lines, is_whole) = lines(question, &extras);
    action.extras = extras.iter().map(|extra| redactor.clean(extra)).collect();
    action.truncated |= !is_whole;
    ScreenQuestion {
        kind: question.kind,
        rule: question.message.clone(),
        dialog: None,
        help: help(question),
        repeated: false,
        title: None,
        excerpt: lines.iter().map(|line| redactor.clean(line)).collect(),
        action,
        digest: question.digest(),
    }
}

/// The tool by the name that rules know it by, whichever agent asks.
fn tool(question: &ChannelQuestion) -> String {
    let name = question.tool.to_ascii_lowercase();
    if question.command.is_some() {
        "shell".to_owned()
    } else if ["write", "edit", "multiedit", "notebookedit", "filechange", "create"]
        .contains(&name.as_str())
    {
        "edit".to_owned()
    } else {
        question.tool.clone()
    }
}

/// What a person reads: what is asked, the command or what else the tool is given, the questions.
/// And whether that is all of it.
fn lines(question: &ChannelQuestion, extras: &[String]) -> (Vec<String>, bool) {
    let mut is_whole = true;
    let about = format!("{}: {}", question.tool, question.text);
    let mut lines = Vec::new();
    if let Some(command) = &question.command {
        lines.push(about);
        lines.extend(extras.iter().map(|extra| format!("  with {extra}")));
        lines.extend(command.lines().map(|line| format!("  $ {line}")));
    } else if question.questions.is_empty() {
        let input = serde_json::to_string_pretty(&question.input).unwrap_or_default();
        lines.extend(input.lines().take(MAX_INPUT_LINES).map(|line| format!("  {line}")));
        let more = input.lines().count().saturating_sub(MAX_INPUT_LINES);
        if more > 0 {
            is_whole = false;
            lines.push(format!("  … ({more} more lines)"));
        }
        // Where only one line is shown, that is the last.
        lines.push(about);
    } else if question.questions[0].text != question.text {
        lines.push(about);
    }
    for asked in &question.questions {
        lines.push(asked.text.clone());
        for (place, choice) in asked.choices.iter().enumerate() {
            let number = place + 1;
            let described = asked.descriptions.get(place).filter(|text| !text.is_empty());
            lines.push(match described {
                Some(description) => format!("  {number}. {choice}: {description}"),
                None => format!("  {number}. {choice}"),
            });
        }
    }
    match shortened(&mut lines) {
        0 => (lines, is_whole),
        omitted => {
            let about = lines.pop().unwrap_or_default();
            lines.push(format!("  … ({omitted} more bytes)"));
            lines.push(about);
            (lines, false)
        }
    }
}

/// Cuts lines behind as many bytes as are shown, but for the last, and gives how many were left out.
fn shortened(lines: &mut Vec<String>) -> usize {
    let total: usize = lines.iter().map(String::len).sum();
    if total <= MAX_QUESTION_BYTES {
        return 0;
    }
    let last = lines.pop().filter(|last| last.len() <= MAX_QUESTION_BYTES / 2);
    let mut room = MAX_QUESTION_BYTES - last.as_ref().map_or(0, String::len);
    for line in lines.iter_mut() {
        let end = (0..=room.min(line.len())).rev().find(|end| line.is_char_boundary(*end));
        line.truncate(end.unwrap_or(0));
        room -= line.len();
    }
    lines.retain(|line| !line.is_empty());
    lines.extend(last);
    total - lines.iter().map(String::len).sum::<usize>().min(total)
}

/// The choices of a single question.
fn entries(question: &ChannelQuestion) -> Vec<MenuEntry> {
    let [only] = question.questions.as_slice() else { return Vec::new() };
    let entry =
        |(place, label): (usize, &String)| MenuEntry::new((place + 1).to_string(), label.as_str());
    only.choices.iter().enumerate().map(entry).collect()
}

fn help(question: &ChannelQuestion) -> Option<String> {
    let count = question.questions.len();
    let lines = (count > 1).then(|| format!("answer with {count} lines, one for each question"));
    let several = question.questions.iter().any(|question| question.multiple);
    let several = several.then(|| "several choices stand between commas: 1, 3".to_owned());
    let only_denied = question.kind == AwaitingKind::Approval && !question.can_be_approved();
    let denied =
        only_denied.then(|| "the agent takes no approval of this once: deny it".to_owned());
    let help: Vec<String> = [lines, several, denied].into_iter().flatten().collect();
    (!help.is_empty()).then(|| help.join("; "))
}

/// What an answer means in the protocol.
pub(crate) fn decision(
    question: &ChannelQuestion,
    action: &AnswerAction,
) -> Result<ChannelDecision, AnswerError> {
    let is_approval = question.kind == AwaitingKind::Approval;
    match action {
        AnswerAction::Choose(InterventionChoice::Deny) => Ok(ChannelDecision::Deny { text: None }),
        AnswerAction::Choose(InterventionChoice::Approve | InterventionChoice::ApproveAlways)
            if is_approval =>
        {
            Ok(ChannelDecision::Approve)
        }
        AnswerAction::Choose(choice) => Err(AnswerError::Unknown(*choice)),
        AnswerAction::Text(text) | AnswerAction::Secret(text) if is_approval => {
            Ok(ChannelDecision::Deny { text: Some(text.clone()) })
        }
        AnswerAction::Text(text)
        | AnswerAction::Secret(text)
        | AnswerAction::Entry { text: Some(text), .. } => Ok(answered(question, text)),
        AnswerAction::Entry { id, text: None } => {
            let entry = entries(question).into_iter().find(|entry| entry.id == *id);
            let entry = entry
                .ok_or_else(|| AnswerError::NotSelected { entry: id.clone(), pressed: false })?;
            Ok(chosen(question, &entry.label))
        }
        // Keys mean nothing without a terminal.
        AnswerAction::Keys(_) | AnswerAction::Exact(_) => {
            Err(AnswerError::Refused("the agent has no terminal to press keys on".to_owned()))
        }
    }
}

/// The answer to the only question of a request: one of its choices.
fn chosen(question: &ChannelQuestion, label: &str) -> ChannelDecision {
    let answers = question
        .questions
        .iter()
        .take(1)
        .map(|asked| QuestionAnswer { question: asked.id.clone(), values: vec![label.to_owned()] });
    ChannelDecision::Choose { answers: answers.collect() }
}

/// The answers to all questions of a request: one line for each, or the whole text for the only one.
fn answered(question: &ChannelQuestion, text: &str) -> ChannelDecision {
    let mut lines: Vec<&str> = text.lines().collect();
    if question.questions.len() == 1 {
        lines = vec![text];
    }
    let answers = question.questions.iter().zip(lines);
    let answers = answers.map(|(asked, line)| QuestionAnswer {
        question: asked.id.clone(),
        values: asked.values(line),
    });
    ChannelDecision::Choose { answers: answers.collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use coven_adapters::channel::{AskedQuestion, RequestId};

    fn asks(input: serde_json::Value, command: Option<&str>) -> ChannelQuestion {
        ChannelQuestion {
            channel: ChannelKind::ClaudeStdio,
            request: RequestId::Number(1),
            message: "can_use_tool".to_owned(),
            kind: AwaitingKind::Approval,
            tool: "Bash".to_owned(),
            input,
            command: command.map(str::to_owned),
            text: "Build it".to_owned(),
            call: None,
            options: Vec::new(),
            questions: Vec::new(),
        }
    }

    #[test]
    fn what_is_asked_beside_a_command_is_shown_above_it() {
        let asked = asks(json!({"command": "make", "cwd": "/etc"}), Some("make"));
        let (shown, is_whole) = lines(&asked, &asked.extras(Some("/work")));
        assert_eq!(shown, ["Bash: Build it", "  with cwd: /etc", "  $ make"]);
        assert!(is_whole);
    }

    #[test]
    fn a_question_that_is_too_long_to_be_shown_is_cut_and_says_so() {
        let command = "echo é\n".repeat(100_000);
        let (shown, is_whole) = lines(&asks(json!({}), Some(&command)), &[]);
        assert!(!is_whole);
        assert!(shown.iter().map(String::len).sum::<usize>() < MAX_QUESTION_BYTES + 100);
        assert!(shown[shown.len() - 2].contains("more bytes"), "{:?}", &shown[shown.len() - 2]);
        let one = asks(json!({"content": "x".repeat(1 << 20)}), None);
        let (shown, is_whole) = lines(&one, &[]);
        assert!(!is_whole && shown.last().is_some_and(|last| last == "Bash: Build it"));
        assert!(shown.iter().map(String::len).sum::<usize>() < MAX_QUESTION_BYTES + 100);
    }

    #[test]
    fn the_choices_of_a_question_have_their_numbers_and_what_they_mean() {
        let mut asked = asks(json!({}), None);
        asked.kind = AwaitingKind::Question;
        asked.text = "Which colour?".to_owned();
        asked.questions = vec![AskedQuestion {
            id: "q".to_owned(),
            text: "Which colour?".to_owned(),
            header: None,
            choices: vec!["Red".to_owned(), "Blue".to_owned()],
            descriptions: vec!["warm".to_owned(), String::new()],
            multiple: true,
            secret: false,
        }];
        let (shown, _) = lines(&asked, &[]);
        assert_eq!(shown, ["Which colour?", "  1. Red: warm", "  2. Blue"]);
        assert!(help(&asked).is_some_and(|help| help.contains("between commas")));
        let both = AnswerAction::Text("2, 1".to_owned());
        let Ok(ChannelDecision::Choose { answers }) = decision(&asked, &both) else {
            panic!("it is no answer")
        };
        assert_eq!(answers[0].values, ["Blue", "Red"]);
    }
}
