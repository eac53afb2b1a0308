//! Checks which agent a step or task asks for.

use coven_notation::{FileProblem, SourceNode};

use super::context::{CheckContext, did_you_mean, list};
use super::variables::StepVariables;
use crate::condition::ValueType;
use crate::template::TextTemplate;

impl CheckContext<'_> {
    /// Checks an adapter that is a plain name.
    pub(super) fn adapter_name(&mut self, node: &SourceNode) {
        let Some(name) = node.as_str() else { return };
        let adapters = &self.known.adapters;
        if name.is_empty() || adapters.iter().any(|known| known == name) {
            return;
        }
        let message = format!("unknown adapter `{name}`{}", did_you_mean(name, adapters));
        let help = format!(
            "there are {}; a folder `.coven/adapters/{name}/` with a `config.json` adds another",
            list(adapters)
        );
        self.push(FileProblem::error("unknown-adapter", node.span, message).help(help));
    }

    /// Checks an adapter that is a name or, in a grimoire, an input.
    pub(super) fn adapter(&mut self, node: &SourceNode, variables: &StepVariables) {
        let Some(text) = node.as_str() else { return };
        let (template, errors) = TextTemplate::parse_all(text);
        if errors.is_empty() && template.references().next().is_none() {
            return self.adapter_name(node);
        }
        self.template(node, variables);
        let is_input =
            template.single().is_some_and(|one| one.name == "input" && one.path.len() == 1);
        if errors.is_empty() && !is_input {
            self.error(
                "bad-adapter",
                node.span,
                "an adapter is a name, or exactly one input",
                "write a name such as `claude`, or `${input.adapter}`",
            );
        }
        if let Some(reference) = template.single().filter(|_| is_input)
            && let Ok(found) = variables.type_of(reference)
            && found != ValueType::Text
        {
            let message =
                format!("an adapter is text, and `${{{reference}}}` is {}", found.in_words());
            self.error("bad-adapter", node.span, message, "declare the input with `type: string`");
        }
    }
}
