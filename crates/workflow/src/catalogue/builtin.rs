//! The grimoires we ship. They are files that people can read, copy and override.

/// A grimoire that is part of Coven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltinGrimoire {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltinGrimoire {
            name: $name,
            text: include_str!(concat!("../../grimoires/", $name, ".yaml")),
        }),*]
    };
}

pub fn builtins() -> &'static [BuiltinGrimoire] {
    shipped!["demo", "implement-bead", "prepare-pr", "review-loop", "spec-to-beads"]
}
