//! What goes wrong between the layers of an adapter although each file is right by itself.

use coven_model::{AdapterFault, AgentMode};
use coven_notation::{FileProblem, FileSyntax, SourceFile, SourceNode, parse};
use serde::Deserialize;
use serde_json::Value;

use super::Config;
use crate::transcript::TranscriptFormat;

/// The code of a file that leaves out arguments which the layer below needs.
const LOST_ARGUMENTS: &str = "lost-arguments";

/// Looks for arguments of the layer below that a file leaves out although the rest of that layer
/// needs them: new `baseArgs` replace the old ones, and the `transcript` below stays and reads what
/// nothing prints any more.
pub fn check_layer(source: &SourceFile, below: &Config) -> Vec<FileProblem> {
    let Ok(file) = parse(source, FileSyntax::Json) else { return Vec::new() };
    let Some(mode) = file.get("modes").and_then(|modes| modes.get("headless")) else {
        return Vec::new();
    };
    let (Some(written), None) = (mode.get("baseArgs"), mode.get("transcript")) else {
        return Vec::new();
    };
    let kept: Vec<&str> = written.items().iter().filter_map(SourceNode::as_str).collect();
    let lost = lost_arguments(&kept, below);
    let problem =
        lost.map(|lost| FileProblem::error(lost.code, written.span, lost.message).help(lost.help));
    problem.into_iter().collect()
}

/// The same for a file that was read, over the built-in layer and one with this fault.
pub(crate) fn headless_fault(
    over: &Value,
    built_in: &Value,
    below: Option<AdapterFault>,
) -> Option<AdapterFault> {
    let Some(mode) = over.get("modes").and_then(|modes| modes.get("headless")) else {
        return below;
    };
    if mode.get("transcript").is_some() {
        return None;
    }
    let (Some(args), Ok(built_in)) =
        (mode.get("baseArgs").and_then(Value::as_array), Config::deserialize(built_in))
    else {
        return below;
    };
    let kept: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
    lost_arguments(&kept, &built_in)
}

fn lost_arguments(kept: &[&str], below: &Config) -> Option<AdapterFault> {
    let below = below.modes.get(AgentMode::Headless)?;
    let format = below.transcript.as_deref()?;
    if format.parse::<TranscriptFormat>().is_ok_and(|format| !format.has_result()) {
        return None;
    }
    let missing = format_arguments(&below.base_args);
    if missing.iter().all(|argument| kept.contains(argument)) {
        return None;
    }
    let missing = missing.join(" ");
    let message = format!(
        "these `baseArgs` replace the built-in ones and leave out `{missing}`, but `transcript` \
         stays `{format}`: no headless run could be read"
    );
    let help = format!("add `{missing}`, or write `\"transcript\": \"text\"` beside them");
    Some(AdapterFault { code: LOST_ARGUMENTS, message, help })
}

/// The arguments that make a program print what a transcript is read from, with the options they
/// belong to.
fn format_arguments(args: &[String]) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        if !arg.contains("json") {
            continue;
        }
        let option = at.checked_sub(1).and_then(|before| args.get(before));
        if let Some(option) =
            option.filter(|option| option.starts_with('-') && !arg.starts_with('-'))
        {
            found.push(option.as_str());
        }
        found.push(arg.as_str());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, default_registry};

    fn problems(kind: &str, text: &str) -> Vec<String> {
        let adapter = default_registry().create(kind, Options::default()).unwrap();
        let source = SourceFile::new("config.json", text);
        let found = check_layer(&source, adapter.config());
        found.into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn arguments_that_the_transcript_needs_are_missed() {
        for (kind, missing) in [
            ("claude", "--output-format stream-json"),
            ("codex", "--json"),
            ("gemini", "-o stream-json"),
            ("opencode", "--format json"),
            ("qwen", "-o stream-json"),
            ("copilot", "--output-format json"),
        ] {
            let found = problems(kind, r#"{"modes": {"headless": {"baseArgs": ["--debug"]}}}"#);
            assert_eq!(found.len(), 1, "{kind}");
            assert!(found[0].contains(&format!("leave out `{missing}`")), "{kind}: {}", found[0]);
        }
    }

    #[test]
    fn a_layer_that_keeps_them_or_reads_text_is_right() {
        for text in [
            r#"{"modes": {"headless": {"baseArgs": ["-p", "--verbose", "--output-format", "stream-json"]}}}"#,
            r#"{"modes": {"headless": {"baseArgs": ["-p"], "transcript": "text"}}}"#,
            r#"{"modes": {"interactive": {"baseArgs": ["--debug"]}}}"#,
            r#"{"command": "my-claude"}"#,
            "{",
        ] {
            assert_eq!(problems("claude", text), [""; 0], "{text}");
        }
        let text = r#"{"modes": {"headless": {"baseArgs": []}}}"#;
        assert_eq!(problems("aider", text), [""; 0], "its output is text");
    }
}
