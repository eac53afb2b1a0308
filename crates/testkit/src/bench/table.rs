//! Tables in Markdown: names to the left, numbers to the right.

/// The first lines of a table with these columns.
pub fn header<'a>(first: &'a str, columns: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = std::iter::once(first).chain(columns).collect();
    let mut line = format!("| {} |\n|---|", names.join(" | "));
    line.push_str(&"---:|".repeat(names.len() - 1));
    line.push('\n');
    line
}

pub fn row(table: &mut String, name: &str, cells: impl IntoIterator<Item = String>) {
    table.push_str(&format!("| {name} |"));
    for cell in cells {
        table.push_str(&format!(" {cell} |"));
    }
    table.push('\n');
}
