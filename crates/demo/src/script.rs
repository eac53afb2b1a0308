//! What the agent is told to do: directives, read from a prompt or from a script file.
//!
//! A prompt is forgiving, because it is mostly prose: what is not a well-formed directive is plain
//! text. A script is strict, because a typo in a test must not pass unseen.

mod directive;
mod problem;
mod program;
#[cfg(test)]
mod tests;

use directive::DIRECTIVE_NAMES;
pub(crate) use directive::{AgentMisbehaviour, ProcessExit, ScriptDirective, ToolUse};
pub use problem::DirectiveProblem;
pub(crate) use program::TurnScript;

/// The directives in a prompt, without its plain text; if it is all plain text, an answer to it.
pub(crate) fn from_prompt(text: &str) -> TurnScript {
    let segments = text.lines().flat_map(segments);
    let steps: Vec<_> = segments.filter_map(|segment| directive::read(&segment).ok()).collect();
    TurnScript::new(if steps.is_empty() { vec![ScriptDirective::Echo] } else { steps })
}

/// The directives of a script, or the first line with a mistake (counted from 1) and the mistake.
pub(crate) fn from_script(text: &str) -> Result<TurnScript, (usize, DirectiveProblem)> {
    let mut steps = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        for segment in segments(line).iter().filter(|segment| !segment.is_empty()) {
            steps.push(directive::read(segment).map_err(|problem| (index + 1, problem))?);
        }
    }
    Ok(TurnScript::new(steps))
}

/// Cuts a line at every `;` that a directive or nothing follows. A backslash before it keeps a `;`
/// as text.
fn segments(line: &str) -> Vec<String> {
    let mut segments = Vec::new();
    let mut current = String::new();
    let mut chars = line.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' if chars.next_if(|(_, next)| *next == ';').is_some() => current.push(';'),
            ';' if separates(&line[at + 1..]) => segments.push(std::mem::take(&mut current)),
            _ => current.push(char),
        }
    }
    segments.push(current);
    segments.iter().map(|segment| segment.trim().to_owned()).collect()
}

/// Whether a `;` before this separates something.
fn separates(rest: &str) -> bool {
    let (name, _) = directive::split(rest.trim());
    name.is_empty() || DIRECTIVE_NAMES.contains(&name.trim_end_matches(';'))
}
