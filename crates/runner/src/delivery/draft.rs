//! What a person has typed into a prompt and not submitted.

use coven_terminal::snapshot::{ScreenSnapshot, is_frame};
use unicode_width::UnicodeWidthChar as _;

/// What programs put before what is typed.
const MARKS: [char; 7] = ['❯', '›', '>', '*', '!', '»', '➜'];

/// What programs put before every row of what is typed.
const BARS: [char; 8] = ['│', '┃', '║', '▌', '▎', '▏', '▍', '|'];

/// How many rows a draft may take.
const MAX_ROWS: usize = 40;

/// What stands in the prompt before the cursor. In an empty prompt that is nothing: what programs
/// show there until something is typed stands behind the cursor.
pub(crate) fn draft(snapshot: &ScreenSnapshot) -> Option<String> {
    let cursor = snapshot.cursor();
    let last = usize::from(cursor.row);
    let before = until_column(snapshot.rows().get(last)?.text(), usize::from(cursor.column));
    let (mut text, mut row) = (String::new(), last);
    let mut line = before;
    loop {
        let (is_marked, rest) = without_mark(line);
        text = if text.is_empty() { rest.to_owned() } else { format!("{rest}\n{text}") };
        if is_marked {
            let text = text.trim();
            return (!text.is_empty()).then(|| text.to_owned());
        }
        // What has neither a mark nor an indent is no prompt.
        if rest.is_empty() || rest.len() == line.len() || row == 0 || last - row >= MAX_ROWS {
            return None;
        }
        row -= 1;
        line = snapshot.rows()[row].text();
    }
}

/// A line without the mark or frame and the blanks before its text, and whether there was one.
fn without_mark(line: &str) -> (bool, &str) {
    let is_blank = |char: char| char == ' ' || char == '\u{a0}';
    let inner = line.trim_start_matches(is_blank);
    let open = inner.trim_start_matches(|char| is_frame(char) || is_blank(char));
    if let Some(rest) = open.strip_prefix(MARKS)
        && (rest.is_empty() || rest.starts_with(is_blank))
    {
        return (true, rest.trim_matches(is_blank));
    }
    let frame = &inner[..inner.len() - open.len()];
    if !frame.chars().all(|char| BARS.contains(&char) || is_blank(char)) {
        // An edge, above which there is something else.
        return (false, line);
    }
    (!frame.is_empty(), open.trim_end_matches(is_blank))
}

/// The part of a row before a column.
fn until_column(row: &str, column: usize) -> &str {
    let mut width = 0;
    let end = row.char_indices().find(|(_, char)| {
        let is_behind = width >= column;
        width += char.width().unwrap_or(0);
        is_behind
    });
    end.map_or(row, |(end, _)| &row[..end])
}

#[cfg(test)]
mod tests {
    use coven_terminal::screen::{GridSize, Screen};

    use super::*;

    /// The draft on a screen with this text, where `|` is the cursor.
    fn read(text: &str) -> Option<String> {
        let mut screen = Screen::new(GridSize::new(60, 12));
        let (before, behind) = text.split_once('|').unwrap();
        let feed = |text: &str| text.replace('\n', "\r\n");
        screen.feed(feed(before).as_bytes());
        screen.feed(format!("\x1b7{}\x1b8", feed(behind)).as_bytes());
        draft(&screen.snapshot())
    }

    #[test]
    fn a_draft_stands_before_the_cursor() {
        let box_of = |prompt: &str| format!("────────\n{prompt}\n────────\n  ? for shortcuts");
        for (prompt, text) in [
            ("❯\u{a0}fix the test|", Some("fix the test")),
            ("❯ |Try \"fix lint errors\"", None),
            ("❯ |", None),
            ("› /status|", Some("/status")),
            ("› |Ask Codex to do anything", None),
            (" >   |Type your message or @path/to/file", None),
            (" > äö: 日本|", Some("äö: 日本")),
            ("┃ half a wo|rd", Some("half a wo")),
            ("┃  |", None),
            ("❯ one\n  two\n  three|", Some("one\ntwo\nthree")),
            ("> |", None),
        ] {
            assert_eq!(read(&box_of(prompt)).as_deref(), text, "{prompt}");
        }
    }

    #[test]
    fn what_is_no_prompt_has_no_draft() {
        assert_eq!(read("user@host:~$ |"), None);
        assert_eq!(read("working\n|"), None);
        assert_eq!(read("a line of output that ends here|"), None);
        assert_eq!(read("output\n\n  indented|"), None);
        // The help of Claude Code, whose heading the cursor stands behind.
        let edge = "▔".repeat(40);
        assert_eq!(
            read(&format!("text\n{edge}\u{a0}◐ medium · /effort ▔\n   Help|\n\n  more")),
            None
        );
        assert_eq!(read("────────\n  indented|"), None);
    }
}
