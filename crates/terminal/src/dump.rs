//! A screen as escape sequences that repaint it: both buffers, attributes, colours, links, wraps,
//! cursor, margins, tab stops, modes, keyboard and title. Any terminal of the same size shows the
//! same; one of ours also goes on the same.
//!
//! Not carried over: history above the screen.

mod paint;

use alacritty_terminal::grid::Charsets;
use alacritty_terminal::vte::ansi::{CharsetIndex, StandardCharset};

use crate::screen::{KittyKeyboard, SavedCursor, ScreenEmulator, ScreenModes};

use paint::CellPainter;
pub(crate) use paint::sgr_params;

/// Brings a terminal in any state to one as new, as far as that can be said without a hard reset,
/// which would also clear what a person has scrolled away. The screen is empty afterwards.
const AS_NEW: &str = concat!(
    "\x1b[?1049l\x1b[!p\x1b[?5l\x1b[?12l\x1b[?66l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?1007l",
    "\x1b[?2004l\x1b[?2026l\x1b[?2027l\x1b[?2031l\x1b[20l\x1b[>4m\x1b[<99u\x1b[=0u\x1b[?5W",
    "\x1b[0 q\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\",
    "\x1b]8;;\x1b\\\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b[m\x1b[r\x1b[H\x1b[2J",
);

pub(crate) fn dump(engine: &mut ScreenEmulator) -> Vec<u8> {
    let mut painter = CellPainter::new();
    painter.push(AS_NEW);
    for (index, color) in engine.palette().overrides() {
        let name = match index {
            0..=255 => format!("4;{index}"),
            _ => (index - 256 + 10).to_string(),
        };
        painter.push(&format!("\x1b]{name};{}\x1b\\", color.spec()));
    }
    if let Some(parked) = engine.inactive_grid() {
        painter.push("\x1b[?47h");
        painter.rows(parked);
        painter.push("\x1b[?47l");
        painter.reset_pen();
    }
    let modes = engine.modes_view();
    let saved = engine.saved().get(false).clone();
    let main_cursor = engine.with_main_grid(|grid| {
        painter.rows(grid);
        if let Some(saved) = &saved {
            save_cursor(&mut painter, saved);
        }
        grid.cursor.point
    });
    keyboard(&mut painter, engine.kitty_stacks().get(false));
    if modes.alternate_screen {
        // The usual way in saves the cursor as it stands; where it was not saved or saved
        // elsewhere, there is another way. Where it stands matters when the size changes.
        match saved {
            Some(saved) if saved.cursor.point == main_cursor => {
                painter.push("\x1b8\x1b[?1049h\x1b[?6l");
            }
            _ => {
                painter.go_to(main_cursor.line.0 as usize, main_cursor.column.0);
                painter.push("\x1b[?1047h");
            }
        }
        painter.reset_pen();
        painter.push("\x1b[2J");
        painter.rows(engine.grid());
        if let Some(saved) = engine.saved().get(true) {
            save_cursor(&mut painter, saved);
        }
        keyboard(&mut painter, engine.kitty());
    }
    settings(&mut painter, engine, modes);
    live_cursor(&mut painter, engine, modes);
    painter.finish()
}

/// Puts a saved cursor back where it was and saves it again (DECSC).
fn save_cursor(painter: &mut CellPainter, saved: &SavedCursor) {
    if saved.origin {
        painter.push("\x1b[?6h");
    }
    painter.go_to(saved.cursor.point.line.0 as usize, saved.cursor.point.column.0);
    painter.pen(&saved.cursor.template);
    charsets(painter, saved.cursor.charsets, saved.charset);
    painter.push("\x1b7\x1b[?6l");
    painter.reset_pen();
}

fn charsets(painter: &mut CellPainter, sets: Charsets, active: CharsetIndex) {
    use CharsetIndex::{G0, G1, G2, G3};
    for (index, slot) in [(G0, '('), (G1, ')'), (G2, '*'), (G3, '+')] {
        if sets[index] == StandardCharset::SpecialCharacterAndLineDrawing {
            painter.push(&format!("\x1b{slot}0"));
        }
    }
    match active {
        G0 => {}
        G1 => painter.push("\x0e"),
        G2 => painter.push("\x1bn"),
        G3 => painter.push("\x1bo"),
    }
}

fn keyboard(painter: &mut CellPainter, kitty: &KittyKeyboard) {
    let mut first = true;
    for flags in kitty.stack.iter().chain([&kitty.flags]) {
        let form = if first { '=' } else { '>' };
        if !first || flags.bits() != 0 {
            painter.push(&format!("\x1b[{form}{}u", flags.bits()));
        }
        first = false;
    }
}

/// Everything that is neither on the screen nor with the cursor.
fn settings(painter: &mut CellPainter, engine: &ScreenEmulator, modes: ScreenModes) {
    if let Some(stops) = engine.tabs().changed() {
        painter.push("\x1b[3g");
        for column in stops {
            painter.go_to(0, column);
            painter.push("\x1bH");
        }
    }
    for (mode, on) in modes.changed() {
        painter.push(&format!("\x1b[?{mode}{}", if on { 'h' } else { 'l' }));
    }
    for mode in [modes.mouse.number(), modes.mouse_encoding.number()].into_iter().flatten() {
        painter.push(&format!("\x1b[?{mode}h"));
    }
    if modes.newline {
        painter.push("\x1b[20h");
    }
    if modes.modify_other_keys > 0 {
        painter.push(&format!("\x1b[>4;{}m", modes.modify_other_keys));
    }
    let (title, titles) = engine.titles();
    for title in titles {
        painter.push(&format!("\x1b]2;{title}\x1b\\\x1b[22t"));
    }
    painter.push(&format!("\x1b]2;{title}\x1b\\\x1b[{} q", engine.cursor_style()));
}

/// Margins, cursor, attributes and, last, what would disturb them.
fn live_cursor(painter: &mut CellPainter, engine: &ScreenEmulator, modes: ScreenModes) {
    let grid = engine.grid();
    let cursor = &grid.cursor;
    let (top, bottom) = engine.margins();
    if (top, bottom) != (0, engine.height()) {
        painter.push(&format!("\x1b[{};{bottom}r", top + 1));
    }
    let mut row = cursor.point.line.0 as usize;
    if modes.origin {
        painter.push("\x1b[?6h");
        row -= top;
    }
    painter.origin(row as i32 - cursor.point.line.0);
    painter.go_to(cursor.point.line.0 as usize, cursor.point.column.0);
    if modes.synchronized {
        painter.push("\x1b[?2026h");
    }
    if cursor.input_needs_wrap && !engine.just_printed() {
        painter.pending_wrap(grid, cursor.point.line.0 as usize);
        painter.end_text();
    }
    painter.pen(&cursor.template);
    charsets(painter, cursor.charsets, engine.charset());
    // A character just printed may be repeated or joined by what comes next: it is printed again.
    if engine.just_printed() {
        painter.last_character(grid, engine.base());
    }
    if modes.insert {
        painter.push("\x1b[4h");
    }
}
