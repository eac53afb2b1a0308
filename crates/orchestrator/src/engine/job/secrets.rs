//! Which values of an environment are secret, judged by the names of their variables. They are
//! taken out of everything that people are shown; the tape has what was really printed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use coven_model::JobOutcome;

use super::JobDetails;

/// The last word of a name that stands for a secret.
const SECRET_WORDS: [&str; 11] = [
    "KEY",
    "KEYS",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
];

/// The same where names are written in one piece.
const SECRET_ENDINGS: [&str; 5] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY"];

/// A shorter value is a setting, and taking it out would take out words that mean something else.
const MIN_SECRET_BYTES: usize = 8;

/// The secret values among these variables.
pub(super) fn secrets<'a>(
    variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
) -> BTreeSet<String> {
    let secret = |(name, value): (&OsStr, &OsStr)| {
        let (name, value) = (name.to_str()?, value.to_str()?);
        // The path of a file with a secret is none.
        let hidden = value.len() >= MIN_SECRET_BYTES && is_secret(name) && !is_path(value);
        hidden.then(|| value.to_owned())
    };
    variables.into_iter().filter_map(secret).collect()
}

/// Whether a variable of this name holds a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let mut words = name.split(['_', '-', '.']);
    words.any(|word| {
        SECRET_WORDS.contains(&word) || SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending))
    })
}

fn is_path(value: &str) -> bool {
    value.starts_with('/') && Path::new(value).exists()
}

impl JobDetails {
    /// An outcome without secrets.
    pub(super) fn without_secrets(&self, mut outcome: JobOutcome) -> JobOutcome {
        let clean = |text: &mut String| *text = self.redactor.clean(text);
        clean(&mut outcome.reason);
        outcome.output.iter_mut().for_each(clean);
        outcome.stderr.iter_mut().for_each(clean);
        outcome.channel_refused.iter_mut().for_each(clean);
        outcome.denials.iter_mut().for_each(clean);
        outcome.retry = outcome.retry.take().map(|retry| self.redactor.clean_retry(&retry));
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_the_names_of_their_variables() {
        for name in ["OPENAI_API_KEY", "GH_TOKEN", "GITHUBTOKEN", "db_password", "AWS_SECRET_ID"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["PATH", "PWD", "KEYBOARD", "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK", "HOME"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn paths_and_short_values_are_no_secrets() {
        let variables = [("A_KEY", "/etc"), ("A_TOKEN", "true"), ("B_KEY", "/not/there/s3cret")];
        let variables = variables.map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        assert_eq!(secrets(variables), BTreeSet::from(["/not/there/s3cret".to_owned()]));
    }
}
