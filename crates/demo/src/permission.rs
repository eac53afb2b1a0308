//! What may be done: the permissions of the command line and what a person has allowed since.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::options::Permissions;
use crate::script::Tool;

/// Whether a tool may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Granted,
    Refused,
    /// A person has to say.
    Open,
}

/// The permissions of one session.
#[derive(Debug)]
pub(crate) struct Rules {
    level: Permissions,
    always: HashSet<Subject>,
}

/// What a lasting permission is about.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Subject {
    Command(String),
    File(PathBuf),
}

impl Rules {
    pub(crate) fn new(level: Permissions) -> Self {
        Self { level, always: HashSet::new() }
    }

    pub(crate) fn of(&self, tool: &Tool) -> Permission {
        match (self.level, tool) {
            (Permissions::ReadOnly, _) => Permission::Refused,
            (Permissions::All, _) | (Permissions::Edits, Tool::Write { .. }) => Permission::Granted,
            _ if self.always.contains(&subject(tool)) => Permission::Granted,
            _ => Permission::Open,
        }
    }

    /// Does not ask again: for exactly this command, or for any text in this file.
    pub(crate) fn allow_always(&mut self, tool: &Tool) {
        self.always.insert(subject(tool));
    }
}

fn subject(tool: &Tool) -> Subject {
    match tool {
        Tool::Command(command) => Subject::Command(command.clone()),
        Tool::Write { path, .. } => Subject::File(path.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Tool {
        Tool::Command(text.to_owned())
    }

    fn write(path: &str, text: &str) -> Tool {
        Tool::Write { path: path.into(), text: text.to_owned() }
    }

    #[test]
    fn each_level_grants_what_it_says() {
        use Permission::{Granted, Open, Refused};
        for (level, run, edit) in [
            (Permissions::ReadOnly, Refused, Refused),
            (Permissions::Ask, Open, Open),
            (Permissions::Edits, Open, Granted),
            (Permissions::All, Granted, Granted),
        ] {
            let rules = Rules::new(level);
            assert_eq!((rules.of(&command("ls")), rules.of(&write("./f", ""))), (run, edit));
        }
    }

    #[test]
    fn always_is_about_one_command_or_one_file() {
        let mut rules = Rules::new(Permissions::Ask);
        rules.allow_always(&command("ls"));
        rules.allow_always(&write("./f", "old"));
        assert_eq!(rules.of(&command("ls")), Permission::Granted);
        assert_eq!(rules.of(&command("ls -l")), Permission::Open);
        assert_eq!(rules.of(&write("./f", "new")), Permission::Granted);
        assert_eq!(rules.of(&write("./g", "old")), Permission::Open);
    }
}
