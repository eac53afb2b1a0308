//! Modes: what a program has switched on or off, and what DECRQM is told about them.

use super::engine::ScreenEmulator;
use crate::keys::KittyFlags;
use alacritty_terminal::vte::ansi::{Handler, NamedPrivateMode};

/// Which mouse events the program wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MouseTracking {
    #[default]
    Off,
    /// Presses only (mode 9).
    Press,
    /// Presses and releases (mode 1000).
    Click,
    /// Also movement while a button is held (mode 1002).
    Drag,
    /// All movement (mode 1003).
    Motion,
}

impl MouseTracking {
    /// The private mode that switches this on.
    pub(crate) fn number(self) -> Option<u16> {
        match self {
            Self::Off => None,
            Self::Press => Some(9),
            Self::Click => Some(1000),
            Self::Drag => Some(1002),
            Self::Motion => Some(1003),
        }
    }
}

/// How mouse events are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MouseEncoding {
    #[default]
    Bytes,
    Utf8,
    Sgr,
    /// Decimal as in urxvt (mode 1015).
    Urxvt,
}

impl MouseEncoding {
    /// The private mode that switches this on.
    pub(crate) fn number(self) -> Option<u16> {
        match self {
            Self::Bytes => None,
            Self::Utf8 => Some(1005),
            Self::Sgr => Some(1006),
            Self::Urxvt => Some(1015),
        }
    }
}

/// Everything a program can switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the protocol")]
pub struct ScreenModes {
    /// The alternate screen is shown (modes 47, 1047, 1049).
    pub alternate_screen: bool,
    /// Arrow keys send `ESC O` (mode 1).
    pub application_cursor: bool,
    /// The keypad sends application codes (`ESC =`).
    pub application_keypad: bool,
    /// Dark and light are exchanged (mode 5).
    pub reverse_video: bool,
    /// Positions count from the top margin (mode 6).
    pub origin: bool,
    /// Text goes on in the next row (mode 7).
    pub autowrap: bool,
    /// The cursor blinks (mode 12).
    pub cursor_blink: bool,
    /// The cursor is shown (mode 25).
    pub cursor_visible: bool,
    /// Backspace goes on in the row above (mode 45).
    pub reverse_wrap: bool,
    /// Text is inserted, not overwritten (ANSI mode 4).
    pub insert: bool,
    /// Line feed also returns the carriage, Enter sends both (ANSI mode 20).
    pub newline: bool,
    /// Which mouse events are wanted.
    pub mouse: MouseTracking,
    /// How they are written.
    pub mouse_encoding: MouseEncoding,
    /// Focus changes are reported (mode 1004).
    pub focus_events: bool,
    /// The wheel sends arrow keys on the alternate screen (mode 1007).
    pub alternate_scroll: bool,
    /// Pasted text is bracketed (mode 2004).
    pub bracketed_paste: bool,
    /// A frame is being drawn: what stands on the screen is not whole (mode 2026).
    pub synchronized: bool,
    /// The program counts graphemes as we do (mode 2027).
    pub grapheme_clusters: bool,
    /// Changes between dark and light are to be reported (mode 2031).
    pub color_scheme_reports: bool,
    /// The kitty keyboard protocol, as far as it is on.
    pub kitty: KittyFlags,
    /// xterm's modifyOtherKeys, 0 to 2.
    pub modify_other_keys: u8,
}

impl Default for ScreenModes {
    fn default() -> Self {
        Self {
            alternate_screen: false,
            application_cursor: false,
            application_keypad: false,
            reverse_video: false,
            origin: false,
            autowrap: true,
            cursor_blink: false,
            cursor_visible: true,
            reverse_wrap: false,
            insert: false,
            newline: false,
            mouse: MouseTracking::Off,
            mouse_encoding: MouseEncoding::Bytes,
            focus_events: false,
            alternate_scroll: false,
            bracketed_paste: false,
            synchronized: false,
            grapheme_clusters: false,
            color_scheme_reports: false,
            kitty: KittyFlags::default(),
            modify_other_keys: 0,
        }
    }
}

impl ScreenModes {
    /// The plain switches among the private modes: a number and the flag behind it.
    fn switch(&mut self, number: u16) -> Option<&mut bool> {
        Some(match number {
            1 => &mut self.application_cursor,
            5 => &mut self.reverse_video,
            6 => &mut self.origin,
            7 => &mut self.autowrap,
            12 => &mut self.cursor_blink,
            25 => &mut self.cursor_visible,
            45 => &mut self.reverse_wrap,
            66 => &mut self.application_keypad,
            1004 => &mut self.focus_events,
            1007 => &mut self.alternate_scroll,
            2004 => &mut self.bracketed_paste,
            2026 => &mut self.synchronized,
            2027 => &mut self.grapheme_clusters,
            2031 => &mut self.color_scheme_reports,
            _ => return None,
        })
    }

    /// The private switches that are not as in a new terminal, with their value. Screen, mouse
    /// and keyboard are not among them.
    pub(crate) fn changed(mut self) -> Vec<(u16, bool)> {
        let mut fresh = Self::default();
        [1, 5, 7, 12, 25, 45, 66, 1004, 1007, 2004, 2027, 2031]
            .into_iter()
            .filter_map(|number| {
                let (now, usual) = (*self.switch(number)?, *fresh.switch(number)?);
                (now != usual).then_some((number, now))
            })
            .collect()
    }

    /// State of a private mode for DECRQM: set, reset, or nothing for one we do not know.
    pub(super) fn private(mut self, number: u16) -> Option<bool> {
        if let Some(switch) = self.switch(number) {
            return Some(*switch);
        }
        match number {
            9 | 1000 | 1002 | 1003 => Some(self.mouse.number() == Some(number)),
            1005 | 1006 | 1015 => Some(self.mouse_encoding.number() == Some(number)),
            47 | 1047 | 1049 => Some(self.alternate_screen),
            _ => None,
        }
    }

    /// State of an ANSI mode for DECRQM.
    pub(super) fn ansi(self, number: u16) -> Option<bool> {
        match number {
            4 => Some(self.insert),
            20 => Some(self.newline),
            _ => None,
        }
    }
}

impl ScreenEmulator {
    pub(super) fn set_ansi_mode(&mut self, number: u16, on: bool) {
        match number {
            4 => self.modes.insert = on,
            20 => self.modes.newline = on,
            _ => {}
        }
    }

    pub(super) fn set_private_mode(&mut self, number: u16, on: bool) {
        if let Some(switch) = self.modes.switch(number) {
            *switch = on;
        }
        match number {
            6 => self.go_to(0, 0),
            // The emulator wraps text itself and must know.
            7 if on => self.term.set_private_mode(NamedPrivateMode::LineWrap.into()),
            7 => self.term.unset_private_mode(NamedPrivateMode::LineWrap.into()),
            9 => self.set_mouse(MouseTracking::Press, on),
            1000 => self.set_mouse(MouseTracking::Click, on),
            1002 => self.set_mouse(MouseTracking::Drag, on),
            1003 => self.set_mouse(MouseTracking::Motion, on),
            1005 => self.set_mouse_encoding(MouseEncoding::Utf8, on),
            1006 => self.set_mouse_encoding(MouseEncoding::Sgr, on),
            1015 => self.set_mouse_encoding(MouseEncoding::Urxvt, on),
            47 | 1047 | 1049 => self.set_alternate_screen(number, on),
            1048 if on => self.save_cursor(),
            1048 => self.restore_cursor(),
            _ => {}
        }
    }

    /// The last mouse mode set counts; resetting any of them ends reporting.
    fn set_mouse(&mut self, mouse: MouseTracking, on: bool) {
        self.modes.mouse = if on { mouse } else { MouseTracking::Off };
    }

    fn set_mouse_encoding(&mut self, encoding: MouseEncoding, on: bool) {
        self.modes.mouse_encoding = if on { encoding } else { MouseEncoding::Bytes };
    }
}
