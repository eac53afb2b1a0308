//! The conversations held over the Agent Client Protocol: beside each session a file with the
//! updates that were sent, one per line, so that a client that loads the session gets them again.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use serde_json::Value;

use super::{DemoSession, DemoSessionStore, Error};

/// What the file is called, after the id of the session.
const HISTORY_EXTENSION: &str = "acp.jsonl";

impl DemoSessionStore {
    /// Adds an update to the history of a session.
    pub(crate) fn append_update(&self, id: &str, update: &Value) -> Result<(), Error> {
        let path = self.path(id)?.with_extension(HISTORY_EXTENSION);
        let write = || {
            if let Some(folder) = path.parent() {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            let line = format!("{update}\n");
            let mut options = fs::OpenOptions::new();
            options.append(true).create(true).mode(0o600).open(&path)?.write_all(line.as_bytes())
        };
        write().map_err(|source| Error::Write { path: path.clone(), source })
    }

    /// The updates of a session, the oldest first. A session that was never held over the protocol
    /// has only the prompts it remembers. A line that was cut off by the end of the process is left
    /// out.
    pub(crate) fn updates(&self, session: &DemoSession) -> Result<Vec<Value>, Error> {
        let path = self.path(&session.id)?.with_extension(HISTORY_EXTENSION);
        match fs::read_to_string(&path) {
            Ok(text) => {
                Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(session.prompts.iter().map(|prompt| user_message(prompt)).collect())
            }
            Err(source) => Err(Error::Read { path, source }),
        }
    }
}

/// The update that tells what the user said.
pub(crate) fn user_message(text: &str) -> Value {
    serde_json::json!({
        "sessionUpdate": "user_message_chunk",
        "content": { "type": "text", "text": text },
    })
}
