//! What an agent asks, in one line: for lists, messages and notifications, where the excerpt of the
//! screen does not fit.

use coven_model::MenuEntry;

/// How many characters of a question are quoted.
const MAX_QUESTION_CHARS: usize = 120;

/// How many lines above the options belong to the question: what is asked for, and the command or
/// file it is about. What stands higher is the conversation before it.
const QUESTION_LINES: usize = 3;

/// What stands before a selected entry, or before what is typed.
const MARKS: [char; 2] = ['❯', '›'];

/// The line of an excerpt that asks, with what it asks about; empty if there is no text in it.
pub(crate) fn question_line(excerpt: &str) -> String {
    let lines: Vec<&str> = excerpt.lines().map(without_frame).collect();
    // The last line with such a mark alone is a prompt.
    let last = lines.iter().rposition(|line| !line.is_empty());
    let options = lines
        .iter()
        .position(|line| is_option(line))
        .filter(|&at| Some(at) != last || is_numbered(lines[at].trim_start_matches(MARKS)));
    let before: Vec<&str> = lines[..options.unwrap_or(lines.len())]
        .iter()
        .copied()
        .filter(|line| line.contains(char::is_alphanumeric))
        .collect();
    let count = if options.is_some() { QUESTION_LINES } else { 1 };
    let near = &before[before.len().saturating_sub(count)..];
    // "Run this command?" above the command: what is above the question does not belong to it.
    let above = near.iter().rev().skip(1).position(|line| line.ends_with('?'));
    shortened(&near[above.map_or(0, |above| near.len() - 2 - above)..].join(" "))
}

/// The part of an excerpt above the entries that it offers, where no mark or number shows them.
pub(crate) fn above_entries<'a>(excerpt: &'a str, entries: &[MenuEntry]) -> &'a str {
    let [first, second, ..] = entries else { return excerpt };
    let lines: Vec<&str> = excerpt.lines().collect();
    if lines.iter().any(|line| is_option(without_frame(line))) {
        return excerpt;
    }
    let begins = |label: &str| lines.iter().position(|line| line.contains(label));
    match (begins(&first.label), begins(&second.label)) {
        (Some(begin), Some(next)) if begin <= next && begin > 0 => {
            let above: usize = lines[..begin].iter().map(|line| line.len() + 1).sum();
            &excerpt[..above.min(excerpt.len())]
        }
        _ => excerpt,
    }
}

/// A question as long as a list has room for.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_QUESTION_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// A command of several lines as one.
pub(crate) fn command_line(command: &str) -> String {
    let lines = command.split('\n').map(|line| line.trim_matches([' ', '\t']));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    shortened(&lines.join(" ⏎ "))
}

/// A line without the box around a dialog.
fn without_frame(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || ('\u{2500}'..='\u{257f}').contains(&c))
}

/// Whether a line offers an answer: it is selected, or it begins with a number such as `2.`.
fn is_option(line: &str) -> bool {
    line.starts_with(MARKS) || is_numbered(line)
}

fn is_numbered(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len() && rest.starts_with(['.', ')']) && rest[1..].starts_with(' ')
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
        assert_eq!(question_line("12:00:01\n❯ Name of it: \n"), "❯ Name of it:");
    }

    #[test]
    fn entries_without_marks_are_not_what_is_asked() {
        let entries = ["Red", "Blue"].map(|label| MenuEntry::new(label, label));
        let above = |excerpt| question_line(above_entries(excerpt, &entries));
        assert_eq!(above("Which colour?\n   Red\n   Blue\n enter to select"), "Which colour?");
        assert_eq!(above("Red\nBlue"), "Blue", "nothing stands above");
        assert_eq!(above("Run it?\n❯ Red\n  Blue"), "Run it?");
    }

    #[test]
    fn a_long_question_is_cut_between_characters() {
        let line = question_line(&"ä".repeat(500));
        assert_eq!(line.chars().count(), MAX_QUESTION_CHARS + 1);
    }
}
