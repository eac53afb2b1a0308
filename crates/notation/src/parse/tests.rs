//! What is accepted, what is refused, and in which words.

mod json;
mod limits;
mod yaml;

use super::{FileSyntax, parse};
use crate::{ProblemReport, SourceFile, SourceNode};

/// The report about a text that is refused.
fn refused(text: &str, syntax: FileSyntax) -> String {
    let source = SourceFile::new("file", text);
    let problems = parse(&source, syntax).unwrap_err();
    ProblemReport::new(source, problems).render(false)
}

fn yaml(text: &str) -> SourceNode {
    accepted(text, FileSyntax::Yaml)
}

fn accepted(text: &str, syntax: FileSyntax) -> SourceNode {
    let source = SourceFile::new("file", text);
    parse(&source, syntax).unwrap_or_else(|problems| {
        panic!("{}", ProblemReport::new(source.clone(), problems).render(false))
    })
}

/// Every value with the text it stands for, in order.
fn places(text: &str, node: &SourceNode) -> Vec<String> {
    let mut all = vec![text[node.span.range()].to_owned()];
    for entry in node.entries() {
        all.push(text[entry.key_span.range()].to_owned());
        all.extend(places(text, &entry.value));
    }
    for item in node.items() {
        all.extend(places(text, item));
    }
    all
}
