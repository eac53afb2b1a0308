//! What the agent says of its own accord. The same prompt always gets the same answer.

use crate::script::ToolUse;
use crate::text;

/// How many characters of the prompt are repeated.
const MAX_REPEATED_CHARS: usize = 120;

/// The answer to a prompt without directives.
pub(crate) fn echo(prompt: &str, before: &[String]) -> String {
    let mut answer = format!(
        "You said: {}. I am the demo agent: I do what I am told, such as `approve ls`.",
        quoted(prompt)
    );
    if let Some(last) = before.last() {
        answer = format!("{answer} Before that you said: {}.", quoted(last));
    }
    answer
}

/// The answer to an answer.
pub(crate) fn acknowledge(answer: &str) -> String {
    format!("You answered: {answer}")
}

/// What is said if a tool was refused.
pub(crate) fn refused(tool: &ToolUse) -> String {
    match tool {
        ToolUse::Command(command) => format!("I was not allowed to run: {command}"),
        ToolUse::Write { path, .. } => format!("I was not allowed to write {}.", path.display()),
    }
}

/// What is said if a question was left without an answer.
pub(crate) const NO_ANSWER: &str = "You did not answer.";

/// What is said if nothing else was.
pub(crate) const DONE: &str = "Done.";

fn quoted(said: &str) -> String {
    let said = text::clean(said);
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default().trim();
    match lines.count() {
        0 => format!("\"{}\"", text::clip(first, MAX_REPEATED_CHARS)),
        1 => format!("\"{}\" and one more line", text::clip(first, MAX_REPEATED_CHARS)),
        more => format!("\"{}\" and {more} more lines", text::clip(first, MAX_REPEATED_CHARS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_echo_repeats_the_prompt_and_what_came_before_it() {
        let first = echo("hello", &[]);
        assert!(first.starts_with("You said: \"hello\"."), "{first}");
        assert!(!first.contains("Before"), "{first}");
        let second = echo("again\n\nand\x1b[2J more", &["old".to_owned(), "hello".to_owned()]);
        assert!(second.starts_with("You said: \"again\" and one more line."), "{second}");
        assert!(second.ends_with("Before that you said: \"hello\"."), "{second}");
    }

    #[test]
    fn a_huge_prompt_is_not_repeated_whole() {
        let answer = echo(&"x".repeat(1 << 20), &["y".repeat(1 << 20)]);
        assert!(answer.len() < 500, "{}", answer.len());
    }
}
