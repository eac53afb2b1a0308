//! Cutting an output into whole lines, however it arrives.

/// Gives lines as soon as each is whole. Every byte is looked at once, however long a line is and
/// however many there are.
#[derive(Debug, Default)]
pub(super) struct WholeLines {
    /// The beginning of a line whose end has not come.
    partial: String,
}

impl WholeLines {
    /// The next piece; the lines that are whole now, without their ends.
    pub(super) fn push(&mut self, piece: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for part in piece.split_inclusive('\n') {
            match part.strip_suffix('\n') {
                Some(end) => {
                    let mut line = std::mem::take(&mut self.partial);
                    line.push_str(end);
                    lines.push(line);
                }
                None => self.partial.push_str(part),
            }
        }
        lines
    }

    /// The line whose end never came.
    pub(super) fn last(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.partial)).filter(|line| !line.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_wherever_the_output_is_cut() {
        let text = "one\n\nthree é\nfour";
        for (cut, _) in text.char_indices() {
            let mut lines = WholeLines::default();
            let mut all = lines.push(&text[..cut]);
            all.extend(lines.push(&text[cut..]));
            assert_eq!(all, ["one", "", "three é"], "cut at {cut}");
            assert_eq!(lines.last().as_deref(), Some("four"));
            assert_eq!(lines.last(), None);
        }
    }
}
