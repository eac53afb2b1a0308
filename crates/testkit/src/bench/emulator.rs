//! The emulator that a screen of ours is built on, as it comes.

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::term::Config;
use alacritty_terminal::term::test::TermSize;
use alacritty_terminal::vte::ansi::Processor;

/// As many history rows as a screen of ours keeps.
pub const LIKE_OURS: usize = 24;

/// `alacritty_terminal` with nothing around it.
pub struct BareEmulator {
    term: Term<VoidListener>,
    processor: Processor,
}

impl BareEmulator {
    /// A terminal of this size with this much history.
    pub fn new(columns: u16, rows: u16, scrolling_history: usize) -> Self {
        let config = Config { scrolling_history, kitty_keyboard: true, ..Config::default() };
        let size = TermSize::new(columns.into(), rows.into());
        Self { term: Term::new(config, &size, VoidListener), processor: Processor::new() }
    }

    /// Reads what a program wrote.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.processor.advance(&mut self.term, bytes);
    }
}
