//! Operating system commands that change the screen or ask it something, and the device control
//! strings that ask.

use alacritty_terminal::vte::ansi::{Handler, Hyperlink};

use super::engine::ScreenEmulator;
use super::palette::{BACKGROUND, CURSOR, FOREGROUND, Rgb};
use crate::parser::StringTerminator;
use crate::signals::TerminalSignal;

impl ScreenEmulator {
    pub(super) fn apply_signal(&mut self, signal: &TerminalSignal) {
        match signal {
            TerminalSignal::Title(title) => self.title.clone_from(title),
            // A link without an id gets one all the same, else the emulator invents a new one
            // each time and equal screens differ.
            TerminalSignal::Link { id, uri } => self.term.set_hyperlink(Some(Hyperlink {
                id: Some(id.clone().unwrap_or_default()),
                uri: uri.clone(),
            })),
            TerminalSignal::LinkEnd => self.term.set_hyperlink(None),
            TerminalSignal::StatusQuery => self.replies.program_status(),
            _ => {}
        }
    }

    pub(super) fn run_osc(&mut self, payload: &[u8], end: StringTerminator) {
        let Ok(text) = str::from_utf8(payload) else { return };
        let mut parts = text.split(';');
        match parts.next().unwrap_or_default() {
            "4" => {
                while let (Some(index), Some(spec)) = (parts.next(), parts.next()) {
                    if let Ok(index) = index.parse::<u8>() {
                        self.color(u16::from(index), &format!("4;{index}"), spec, end);
                    }
                }
            }
            "104" => {
                let indexes: Vec<u8> = parts.filter_map(|part| part.parse().ok()).collect();
                if indexes.is_empty() {
                    self.palette.reset_indexed();
                }
                for index in indexes {
                    self.palette.reset(u16::from(index));
                }
            }
            // Each further value belongs to the next colour.
            first @ ("10" | "11" | "12") => {
                let colors = [("10", FOREGROUND), ("11", BACKGROUND), ("12", CURSOR)];
                let colors = colors.into_iter().skip_while(|(name, _)| *name != first);
                for ((name, index), spec) in colors.zip(parts) {
                    self.color(index, name, spec, end);
                }
            }
            "110" => self.palette.reset(FOREGROUND),
            "111" => self.palette.reset(BACKGROUND),
            "112" => self.palette.reset(CURSOR),
            _ => {}
        }
    }

    /// Sets a colour, or answers what it is.
    fn color(&mut self, index: u16, name: &str, spec: &str, end: StringTerminator) {
        if spec == "?" {
            self.replies.color(name, self.palette.get(index), end);
        } else if let Some(color) = Rgb::parse(spec) {
            self.palette.set(index, color);
        }
    }

    pub(super) fn run_dcs(&mut self, payload: &[u8]) {
        if let Some(setting) = payload.strip_prefix(b"$q") {
            let value = match setting {
                b"m" => Some(self.pen_params()),
                b"r" => Some(format!("{};{}", self.margins.0 + 1, self.margins.1)),
                b" q" => Some(self.cursor_style.to_string()),
                _ => None,
            };
            self.replies.setting(value.as_deref(), setting);
        } else if let Some(names) = payload.strip_prefix(b"+q") {
            for name in names.split(|byte| *byte == b';') {
                self.replies.capability(name);
            }
        }
    }
}
