//! What an adapter file says about approvals, where a policy could be told less than what runs.

use coven_notation::{FileProblem, SourceNode, pattern};

use super::ConfigCheck;

/// How a pattern begins and ends that takes whole lines.
const LINE_BEGINS: [&str; 2] = ["^", "\\A"];
const LINE_ENDS: [&str; 3] = ["$", "\\z", "\\n"];

impl ConfigCheck<'_> {
    pub(super) fn approval(&mut self, approval: &SourceNode) {
        for node in ["command", "once", "truncated"].iter().filter_map(|key| approval.get(key)) {
            self.pattern(node, "");
        }
        self.command(approval);
        // A row of a command may be empty.
        let Some(line) = approval.get("line") else { return };
        match pattern::compile(self.source, line, "") {
            Err(problem) => self.add(*problem),
            Ok(pattern) if pattern.captures_len() < 2 => self.add(
                FileProblem::error(
                    "approval-line",
                    line.span,
                    "the first group of `line` is the text of a row, and there is no group",
                )
                .help("put the text into a group: `^│ (.*) │$`"),
            ),
            Ok(_) => {}
        }
    }

    /// A command is read only where the pattern takes every line of its question. What it cannot
    /// see is a row of the command that looks like something else.
    fn command(&mut self, approval: &SourceNode) {
        let Some(node) = approval.get("command") else { return };
        let Some(text) = node.as_str().filter(|text| text.contains("(?P<command>")) else { return };
        if approval.get("line").is_none() {
            let message = "without `line` a command of more than one row can show a row that looks \
                           like the first line of its question, and is then read for less than it is";
            self.add(FileProblem::warning("approval-without-line", node.span, message).help(
                "if the program indents or frames the rows of a command, take them all into the \
                 group `command` and say with `line` how one looks: `^  (.*)$`",
            ));
        }
        let is_whole = LINE_BEGINS.iter().any(|begin| text.starts_with(begin))
            && LINE_ENDS.iter().any(|end| text.ends_with(end));
        if !is_whole {
            let message = "this pattern may take a part of a line, and where it does no command is \
                           read";
            let problem = FileProblem::warning("approval-part-of-line", node.span, message);
            self.add(problem.help("begin with `^` or `\\A` and end with `$` or `\\z`"));
        }
    }

    /// Where it is not said how a question begins, a command that is read may stand in lines that
    /// the agent printed before.
    pub(super) fn approval_of_other_lines(&mut self, name: &str, rule: &SourceNode) {
        let Some(pattern) = rule.get("pattern").filter(|_| rule.get("begins").is_none()) else {
            return;
        };
        self.add(
            FileProblem::warning(
                "approval-without-begin",
                pattern.span,
                format!(
                    "`{name}` does not say how its question begins, so that a command may be \
                         read from what the agent printed before"
                ),
            )
            .help("add `\"begins\"` with a pattern for the first line of the question"),
        );
    }
}
