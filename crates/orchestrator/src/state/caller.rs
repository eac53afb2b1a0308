//! The environment of the client that asked for a session, kept beside its journal while it runs.
//!
//! The next process that goes on with the session starts its jobs with it. It may hold secrets, so
//! it is for its owner alone, stands in no journal and no view, and goes when the session is over.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coven_folder::{Durability, OpenFolder, best_effort};
use serde::{Deserialize, Serialize};

pub(crate) type Environment = BTreeMap<OsString, OsString>;

const CALLER_ENV_FILE: &str = "caller-env";
const CALLER_ENV_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct WrittenCaller {
    version: u32,
    env: Vec<(CallerText, CallerText)>,
}

/// A text, or bytes that are none.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum CallerText {
    Plain(String),
    Bytes { base64: String },
}

impl CallerText {
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
    let env =
        env.iter().map(|(name, value)| (CallerText::new(name), CallerText::new(value))).collect();
    let text = serde_json::to_vec(&WrittenCaller { version: CALLER_ENV_VERSION, env })?;
    let folder = OpenFolder::open_without_links(folder)?;
    Ok(folder.replace(CALLER_ENV_FILE, &text, Durability::Synced)?)
}

/// The environment that is kept in the folder of a session. One that a newer program wrote, or
/// that cannot be read, is none.
pub(crate) fn kept(folder: &Path) -> Option<Environment> {
    let text = OpenFolder::open_without_links(folder).ok()?.read(CALLER_ENV_FILE).ok()??;
    let written: WrittenCaller = serde_json::from_slice(&text).ok()?;
    let pairs = Some(written).filter(|written| written.version <= CALLER_ENV_VERSION)?.env;
    pairs.into_iter().map(|(name, value)| Some((name.read()?, value.read()?))).collect()
}

pub(crate) fn forget(folder: &Path) {
    // What is not there needs no removing, and what cannot be removed is removed with the session.
    let removed =
        OpenFolder::open_without_links(folder).and_then(|folder| folder.remove(CALLER_ENV_FILE));
    best_effort("remove the environment of a session", removed);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing there and then")]

    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

    /// A folder of its own, by a path without links.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(folder.path()).unwrap();
        (folder, path)
    }

    #[test]
    fn an_environment_is_neither_kept_nor_read_through_a_link() {
        let (_root, root) = folder();
        let env = BTreeMap::from([("KEY".into(), "secret".into())]);
        for is_symbolic in [true, false] {
            let session = root.join(format!("session-{is_symbolic}"));
            fs::create_dir(&session).unwrap();
            let victim = root.join("victim");
            fs::write(&victim, "not yours").unwrap();
            for name in [CALLER_ENV_FILE, "caller-env.new"] {
                if is_symbolic {
                    symlink(&victim, session.join(name)).unwrap();
                } else {
                    fs::hard_link(&victim, session.join(name)).unwrap();
                }
            }
            assert_eq!(kept(&session), None);
            keep(&session, &env).unwrap();
            assert_eq!(fs::read_to_string(&victim).unwrap(), "not yours");
            assert_eq!(kept(&session), Some(env.clone()));
            fs::rename(session.join(CALLER_ENV_FILE), root.join("moved")).unwrap();
            symlink(root.join("moved"), session.join(CALLER_ENV_FILE)).unwrap();
            assert_eq!(kept(&session), None, "that of another session");
            forget(&session);
            assert!(root.join("moved").exists());
        }
        // A session's folder that was replaced by a link is not entered.
        let (real, link) = (root.join("session-true"), root.join("link"));
        keep(&real, &env).unwrap();
        symlink(&real, &link).unwrap();
        assert_eq!(kept(&link), None);
        assert!(keep(&link, &BTreeMap::new()).is_err());
        forget(&link);
        assert_eq!(kept(&real), Some(env));
    }

    #[test]
    fn an_environment_reads_back_byte_by_byte_and_is_for_its_owner_alone() {
        let (_root, folder) = folder();
        let odd = OsString::from_vec(vec![b'a', 0xff, b'\n']);
        let env = BTreeMap::from([("PATH".into(), "/bin".into()), ("ODD".into(), odd.clone())]);
        keep(&folder, &env).unwrap();
        assert_eq!(kept(&folder), Some(env));
        let mode = fs::metadata(folder.join(CALLER_ENV_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        keep(&folder, &BTreeMap::from([(odd, "1".into())])).unwrap();
        assert_eq!(kept(&folder).unwrap().len(), 1, "the newer one counts");
        forget(&folder);
        assert_eq!(kept(&folder), None);
    }

    #[test]
    fn what_a_newer_program_wrote_is_left_alone() {
        let (_root, folder) = folder();
        fs::write(folder.join(CALLER_ENV_FILE), r#"{"version":2,"env":[]}"#).unwrap();
        assert_eq!(kept(&folder), None);
    }
}
