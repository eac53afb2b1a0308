//! The adapters that come with Coven. They are files like any other; these are embedded.

const BUILTIN_FILES: [(&str, &str); 9] = [
    ("aider", include_str!("../builtin/aider/config.json")),
    ("claude", include_str!("../builtin/claude/config.json")),
    ("codex", include_str!("../builtin/codex/config.json")),
    ("copilot", include_str!("../builtin/copilot/config.json")),
    ("demo", include_str!("../builtin/demo/config.json")),
    ("gemini", include_str!("../builtin/gemini/config.json")),
    ("opencode", include_str!("../builtin/opencode/config.json")),
    ("qwen", include_str!("../builtin/qwen/config.json")),
    ("shell", include_str!("../builtin/shell/config.json")),
];

pub fn types() -> impl Iterator<Item = &'static str> {
    BUILTIN_FILES.into_iter().map(|(kind, _)| kind)
}

/// The file of a built-in type, as it can be copied and changed.
pub fn source(kind: &str) -> Option<&'static str> {
    BUILTIN_FILES.into_iter().find(|(name, _)| *name == kind).map(|(_, text)| text)
}
