//! Text from a file, made harmless for a terminal.

/// The text with every control character replaced by a visible one of the same width, so that
/// nothing in a file can move the cursor, change colours or hide text. Tabs become spaces. Joiners
/// stay where scripts and emoji need them.
pub fn printable(text: &str) -> String {
    let mut before = '\0';
    let one = |c: char| {
        let joins = is_joiner(c) && can_be_joined(before);
        before = c;
        if joins { c } else { visible(c) }
    };
    text.chars().map(one).collect()
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether a joiner can mean something behind this character: in Arabic and the scripts that
/// follow it in Unicode, and between emoji. Behind a Latin letter it only hides.
fn can_be_joined(c: char) -> bool {
    c >= '\u{600}' && !is_unprintable(c)
}

/// Whether a terminal would act on this character, show it in another place, or not show it.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            // What does not show: soft hyphen, fillers, spaces without a width, tags.
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
            // What turns the direction of text around, and what breaks a line.
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            // What is no character at all; programs use it for marks of their own.
            | '\u{fdd0}'..='\u{fdef}'
        )
        || (c as u32) & 0xfffe == 0xfffe
}

/// One character for one character, so that columns stay what they are.
pub(crate) fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        c if is_unprintable(c) => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_replaced_and_what_is_written_stays() {
        assert_eq!(printable("a\tb\x1b[2J\x7f\u{9b}m"), "a b\u{241b}[2J\u{2421}\u{fffd}m");
        for hidden in
            ["\u{202e}", "\u{2066}", "\u{200b}", "\u{ad}", "\u{e0041}", "\u{fdd0}", "\u{1ffff}"]
        {
            assert_eq!(printable(&format!("a{hidden}b")), "a\u{fffd}b", "{hidden:?}");
        }
        assert_eq!(printable("a\u{200d}b👩\u{200d}\u{200d}"), "a\u{fffd}b👩\u{200d}\u{fffd}");
        for text in [
            "häuser",
            "日本語",
            "שלום",
            "e\u{301}",
            "✅ ⚠\u{fe0f} 🦦 👩\u{200d}💻",
            "می\u{200c}خواهم",
            "│ └── …",
        ] {
            assert_eq!(printable(text), text);
        }
    }
}
