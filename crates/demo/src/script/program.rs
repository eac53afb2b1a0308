//! The directives of one turn, handed out one after the other.

use super::ScriptDirective;

/// The directives of one turn. `repeat` never comes out: it is how the others come out more than
/// once.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnScript {
    steps: Vec<ScriptDirective>,
    next: usize,
    /// The loops that are under way, the innermost last.
    loops: Vec<RepeatLoop>,
}

#[derive(Clone, Debug)]
struct RepeatLoop {
    /// The first step that is repeated; the last is always the last of all.
    start: usize,
    /// How many more times, after this one.
    left: u32,
}

impl TurnScript {
    pub(super) fn new(steps: Vec<ScriptDirective>) -> Self {
        Self { steps, ..Self::default() }
    }

    /// What `self` does, then what `rest` does.
    pub(crate) fn then(mut self, rest: Self) -> Self {
        self.steps.extend(rest.steps);
        self
    }
}

impl Iterator for TurnScript {
    type Item = ScriptDirective;

    fn next(&mut self) -> Option<ScriptDirective> {
        // A `repeat` with nothing after it would turn round for nothing.
        while self.next < self.steps.len() || self.jump_back() {
            let step = self.steps[self.next].clone();
            self.next += 1;
            match step {
                ScriptDirective::Repeat(times) => {
                    if self.next < self.steps.len() {
                        self.loops.push(RepeatLoop { start: self.next, left: times - 1 });
                    }
                }
                step => return Some(step),
            }
        }
        None
    }
}

impl TurnScript {
    /// At the end, back to the start of the innermost loop that is not done.
    fn jump_back(&mut self) -> bool {
        while let Some(last) = self.loops.last_mut() {
            if last.left > 0 {
                last.left -= 1;
                self.next = last.start;
                return true;
            }
            self.loops.pop();
        }
        false
    }
}
