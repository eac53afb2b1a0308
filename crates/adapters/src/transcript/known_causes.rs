//! What programs say when they end, and what it means for someone who runs them through Coven. A
//! program that blames an option nobody typed is told with the cause and with what to do.

/// Words of a program, and what they mean.
struct KnownCause {
    words: &'static str,
    meaning: &'static str,
}

const KNOWN_CAUSES: [KnownCause; 1] = [KnownCause {
    words: "--dangerously-skip-permissions cannot be used with root/sudo privileges",
    meaning: "Claude Code does not run with permission `all` as root. Run coven as another user, \
              ask for less (`permissions: edits`), or set IS_SANDBOX=1 in a container that may be \
              damaged",
}];

/// The cause behind a program's last words, with the words themselves; nothing for words that
/// need no explanation.
pub(crate) fn explain(words: &str) -> Option<String> {
    let known = KNOWN_CAUSES.iter().find(|known| words.contains(known.words))?;
    Some(format!("{} (it says: {words})", known.meaning))
}
