//! What an agent on a terminal reports by itself: the token that says which attempt a report is
//! about, and what becomes of a report.
//!
//! The token is in the environment of the agent, so everything that the agent starts has it. It
//! keeps apart the reports of different attempts and those of other programs; it proves nothing
//! about what the agent does.

use std::fmt;
use std::io;
use std::path::Path;

use coven_folder::{Durability, OpenFolder};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

/// The file of an attempt with the token of its reports.
const HOOK_FILE: &str = "hook.json";
const HOOK_VERSION: u32 = 1;

/// The mode of the folder of an attempt: for its owner alone.
const PRIVATE_MODE: u32 = 0o700;

/// The bytes of a token: 256 bits.
const TOKEN_BYTES: usize = 32;

/// What a report of one attempt must show. It is never shown by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct HookToken(String);

impl fmt::Debug for HookToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HookToken(…)")
    }
}

#[derive(Serialize, Deserialize)]
struct HookFile {
    version: u32,
    token: String,
}

impl HookToken {
    /// A new one, from the system's own randomness.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        Ok(Self(digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()))
    }

    /// The text, for the environment of the agent.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a guess is right. Takes equally long for every wrong guess of the same length.
    pub(crate) fn is(&self, guess: &str) -> bool {
        self.0.as_bytes().ct_eq(guess.as_bytes()).into()
    }

    /// Leaves it for the next process that follows the agent.
    pub(crate) fn save(&self, folder: &Path) -> io::Result<()> {
        let file = HookFile { version: HOOK_VERSION, token: self.0.clone() };
        let text = serde_json::to_vec(&file).map_err(io::Error::other)?;
        let folder = OpenFolder::make_without_links(folder, PRIVATE_MODE)?;
        folder.replace(HOOK_FILE, &text, Durability::Cache).map_err(io::Error::from)
    }

    /// The one of an attempt; none if its agent does not report.
    pub fn load(folder: &Path) -> Option<Self> {
        let folder = OpenFolder::open_without_links(folder).ok()?;
        let text = folder.read(HOOK_FILE).ok()??;
        let file: HookFile = serde_json::from_slice(&text).ok()?;
        let is_whole = file.version == HOOK_VERSION && file.token.len() == 2 * TOKEN_BYTES;
        is_whole.then_some(Self(file.token))
    }
}

/// Where an agent is to report to.
#[derive(Clone, Debug)]
pub struct HookAddress {
    /// The address of its own attempt at the daemon.
    pub url: String,
    pub token: HookToken,
}

/// A report that does not show the token of the attempt, or whose agent reports nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no report of the agent")]
pub struct ReportRefused;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn a_token_is_found_again_and_no_other_is_taken_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        assert_eq!(HookToken::load(&folder), None);
        let (token, other) = (HookToken::new().unwrap(), HookToken::new().unwrap());
        token.save(&folder).unwrap();
        assert_eq!(fs::metadata(folder.join(HOOK_FILE)).unwrap().mode() & 0o777, 0o600);
        let found = HookToken::load(&folder).unwrap();
        assert_eq!(found.reveal().len(), 64);
        assert!(found.is(token.reveal()));
        let half = &token.reveal()[..32];
        for wrong in ["", half, other.reveal(), &format!("{}0", token.reveal())] {
            assert!(!found.is(wrong), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "HookToken(…)");
    }

    #[test]
    fn an_empty_or_linked_file_holds_no_token() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let file = root.join(HOOK_FILE);
        fs::write(&file, "{\"version\":1,\"token\":\"\"}").unwrap();
        assert_eq!(HookToken::load(&root), None, "an empty guess would be right");
        fs::remove_file(&file).unwrap();
        let token = HookToken::new().unwrap();
        fs::create_dir(root.join("elsewhere")).unwrap();
        token.save(&root.join("elsewhere")).unwrap();
        symlink(root.join("elsewhere").join(HOOK_FILE), &file).unwrap();
        assert_eq!(HookToken::load(&root), None);
        // What is written takes the place of the link.
        let mine = HookToken::new().unwrap();
        mine.save(&root).unwrap();
        assert_eq!(HookToken::load(&root), Some(mine));
        assert_eq!(HookToken::load(&root.join("elsewhere")), Some(token));
    }
}
