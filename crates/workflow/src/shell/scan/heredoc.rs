//! Here-documents, and text in which nothing is expanded.

use super::super::rules::ForbiddenSpot;
use super::super::words::SimpleCommand;
use super::dollar::is_workflow_variable;
use super::{PendingHeredoc, QuoteContext, ShellScanner};
use crate::template::reference_at;

impl ShellScanner<'_> {
    /// `<<WORD`: remembers what to look for behind the end of the line.
    pub(super) fn heredoc_start(&mut self, spot: Option<ForbiddenSpot>) {
        self.skip(2);
        let tabs = self.starts_with("-");
        self.skip(usize::from(tabs));
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.skip(1);
        }
        let mut heredoc = PendingHeredoc { delimiter: String::new(), quoted: false, tabs, spot };
        while let Some(next) = self.peek() {
            match next {
                '\'' | '"' => {
                    heredoc.quoted = true;
                    self.skip(1);
                    let end = self.rest().find(next).unwrap_or(self.rest().len());
                    heredoc.delimiter.push_str(&self.source[self.at..self.at + end]);
                    self.skip(end + 1);
                }
                '\\' => {
                    heredoc.quoted = true;
                    heredoc.delimiter.extend(self.skip_escape());
                }
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                other => {
                    heredoc.delimiter.push(other);
                    self.skip(other.len_utf8());
                }
            }
        }
        if !heredoc.delimiter.is_empty() {
            self.heredocs.push(heredoc);
        }
    }

    pub(super) fn heredoc_bodies(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let start = self.at;
            let (mut body_end, mut after) = (self.end, self.end);
            let mut line_start = start;
            for line in self.source[start..self.end].split_inclusive('\n') {
                let text = line.trim_end_matches(['\n', '\r']);
                let text = if heredoc.tabs { text.trim_start_matches('\t') } else { text };
                if text == heredoc.delimiter {
                    (body_end, after) = (line_start, line_start + line.len());
                    break;
                }
                line_start += line.len();
            }
            let outer_end = std::mem::replace(&mut self.end, body_end);
            if heredoc.quoted {
                self.while_forbidden(ForbiddenSpot::QuotedHeredoc, Self::literal);
            } else {
                let spot = heredoc.spot;
                self.doubly_quoted(None, spot.as_ref(), &mut SimpleCommand::no_command());
            }
            self.end = outer_end;
            self.at = after;
        }
    }

    /// Text in which a shell expands nothing, up to the end.
    pub(super) fn literal(&mut self) {
        while let Some(found) = self.rest().find("${") {
            self.skip(found);
            let start = self.at;
            let ours =
                reference_at(&self.source[..self.end], start).ok().filter(is_workflow_variable);
            if self.source[self.copied..start].ends_with('$') {
                // One dollar is ours and goes.
                self.copy_to(start - 1);
                self.copied = start;
                self.skip(2);
            } else if let Some(reference) = ours {
                self.at = start + reference.length;
                self.variable(
                    reference,
                    QuoteContext::Double,
                    None,
                    &mut SimpleCommand::no_command(),
                );
            } else {
                self.skip(2);
            }
        }
        self.at = self.end;
    }
}
