//! A session of the protocol: what the agent remembers of it, where it works and what it may do.

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::connection::MessageWriter;
use crate::options::PermissionMode;
use crate::permission::PermissionRules;
use crate::session::{DemoSession, DemoSessionStore};

/// The modes a client can choose from: the levels of permission, with what each means.
const MODES: [(PermissionMode, &str, &str); 4] = [
    (PermissionMode::ReadOnly, "Read only", "Refuses what changes anything"),
    (PermissionMode::Ask, "Ask", "Asks before running commands and writing files"),
    (PermissionMode::Edits, "Edits", "Writes files, and asks before running commands"),
    (PermissionMode::All, "All", "Asks for nothing"),
];

pub(super) struct AcpSession {
    pub(super) memory: DemoSession,
    pub(super) rules: PermissionRules,
    /// Where commands run, and where relative paths begin.
    pub(super) folder: PathBuf,
    /// The tokens of the turns since the session was begun or loaded.
    pub(super) used_tokens: u64,
    store: DemoSessionStore,
}

impl AcpSession {
    pub(super) fn new(
        memory: DemoSession,
        permissions: PermissionMode,
        folder: PathBuf,
        store: DemoSessionStore,
    ) -> Self {
        let rules = PermissionRules::new(permissions);
        Self { memory, rules, folder, used_tokens: 0, store }
    }

    pub(super) fn modes(&self) -> Value {
        let available: Vec<Value> = MODES
            .iter()
            .map(|(mode, name, description)| {
                json!({ "id": mode.name(), "name": name, "description": description })
            })
            .collect();
        json!({ "currentModeId": self.rules.level().name(), "availableModes": available })
    }

    /// Sends an update that belongs to the conversation, and keeps it for a client that loads the
    /// session.
    pub(super) fn tell(&self, update: &Value, writer: &mut MessageWriter<'_>) -> io::Result<()> {
        self.record(update);
        writer.update(&self.memory.id, update)
    }

    /// Keeps an update that the client knows already.
    pub(super) fn record(&self, update: &Value) {
        // A store that cannot be written is told at the end of the turn, when the session is saved.
        self.store.append_update(&self.memory.id, update).ok();
    }
}
