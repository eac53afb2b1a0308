//! What can be wrong with a directive.

use super::directive::{DIRECTIVE_NAMES, usage};

/// What is wrong with a directive.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DirectiveProblem {
    /// No directive has this name.
    #[error("unknown directive {name:?}")]
    Unknown {
        /// What stands where the name should.
        name: String,
    },
    /// The arguments do not fit.
    #[error("{name}: {reason}")]
    Arguments {
        name: &'static str,
        /// What is wrong with its arguments.
        reason: String,
    },
}

impl DirectiveProblem {
    /// What to write instead.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { name } => Some(match near(name) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("the directives are {}", DIRECTIVE_NAMES.join(", ")),
            }),
            Self::Arguments { name, .. } => Some(format!("write it as `{}`", usage(name))),
        }
    }
}

/// The directive whose name is at most two letters away.
fn near(name: &str) -> Option<&'static str> {
    let distances = DIRECTIVE_NAMES.iter().map(|known| (distance(name, known), *known));
    distances.filter(|(distance, _)| *distance <= 2).min().map(|(_, known)| known)
}

/// How many letters must be added, removed or changed to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in to.iter().enumerate() {
            let change = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}
