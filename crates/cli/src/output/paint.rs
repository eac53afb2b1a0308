//! Colour, where the output is a terminal. What it says is also said in words.
//!
//! A painted text has marks in it and no escape sequences: characters that Unicode sets aside for
//! use inside a program. They become sequences where the text is printed, so that there every
//! sequence in the text is one that somebody else wrote.

/// Paints texts, or leaves them as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputPaint {
    on: bool,
}

const BOLD: char = '\u{fdd0}';
const DIM: char = '\u{fdd1}';
const RED: char = '\u{fdd2}';
const GREEN: char = '\u{fdd3}';
const YELLOW: char = '\u{fdd4}';
const CYAN: char = '\u{fdd5}';
const END: char = '\u{fdd6}';

/// The escape sequence that a mark stands for.
pub(super) fn sequence(mark: char) -> Option<&'static str> {
    Some(match mark {
        BOLD => "\x1b[1m",
        DIM => "\x1b[2m",
        RED => "\x1b[1;31m",
        GREEN => "\x1b[32m",
        YELLOW => "\x1b[1;33m",
        CYAN => "\x1b[36m",
        END => "\x1b[0m",
        _ => return None,
    })
}

impl OutputPaint {
    pub(crate) fn new(on: bool) -> Self {
        Self { on }
    }

    fn with(self, mark: char, text: &str) -> String {
        if self.on { format!("{mark}{text}{END}") } else { text.to_owned() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with(BOLD, text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with(DIM, text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with(RED, text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.with(GREEN, text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with(YELLOW, text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.with(CYAN, text)
    }
}
