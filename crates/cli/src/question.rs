//! What waits for a person, in words: what it is, what can be decided, and how.

use coven_model::{Intervention, InterventionChoice, InterventionKind, MenuEntry, SessionRule};
use coven_policy::NoAlwaysRule;

use crate::output;

/// The most lines of a screen that are shown with a question.
const MAX_EXCERPT_LINES: usize = 12;

/// Who asks what, on one line.
pub(crate) fn asked(asked: &Intervention) -> String {
    let who = asked.task.as_ref().map_or(asked.step.as_str(), |task| task.as_str());
    let reason = output::one_line(&asked.reason);
    if reason.is_empty() {
        return format!("{who} {}", kind(asked.kind));
    }
    // Most reasons say who it is.
    if reason.starts_with(who) { reason } else { format!("{who}: {reason}") }
}

/// A kind in words.
pub(crate) fn kind(kind: InterventionKind) -> &'static str {
    match kind {
        InterventionKind::Approval => "asks for approval",
        InterventionKind::Question => "asks a question",
        InterventionKind::Choice => "offers a choice",
        InterventionKind::Dialog => "shows a dialog",
        InterventionKind::EndedTurn => "has finished its turn",
        InterventionKind::FailedGate => "the gate failed",
        InterventionKind::HumanGate => "asks you to look",
        InterventionKind::LoopLimit => "the loop has used up its rounds",
        InterventionKind::PartialFailure => "some tasks failed",
        InterventionKind::FailedStep => "the step failed",
        InterventionKind::UnreadableVerdict => "the arbiter's verdict cannot be read",
        InterventionKind::LostJob => "the job is gone",
        InterventionKind::StartApproval => "asks for leave to start",
        InterventionKind::UndeliveredMessage => "did not get its message",
        InterventionKind::UnknownState => "shows something that its adapter does not know",
        InterventionKind::MergeConflict => "what it did cannot be landed",
        InterventionKind::TreeProblem => "something went wrong with its tree",
        InterventionKind::Landing => "asks whether its trees may be landed",
    }
}

/// The end of what the agent shows, made harmless, without empty lines around it.
pub(crate) fn excerpt(asked: &Intervention) -> Vec<String> {
    let text = output::clean(&asked.excerpt);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let begin = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(begin, |place| place + 1);
    let lines = &lines[begin..end];
    let cut = if has_terminal(asked) {
        "a part of this is not on the agent's screen; look at it there: coven attach"
    } else {
        "a part of this is not shown, and the agent has no terminal: it can be denied"
    };
    let cut = asked.truncated.then(|| cut.to_owned());
    // What is to be approved, or chosen from, is shown whole.
    if asks_on_screen(asked.kind) {
        return lines.iter().map(|line| (*line).to_owned()).chain(cut).collect();
    }
    let above = lines.len().saturating_sub(MAX_EXCERPT_LINES);
    let told = (above > 0).then(|| format!("… {above} more lines above; coven attach shows them"));
    told.into_iter()
        .chain(lines[above..].iter().map(|line| (*line).to_owned()))
        .chain(cut)
        .collect()
}

/// Why the same is asked again after it was answered.
pub(crate) fn refused(asked: &Intervention) -> Option<String> {
    let reason = output::one_line(asked.refused.as_deref()?);
    Some(format!("asked again: {reason}"))
}

/// Whether an agent asks it on its screen.
fn asks_on_screen(kind: InterventionKind) -> bool {
    matches!(
        kind,
        InterventionKind::Approval
            | InterventionKind::Question
            | InterventionKind::Choice
            | InterventionKind::Dialog
            | InterventionKind::UnknownState
    )
}

/// The entries that can be chosen by their numbers. An approval has words of its own for that, and
/// what is not shown whole is chosen on the agent's terminal.
pub(crate) fn entries(asked: &Intervention) -> impl Iterator<Item = &MenuEntry> {
    let is_for_numbers = asked.kind != InterventionKind::Approval && !asked.truncated;
    asked.entries.iter().filter(move |_| is_for_numbers)
}

/// The key that means a choice where keys are asked for.
pub(crate) fn key(choice: InterventionChoice) -> char {
    match choice {
        InterventionChoice::Approve => 'a',
        InterventionChoice::ApproveAlways => 'A',
        InterventionChoice::Deny => 'd',
        InterventionChoice::Answer => 't',
        InterventionChoice::Complete => 'c',
        InterventionChoice::Send => 'm',
        InterventionChoice::Stop => 's',
        InterventionChoice::Retry | InterventionChoice::RetryFailed => 'r',
        InterventionChoice::Skip => 'k',
        InterventionChoice::Proceed => 'p',
        InterventionChoice::Extend => 'e',
        InterventionChoice::Abort => 'x',
        InterventionChoice::SendAnyway => 'y',
        InterventionChoice::Drop => 'g',
        InterventionChoice::Resolve => 'v',
    }
}

/// A choice in words.
pub(crate) fn words(choice: InterventionChoice) -> &'static str {
    match choice {
        InterventionChoice::Approve => "approve",
        InterventionChoice::ApproveAlways => "approve always",
        InterventionChoice::Deny => "deny",
        InterventionChoice::Answer => "type an answer",
        InterventionChoice::Complete => "complete",
        InterventionChoice::Send => "send a message",
        InterventionChoice::Stop => "stop it",
        InterventionChoice::Retry => "retry",
        InterventionChoice::RetryFailed => "retry what failed",
        InterventionChoice::Skip => "skip",
        InterventionChoice::Proceed => "proceed",
        InterventionChoice::Extend => "more rounds",
        InterventionChoice::Abort => "abort the run",
        InterventionChoice::SendAnyway => "send anyway",
        InterventionChoice::Drop => "give it up",
        InterventionChoice::Resolve => "let its agent resolve it",
    }
}

/// Whether a text goes with a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextRequirement {
    None,
    Maybe,
    Needed,
}

/// Whether a text goes with a choice.
pub(crate) fn text(choice: InterventionChoice) -> TextRequirement {
    match choice {
        InterventionChoice::Answer | InterventionChoice::Send => TextRequirement::Needed,
        InterventionChoice::Deny => TextRequirement::Maybe,
        _ => TextRequirement::None,
    }
}

/// What the question is called on a command line: the shortest that means it and nothing else. An
/// agent may ask something else by the time that is typed.
pub(crate) fn name(session: &str, asked: &Intervention, alone: bool) -> String {
    if alone && asked.digest.is_none() {
        return session.to_owned();
    }
    let number = asked.id.as_str().rsplit('/').next().unwrap_or_default();
    format!("{session}/{number}")
}

/// The commands that decide it.
pub(crate) fn commands(name: &str, asked: &Intervention) -> Vec<String> {
    let command = |choice: &InterventionChoice| match choice {
        InterventionChoice::Approve => format!("coven approve {name}"),
        InterventionChoice::ApproveAlways => format!("coven approve {name} --always"),
        InterventionChoice::Deny => format!("coven deny {name}"),
        choice => {
            let text = match text(*choice) {
                TextRequirement::Needed if asked.secret => " -   # then type it, it is not shown",
                TextRequirement::Needed => " \"TEXT\"",
                _ => "",
            };
            format!("coven answer {name} {choice}{text}")
        }
    };
    let entry = |entry: &MenuEntry| {
        let label = output::one_line(&entry.label);
        if entry.takes_text {
            format!("coven answer {name} answer \"TEXT\"   # {}: {label}", entry.id)
        } else {
            format!("coven answer {name} {}   # {label}", entry.id)
        }
    };
    let choices = asked.options.iter().filter(|choice| can_decide(asked, **choice));
    entries(asked).map(entry).chain(choices.map(command)).collect()
}

/// Whether what is not shown here of a question stands on a terminal. Agents that are spoken to in
/// their own protocol have none, and what they show by a part cannot be approved at all.
pub(crate) fn has_terminal(asked: &Intervention) -> bool {
    !asked.truncated
        || asked.kind != InterventionKind::Approval
        || asked.options.contains(&InterventionChoice::Approve)
}

/// Whether a choice can be taken from outside of the agent's terminal: what is not shown whole
/// cannot be approved.
pub(crate) fn can_decide(asked: &Intervention, choice: InterventionChoice) -> bool {
    match choice {
        InterventionChoice::Approve => !asked.truncated,
        // The entries say what can be answered.
        InterventionChoice::Answer => {
            asked.entries.is_empty() || asked.kind == InterventionKind::Approval
        }
        InterventionChoice::ApproveAlways => always(asked, "agent").is_ok(),
        _ => true,
    }
}

/// Whether a choice lets an agent do what it asks for.
pub(crate) fn approves(choice: InterventionChoice) -> bool {
    matches!(choice, InterventionChoice::Approve | InterventionChoice::ApproveAlways)
}

/// Whether `--auto allow` would let the run go on: it answers nothing that no rule knows, that is
/// not shown whole or that was answered before, and has no answer to a question.
pub(crate) fn is_allowed_by_auto(asked: &Intervention) -> bool {
    let is_generic = asked.rule.as_deref().is_some_and(coven_model::is_generic_rule);
    let is_allowed = matches!(
        asked.kind,
        InterventionKind::Approval
            | InterventionKind::Dialog
            | InterventionKind::HumanGate
            | InterventionKind::StartApproval
            | InterventionKind::EndedTurn
            | InterventionKind::LoopLimit
            | InterventionKind::PartialFailure
            | InterventionKind::UnreadableVerdict
            | InterventionKind::LostJob
    );
    is_allowed && !is_generic && !asked.truncated && asked.refused.is_none()
}

/// The rule that approving it for always makes, where an agent of this type asks.
pub(crate) fn always(asked: &Intervention, adapter: &str) -> Result<SessionRule, NoAlwaysRule> {
    coven_policy::always_rule(adapter, &asked.action())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_question_has_two_choices_on_one_key() {
        for kind in InterventionKind::ALL {
            let mut keys: Vec<char> = kind.options().iter().copied().map(key).collect();
            keys.sort_unstable();
            let all = keys.len();
            keys.dedup();
            assert_eq!(keys.len(), all, "{kind}");
        }
    }
}
