//! Checks the fields that say how an agent or a command is run, on a step or under `defaults`.

use coven_model::{TerminalSize, TerminalSizeError};
use coven_notation::{FileProblem, MapEntry, SourceNode, duration};

use super::context::CheckContext;
use super::variables::StepVariables;
use crate::expect::OutputSchema;
use crate::shell::{self, is_executed_variable};
use crate::template::TextTemplate;

/// What an element is called in a step that runs over a list.
fn item_name(step: &SourceNode) -> Option<&str> {
    let chosen = step.get("as").and_then(SourceNode::as_str);
    step.get("for_each").is_some().then(|| chosen.unwrap_or("item"))
}

impl CheckContext<'_> {
    /// Checks the fields that a step shares with `defaults`.
    pub(super) fn shared_fields(&mut self, node: &SourceNode, variables: &StepVariables) {
        if let Some(adapter) = node.get("adapter") {
            self.adapter(adapter, variables, item_name(node));
        }
        for key in ["model", "cwd"] {
            if let Some(text) = node.get(key) {
                self.template(text, variables);
            }
        }
        for argument in node.get("extra_args").into_iter().flat_map(SourceNode::items) {
            self.template(argument, variables);
        }
        self.environment(node, Some(variables));
        self.durations(node);
        self.terminal_size(node);
        self.shell(node);
    }

    /// Checks what is added to the environment.
    pub(super) fn environment(&mut self, node: &SourceNode, variables: Option<&StepVariables>) {
        for entry in node.get("env").into_iter().flat_map(SourceNode::entries) {
            let name = &entry.key;
            let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !plain {
                self.error(
                    "bad-env-name",
                    entry.key_span,
                    format!("`{name}` cannot be the name of an environment variable"),
                    "use letters, digits and `_`, and begin with a letter",
                );
            } else if name.starts_with("COVEN_") {
                self.error(
                    "reserved-name",
                    entry.key_span,
                    format!("`{name}` is ours: names that begin with `COVEN_` are set by Coven"),
                    "choose another name",
                );
            }
            match variables {
                Some(variables) => {
                    self.executed_variable(entry);
                    self.template(&entry.value, variables);
                }
                None => self.plain_text(&entry.value),
            }
        }
    }

    /// Refuses a value in a variable of the environment that programs execute.
    fn executed_variable(&mut self, entry: &MapEntry) {
        if !is_executed_variable(&entry.key) {
            return;
        }
        let (template, _) = TextTemplate::parse_all(entry.value.as_str().unwrap_or_default());
        let Some(reference) = template.references().next() else { return };
        let span = self.span_inside(&entry.value, reference.offset, reference.length);
        let name = &entry.key;
        let message =
            format!("`${{{reference}}}` goes into `{name}`, and what that holds is executed");
        let help =
            format!("set `{name}` to a fixed text, and hand the value over under another name");
        self.error("shell-executes", span, message, help);
    }

    /// Checks a text without variables: all that can be wrong is a NUL.
    pub(super) fn plain_text(&mut self, node: &SourceNode) {
        if let Some(offset) = node.as_str().and_then(|text| text.find('\0')) {
            let span = self.span_inside(node, offset, 1);
            self.error(
                "nul-character",
                span,
                "the text holds a NUL character, which no program can be given",
                "remove it",
            );
        }
    }

    /// Checks that nothing has to be done in no time.
    pub(super) fn durations(&mut self, node: &SourceNode) {
        if let Some(timeout) = node.get("timeout")
            && let Some(Ok(time)) = timeout.as_str().map(duration::parse)
            && time.is_zero()
        {
            let help =
                "write how long it may take, such as `30m`; without `timeout` there is no limit";
            self.error(
                "zero-timeout",
                timeout.span,
                "a timeout of nothing would end it at once",
                help,
            );
        }
    }

    /// Checks that a terminal is neither too small nor too large. Its form the schema checks.
    pub(super) fn terminal_size(&mut self, node: &SourceNode) {
        if let Some(size) = node.get("size")
            && let Some(Err(error @ TerminalSizeError::OutOfRange(_))) =
                size.as_str().map(str::parse::<TerminalSize>)
        {
            let help = "write columns and rows, such as `120x40`";
            self.error("terminal-size", size.span, error.to_string(), help);
        }
    }

    fn shell(&mut self, node: &SourceNode) {
        let Some(name) = node.get("shell") else { return };
        if let Some(program) = name.as_str()
            && !shell::is_shell(program)
        {
            self.error(
                "unknown-shell",
                name.span,
                format!("it is not known how `{program}` is given a command"),
                format!("write a shell such as `bash`, or the program with the arguments before the command, as in `[{}, -c]`", if program.is_empty() { "python3" } else { program }),
            );
        }
    }

    pub(super) fn expectation(&mut self, node: &SourceNode) {
        let Some(expect) = node.get("expect").filter(|expect| !expect.entries().is_empty()) else {
            return;
        };
        if let Err(bad) = OutputSchema::new(expect.to_json()) {
            // The path leads to the exact place, as far as it can be followed.
            let mut place = expect;
            for key in bad.path.split('/').filter(|key| !key.is_empty()) {
                let next = place.get(key).or_else(|| place.items().get(key.parse::<usize>().ok()?));
                place = next.unwrap_or(place);
            }
            let message = format!("the schema cannot be used: {bad}");
            self.push(FileProblem::error("bad-schema", place.span, message).help(
                "a schema may have `type`, `properties`, `required`, `additionalProperties`, `items`, `enum`, `const`, `anyOf`, `oneOf`, `allOf`, `not`, and bounds of numbers, texts and lists",
            ));
        }
    }
}
