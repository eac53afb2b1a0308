//! What a viewer still has to be sent. It is bounded: a viewer that is too far behind loses what it
//! was not sent yet of the stream, and gets a new picture instead.

use std::collections::VecDeque;
use std::mem::discriminant;

use axum::body::Bytes;
use axum::extract::ws::Message;
use coven_api::attach::FromDaemon;

/// How many bytes a viewer may be behind. A new picture of the screen is smaller than this.
const MAX_OUTBOX_BYTES: usize = 1 << 20;

/// How many bytes go into one message.
const MAX_OUTPUT_MESSAGE_BYTES: usize = 64 * 1024;

#[derive(Debug)]
enum OutboxItem {
    Said(FromDaemon),
    /// A picture: one message of its own.
    Picture(Vec<u8>),
    Bytes(Vec<u8>),
}

/// What a viewer still has to be sent, in order.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pieces: VecDeque<OutboxItem>,
    bytes: usize,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Says something. Of what tells how a thing stands now, only the newest is kept.
    pub(super) fn say(&mut self, what: FromDaemon) {
        let replaces = matches!(
            what,
            FromDaemon::Keyboard { .. } | FromDaemon::State { .. } | FromDaemon::Refused { .. }
        );
        if replaces {
            let kind = discriminant(&what);
            self.pieces.retain(
                |piece| !matches!(piece, OutboxItem::Said(said) if discriminant(said) == kind),
            );
        }
        self.pieces.push_back(OutboxItem::Said(what));
    }

    /// A new picture, and what is said before it. What was to be sent of the stream before is in it.
    pub(super) fn picture(&mut self, screen: FromDaemon, dump: Vec<u8>) {
        self.forget();
        self.pieces.push_back(OutboxItem::Said(screen));
        self.pieces.push_back(OutboxItem::Picture(dump));
    }

    /// More of the stream. Says whether there was room; if not, the stream is lost.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> bool {
        self.bytes += bytes.len();
        if self.bytes > MAX_OUTBOX_BYTES {
            self.forget();
            return false;
        }
        match self.pieces.back_mut() {
            Some(OutboxItem::Bytes(last))
                if last.len() + bytes.len() <= MAX_OUTPUT_MESSAGE_BYTES =>
            {
                last.extend_from_slice(bytes);
            }
            _ => self.pieces.push_back(OutboxItem::Bytes(bytes.to_vec())),
        }
        true
    }

    /// Forgets the stream, and keeps what else is to be said.
    pub(super) fn forget(&mut self) {
        self.bytes = 0;
        self.pieces.retain(|piece| match piece {
            OutboxItem::Said(said) => {
                !matches!(said, FromDaemon::Screen { .. } | FromDaemon::Resized { .. })
            }
            OutboxItem::Picture(_) | OutboxItem::Bytes(_) => false,
        });
    }

    pub(super) fn next(&mut self) -> Option<Message> {
        Some(match self.pieces.pop_front()? {
            OutboxItem::Said(said) => {
                Message::Text(serde_json::to_string(&said).unwrap_or_default().into())
            }
            OutboxItem::Picture(dump) => Message::Binary(Bytes::from(dump)),
            OutboxItem::Bytes(bytes) => {
                self.bytes -= bytes.len();
                Message::Binary(Bytes::from(bytes))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyboard(yours: bool) -> FromDaemon {
        FromDaemon::Keyboard { yours, holder: None }
    }

    fn all(outbox: &mut Outbox) -> Vec<String> {
        let text = |message| match message {
            Message::Text(text) => text.to_string(),
            Message::Binary(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            other => format!("{other:?}"),
        };
        std::iter::from_fn(|| outbox.next()).map(text).collect()
    }

    #[test]
    fn bytes_are_joined_but_never_with_a_picture_or_over_a_new_size() {
        let mut outbox = Outbox::default();
        outbox.picture(keyboard(false), b"picture".to_vec());
        assert!(outbox.bytes(b"one "));
        assert!(outbox.bytes(b"two"));
        outbox.say(FromDaemon::Resized { cols: 2, rows: 1 });
        assert!(outbox.bytes(b"three"));
        let sent = all(&mut outbox);
        assert_eq!(sent[1..3], ["picture", "one two"]);
        assert_eq!(sent[4..], ["three"]);
    }

    #[test]
    fn whoever_is_too_far_behind_loses_the_stream_and_nothing_else() {
        let mut outbox = Outbox::default();
        outbox.say(keyboard(true));
        let chunk = vec![b'x'; 100_000];
        let pushed = (0..20).take_while(|_| outbox.bytes(&chunk)).count();
        assert_eq!(pushed, MAX_OUTBOX_BYTES / chunk.len());
        assert_eq!(all(&mut outbox), [r#"{"type":"keyboard","yours":true,"holder":null}"#]);
        assert!(outbox.bytes(&chunk), "there is room again");
    }

    #[test]
    fn of_how_things_stand_only_the_newest_is_said() {
        let mut outbox = Outbox::default();
        for yours in [true, false, true, false] {
            outbox.say(keyboard(yours));
            outbox.say(FromDaemon::Refused { reason: "no".to_owned() });
        }
        assert_eq!(all(&mut outbox).len(), 2);
    }
}
