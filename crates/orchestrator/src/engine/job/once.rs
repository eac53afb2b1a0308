//! A message that an agent is sent once, however many processes try: one that dies on the way
//! leaves what it typed on the agent's tape, and the next goes on from there.

use std::path::Path;
use std::sync::Arc;

use coven_adapters::AgentAdapter;
use coven_folder::{Durability, OpenFolder};
use coven_model::AgentState;
use coven_runner::{AgentRunner, DeliveryError, DeliveryProof, Message, past, typed};
use coven_workflow::command::OrderedText;

use crate::state::blocking::blocking;
use coven_folder::best_effort;

/// How far a message came before.
#[derive(Debug, PartialEq, Eq)]
enum DeliveryProgress {
    /// Nothing of it was typed.
    Nothing,
    /// It was typed, perhaps not to its end, and not submitted.
    Typed,
    Submitted,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SentMessage {
    /// It arrived, and the agent began to work on it.
    Now,
    /// It had arrived before. What the agent did about it since is not known from this.
    Before,
    /// It did not arrive.
    Not(DeliveryError),
}

/// Sends a message, or what is left to do of one that another process began to send.
pub(super) async fn send(agent: &AgentRunner, folder: &Path, ordered: OrderedText) -> SentMessage {
    let OrderedText { number, attempt, text, unverified } = ordered;
    let note = match attempt {
        0 | 1 => format!("sent.{number}"),
        again => format!("sent.{number}.{again}"),
    };
    let (at, typed) = (folder.to_owned(), text.clone());
    let mut message = Message { waits: true, ..Message::new(text) };
    if unverified {
        message.proof = DeliveryProof::None;
    }
    let message = match blocking(move || begun(&at, &note, &typed)).await {
        DeliveryProgress::Nothing => message,
        DeliveryProgress::Typed => Message { typed: true, ..message },
        DeliveryProgress::Submitted => return SentMessage::Before,
    };
    match agent.send(message).await {
        Ok(()) => SentMessage::Now,
        Err(error) => SentMessage::Not(error),
    }
}

/// Whether an agent has worked on what it was told last and is done with it.
pub(super) async fn is_over(
    agent: &AgentRunner,
    adapter: &Arc<dyn AgentAdapter>,
    folder: &Path,
) -> bool {
    if !matches!(agent.verdict().state, AgentState::Idle | AgentState::Error) {
        return false;
    }
    let (adapter, folder) = (adapter.clone(), folder.to_owned());
    blocking(move || past(&*adapter, &folder, u64::MAX).is_ok_and(|past| past.worked)).await
}

/// How far the message with this note came. If it was not begun, it counts as begun from now on:
/// what is typed next belongs to it.
fn begun(folder: &Path, note: &str, text: &str) -> DeliveryProgress {
    let typed = typed(folder).unwrap_or_default();
    // The agent may have put a link in the place of the note, which is neither read nor written.
    let Ok(folder) = OpenFolder::open_without_links(folder) else {
        return DeliveryProgress::Nothing;
    };
    let before = folder.read(note).ok().flatten();
    let before = before.and_then(|bytes| String::from_utf8(bytes).ok()?.trim().parse().ok());
    if let Some(before) = before {
        return progress(typed.get(before..).unwrap_or_default(), text);
    }
    // Nothing is typed before the note is whole. Without one the message may be typed twice, which
    // is better than not at all.
    let noted = folder.replace(note, format!("{}\n", typed.len()).as_bytes(), Durability::Synced);
    best_effort("note a message that is sent", noted);
    DeliveryProgress::Nothing
}

/// How far a message came, from what was typed since it was begun.
fn progress(typed: &[Vec<u8>], text: &str) -> DeliveryProgress {
    let typed = String::from_utf8_lossy(&typed.concat()).into_owned();
    if typed.is_empty() {
        return DeliveryProgress::Nothing;
    }
    // Line ends may be typed as something else, so only the last line is looked for.
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(text).trim();
    match typed.rsplit_once(last) {
        Some((_, rest)) if !rest.replace("\x1b[201~", "").trim_matches(' ').is_empty() => {
            DeliveryProgress::Submitted
        }
        _ => DeliveryProgress::Typed,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_note_of_a_message_is_neither_read_nor_written_through_a_link() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let (folder, victim) = (root.join("attempt"), root.join("victim"));
        for is_symbolic in [true, false] {
            fs::create_dir(&folder).unwrap();
            // A note that counts more than was typed would make a message seem not to be typed.
            fs::write(&victim, "7 and more\n").unwrap();
            let note = folder.join("sent.1");
            if is_symbolic {
                symlink(&victim, &note).unwrap();
                symlink(&victim, folder.join("sent.1.new")).unwrap();
            } else {
                fs::hard_link(&victim, &note).unwrap();
                fs::hard_link(&victim, folder.join("sent.1.new")).unwrap();
            }
            assert_eq!(begun(&folder, "sent.1", "text"), DeliveryProgress::Nothing);
            assert_eq!(fs::read_to_string(&victim).unwrap(), "7 and more\n");
            assert!(fs::symlink_metadata(&note).unwrap().is_file());
            assert_eq!(fs::read_to_string(&note).unwrap(), "0\n");
            fs::remove_dir_all(&folder).unwrap();
        }
        // A folder that was replaced by a link gets no note.
        fs::create_dir(root.join("elsewhere")).unwrap();
        symlink(root.join("elsewhere"), &folder).unwrap();
        assert_eq!(begun(&folder, "sent.1", "text"), DeliveryProgress::Nothing);
        assert_eq!(fs::read_dir(root.join("elsewhere")).unwrap().count(), 0);
    }

    #[test]
    fn what_was_typed_says_how_far_a_message_came() {
        let typed = |parts: &[&str]| {
            let parts: Vec<Vec<u8>> = parts.iter().map(|part| part.as_bytes().to_vec()).collect();
            progress(&parts, "first\nsecond line")
        };
        assert_eq!(typed(&[]), DeliveryProgress::Nothing);
        assert_eq!(typed(&["first\rsec"]), DeliveryProgress::Typed);
        assert_eq!(typed(&["\x1b[200~first\rsecond line\x1b[201~"]), DeliveryProgress::Typed);
        assert_eq!(
            typed(&["\x1b[200~first\rsecond", " line\x1b[201~", "\r"]),
            DeliveryProgress::Submitted
        );
        assert_eq!(typed(&["first\rsecond line", "\x1b[13u"]), DeliveryProgress::Submitted);
    }
}
