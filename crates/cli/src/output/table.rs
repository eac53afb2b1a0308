//! Rows in columns.

use super::text::{shortened, width};

/// Lays rows out in columns, two spaces apart. The last column is not padded, and cut where the
/// line would be wider than `columns`.
pub(crate) fn table(rows: &[Vec<String>], columns: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| width(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(widest).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (place, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let used = super::width(&line);
            let cell = if place + 1 == count {
                shortened(cell, columns.saturating_sub(used).max(4))
            } else {
                let fill = width.saturating_sub(super::width(cell)) + 2;
                format!("{cell}{}", " ".repeat(fill))
            };
            line.push_str(&cell);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_the_letters_and_the_last_is_cut() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["A", "BB", "C"]), row(["日本", "b", "a long last cell"])];
        assert_eq!(table(&rows, 22), "A     BB  C\n日本  b   a long last…\n");
    }
}
