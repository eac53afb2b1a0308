//! Versions of programs, as programs print them, in their order.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A version: numbers with dots between them, and perhaps what marks it as one before a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramVersion {
    text: String,
    numbers: Vec<u64>,
    /// What follows a `-`: such a version comes before the one without.
    before_release: Option<String>,
}

/// A text that is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no version; versions look like `2.1.200` or `1.0.4-0`")]
pub struct NoVersion(String);

impl ProgramVersion {
    /// The first version in what a program prints, which is mostly more than that.
    pub fn find(printed: &str) -> Option<Self> {
        let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '+');
        let words = printed.split(|char: char| !is_part(char));
        let words = words.map(|word| word.trim_start_matches('v').trim_end_matches('.'));
        words.filter(|word| word.contains('.')).find_map(|word| word.parse().ok())
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a version is at least the first one that something is known of. A version that is not
    /// known stands for the newest one, and a bound that is none for every version.
    pub(crate) fn is_since(since: Option<&str>, version: Option<&Self>) -> bool {
        let since = since.and_then(|since| since.parse::<Self>().ok());
        match (since, version) {
            (Some(since), Some(version)) => *version >= since,
            _ => true,
        }
    }
}

impl FromStr for ProgramVersion {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let no_version = || NoVersion(text.to_owned());
        // What follows a `+` names a build and says nothing about the order.
        let (rest, _) = text.split_once('+').unwrap_or((text, ""));
        let (numbers, before_release) = match rest.split_once('-') {
            Some((numbers, before)) => (numbers, Some(before.to_owned())),
            None => (rest, None),
        };
        let numbers: Result<Vec<u64>, _> = numbers.split('.').map(str::parse).collect();
        let numbers = numbers.map_err(|_| no_version())?;
        if before_release.as_deref() == Some("") {
            return Err(no_version());
        }
        Ok(Self { text: text.to_owned(), numbers, before_release })
    }
}

impl Ord for ProgramVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        let length = self.numbers.len().max(other.numbers.len());
        let number = |of: &Self, at: usize| of.numbers.get(at).copied().unwrap_or(0);
        (0..length)
            .map(|at| number(self, at).cmp(&number(other, at)))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| match (&self.before_release, &other.before_release) {
                (None, None) => Ordering::Equal,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => before_release(one, other),
            })
    }
}

/// The order of two marks before the same release: piece by piece, numbers by their value.
fn before_release(one: &str, other: &str) -> Ordering {
    let piece = |text: &str| match text.parse::<u64>() {
        Ok(number) => (0, number, String::new()),
        Err(_) => (1, 0, text.to_owned()),
    };
    one.split('.').map(piece).cmp(other.split('.').map(piece))
}

impl PartialOrd for ProgramVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ProgramVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> ProgramVersion {
        text.parse().unwrap()
    }

    #[test]
    fn versions_stand_in_the_order_of_their_numbers() {
        let ordered = [
            "0.0.382-0",
            "0.0.382",
            "0.9.1",
            "0.10.0-alpha.2",
            "0.10.0-alpha.10",
            "0.10.0",
            "1.0.4-0",
            "1.0.4",
            "2.1.197",
            "2.1.200",
            "2.10",
        ];
        for pair in ordered.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{} and {}", pair[0], pair[1]);
        }
        assert_eq!(version("1.2").cmp(&version("1.2.0+build5")), Ordering::Equal);
    }

    #[test]
    fn a_version_is_found_in_whatever_a_program_says() {
        for (text, wanted) in [
            ("2.1.325 (Claude Code)\n", Some("2.1.325")),
            ("codex-cli 0.166.0", Some("0.166.0")),
            ("aider v0.86.2.", Some("0.86.2")),
            ("GitHub Copilot CLI 1.0.4-0.\nRun 'copilot update'", Some("1.0.4-0")),
            ("no number here... 3 of them", None),
            ("Error: Cannot find module './x.js'", None),
        ] {
            let found = ProgramVersion::find(text);
            assert_eq!(found.as_ref().map(ProgramVersion::as_str), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "v1", "1.x", "latest", "1.0-", ">=2.1", "1..2"] {
            assert!(text.parse::<ProgramVersion>().is_err(), "{text}");
        }
    }
}
