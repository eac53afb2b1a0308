//! Quotes and backticks.

use super::super::error::ShellProblem;
use super::super::rules::ForbiddenSpot;
use super::super::words::SimpleCommand;
use super::{QuoteContext, ShellScanner};

impl ShellScanner<'_> {
    pub(super) fn single_quotes(&mut self) {
        let opened = self.at;
        let ansi = self.source[..opened].ends_with('$');
        self.skip(1);
        let close = if ansi { ansi_end(self.rest()) } else { self.rest().find('\'') };
        let Some(close) = close else {
            self.error(opened, 1, ShellProblem::Unclosed { what: "this quote" });
            self.at = self.end;
            return;
        };
        let outer_end = std::mem::replace(&mut self.end, self.at + close);
        self.while_forbidden(ForbiddenSpot::SingleQuotes, Self::literal);
        self.end = outer_end;
        self.skip(1);
    }

    pub(super) fn double_quotes(
        &mut self,
        command: &mut SimpleCommand,
        spot: Option<&ForbiddenSpot>,
    ) {
        let opened = self.at;
        self.skip(1);
        self.doubly_quoted(Some(opened), spot, command);
    }

    /// What is between double quotes, up to the closing one or, in a here-document, to the end.
    pub(super) fn doubly_quoted(
        &mut self,
        opened: Option<usize>,
        spot: Option<&ForbiddenSpot>,
        command: &mut SimpleCommand,
    ) {
        if !self.enter() {
            self.leave();
            return;
        }
        while let Some(next) = self.peek() {
            match next {
                '"' if opened.is_some() => {
                    self.skip(1);
                    self.leave();
                    return;
                }
                '\\' => {
                    if let Some(escaped) = self.skip_escape() {
                        command.push(escaped);
                    }
                }
                '`' => self.backticks(),
                '$' => {
                    let spot = command.spot().or_else(|| spot.cloned());
                    self.dollar(QuoteContext::Double, spot, command);
                }
                other => {
                    command.push(other);
                    self.skip(other.len_utf8());
                }
            }
        }
        if let Some(opened) = opened {
            self.error(opened, 1, ShellProblem::Unclosed { what: "this quote" });
        }
        self.leave();
    }

    pub(super) fn backticks(&mut self) {
        let opened = self.at;
        self.skip(1);
        let mut end = None;
        let mut escaped = false;
        for (place, byte) in self.rest().bytes().enumerate() {
            match byte {
                b'`' if !escaped => {
                    end = Some(place);
                    break;
                }
                _ => escaped = byte == b'\\' && !escaped,
            }
        }
        let Some(end) = end else {
            self.error(opened, 1, ShellProblem::Unclosed { what: "this backtick" });
            self.at = self.end;
            return;
        };
        let outer_end = std::mem::replace(&mut self.end, self.at + end);
        self.while_forbidden(ForbiddenSpot::Backticks, Self::literal);
        self.end = outer_end;
        self.skip(1);
    }
}

fn ansi_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'\'' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}
