//! The environment of whoever asked for a session, kept beside its journal while it runs.
//!
//! The next process that goes on with the session starts its jobs with it. It may hold secrets, so
//! it is for its owner alone, stands in no journal and no view, and goes when the session is over.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// An environment.
pub(crate) type Environment = BTreeMap<OsString, OsString>;

const FILE: &str = "caller-env";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Written {
    version: u32,
    env: Vec<(Text, Text)>,
}

/// A text, or bytes that are none.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Bytes { base64: String },
}

impl Text {
    fn new(text: &OsString) -> Self {
        match text.to_str() {
            Some(text) => Self::Plain(text.to_owned()),
            None => Self::Bytes { base64: STANDARD.encode(text.as_bytes()) },
        }
    }

    fn read(self) -> Option<OsString> {
        match self {
            Self::Plain(text) => Some(text.into()),
            Self::Bytes { base64 } => STANDARD.decode(base64).ok().map(OsString::from_vec),
        }
    }
}

/// Keeps an environment in the folder of a session, in the place of the one that was there.
pub(crate) fn keep(folder: &Path, env: &Environment) -> io::Result<()> {
    let env = env.iter().map(|(name, value)| (Text::new(name), Text::new(value))).collect();
    let text = serde_json::to_vec(&Written { version: VERSION, env })?;
    let draft = folder.join("caller-env.new");
    // A draft that is left over, or a link in its place, is not written to but replaced.
    let _ = fs::remove_file(&draft);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&draft, folder.join(FILE))
}

/// The environment that is kept in the folder of a session. One that a newer program wrote, or
/// that cannot be read, is none.
pub(crate) fn kept(folder: &Path) -> Option<Environment> {
    let path = folder.join(FILE);
    if !fs::symlink_metadata(&path).ok()?.is_file() {
        return None;
    }
    let written: Written = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let pairs = Some(written).filter(|written| written.version <= VERSION)?.env;
    pairs.into_iter().map(|(name, value)| Some((name.read()?, value.read()?))).collect()
}

/// Forgets it.
pub(crate) fn forget(folder: &Path) {
    // What is not there needs no removing, and what cannot be removed is removed with the session.
    let _ = fs::remove_file(folder.join(FILE));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing there and then")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_environment_reads_back_byte_by_byte_and_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let odd = OsString::from_vec(vec![b'a', 0xff, b'\n']);
        let env = BTreeMap::from([("PATH".into(), "/bin".into()), ("ODD".into(), odd.clone())]);
        keep(folder.path(), &env).unwrap();
        assert_eq!(kept(folder.path()), Some(env));
        let mode = fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        keep(folder.path(), &BTreeMap::from([(odd, "1".into())])).unwrap();
        assert_eq!(kept(folder.path()).unwrap().len(), 1, "the newer one counts");
        forget(folder.path());
        assert_eq!(kept(folder.path()), None);
    }

    #[test]
    fn what_a_newer_program_wrote_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), r#"{"version":2,"env":[]}"#).unwrap();
        assert_eq!(kept(folder.path()), None);
    }
}
