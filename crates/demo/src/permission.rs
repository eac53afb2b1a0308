//! What may be done: the permissions of the command line and what a person has allowed since.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::options::PermissionMode;
use crate::script::ToolUse;

/// Whether a tool may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolPermission {
    Granted,
    Refused,
    /// A person has to say.
    Open,
}

/// The permissions of one session.
#[derive(Debug)]
pub(crate) struct PermissionRules {
    level: PermissionMode,
    always: HashSet<PermissionSubject>,
}

/// What a lasting permission is about.
#[derive(Debug, PartialEq, Eq, Hash)]
enum PermissionSubject {
    Command(String),
    File(PathBuf),
}

impl PermissionRules {
    pub(crate) fn new(level: PermissionMode) -> Self {
        Self { level, always: HashSet::new() }
    }

    pub(crate) fn level(&self) -> PermissionMode {
        self.level
    }

    /// Changes the level; what a person has allowed for good stays allowed.
    pub(crate) fn set_level(&mut self, level: PermissionMode) {
        self.level = level;
    }

    pub(crate) fn of(&self, tool: &ToolUse) -> ToolPermission {
        match (self.level, tool) {
            (PermissionMode::ReadOnly, _) => ToolPermission::Refused,
            (PermissionMode::All, _) | (PermissionMode::Edits, ToolUse::Write { .. }) => {
                ToolPermission::Granted
            }
            _ if self.always.contains(&subject(tool)) => ToolPermission::Granted,
            _ => ToolPermission::Open,
        }
    }

    /// Does not ask again: for exactly this command, or for any text in this file.
    pub(crate) fn allow_always(&mut self, tool: &ToolUse) {
        self.always.insert(subject(tool));
    }
}

fn subject(tool: &ToolUse) -> PermissionSubject {
    match tool {
        ToolUse::Command(command) => PermissionSubject::Command(command.clone()),
        ToolUse::Write { path, .. } => PermissionSubject::File(path.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> ToolUse {
        ToolUse::Command(text.to_owned())
    }

    fn write(path: &str, text: &str) -> ToolUse {
        ToolUse::Write { path: path.into(), text: text.to_owned() }
    }

    #[test]
    fn each_level_grants_what_it_says() {
        use ToolPermission::{Granted, Open, Refused};
        for (level, run, edit) in [
            (PermissionMode::ReadOnly, Refused, Refused),
            (PermissionMode::Ask, Open, Open),
            (PermissionMode::Edits, Open, Granted),
            (PermissionMode::All, Granted, Granted),
        ] {
            let rules = PermissionRules::new(level);
            assert_eq!((rules.of(&command("ls")), rules.of(&write("./f", ""))), (run, edit));
        }
    }

    #[test]
    fn always_is_about_one_command_or_one_file() {
        let mut rules = PermissionRules::new(PermissionMode::Ask);
        rules.allow_always(&command("ls"));
        rules.allow_always(&write("./f", "old"));
        assert_eq!(rules.of(&command("ls")), ToolPermission::Granted);
        assert_eq!(rules.of(&command("ls -l")), ToolPermission::Open);
        assert_eq!(rules.of(&write("./f", "new")), ToolPermission::Granted);
        assert_eq!(rules.of(&write("./g", "old")), ToolPermission::Open);
    }
}
