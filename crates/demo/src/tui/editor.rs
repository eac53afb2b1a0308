//! A text that is being typed, and how it looks.

use super::keys::TuiKey;
use super::line::{LineStyle, StyledLine};
use crate::text;

const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// A text that is being typed.
#[derive(Clone, Debug, Default)]
pub(super) struct TextEditor {
    text: String,
    /// A byte position, always between two characters.
    cursor: usize,
}

/// How a text looks while it is typed.
pub(super) struct EditorLayout {
    pub(super) lines: Vec<StyledLine>,
    pub(super) cursor: (usize, usize),
}

impl TextEditor {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes the text out.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(self).text
    }

    pub(super) fn insert(&mut self, text: &str) {
        let text = text::clean(text);
        if self.text.len() + text.len() <= MAX_TEXT_BYTES {
            self.text.insert_str(self.cursor, &text);
            self.cursor += text.len();
        }
    }

    /// Does what the key says, if it is about the text.
    pub(super) fn press(&mut self, key: &TuiKey) {
        match key {
            TuiKey::Char(char) => self.insert(char.encode_utf8(&mut [0; 4])),
            TuiKey::Paste(text) => self.insert(text),
            TuiKey::NewLine => self.insert("\n"),
            TuiKey::Backspace => self.remove(self.before(), self.cursor),
            TuiKey::Delete => self.remove(self.cursor, self.after()),
            TuiKey::Left => self.cursor = self.before(),
            TuiKey::Right => self.cursor = self.after(),
            TuiKey::Home | TuiKey::Ctrl('a') => self.cursor = self.line_start(),
            TuiKey::End | TuiKey::Ctrl('e') => self.cursor = self.line_end(),
            TuiKey::Ctrl('u') => self.remove(self.line_start(), self.cursor),
            TuiKey::Ctrl('k') => self.remove(self.cursor, self.line_end()),
            TuiKey::Ctrl('w') => self.remove(self.word_start(), self.cursor),
            _ => {}
        }
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |c| self.cursor + c.len_utf8())
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_start(&self) -> usize {
        let words = self.text[..self.cursor].trim_end();
        words
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + words[at..].chars().next().map_or(0, char::len_utf8))
    }

    /// The text behind a `> `, in at most that many columns and rows; the rows around the cursor
    /// are shown.
    pub(super) fn layout(&self, columns: usize, rows: usize, placeholder: &str) -> EditorLayout {
        if self.is_empty() {
            let line = StyledLine::new(
                LineStyle::Dim,
                format!("> {}", text::clip(placeholder, columns - 2)),
            );
            return EditorLayout { lines: vec![line], cursor: (0, 2) };
        }
        let mut lines = vec!["> ".to_owned()];
        let mut column = 2;
        let mut cursor = (0, 2);
        for (at, char) in self.text.char_indices().chain([(self.text.len(), ' ')]) {
            let wide = text::char_width(char);
            // The cursor needs room as well, even behind the last character.
            if char != '\n' && column + wide > columns {
                lines.push("  ".to_owned());
                column = 2;
            }
            if at == self.cursor {
                cursor = (lines.len() - 1, column);
            }
            if char == '\n' {
                lines.push("  ".to_owned());
                column = 2;
            } else if let Some(line) = lines.last_mut() {
                line.push(char);
                column += wide;
            }
        }
        let first = (cursor.0 + 1).saturating_sub(rows);
        let shown = lines.iter().skip(first).take(rows);
        EditorLayout {
            lines: shown
                .map(|line| StyledLine::new(LineStyle::Plain, line.trim_end().to_owned()))
                .collect(),
            cursor: (cursor.0 - first, cursor.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[TuiKey]) -> TextEditor {
        let mut editor = TextEditor::default();
        for key in keys {
            editor.press(key);
        }
        editor
    }

    fn with(text: &str, keys: &[TuiKey]) -> TextEditor {
        let mut editor = typed(&[TuiKey::Paste(text.to_owned())]);
        for key in keys {
            editor.press(key);
        }
        editor
    }

    fn shown(editor: &TextEditor, columns: usize, rows: usize) -> (Vec<String>, (usize, usize)) {
        let layout = editor.layout(columns, rows, "Type");
        (layout.lines.into_iter().map(|line| line.text).collect(), layout.cursor)
    }

    #[test]
    fn text_is_edited_where_the_cursor_is() {
        assert_eq!(with("ac", &[TuiKey::Left, TuiKey::Char('b')]).text(), "abc");
        assert_eq!(with("aé", &[TuiKey::Backspace]).text(), "a");
        assert_eq!(with("aé", &[TuiKey::Left, TuiKey::Delete]).text(), "a");
        assert_eq!(with("one two ", &[TuiKey::Ctrl('w')]).text(), "one ");
        assert_eq!(with("one\ntwo", &[TuiKey::Ctrl('u')]).text(), "one\n");
        assert_eq!(with("one\ntwo", &[TuiKey::Home, TuiKey::Ctrl('k')]).text(), "one\n");
        assert_eq!(with("ab", &[TuiKey::Home, TuiKey::Backspace, TuiKey::Left]).text(), "ab");
        assert_eq!(with("ab", &[TuiKey::Delete, TuiKey::Right, TuiKey::Char('c')]).text(), "abc");
    }

    #[test]
    fn what_is_pasted_cannot_move_the_cursor() {
        assert_eq!(with("a\x1b[2Jb\x07\tc", &[]).text(), "ab    c");
    }

    #[test]
    fn an_empty_text_shows_what_could_be_typed() {
        assert_eq!(shown(&typed(&[]), 20, 5), (vec!["> Type".to_owned()], (0, 2)));
    }

    #[test]
    fn long_text_goes_on_in_the_next_row_and_the_cursor_with_it() {
        let rows = |rows: &[&str]| rows.iter().map(|&row| row.to_owned()).collect::<Vec<_>>();
        assert_eq!(shown(&with("abc", &[]), 6, 5), (rows(&["> abc"]), (0, 5)));
        assert_eq!(shown(&with("abcd", &[]), 6, 5), (rows(&["> abcd", ""]), (1, 2)));
        assert_eq!(
            shown(&with("abcde", &[TuiKey::Left]), 6, 5),
            (rows(&["> abcd", "  e"]), (1, 2))
        );
        assert_eq!(shown(&with("a\nb", &[]), 6, 5), (rows(&["> a", "  b"]), (1, 3)));
        assert_eq!(shown(&with("日本語", &[]), 7, 5), (rows(&["> 日本", "  語"]), (1, 4)));
    }

    #[test]
    fn of_too_many_rows_those_around_the_cursor_are_shown() {
        let rows = |rows: &[&str]| rows.iter().map(|&row| row.to_owned()).collect::<Vec<_>>();
        let editor = with("a\nb\nc\nd", &[]);
        assert_eq!(shown(&editor, 10, 2), (rows(&["  c", "  d"]), (1, 3)));
        let editor = with("a\nb\nc\nd", &[TuiKey::Home, TuiKey::Left, TuiKey::Home, TuiKey::Left]);
        assert_eq!(shown(&editor, 10, 2), (rows(&["> a", "  b"]), (1, 3)));
    }
}
