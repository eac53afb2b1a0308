//! What an adapter's program can be asked for.

use std::collections::BTreeMap;

use coven_model::{AdapterAbilities, AgentMode, PermissionLevel};

use super::Config;

impl Config {
    /// What the program of a type with this configuration can be asked for.
    pub fn abilities(&self, kind: &str) -> AdapterAbilities {
        let modes = [AgentMode::Interactive, AgentMode::Headless].into_iter().filter_map(|mode| {
            let settings = self.modes.get(mode)?;
            let granted = |level: &PermissionLevel| {
                // Where the protocol is spoken, the arguments of the other way are not given.
                let channel = self.channel.as_ref();
                match channel.filter(|_| self.speaks(mode, Some(*level), false)) {
                    Some(channel) => channel.grants(*level),
                    None => {
                        settings.permissions.contains_key(level)
                            || self.permissions.contains_key(level)
                    }
                }
            };
            Some((mode, PermissionLevel::ALL.into_iter().filter(granted).collect()))
        });
        AdapterAbilities {
            command: self.command.clone().unwrap_or_else(|| kind.to_owned()),
            modes: modes.collect(),
            reads_answers: self.answer.is_some(),
            has_channel: self.channel.is_some(),
            resumes: self.modes_that_resume().collect(),
            faults: BTreeMap::new(),
        }
    }

    /// The modes in which an earlier conversation can be named: in the arguments, or in a protocol
    /// that is always spoken.
    fn modes_that_resume(&self) -> impl Iterator<Item = AgentMode> {
        let of_all = self.resume.as_ref().map(|resume| &resume.args);
        [AgentMode::Interactive, AgentMode::Headless].into_iter().filter(move |mode| {
            let settings = self.modes.get(*mode);
            let args = settings.and_then(|settings| settings.resume.as_ref()).or(of_all);
            let in_args = settings.is_some() && args.is_some_and(|args| !args.is_empty());
            in_args || self.speaks(*mode, None, false)
        })
    }
}

#[cfg(test)]
mod tests {
    use coven_notation::SourceFile;

    use super::*;

    #[test]
    fn a_protocol_grants_its_own_levels_to_steps_that_speak_it() {
        let granted = |channel: &str| {
            let text = format!(
                r#"{{"modes": {{"headless": {{"transcript": "text"}}, "interactive": {{}}}}, "channel": {channel}}}"#
            );
            let config = Config::read(&SourceFile::new("test", text)).value.unwrap();
            let abilities = config.abilities("test");
            let levels = |mode| abilities.modes[&mode].iter().map(|level| level.as_str());
            assert_eq!(levels(AgentMode::Interactive).count(), 0);
            levels(AgentMode::Headless).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(granted(r#"{"kind": "acp"}"#), "ask");
        let edits = r#""permissions": {"edits": ["--edits"]}"#;
        assert_eq!(granted(&format!(r#"{{"kind": "acp", {edits}}}"#)), "ask");
        assert_eq!(granted(&format!(r#"{{"kind": "acp", "always": true, {edits}}}"#)), "ask edits");
        // The arguments of the other way are not given to a program that is spoken to.
        let text = r#"{"modes": {"headless": {"transcript": "text"}},
            "permissions": {"read-only": ["-r"], "edits": ["-e"], "all": ["-a"]},
            "channel": {"kind": "acp", "always": true, "mode": {"all": "yolo"}}}"#;
        let config = Config::read(&SourceFile::new("test", text)).value.unwrap();
        let levels = &config.abilities("test").modes[&AgentMode::Headless];
        assert_eq!(levels.iter().map(|level| level.as_str()).collect::<Vec<_>>(), ["ask", "all"]);
    }
}
