//! Colour, where the output is a terminal. What it says is also said in words.

/// Paints texts, or leaves them as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputPaint {
    on: bool,
}

impl OutputPaint {
    pub(crate) fn new(on: bool) -> Self {
        Self { on }
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with("1;33", text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }
}
