//! As much markdown as the checks need: tables, and prose without its code.

/// A table with the line numbers of its rows.
pub(crate) struct MarkdownTable {
    pub(crate) header: TableRow,
    pub(crate) rows: Vec<TableRow>,
}

pub(crate) struct TableRow {
    /// Line, counted from 1.
    pub(crate) line: usize,
    cells: Vec<String>,
}

impl TableRow {
    /// The text of a column; empty when the row is too short.
    pub(crate) fn cell(&self, column: usize) -> &str {
        self.cells.get(column).map_or("", String::as_str)
    }
}

/// Every table of the text, outside fenced code.
pub(crate) fn tables(text: &str) -> Vec<MarkdownTable> {
    let mut tables: Vec<MarkdownTable> = Vec::new();
    let mut above = None;
    let mut inside = false;
    for (line, text, fenced) in with_fences(text) {
        let Some(row) = row(line, text).filter(|_| !fenced) else {
            (above, inside) = (None, false);
            continue;
        };
        if inside && let Some(table) = tables.last_mut() {
            table.rows.push(row);
        } else if is_delimiter(&row)
            && let Some(header) = above.take()
        {
            tables.push(MarkdownTable { header, rows: Vec::new() });
            inside = true;
        } else {
            above = Some(row);
        }
    }
    tables
}

/// The text with fenced code and code spans turned into blanks. Lines stay where they are.
pub(crate) fn prose(text: &str) -> String {
    with_fences(text)
        .map(|(_, line, fenced)| if fenced { "\n".to_owned() } else { without_spans(line) + "\n" })
        .collect()
}

/// The parts of a line that stand in single backticks.
pub(crate) fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Line number, text, and whether the line belongs to fenced code.
fn with_fences(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut fence: Option<&str> = None;
    text.lines().enumerate().map(move |(index, line)| {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        let fenced = fence.is_some() || mark.is_some();
        match fence {
            None => fence = mark,
            Some(_) if fence == mark => fence = None,
            Some(_) => {}
        }
        (index + 1, line, fenced)
    })
}

fn row(line: usize, text: &str) -> Option<TableRow> {
    let inner = text.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    // `\|` is a bar inside a cell.
    let hidden = inner.replace("\\|", "\0");
    let cells = hidden.split('|').map(|cell| cell.trim().replace('\0', "|")).collect();
    Some(TableRow { line, cells })
}

fn is_delimiter(row: &TableRow) -> bool {
    row.cells.iter().all(|cell| cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':')))
}

fn without_spans(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].bytes().take_while(|byte| *byte == b'`').count();
        let (before, span) = rest.split_at(start);
        kept.push_str(before);
        let body = &span[ticks..];
        let Some(end) = body.find(&span[..ticks]) else {
            kept.push_str(span);
            return kept;
        };
        kept.extend(span[..ticks + end + ticks].chars().map(|_| ' '));
        rest = &body[end + ticks..];
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_keep_lines_cells_and_escaped_bars() {
        let text = "intro\n\n| a | b |\n|---|:-:|\n| `x` | y \\| z |\n| w |\n\n| not | a table |\n";
        let tables = tables(text);
        assert_eq!(tables.len(), 1);
        let table = &tables[0];
        assert_eq!((table.header.line, table.header.cell(1)), (3, "b"));
        assert_eq!(table.rows.len(), 2);
        assert_eq!((table.rows[0].line, table.rows[0].cell(1)), (5, "y | z"));
        assert_eq!((table.rows[1].cell(0), table.rows[1].cell(1)), ("w", ""));
    }

    #[test]
    fn tables_end_with_the_paragraph_and_do_not_live_in_fences() {
        let text = "| a |\n|---|\n| b |\nprose\n| c |\n|---|\n```\n| d |\n|---|\n```\n";
        let found: Vec<String> =
            tables(text).iter().map(|table| table.header.cell(0).to_owned()).collect();
        assert_eq!(found, ["a", "c"]);
    }

    #[test]
    fn prose_has_no_fenced_code_and_no_code_spans() {
        let text = "a `b` c\n```text\nd\n~~~\n```\ne ``f ` g`` h\ni ` j\n";
        assert_eq!(prose(text), "a     c\n\n\n\n\ne           h\ni ` j\n");
    }

    #[test]
    fn code_spans_are_what_stands_between_backticks() {
        let spans: Vec<&str> = code_spans("`a`, b and `c::d`").collect();
        assert_eq!(spans, ["a", "c::d"]);
    }
}
