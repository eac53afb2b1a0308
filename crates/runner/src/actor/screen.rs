//! A screen that takes no room while nothing happens on it. Most agents of a large team wait most
//! of the time, and a screen with its cells is larger than all else that is known of them; what
//! brings a new one to the same state is a few kilobytes.

use coven_terminal::keys;
use coven_terminal::screen::{GridSize, Options, Screen, ScreenDamage, ScreenModes};
use coven_terminal::signals::TerminalSignal;
use coven_terminal::snapshot::ScreenSnapshot;

/// A screen, or what brings a new one to the same state. It becomes a screen again by itself when
/// it is changed.
pub(super) enum SuspendableScreen {
    Active(Box<Screen>),
    Suspended(SuspendedScreen),
}

/// What is kept of a screen that is suspended.
pub(super) struct SuspendedScreen {
    dump: Box<[u8]>,
    size: GridSize,
    modes: ScreenModes,
    keys: keys::KeyModes,
    scrolled: u64,
}

impl SuspendedScreen {
    fn screen(&self) -> Screen {
        let quiet = Options { size: self.size, replies: false, ..Options::default() };
        let mut screen = Screen::with_options(&quiet);
        screen.feed(&self.dump);
        // The signals were handled when the program sent them.
        screen.take_signals();
        screen.take_damage();
        screen.set_replies(true);
        screen.set_scrolled(self.scrolled);
        screen
    }
}

impl SuspendableScreen {
    pub(super) fn new(screen: Screen) -> Self {
        Self::Active(Box::new(screen))
    }

    fn activate(&mut self) -> &mut Screen {
        if let Self::Suspended(suspended) = self {
            *self = Self::new(suspended.screen());
        }
        match self {
            Self::Active(screen) => screen,
            Self::Suspended(_) => unreachable!("it was just activated"),
        }
    }

    /// Suspends it, with the dump that was just taken of it.
    pub(super) fn suspend(&mut self, dump: Vec<u8>) {
        if let Self::Active(screen) = self {
            let (size, modes, keys) = (screen.size(), screen.modes(), screen.key_modes());
            let (dump, scrolled) = (dump.into(), screen.scrolled());
            *self = Self::Suspended(SuspendedScreen { dump, size, modes, keys, scrolled });
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.activate().feed(bytes);
    }

    pub(super) fn take_signals(&mut self) -> Vec<TerminalSignal> {
        self.activate().take_signals()
    }

    pub(super) fn take_damage(&mut self) -> ScreenDamage {
        self.activate().take_damage()
    }

    pub(super) fn take_replies(&mut self) -> Vec<u8> {
        self.activate().take_replies()
    }

    pub(super) fn resize(&mut self, size: GridSize) {
        self.activate().resize(size);
    }

    pub(super) fn snapshot(&mut self) -> ScreenSnapshot {
        self.activate().snapshot()
    }

    /// The screen itself, to be saved.
    pub(super) fn screen(&mut self) -> &mut Screen {
        self.activate()
    }

    /// What it shows, for a client that looks at it. That does not activate it.
    pub(super) fn view(&mut self) -> (ScreenSnapshot, Vec<u8>) {
        match self {
            Self::Active(screen) => (screen.snapshot(), screen.dump()),
            Self::Suspended(suspended) => (suspended.screen().snapshot(), suspended.dump.to_vec()),
        }
    }

    pub(super) fn size(&self) -> GridSize {
        match self {
            Self::Active(screen) => screen.size(),
            Self::Suspended(suspended) => suspended.size,
        }
    }

    pub(super) fn modes(&self) -> ScreenModes {
        match self {
            Self::Active(screen) => screen.modes(),
            Self::Suspended(suspended) => suspended.modes,
        }
    }

    pub(super) fn key_modes(&self) -> keys::KeyModes {
        match self {
            Self::Active(screen) => screen.key_modes(),
            Self::Suspended(suspended) => suspended.keys,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program prints in two pieces; the first ends in the middle of a sequence.
    const PIECES: [&[u8]; 2] = [
        b"one\r\n\n\n\n\n\n\n\n\n\n\x1b[?1049h\x1b[?2004h\x1b[2;5Htwo \x1b[1mbold\x1b[31",
        b"m red\x1b[0m\x1b]0;title\x1b\\\r\nnext\x1b[6n",
    ];

    #[test]
    fn a_screen_that_was_suspended_goes_on_as_one_that_was_not() {
        let size = GridSize::new(40, 8);
        let mut plain = Screen::new(size);
        plain.set_replies(true);
        let mut paused = SuspendableScreen::new(Screen::new(size));
        plain.feed(PIECES[0]);
        paused.feed(PIECES[0]);
        plain.take_signals();
        paused.take_signals();
        let dump = paused.screen().dump();
        paused.suspend(dump);
        assert!(matches!(paused, SuspendableScreen::Suspended(_)));
        assert_eq!(paused.modes(), plain.modes());
        assert_eq!(paused.key_modes(), plain.key_modes());
        assert_eq!(paused.view().0.text(), plain.snapshot().text());
        assert_eq!(plain.snapshot().scrolled(), 3);
        assert_eq!(
            paused.view().0.scrolled(),
            3,
            "what stands where is counted from the first row"
        );
        assert!(matches!(paused, SuspendableScreen::Suspended(_)), "looking does not activate it");
        plain.feed(PIECES[1]);
        paused.feed(PIECES[1]);
        assert_eq!(paused.take_signals(), plain.take_signals());
        assert_eq!(paused.take_replies(), plain.take_replies(), "it answers as before");
        assert_eq!(paused.snapshot().hash(), plain.snapshot().hash());
        assert_eq!(paused.view().1, plain.dump());
    }
}
