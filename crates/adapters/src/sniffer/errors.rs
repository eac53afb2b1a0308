//! Which errors on the screen are news. A turn that ended with an error leaves its message there
//! long after a person has seen it and gone on.

use std::collections::HashMap;

/// Follows the error lines on a screen.
#[derive(Debug, Default)]
pub(super) struct ErrorTracker {
    on_screen: HashMap<String, usize>,
    /// The error lines on the screen at the last input, which the person who typed has seen.
    known: HashMap<String, usize>,
}

impl ErrorTracker {
    /// These error lines are on the screen now.
    pub(super) fn set_lines(&mut self, lines: Vec<String>) {
        self.on_screen.clear();
        for line in lines {
            *self.on_screen.entry(line).or_default() += 1;
        }
    }

    /// Takes note of input to the agent: the errors on the screen are older than what follows.
    pub(super) fn typed(&mut self) {
        self.known.clone_from(&self.on_screen);
    }

    /// The agent works again: if the same message stands there afterwards, it is a new one.
    pub(super) fn forget_known(&mut self) {
        self.known.clear();
    }

    /// Whether this line says something new.
    pub(super) fn is_new(&self, line: &str) -> bool {
        let known = self.known.get(line).copied().unwrap_or(0);
        self.on_screen.get(line).copied().unwrap_or(1) > known
    }
}
