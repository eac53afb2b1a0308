//! Agents that are spoken to in their own protocol: how one is started, found again, and what its
//! questions and answers are for everybody else.

mod shown;

use std::io;
use std::path::Path;

use coven_adapters::channel::{
    ChannelCodec, ChannelDecision, ChannelDirection, ChannelKind, ChannelOptions, ChannelPlan,
    ChannelQuestion, QuestionAnswer,
};
use coven_adapters::launch::ChannelLaunch;
use coven_adapters::visible::visible;
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
use shown::{MAX_QUESTION_BYTES, RequestLines, ShownRequest};

/// The file of an attempt that says which protocol its process speaks.
const CHANNEL_FILE: &str = "channel.json";

/// More than any prompt is long.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The mode of the folder of an attempt: for its owner alone.
const PRIVATE_MODE: u32 = 0o700;

/// How many bytes of what is asked beside a command are kept of each.
const MAX_EXTRA_BYTES: usize = 4096;

/// How much is kept of what is asked beside a command.
const MAX_EXTRAS: usize = 64;

/// How much of a command stands in the title of a question. Lists have room for less.
const MAX_TITLE_CHARS: usize = 500;

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
    action.entries.iter_mut().for_each(|entry| entry.label = visible(&entry.label));
    // A command with a secret in it is kept nowhere, and without it it is another command: no rule is
    // held against either.
    // One that is longer than what is shown is not carried along either.
    action.command.take_if(|command| {
        command.len() > MAX_QUESTION_BYTES || redactor.clean(command) != *command
    });
    let extras = question.extras(folder);
    let ShownRequest { lines, omitted, title } = lines(question, &extras, redactor).shown();
    let told = |extra: &String| shortened_extra(&redactor.clean(extra));
    action.extras = extras.iter().take(MAX_EXTRAS).map(told).collect();
    // There is no screen on which the rest could be looked at, so that nothing approves it.
    action.truncated = omitted > 0;
    action.no_approval = is_only_denied(question).then(|| NO_APPROVAL.to_owned());
    ScreenQuestion {
        kind: question.kind,
        rule: question.message.clone(),
        dialog: None,
        help: help(question, omitted > 0),
        repeated: false,
        title: title.or_else(|| title_of_helper(question, redactor)),
        excerpt: lines,
        action,
        digest: question.digest(),
    }
}

/// The line by which people know what a helper of the agent asks.
fn title_of_helper(question: &ChannelQuestion, redactor: &Redactor) -> Option<String> {
    let by = question.by.as_ref()?;
    let asked = question.command.as_ref().unwrap_or(&question.text);
    // A secret that is cut is not found any more.
    let title = redactor.clean(&format!("{by}: {asked}"));
    Some(visible(&title.chars().take(MAX_TITLE_CHARS).collect::<String>()))
}

/// Why an answer is not given, whoever decided it: nothing is approved that is not shown whole.
pub(crate) fn not_seen(
    question: &ChannelQuestion,
    action: &AnswerAction,
    folder: Option<&str>,
    redactor: &Redactor,
) -> Option<AnswerError> {
    let approves = matches!(
        action,
        AnswerAction::Choose(InterventionChoice::Approve | InterventionChoice::ApproveAlways)
    );
    let is_cut = || lines(question, &question.extras(folder), redactor).shown().omitted > 0;
    let reason = "it is not shown whole, and so it is not approved";
    (approves && is_cut()).then(|| AnswerError::Refused(reason.to_owned()))
}

/// A request may have megabytes beside its command, of which only the beginning is looked at.
fn shortened_extra(extra: &str) -> String {
    let end = extra.floor_char_boundary(MAX_EXTRA_BYTES);
    let (kept, omitted) = (visible(&extra[..end]), extra.len() - end);
    if omitted == 0 { kept } else { format!("{kept} … ({omitted} more bytes)") }
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
fn lines(question: &ChannelQuestion, extras: &[String], redactor: &Redactor) -> RequestLines {
    let by = question.by.iter().map(|by| format!("{by} asks"));
    let about = by.chain([format!("{}: {}", question.tool, question.text)]).collect();
    let extras = extras.iter().map(|extra| format!("  with {extra}")).collect();
    let is_below = question.command.is_some() || !question.questions.is_empty();
    let mut lines = RequestLines { about, extras, is_below, asked: Vec::new() };
    if let Some(command) = &question.command {
        // A carriage return before a line feed is a part of the command too.
        lines.asked.extend(command.split_terminator('\n').map(|line| format!("  $ {line}")));
    } else if question.questions.is_empty() {
        let input = serde_json::to_string_pretty(&question.input).unwrap_or_default();
        lines.asked.extend(input.lines().map(|line| format!("  {line}")));
    } else if is_told_by_questions(question) {
        lines.about.truncate(usize::from(question.by.is_some()));
    }
    for asked in &question.questions {
        lines.asked.push(asked.text.clone());
        for (place, choice) in asked.choices.iter().enumerate() {
            let number = place + 1;
            let described = asked.descriptions.get(place).filter(|text| !text.is_empty());
            lines.asked.push(match described {
                Some(description) => format!("  {number}. {choice}: {description}"),
                None => format!("  {number}. {choice}"),
            });
        }
    }
    for line in lines.about.iter_mut().chain(&mut lines.extras).chain(&mut lines.asked) {
        *line = redactor.clean(line);
    }
    lines
}

/// Whether what a request says it is about is nothing but its first question.
fn is_told_by_questions(question: &ChannelQuestion) -> bool {
    let first = question.questions.first();
    first.is_some_and(|first| first.text.trim() == question.text.trim())
}

/// The choices of a single question.
fn entries(question: &ChannelQuestion) -> Vec<MenuEntry> {
    let [only] = question.questions.as_slice() else { return Vec::new() };
    let entry =
        |(place, label): (usize, &String)| MenuEntry::new((place + 1).to_string(), label.as_str());
    only.choices.iter().enumerate().map(entry).collect()
}

/// Why a request is not approved whose answers are all something else.
const NO_APPROVAL: &str = "the agent takes no approval of this once";

/// Whether a request has no answer that approves it.
fn is_only_denied(question: &ChannelQuestion) -> bool {
    question.kind == AwaitingKind::Approval && !question.can_be_approved()
}

fn help(question: &ChannelQuestion, is_cut: bool) -> Option<String> {
    let count = question.questions.len();
    let lines = (count > 1).then(|| format!("answer with {count} lines, one for each question"));
    let several = question.questions.iter().any(|question| question.multiple);
    let several = several.then(|| "several choices stand between commas: 1, 3".to_owned());
    let is_approval = question.kind == AwaitingKind::Approval;
    let cut = (is_approval && is_cut).then(|| {
        let limit = MAX_QUESTION_BYTES >> 10;
        format!(
            "it has more than the {limit} KiB that are shown, so it cannot be approved: deny it, \
             and say that it should be done in smaller parts"
        )
    });
    let only_denied = is_only_denied(question);
    let denied = only_denied.then(|| format!("{NO_APPROVAL}: deny it"));
    let help: Vec<String> = [lines, several, cut, denied].into_iter().flatten().collect();
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
    use coven_adapters::channel::{
        AnswerOption, AskedQuestion, KnownDigest, OptionEffect, RequestId,
    };

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
            by: None,
            options: Vec::new(),
            questions: Vec::new(),
            doubts: Vec::new(),
            place: 0,
            known_digest: KnownDigest::default(),
        }
    }

    #[test]
    fn what_is_asked_beside_a_command_is_shown_above_it() {
        let asked = asks(json!({"command": "make", "cwd": "/etc"}), Some("make"));
        let shown = super::asked(&asked, Some("/work"), &Redactor::default());
        assert_eq!(shown.excerpt, ["Bash: Build it", "  with cwd: /etc", "  $ make"]);
        assert!(!shown.action.truncated);
    }

    /// What a terminal would swallow is a part of what is approved.
    #[test]
    fn what_a_person_approves_has_a_sign_for_everything_that_would_not_show() {
        let command = "echo hi \u{1b}]0;touch HIDDEN;\u{7} # end\r\nls \u{1b}Pq;touch A\u{1b}\\";
        let mut question = asks(json!({"command": command}), Some(command));
        question.doubts = vec!["path: \u{1b}_/etc\u{1b}\\".to_owned()];
        let shown = asked(&question, None, &Redactor::default());
        let lines = [
            "Bash: Build it",
            "  with path: ␛_/etc␛\\",
            "  $ echo hi ␛]0;touch HIDDEN;␇ # end␍",
            "  $ ls ␛Pq;touch A␛\\",
        ];
        assert_eq!(shown.excerpt, lines);
        assert_eq!(shown.action.command.as_deref(), Some(command), "rules read what would run");
        let edit = asks(json!({"path": "a\u{9d}b", "text": "x\u{1b}]0;evil\nrm -rf /\u{7}"}), None);
        let shown = asked(&edit, None, &Redactor::default()).excerpt.join("\n");
        assert!(shown.contains("evil\\nrm -rf /") && !shown.contains('\u{9d}'), "{shown}");
    }

    #[test]
    fn what_a_helper_of_the_agent_asks_says_which_one_it_is() {
        let question = ChannelQuestion {
            by: Some("subagent reviewer (Look\u{202e} at it)".to_owned()),
            ..asks(json!({"command": "make"}), Some("make"))
        };
        let by = "subagent reviewer (Look\u{fffd} at it)";
        let shown = asked(&question, None, &Redactor::default());
        assert_eq!(shown.excerpt, [format!("{by} asks").as_str(), "Bash: Build it", "  $ make"]);
        assert_eq!(shown.title, Some(format!("{by}: make")));
        assert_eq!(shown.action.command.as_deref(), Some("make"), "rules are held against it");
        assert_eq!(shown.action.extras, [""; 0]);
        let own = asked(&ChannelQuestion { by: None, ..question }, None, &Redactor::default());
        assert_eq!((own.excerpt.len(), own.title), (2, None));
    }

    /// Nothing and no one approves what is not shown whole: there is no screen with the rest.
    #[test]
    fn what_is_too_long_to_be_shown_is_cut_says_so_and_can_only_be_denied() {
        let (lines, line) =
            ("echo é\n".repeat(30_000), format!("rm -rf /;{}", "y".repeat(1 << 20)));
        let long = "x".repeat(1 << 20);
        for (question, tool, begin) in [
            (asks(json!({"command": lines}), Some(&lines)), "shell", "  $ echo é"),
            (asks(json!({"command": line}), Some(&line)), "shell", "  $ rm -rf /;yy"),
            (asks(json!({"content": long}), None), "Bash", "  {"),
            (asks(json!({"command": "make", "stdin": long}), Some("make")), "shell", "  $ make"),
        ] {
            let asked = asked(&question, Some("/work"), &Redactor::default());
            assert!(asked.action.truncated, "no rule, no handler and no person approves it");
            let approve = AnswerAction::Choose(InterventionChoice::Approve);
            let refused = |action| not_seen(&question, action, None, &Redactor::default());
            assert!(refused(&approve).is_some());
            assert_eq!(refused(&AnswerAction::Choose(InterventionChoice::Deny)), None);
            assert_eq!(asked.action.tool.as_deref(), Some(tool));
            assert!(asked.excerpt[0].starts_with(begin), "{:.60}", asked.excerpt[0]);
            assert!(asked.excerpt.iter().any(|line| line.contains("more bytes are not shown")));
            assert_eq!(asked.excerpt.last().map(String::as_str), Some("Bash: Build it"));
            assert!(asked.title.is_some_and(|title| title.contains("more bytes than shown")));
            assert!(asked.help.is_some_and(|help| help.contains("cannot be approved")));
            let extras = asked.action.extras.iter();
            assert!(extras.map(String::len).sum::<usize>() < 2 * MAX_EXTRA_BYTES);
        }
    }

    #[test]
    fn a_secret_is_not_shown_by_a_part_of_it_where_a_question_is_cut() {
        let secret = "sk-0123456789";
        let redactor = Redactor::new([secret.to_owned()]);
        for room in 0..secret.len() {
            let before = "x".repeat(MAX_QUESTION_BYTES / 2 - room - 4);
            let command = format!("{before}{secret}{}", "y".repeat(MAX_QUESTION_BYTES));
            let asked = asked(&asks(json!({}), Some(&command)), None, &redactor);
            assert!(asked.action.truncated && !asked.excerpt[0].contains("xs"), "{room}");
        }
    }

    #[test]
    fn a_request_that_has_no_answer_once_is_one_that_can_only_be_denied() {
        let option =
            |effect| AnswerOption { id: format!("{effect:?}"), label: String::new(), effect };
        for (effect, expected) in [
            (OptionEffect::AllowOnce, false),
            (OptionEffect::Lasting, true),
            (OptionEffect::RejectOnce, true),
        ] {
            for channel in [ChannelKind::Acp, ChannelKind::CodexAppServer] {
                let mut question = asks(json!({"command": "make"}), Some("make"));
                question.channel = channel;
                question.options = vec![option(effect), option(OptionEffect::RejectOnce)];
                question.options.dedup();
                let asked = asked(&question, None, &Redactor::default());
                assert_eq!(asked.action.no_approval.is_some(), expected, "{channel} {effect:?}");
                let told = asked.help.is_some_and(|help| help.contains("deny it"));
                assert_eq!(told, expected, "{channel} {effect:?}");
            }
        }
    }

    #[test]
    fn a_question_of_many_lines_that_fits_is_shown_whole() {
        let paths: Vec<String> = (0..500).map(|place| format!("/a/{place}")).collect();
        let asked = asked(&asks(json!({"paths": paths}), None), None, &Redactor::default());
        assert!(!asked.action.truncated && asked.excerpt.len() > 500);
    }

    #[test]
    fn what_speaks_against_a_request_is_shown_whatever_it_asks() {
        let mut other = asks(json!({"path": "/a"}), None);
        other.doubts = vec!["sessionId: Other".to_owned()];
        let asked = asked(&other, Some("/work"), &Redactor::default());
        assert!(asked.excerpt.contains(&"  with sessionId: Other".to_owned()), "{asked:?}");
        assert_eq!(asked.action.extras, ["sessionId: Other"]);
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
            closed: false,
        }];
        let shown = super::asked(&asked, None, &Redactor::default());
        assert_eq!(shown.excerpt, ["Which colour?", "  1. Red: warm", "  2. Blue"]);
        assert!(shown.help.is_some_and(|help| help.contains("between commas")));
        let both = AnswerAction::Text("2, 1".to_owned());
        let Ok(ChannelDecision::Choose { answers }) = decision(&asked, &both) else {
            panic!("it is no answer")
        };
        assert_eq!(answers[0].values, ["Blue", "Red"]);
    }
}
