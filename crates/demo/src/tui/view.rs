//! What the changing part of the screen looks like, at any moment.

use std::time::Duration;

use super::line::{LineStyle, StyledLine};
use super::painter::TuiFrame;
use super::turn::{SPINNER_INTERVAL, TuiTurn, TurnActivity};
use super::{AgentTui, TuiEffect, TuiMode};
use crate::script::{AgentMisbehaviour, ToolUse};
use crate::text;

const SPINNER_FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// On screens lower than this, the prompt goes without what only makes it nicer.
const ROOMY_PROMPT_ROWS: usize = 10;

impl AgentTui {
    /// The changing part of the screen. There is none after the end, and while a flood has the
    /// screen to itself.
    pub(super) fn frame(&self, now: Duration) -> Option<TuiFrame> {
        let above = match &self.mode {
            TuiMode::Idle(_) => Vec::new(),
            TuiMode::Turn(TuiTurn { activity: TurnActivity::Asking(dialog), .. }) => {
                return Some(dialog.frame(self.size));
            }
            TuiMode::Turn(TuiTurn {
                activity: TurnActivity::Doing(TuiEffect::Trick(AgentMisbehaviour::Flood(_))),
                ..
            }) => {
                return None;
            }
            TuiMode::Turn(turn) => vec![self.spinner(turn, now), StyledLine::empty()],
            TuiMode::Ended => return None,
        };
        Some(self.prompt(above))
    }

    /// Shows what was said as if there were nothing else on the screen.
    pub(super) fn show_blocks(&mut self) {
        let frame = TuiFrame { lines: vec![StyledLine::empty()], cursor: Some((0, 0)) };
        let out = self.painter.paint(std::mem::take(&mut self.blocks), frame);
        self.print(out);
    }

    fn spinner(&self, turn: &TuiTurn, now: Duration) -> StyledLine {
        let time = now.saturating_sub(turn.started);
        let picture =
            (time.as_millis() / SPINNER_INTERVAL.as_millis()) as usize % SPINNER_FRAMES.len();
        let what = match &turn.activity {
            TurnActivity::Doing(TuiEffect::Tool(ToolUse::Command(_))) => "Running",
            _ => "Working",
        };
        let seconds = time.as_secs();
        let line = format!("{} {what}… ({seconds}s · esc to interrupt)", SPINNER_FRAMES[picture]);
        StyledLine::new(LineStyle::Accent, text::clip(&line, self.size.usable_columns()))
    }

    /// The place to type, with a line above it and a hint below.
    fn prompt(&self, above: Vec<StyledLine>) -> TuiFrame {
        let columns = self.size.usable_columns();
        let roomy = self.size.rows >= ROOMY_PROMPT_ROWS;
        let mut lines = above;
        let working = !lines.is_empty();
        for queued in self.queued.iter().take(2) {
            let queued = text::clean(queued).replace('\n', " ");
            lines.push(StyledLine::new(
                LineStyle::Dim,
                text::clip(&format!("  next: {queued}"), columns),
            ));
        }
        if roomy {
            lines.push(StyledLine::rule(columns));
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
            lines.push(StyledLine::new(LineStyle::Dim, text::clip(&self.hint(), columns)));
        }
        TuiFrame { lines, cursor: Some(cursor) }
    }

    fn hint(&self) -> String {
        if self.quit_until.is_some() {
            return "  Press Ctrl-C again to exit".to_owned();
        }
        let cost = self.session.cost_usd.map_or_else(String::new, |cost| format!(" · ${cost:.2}"));
        format!("  /help · /exit{cost}")
    }
}
