//! Writing to stdout: what was asked for, and nothing else.

use std::io::{self, IsTerminal, Write};

use crate::failure::Result;

/// Writes a text. A reader that went away is no failure.
pub(crate) fn write(text: &str) -> Result {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Writes a line.
pub(crate) fn line(text: &str) -> Result {
    write(&format!("{text}\n"))
}

/// Writes a value as JSON that people can read.
pub(crate) fn json(value: &serde_json::Value) -> Result {
    line(&format!("{value:#}"))
}

/// Whether stderr takes colour.
pub(crate) fn colour_on_stderr() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A text cut to this many characters, with a mark where something is missing.
pub(crate) fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some(_) => text.chars().take(characters.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// Lays rows out in columns, two spaces apart. The last column is not padded.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
