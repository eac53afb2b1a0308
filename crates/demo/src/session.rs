//! What the agent remembers of a conversation: one small JSON file per session.

mod error;
mod history;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use error::Error;
pub(crate) use history::user_message;

/// The version of the file format that is written.
const SESSION_VERSION: u32 = 1;

/// How many prompts are remembered, and how many characters of each: enough to show that the
/// agent remembers, and bounded however long a conversation gets.
const MAX_PROMPTS: usize = 100;
const MAX_PROMPT_CHARS: usize = 1000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DemoSession {
    version: u32,
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) turns: u64,
    /// The last prompts, shortened, the newest last.
    pub(crate) prompts: Vec<String>,
    /// What it cost so far, once a script has said so. Before, it is unknown, which is not zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
}

impl DemoSession {
    pub(crate) fn new(id: String, model: String) -> Self {
        Self { version: SESSION_VERSION, id, model, turns: 0, prompts: Vec::new(), cost_usd: None }
    }

    /// Adds to what it cost.
    pub(crate) fn charge(&mut self, usd: f64) {
        self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + usd);
    }

    pub(crate) fn remember(&mut self, prompt: &str) {
        self.turns += 1;
        self.prompts.push(prompt.chars().take(MAX_PROMPT_CHARS).collect());
        let excess = self.prompts.len().saturating_sub(MAX_PROMPTS);
        self.prompts.drain(..excess);
    }
}

/// A line of the file in which the agent writes down what is said on its terminal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", content = "text", rename_all = "lowercase")]
pub(crate) enum TranscriptLine {
    /// What it was told, which begins a turn.
    Prompt(String),
    /// What it said since it last did something, at the end of a turn.
    Answer(String),
}

/// The folder with the sessions. It is made when the first session is saved.
#[derive(Clone, Debug)]
pub(crate) struct DemoSessionStore {
    folder: Option<PathBuf>,
}

impl DemoSessionStore {
    /// The folder that the environment names: `$COVEN_DEMO_HOME`, or else `coven-demo` in the
    /// user's state folder.
    pub(crate) fn find(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let folder = |name: &str| variable(name).filter(|value| !value.is_empty());
        let folder = folder("COVEN_DEMO_HOME")
            .map(PathBuf::from)
            .or_else(|| folder("XDG_STATE_HOME").map(|state| Path::new(&state).join("coven-demo")))
            .or_else(|| {
                folder("HOME").map(|home| Path::new(&home).join(".local/state/coven-demo"))
            });
        Self { folder }
    }

    /// Goes on with a session.
    pub(crate) fn resume(&self, id: &str) -> Result<DemoSession, Error> {
        let path = self.path(id)?;
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Error::Unknown { id: id.to_owned() });
            }
            Err(source) => return Err(Error::Read { path, source }),
        };
        let version = serde_json::from_str::<SessionVersion>(&text).map(|file| file.version);
        match version {
            Ok(version) if version > SESSION_VERSION => Err(Error::Newer { path, version }),
            Ok(_) => serde_json::from_str(&text).map_err(|source| Error::Damaged { path, source }),
            Err(source) => Err(Error::Damaged { path, source }),
        }
    }

    /// Begins a session, with an id of its own if none is given.
    pub(crate) fn begin(&self, id: Option<&str>, model: &str) -> Result<DemoSession, Error> {
        let Some(id) = id else {
            return Ok(DemoSession::new(random_id()?, model.to_owned()));
        };
        if self.path(id)?.exists() {
            return Err(Error::Taken { id: id.to_owned() });
        }
        Ok(DemoSession::new(id.to_owned(), model.to_owned()))
    }

    /// Writes the session down, whole or not at all.
    pub(crate) fn save(&self, session: &DemoSession) -> Result<(), Error> {
        let path = self.path(&session.id)?;
        let part = path.with_extension(format!("{}.part", std::process::id()));
        let write = || {
            if let Some(folder) = path.parent() {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            // What was said is for its user alone.
            let mut options = fs::OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(&part)?;
            file.write_all(&serde_json::to_vec_pretty(session)?)?;
            fs::rename(&part, &path)
        };
        write().map_err(|source| Error::Write { path: path.clone(), source })
    }

    /// Adds a line to what was said in a session.
    pub(crate) fn write_down(&self, id: &str, line: &TranscriptLine) -> Result<(), Error> {
        let path = self.path(id)?.with_extension("jsonl");
        let write = || {
            if let Some(folder) = path.parent() {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            let mut text = serde_json::to_vec(line)?;
            text.push(b'\n');
            let mut options = fs::OpenOptions::new();
            options.append(true).create(true).mode(0o600).open(&path)?.write_all(&text)
        };
        write().map_err(|source| Error::Write { path: path.clone(), source })
    }

    /// Writes down what a turn begins with, so that the session can be resumed although its process
    /// dies in the middle. What goes wrong is told when the turn is over and kept for good.
    pub(crate) fn begin_turn(&self, session: &DemoSession, prompt: &str) {
        let mut begun = session.clone();
        begun.remember(prompt);
        self.save(&begun).ok();
    }

    fn path(&self, id: &str) -> Result<PathBuf, Error> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if !(1..=64).contains(&id.len()) || !id.bytes().all(allowed) {
            return Err(Error::BadId { id: id.to_owned() });
        }
        let folder = self.folder.as_ref().ok_or(Error::NoFolder)?;
        Ok(folder.join(id).with_extension("json"))
    }
}

#[derive(Deserialize)]
struct SessionVersion {
    version: u32,
}

/// A random id in the form of a UUID, as other agents use them.
fn random_id() -> Result<String, Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Random(error.into()))?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let number = u128::from_be_bytes(bytes);
    let part = |from: u32, digits: usize| {
        let bits = number << from >> (128 - 4 * digits);
        format!("{bits:0digits$x}")
    };
    Ok([part(0, 8), part(32, 4), part(48, 4), part(64, 4), part(80, 12)].join("-"))
}
