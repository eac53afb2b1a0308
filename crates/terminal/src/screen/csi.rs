//! Control sequences to what they do.

use super::cursor::TabStops;
use super::edit::EraseRange;
use super::engine::ScreenEmulator;
use crate::keys::KittyFlags;
use crate::parser::{ControlSequence, SequenceParams};

impl ScreenEmulator {
    pub(super) fn run_csi(&mut self, csi: &ControlSequence<'_>) {
        let params = &csi.params;
        match (csi.marker, csi.intermediates) {
            (0, []) => self.run_plain(csi.last, params),
            (b'?', []) => self.run_private(csi.last, params),
            (b'>', []) => self.run_secondary(csi.last, params),
            (b'=', []) => match csi.last {
                b'c' if params.get(0) == 0 => self.replies.tertiary_attributes(),
                b'u' => self.set_kitty(params),
                _ => {}
            },
            (b'<', []) if csi.last == b'u' => self.kitty_mut().pop(params.count(0)),
            (0, [b' ']) => match csi.last {
                b'q' if params.get(0) <= 6 => self.cursor_style = params.get(0) as u8,
                b'@' => self.delete_columns(0, params.count(0)),
                b'A' => self.insert_columns(0, params.count(0)),
                _ => {}
            },
            (0, [b'\'']) => match csi.last {
                b'}' => self.insert_columns(self.column(), params.count(0)),
                b'~' => self.delete_columns(self.column(), params.count(0)),
                _ => {}
            },
            (0, [b'!']) if csi.last == b'p' => self.soft_reset(),
            (0, [b'$']) if csi.last == b'p' => {
                let mode = params.get(0);
                self.replies.mode("", mode, self.modes.ansi(mode));
            }
            (b'?', [b'$']) if csi.last == b'p' => {
                let mode = params.get(0);
                self.replies.mode("?", mode, self.modes.private(mode));
            }
            _ => {}
        }
    }

    fn run_plain(&mut self, last: u8, params: &SequenceParams) {
        let count = params.count(0);
        match last {
            b'@' => self.insert_chars(count),
            b'A' => self.up(count),
            b'B' => self.down(count),
            b'C' | b'a' => self.right(count),
            b'D' => self.left(count),
            b'E' => {
                self.down(count);
                self.set_column(0);
            }
            b'F' => {
                self.up(count);
                self.set_column(0);
            }
            b'G' | b'`' => self.set_column(count - 1),
            b'H' | b'f' => self.go_to(count - 1, params.count(1) - 1),
            b'I' => self.tab_forward(count),
            b'J' if params.get(0) == 3 => self.erase_history(),
            b'J' => {
                if let Some(part) = EraseRange::from_param(params.get(0)) {
                    self.erase_screen(part);
                }
            }
            b'K' => {
                if let Some(part) = EraseRange::from_param(params.get(0)) {
                    self.erase_line(part);
                }
            }
            b'L' => self.insert_lines(count),
            b'M' => self.delete_lines(count),
            b'P' => self.delete_chars(count),
            b'S' => self.scroll_up(count),
            // With more parameters it is a mouse mode of old.
            b'T' if params.all().len() <= 1 => self.scroll_down(count),
            b'X' => self.erase_chars(count),
            b'Z' => self.tab_backward(count),
            b'b' => self.repeat(count),
            b'c' if params.get(0) == 0 => self.replies.device_attributes(),
            b'd' => self.go_to(count - 1, self.column()),
            b'e' => self.down_anywhere(count),
            b'g' => match params.get(0) {
                0 => {
                    let column = self.column();
                    self.tabs.set(column, false);
                }
                3 => self.tabs.clear(),
                _ => {}
            },
            b'h' | b'l' => {
                for mode in params.all() {
                    self.set_ansi_mode(*mode, last == b'h');
                }
            }
            b'm' => self.select_rendition(params),
            b'n' => self.report_status(params.get(0), false),
            b'r' => self.margins_from(params),
            b's' => self.save_cursor(),
            b't' => self.window(params.get(0)),
            b'u' => self.restore_cursor(),
            _ => {}
        }
    }

    fn run_private(&mut self, last: u8, params: &SequenceParams) {
        match last {
            b'h' | b'l' => {
                for mode in params.all() {
                    self.set_private_mode(*mode, last == b'h');
                }
            }
            // Selective erase: nothing is ever protected here.
            b'J' | b'K' => self.run_plain(last, params),
            b'W' if params.get(0) == 5 => self.tabs = TabStops::new(self.columns()),
            b'n' => self.report_status(params.get(0), true),
            b'u' => self.replies.kitty(self.kitty().flags),
            _ => {}
        }
    }

    fn run_secondary(&mut self, last: u8, params: &SequenceParams) {
        match last {
            b'c' if params.get(0) == 0 => self.replies.secondary_attributes(),
            b'q' if params.get(0) == 0 => self.replies.version(),
            b'u' => {
                let flags = KittyFlags::from_bits(params.get(0));
                self.kitty_mut().push(flags);
            }
            b'm' if params.is_empty() => self.modes.modify_other_keys = 0,
            b'm' if params.get(0) == 4 && params.get(1) <= 2 => {
                self.modes.modify_other_keys = params.get(1) as u8;
            }
            _ => {}
        }
    }

    fn set_kitty(&mut self, params: &SequenceParams) {
        let given = KittyFlags::from_bits(params.get(0));
        let kitty = self.kitty_mut();
        kitty.flags = match params.get(1) {
            0 | 1 => given,
            2 => kitty.flags.union(given),
            3 => kitty.flags.difference(given),
            _ => return,
        };
    }

    fn margins_from(&mut self, params: &SequenceParams) {
        let top = params.count(0) - 1;
        let bottom = match params.get(1) {
            0 => self.height(),
            bottom => usize::from(bottom).min(self.height()),
        };
        if top + 1 < bottom || (top == 0 && bottom == self.height()) {
            self.set_margins(top, bottom);
            self.go_to(0, 0);
        }
    }

    fn report_status(&mut self, what: u16, private: bool) {
        match (what, private) {
            (5, false) => self.replies.operating(),
            (6, _) => {
                let top = if self.modes.origin { self.margins.0 } else { 0 };
                let row = self.row().saturating_sub(top);
                self.replies.cursor(row, self.column(), private);
            }
            (996, true) => self.replies.color_scheme(self.palette.is_dark()),
            _ => {}
        }
    }

    fn window(&mut self, what: u16) {
        let size = self.size();
        match what {
            14 => self.replies.window_pixels(size),
            16 => self.replies.cell_pixels(),
            18 => self.replies.window_cells(size),
            22 => self.push_title(),
            23 => self.pop_title(),
            _ => {}
        }
    }
}
