//! Main and alternate screen, and what each has of its own.

use std::mem;

use alacritty_terminal::grid::Grid as EmulatorGrid;

use super::edit::EraseRange;
use super::engine::ScreenEmulator;
use super::grid::Grid;
use crate::keys::KittyFlags;

/// Depth of the kitty keyboard stack; the oldest entry goes first.
const MAX_KITTY: usize = 32;

/// One value for the main screen and one for the alternate.
#[derive(Clone, Debug, Default)]
pub(crate) struct PerBuffer<T> {
    main: T,
    alternate: T,
}

impl<T> PerBuffer<T> {
    pub(crate) fn get(&self, alternate: bool) -> &T {
        if alternate { &self.alternate } else { &self.main }
    }

    pub(super) fn get_mut(&mut self, alternate: bool) -> &mut T {
        if alternate { &mut self.alternate } else { &mut self.main }
    }
}

/// The kitty keyboard protocol of one screen: what is on, and what was on before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KittyKeyboard {
    pub(crate) flags: KittyFlags,
    pub(crate) stack: Vec<KittyFlags>,
}

impl KittyKeyboard {
    pub(super) fn push(&mut self, flags: KittyFlags) {
        if self.stack.len() == MAX_KITTY {
            self.stack.remove(0);
        }
        self.stack.push(mem::replace(&mut self.flags, flags));
    }

    /// Popping more than was pushed turns everything off.
    pub(super) fn pop(&mut self, count: usize) {
        let keep = self.stack.len().checked_sub(count);
        self.flags = keep.and_then(|keep| self.stack.get(keep).copied()).unwrap_or_default();
        self.stack.truncate(keep.unwrap_or(0));
    }
}

impl ScreenEmulator {
    pub(crate) fn kitty(&self) -> &KittyKeyboard {
        self.kitty.get(self.modes.alternate_screen)
    }

    pub(super) fn kitty_mut(&mut self) -> &mut KittyKeyboard {
        self.kitty.get_mut(self.modes.alternate_screen)
    }

    /// Modes 47, 1047 and 1049. 1049 keeps the cursor of the main screen and clears the alternate
    /// one before use; 1047 clears it after use; 47 never does. But for 1049 both screens share
    /// the cursor.
    pub(super) fn set_alternate_screen(&mut self, mode: u16, on: bool) {
        match (self.modes.alternate_screen, on) {
            (false, true) => self.enter_alternate(mode),
            (true, false) => self.leave_alternate(mode),
            (true, true) if mode == 1049 => self.erase_screen(EraseRange::All),
            _ => {}
        }
    }

    fn enter_alternate(&mut self, mode: u16) {
        if mode == 1049 {
            self.save_cursor();
        }
        let cursor = self.grid().cursor.clone();
        self.term.swap_alt();
        self.modes.alternate_screen = true;
        *self.saved.get_mut(true) = None;
        *self.kitty_mut() = KittyKeyboard::default();
        let parked = self.parked.take().filter(|_| mode != 1049);
        let was_parked = parked.is_some();
        if let Some(parked) = parked {
            *self.term.grid_mut() = parked;
        }
        self.term.grid_mut().cursor = cursor;
        if !was_parked {
            // The emulator has cleared it, but not all of it after a change of size.
            self.erase_screen(EraseRange::All);
        }
        self.end_line_at_wrap();
        self.touch_all();
    }

    fn leave_alternate(&mut self, mode: u16) {
        let cursor = self.grid().cursor.clone();
        self.parked = (mode == 47).then(|| self.grid().clone());
        self.term.swap_alt();
        self.modes.alternate_screen = false;
        self.term.grid_mut().cursor = cursor;
        if mode == 1049 {
            self.restore_cursor();
        }
        self.end_line_at_wrap();
        self.touch_all();
    }

    /// Works on the main screen's grid, which the emulator hides while the alternate is shown: the
    /// alternate grid is taken out, the emulator switched, and all put back. Switching to the
    /// alternate screen clears it and sets cursors, but only those of the stand-in.
    pub(crate) fn with_main_grid<R>(&mut self, work: impl FnOnce(&mut Grid) -> R) -> R {
        if !self.modes.alternate_screen {
            return work(self.term.grid_mut());
        }
        let alternate = mem::replace(self.term.grid_mut(), EmulatorGrid::new(1, 2, 0));
        self.term.swap_alt();
        let result = work(self.term.grid_mut());
        self.term.swap_alt();
        *self.term.grid_mut() = alternate;
        result
    }
}
