//! Text from a file, made harmless for a terminal.

/// The text with every control character replaced by a visible one of the same width, so that
/// nothing in a file can move the cursor, change colours or hide text. Tabs become spaces.
pub fn printable(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// One character for one character, so that columns stay what they are.
pub(crate) fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        // C1 controls, and what turns the direction of text around or does not show at all.
        '\u{80}'..='\u{9f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{61c}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' => '\u{fffd}',
        c => c,
    }
}
