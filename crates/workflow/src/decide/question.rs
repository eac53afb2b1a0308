//! What an agent asks, in one line: for lists, messages and notifications, where the excerpt of the
//! screen does not fit.

/// How many characters of a question are quoted.
const MAX_QUESTION_CHARS: usize = 120;

/// How many lines above the options belong to the question: what is asked for, and the command or
/// file it is about. What stands higher is the conversation before it.
const QUESTION_LINES: usize = 3;

/// The line of an excerpt that asks, with what it asks about; empty if there is no text in it.
pub(crate) fn question_line(excerpt: &str) -> String {
    let lines: Vec<&str> = excerpt.lines().map(without_frame).collect();
    let options = lines.iter().position(|line| is_option(line));
    let before: Vec<&str> = lines[..options.unwrap_or(lines.len())]
        .iter()
        .copied()
        .filter(|line| line.contains(char::is_alphanumeric))
        .collect();
    let count = if options.is_some() { QUESTION_LINES } else { 1 };
    let near = &before[before.len().saturating_sub(count)..];
    // "Run this command?" above the command: what is above the question does not belong to it.
    let above = near.iter().rev().skip(1).position(|line| line.ends_with('?'));
    let text = near[above.map_or(0, |above| near.len() - 2 - above)..].join(" ");
    match text.char_indices().nth(MAX_QUESTION_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    }
}

/// A command of several lines as one.
pub(crate) fn command_line(command: &str) -> String {
    let lines: Vec<&str> = command.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = lines.join(" ⏎ ");
    match text.char_indices().nth(MAX_QUESTION_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    }
}

/// A line without the box around a dialog.
fn without_frame(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || ('\u{2500}'..='\u{257f}').contains(&c))
}

/// Whether a line offers an answer: it is selected, or it begins with a number such as `2.`.
fn is_option(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with(['❯', '›'])
        || (rest.len() < line.len() && rest.starts_with(['.', ')']) && rest[1..].starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_and_what_it_is_about_stand_in_one_line() {
        let excerpt =
            "earlier talk\n\n Run this command?\n\n cargo test\n\n ❯ 1. Yes\n 2. No\n Enter";
        assert_eq!(question_line(excerpt), "Run this command? cargo test");
        let framed = "│ Bash command          │\n│   git push            │\n│ Do you want to proceed? │\n│ › 1. Yes │";
        assert_eq!(question_line(framed), "Bash command git push Do you want to proceed?");
    }

    #[test]
    fn without_options_the_last_line_asks() {
        assert_eq!(
            question_line("some output\nOverwrite a.txt? [y/N]\n\n"),
            "Overwrite a.txt? [y/N]"
        );
        assert_eq!(question_line("─────\n\n"), "");
        assert_eq!(question_line("Version 1.2 is out?"), "Version 1.2 is out?");
    }

    #[test]
    fn a_long_question_is_cut_between_characters() {
        let line = question_line(&"ä".repeat(500));
        assert_eq!(line.chars().count(), MAX_QUESTION_CHARS + 1);
    }
}
