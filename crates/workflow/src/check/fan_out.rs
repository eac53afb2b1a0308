//! Checks what a `parallel-agents` step runs over, and the names that steps choose.

use coven_notation::SourceNode;

use super::context::CheckContext;
use super::step::{StepSurroundings, answer};
use super::variables::{RESERVED_NAMES, StepVariables};
use crate::condition::ValueType;
use crate::template::TextTemplate;

impl CheckContext<'_> {
    pub(super) fn parallel(
        &mut self,
        step: &SourceNode,
        variables: &mut StepVariables,
        around: &StepSurroundings,
    ) -> ValueType {
        let (name, item) = self.items(step, variables);
        self.agent_step(step, variables, around);
        self.adapters_of_items(step, &name);
        results(item, answer(step, ValueType::FreeText), false)
    }

    /// A command for each element.
    pub(super) fn commands(
        &mut self,
        step: &SourceNode,
        variables: &mut StepVariables,
        around: &StepSurroundings,
    ) -> ValueType {
        let (_, item) = self.items(step, variables);
        if step.get("type").and_then(SourceNode::as_str) == Some("gate") {
            self.gate(step, variables, around);
            self.for_each_gate(step);
        } else {
            self.command_step(step, variables, around);
        }
        results(item, answer(step, ValueType::Text), true)
    }

    /// A gate for each element has a command, and nothing that is said to a person.
    fn for_each_gate(&mut self, step: &SourceNode) {
        let asks = step.get("command").is_none();
        for entry in step.entries() {
            if asks && entry.key == "for_each" {
                let message = "`for_each` has no meaning for a gate that asks a person";
                let help = "add a `command`, or remove it";
                self.error("key-not-for-type", entry.key_span, message, help);
            } else if !asks && entry.key == "message" {
                let message = "`message` has no meaning for a gate with `for_each`";
                let help = "remove it: the elements that failed are named";
                self.error("key-not-for-type", entry.key_span, message, help);
            }
        }
    }

    /// Checks what a step runs over, and adds the names that its texts have for that: that of an element,
    /// and what it is.
    fn items(&mut self, step: &SourceNode, variables: &mut StepVariables) -> (String, ValueType) {
        let item = self.for_each(step, variables);
        let mut name = "item";
        if let Some(node) = step.get("as")
            && let Some(chosen) = node.as_str()
        {
            name = chosen;
            if chosen != "item" {
                self.variable_name(node, chosen, variables, "an item");
            }
        }
        variables.set_local(vec![
            (name.to_owned(), item.clone()),
            ("index".to_owned(), ValueType::Number),
        ]);
        (name.to_owned(), item)
    }

    /// Checks what a step runs over; tells what an element is.
    pub(super) fn for_each(&mut self, step: &SourceNode, variables: &StepVariables) -> ValueType {
        let help = "name the array, as in `for_each: ${tasks}`";
        if !self.require_key(step, "parallel-agents", "for_each", help) {
            return ValueType::Any;
        }
        let Some(node) = step.get("for_each") else { return ValueType::Any };
        let Some(text) = node.as_str() else {
            self.check_written_items(node);
            return ValueType::Any;
        };
        self.template(node, variables);
        let (template, errors) = TextTemplate::parse_all(text);
        let Some(reference) = template.single() else {
            if errors.is_empty() {
                let known = variables.has(text.trim());
                let help =
                    if known { format!("write `${{{}}}`", text.trim()) } else { help.to_owned() };
                let message = "`for_each` needs an array, and this is text";
                self.error("for-each-not-array", node.span, message, help);
            }
            return ValueType::Any;
        };
        match variables.type_of(reference) {
            Ok(ValueType::Array(of)) => *of,
            Ok(ValueType::Any) | Err(_) => ValueType::Any,
            Ok(other) => {
                let message = format!(
                    "`for_each` needs an array, and `${{{reference}}}` is {}",
                    other.in_words()
                );
                let help = match other {
                    ValueType::FreeText | ValueType::Text => {
                        "give the step that sets it `expect: json`, or a schema of an array"
                    }
                    ValueType::Object(_) => {
                        "name the part of it that is an array, as in `${answer.tasks}`"
                    }
                    _ => "name an array",
                };
                self.error("for-each-not-array", node.span, message, help);
                ValueType::Any
            }
        }
    }

    /// Elements that are written out are taken as they are.
    pub(super) fn check_written_items(&mut self, node: &SourceNode) {
        for item in node.items() {
            let (template, _) = TextTemplate::parse_all(item.as_str().unwrap_or_default());
            if let Some(reference) = template.references().next() {
                let message = format!(
                    "`${{{reference}}}` is only text here: a written list is taken as it is"
                );
                let help = "run over a variable, or write `$${` for the text `${`";
                let span = self.span_inside(item, reference.offset, reference.length);
                self.error("variable-in-list", span, message, help);
            }
        }
    }

    /// Checks a name that a step chooses for a variable.
    pub(super) fn variable_name(
        &mut self,
        node: &SourceNode,
        name: &str,
        variables: &StepVariables,
        of: &str,
    ) {
        let plain = name.len() <= 64
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !plain {
            self.error(
                "bad-variable-name",
                node.span,
                format!("`{name}` cannot be the name of {of}"),
                "use letters, digits and `_`, and begin with a letter",
            );
        } else if RESERVED_NAMES.contains(&name) {
            self.error(
                "reserved-name",
                node.span,
                format!("`{name}` means something already"),
                format!("choose another name, such as `my_{name}`"),
            );
        } else if !name.contains(|c: char| c.is_ascii_lowercase()) {
            self.error(
                "bad-variable-name",
                node.span,
                format!("`{name}` is in capitals, which in commands is a variable of the shell"),
                format!("write `{}`", name.to_lowercase()),
            );
        } else if of == "an item" && variables.has(name) {
            let message = format!("`{name}` is a variable already, and would be hidden");
            self.error("reserved-name", node.span, message, "choose another name");
        }
    }
}

/// What a step that runs over something comes to.
fn results(item: ValueType, output: ValueType, is_command: bool) -> ValueType {
    let code = is_command.then(|| ("exit_code".to_owned(), ValueType::Number));
    let fields = [
        ("index".to_owned(), ValueType::Number),
        ("item".to_owned(), item),
        ("ok".to_owned(), ValueType::Boolean),
        ("output".to_owned(), output),
        ("error".to_owned(), ValueType::Text),
    ];
    ValueType::array(ValueType::object(fields.into_iter().chain(code)))
}
