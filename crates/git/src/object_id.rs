//! The id of an object: the only way a commit is named to git, so that no name of a branch, option
//! or expression can stand in its place.

use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

use crate::Error;

/// The id of a commit, tree or blob: 40 or 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(String);

/// The id of a commit.
pub type Commit = ObjectId;

impl ObjectId {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id that git uses for "nothing", as long as this one.
    pub(crate) fn zero_like(&self) -> String {
        "0".repeat(self.0.len())
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok()?.trim().parse().ok()
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0.bytes().all(|digit| digit == b'0')
    }
}

impl FromStr for ObjectId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if digits && matches!(text.len(), 40 | 64) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::InvalidName { name: text.to_owned() })
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl AsRef<OsStr> for ObjectId {
    fn as_ref(&self) -> &OsStr {
        OsStr::new(&self.0)
    }
}
