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
                settings.permissions.contains_key(level) || self.permissions.contains_key(level)
            };
            Some((mode, PermissionLevel::ALL.into_iter().filter(granted).collect()))
        });
        AdapterAbilities {
            command: self.command.clone().unwrap_or_else(|| kind.to_owned()),
            modes: modes.collect(),
            reads_answers: self.answer.is_some(),
            has_channel: self.channel.is_some(),
            faults: BTreeMap::new(),
        }
    }
}
