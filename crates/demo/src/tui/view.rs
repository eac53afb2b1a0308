//! What the changing part of the screen looks like, at any moment.

use std::time::Duration;

use super::line::{Line, Style};
use super::painter::Frame;
use super::turn::{Activity, SPINNER, Turn};
use super::{Deed, Mode, Tui};
use crate::script::{Tool, Trick};
use crate::text;

/// The pictures of the spinner.
const PICTURES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// On screens lower than this, the prompt goes without what only makes it nicer.
const ROOMY: usize = 10;

impl Tui {
    /// The changing part of the screen. There is none after the end, and while a flood has the
    /// screen to itself.
    pub(super) fn frame(&self, now: Duration) -> Option<Frame> {
        let above = match &self.mode {
            Mode::Idle(_) => Vec::new(),
            Mode::Turn(Turn { activity: Activity::Asking(dialog), .. }) => {
                return Some(dialog.frame(self.size));
            }
            Mode::Turn(Turn {
                activity: Activity::Doing(Deed::Trick(Trick::Flood(_))), ..
            }) => {
                return None;
            }
            Mode::Turn(turn) => vec![self.spinner(turn, now), Line::empty()],
            Mode::Ended => return None,
        };
        Some(self.prompt(above))
    }

    /// Shows what was said as if there were nothing else on the screen.
    pub(super) fn show_blocks(&mut self) {
        let frame = Frame { lines: vec![Line::empty()], cursor: Some((0, 0)) };
        let out = self.painter.paint(std::mem::take(&mut self.blocks), frame);
        self.print(out);
    }

    fn spinner(&self, turn: &Turn, now: Duration) -> Line {
        let time = now.saturating_sub(turn.started);
        let picture = (time.as_millis() / SPINNER.as_millis()) as usize % PICTURES.len();
        let what = match &turn.activity {
            Activity::Doing(Deed::Tool(Tool::Command(_))) => "Running",
            _ => "Working",
        };
        let seconds = time.as_secs();
        let line = format!("{} {what}… ({seconds}s · esc to interrupt)", PICTURES[picture]);
        Line::new(Style::Accent, text::clip(&line, self.size.usable()))
    }

    /// The place to type, with a line above it and a hint below.
    fn prompt(&self, above: Vec<Line>) -> Frame {
        let columns = self.size.usable();
        let roomy = self.size.rows >= ROOMY;
        let mut lines = above;
        let working = !lines.is_empty();
        for queued in self.queued.iter().take(2) {
            let queued = text::clean(queued).replace('\n', " ");
            lines.push(Line::new(Style::Dim, text::clip(&format!("  next: {queued}"), columns)));
        }
        if roomy {
            lines.push(Line::rule(columns));
        }
        let room = self.size.rows.saturating_sub(lines.len() + 1);
        let input = self.editor.layout(
            columns,
            room.min(self.size.rows / 2).max(1),
            if working { "" } else { "Type a message" },
        );
        let cursor = (lines.len() + input.cursor.0, input.cursor.1);
        lines.extend(input.lines);
        if roomy || self.quit_until.is_some() {
            lines.push(Line::new(Style::Dim, text::clip(&self.hint(), columns)));
        }
        Frame { lines, cursor: Some(cursor) }
    }

    fn hint(&self) -> String {
        if self.quit_until.is_some() {
            return "  Press Ctrl-C again to exit".to_owned();
        }
        let cost = self.session.cost_usd.map_or_else(String::new, |cost| format!(" · ${cost:.2}"));
        format!("  /help · /exit{cost}")
    }
}
