//! Checks which agent a step or task asks for.

use coven_notation::{FileProblem, SourceNode};

use super::context::{CheckContext, did_you_mean, list};
use super::variables::StepVariables;
use crate::condition::ValueType;
use crate::template::{PathSegment, TextTemplate};

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

    /// Checks an adapter that is a name or, in a grimoire, an input; or, in a step that runs over a
    /// list, a part of the element.
    pub(super) fn adapter(
        &mut self,
        node: &SourceNode,
        variables: &StepVariables,
        item: Option<&str>,
    ) {
        let Some(text) = node.as_str() else { return };
        let (template, errors) = TextTemplate::parse_all(text);
        if errors.is_empty() && template.references().next().is_none() {
            return self.adapter_name(node);
        }
        self.template(node, variables);
        let one = template.single();
        let is_input = one.is_some_and(|one| one.name == "input" && one.path.len() == 1);
        let is_item = one.is_some_and(|one| Some(one.name.as_str()) == item);
        if errors.is_empty() && !is_input && !is_item {
            let (message, help) = if item.is_some() {
                (
                    "an adapter is a name, exactly one input, or a part of the element",
                    "write a name such as `claude`, `${input.adapter}`, or `${item.adapter}`",
                )
            } else {
                (
                    "an adapter is a name, or exactly one input",
                    "write a name such as `claude`, or `${input.adapter}`",
                )
            };
            self.error("bad-adapter", node.span, message, help);
        }
        if let Some(reference) = one.filter(|_| is_input || is_item)
            && let Ok(found) = variables.type_of(reference)
            && found != ValueType::Text
            && (is_input || found != ValueType::Any)
        {
            let message =
                format!("an adapter is text, and `${{{reference}}}` is {}", found.in_words());
            let help = if is_input {
                "declare the input with `type: string`"
            } else {
                "name the part of the element that is the adapter, as in `${item.adapter}`"
            };
            self.error("bad-adapter", node.span, message, help);
        }
    }

    /// Checks the adapters in elements that are written out.
    pub(super) fn adapters_of_items(&mut self, step: &SourceNode, item: &str) {
        let Some(text) = step.get("adapter").and_then(SourceNode::as_str) else { return };
        let (template, _) = TextTemplate::parse_all(text);
        let Some(reference) = template.single().filter(|one| one.name == item) else { return };
        for element in step.get("for_each").into_iter().flat_map(SourceNode::items) {
            let mut place = Some(element);
            for segment in &reference.path {
                place = place.and_then(|place| match segment {
                    PathSegment::Key(key) => place.get(key),
                    PathSegment::Index(index) => place.items().get(*index),
                });
            }
            match place {
                Some(name) if name.as_str().is_some_and(|name| !name.is_empty()) => {
                    self.adapter_name(name);
                }
                _ => {
                    let message = format!("this element has no adapter in `${{{reference}}}`");
                    let help = "write the adapter into every element";
                    self.error("bad-adapter", element.span, message, help);
                }
            }
        }
    }
}
