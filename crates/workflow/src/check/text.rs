//! Checks the texts of a definition: those with variables, conditions and commands.

use coven_notation::{FileProblem, SourceNode, SourceSpan};

use super::context::{CheckContext, MAX_TEXT_PROBLEMS};
use super::variables::{StepVariables, VariableProblem};
use crate::condition::{Condition, ConditionProblem, TypeMistake, ValueType};
use crate::shell::{ShellCommand, ShellProblem};
use crate::template::{TextTemplate, VariableReference};

impl CheckContext<'_> {
    /// Checks a text with variables.
    pub(super) fn template(&mut self, node: &SourceNode, variables: &StepVariables) {
        let Some(text) = node.as_str().filter(|_| !self.skips()) else { return };
        if text.contains('\0') {
            self.nul(node, text);
        }
        let (template, errors) = TextTemplate::parse_all(text);
        for error in errors.iter().take(MAX_TEXT_PROBLEMS) {
            let span = self.span_inside(node, error.offset, error.length);
            self.push(FileProblem::error("bad-variable", span, error.to_string()));
        }
        self.references(node, template.references(), variables);
    }

    fn nul(&mut self, node: &SourceNode, text: &str) {
        let span = self.span_inside(node, text.find('\0').unwrap_or_default(), 1);
        self.error(
            "nul-character",
            span,
            "the text holds a NUL character, which no program can be given",
            "remove it",
        );
    }

    fn references<'r>(
        &mut self,
        node: &SourceNode,
        references: impl Iterator<Item = &'r VariableReference>,
        variables: &StepVariables,
    ) {
        let wrong = references.filter_map(|reference| {
            variables.type_of(reference).err().map(|wrong| (reference, wrong))
        });
        for (reference, wrong) in wrong.take(MAX_TEXT_PROBLEMS).collect::<Vec<_>>() {
            let span = self.span_inside(node, reference.offset, reference.length);
            self.report_variable(span, wrong);
        }
    }

    fn report_variable(&mut self, span: SourceSpan, wrong: VariableProblem) {
        let mut problem =
            FileProblem::error(wrong.code, span, wrong.message).maybe_help(wrong.help);
        if let Some((span, label)) = wrong.also {
            problem = problem.with_related(span, label);
        }
        self.push(problem);
    }

    pub(super) fn condition(&mut self, node: &SourceNode, variables: &StepVariables) {
        let Some(text) = node.as_str().filter(|_| !self.skips()) else { return };
        let condition = match Condition::parse(text) {
            Ok(condition) => condition,
            Err(error) => {
                let span = self.span_inside(node, error.offset, error.length);
                let mut problem = FileProblem::error("bad-condition", span, error.to_string());
                if matches!(error.problem, ConditionProblem::Syntax(_)) {
                    problem = problem
                        .help("a condition is written as in `count > 0 and branch == 'main'`");
                }
                return self.push(problem);
            }
        };
        self.references(node, condition.references().into_iter(), variables);
        let type_of =
            |reference: &VariableReference| variables.type_of(reference).unwrap_or(ValueType::Any);
        for mistake in condition.check(&type_of) {
            let span = self.span_inside(node, mistake.offset, mistake.length);
            self.push(type_problem(span, mistake.what));
        }
    }

    /// Checks a command for a shell.
    pub(super) fn command(&mut self, node: &SourceNode, variables: &StepVariables) {
        let Some(text) = node.as_str().filter(|_| !self.skips()) else { return };
        if text.trim().is_empty() {
            return self.error(
                "empty-command",
                node.span,
                "the command is empty",
                "write what is to be run",
            );
        }
        let (command, errors) = ShellCommand::parse_all(text);
        for error in errors.iter().take(MAX_TEXT_PROBLEMS) {
            let span = self.span_inside(node, error.offset, error.length);
            let (code, help) = shell_help(&error.problem);
            self.push(FileProblem::error(code, span, error.to_string()).help(help));
        }
        self.references(node, command.references(), variables);
        for own in command.own().filter(|own| variables.has(&own.name)).take(MAX_TEXT_PROBLEMS) {
            let span = self.span_inside(node, own.offset, own.length);
            let name = &own.name;
            self.push(
                FileProblem::warning(
                    "shell-operator",
                    span,
                    format!("with an operator, `${{{name}...}}` is a variable of the shell, not the workflow's"),
                )
                .help(format!("hand it over first, `{name}=${{{name}}}` on a line of its own, and use `$${{{name}...}}`")),
            );
        }
    }

    /// Checks a text for a program that is no shell, where variables cannot stand.
    pub(super) fn foreign_command(
        &mut self,
        node: &SourceNode,
        program: &str,
        variables: &StepVariables,
    ) {
        let (template, _) = TextTemplate::parse_all(node.as_str().unwrap_or_default());
        for reference in
            template.references().filter(|one| variables.has(&one.name)).take(MAX_TEXT_PROBLEMS)
        {
            let span = self.span_inside(node, reference.offset, reference.length);
            let message = format!("`${{{reference}}}` stays as it is in a program for `{program}`");
            self.push(
                FileProblem::warning("foreign-shell", span, message).help(
                    "read it from the JSON file that the environment variable COVEN_VARS names",
                ),
            );
        }
    }
}

/// A code and what to do about it.
fn shell_help(problem: &ShellProblem) -> (&'static str, String) {
    match problem {
        ShellProblem::SingleQuotes { name } => (
            "shell-not-expanded",
            format!(
                "use double quotes, `\"${{{name}}}\"`; for the text itself, write `$${{{name}}}`"
            ),
        ),
        ShellProblem::QuotedHeredoc { .. } => {
            ("shell-not-expanded", "write the delimiter without quotes, as in `<<EOF`".to_owned())
        }
        ShellProblem::Backticks { .. } => {
            ("shell-not-expanded", "write `$(command)` instead of backticks".to_owned())
        }
        ShellProblem::Arithmetic { name } => (
            "shell-executes",
            format!(
                "compare with `[ \"${{{name}}}\" -gt 3 ]`, which takes plain numbers only, or calculate in another program that is given the value as an argument"
            ),
        ),
        ShellProblem::Executed { name, .. } => (
            "shell-executes",
            format!(
                "hand it over as an argument or in the environment, as in `VALUE=${{{name}}} bash -c 'echo \"$VALUE\"'`"
            ),
        ),
        ShellProblem::CalculatedLater { variable, .. } => (
            "shell-executes",
            format!(
                "compare with `[ \"${variable}\" -gt 3 ]`, which takes plain numbers only, or calculate in another program that is given the value as an argument"
            ),
        ),
        ShellProblem::ReferredLater { variable, .. } => (
            "shell-executes",
            format!("give the shell variable a name of your own instead of `${variable}`"),
        ),
        ShellProblem::Environment { variable, .. } => (
            "shell-executes",
            format!("set `{variable}` to a fixed text, and hand the value over under another name"),
        ),
        ShellProblem::VariableName { name, .. } => (
            "shell-executes",
            format!("give the shell variable a name of your own, as in `value=${{{name}}}`"),
        ),
        ShellProblem::Pattern { name } => (
            "shell-pattern",
            format!("hand it over first, `value=${{{name}}}`, and use `\"$value\"` in the pattern"),
        ),
        ShellProblem::Operator { text } => {
            let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c));
            let name = &text[..end.unwrap_or(text.len())];
            (
                "shell-operator",
                format!(
                    "hand it over first, `value=${{{name}}}`, and use `$${{value...}}`; a default belongs to the input"
                ),
            )
        }
        ShellProblem::Function { .. } => {
            ("bad-variable", "`$${` is the text `${`, for what the shell itself does".to_owned())
        }
        ShellProblem::Unclosed { .. } => (
            "shell-unclosed",
            "close it, or put a `\\` before it if it is meant as text".to_owned(),
        ),
        ShellProblem::TooDeep => {
            ("shell-too-deep", "put the inner commands in a script of their own".to_owned())
        }
        ShellProblem::Nul => ("nul-character", "remove it".to_owned()),
    }
}

fn type_problem(span: SourceSpan, mistake: TypeMistake) -> FileProblem {
    match mistake {
        TypeMistake::NotBoolean(found) => {
            let help = match found {
                ValueType::Number => "compare it, as in `count > 0`",
                ValueType::Array(_) | ValueType::Object(_) => {
                    "ask for its size, as in `tasks | length > 0`"
                }
                ValueType::FreeText => {
                    "let the agent answer in JSON: give its step `expect` with a schema that has a boolean"
                }
                _ => "compare it, as in `branch == 'main'`",
            };
            let message =
                format!("this is {}, and a condition must be true or false", found.in_words());
            FileProblem::error("condition-not-boolean", span, message).help(help)
        }
        TypeMistake::Kinds { left, right, how } => {
            let message = format!("{} cannot be {how} {}", left.in_words(), right.in_words());
            FileProblem::error("condition-kinds", span, message).help(match how {
                "compared with" => "compare values of one kind",
                "looked for in" => {
                    "look for text in text, for a value in an array, or for a key in an object"
                }
                _ => "use a value of that kind",
            })
        }
        TypeMistake::FreeText { name, only_search: false } => {
            let message = format!(
                "`{name}` is what an agent says in its own words, and never reliably a fixed text"
            );
            FileProblem::error("free-text-compared", span, message).help(format!(
                "give the step that sets `{name}` an `expect` with a JSON schema and compare a part of the answer, or let the arbiter of an `agent-loop` judge it"
            ))
        }
        TypeMistake::FreeText { name, only_search: true } => {
            let message = format!(
                "`{name}` is what an agent says in its own words; a word may stand in it and mean something else"
            );
            FileProblem::warning("free-text-searched", span, message).help(format!(
                "give the step that sets `{name}` an `expect` with a JSON schema and compare a part of the answer"
            ))
        }
    }
}
