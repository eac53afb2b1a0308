//! A patch for people: with colour, without what would act on the terminal.

use coven_notation::is_unprintable;

use crate::output::{OutputPaint, PutText};

/// The first line of what stands for a file that is not text.
const BINARY: &str = "GIT binary patch";

/// A patch as it is shown on a terminal. Bytes that are no UTF-8 are replaced, and the contents of
/// files that are not text are left out.
pub(super) fn painted(patch: &[u8], paint: OutputPaint) -> String {
    let patch = String::from_utf8_lossy(patch);
    let mut text = String::new();
    let (mut head, mut binary) = (true, false);
    for line in patch.strip_suffix('\n').unwrap_or(&patch).split('\n') {
        if line.starts_with("diff --git ") {
            (head, binary) = (true, false);
        } else if line.starts_with("@@ ") {
            head = false;
        } else if head && line == BINARY {
            binary = true;
            text.put(format!("{}\n", paint.dim("not text, and not shown")));
        }
        if binary {
            continue;
        }
        let shown = marked(line);
        let painted = match line.as_bytes().first() {
            _ if head => paint.bold(&shown),
            Some(b'@') => paint.cyan(&shown),
            Some(b'+') => paint.green(&shown),
            Some(b'-') => paint.red(&shown),
            _ => shown,
        };
        text.put(format!("{painted}\n"));
    }
    text
}

/// A line in which everything that would act on a terminal, turn the direction of text or not show
/// at all stands as its name. Tabs stay.
fn marked(line: &str) -> String {
    if line.chars().all(|character| character == '\t' || !is_unprintable(character)) {
        return line.to_owned();
    }
    let mut text = String::with_capacity(line.len());
    for character in line.chars() {
        if character == '\t' || !is_unprintable(character) {
            text.push(character);
        } else {
            text.put(format!("<U+{:04X}>", u32::from(character)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_on_a_terminal_or_turn_text_around_is_named() {
        let patch =
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+\u{202e}b\x1b[2J\tc\r\n";
        assert_eq!(
            painted(patch.as_bytes(), OutputPaint::new(false)),
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+<U+202E>b<U+001B>[2J\tc<U+000D>\n"
        );
    }

    #[test]
    fn what_is_not_text_is_left_out_up_to_the_next_file() {
        let patch = "diff --git a/p b/p\nindex 1..2\nGIT binary patch\nliteral 3\nKcmZ\n\n\
                     diff --git a/x b/x\n@@ -1 +1 @@\n-GIT binary patch\n+y\n";
        let text = painted(patch.as_bytes(), OutputPaint::new(false));
        assert!(!text.contains("KcmZ") && text.contains("not text, and not shown"), "{text}");
        assert!(text.ends_with("-GIT binary patch\n+y\n"), "{text}");
    }
}
