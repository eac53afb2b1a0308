//! The digest that binds an answer to the question it was given for.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// SHA-256 of what was asked: the rule that saw it, the lines of its region without what changes
/// by itself, and how often the same question was asked before. As hexadecimal text.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct ContentDigest(String);

impl ContentDigest {
    /// The digest of one question. `lines` are the joined lines of the region with everything
    /// volatile removed; `occurrence` counts equal questions of one agent from 1.
    pub fn of_question<'a>(
        rule: &str,
        lines: impl IntoIterator<Item = &'a str>,
        occurrence: u64,
    ) -> Self {
        let mut hash = Sha256::new();
        // Lengths first, so that no two different questions are the same run of bytes.
        let mut part = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        part(rule);
        for line in lines {
            part(line);
        }
        hash.update(occurrence.to_le_bytes());
        Self::from_bytes(&hash.finalize())
    }

    /// The digest of a run of bytes, for files and values.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::from_bytes(&Sha256::digest(bytes))
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_question_counts() {
        let one = ContentDigest::of_question("rule", ["a", "b"], 1);
        assert_eq!(one, ContentDigest::of_question("rule", ["a", "b"], 1));
        for other in [
            ContentDigest::of_question("rul", ["ea", "b"], 1),
            ContentDigest::of_question("rule", ["ab"], 1),
            ContentDigest::of_question("rule", ["a", "b"], 2),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(one.as_str().len(), 64);
    }
}
