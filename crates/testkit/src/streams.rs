//! Generated terminal output of any length, the same at every call: what benchmarks measure with.
//!
//! A stream ends after a whole line or frame, so it is a little longer than asked for and always
//! valid UTF-8.

use crate::random::Random;

/// The screen the redraws are made for.
const COLUMNS: usize = 120;
const ROWS: usize = 40;

const WORDS: &[&str] = &[
    "request",
    "the",
    "worker",
    "of",
    "connection",
    "to",
    "cache",
    "in",
    "finished",
    "and",
    "session",
    "retry",
    "a",
    "timeout",
    "for",
    "checkpoint",
    "with",
    "compiling",
    "module",
    "src/main.rs",
    "after",
    "42",
    "tests",
    "passed",
    "is",
    "waiting",
    "config.toml",
    "on",
    "queue",
];

/// Plain ASCII log text: lines of very different length, a few of them wrapped, none coloured.
pub fn log(bytes: usize) -> Vec<u8> {
    build(1, bytes, |random, out, number| {
        let level = random.pick(&["INFO ", "INFO ", "DEBUG", "WARN ", "ERROR"]);
        let (minute, second) = (number / 60 % 60, number % 60);
        let millis = random.below(1000);
        out.push_str(&format!("2026-01-15T08:{minute:02}:{second:02}.{millis:03}Z {level} "));
        let words = if random.below(20) == 0 { 40 } else { 1 + random.below(14) };
        sentence(random, out, words);
        if random.below(3) == 0 {
            out.push_str(&format!(
                " id={:08x} took={}ms",
                random.next() as u32,
                random.below(5000)
            ));
        }
        out.push_str("\r\n");
    })
}

/// Frames of a full-screen agent at 120x40, each inside synchronized output: half of them rewrite
/// a block of lines from its top, half of them address the cells that changed.
pub fn tui(bytes: usize) -> Vec<u8> {
    build(2, bytes, |random, out, number| {
        out.push_str("\x1b[?2026h");
        if random.below(2) == 0 {
            rewrite_block(random, out, number);
        } else {
            patch_cells(random, out, number);
        }
        out.push_str("\x1b[?2026l");
    })
}

/// Lines of Chinese, Japanese and Korean, emoji (joined, toned, with variation selectors, flags)
/// and letters with combining marks.
pub fn unicode(bytes: usize) -> Vec<u8> {
    const WIDE: &[&str] =
        &["漢字", "端末", "出力", "かな", "カタカナ", "한국어", "中文", "。", "、"];
    const EMOJI: &[&str] = &[
        "👍",
        "👍🏽",
        "🚀",
        "✅",
        "❤\u{fe0f}",
        "⚠\u{fe0f}",
        "👩\u{200d}💻",
        "👨\u{200d}👩\u{200d}👧\u{200d}👦",
        "🏳\u{fe0f}\u{200d}🌈",
        "\u{1f1e9}\u{1f1ea}",
        "🤷🏻\u{200d}♀\u{fe0f}",
    ];
    const MARKED: &[&str] =
        &["e\u{301}", "n\u{303}", "a\u{30a}\u{323}", "é", "ü", "ß", "ค\u{e35}\u{e48}"];
    build(3, bytes, |random, out, _| {
        for _ in 0..=random.below(30) {
            let set = [WIDE, WIDE, WIDE, EMOJI, MARKED, MARKED, WORDS][random.below(7)];
            out.push_str(random.pick(set));
            if random.below(4) == 0 {
                out.push(' ');
            }
        }
        out.push_str("\r\n");
    })
}

/// Adds pieces, each with its number, until there is enough.
fn build(
    seed: u64,
    bytes: usize,
    mut piece: impl FnMut(&mut Random, &mut String, usize),
) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut out = String::with_capacity(bytes + 8 * 1024);
    let mut number = 0;
    while out.len() < bytes {
        piece(&mut random, &mut out, number);
        number += 1;
    }
    out.into_bytes()
}

fn sentence(random: &mut Random, out: &mut String, words: usize) {
    for word in 0..words {
        if word > 0 {
            out.push(' ');
        }
        out.push_str(random.pick(WORDS));
    }
}

fn color(random: &mut Random, out: &mut String) {
    out.push_str(&if random.below(4) == 0 {
        let (r, g, b) = (random.below(256), random.below(256), random.below(256));
        format!("\x1b[38;2;{r};{g};{b}m")
    } else {
        format!("\x1b[38;5;{}m", 16 + random.below(240))
    });
}

fn spinner(out: &mut String, number: usize) {
    const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    out.push_str(&format!("\x1b[38;5;174m{}\x1b[39m \x1b[3mThinking…\x1b[23m \x1b[38;5;246m({}s · ↓ {} tokens · esc to interrupt)\x1b[39m",
        FRAMES[number % FRAMES.len()],
        number / 10,
        number * 7,
    ));
}

/// The old block is erased line by line from below, and written again with what is new above it,
/// which scrolls the screen: how Ink draws.
fn rewrite_block(random: &mut Random, out: &mut String, number: usize) {
    const BLOCK: usize = 7;
    // Wherever the frame before left the cursor, the block stands at the bottom.
    out.push_str(&format!("\x1b[{ROWS};1H"));
    for _ in 1..BLOCK {
        out.push_str("\x1b[2K\x1b[1A");
    }
    out.push_str("\x1b[2K\x1b[G");
    for _ in 0..random.below(4) {
        color(random, out);
        out.push_str("● \x1b[39m");
        let words = random.below(16);
        sentence(random, out, words);
        out.push_str("\r\n");
    }
    spinner(out, number);
    let line = "─".repeat(COLUMNS - 2);
    out.push_str(&format!("\r\n\r\n\x1b[2m\x1b[38;5;244m╭{line}╮\x1b[22m\r\n"));
    out.push_str(&format!(
        "│\x1b[39m \x1b[1m❯\x1b[22m \x1b[7m \x1b[27m{:114}\x1b[38;5;244m│\r\n",
        ""
    ));
    out.push_str(&format!("╰{line}╯\x1b[39m\r\n"));
    let percent = number % 100;
    out.push_str(&format!(
        "  \x1b[48;5;236m\x1b[38;5;180m main \x1b[49m\x1b[39m  {percent}% context left"
    ));
    out.push_str("\r\n  ⏵⏵ auto mode on \x1b[38;5;246m(shift+tab to cycle)\x1b[39m");
}

/// Words, colours and ends of lines are put where they changed: how cell-diffing toolkits draw.
fn patch_cells(random: &mut Random, out: &mut String, number: usize) {
    out.push_str("\x1b[?25l");
    for _ in 0..=random.below(12) {
        let (row, column) = (1 + random.below(ROWS - 7), 1 + random.below(COLUMNS - 40));
        out.push_str(&format!("\x1b[{row};{column}H"));
        color(random, out);
        if random.below(4) == 0 {
            out.push_str(&format!("\x1b[48;5;{}m", 232 + random.below(24)));
        }
        let words = 1 + random.below(4);
        sentence(random, out, words);
        out.push_str(random.pick(&["\x1b[K", "\x1b[0m", "\x1b[39;49m", " │", "\x1b[1m·\x1b[22m"]));
        out.push_str("\x1b[0m");
    }
    out.push_str(&format!("\x1b[{};1H", ROWS - 6));
    spinner(out, number);
    out.push_str(&format!("\x1b[K\x1b[{};5H\x1b[?25h", ROWS - 3));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long enough, not much longer, the same every time, and valid UTF-8.
    fn stream(make: fn(usize) -> Vec<u8>) -> String {
        let bytes = make(50_000);
        assert!((50_000..60_000).contains(&bytes.len()), "{}", bytes.len());
        assert_eq!(bytes, make(50_000));
        assert_eq!(bytes[..20_000], make(20_000)[..20_000], "a longer one begins with a shorter");
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_log_is_plain_lines_of_which_some_are_wider_than_the_screen() {
        let text = stream(log);
        assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\r' | b'\n')));
        let widths: Vec<usize> = text.split("\r\n").map(str::len).collect();
        assert!(widths.iter().any(|&width| width > COLUMNS));
        assert!(widths.iter().any(|&width| width < COLUMNS / 2));
    }

    #[test]
    fn redraws_are_whole_frames_that_move_the_cursor_and_colour() {
        let text = stream(tui);
        let frames: Vec<&str> = text.split_inclusive("\x1b[?2026l").collect();
        assert!(frames.iter().all(|frame| frame.starts_with("\x1b[?2026h")));
        assert!(frames.iter().all(|frame| frame.ends_with("\x1b[?2026l")));
        for part in ["\x1b[1A", "\x1b[2K", "\x1b[K", "\x1b[38;2;", "\x1b[38;5;", "╭", "\x1b[40;1H"]
        {
            assert!(text.contains(part), "{part:?}");
        }
    }

    #[test]
    fn unicode_has_wide_joined_toned_and_marked_characters() {
        let text = stream(unicode);
        for part in ["漢", "한", "🚀", "\u{200d}", "\u{fe0f}", "🏽", "\u{301}", "\u{1f1e9}"] {
            assert!(text.contains(part), "{part:?}");
        }
    }
}
