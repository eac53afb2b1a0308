//! What waits for a person.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ContentDigest, InterventionId, MenuEntry, SessionId, TaskId, Timestamp};

/// Why a person is needed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum InterventionKind {
    /// An agent asks whether it may do something.
    Approval,
    /// An agent asks for a text.
    Question,
    /// An agent offers entries to choose from.
    Choice,
    /// An agent's program shows a dialog of its own.
    Dialog,
    /// An interactive agent has finished its turn and is idle.
    EndedTurn,
    /// The command of a gate failed.
    FailedGate,
    /// A gate without a command asks a person.
    HumanGate,
    /// A loop reached its last round without an end.
    LoopLimit,
    /// Some tasks of a stage or fan-out failed.
    PartialFailure,
    /// A step failed that is to block rather than fail.
    FailedStep,
    /// The arbiter's answer could not be read, twice.
    UnreadableVerdict,
    /// A job's process is gone and its exit status was not recorded.
    LostJob,
    /// A step wants a person's leave before it starts.
    StartApproval,
    /// A message for an agent did not arrive, or nothing shows that it did.
    UndeliveredMessage,
    /// An agent shows something that its adapter does not know, and does nothing.
    UnknownState,
    /// What was done in a tree cannot be landed, because both sides changed the same.
    MergeConflict,
    /// A tree could not be made, committed or landed.
    TreeProblem,
    /// The trees of a fan-out are to be landed, and the step asks first.
    Landing,
}

impl InterventionKind {
    /// All kinds, in the order of their definition.
    pub const ALL: [Self; 18] = [
        Self::Approval,
        Self::Question,
        Self::Choice,
        Self::Dialog,
        Self::EndedTurn,
        Self::FailedGate,
        Self::HumanGate,
        Self::LoopLimit,
        Self::PartialFailure,
        Self::FailedStep,
        Self::UnreadableVerdict,
        Self::LostJob,
        Self::StartApproval,
        Self::UndeliveredMessage,
        Self::UnknownState,
        Self::MergeConflict,
        Self::TreeProblem,
        Self::Landing,
    ];

    /// The name used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Question => "question",
            Self::Choice => "choice",
            Self::Dialog => "dialog",
            Self::EndedTurn => "ended-turn",
            Self::FailedGate => "failed-gate",
            Self::HumanGate => "human-gate",
            Self::LoopLimit => "loop-limit",
            Self::PartialFailure => "partial-failure",
            Self::FailedStep => "failed-step",
            Self::UnreadableVerdict => "unreadable-verdict",
            Self::LostJob => "lost-job",
            Self::StartApproval => "start-approval",
            Self::UndeliveredMessage => "undelivered-message",
            Self::UnknownState => "unknown-state",
            Self::MergeConflict => "merge-conflict",
            Self::TreeProblem => "tree-problem",
            Self::Landing => "landing",
        }
    }

    /// What a person can decide.
    pub fn options(self) -> &'static [InterventionChoice] {
        match self {
            Self::Approval => &[
                InterventionChoice::Approve,
                InterventionChoice::ApproveAlways,
                InterventionChoice::Deny,
                InterventionChoice::Answer,
            ],
            Self::StartApproval | Self::HumanGate | Self::Landing => {
                &[InterventionChoice::Approve, InterventionChoice::Deny]
            }
            Self::Question | Self::Choice => {
                &[InterventionChoice::Answer, InterventionChoice::Deny]
            }
            Self::Dialog => {
                &[InterventionChoice::Approve, InterventionChoice::Deny, InterventionChoice::Answer]
            }
            Self::EndedTurn | Self::UnknownState => {
                &[InterventionChoice::Complete, InterventionChoice::Send, InterventionChoice::Stop]
            }
            Self::MergeConflict => &[
                InterventionChoice::Resolve,
                InterventionChoice::Retry,
                InterventionChoice::Skip,
                InterventionChoice::Abort,
            ],
            Self::FailedGate | Self::FailedStep | Self::LostJob | Self::TreeProblem => {
                &[InterventionChoice::Retry, InterventionChoice::Skip, InterventionChoice::Abort]
            }
            Self::LoopLimit => &[
                InterventionChoice::Proceed,
                InterventionChoice::Extend,
                InterventionChoice::Abort,
            ],
            Self::PartialFailure => &[
                InterventionChoice::RetryFailed,
                InterventionChoice::Proceed,
                InterventionChoice::Abort,
            ],
            Self::UnreadableVerdict => &[
                InterventionChoice::Retry,
                InterventionChoice::Proceed,
                InterventionChoice::Extend,
                InterventionChoice::Abort,
            ],
            Self::UndeliveredMessage => &[
                InterventionChoice::Retry,
                InterventionChoice::SendAnyway,
                InterventionChoice::Drop,
            ],
        }
    }
}

impl fmt::Display for InterventionKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What a person can decide.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum InterventionChoice {
    /// Allow it, this once.
    Approve,
    /// Yes, and do not ask again.
    ApproveAlways,
    /// No; takes a text.
    Deny,
    /// Answer with the text of the decision.
    Answer,
    /// The task is done.
    Complete,
    /// Another message to the agent.
    Send,
    /// Stop the agent; the task has failed.
    Stop,
    /// Try again: the failed step, or to deliver the message.
    Retry,
    /// Do again what failed.
    RetryFailed,
    /// Go on without it.
    Skip,
    /// Go on with what there is.
    Proceed,
    /// Give the loop more rounds.
    Extend,
    /// End the run as failed.
    Abort,
    /// Type the message and submit it without looking whether it arrives.
    SendAnyway,
    /// Give the message up.
    Drop,
    /// Let the agent of the task resolve the conflict in its tree.
    Resolve,
}

impl InterventionChoice {
    /// The name used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::ApproveAlways => "approve-always",
            Self::Deny => "deny",
            Self::Answer => "answer",
            Self::Complete => "complete",
            Self::Send => "send",
            Self::Stop => "stop",
            Self::Retry => "retry",
            Self::RetryFailed => "retry-failed",
            Self::Skip => "skip",
            Self::Proceed => "proceed",
            Self::Extend => "extend",
            Self::Abort => "abort",
            Self::SendAnyway => "send-anyway",
            Self::Drop => "drop",
            Self::Resolve => "resolve",
        }
    }
}

impl fmt::Display for InterventionChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What an agent asks for, as far as its adapter can read it from the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AskedAction {
    /// The tool it wants to use, by the adapter's name for it: `shell`, `edit`.
    pub tool: Option<String>,
    /// The command it wants to run. A line break is a line break on the screen.
    pub command: Option<String>,
    /// A line break of the command may be the program's own, where a row was full: it cannot be
    /// told from one that is part of the command.
    pub wrapped: bool,
    /// A part of what is asked is not on the screen.
    pub truncated: bool,
    /// What it asks for beside the command, such as another folder or to leave its sandbox, each as
    /// `NAME: VALUE`. A rule about the command has not seen it.
    pub extras: Vec<String>,
    /// The entries of its menu.
    pub entries: Vec<MenuEntry>,
    /// What is typed as an answer is a secret, and must not be recorded.
    pub secret: bool,
    /// Why no answer approves it, where none does, so that none is offered.
    pub no_approval: Option<String>,
}

impl AskedAction {
    /// Whether there is something to tell about a question of which this is known to somebody who was
    /// told the other: more than before, or that a part of it cannot be seen. What has left the screen
    /// since then was told all the same, and what is typed at a secret stays one.
    pub fn tells_more_than(&self, told: &Self) -> bool {
        let has_more = |now: &Option<String>, told: &Option<String>| now.is_some() && now != told;
        has_more(&self.tool, &told.tool)
            || has_more(&self.command, &told.command)
            || self.extras.iter().any(|extra| !told.extras.contains(extra))
            || self.truncated != told.truncated
            || (self.secret && !told.secret)
            || self.entries.is_empty() != told.entries.is_empty()
    }
}

/// One thing that waits for a person. Durable, and answered once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Intervention {
    /// Its name in the session.
    pub id: InterventionId,
    /// The session that waits.
    pub workflow_id: SessionId,
    /// The step it belongs to.
    pub step: String,
    /// The task it belongs to, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Why a person is needed.
    pub kind: InterventionKind,
    /// The same in words.
    pub reason: String,
    /// What can be decided.
    pub options: Vec<InterventionChoice>,
    /// The rule that saw the question: one of the adapter, or `generic:` and a name, for what means
    /// the same in any program and is always for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The tool that the agent wants to use, where its adapter can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The command that the agent wants to run, where its adapter can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Line breaks of the command may be the program's own, where a row was full.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrapped: bool,
    /// A part of what is asked is not on the agent's screen, so that it cannot be approved from
    /// here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// What the agent asks for beside the command, such as another folder or to leave its sandbox,
    /// each as `NAME: VALUE`. No rule about the command allows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extras: Vec<String>,
    /// What to do about it, where the adapter knows more than the agent shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The entries of the menu that the agent shows. One of them is the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<MenuEntry>,
    /// What is typed as an answer is a secret, such as an API key: it is delivered, and recorded
    /// nowhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// What the agent shows, or the end of what failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub excerpt: String,
    /// Why the last answer to the same question did not reach the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What an answer must name, where it is about a screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<ContentDigest>,
    /// Since when it waits.
    pub created_at: Timestamp,
    /// When it goes by itself, because the job that asks has used up its time then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl Intervention {
    /// One that waits for a decision about a step, of which nothing else is known.
    pub fn new(
        id: InterventionId,
        step: impl Into<String>,
        kind: InterventionKind,
        created_at: Timestamp,
    ) -> Self {
        Self {
            workflow_id: id.session(),
            id,
            step: step.into(),
            task: None,
            kind,
            reason: String::new(),
            options: kind.options().to_vec(),
            rule: None,
            tool: None,
            command: None,
            wrapped: false,
            truncated: false,
            extras: Vec::new(),
            help: None,
            entries: Vec::new(),
            secret: false,
            excerpt: String::new(),
            refused: None,
            digest: None,
            created_at,
            expires_at: None,
        }
    }

    /// Whether an empty text can go with a choice, which is Enter: what the program proposes, or what
    /// it waits for. In a question that its adapter knows, its keys are those of the adapter.
    pub fn takes_empty(&self, choice: InterventionChoice) -> bool {
        match choice {
            InterventionChoice::Answer => {
                self.entries.len() <= 1 && self.rule.as_deref().is_some_and(crate::is_generic_rule)
            }
            InterventionChoice::Send => self.kind == InterventionKind::UnknownState,
            _ => false,
        }
    }

    /// What the agent asks leave for.
    pub fn action(&self) -> AskedAction {
        AskedAction {
            tool: self.tool.clone(),
            command: self.command.clone(),
            wrapped: self.wrapped,
            truncated: self.truncated,
            extras: self.extras.clone(),
            entries: self.entries.clone(),
            secret: self.secret,
            ..AskedAction::default()
        }
    }
}
