//! A message that an agent is sent once, however many processes try: one that dies on the way
//! leaves what it typed on the agent's tape, and the next goes on from there.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use coven_adapters::AgentAdapter;
use coven_model::AgentState;
use coven_runner::{AgentRunner, Message, past, typed};

/// How far a message came before.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    /// Nothing of it was typed.
    Nothing,
    /// It was typed, perhaps not to its end, and not submitted.
    Typed,
    /// It was submitted.
    Submitted,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It arrived, and the agent began to work on it.
    Now,
    /// It had arrived before. What the agent did about it since is not known from this.
    Before,
    /// It did not arrive.
    Not,
}

/// Sends a message, or what is left to do of one that another process began to send.
pub(super) async fn send(agent: &AgentRunner, folder: &Path, number: u32, text: String) -> Sent {
    let message = match begun(folder, number, &text) {
        Progress::Nothing => Message::new(text),
        Progress::Typed => Message { typed: true, ..Message::new(text) },
        Progress::Submitted => return Sent::Before,
    };
    if agent.send(message).await.is_ok() { Sent::Now } else { Sent::Not }
}

/// Whether an agent has worked on what it was told last and is done with it.
pub(super) fn is_over(agent: &AgentRunner, adapter: &dyn AgentAdapter, folder: &Path) -> bool {
    let rests = matches!(agent.verdict().state, AgentState::Idle | AgentState::Error);
    rests && past(adapter, folder, u64::MAX).is_ok_and(|past| past.worked)
}

/// How far the message with this number came. If it was not begun, it counts as begun from now on:
/// what is typed next belongs to it.
fn begun(folder: &Path, number: u32, text: &str) -> Progress {
    let note = folder.join(format!("sent.{number}"));
    let typed = typed(folder).unwrap_or_default();
    let before = std::fs::read_to_string(&note).ok().and_then(|text| text.trim().parse().ok());
    if let Some(before) = before {
        return progress(typed.get(before..).unwrap_or_default(), text);
    }
    // A note without a number was cut short, and nothing is typed before it is whole.
    if let Ok(mut file) = File::create(&note) {
        let _ = writeln!(file, "{}", typed.len()).and_then(|()| file.sync_all());
    }
    Progress::Nothing
}

/// How far a message came, from what was typed since it was begun.
fn progress(typed: &[Vec<u8>], text: &str) -> Progress {
    let typed = String::from_utf8_lossy(&typed.concat()).into_owned();
    if typed.is_empty() {
        return Progress::Nothing;
    }
    // Line ends may be typed as something else, so only the last line is looked for.
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(text).trim();
    match typed.rsplit_once(last) {
        Some((_, rest)) if !rest.replace("\x1b[201~", "").trim_matches(' ').is_empty() => {
            Progress::Submitted
        }
        _ => Progress::Typed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_says_how_far_a_message_came() {
        let typed = |parts: &[&str]| {
            let parts: Vec<Vec<u8>> = parts.iter().map(|part| part.as_bytes().to_vec()).collect();
            progress(&parts, "first\nsecond line")
        };
        assert_eq!(typed(&[]), Progress::Nothing);
        assert_eq!(typed(&["first\rsec"]), Progress::Typed);
        assert_eq!(typed(&["\x1b[200~first\rsecond line\x1b[201~"]), Progress::Typed);
        assert_eq!(typed(&["\x1b[200~first\rsecond", " line\x1b[201~", "\r"]), Progress::Submitted);
        assert_eq!(typed(&["first\rsecond line", "\x1b[13u"]), Progress::Submitted);
    }
}
