//! A screen that takes no room while nothing happens on it. Most agents of a large team wait most
//! of the time, and a screen with its cells is larger than all else that is known of them; what
//! brings a new one to the same state is a few kilobytes.

use coven_terminal::keys;
use coven_terminal::screen::{Options, Screen, ScreenDamage, ScreenModes, Size};
use coven_terminal::signals::TerminalSignal;
use coven_terminal::snapshot::Snapshot;

/// A screen, at rest or not. It wakes up by itself when something is done with it.
pub(super) enum Resting {
    Awake(Box<Screen>),
    Asleep(Asleep),
}

/// What is known of a screen at rest.
pub(super) struct Asleep {
    dump: Box<[u8]>,
    size: Size,
    modes: ScreenModes,
    keys: keys::KeyModes,
}

impl Asleep {
    fn screen(&self) -> Screen {
        let quiet = Options { size: self.size, replies: false, ..Options::default() };
        let mut screen = Screen::with_options(&quiet);
        screen.feed(&self.dump);
        // All of this was heard when it was said.
        screen.take_signals();
        screen.take_damage();
        screen.set_replies(true);
        screen
    }
}

impl Resting {
    pub(super) fn new(screen: Screen) -> Self {
        Self::Awake(Box::new(screen))
    }

    fn awake(&mut self) -> &mut Screen {
        if let Self::Asleep(asleep) = self {
            *self = Self::new(asleep.screen());
        }
        match self {
            Self::Awake(screen) => screen,
            Self::Asleep(_) => unreachable!("it was just woken up"),
        }
    }

    /// Lets it rest, with the dump that was just taken of it.
    pub(super) fn rest(&mut self, dump: Vec<u8>) {
        if let Self::Awake(screen) = self {
            let (size, modes, keys) = (screen.size(), screen.modes(), screen.key_modes());
            *self = Self::Asleep(Asleep { dump: dump.into(), size, modes, keys });
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.awake().feed(bytes);
    }

    pub(super) fn take_signals(&mut self) -> Vec<TerminalSignal> {
        self.awake().take_signals()
    }

    pub(super) fn take_damage(&mut self) -> ScreenDamage {
        self.awake().take_damage()
    }

    pub(super) fn take_replies(&mut self) -> Vec<u8> {
        self.awake().take_replies()
    }

    pub(super) fn resize(&mut self, size: Size) {
        self.awake().resize(size);
    }

    pub(super) fn snapshot(&mut self) -> Snapshot {
        self.awake().snapshot()
    }

    /// The screen itself, to be saved.
    pub(super) fn screen(&mut self) -> &mut Screen {
        self.awake()
    }

    /// What it shows, for somebody who looks. That does not wake it up.
    pub(super) fn view(&mut self) -> (Snapshot, Vec<u8>) {
        match self {
            Self::Awake(screen) => (screen.snapshot(), screen.dump()),
            Self::Asleep(asleep) => (asleep.screen().snapshot(), asleep.dump.to_vec()),
        }
    }

    pub(super) fn modes(&self) -> ScreenModes {
        match self {
            Self::Awake(screen) => screen.modes(),
            Self::Asleep(asleep) => asleep.modes,
        }
    }

    pub(super) fn key_modes(&self) -> keys::KeyModes {
        match self {
            Self::Awake(screen) => screen.key_modes(),
            Self::Asleep(asleep) => asleep.keys,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program prints in two pieces; the first ends in the middle of a sequence.
    const PIECES: [&[u8]; 2] = [
        b"\x1b[?1049h\x1b[?2004h\x1b[2;5Htwo \x1b[1mbold\x1b[31",
        b"m red\x1b[0m\x1b]0;title\x1b\\\r\nnext\x1b[6n",
    ];

    #[test]
    fn a_screen_that_rested_goes_on_as_one_that_did_not() {
        let size = Size::new(40, 8);
        let mut plain = Screen::new(size);
        plain.set_replies(true);
        let mut rested = Resting::new(Screen::new(size));
        plain.feed(PIECES[0]);
        rested.feed(PIECES[0]);
        plain.take_signals();
        rested.take_signals();
        let dump = rested.screen().dump();
        rested.rest(dump);
        assert!(matches!(rested, Resting::Asleep(_)));
        assert_eq!(rested.modes(), plain.modes());
        assert_eq!(rested.key_modes(), plain.key_modes());
        assert_eq!(rested.view().0.text(), plain.snapshot().text());
        assert!(matches!(rested, Resting::Asleep(_)), "looking wakes nobody up");
        plain.feed(PIECES[1]);
        rested.feed(PIECES[1]);
        assert_eq!(rested.take_signals(), plain.take_signals());
        assert_eq!(rested.take_replies(), plain.take_replies(), "it answers as before");
        assert_eq!(rested.snapshot().hash(), plain.snapshot().hash());
        assert_eq!(rested.view().1, plain.dump());
    }
}
